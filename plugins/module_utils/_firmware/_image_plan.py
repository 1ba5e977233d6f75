# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which image goes on which adapter, and whether it may. Pure: no tool is started here, so check mode is exact.

Every refusal is found for all adapters before the first one is burned.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending, Plan, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._tools._flint import SECURE, Query, firmware_checks, numbers, same_version

ACTIVATION = "device_reset"
OVERRIDE_PSID = "allow_another_psid_that_may_destroy_the_adapter"
ABSENT = "there is no such file on the node"
_SIGNED = (SECURE, "signed-fw")


class Adapter(t.NamedTuple):
    """One card, however many PCI functions it has, and what its flash holds."""

    pci: str
    """Its first function: the one that the tools are given."""
    functions: tuple[str, ...] = ()
    rdma: tuple[str, ...] = ()
    """The RDMA devices on its functions."""
    query: Query = Query()


class Image(t.NamedTuple):
    """An image. C(fault) says why it can't be used, as the tool puts it."""

    path: str
    """As its author knows it: the path of a file, or a URL."""
    query: Query = Query()
    fault: str = ""
    copy: str = ""
    """The file that a URL was downloaded to."""

    @property
    def file(self) -> str:
        return self.copy or self.path


class Source(t.NamedTuple):
    """Where images come from: files that are candidates for any adapter of their PSID, and files for one PSID."""

    candidates: tuple[Image, ...] = ()
    by_psid: t.Mapping[str, Image] = {}
    single: bool = False
    """One file was named: it is meant for every selected adapter."""


class Rules(t.NamedTuple):
    versions: t.Mapping[str, str] = {}
    """The version that is wanted for a PSID."""
    allow_downgrade: bool = False
    allow_psid: bool = False
    missing: str = "fail"
    """C(fail) or C(skip): what to do with an adapter that neither a version nor an image is declared for."""


class Burn(t.NamedTuple):
    adapter: Adapter
    image: Image


class Decision(t.NamedTuple):
    """What is to be done: burns in order, problems that forbid all of them, and what is worth knowing."""

    burns: tuple[Burn, ...] = ()
    chosen: t.Mapping[str, Image] = {}
    """The image of each adapter (by its PCI address) that there is one for."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def name_of(adapter: Adapter) -> str:
    """C(adapter 0000:03:00.0 (MT_0000000008))."""
    return "adapter %s (%s)" % (adapter.pci, adapter.query.psid or "no PSID")


def _faulty(images: t.Iterable[Image]) -> list[str]:
    return ["%s (%s)" % (image.path, image.fault) for image in sorted(images) if image.fault]


def unusable(image: Image) -> Problem:
    """What is wrong with an image that has a fault."""
    hint = "copy it to the node, or give a url with a checksum" if image.fault == ABSENT else "take it from its source anew"
    return Problem("image %s" % image.path, image.fault, "a whole firmware image", hint)


def _without_image(adapter: Adapter, wanted: str, source: Source, rules: Rules) -> Problem:
    """An adapter for which there is no image, with all that there is instead."""
    psid, sound = adapter.query.psid, [one for one in source.candidates if not one.fault]
    if wanted:
        have = sorted({one.query.version for one in sound if one.query.psid == psid}, key=numbers)
        allowed = "a version of %s that there is an image for: %s" % (psid, ", ".join(have) or "none")
    else:
        allowed = "a PSID that there is an image for: %s" % (", ".join(sorted({one.query.psid for one in sound} | set(source.by_psid))) or "none")
    hints = ["images carry the PSID of the cards they are made for"]
    if _faulty(source.candidates):
        hints.append("not readable: %s" % ", ".join(_faulty(source.candidates)))
    if rules.missing == "fail" and not wanted:
        hints.append("with missing_image=skip the adapter is left as it is")
    if wanted:
        hints.append("its flash has %s" % adapter.query.version)
    return Problem(name_of(adapter), "without an image%s" % (" of version %s" % wanted if wanted else ""), allowed, "; ".join(hints))


def psids_of(adapter: Adapter, rules: Rules) -> tuple[str, ...]:
    """The PSIDs that an image may be mapped to. Where it may be changed, the one that the adapter was made with is one of them."""
    found = adapter.query
    return (found.psid, found.original_psid) if rules.allow_psid and found.original_psid else (found.psid,)


def choose(adapter: Adapter, source: Source, rules: Rules) -> Image | Problem:
    """The image for an adapter: the one mapped to its PSID, the one file, or the newest of its PSID that may be meant."""
    psid = adapter.query.psid
    mapped = [source.by_psid[one] for one in psids_of(adapter, rules) if one in source.by_psid]
    image = next(iter(mapped or (source.candidates if source.single else ())), None)
    if image is not None:
        if image.fault:
            return unusable(image)
        return image
    wanted = rules.versions.get(psid, "")
    fitting = [one for one in source.candidates if not one.fault and one.query.psid == psid]
    if wanted:
        fitting = [one for one in fitting if same_version(one.query.version, wanted)]
    if fitting:
        # of equal versions the first by name, so that every run takes the same
        return max(sorted(fitting, key=lambda one: one.path), key=lambda one: numbers(one.query.version))
    return _without_image(adapter, wanted, source, rules)


def _objections(adapter: Adapter, image: Image, rules: Rules) -> list[Problem]:
    """Why this image must not go on this adapter."""
    found, offered, name = adapter.query, image.query, name_of(adapter)
    problems = []
    wanted = rules.versions.get(found.psid, "")
    if wanted and not same_version(wanted, offered.version):
        problems.append(Problem("image %s" % image.path, offered.version, "version %s, which is declared for %s" % (wanted, found.psid)))
    if offered.psid != found.psid and not rules.allow_psid:
        problems.append(
            Problem(
                "image %s" % image.path,
                "PSID %s" % (offered.psid or "none"),
                "PSID %s, that of the %s" % (found.psid, name),
                "firmware of another board can make the card unusable for good; %s burns it nevertheless" % OVERRIDE_PSID,
            )
        )
    if offered.psid != found.psid and rules.allow_psid and SECURE in found.security:
        problems.append(
            Problem(
                "image %s" % image.path,
                "PSID %s" % (offered.psid or "none"),
                "PSID %s, that of the %s" % (found.psid, name),
                "secure firmware lets nobody change its PSID",
            )
        )
    if SECURE in found.security and not set(_SIGNED) & set(offered.security):
        problems.append(Problem("image %s" % image.path, "not signed", "a signed image: %s runs secure firmware only" % name))
    if numbers(offered.version) < numbers(found.version) and not rules.allow_downgrade:
        problems.append(
            Problem(
                "image %s" % image.path,
                "version %s" % offered.version,
                "%s or newer, which %s has in its flash" % (found.version, name),
                "allow_downgrade, of the role hca_firmware_allow_downgrade, burns the older one",
            )
        )
    return problems


def is_settled(adapter: Adapter, rules: Rules) -> bool:
    """Is the version declared, and in the flash? Then no image has to be looked at, unless it may bring another PSID."""
    wanted = rules.versions.get(adapter.query.psid, "")
    return bool(wanted) and same_version(wanted, adapter.query.version) and not rules.allow_psid


def is_due(adapter: Adapter, image: Image) -> bool:
    """Is another image in the flash? What runs does not matter: it follows at the next reset."""
    return adapter.query.psid != image.query.psid or not same_version(adapter.query.version, image.query.version)


def _may_be_skipped(adapter: Adapter, source: Source, rules: Rules) -> bool:
    """Is nothing declared for it? What an unreadable file was meant for can't be told: it may be its image."""
    mapped = any(psid in source.by_psid for psid in psids_of(adapter, rules))
    return rules.missing == "skip" and adapter.query.psid not in rules.versions and not mapped and not _faulty(source.candidates)


def decide(adapters: t.Sequence[Adapter], source: Source, rules: Rules) -> Decision:
    """All burns, or all reasons against them."""
    burns: list[Burn] = []
    chosen: dict[str, Image] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for adapter in sorted(adapters):
        if is_settled(adapter, rules):
            continue
        image = choose(adapter, source, rules)
        if isinstance(image, Problem):
            if _may_be_skipped(adapter, source, rules):
                notes.append("%s is left as it is: neither an image nor a version is declared for it" % name_of(adapter))
            else:
                problems.append(image)
            continue
        chosen[adapter.pci] = image
        if is_due(adapter, image):
            problems += _objections(adapter, image, rules)
            burns.append(Burn(adapter, image))
    notes += ["%s was left aside" % image for image in _faulty(source.candidates)]
    return Decision(tuple(burns), chosen, tuple(dict.fromkeys(problems)), tuple(notes))


def plan(burns: t.Sequence[Burn]) -> Plan:
    changes: list[Change] = []
    for adapter, image in burns:
        changes.append(_change(adapter, "psid", adapter.query.psid, image.query.psid))
        changes.append(_change(adapter, "version", adapter.query.version, image.query.version))
    return Plan(changes_of(*changes))


def _change(adapter: Adapter, aspect: str, before: str, after: str) -> Change:
    return Change(Kind.FIRMWARE, adapter.pci, aspect, before, after, ACTIVATION)


def after(adapters: t.Sequence[Adapter], burns: t.Sequence[Burn]) -> tuple[Adapter, ...]:
    """The adapters as they will be."""
    images = {burn.adapter.pci: burn.image.query for burn in burns}

    def burned(adapter: Adapter) -> Adapter:
        image = images.get(adapter.pci)
        if image is None:
            return adapter
        found = adapter.query
        original = (found.original_psid or found.psid) if image.psid != found.psid else found.original_psid
        query = found._replace(version=image.version, release_date=image.release_date, psid=image.psid, original_psid=original)
        return adapter._replace(query=query)

    return tuple(burned(adapter) for adapter in adapters)


def waiting(adapters: t.Sequence[Adapter]) -> tuple[Pending, ...]:
    """Firmware that is in flash and does not run yet."""
    due: list[Change] = []
    for one in sorted(adapters):
        found = one.query
        due.append(_change(one, "running_psid", found.running_psid or found.psid, found.psid))
        if not same_version(found.running, found.version):
            due.append(_change(one, "running_version", found.running, found.version))
    return tuple(Pending(change) for change in changes_of(*due))


def _runs(found: Query) -> bool:
    return same_version(found.version, found.running) and found.running_psid in ("", found.psid)


def describe(adapter: Adapter, image: Image | None) -> dict[str, t.Any]:
    """An adapter as the module returns it."""
    found = adapter.query
    return {
        "pci": adapter.pci,
        "functions": list(adapter.functions),
        "rdma": list(adapter.rdma),
        "psid": found.psid,
        "original_psid": found.original_psid or found.psid,
        "part_number": found.part_number,
        "description": found.description,
        "image_type": found.image_type,
        "burned": found.version,
        "running": found.running,
        "activated_by": "" if _runs(found) else ACTIVATION,
        "release_date": found.release_date,
        "security": list(found.security),
        "firmware_checks_images": firmware_checks(found),
        "roms": list(found.roms),
        "base_guid": found.base_guid,
        "base_mac": found.base_mac,
        "image": image.path if image else "",
        "image_version": image.query.version if image else "",
    }
