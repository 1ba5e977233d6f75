# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limits of daemons that start jobs, sessions and containers. Read-only.

A raised limit applies to processes started later. A running daemon keeps its own limit and passes it on to the processes that it starts.
"""

from __future__ import annotations

import contextlib
import pwd
import re
import typing as t

from .._errors import CommandFailed
from .._facts._processes import path_of
from .._facts._sysfs import attribute, entries, link_name, process_ids
from .._foreign import decimal
from .._host._files import under
from .._host._units import properties_of
from ._limits import MEMLOCK, RESOURCES, UNLIMITED, USER_MANAGER, Daemon, Limit, Resource, reaches
from ._obstacles import DOCKER, DOCKER_SOCKET, NAMES, PROPERTIES, SSH, Around, main_pid, obstacle

if t.TYPE_CHECKING:
    from .._host._run import Runner

# Where nothing else is declared, a daemon with any limit is of interest: it may be declared for another daemon.
_ALL = (Limit(MEMLOCK.name, UNLIMITED),)
# The soft limit, which is the one that child processes inherit.
_SHOWN = {resource.name: re.compile(r"^%s +([0-9]{1,20}|unlimited)\b" % resource.shown, re.MULTILINE) for resource in RESOURCES.values()}
# The main processes of a unit. Sessions and jobs are in scopes; a per-connection service ends with its connection.
_UNIT = re.compile(r"(?!sshd?@)[A-Za-z0-9:_.\\@-]{1,200}\.service\Z")
_USER_MANAGER = re.compile(r"user@([0-9]{1,10})\.service\Z")
_PAM = re.compile(r"^[ \t]*UsePAM[ \t=]+\"?(yes|no)\b", re.MULTILINE | re.IGNORECASE)


def limit_of(text: str, resource: Resource = MEMLOCK) -> str:
    """The limit in /proc/PID/limits, a number or UNLIMITED; "" where it is missing."""
    match = _SHOWN[resource.name].search(text)
    if match is None:
        return ""
    return UNLIMITED if match[1] == UNLIMITED else str(decimal(match[1], 0) // resource.unit)


def unit_of(path: t.Sequence[str]) -> str:
    """The service that a process with this cgroup path belongs to; "" for sessions, jobs and containers. A service manager is in `init.scope` of its own."""
    name = path[-2] if len(path) > 1 and path[-1] == "init.scope" else path[-1] if path else ""
    return name if _UNIT.match(name) else ""


def uses_pam(content: str) -> bool:
    """Whether sshd applies the limits of PAM to sessions. `content`: its files in order of precedence, of which the first value counts."""
    match = _PAM.search(content)
    return match is not None and match[1].lower() == "yes"


def _sshd_files(root: str) -> str:
    # The distribution's file counts unless one in /etc overrides it.
    found = []
    for base in ("/etc/ssh", "/usr/etc/ssh"):
        place = under(root, base)
        found += [attribute(place, "sshd_config.d", name) for name in sorted(entries(place, "sshd_config.d")) if name.endswith(".conf")]
        found.append(attribute(place, "sshd_config"))
    return "\n".join(found)


def _lingers(root: str, unit: str) -> bool:
    """Whether the service manager of a user runs without a session. Otherwise, it ends with the last session of its user."""
    match = _USER_MANAGER.match(unit)
    return match is not None and any(_user_id(name) == match[1] for name in entries(root, "var/lib/systemd/linger"))


def _user_id(name: str) -> str:
    try:
        return str(pwd.getpwnam(name).pw_uid)
    except KeyError:
        return ""


def _candidates(root: str) -> dict[tuple[str, str], str]:
    """The daemons of this PID namespace, each once, by name and unit: the lowest process ID. Containers have limits of their own."""
    proc = under(root, "/proc")
    own, top = link_name(proc, "self/ns/pid"), attribute(proc, "1", "cgroup")
    pam = uses_pam(_sshd_files(root))
    found: dict[tuple[str, str], str] = {}
    for pid in process_ids(root):
        name = attribute(proc, pid, "comm")
        if name not in NAMES or (name == SSH and pam) or link_name(proc, pid, "ns/pid") != own:
            continue
        unit = unit_of(path_of(attribute(proc, pid, "cgroup"), top))
        if unit and (name == USER_MANAGER) == (_USER_MANAGER.match(unit) is not None) and (name != USER_MANAGER or _lingers(root, unit)):
            found.setdefault((name, unit), pid)
    return found


def _around(run: Runner, low: t.Collection[str]) -> Around:
    """What decides on restarts. `low`: the daemons that may have to be restarted."""
    live, refused = "", ""
    if DOCKER in low and run.has("docker"):
        # One that hangs is left alone. A context or DOCKER_HOST may name the dockerd of another host.
        with contextlib.suppress(CommandFailed):
            live = run(["docker", "--host", DOCKER_SOCKET, "info", "--format", "{{.LiveRestoreEnabled}}"], ok=None, timeout=20).stdout.strip()
    if SSH in low and run.has(SSH):
        try:
            output = run([SSH, "-t"], ok=None, timeout=20)
            refused = "" if output.rc == 0 else output.stderr.strip() or "sshd -t fails"
        except CommandFailed as exc:
            refused = exc.msg
    return Around(live == "true", refused)


def read_daemons(run: Runner, root: str = "/", declared: t.Sequence[Limit] = _ALL) -> tuple[Daemon, ...]:
    """The daemons of this PID namespace that start jobs, sessions or containers, with an entry for each resource in `declared`.

    Where all of them reach what is declared, this starts no process.
    """
    found = _candidates(root)
    texts = {key: _limits_of(root, pid) for key, pid in found.items()}
    low = {key: pid for key, pid in found.items() if _is_low(texts[key], declared)}
    units: dict[str, dict[str, str]] = {}
    around = Around()
    if low and run.has("systemctl"):
        output = run(["systemctl", "show", "--no-pager", "-p", ",".join(PROPERTIES), "--", *(unit for _name, unit in low)], ok=None, timeout=20)
        units = properties_of(output.stdout)
        around = _around(run, {name for name, _unit in low})
    daemons, obstacles = [], {}
    for name, unit in found:
        pid = main_pid(units.get(unit, {}))
        main = attribute(root, "proc", pid, "comm") if pid else ""
        # Of a daemon that was restarted, processes may have stayed in the unit with a lower process ID.
        text = (_limits_of(root, pid) if main == name else "") or texts[name, unit]
        values = ((limit.resource, limit_of(text, limit.of)) for limit in declared)
        daemons += [Daemon(name, unit, value, resource=resource) for resource, value in values if value]
        if _is_low(text, declared):
            obstacles[name, unit] = obstacle(name, units.get(unit, {}), around, leader=main)
    # A unit is restarted as a whole: dockerd can have a containerd of its own in it.
    of_units = {unit: words for (_name, unit), words in obstacles.items() if words}
    wanted = {limit.resource: limit.value for limit in declared}
    return tuple(
        each if reaches(each.value, wanted[each.resource]) else each._replace(obstacle=obstacles[each.name, each.unit] or of_units.get(each.unit, ""))
        for each in daemons
    )


def _is_low(text: str, declared: t.Iterable[Limit]) -> bool:
    return any(not reaches(limit_of(text, limit.of), limit.value) for limit in declared)


def _limits_of(root: str, pid: str) -> str:
    return attribute(under(root, "/proc"), pid, "limits")
