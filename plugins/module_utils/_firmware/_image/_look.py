# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at a node's adapters and at the images available for them."""

from __future__ import annotations

import os
import typing as t

from ..._errors import InvalidInput, Problem, RdmaError, require_none
from ..._facts._sysfs import entries
from ..._host._download import mismatch
from ..._tools import _flint as flint
from .._devices import Unread, each, select_devices, sort_out
from . import _plan as planning
from ._fetch import Download, Location, cached, fetch, location_of
from ._plan import Adapter, Image, ImagePlan, Source
from ._query import ask, query_adapter
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._devices import Device

_SUFFIXES = (".bin", ".mfa2", ".fw")


def look(run: Runner, tool: str, devices: t.Sequence[Device], *, parameters: t.Mapping[str, t.Any]) -> tuple[tuple[Adapter, ...], tuple[Unread, ...]]:
    """Query the selected cards; returns the adapters and the cards that don't answer. Without a driver, only the firmware knows the PSID."""
    asked: dict[str, flint.Query] = {}
    unread: dict[str, Unread] = {}

    def query_all(these: t.Iterable[Device]) -> None:
        cards = [(device.pci, device.pci) for device in these if device.pci not in {*asked, *unread}]
        queries, silent = sort_out(cards, lambda pci: query_adapter(run, tool, pci, psid_in_flash=parameters[planning.OVERRIDE_PSID]))
        unread.update((one.pci, one) for one in silent)
        asked.update(zip([pci for pci, _pci in cards if pci not in unread], queries))

    if any(entry.get("psid") for entry in parameters["devices"]):
        query_all(device for device in devices if not device.psid)
        devices = [device._replace(psid=asked[device.pci].psid) if device.pci in asked else device for device in devices]
    chosen, problems = select_devices("devices", parameters["devices"], devices, missing=parameters["missing"])
    if not unread:
        # A card that does not report its PSID may be the one that a PSID selector means.
        require_none(problems)
    query_all(chosen)
    adapters = tuple(Adapter(device.pci, device.functions, device.rdma, asked[device.pci]) for device in chosen if device.pci in asked)
    return adapters, tuple(unread.values())


def look_at_image(run: Runner, tool: str, path: str) -> Image:
    """Query an image. An image that can't be read has a fault instead of a query."""
    if not os.path.isfile(path):
        return Image(path, fault=planning.ABSENT)
    output, text = ask(run, flint.query_image(tool, path), flint.QUERY_TIMEOUT)
    try:
        return Image(path, fault=flint.error_of(text)) if output.rc else Image(path, flint.parse_query(text))
    except RdmaError as exc:
        return Image(path, fault=exc.msg)


def look_at_location(run: Runner, tool: str, location: Location, *, cache: str, download: Download | None) -> Image:
    """The image at a location. A URL is downloaded first; without `download`, the image has to be in the cache."""
    path = cached(location, cache) if location.url else location.path
    if not path:
        if download is None:
            return Image(location.url, fault=planning.NOT_DOWNLOADED)
        try:
            path = fetch(location, cache, download)
        except RdmaError as exc:
            return Image(location.url, fault=exc.msg)
    image = look_at_image(run, tool, path)
    if location.url:
        return image._replace(path=location.url, copy=path)
    return image if image.fault else image._replace(fault=mismatch(path, location.checksum))


def verify_image(run: Runner, tool: str, image: Image) -> Image:
    """The same image, with a fault where one of its checksums is wrong."""
    output, text = ask(run, flint.verify_image(tool, image.file), flint.VERIFY_TIMEOUT)
    return image if flint.verified(output.rc, text) else image._replace(fault="verification failed: %s" % flint.error_of(text))


def find_images(
    run: Runner, tool: str, where: str | t.Mapping[str, t.Any] | None, *, psids: t.Collection[str], cache: str, download: Download | None
) -> Source:
    """The images at `where`: a file, the image files directly in a directory, or a mapping. Only images for `psids` are looked at."""
    if not psids or not where:
        return Source()
    if not isinstance(where, str):
        locations = {psid: location_of(value) for psid, value in sorted(where.items()) if psid in psids}
        return Source(by_psid={psid: look_at_location(run, tool, location, cache=cache, download=download) for psid, location in locations.items()})
    if not os.path.isdir(where):
        return Source(candidates=(look_at_image(run, tool, where),), single=True)
    files = [os.path.join(where, name) for name in entries(where) if name.lower().endswith(_SUFFIXES)]
    if not files:
        raise InvalidInput([Problem("images", where, "a directory with image files (%s)" % ", ".join(_SUFFIXES))])
    return Source(candidates=tuple(each(lambda path: look_at_image(run, tool, path), files)))


def draft(run: Runner, tool: str, adapters: t.Sequence[Adapter], *, wanted: Wanted, cache: str, download: Download | None) -> ImagePlan:
    """The plan for adapters already queried, before any image is verified. Without `download`, images at a URL have to be in the cache."""
    psids = {psid for adapter in adapters if not planning.is_settled(adapter, wanted) for psid in planning.psids_of(adapter, wanted)}
    return planning.plan(adapters, find_images(run, tool, wanted.images, psids=psids, cache=cache, download=download), wanted)
