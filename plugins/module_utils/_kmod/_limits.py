# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limit of locked memory, which bounds the memory that programs can register with an adapter: for PAM sessions and systemd services. Pure.

pam_limits uses KiB and `unlimited`, systemd bytes and `infinity`. Neither reads the files of the other. Container engines need no file of their own: a
container without `--ulimit` has the limit of the process that starts it, which is containerd for docker, and the session for podman and apptainer.
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

_FORM = re.compile(r"^(%s|%s|[1-9][0-9]{0,11})\Z" % (KEEP, UNLIMITED))
_SERVICES = re.compile(r"^\s*DefaultLimitMEMLOCK\s*=\s*(\S+)\s*$")
_UNITS_OWN = re.compile(r"^\s*LimitMEMLOCK\s*=\s*(\S*)\s*$")
_SIZE = re.compile(r"^([0-9]{1,18})([KMGT]?)\Z")
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class Daemon(t.NamedTuple):
    """A daemon that starts jobs, sessions or containers."""

    name: str
    unit: str
    memlock: str
    """Its locked-memory limit, in KiB or `unlimited`."""
    obstacle: str = ""
    """Why a restart may end what it has started; "" where that goes on, and for a daemon without a limit."""

    @property
    def is_user_manager(self) -> bool:
        """Whether it is the systemd of a user, to which PAM gives the limit of sessions."""
        return self.name == USER_MANAGER


class Line(t.NamedTuple):
    """A limit in a foreign file."""

    path: str
    line: int
    value: str
    """In KiB, or UNLIMITED; as written where it is neither."""
    type: str = "-"
    """`soft`, `hard`, or `-` for both."""


def is_limit(value: t.Any) -> bool:
    """Whether the value may be declared. A number is in KiB, and may have become text in a template."""
    return isinstance(value, (str, int)) and not isinstance(value, bool) and _FORM.match(str(value)) is not None


def sessions_text(limit: str) -> str:
    """Our file for pam_limits. There `*` means all users except root. Empty: no file."""
    return "" if limit == KEEP else HEADER + "".join("%s - memlock %s\n" % (domain, limit) for domain in ("*", "root"))


def services_text(limit: str) -> str:
    """Our file for systemd. Empty: no file."""
    return "" if limit == KEEP else HEADER + "[Manager]\nDefaultLimitMEMLOCK=%s\n" % _systemd(limit)


def unit_text(limit: str) -> str:
    """Our file for the unit of a daemon."""
    return HEADER + "[Service]\nLimitMEMLOCK=%s\n" % _systemd(limit)


def read_sessions(path: str, text: str) -> list[Line]:
    """The limits for all users in a file of pam_limits: `* hard memlock 64`. Limits of single users and groups override these, and stay."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#")[0].split()
        if len(fields) == 4 and fields[0] == "*" and fields[2] == "memlock":
            found.append(Line(path, number, UNLIMITED if fields[3] in (UNLIMITED, "infinity", "-1") else fields[3], fields[1]))
    return found


def read_services(path: str, text: str) -> list[Line]:
    """The limits in a systemd file: one value, or soft and hard limit."""
    matches = ((number, _SERVICES.match(line)) for number, line in enumerate(text.splitlines(), 1))
    return [Line(path, number, _kibibytes(match[1].split(":")[0])) for number, match in matches if match]


def read_unit(path: str, text: str) -> list[Line]:
    """The limits in a file of a unit. An empty one resets the others, so that the default counts."""
    matches = ((number, _UNITS_OWN.match(line)) for number, line in enumerate(text.splitlines(), 1))
    return [Line(path, number, _kibibytes(match[1].split(":")[0])) for number, match in matches if match]


def counting(lines: t.Sequence[Line]) -> tuple[Line, ...]:
    """The lines of a unit that its last empty one does not reset."""
    resets = [number for number, line in enumerate(lines, 1) if not line.value]
    return tuple(lines[resets[-1] if resets else 0 :])


def effective(lines: t.Iterable[Line]) -> tuple[Line, ...]:
    """The effective lines, out of all lines in reading order: the last one for the soft limit and the last one for the hard limit."""
    last = {name: line for line in lines for name in (("soft", "hard") if line.type == "-" else (line.type,))}
    return tuple(dict.fromkeys(last.values()))


def _systemd(limit: str) -> str:
    return "infinity" if limit == UNLIMITED else limit + "K"


def _kibibytes(value: str) -> str:
    match = _SIZE.match(value)
    if value == "infinity":
        return UNLIMITED
    return str(decimal(match[1], 0) * 1024 ** _UNITS[match[2]] // 1024) if match else value


def reaches(found: str, limit: str) -> bool:
    """Whether a limit is at least the declared one."""
    if limit == KEEP or found in (UNLIMITED, limit):
        return True
    return limit != UNLIMITED and decimal(found, -1) >= decimal(limit, 0)


def others(lines: t.Iterable[Line], limit: str) -> list[Line]:
    """The foreign limits below the declared one, out of all lines of one kind in reading order."""
    return [line for line in effective(lines) if not reaches(line.value, limit)]
