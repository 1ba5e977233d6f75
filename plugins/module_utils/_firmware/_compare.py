# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the firmware of the adapters with what is declared. Burns, sets and downloads nothing."""

from __future__ import annotations

import itertools
import os
import typing as t

from .._errors import InvalidInput, RdmaError, require_none
from .._host._run import first_tool
from .._tools import _flint
from ._config._apply import examine
from ._config._input import wanted_of
from ._config._session import Session, find_tools
from ._devices import each, outcomes, read_devices, select_devices, title
from ._found import Differences
from ._image import _look as images
from ._image import _plan as burning
from ._image._fetch import CACHE
from ._image._query import query_adapter
from ._image._wanted import Wanted as WantedImages

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from ._config._wanted import Wanted as WantedConfig
    from ._devices import Device
    from ._wanted import Wanted

_NO_FLINT = "the firmware can't be read: neither mstflint nor flint is installed on this node; rdma.ofed.firmware installs mstflint"


def compare(run: Runner, wanted: Wanted, root: str = "/") -> Differences:
    """The differences of all adapters, which are queried in parallel, so `run` has to be thread-safe. A node without adapters has none."""
    devices = read_devices(root)
    if not devices and wanted.missing == "ignore":
        return Differences()
    firmware = parameters = Differences()
    if wanted.images or wanted.versions:
        firmware = _tried(lambda: _firmware(run, wanted, devices, root=root))
    if wanted.config:
        # A parameter that such an adapter lacks may exist in the firmware that does not run yet.
        updated = {change.subject for change in (*firmware.changes, *(entry.change for entry in firmware.pending))}
        parameters = _tried(lambda: _parameters(run, wanted, devices, updated=updated))
    return _together([firmware, parameters])


def _together(parts: t.Iterable[Differences]) -> Differences:
    return Differences(*(tuple(itertools.chain.from_iterable(field)) for field in zip(*parts)))


def _line(exc: RdmaError) -> str:
    return "; ".join(exc.msg.splitlines())


def _tried(look: t.Callable[[], Differences]) -> Differences:
    try:
        return look()
    except RdmaError as exc:
        return Differences(errors=(_line(exc),))


def _firmware(run: Runner, wanted: Wanted, devices: t.Sequence[Device], *, root: str) -> Differences:
    chosen, problems = select_devices("hca_firmware_devices", wanted.devices, devices, missing=wanted.missing)
    require_none(problems)
    tool = first_tool(run, _flint.TOOLS)
    if not tool:
        return Differences(errors=(_NO_FLINT,) if any(_is_declared(device, wanted) for device in chosen) else ())
    queries = outcomes(lambda device: query_adapter(run, tool, device.pci), chosen)
    pairs = list(zip(chosen, queries))
    unread = tuple(_line(query) for query in queries if isinstance(query, RdmaError))
    adapters = [burning.Adapter(one.pci, one.functions, one.rdma, query) for one, query in pairs if not isinstance(query, RdmaError)]
    versions = WantedImages(wanted.versions, wanted.allow_downgrade, missing="skip", images=wanted.images)
    todo = images.draft(run, tool, adapters, wanted=versions, cache=os.path.join(root, CACHE), download=None)
    due = {burn.adapter.pci for burn in todo.burns}
    # A burn that the role refuses is reported as an error, not as a change, too.
    objected = {problem.variable for problem in todo.problems}
    todo = todo._replace(burns=tuple(burn for burn in todo.burns if "image %s" % burn.image.path not in objected))
    # Pending firmware in a flash that will be burned again is not the wanted firmware.
    waiting = burning.pending([adapter for adapter in adapters if adapter.pci not in due])
    return Differences(todo.plan.changes, waiting, (*unread, *([_line(InvalidInput(todo.problems))] if todo.problems else ())))


def _is_declared(device: Device, wanted: Wanted) -> bool:
    """Whether something is declared for the firmware of an adapter, as far as its driver tells the PSID. A folder of images can have one for any."""
    by_psid = {*wanted.versions, *(wanted.images if isinstance(wanted.images, dict) else ())}
    return not device.psid or device.psid in by_psid or isinstance(wanted.images, str)


def _parameters(run: Runner, wanted: Wanted, devices: t.Sequence[Device], *, updated: t.Collection[str]) -> Differences:
    adapters, problems = wanted_of("hca_firmware_config", wanted.config, devices, missing=wanted.missing)
    require_none(problems)
    tools = find_tools(run, "auto") if adapters else ()

    def one_adapter(one: WantedConfig) -> Differences:
        session = Session(run, tools, one.device.pci, title=title(one.device))
        todo = examine(session, one, one.device.pci in updated, rehearse=False)
        due = {change.key() for change in todo.changes()}
        waiting = tuple(entry for entry in todo.pending() if entry.change.key() not in due)
        return Differences(todo.changes(), waiting, (_line(InvalidInput(todo.problems)),) if todo.problems else ())

    return _together(each(lambda one: _tried(lambda: one_adapter(one)), adapters))
