# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Choose the Python of a node that the modules run with. A shell script looks for it, because a node may have none that can run a module. Pure."""

from __future__ import annotations

import re
import shlex
import typing as t

from .._distro._registry import by_name, family_name
from .._facts._machine import IDENTITY_FILES, parse_os_release
from .._foreign import decimal

if t.TYPE_CHECKING:
    from .._distro._family import Family

Version = t.Tuple[int, ...]

OLDEST: Version = (3, 8)
NEWEST: Version = (3, 14)
_NEEDS_39: Version = (2, 20)
"""From this ansible-core on, modules need Python 3.9."""
# The distribution's own Python has the bindings of its package manager. The others follow, starting with the newest version that every
# ansible-core supports.
_COMMANDS = ("python3", *("python3.%d" % minor for minor in (11, 12, 13, 14, 10, 9, 8)), "/usr/libexec/platform-python")
_MARK = "rdma-ofed"
_TELL = 'import sys; print("%s python %%d.%%d.%%d %%s" %% (sys.version_info[:3] + (sys.argv[1],)))' % _MARK
_SCRIPT = """
echo "{mark} user $(id -u)"
for file in /etc/os-release /usr/lib/os-release; do
  if [ -r $file ]; then sed 's/^/{mark} os /' $file; break; fi
done
for file in {identity}; do
  value=
  {{ read -r value <"/$file"; }} 2>/dev/null
  echo "{mark} machine $value"
done
for name in {commands}; do
  path=$(command -v "$name") && "$path" -c {tell} "$path" 2>/dev/null
done
{declared}
exit 0
"""


# The message of a container engine.
_OFF = re.compile(r"\bcontainer\b.* is not running", re.IGNORECASE)
# The message that ssh appends.
_CLOSED = re.compile(r"(?:Shared c|C)onnection to \S+ closed\.?\Z")


class Python(t.NamedTuple):
    """An interpreter of a node."""

    path: str
    version: Version

    def words(self) -> str:
        return "%s (%s)" % (".".join(map(str, self.version)), self.path)


class Probed(t.NamedTuple):
    """The output of the script."""

    root: bool
    os: t.Mapping[str, str]
    pythons: tuple[Python, ...]
    ran: bool = True
    """Whether the script ran at all."""
    identity: tuple[str, ...] = ()
    """The content of IDENTITY_FILES."""

    def family(self) -> Family | None:
        return by_name(family_name(self.os.get("ID", ""), self.os.get("ID_LIKE", "")))


def oldest_for(core: str) -> Version:
    """The oldest Python that can run modules, by the version of ansible-core."""
    return (3, 9) if _numbers(core)[:2] >= _NEEDS_39 else OLDEST


def _numbers(version: str) -> Version:
    return tuple(decimal(part, 0) for part in version.split("."))


def script(declared: str) -> str:
    """The script that lists the Pythons of a node. It changes nothing. `declared` may be a command with options, as in Ansible."""
    line = "%s -c %s %s 2>/dev/null" % (declared, shlex.quote(_TELL), shlex.quote(declared)) if declared else ""
    return _SCRIPT.format(mark=_MARK, identity=" ".join(IDENTITY_FILES), commands=" ".join(_COMMANDS), tell=shlex.quote(_TELL), declared=line)


def parse(stdout: str) -> Probed:
    """Parse the output of the script, which may be surrounded by output of a login shell."""
    lines = [line.split(" ", 2)[1:] for line in stdout.splitlines() if line.startswith(_MARK + " ")]
    pythons = []
    identity = []
    for kind, rest in (line for line in lines if len(line) == 2):
        if kind == "machine":
            identity.append(rest.strip())
        version, _blank, path = rest.partition(" ")
        if kind == "python" and path:
            pythons.append(Python(path, _numbers(version)))
    return Probed(
        root=["user", "0"] in lines,
        os=parse_os_release("\n".join(line[1] for line in lines if line[0] == "os" and len(line) == 2)),
        pythons=tuple(dict.fromkeys(pythons)),
        ran=bool(lines),
        identity=tuple(identity),
    )


def silence(said: str, become: bool) -> str:
    """Why not even the script ran on a node, in words. `said`: the output instead."""
    lines = [line.strip().rstrip(".") for line in said.splitlines() if line.strip() and not _CLOSED.match(line.strip())]
    how = " with become" if become else ""
    step = "check become_method, and whether the user of the connection may use it" if become else "check the login shell of the user of the connection"
    if lines and _OFF.search(lines[-1]):
        how, step = "", "start it"
    return "no command can be run there%s: %s. Next: %s" % (how, lines[-1] if lines else "it printed nothing", step)


def choose(pythons: t.Iterable[Python], declared: str = "", oldest: Version = OLDEST) -> Python | None:
    """The declared Python, else the first one; it must be new enough."""
    return next((python for python in pythons if python.version >= oldest and declared in ("", python.path)), None)


def refusal(pythons: t.Sequence[Python], declared: str = "", oldest: Version = OLDEST) -> str:
    """Why the modules can't run, and what to do, in words; "" where they can."""
    if choose(pythons, declared, oldest):
        return ""
    allowed = "allowed: %d.%d to %d.%d" % (oldest[:2] + NEWEST)
    other = choose(pythons, oldest=oldest)
    if declared:
        found = next((python.words() for python in pythons if python.path == declared), "%s, which does not start" % declared)
        if other:
            words = "ansible_python_interpreter is %s; %s. Set it to %s, which is %s, or leave it out"
            return words % (found, allowed, other.path, ".".join(map(str, other.version)))
        words = "ansible_python_interpreter is %s; %s"
    else:
        found = ", ".join(python.words() for python in pythons) or "none"
        words = "no Python that the modules run with: found %s; %s"
    return (words + ". Next: 'ansible-playbook -b rdma.ofed.bootstrap' with this inventory installs one") % (found, allowed)
