# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Choose the image for each adapter, and decide whether it may be burned. Pure: no tool is started here, so check mode is exact.

All refusals, for all adapters, are found before the first adapter is burned.
"""

from __future__ import annotations

import typing as t

from ..._errors import Problem
from ..._plan import Change, Kind, Pending, Plan, changes_of
from ..._record import as_data
from ..._tools._flint import SECURE, Query, firmware_checks, numbers, same_version
from ._wanted import Wanted

ACTIVATION = "device_reset"
OVERRIDE_PSID = "allow_another_psid_that_may_destroy_the_adapter"
ABSENT = "there is no such file on the node"
NOT_DOWNLOADED = "it has never been downloaded to this node, so its version is not known here"
_HINTS = {
    ABSENT: "copy it to the node, or give a url with a checksum",
    NOT_DOWNLOADED: "rdma.ofed.firmware downloads it; a version in hca_firmware_versions is compared without an image",
}
_SIGNED = (SECURE, "signed-fw")
# The fields of an adapter that a result takes from the tool unchanged.
_TOLD = ("psid", "part_number", "description", "image_type", "running", "release_date", "security", "roms", "base_guid", "base_mac")


class Adapter(t.NamedTuple):
    """One card, regardless of its number of PCI functions, and the content of its flash."""

    pci: str
    """Its first function, which is passed to the tools."""
    functions: tuple[str, ...] = ()
    rdma: tuple[str, ...] = ()
    """The RDMA devices on its functions."""
    query: Query = Query()


class Image(t.NamedTuple):
    """An image. `fault` says why it can't be used, in the words of the tool."""

    path: str
    """The location as declared: the path of a file, or a URL."""
    query: Query = Query()
    fault: str = ""
    copy: str = ""
    """The file that a URL was downloaded to."""

    @property
    def file(self) -> str:
        return self.copy or self.path


class Source(t.NamedTuple):
    """The available images: files for any adapter with their PSID, and files mapped to one PSID."""

    candidates: tuple[Image, ...] = ()
    by_psid: t.Mapping[str, Image] = {}
    single: bool = False
    """Whether a single file was declared for every selected adapter."""


class Burn(t.NamedTuple):
    adapter: Adapter
    image: Image


class ImagePlan(t.NamedTuple):
    """Burns in order, problems that forbid all burns, and notes for people."""

    burns: tuple[Burn, ...] = ()
    chosen: t.Mapping[str, Image] = {}
    """The image of each adapter that has one, by PCI address."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        """The burns as changes."""
        changes: list[Change] = []
        for adapter, image in self.burns:
            changes.append(_change(adapter, "psid", before=adapter.query.psid, after=image.query.psid))
            changes.append(_change(adapter, "version", before=adapter.query.version, after=image.query.version))
        return Plan(changes_of(*changes))


def name_of(adapter: Adapter) -> str:
    """`adapter 0000:03:00.0 (MT_0000000008)`."""
    return "adapter %s (%s)" % (adapter.pci, adapter.query.psid or "no PSID")


def _faulty(images: t.Iterable[Image]) -> list[str]:
    return ["%s (%s)" % (image.path, image.fault) for image in sorted(images) if image.fault]


def unusable(image: Image) -> Problem:
    """The problem of an image that has a fault."""
    return Problem("image %s" % image.path, image.fault, "a whole firmware image", _HINTS.get(image.fault, "get it from its source again"))


def _without_image(adapter: Adapter, version: str, source: Source, *, missing: str) -> Problem:
    """The problem of an adapter without an image; it lists the available images. `version`: the wanted version, if any."""
    psid, sound = adapter.query.psid, [one for one in source.candidates if not one.fault]
    if version:
        have = sorted({one.query.version for one in sound if one.query.psid == psid}, key=numbers)
        allowed = "a version of %s for which there is an image: %s" % (psid, ", ".join(have) or "none")
    else:
        allowed = "a PSID for which there is an image: %s" % (", ".join(sorted({one.query.psid for one in sound} | set(source.by_psid))) or "none")
    hints = ["an image contains the PSID of the cards that it is made for"]
    if _faulty(source.candidates):
        hints.append("not readable: %s" % ", ".join(_faulty(source.candidates)))
    if missing == "fail" and not version:
        hints.append("with missing_image=skip, the adapter is left unchanged")
    if version:
        hints.append("its flash has %s" % adapter.query.version)
    return Problem(name_of(adapter), "without an image%s" % (" of version %s" % version if version else ""), allowed, "; ".join(hints))


def psids_of(adapter: Adapter, wanted: Wanted) -> tuple[str, ...]:
    """The PSIDs that an image may be mapped to: that of the adapter and, where the PSID may be changed, the original one."""
    found = adapter.query
    return (found.psid, found.original_psid) if wanted.allow_psid and found.original_psid else (found.psid,)


def choose(adapter: Adapter, source: Source, wanted: Wanted) -> Image | Problem:
    """The image for an adapter: the one mapped to its PSID, the single file, or the newest image with its PSID and the wanted version."""
    psid = adapter.query.psid
    mapped = [source.by_psid[one] for one in psids_of(adapter, wanted) if one in source.by_psid]
    image = next(iter(mapped or (source.candidates if source.single else ())), None)
    if image is not None:
        return unusable(image) if image.fault else image
    version = wanted.versions.get(psid, "")
    fitting = [one for one in source.candidates if not one.fault and one.query.psid == psid]
    if version:
        fitting = [one for one in fitting if same_version(one.query.version, version)]
    if fitting:
        # Of equal versions take the first by name, so that every run chooses the same file.
        return max(sorted(fitting, key=lambda one: one.path), key=lambda one: numbers(one.query.version))
    return _without_image(adapter, version, source, missing=wanted.missing)


def _objections(adapter: Adapter, image: Image, wanted: Wanted) -> list[Problem]:
    """Why this image must not be burned on this adapter."""
    found, offered, name = adapter.query, image.query, name_of(adapter)
    problems: list[Problem] = []
    version = wanted.versions.get(found.psid, "")

    def object_to(value: str, allowed: str, hint: str = "") -> None:
        problems.append(Problem("image %s" % image.path, value, allowed, hint))

    if version and not same_version(version, offered.version):
        object_to(offered.version, "version %s, which is declared for %s" % (version, found.psid))
    if offered.psid != found.psid and (not wanted.allow_psid or SECURE in found.security):
        hint = "firmware of another board can make the card permanently unusable; %s burns it nevertheless" % OVERRIDE_PSID
        if wanted.allow_psid:
            hint = "secure firmware does not allow a change of its PSID"
        object_to("PSID %s" % (offered.psid or "none"), "PSID %s, that of the %s" % (found.psid, name), hint)
    if SECURE in found.security and not set(_SIGNED) & set(offered.security):
        object_to("not signed", "a signed image: %s runs secure firmware only" % name)
    if numbers(offered.version) < numbers(found.version) and not wanted.allow_downgrade:
        allowed = "%s or newer, which %s has in its flash" % (found.version, name)
        object_to("version %s" % offered.version, allowed, "hca_firmware_allow_downgrade of the role, or allow_downgrade of the module, burns the older one")
    return problems


def is_settled(adapter: Adapter, wanted: Wanted) -> bool:
    """Whether the declared version is in the flash. Then no image is needed, unless it may change the PSID."""
    version = wanted.versions.get(adapter.query.psid, "")
    return bool(version) and same_version(version, adapter.query.version) and not wanted.allow_psid


def is_due(adapter: Adapter, image: Image) -> bool:
    """Whether the flash holds another image. The running firmware does not count: it changes at the next reset."""
    return adapter.query.psid != image.query.psid or not same_version(adapter.query.version, image.query.version)


def _may_be_skipped(adapter: Adapter, source: Source, wanted: Wanted) -> bool:
    """Whether nothing is declared for the adapter. An unreadable file counts as declared, because it may be the adapter's image."""
    mapped = any(psid in source.by_psid for psid in psids_of(adapter, wanted))
    return wanted.missing == "skip" and adapter.query.psid not in wanted.versions and not mapped and not _faulty(source.candidates)


def plan(adapters: t.Sequence[Adapter], source: Source, wanted: Wanted) -> ImagePlan:
    """All burns, or all reasons against them."""
    burns: list[Burn] = []
    chosen: dict[str, Image] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for adapter in sorted(adapters):
        if is_settled(adapter, wanted):
            continue
        image = choose(adapter, source, wanted)
        if isinstance(image, Problem):
            if _may_be_skipped(adapter, source, wanted):
                notes.append("%s is left unchanged: neither an image nor a version is declared for it" % name_of(adapter))
            else:
                problems.append(image)
            continue
        chosen[adapter.pci] = image
        if is_due(adapter, image):
            problems += _objections(adapter, image, wanted)
            burns.append(Burn(adapter, image))
    notes += ["%s was ignored" % image for image in _faulty(source.candidates)]
    return ImagePlan(tuple(burns), chosen, tuple(dict.fromkeys(problems)), tuple(notes))


def _change(adapter: Adapter, aspect: str, *, before: str, after: str) -> Change:
    return Change(Kind.FIRMWARE, adapter.pci, aspect, before, after, ACTIVATION)


def after(adapters: t.Sequence[Adapter], burns: t.Sequence[Burn]) -> tuple[Adapter, ...]:
    """The adapters as they will be after the burns."""
    burned = {}
    for adapter, image in burns:
        found, new = adapter.query, image.query
        original = (found.original_psid or found.psid) if new.psid != found.psid else found.original_psid
        query = found._replace(version=new.version, release_date=new.release_date, psid=new.psid, original_psid=original)
        burned[adapter.pci] = adapter._replace(query=query)
    return tuple(burned.get(adapter.pci, adapter) for adapter in adapters)


def pending(adapters: t.Sequence[Adapter]) -> tuple[Pending, ...]:
    """Firmware in flash that does not run yet."""
    due: list[Change] = []
    for one in sorted(adapters):
        found = one.query
        due.append(_change(one, "running_psid", before=found.running_psid or found.psid, after=found.psid))
        if not same_version(found.running, found.version):
            due.append(_change(one, "running_version", before=found.running, after=found.version))
    return tuple(Pending(change) for change in changes_of(*due))


def describe(adapter: Adapter, image: Image | None) -> dict[str, t.Any]:
    """An adapter in the shape that the module returns."""
    data = as_data(adapter)
    found = data.pop("query")
    return {
        **data,
        **{name: found[name] for name in _TOLD},
        "original_psid": found["original_psid"] or found["psid"],
        "burned": found["version"],
        "activated_by": ACTIVATION if pending([adapter]) else "",
        "firmware_checks_images": firmware_checks(adapter.query),
        "image": image.path if image else "",
        "image_version": image.query.version if image else "",
    }
