# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which image is burned on which adapter, and which on none."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device, select_devices
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image import _plan as plans
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image._input import image_problems
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image._plan import Adapter, Burn, Image, Source
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._tools._flint import Query, numbers
from hypothesis import given, settings
from hypothesis import strategies as st


def adapter(pci: str = "0000:03:00.0", psid: str = "MT_1", version: str = "16.35.2000", **fields: t.Any) -> Adapter:
    return Adapter(pci, (pci,), ("mlx5_0",), Query(psid=psid, version=version, **{"running": version, **fields}))


def image(name: str, psid: str = "MT_1", version: str = "16.35.3006", fault: str = "", **fields: t.Any) -> Image:
    return Image("/fw/%s.bin" % name, Query() if fault else Query(psid=psid, version=version, running=version, **fields), fault)


NEW, OLD, OTHER, BROKEN = image("new"), image("old", version="16.28.1002"), image("other", "MT_2", "20.37.1014"), image("broken", fault="Bad CRC")
FOLDER = Source(candidates=(BROKEN, OLD, OTHER, NEW))


def words(decision: plans.ImagePlan) -> str:
    return "; ".join(map(str, decision.problems))


def test_the_newest_image_of_the_psid_is_taken_from_a_directory() -> None:
    decision = plans.plan([adapter(), adapter("0000:83:00.0", "MT_2", "20.37.1014")], FOLDER, Wanted())
    assert decision.burns == (Burn(adapter(), NEW),) and not decision.problems
    assert {pci: one.path for pci, one in decision.chosen.items()} == {"0000:03:00.0": "/fw/new.bin", "0000:83:00.0": "/fw/other.bin"}
    assert [change.words() for change in decision.plan.changes] == ["adapter 0000:03:00.0 firmware: 16.35.2000 -> 16.35.3006"]
    assert decision.plan.late and not decision.plan.result()["reboot_required"]


def test_of_equal_images_the_first_by_name_is_taken() -> None:
    twins = Source(candidates=(image("b"), image("a"), image("c", version="16.35.03006")))
    assert plans.plan([adapter()], twins, Wanted()).chosen["0000:03:00.0"].path == "/fw/a.bin"


def test_a_declared_version_takes_its_image_and_no_other() -> None:
    older = Wanted({"MT_1": "16.28.1002"}, allow_downgrade=True)
    assert plans.plan([adapter()], FOLDER, older).burns == (Burn(adapter(), OLD),)
    assert "without an image of version 16.30.1000" in words(plans.plan([adapter()], FOLDER, Wanted({"MT_1": "16.30.1000"})))
    mapped = plans.plan([adapter()], Source(by_psid={"MT_1": NEW}), older)
    assert "'16.35.3006'; allowed: version 16.28.1002, which is declared for MT_1" in words(mapped)


def test_a_version_with_zeros_is_the_same_version() -> None:
    assert not plans.plan([adapter(version="14.26.0226")], Source(by_psid={"MT_1": image("zero", version="14.26.226")}), Wanted()).burns


def test_a_burned_image_that_does_not_run_yet_is_pending_and_not_due() -> None:
    card = adapter(version="16.35.3006", running="16.35.2000")
    assert not plans.plan([card], FOLDER, Wanted()).burns
    assert [entry.change.words() for entry in plans.pending([card])] == ["adapter 0000:03:00.0 running firmware: 16.35.2000 -> 16.35.3006"]
    assert plans.describe(card, NEW)["activated_by"] == "device_reset"
    assert plans.describe(adapter(), None)["activated_by"] == ""


def test_downgrades_are_refused_unless_allowed() -> None:
    source = Source(candidates=(OLD,), single=True)
    assert "hca_firmware_allow_downgrade of the role, or allow_downgrade of the module, burns the older one" in words(plans.plan([adapter()], source, Wanted()))
    assert not plans.plan([adapter()], source, Wanted(allow_downgrade=True)).problems


def test_another_psid_is_refused_unless_the_danger_is_accepted() -> None:
    source = Source(candidates=(OTHER,), single=True)
    assert plans.OVERRIDE_PSID in words(plans.plan([adapter()], source, Wanted()))
    accepted = plans.plan([adapter()], source, Wanted(allow_psid=True))
    assert not accepted.problems
    changes = [change.words() for change in accepted.plan.changes]
    assert changes == ["adapter 0000:03:00.0 PSID: MT_1 -> MT_2", "adapter 0000:03:00.0 firmware: 16.35.2000 -> 20.37.1014"]
    mapped = plans.plan([adapter()], Source(by_psid={"MT_1": OTHER}), Wanted())
    assert "PSID MT_2" in words(mapped), "the key of a mapping is what the user says, not what the image is"


def test_secure_firmware_wants_signed_images() -> None:
    card = adapter(security=("secure-fw",))
    assert "signed image" in words(plans.plan([card], FOLDER, Wanted()))
    assert not plans.plan([card], Source(by_psid={"MT_1": image("new", security=("signed-fw",))}), Wanted()).problems


def test_everything_wrong_is_said_at_once() -> None:
    cards = [adapter(), adapter("0000:04:00.0", "MT_9"), adapter("0000:05:00.0", "MT_3")]
    text = words(plans.plan(cards, Source(by_psid={"MT_1": OLD, "MT_9": BROKEN}), Wanted()))
    assert all(part in text for part in ("allow_downgrade", "Bad CRC", "adapter 0000:05:00.0 (MT_3)"))


def test_an_adapter_without_an_image_can_be_skipped_and_a_broken_image_can_not() -> None:
    sound = Source(candidates=(OLD, OTHER, NEW))
    skipped = plans.plan([adapter(psid="MT_9")], sound, Wanted(missing="skip"))
    assert not skipped.problems and "left unchanged: neither an image nor a version is declared" in skipped.notes[0]
    assert "with missing_image=skip" in words(plans.plan([adapter(psid="MT_9")], sound, Wanted()))
    assert "not readable: /fw/broken.bin (Bad CRC)" in words(plans.plan([adapter(psid="MT_9")], FOLDER, Wanted()))
    assert plans.plan([adapter()], Source(by_psid={"MT_1": BROKEN}), Wanted(missing="skip")).problems


def test_a_declared_version_without_an_image_is_never_skipped() -> None:
    wanted = Wanted({"MT_1": "16.99.1"}, missing="skip")
    text = words(plans.plan([adapter()], FOLDER, wanted))
    assert "without an image of version 16.99.1'; allowed: a version of MT_1 for which there is an image: 16.28.1002, 16.35.3006" in text
    assert "its flash has 16.35.2000" in text and "missing_image" not in text
    assert "for which there is an image: none" in words(plans.plan([adapter()], Source(), wanted))
    assert not plans.plan([adapter(psid="MT_9")], Source(), wanted).problems
    assert not plans.plan([adapter(version="16.99.1")], Source(), wanted).problems


def test_an_unreadable_file_is_an_error_where_a_card_remains_without_image_else_it_is_told() -> None:
    alone = plans.plan([adapter()], Source(candidates=(BROKEN,)), Wanted(missing="skip"))
    assert "not readable: /fw/broken.bin (Bad CRC)" in words(alone)
    beside = plans.plan([adapter()], FOLDER, Wanted(missing="skip"))
    assert not beside.problems and beside.notes == ("/fw/broken.bin (Bad CRC) was ignored",)


def test_a_file_that_is_not_there_can_be_brought_there() -> None:
    absent = Source(candidates=(image("absent", fault=plans.ABSENT),), single=True)
    assert "copy it to the node, or give a url with a checksum" in words(plans.plan([adapter()], absent, Wanted(missing="skip")))


psids = st.sampled_from(["MT_1", "MT_2", "MT_3"])
versions = st.sampled_from(["16.28.1002", "16.35.2000", "16.35.3006", "16.35.03006"])
cards = st.lists(
    st.builds(adapter, st.sampled_from(["0000:03:00.0", "0000:04:00.0", "0000:83:00.0"]), psids, versions, running=versions), unique_by=lambda one: one.pci
)
offers = st.lists(st.builds(image, st.sampled_from("abcdef"), psids, versions, st.sampled_from(["", "", "Bad CRC"])), unique_by=lambda one: one.path)
sources = st.builds(Source, offers.map(tuple), st.dictionaries(psids, st.builds(image, st.just("mapped"), psids, versions)), st.booleans())
all_wanted = st.builds(Wanted, st.dictionaries(psids, versions), st.booleans(), st.booleans(), st.sampled_from(["fail", "skip"]), st.none())


@settings(deadline=None)
@given(cards, sources, all_wanted)
def test_properties_of_a_decision(found: list[Adapter], source: Source, how: Wanted) -> None:
    decision = plans.plan(found, source, how)
    backwards = plans.plan(found[::-1], source._replace(candidates=source.candidates if source.single else source.candidates[::-1]), how)
    assert decision == backwards, "the order of the input does not matter"
    assert len({burn.adapter.pci for burn in decision.burns}) == len(decision.burns), "each card once"
    assert all(change.before != change.after for change in decision.plan.changes)
    if not decision.problems:
        for burn in decision.burns:
            assert not burn.image.fault
            assert how.allow_psid or burn.image.query.psid == burn.adapter.query.psid
            assert how.allow_downgrade or numbers(burn.image.query.version) >= numbers(burn.adapter.query.version)
        if not how.allow_psid:
            again = plans.plan(plans.after(found, decision.burns), source, how)
            assert not again.burns and not again.problems, "a plan that was carried out leaves nothing to do"


DEVICES = (
    Device(
        "0000:03:00.0", ("0000:03:00.0", "0000:03:00.1"), ("mlx5_0", "mlx5_1"), ("ib0",), "MT4119", "ConnectX5", "MT_1", "MCX556A-ECAT", ("0x0c42a10300000010",)
    ),
    Device("0000:83:00.0", ("0000:83:00.0",), ("mlx5_2",), (), "MT4123", "ConnectX6", "MT_2", "MCX653105A-HDAT"),
)


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ([{"all": True}], [0, 1]),
        ([{"pci": "03:00.1"}, {"rdma": "mlx5_0"}], [0]),
        ([{"psid": "mt_2", "type": "ConnectX-6", "pci": None}], [1]),
        ([{"netdev": "ib0"}, {"part_number": "MCX653105A-HDAT"}], [0, 1]),
        ([], []),
    ],
)
def test_selectors(entries: list[dict[str, t.Any]], wanted: list[int]) -> None:
    assert select_devices("devices", entries, DEVICES, missing="fail") == ([DEVICES[index] for index in wanted], [])


def test_a_selector_that_fits_nothing() -> None:
    entries = [{"rdma": "mlx5_0", "psid": "MT_2"}]
    chosen, problems = select_devices("devices", entries, DEVICES, missing="fail")
    assert not chosen and "this node has: 0000:03:00.0 ConnectX5" in str(problems[0])
    assert select_devices("devices", entries, DEVICES, missing="ignore") == ([], [])


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"images": None, "state": "present"}, "images is not set"),
        ({"images": "firmware"}, "images is 'firmware'"),
        ({"images": {}, "state": "present"}, "at least for one PSID"),
        ({"images": {1: "/f.bin"}}, "images is 1"),
        ({"images": {"MT_1": ["/f.bin"]}}, "images[MT_1]"),
        ({"images": {"MT_1": {"url": "https://example.org/f.bin"}}}, "images[MT_1].checksum is not set"),
        ({"images": {"MT_1": {"url": "ftp://example.org/f.bin", "checksum": "sha256:" + "0" * 64}}}, "images[MT_1].url is 'ftp:"),
        ({"images": {"MT_1": {"path": "/f.bin", "checksum": "md5:0"}}}, "images[MT_1].checksum is 'md5:0'"),
        ({"images": {"MT_1": {"path": "/f.bin", "url": "https://example.org/f.bin"}}}, "either path or url"),
        ({"images": {"MT_1": {"path": "/f.bin", "file": 1}}}, "images[MT_1].file is 1"),
        ({"versions": {"MT_1": 16.35}}, "put it in quotes"),
        ({"versions": ["16.35.3006"]}, "a mapping of PSIDs"),
        ({"versions": {"": "16.35.3006"}}, "versions is ''"),
        ({"devices": "all"}, "a list of mappings"),
        ({"devices": ["all"]}, "devices[0] is 'all'"),
        ({"devices": [{"all": True, "psid": "MT_1"}]}, "either all: true"),
        ({"devices": [{"slot": 3}]}, "devices[0].slot is 3"),
        ({"devices": [{"pci": "3"}]}, "devices[0].pci is '3'"),
        ({"devices": [{"all": "yes"}]}, "devices[0]"),
    ],
)
def test_bad_input(variables: dict[str, t.Any], text: str) -> None:
    assert text in "; ".join(map(str, image_problems(variables)))


def test_good_input() -> None:
    good = {
        "state": "present",
        "images": {"MT_1": "/fw/a.bin"},
        "versions": {"MT_1": "16.35.3006"},
        "devices": [{"all": True}, {"all": False, "rdma": "mlx5_0"}],
    }
    assert image_problems(good) == []
    assert image_problems({"images": {"MT_1": {"url": "http://example.org/f.bin", "checksum": "sha256:" + "Ab" * 32}}}) == []
    assert image_problems({"state": "query", "images": None, "versions": None}) == []
    assert image_problems({"state": "present", "images": {}, "versions": {"MT_1": "16.35.3006"}}) == []
    assert image_problems({"hca_firmware_images": {}, "hca_firmware_versions": {}}, prefix="hca_firmware_") == []
    assert image_problems({"hca_firmware_images": 5}, prefix="hca_firmware_") != []


def test_the_images_that_there_are_and_the_way_out_are_told() -> None:
    """For the adapter's own PSID if a version is wanted, else for all PSIDs. Faulty images are listed separately."""
    lonely = adapter(psid="MT_9")
    said = words(plans.plan([lonely], FOLDER._replace(by_psid={"MT_7": NEW}), Wanted()))
    assert "is 'without an image'; allowed: a PSID for which there is an image: MT_1, MT_2, MT_7" in said
    assert "with missing_image=skip, the adapter is left unchanged" in said and "its flash has" not in said and "/fw/broken.bin (Bad CRC)" in said
    assert "a PSID for which there is an image: none" in words(plans.plan([lonely], Source(), Wanted()))
    said = words(plans.plan([adapter()], FOLDER, Wanted({"MT_1": "16.30.1000"})))
    assert "a version of MT_1 for which there is an image: 16.28.1002, 16.35.3006" in said and "20.37.1014" not in said
    assert "its flash has 16.35.2000" in said and "missing_image=skip" not in said
    assert "there is an image: none" in words(plans.plan([adapter(psid="MT_9")], FOLDER, Wanted({"MT_9": "16.30.1000"})))


def test_an_adapter_without_a_psid_is_named_so() -> None:
    assert plans.name_of(adapter(psid="")) == "adapter 0000:03:00.0 (no PSID)"
    assert plans.name_of(adapter()) == "adapter 0000:03:00.0 (MT_1)"


def test_an_image_of_the_original_psid_needs_consent() -> None:
    card, own = adapter(original_psid="MT_0"), adapter()
    assert plans.psids_of(card, Wanted()) == plans.psids_of(own, Wanted(allow_psid=True)) == ("MT_1",)
    assert plans.psids_of(card, Wanted(allow_psid=True)) == ("MT_1", "MT_0")


def test_an_image_of_the_same_version_and_another_psid_is_due() -> None:
    same = image("other", "MT_2", "16.35.2000")
    assert plans.is_due(adapter(), same) and plans.is_due(adapter(), NEW) and not plans.is_due(adapter(), image("own", version="16.35.2000"))


def test_a_declared_version_settles_nothing_where_the_psid_may_change() -> None:
    there = Wanted({"MT_1": "16.35.2000"})
    assert plans.is_settled(adapter(), there) and not plans.is_settled(adapter(), there._replace(allow_psid=True))
    assert not plans.is_settled(adapter(), Wanted()) and not plans.is_settled(adapter(version="16.35.1"), there)
