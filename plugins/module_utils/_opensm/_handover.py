# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a subnet manager stops: let a standby take over, so that the fabric has a master without a gap.

On its own, opensm needs about 40 s for that: a standby polls the master every 10 s and gives up after 4 failed polls. A master with the lowest
priority hands over at once to a standby with a higher priority.
"""

from __future__ import annotations

import contextlib
import functools
import time
import typing as t

from .._errors import CommandFailed, RdmaError, Refused
from .._foreign import decimal
from .._host._files import apply_file, file_change, read_text
from .._host._turn import comes, look_until
from .._host._units import Systemd
from ._conf import parse_conf, with_key
from ._fabric._found import can_ask, see
from ._fabric._plan import alone, can_hand_over, has_joined, has_moved, is_here, takes_over
from ._master import LOWEST
from ._places import fabric_of, file_path
from ._plan import bound_to

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._facts._ports import Port
    from .._host._run import Runner
    from .._plan import Change
    from ._fabric._found import FabricFound
    from ._found import Found

INTERVAL_SECONDS = 0.5
# Time for opensm to reread its file.
READING_SECONDS = 1.0
# Time for a standby to notice that a master has ended: sminfo_polling_timeout times polling_retry_number of opensm, plus the last answered poll.
POLLING_SECONDS = 50.0


@contextlib.contextmanager
def _in_file(module: AnsibleModule, change: Change) -> t.Iterator[None]:
    """Apply a change to a file, and restore the file afterwards: the next start needs the previous content."""
    try:
        apply_file(module, change, mode=0o600)
        yield
    finally:
        apply_file(module, change._replace(before=change.after, after=change.before), mode=0o600)


def _lowest_priority(unit: str) -> Change | None:
    """The change to the lowest priority; None where the unit is not ours, has no file, or already has that priority."""
    path = file_path(fabric_of(unit))
    text = read_text(path) if fabric_of(unit) else ""
    return file_change(path, text, with_key(text, "sm_priority", LOWEST)) if text else None


class Handover:
    """Keeps a master on the fabrics of a host while a plan is applied.

    `ports`: all ports of the host. `patience`: how long to wait for others, in seconds. Check mode neither waits nor signals a subnet manager.
    """

    def __init__(self, module: AnsibleModule, run: Runner, found: Found, *, ports: t.Sequence[Port], patience: float) -> None:
        self._module, self._run, self._found, self._ports = module, run, found, ports
        self._patience = 0 if module.check_mode else patience
        self._own = {port.port_guid for port in ports}

    def _has_moved(self, port: Port) -> bool:
        return has_moved(see(self._run, port))

    def _knows(self, port: Port, plan: t.Callable[[FabricFound], bool]) -> bool:
        """Apply a predicate to the fabric of a port; False where the fabric can't be queried."""
        with contextlib.suppress(RdmaError):
            return plan(see(self._run, port))
        return False

    def _bound(self, stop: Change, taken: t.Collection[str]) -> list[Port]:
        """The ports that have no subnet manager of this host after that stop. Ports in `taken` get another instance and are left out."""
        ports = bound_to(stop.subject, self._found, self._ports, free=self._own)
        return [port for port in ports if port.port_guid not in taken]

    def _served(self, ports: t.Sequence[Port]) -> list[Port]:
        """Of several ports that one subnet manager may be bound to, those where a master answers; all of them where none answers."""
        return [port for port in ports if len(ports) > 1 and self._knows(port, lambda fabric: fabric.master is not None)] or list(ports)

    def _alone(self, port: Port, unit: str = "") -> str:
        """Why no standby is known to take over on a port, in words; "" where one does. `unit`: our unit, which can be told to sweep."""
        if not can_ask(self._run):
            return "the subnet managers on port %s can't be queried: install sminfo and saquery (package infiniband-diags)" % port.name
        try:
            why = alone(see(self._run, port), self._own)
            if why and unit and not self._module.check_mode:
                # The master may have missed a standby that started. A sweep finds it.
                Systemd(self._run).reload(unit)
            return why and look_until(lambda: alone(see(self._run, port), self._own), lambda each: not each, patience=self._patience, pause=INTERVAL_SECONDS)
        except RdmaError as exc:
            return "the subnet managers on port %s can't be queried (%s)" % (port.name, exc.msg)

    def without_heir(self, stops: t.Sequence[Change], taken: t.Collection[str] = ()) -> dict[Change, str]:
        """Those of `stops` that would leave a fabric without a master, with the reason. Each of `stops` stops a unit or process for good.

        `taken`: GUIDs of ports that another instance of this host takes over. Where the fabric can't be queried or nothing answers, the subnet manager
        counts as the only one. A subnet manager on a port without a link serves no fabric and is not kept.
        """
        kept: dict[Change, str] = {}
        for stop in stops:
            for port in self._served(self._bound(stop, taken)):
                why = self._alone(port, stop.subject if fabric_of(stop.subject) else "")
                if why:
                    kept[stop] = why
        return kept

    def require_declared(self, stops: t.Mapping[Change, t.Sequence[Port]]) -> None:
        """Raise Refused where one of `stops` is the only subnet manager of its undeclared fabric.

        It can't keep running either: whatever started it would start a second one beside ours.
        """
        alone_on = {port: (stop, why) for stop, bound in stops.items() for port in bound for why in [self._alone(port)] if why}
        if alone_on:
            named = "; ".join(
                "%s serves port %s (port GUID %s): %s" % (stop.subject, port.name, port.port_guid, why) for port, (stop, why) in sorted(alone_on.items())
            )
            raise Refused(
                "%s. No declared fabric of this host has that port, so no other would take over. Nothing was changed here. Next: declare the fabrics of "
                "all ports in rdma_fabrics, with a host of group opensm for each, or set rdma_allow_removal: true to leave that fabric without one" % named
            )

    def require_heirs(self, stops: t.Sequence[Change]) -> None:
        """Raise Refused where a permanent stop would leave a fabric without a master."""
        kept = self.without_heir(stops)
        if kept:
            raise Refused(
                "%s. Without one, ports that come up stay in state INIT, and routes and partitions are not renewed. Nothing was changed here. "
                "Next: start the subnet manager that is to take over, for example on a switch, or set rdma_allow_removal: true"
                % "; ".join("%s is the only known subnet manager: %s" % (change.subject, why) for change, why in sorted(kept.items()))
            )

    @contextlib.contextmanager
    def followed(self, stops: t.Sequence[Change], taken: t.Collection[str], *, timeout: float) -> t.Iterator[None]:
        """Context around the stop of masters: wait until others have taken over. Foreign managers do not hand over, and their standbys have to poll.

        Ports whose fabric can't be queried beforehand are not waited for. `taken` is as in `without_heir`. `timeout` covers the time after the polls.
        """
        timeout += POLLING_SECONDS
        ports = [port for stop in stops for port in self._bound(stop, taken) if self._knows(port, is_here)]
        yield
        left = look_until(lambda: [port for port in ports if not self._has_moved(port)], lambda each: not each, patience=timeout, pause=INTERVAL_SECONDS)
        if left:
            raise CommandFailed(
                "the fabric of port %s has had no master for %g s, since the one on this host was stopped, although another subnet manager stood by. "
                "Next: run this role on the designated host, and see its journalctl -u 'rdma-opensm@*'" % (left[0].name, timeout)
            )

    def before_end(self, unit: str) -> None:
        """Let a standby take over from one of our units, if the unit is master and a standby exists; else do nothing."""
        lowered = _lowest_priority(unit)
        if lowered is None:
            return
        for port in bound_to(unit, self._found, self._ports):
            if not self._knows(port, can_hand_over):
                continue
            with _in_file(self._module, lowered):
                Systemd(self._run).reload(unit)
                # Until the standby has swept, it would take a restarted instance for a better master, and both would stand by until they poll each other.
                # A standby that never takes over detects the end of this master by polling.
                comes(functools.partial(self._has_moved, port), self._patience, INTERVAL_SECONDS)

    @contextlib.contextmanager
    def joining(self, unit: str, port: Port) -> t.Iterator[None]:
        """Context around the start of one of our units that is to replace a master: it starts with the lowest priority and gets its own as a standby.

        A master hands over to a higher priority as soon as it sees one. An instance that is still discovering the fabric does not accept, and both
        would stand by until their polls of each other fail.
        """
        lowered = _lowest_priority(unit)
        priority = decimal(parse_conf(lowered.before).get("sm_priority", ""), 0) if lowered is not None else 0
        if lowered is None or not self._knows(port, lambda fabric: takes_over(fabric, priority)):
            yield
            return
        with _in_file(self._module, lowered):
            yield
            comes(lambda: self._knows(port, has_joined), self._patience, INTERVAL_SECONDS)
        Systemd(self._run).reload(unit, attempt=True)

    def announce(self, unit: str, told: int = 0) -> None:
        """Tell the master about a standby of ours that it does not know, as opensm does when the priority of a standby rises.

        opensm sets IsSM a moment before it can answer. A master that queries it in between, as on a busy node, gets no answer and does not query
        it again before its next heavy sweep, which nothing triggers.

        Every second announcement restarts the standby instead: of two that start at the same time, one may take the other for the master and
        announce itself to that one.
        """
        lowered = _lowest_priority(unit)
        systemd = Systemd(self._run)
        if lowered is None or told % 2:
            systemd.allow_start(unit)
            systemd.restart(unit)
            return
        with _in_file(self._module, lowered):
            systemd.reload(unit, attempt=True)
            time.sleep(READING_SECONDS)
        systemd.reload(unit, attempt=True)
