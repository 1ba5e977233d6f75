# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a subnet manager ends: another one takes over, so that the fabric is not without a master until standbys notice.

That takes opensm about 40 s by itself (it polls the master every 10 s and gives up after 4 times). A master with the lowest
priority hands over at once, to a standby with a higher one.
"""

from __future__ import annotations

import contextlib
import functools
import time
import typing as t

from .._errors import CommandFailed, RdmaError, Refused
from .._foreign import decimal
from .._host._files import apply_file, file_change, read_text
from .._host._turn import comes
from .._host._units import Systemd
from .._tools import _saquery, _sminfo
from ._conf import parse_conf, with_key
from ._master import LOWEST
from ._places import fabric_of, file_path

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._facts._ports import Port
    from .._host._run import Runner
    from .._plan import Change
    from ._found import Found

INTERVAL_SECONDS = 0.5
# How long opensm may take to read its file again.
READING_SECONDS = 1.0


def can_ask(run: Runner) -> bool:
    """Whether the tools are there that ask a fabric for its subnet managers."""
    return run.has("sminfo") and run.has("saquery")


def _answer(run: Runner, port: Port, *, lid: int | None = None) -> _sminfo.SmInfo | None:
    """The subnet manager of the fabric of `port`, or at `lid`; None also where it can't be asked."""
    with contextlib.suppress(RdmaError):
        return _sminfo.query(run, port.device, port.port, lid=lid)
    return None


def _master(run: Runner, port: Port) -> str:
    """The port GUID of the master that `port` sees; "" for none."""
    answer = _sminfo.query(run, port.device, port.port)
    return answer.guid if answer is not None and answer.is_master else ""


def _has_moved(run: Runner, port: Port) -> bool:
    """Whether the fabric of `port` has another master."""
    return _master(run, port) not in ("", port.port_guid)


def heirs(run: Runner, port: Port, own: t.Collection[str]) -> list[str]:
    """Port GUIDs of the standbys on other hosts that a master hands over to. It never does so to one of the lowest priority.

    Each has to answer: the master keeps the record of a standby that has ended, until it next looks at all ports.
    """
    records = _saquery.sm_records(run, port.device, port.port) or ()
    standbys = [record for record in records if record.guid not in own and record.is_standby and record.priority > LOWEST]
    answers = [_sminfo.query(run, port.device, port.port, lid=record.lid) for record in standbys]
    return [answer.guid for answer in answers if answer is not None and answer.is_standby]


def bound_to(unit: str, found: Found, ports: t.Sequence[Port], *, free: t.Collection[str] = ()) -> list[Port]:
    """The ports that a unit, or a process by its ID, may be bound to. One that is not ours may be bound to any of those in `free`."""
    text = found.files.get(file_path(fabric_of(unit)), "") if fabric_of(unit) else ""
    guid = parse_conf(text).get("guid", "")
    if unit in found.bound:
        return [port for port in ports if port.port_guid in found.bound[unit] and port.infiniband and port.phys_state == "LinkUp"]
    return [port for port in ports if (port.port_guid == guid if guid else port.port_guid in free) and port.infiniband and port.phys_state == "LinkUp"]


def without_heir(
    run: Runner, stops: t.Sequence[Change], found: Found, *, ports: t.Sequence[Port], taken: t.Collection[str], patience: float, sweep: bool = True
) -> dict[Change, str]:
    """Those of `stops`, which stop a unit or process for good, that would leave a fabric without a master, and why.

    `taken`: GUIDs of ports on which another instance of this host follows. Where the fabric can't be asked, or nothing answers, what is
    there counts as alone: it may be the only one. On a port without a link it serves no fabric, and is not kept.
    `sweep`: whether a master of ours may be told to look for standbys. Check mode must not.
    """
    kept: dict[Change, str] = {}
    own = {port.port_guid for port in ports}
    for stop in stops:
        bound = [port for port in bound_to(stop.subject, found, ports, free=own - set(taken)) if port.port_guid not in taken]
        for port in _served(run, bound):
            unit = stop.subject if sweep and fabric_of(stop.subject) else ""
            why = _alone(run, port, unit, own=own, patience=patience)
            if why:
                kept[stop] = why
    return kept


def undeclared(stops: t.Sequence[Change], found: Found, *, ports: t.Sequence[Port], declared: t.Collection[str]) -> dict[Change, list[Port]]:
    """Those of `stops`, of packages or by hand, that are known to be bound to a port of no declared fabric, and these ports."""
    others = {stop: bound_to(stop.subject, found, ports) for stop in stops if stop.subject in found.bound}
    left = {stop: [port for port in bound if port.port_guid not in declared] for stop, bound in others.items()}
    return {stop: bound for stop, bound in left.items() if bound}


def require_declared(run: Runner, stops: t.Mapping[Change, t.Sequence[Port]], *, ports: t.Sequence[Port], patience: float) -> None:
    """Raises Refused where one of `stops` is all that its undeclared fabric has. It can't go on either: what started it would start another one beside ours."""
    own = {port.port_guid for port in ports}
    alone = {port: (stop, why) for stop, bound in stops.items() for port in bound for why in [_alone(run, port, "", own=own, patience=patience)] if why}
    if alone:
        named = "; ".join(
            "%s serves port %s (port GUID %s): %s" % (stop.subject, port.name, port.port_guid, why) for port, (stop, why) in sorted(alone.items())
        )
        raise Refused(
            "%s. No declared fabric of this host has that port, so none would follow there. Nothing was changed here. Next: declare the fabrics of "
            "all ports in rdma_fabrics, with a host of group opensm for each, or set rdma_allow_removal: true to leave that fabric without one" % named
        )


def require_heirs(run: Runner, stops: t.Sequence[Change], found: Found, *, ports: t.Sequence[Port], patience: float, sweep: bool) -> None:
    """Raises Refused where what is stopped for good would leave a fabric without a master."""
    alone = without_heir(run, stops, found, ports=ports, taken=(), patience=patience, sweep=sweep)
    if alone:
        raise Refused(
            "%s. Without one, ports that come up stay in state INIT, and routes and partitions are not renewed. Nothing was changed here. "
            "Next: start the subnet manager that is to follow, on a switch for example, or set rdma_allow_removal: true"
            % "; ".join("%s is the only subnet manager that is known of: %s" % (change.subject, why) for change, why in sorted(alone.items()))
        )


def _mastered(run: Runner, ports: t.Iterable[Port]) -> dict[Port, _sminfo.SmInfo]:
    """Those of the ports where a master answers, with the answer."""
    answers = {port: _answer(run, port) for port in ports}
    return {port: answer for port, answer in answers.items() if answer is not None and answer.is_master}


def _served(run: Runner, ports: t.Sequence[Port]) -> list[Port]:
    """Those of the ports that one subnet manager may be bound to where a master answers; all where none does."""
    found = _mastered(run, ports) if len(ports) > 1 and can_ask(run) else {}
    return list(found) or list(ports)


def _alone(run: Runner, port: Port, unit: str, *, own: t.Collection[str], patience: float) -> str:
    """Why nothing is known to follow after `patience` seconds, in words; "" where something does. `unit`: of ours, which can be told to sweep."""

    def followed() -> bool:
        return _has_moved(run, port) or bool(heirs(run, port, own))

    if not can_ask(run):
        return "the fabric of port %s can't be asked who follows: install sminfo and saquery (package infiniband-diags)" % port.name
    try:
        if followed():
            return ""
        if unit:
            # A master may have missed a standby that started. Its sweep finds it.
            Systemd(run).reload(unit)
        if comes(followed, patience, INTERVAL_SECONDS):
            return ""
        if _master(run, port):
            return "on port %s it is master, and no other subnet manager stands by" % port.name
    except RdmaError as exc:
        return "the fabric of port %s can't be asked who follows (%s)" % (port.name, exc.msg)
    return "on port %s no subnet manager answers, so it is not known who follows" % port.name


def masters(run: Runner, stops: t.Sequence[Change], found: Found, *, ports: t.Sequence[Port], taken: t.Collection[str]) -> list[Port]:
    """The ports on which something that is about to be stopped is master. Where the fabric can't be asked, there are none."""
    free = {port.port_guid for port in ports} - set(taken)
    bound = [port for stop in stops for port in bound_to(stop.subject, found, ports, free=free) if port.port_guid in free] if run.has("sminfo") else []
    return [port for port, answer in _mastered(run, bound).items() if answer.guid == port.port_guid]


def require_successors(run: Runner, ports: t.Sequence[Port], timeout: float) -> None:
    """After masters were stopped: wait until others have taken over. Managers that are not ours hand nothing over, and standbys poll."""
    deadline = time.monotonic() + timeout
    for port in ports:
        if not comes(functools.partial(_has_moved, run, port), deadline - time.monotonic(), INTERVAL_SECONDS):
            raise CommandFailed(
                "the fabric of port %s has had no master for %g s, since the one that was here was stopped, though another subnet manager stood by. "
                "Next: run this role on the designated host, and see its journalctl -u 'rdma-opensm@*'" % (port.name, timeout)
            )


@contextlib.contextmanager
def _in_file(module: AnsibleModule, change: Change) -> t.Iterator[None]:
    """The change for a while. The next start needs the previous content."""
    try:
        apply_file(module, change, mode=0o600)
        yield
    finally:
        apply_file(module, change._replace(before=change.after, after=change.before), mode=0o600)


def _lowest_priority(unit: str) -> Change | None:
    """None where the unit is not ours, where there is no file, and where it has that priority."""
    path = file_path(fabric_of(unit))
    text = read_text(path) if fabric_of(unit) else ""
    return file_change(path, text, with_key(text, "sm_priority", LOWEST)) if text else None


def hand_over(module: AnsibleModule, run: Runner, unit: str, *, found: Found, ports: t.Sequence[Port], patience: float) -> None:
    """Let a standby take over from a unit of ours, if it is master and there is one; else do nothing. `ports`: all ports of this host."""
    lowered = _lowest_priority(unit)
    if lowered is None or not can_ask(run):
        return
    bound = bound_to(unit, found, ports)
    own = {port.port_guid for port in bound}
    for port in bound:
        try:
            if _master(run, port) != port.port_guid or not heirs(run, port, own):
                continue
        except RdmaError:
            continue
        with _in_file(module, lowered):
            Systemd(run).reload(unit)
            # Until the standby has swept, it takes one that starts again for a better master, and both stand by until they poll each other.
            # One that never takes over notices by itself that this one has ended.
            comes(functools.partial(_has_moved, run, port), patience, INTERVAL_SECONDS)


def _has_joined(run: Runner, port: Port) -> bool:
    """Whether the subnet manager on `port` has found out who is master."""
    answer = _answer(run, port, lid=port.lid)
    return answer is not None and (answer.is_standby or answer.is_master)


@contextlib.contextmanager
def joining(module: AnsibleModule, run: Runner, unit: str, *, port: Port, patience: float) -> t.Iterator[None]:
    """Around a start of a unit of ours that shall replace a master: it starts with the lowest priority, and has its own once it stands by.

    A master hands over to a higher priority as soon as it sees one. One that is still discovering the fabric does not take it, and both
    would stand by until they have polled each other in vain.
    """
    lowered = _lowest_priority(unit)
    priority = decimal(parse_conf(lowered.before).get("sm_priority", ""), 0) if lowered is not None else 0
    master = _mastered(run, [port]).get(port) if lowered is not None and can_ask(run) else None
    # There has to be one on another port that would hand over to this priority.
    if lowered is None or master is None or master.guid == port.port_guid or master.priority > priority:
        yield
        return
    with _in_file(module, lowered):
        yield
        comes(functools.partial(_has_joined, run, port), patience, INTERVAL_SECONDS)
    Systemd(run).reload(unit, attempt=True)


def announce(module: AnsibleModule, run: Runner, unit: str, *, told: int = 0) -> None:
    """Tell the master of a standby of ours that it does not know, as opensm does by itself where the priority of a standby rises.

    opensm reports itself (IsSM) a moment before it can answer. A master that asks in between, as on a busy node, gets no answer, and
    does not ask again before its next heavy sweep, which nothing starts by itself.

    Every second time, the standby is restarted: of two that start at the same time, one may take the other for the master, and tell
    that one instead.
    """
    lowered = _lowest_priority(unit)
    if lowered is None or told % 2:
        Systemd(run).allow_start(unit)
        Systemd(run).restart(unit)
        return
    with _in_file(module, lowered):
        Systemd(run).reload(unit, attempt=True)
        time.sleep(READING_SECONDS)
    Systemd(run).reload(unit, attempt=True)
