# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Limits of resources for PAM sessions and systemd services. Pure.

That of locked memory bounds the memory that programs can register with an adapter, and that of open files the connections of a large job. pam_limits counts
locked memory in KiB and knows `unlimited`, systemd counts it in bytes and knows `infinity`. Neither reads the files of the other. Container engines need no
file of their own: a container without `--ulimit` has the limit of the process that starts it, which is containerd for docker, and the session for podman
and apptainer.
"""

from __future__ import annotations

import re
import typing as t

from .._foreign import decimal
from .._host._files import HEADER

KEEP, UNLIMITED = "keep", "unlimited"
# Both read files in the order of their names, and the last value counts.
SESSIONS_PATH = "/etc/security/limits.d/rdma-ofed.conf"
SERVICES_PATH = "/etc/systemd/system.conf.d/rdma-ofed.conf"
PATHS = (SESSIONS_PATH, SERVICES_PATH)
UNITS = ("slurmd.service", "pbs.service", "pbs_mom.service", "containerd.service", "docker.service", "ssh.service", "sshd.service")
"""The units of daemons, as their packages name them."""
UNIT_PATHS: t.Mapping[str, str] = {unit: "/etc/systemd/system/%s.d/rdma-ofed.conf" % unit for unit in UNITS}
"""By unit: our file, for one of which the package sets less than declared."""
# The two kinds of limits, and what may have a limit of its own.
SESSION, SERVICE = "session", "service"
CONTAINER = "container"
USER_MANAGER = "systemd"

_NUMBER = re.compile(r"^[1-9][0-9]{0,11}\Z")
_SERVICES = re.compile(r"^\s*DefaultLimit([A-Z]+)\s*=\s*(\S+)\s*$")
_UNITS_OWN = re.compile(r"^\s*Limit([A-Z]+)\s*=\s*(\S*)\s*$")
_SIZE = re.compile(r"^([0-9]{1,18})([KMGT]?)\Z")
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class Resource(t.NamedTuple):
    """A resource with a limit."""

    name: str
    """Its name in limits.conf(5). In upper case, systemd has it in its settings."""
    words: str
    variable: str
    flag: str
    """The option of `ulimit`."""
    shown: str
    """Its name in /proc/PID/limits."""
    unit: int = 1
    """What a number stands for in our declarations, in pam_limits and `ulimit`, in units of the kernel: 1024 for KiB."""
    has_no_end: bool = False
    """Whether there may be no limit."""
    most: int = 10**12
    """The largest number that may be declared."""


MEMLOCK = Resource("memlock", "locked memory", "kernel_modules_memlock", "-l", "Max locked memory", 1024, has_no_end=True)
# Above fs.nr_open, setrlimit fails, and pam_limits then starts no session. This is what it is in the kernel, unless it is raised.
NOFILE = Resource("nofile", "open files", "kernel_modules_nofile", "-n", "Max open files", most=1 << 20)
RESOURCES: t.Mapping[str, Resource] = {resource.name: resource for resource in (MEMLOCK, NOFILE)}
# The hard limit of open files of services, where nothing else is set, since systemd 240.
_USUAL_HARD = 1 << 19
_BY_SETTING = {resource.name.upper(): resource for resource in RESOURCES.values()}


class Limit(t.NamedTuple):
    """A declared limit."""

    resource: str
    value: str
    """A number, or UNLIMITED."""
    hard: str = ""
    """The hard limit, where it is another one."""

    @property
    def of(self) -> Resource:
        return RESOURCES[self.resource]


class Daemon(t.NamedTuple):
    """A daemon that starts jobs, sessions or containers."""

    name: str
    unit: str
    value: str
    """Its limit, a number or `unlimited`."""
    obstacle: str = ""
    """Why a restart may end what it has started; "" where that goes on, and for a daemon without a limit."""
    resource: str = MEMLOCK.name
    """What the limit is of. A daemon has an entry for each resource."""

    @property
    def is_user_manager(self) -> bool:
        """Whether it is the systemd of a user, to which PAM gives the limit of sessions."""
        return self.name == USER_MANAGER


class Line(t.NamedTuple):
    """A limit in a foreign file."""

    path: str
    line: int
    value: str
    """A number, in KiB for locked memory, or UNLIMITED; as written where it is neither."""
    type: str = "-"
    """`soft`, `hard`, or `-` for both."""
    resource: str = MEMLOCK.name


def is_limit(value: t.Any, resource: Resource = MEMLOCK) -> bool:
    """Whether a limit may be declared. A number may have become text in a template."""
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        return False
    if str(value) == UNLIMITED:
        return resource.has_no_end
    return bool(_NUMBER.match(str(value))) and decimal(str(value), 0) <= resource.most


def is_declaration(value: t.Any, resource: Resource) -> bool:
    """Whether a value may be declared: a limit, or KEEP."""
    return value == KEEP or is_limit(value, resource)


def forms(resource: Resource) -> str:
    """What may be declared, in words."""
    if resource.has_no_end:
        return "%s, %s, or a number of KiB" % (UNLIMITED, KEEP)
    return "%s, or a number up to %d" % (KEEP, resource.most)


def lines_of(lines: t.Iterable[Line], resource: str) -> list[Line]:
    """The lines about one resource."""
    return [line for line in lines if line.resource == resource]


def with_hard(limit: Limit, lines: t.Iterable[Line], most: int) -> Limit:
    """The limit with a hard limit that takes nothing away: neither what others have set, nor what systemd gives services, to which programs raise their own.

    `lines`: those of others. `most`: the largest number that the kernel accepts.
    """
    if limit.of.has_no_end:
        return limit
    theirs = (most if line.value == UNLIMITED else decimal(line.value, 0) for line in lines_of(lines, limit.resource))
    declared = decimal(limit.value, 0)
    hard = max(declared, min(max([_USUAL_HARD, *theirs]), most))
    return limit if hard == declared else limit._replace(hard=str(hard))


def _session_lines(limit: Limit) -> str:
    values = (("soft", limit.value), ("hard", limit.hard)) if limit.hard else (("-", limit.value),)
    return "".join("%s %s %s %s\n" % (domain, kind, limit.resource, value) for domain in ("*", "root") for kind, value in values)


def sessions_text(limits: t.Sequence[Limit]) -> str:
    """Our file for pam_limits. There `*` means all users except root. Empty: no file."""
    return HEADER + "".join(map(_session_lines, limits)) if limits else ""


def services_text(limits: t.Sequence[Limit]) -> str:
    """Our file for systemd. Empty: no file."""
    return HEADER + "[Manager]\n" + "".join("DefaultLimit%s\n" % _assignment(limit) for limit in limits) if limits else ""


def unit_text(limits: t.Sequence[Limit]) -> str:
    """Our file for the unit of a daemon. Empty: no file."""
    return HEADER + "[Service]\n" + "".join("Limit%s\n" % _assignment(limit) for limit in limits) if limits else ""


def read_sessions(path: str, text: str) -> list[Line]:
    """The limits for all users in a file of pam_limits: `* hard memlock 64`. Limits of single users and groups override these, and stay."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#")[0].split()
        if len(fields) == 4 and fields[0] == "*" and fields[2] in RESOURCES:
            found.append(Line(path, number, UNLIMITED if fields[3] in (UNLIMITED, "infinity", "-1") else fields[3], fields[1], fields[2]))
    return found


def _read_settings(form: t.Pattern[str], path: str, text: str) -> list[Line]:
    matches = ((number, form.match(line)) for number, line in enumerate(text.splitlines(), 1))
    rows = [(number, _BY_SETTING[match[1]], match[2]) for number, match in matches if match and match[1] in _BY_SETTING]
    return [Line(path, number, _number(value.split(":")[0], resource), resource=resource.name) for number, resource, value in rows]


def read_services(path: str, text: str) -> list[Line]:
    """The limits in a systemd file: one value, or soft and hard limit."""
    return _read_settings(_SERVICES, path, text)


def read_unit(path: str, text: str) -> list[Line]:
    """The limits in a file of a unit. An empty one resets the others, so that the default counts."""
    return _read_settings(_UNITS_OWN, path, text)


def counting(lines: t.Iterable[Line], resource: str = MEMLOCK.name) -> tuple[Line, ...]:
    """The lines of a unit about a resource that its last empty one does not reset."""
    own = lines_of(lines, resource)
    resets = [number for number, line in enumerate(own, 1) if not line.value]
    return tuple(own[resets[-1] if resets else 0 :])


def effective(lines: t.Iterable[Line]) -> tuple[Line, ...]:
    """The effective lines, out of all lines about a resource in reading order: the last one for the soft limit and the last one for the hard limit."""
    last = {name: line for line in lines for name in (("soft", "hard") if line.type == "-" else (line.type,))}
    return tuple(dict.fromkeys(last.values()))


def _assignment(limit: Limit) -> str:
    value = "infinity" if limit.value == UNLIMITED else limit.value + ("K" if limit.of.unit == 1024 else "")
    return "%s=%s" % (limit.resource.upper(), ":".join(filter(None, (value, limit.hard))))


def _number(value: str, resource: Resource) -> str:
    match = _SIZE.match(value)
    if value == "infinity":
        return UNLIMITED
    return str(decimal(match[1], 0) * 1024 ** _UNITS[match[2]] // resource.unit) if match else value


def reaches(found: str, limit: str) -> bool:
    """Whether a limit is at least the declared one."""
    if limit == KEEP or found in (UNLIMITED, limit):
        return True
    return limit != UNLIMITED and decimal(found, -1) >= decimal(limit, 0)


def others(lines: t.Iterable[Line], limit: Limit) -> list[Line]:
    """The foreign limits below the declared one, out of all lines of one kind in reading order."""
    return [line for line in effective(lines_of(lines, limit.resource)) if not reaches(line.value, limit.value)]
