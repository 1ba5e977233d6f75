# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After opensm got new files: wait until it has read them, read its log, and take back what it refuses."""

from __future__ import annotations

import time
import typing as t

from ..._errors import CommandFailed, RdmaError
from ..._foreign import integer
from ..._host._files import apply_file, file_change, read_text
from ..._host._turn import look_until
from ..._host._units import STATE, Systemd
from ..._plan import Kind
from ..._tools._opensm_log import Topic, parse_log
from .. import _places
from .._conf import CONF, RUNNING, parse_conf
from .._partitions._file import regrouped
from ._look import Mark, listen, read_log
from ._tables import Tables

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._host._run import Runner
    from ..._plan import Plan
    from .._found import Found
    from .._wanted import Bound
    from ._expect import Told

INTERVAL_SECONDS = 0.5
# The bit of log_flags that logs the end of a sweep. It is set by default.
_INFO = 0x02


def sweeps_again(planned: Plan, bound: Bound) -> bool:
    """Whether the plan starts the opensm of an instance or makes it reread its files."""
    return any(change.subject == bound.instance.unit and change.after == RUNNING for change in planned.about(Kind.UNIT, STATE))


def hear(run: Runner, bound: Bound, *, since: Mark, sweeps: bool, timeout: float) -> Told:
    """The state from the log. `sweeps`: opensm was signalled or started after the mark, so wait for its next sweep and the P_Key tables it sets.

    The tables are read only after a sweep has ended: before that they do not reflect the present file.
    """
    instance, port = bound
    if not sweeps:
        return listen(run, instance.fabric, port)
    flags = integer(parse_conf(read_text(instance.path(CONF))).get("log_flags", ""))
    silent = flags is not None and not flags & _INFO
    tables = Tables(run, instance.fabric, port, deadline=time.monotonic() + timeout)
    # A running opensm does not log its state again.
    state = listen(run, instance.fabric, None).log.state

    def has_swept(told: Told) -> bool:
        return bool(told.log.sweeps) or silent

    def look() -> Told:
        told = listen(run, instance.fabric, None, since=since)
        told = told._replace(log=told.log._replace(state=told.log.state or state))
        # The sweep may have been under way when opensm got the signal, so the next sweep may remove a difference.
        return told._replace(differences=tables.differences()) if told.is_master and has_swept(told) else told

    def is_settled(told: Told) -> bool:
        return not told.is_master or (has_swept(told) and not told.differences) or bool(told.log.about(Topic.PARTITIONS))

    told = look_until(look, is_settled, patience=timeout, pause=INTERVAL_SECONDS)
    # A log without sweeps after the mark says nothing about the routing, but the end of the whole log may.
    return told if has_swept(told) or not told.is_master else listen(run, instance.fabric, None)


def explained(bound: Bound, error: RdmaError, *, since: Mark) -> RdmaError:
    """The error of a fabric that is not managed, extended by what opensm has logged since the mark."""
    said = parse_log(read_log(bound.instance.log, since)).said
    if not said:
        return error
    words = "; ".join(dict.fromkeys(each.text for each in said))
    return type(error)("%s. opensm says in %s: %s" % (error.msg, bound.instance.log, words), **error.details)


def take_back_refused(module: AnsibleModule, run: Runner, bound: Bound, *, told: Told, planned: Plan, found: Found) -> None:
    """Where opensm refuses partitions that this run has written: restore the former files and raise RdmaError with the reason."""
    instance = bound.instance
    paths = [instance.path(name) for name in (_places.PARTITIONS, _places.ADOPTED_PARTITIONS)]
    written = [change for change in planned.about(Kind.FILE) if change.subject in paths]
    said = told.log.about(Topic.PARTITIONS)
    if not written or not said:
        return
    for change in written:
        back = file_change(change.subject, read_text(change.subject), found.files.get(change.subject, ""))
        if back is not None:
            apply_file(module, back)
    # opensm keeps an existing group unchanged.
    again = Systemd(run).restart if regrouped(read_text(paths[0]), instance.files(found.template)[paths[0]]) else Systemd(run).reload
    again(instance.unit)
    former = "The former file is back" if paths[0] in found.files else "The file is removed again: every port is in the default partition"
    raise CommandFailed(
        "opensm of fabric %s refuses the new %s: %s. %s, and opensm uses that. Next: correct opensm_partitions, or what opensm_adopt has kept, and run "
        "the role again" % (instance.fabric, paths[0], "; ".join(said), former)
    )
