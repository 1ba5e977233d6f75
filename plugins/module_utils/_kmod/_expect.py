# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of its kernel modules and of the limits of resources."""

from __future__ import annotations

import typing as t

from .._expectation import Expectation
from .._finding import Code, Finding, Topic, of_change
from .._plan import Kind
from . import _concern
from . import _plan as kmod
from ._config import IMAGE_PATHS, NAMING_PATH, UNMANAGED
from ._found import Seen
from ._input import problems
from ._limits import CONTAINER, MEMLOCK, SERVICE, SESSION, Limit, others, reaches
from ._look import Scope, look, with_limits
from ._ulimits import low_containers, low_daemons, remedy
from ._wanted import Wanted, wanted_of

if t.TYPE_CHECKING:
    from .._expectation import Around, Variables
    from .._host._node import Node
    from ._found import Found

_PREFIX = "kernel_modules_"


def findings(wanted: Wanted, seen: Seen, _around: Around) -> list[Finding]:
    found = seen.found
    result = [*_modules(wanted, found), *_pending(wanted, found)]
    for limit in wanted.limits:
        live = seen.limits.get(limit.resource, {})
        result += [*_limits(limit, found, live), *_daemons(limit, found, live)]
    return result


def _modules(wanted: Wanted, found: Found) -> list[Finding]:
    """What the planner would change for these modules. The check may cover a part of the role's declaration, whose files list more."""
    names = kmod.kernel_names(wanted, found)
    # Options and drivers for the initramfs may be declared only for the role, where the check does not see them.
    images = bool(wanted.options or wanted.initramfs_drivers or wanted.initramfs_cmdline)
    changes = [change for change in kmod.plan(wanted._replace(load=wanted.load | found.ours), found).changes if not change.is_about(Kind.FILE, NAMING_PATH)]
    result = [
        of_change(change)
        for change in changes
        if (change.kind != Kind.MODULE or change.subject in names) and (images or not change.is_about(Kind.FILE) or change.subject not in IMAGE_PATHS)
    ]
    if wanted.device_names != UNMANAGED or wanted.rails:
        # The rule for the names of RDMA devices, and the devices whose names do not follow it.
        result += _missing(wanted, found)
        result += [of_change(change) for change in (kmod.naming_change(wanted, found), *kmod.misnamed(wanted, found)) if change is not None]
    return result


def _missing(wanted: Wanted, found: Found) -> list[Finding]:
    """The rails without an RDMA device."""
    gone = [rail for rail in wanted.rails if not any(kmod.is_of(device, rail) for device in found.adapters)]
    return [Finding(Code.NO_RAIL, Kind.RDMA_DEVICE, rail.name, wanted=rail.pci or rail.guid) for rail in gone]


def _pending(wanted: Wanted, found: Found) -> list[Finding]:
    """Options of loaded modules that are set but not in effect yet. Names of devices have findings of their own."""
    # Where options still have to be set, the file is the finding.
    declared = set(wanted.options) - set(kmod.changed_options(wanted, found))
    changes = [entry.change for entry in kmod.pending(wanted, found) if entry.change.kind == Kind.PARAMETER and entry.change.subject in declared]
    return [of_change(change)._replace(code=Code.PENDING, detail=change.needs.replace("_", " ")) for change in changes]


def _limits(limit: Limit, found: Found, live: t.Mapping[str, str]) -> list[Finding]:
    """Findings about a limit of a session, a service and a container. A limit that may not be raised is no finding."""
    # Locked memory is what the limits of a session and a service are of, where no aspect says otherwise.
    aspect = "" if limit.resource == MEMLOCK.name else limit.resource
    result = []
    for name, lines in ((SESSION, found.session_limits), (SERVICE, found.service_limits)):
        if found.may_raise and name in live and not reaches(live[name], limit.value):
            lower = ["%s line %d" % (line.path, line.line) for line in others(lines, limit)]
            result.append(Finding(Code.LOW_LIMIT, Topic.LIMIT, name, aspect, limit.value, live[name], ", ".join(lower)))
    low = low_containers(found, limit)
    return result + [Finding(Code.LOW_LIMIT, Topic.LIMIT, CONTAINER, aspect, limit.value, line.value, "%s line %d" % line[:2]) for line in low]


def _daemons(limit: Limit, found: Found, live: t.Mapping[str, str]) -> list[Finding]:
    """Daemons started before the limit was raised. If even a new service, or for a user's systemd a session, has a low limit, that is the finding instead."""
    low = low_daemons(found, limit) if found.may_raise else []
    named = [daemon for daemon in low if reaches(live.get(SESSION if daemon.is_user_manager else SERVICE, limit.value), limit.value)]
    return [Finding(Code.DAEMON_LIMIT, Topic.DAEMON, daemon.name, limit.resource, limit.value, daemon.value, remedy(daemon, found, limit)) for daemon in named]


def _wanted(variables: Variables) -> Wanted | None:
    given = {name[len(_PREFIX) :]: value for name, value in variables.items() if name.startswith(_PREFIX)}
    return wanted_of({**given, "state": "present"}) if given["load"] or given["device_names"] != UNMANAGED or given["rails"] else None


def _hints(variables: Variables) -> dict[str, t.Any] | None:
    """The hints; None without `load_now`: then other kernels count than the one that the look covers."""
    if not variables["kernel_modules_load_now"]:
        return None
    declared = [list(limit[:2]) for limit in _concern.limits_of(variables)]
    return {**_concern.hints(variables), **({"daemons": declared, "limits": True} if declared else {})}


def _look(node: Node, wanted: Wanted, _around: Around) -> Seen:
    scope = Scope(tuple(wanted.options), daemons=wanted.limits)
    seen = Seen(found=look(node.run, node.release, scope, load_now=wanted.load_now, root=node.root))
    return with_limits(node, seen) if scope.daemons else seen


EXPECTATION = Expectation(
    "kernel_modules",
    options={"modules": "kernel_modules_load", "device_names": "kernel_modules_device_names", "rails": "kernel_modules_rails"},
    problems=problems,
    wanted=_wanted,
    hints=_hints,
    look=_look,
    form=Seen,
    findings=findings,
)
