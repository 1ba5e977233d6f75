# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole module on a simulated node: cards that answer like mstflint."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image import _converge as _image_converge
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image import _fetch as _image_fetch
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import card_locks
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.modules import mstflint
from support.flint_cards import Cards
from support.module_files import FakeModule
from support.module_results import pending_words

DEFAULTS: dict[str, t.Any] = {
    "state": "present",
    "devices": [{"all": True}],
    "missing": "fail",
    "images": None,
    "versions": None,
    "missing_image": "fail",
    "allow_downgrade": False,
    "allow_another_psid_that_may_destroy_the_adapter": False,
    "allow_container": True,
    "burn_timeout": 3600,
    "lock_timeout": 0,
}


CONSENT = {"allow_another_psid_that_may_destroy_the_adapter": True}


class Module(FakeModule):
    defaults = DEFAULTS


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return the root of a node with two cards, the first with two functions, and a directory of images."""
    for pci in ("0000:03:00.0", "0000:03:00.1", "0000:83:00.0"):
        base = tmp_path / "sys/bus/pci/devices" / pci
        base.mkdir(parents=True)
        for name, text in (("vendor", "0x15b3"), ("device", "0x1017"), ("class", "0x020700")):
            (base / name).write_text(text + "\n")
    (tmp_path / "fw").mkdir()
    for name, text in (("new.bin", "MT_1 16.35.3006"), ("other.bin", "MT_2 20.37.1014"), ("readme.txt", "no image")):
        (tmp_path / "fw" / name).write_text(text)
    return tmp_path


@pytest.fixture
def cards() -> Cards:
    return Cards("0000:03:00.0", "0000:83:00.0")


def run(cards: Cards, root: pathlib.Path, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    params.setdefault("images", str(root / "fw"))
    return _image_converge.converge(t.cast(t.Any, Module(check, **params)), cards, root=str(root))


def test_each_card_is_burned_once_and_check_mode_foresees_it(cards: Cards, root: pathlib.Path) -> None:
    foreseen = run(cards, root, check=True)
    assert cards.burns == []
    result = run(cards, root)
    assert cards.burns == ["0000:03:00.0", "0000:83:00.0"]
    assert foreseen == result
    assert result["changed"] and len(result["changes"]) == 2 and len(result["pending"]) == 2
    assert result["adapters"][0]["functions"] == ["0000:03:00.0", "0000:03:00.1"]
    again = run(cards, root)
    assert not again["changed"] and again["pending"] == result["pending"] and len(cards.burns) == 2
    cards.running = dict.fromkeys(cards.running, "16.35.3006")
    assert run(cards, root)["pending"] == []


def test_an_unchanged_run_costs_one_query_a_card_and_one_an_image(root: pathlib.Path) -> None:
    cards = Cards("0000:03:00.0", "0000:83:00.0", version="16.35.3006")
    assert not run(cards, root)["changed"]
    asked = {"0000:03:00.0", "0000:83:00.0", str(root / "fw/new.bin"), str(root / "fw/other.bin")}
    assert {argv[2] for argv in cards.calls} == asked and len(cards.calls) == len(asked)


def test_two_functions_of_a_card_are_one_card(cards: Cards, root: pathlib.Path) -> None:
    run(cards, root, devices=[{"pci": "03:00.1"}, {"pci": "0000:03:00.0"}])
    assert cards.burns == ["0000:03:00.0"]
    assert cards.flash["0000:83:00.0"] == ["MT_1", "16.35.2000"]


def test_without_a_driver_the_firmware_is_asked_for_the_psid(cards: Cards, root: pathlib.Path) -> None:
    cards.flash["0000:83:00.0"][0] = cards.running_psid["0000:83:00.0"] = "MT_2"
    run(cards, root, devices=[{"psid": "MT_2"}])
    assert cards.burns == ["0000:83:00.0"]
    assert len([argv for argv in cards.calls if argv[1:3] == ["-d", "0000:03:00.0"]]) == 1


def test_query_changes_nothing_and_needs_no_images(cards: Cards, root: pathlib.Path) -> None:
    result = run(cards, root, state="query", images=None)
    assert not result["changed"] and [one["burned"] for one in result["adapters"]] == ["16.35.2000"] * 2
    assert cards.burns == []


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("faults", "text"),
    [
        ({"verify": "-E- FW image verification failed: Bad CRC.. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE."}, "verification failed"),
        ({"query 0000:83:00.0": "-E- Cannot open Device: 0000:83:00.0. MFE_CR_ERROR"}, "0000:83:00.0 can't be queried: Cannot open Device"),
    ],
)
def test_what_is_wrong_is_found_before_the_first_burn(cards: Cards, root: pathlib.Path, faults: dict[str, str], text: str, check: bool) -> None:
    cards.faults = faults
    with pytest.raises(RdmaError, match=text):
        run(cards, root, check=check)
    # A bad image stops all burns; a card that cannot be queried stops only its own.
    assert cards.burns == ([] if check or "verify" in faults else ["0000:03:00.0"])


def test_images_that_are_not_there(cards: Cards, root: pathlib.Path) -> None:
    with pytest.raises(InvalidInput, match=r"no such file on the node.*copy it to the node, or give a url"):
        run(cards, root, images=str(root / "nowhere.bin"))
    (root / "empty").mkdir()
    with pytest.raises(InvalidInput, match="a directory with image files"):
        run(cards, root, images=str(root / "empty"))
    with pytest.raises(InvalidInput, match="images is not set"):
        run(cards, root, images=None)


def test_a_mapping_looks_at_the_images_of_the_node_only(cards: Cards, root: pathlib.Path) -> None:
    run(cards, root, images={"MT_1": str(root / "fw/new.bin"), "MT_9": "/nowhere"})
    assert len(cards.burns) == 2


def test_a_declared_version_that_is_in_the_flash_needs_no_image(cards: Cards, root: pathlib.Path) -> None:
    result = run(cards, root, images={"MT_1": "/nowhere"}, versions={"MT_1": "16.35.2000"})
    assert not result["changed"] and [argv[1] for argv in cards.calls] == ["-d", "-d"]


def test_versions_alone_are_compared(cards: Cards, root: pathlib.Path) -> None:
    for images in (None, {}):
        assert not run(cards, root, images=images, versions={"MT_1": "16.35.2000"})["changed"]
        with pytest.raises(InvalidInput, match=r"without an image of version 16\.35\.3006"):
            run(cards, root, images=images, versions={"MT_1": "16.35.3006"}, missing_image="skip")


class Server:
    """Serves one image and counts the requests."""

    def __init__(self, content: bytes) -> None:
        self.content, self.served = content, 0

    def __call__(self, url: str, timeout: int) -> t.IO[bytes]:
        self.served += 1
        if "missing" in url:
            raise OSError("HTTP Error 404: Not Found")
        return io.BytesIO(self.content)


def declared(content: bytes, name: str = "new.bin") -> dict[str, dict[str, str]]:
    return {"MT_1": {"url": "https://firmware.example.org/" + name, "checksum": "sha256:" + hashlib.sha256(content).hexdigest()}}


def test_an_image_from_a_server_is_downloaded_once(cards: Cards, root: pathlib.Path) -> None:
    content = b"MT_1 16.35.3006"
    server = Server(content)

    def converge(check: bool) -> dict[str, t.Any]:
        module = Module(check, images=declared(content), tmpdir=str(root / "tmp"))
        return _image_converge.converge(t.cast(t.Any, module), cards, root=str(root), download=server)

    foreseen = converge(True)
    assert not (root / "var").exists()
    result = converge(False)
    assert foreseen == result and result["adapters"][0]["image"] == "https://firmware.example.org/new.bin"
    assert server.served == 2 and len(cards.burns) == 2
    kept = root / "var/cache/rdma.ofed/firmware" / hashlib.sha256(content).hexdigest()
    assert not converge(False)["changed"] and server.served == 2
    kept.write_bytes(b"spoilt")
    assert not converge(False)["changed"] and server.served == 3 and kept.read_bytes() == content


@pytest.mark.parametrize(("name", "text"), [("new.bin", "its sha256 is .* instead of"), ("missing.bin", "can't be downloaded: HTTP Error 404")])
def test_a_bad_download_is_not_burned(cards: Cards, root: pathlib.Path, name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        module = Module(False, images=declared(b"MT_1 16.35.3006", name))
        _image_converge.converge(t.cast(t.Any, module), cards, root=str(root), download=Server(b"MT_1 16.35.9999"))
    assert cards.burns == []
    assert list((root / "var/cache/rdma.ofed/firmware").iterdir()) == []


CASE = "-E- Cannot open Device: 0000:03:00.0. Failed to query FW: ICMD bad parameter given\n"


@pytest.mark.parametrize("check", [True, False])
def test_a_card_that_can_not_be_queried_does_not_stop_the_others(cards: Cards, root: pathlib.Path, check: bool) -> None:
    cards.faults = {"query 0000:03:00.0": CASE}
    with pytest.raises(CommandFailed, match=r"the adapter at 0000:03:00\.0 can't be queried: .*ICMD bad parameter given") as caught:
        run(cards, root, check)
    details = caught.value.details
    assert details["changed"] and [adapter["pci"] for adapter in details["adapters"]] == ["0000:83:00.0"]
    assert [one["pci"] for one in details["unread"]] == ["0000:03:00.0"]
    assert cards.burns == ([] if check else ["0000:83:00.0"])


def test_a_selection_by_psid_works_beside_a_card_that_can_not_be_queried(cards: Cards, root: pathlib.Path) -> None:
    cards.faults = {"query 0000:03:00.0": CASE}
    with pytest.raises(CommandFailed, match=r"0000:03:00\.0 can't be queried") as caught:
        run(cards, root, devices=[{"psid": "MT_1"}])
    assert caught.value.details["changed"] and cards.burns == ["0000:83:00.0"]
    # The matching card may be the one that does not answer.
    with pytest.raises(CommandFailed, match=r"0000:03:00\.0 can't be queried"):
        run(cards, root, devices=[{"psid": "MT_9"}])


class Endless(io.BytesIO):
    """An answer that never ends; each block takes time."""

    def __init__(self, clock: list[float], seconds: float) -> None:
        super().__init__()
        self.clock, self.seconds = clock, seconds

    def read1(self, size: int | None = -1, /) -> bytes:
        self.clock[0] += self.seconds
        return b"x" * (1 << 18)

    read = read1


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "stopped after 512 MB, because no firmware image is that large"), (600.0, "stopped after 1800 s and 1048 kB")]
)
def test_a_download_without_end_is_stopped(cards: Cards, root: pathlib.Path, monkeypatch: pytest.MonkeyPatch, seconds: float, text: str) -> None:
    clock = [0.0]
    monkeypatch.setattr(_image_fetch.time, "monotonic", lambda: clock[0])
    with pytest.raises(InvalidInput, match=text):
        module = Module(False, images=declared(b"MT_1 16.35.3006"))
        _image_converge.converge(t.cast(t.Any, module), cards, root=str(root), download=lambda url, timeout: Endless(clock, seconds))
    assert cards.burns == [] and list((root / "var/cache/rdma.ofed/firmware").iterdir()) == []


def test_the_checksum_of_a_file_on_the_node(cards: Cards, root: pathlib.Path) -> None:
    path = root / "fw/new.bin"
    digest = hashlib.sha512(path.read_bytes()).hexdigest()
    with pytest.raises(InvalidInput, match="its sha512 is"):
        run(cards, root, images={"MT_1": {"path": str(path), "checksum": "sha512:" + "0" * 128}})
    assert cards.burns == []
    assert run(cards, root, images={"MT_1": {"path": str(path), "checksum": "sha512:" + digest.upper()}})["changed"]


def test_a_failed_burn_says_what_was_done(cards: Cards, root: pathlib.Path) -> None:
    cards.faults = {"burn 0000:83:00.0": "99%\r-E- Burning FS4 image failed: Rejected authentication\n"}
    with pytest.raises(CommandFailed, match="Rejected authentication") as caught:
        run(cards, root)
    assert caught.value.details["changed"] and caught.value.details["burned"] == ["0000:03:00.0"]
    assert caught.value.details["not_burned"] == ["0000:83:00.0"]
    cards.faults = {}
    assert [change for change in run(cards, root)["changes"] if "0000:83" in change] and cards.burns.count("0000:03:00.0") == 1


def test_a_failed_burn_does_not_end_those_of_other_cards(cards: Cards, root: pathlib.Path) -> None:
    cards.faults = {"burn 0000:03:00.0": (CASES / "flint_burn_error/fs3_interrupted.txt").read_text()}
    with pytest.raises(CommandFailed, match=r"Its flash may be partly written.*Burned, and not reset: 0000:83:00\.0\.") as caught:
        run(cards, root)
    details = caught.value.details
    assert (details["changed"], details["burned"], details["not_burned"]) == (True, ["0000:83:00.0"], ["0000:03:00.0"])
    assert [(one["pci"], one["half_written"]) for one in details["unburned"]] == [("0000:03:00.0", True)]
    # The role continues with other cards only after `unread`: here it must not reach a reset or reboot.
    assert "unread" not in details
    # Each card is named, and the details are those of the most severe failure.
    cards.faults = {**cards.faults, "burn 0000:83:00.0": "-E- Burning FS4 image failed: Rejected authentication\n"}
    second = Cards("0000:03:00.0", "0000:83:00.0")
    second.faults = cards.faults
    with pytest.raises(CommandFailed, match=r"0000:03:00\.0.*partly written.*0000:83:00\.0.*Rejected authentication\.$") as caught:
        run(second, root)
    assert caught.value.details["half_written"] is True and caught.value.details["changed"] is False


CASES = pathlib.Path(__file__).resolve().parents[3] / "corpus"


@pytest.mark.parametrize("tools", [["mstflint"], ["mstflint", "flint"]])
def test_an_interrupted_burn_warns_of_a_reset_and_names_the_next_step(cards: Cards, root: pathlib.Path, tools: list[str]) -> None:
    cards.tools = tools
    cards.faults = {"burn 0000:03:00.0": (CASES / "flint_burn_error/fs3_interrupted.txt").read_text()}
    with pytest.raises(CommandFailed, match=r"MFE_CMDIF_TIMEOUT_ERR\. Its flash may be partly written. Do not reset it") as caught:
        run(cards, root)
    assert "(%s -y -d 0000:03:00.0 -i %s/fw/new.bin burn)" % (tools[-1], root) in caught.value.msg
    assert caught.value.details["half_written"] is True
    assert ("try the same tool of MFT, flint" in caught.value.msg) is (tools == ["mstflint"])


def test_a_burn_that_takes_too_long_may_have_left_half_an_image(cards: Cards, root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Cards):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            if argv[-1] == "burn":
                raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout), rc=124)
            return super().__call__(argv, ok, timeout)

    with pytest.raises(CommandFailed, match=r"did not end within 3600 s\. Its flash may be partly written"):
        run(Slow("0000:03:00.0", "0000:83:00.0"), root)


def test_a_refused_image_has_written_nothing(cards: Cards, root: pathlib.Path) -> None:
    cards.faults = {"burn": "-E- Burning FS4 image failed: Rejected authentication\n"}
    with pytest.raises(CommandFailed) as caught:
        run(cards, root)
    assert "partly written" not in caught.value.msg and "half_written" not in caught.value.details


def test_a_pending_image_that_stands_in_the_way_is_named(cards: Cards, root: pathlib.Path) -> None:
    cards.faults = {"burn": "-E- Burning FS4 image failed: The firmware image was already updated on flash, pending reset.\n"}
    with pytest.raises(CommandFailed, match="Reset the adapter first"):
        run(cards, root)


def test_the_flash_is_looked_at_afterwards(cards: Cards, root: pathlib.Path) -> None:
    cards.burns_nothing = True
    with pytest.raises(CommandFailed, match=r"after the burn adapter 0000:03:00.0 \(MT_1\) has 16.35.2000"):
        run(cards, root)


def test_flash_written_by_the_tool_is_read_back(root: pathlib.Path) -> None:
    cards = Cards("0000:03:00.0", "0000:83:00.0", method="Legacy")
    run(cards, root)
    assert cards.verified == ["0000:03:00.0", "0000:83:00.0"]
    cards = Cards("0000:03:00.0", "0000:83:00.0")
    run(cards, root)
    assert cards.verified == []
    cards = Cards("0000:03:00.0", "0000:83:00.0")
    cards.unsigned = True
    run(cards, root)
    assert cards.verified == ["0000:03:00.0", "0000:83:00.0"]
    cards = Cards("0000:03:00.0", "0000:83:00.0", method="Legacy")
    cards.faults = {"verify 0000:03:00.0": "-E- FW image verification failed: Bad CRC."}
    with pytest.raises(CommandFailed, match="Do not reset it"):
        run(cards, root)


def test_somebody_else_was_faster(cards: Cards, root: pathlib.Path) -> None:
    """Another process burns the image first: the module rereads the flash under the lock."""
    asked: list[str] = []

    class Rival(Cards):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            output = super().__call__(argv, ok, timeout)
            if argv[1:3] == ["-d", "0000:03:00.0"] and not asked:
                asked.append("once")
                self.flash["0000:03:00.0"] = ["MT_1", "16.35.3006"]
            return output

    rival = Rival("0000:03:00.0", "0000:83:00.0")
    assert run(rival, root)["changed"]
    assert rival.burns == ["0000:83:00.0"]


def test_a_locked_card_is_left_alone(cards: Cards, root: pathlib.Path) -> None:
    with card_locks(("0000:03:00.1",), 0, str(root)), pytest.raises(Refused, match="is in use by process"):
        run(cards, root)
    assert cards.burns == ["0000:83:00.0"]


def test_another_psid_is_burned_only_with_consent(cards: Cards, root: pathlib.Path) -> None:
    with pytest.raises(InvalidInput, match="PSID MT_2"):
        run(cards, root, images=str(root / "fw/other.bin"))
    run(cards, root, images=str(root / "fw/other.bin"), **CONSENT)
    assert all("-allow_psid_change" in argv for argv in cards.calls if argv[-1] == "burn") and len(cards.burns) == 2


@pytest.mark.parametrize("method", ["fw_ctrl", "Legacy"])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_psid_is_changed_once(root: pathlib.Path, method: str, mapped: bool) -> None:
    """Firmware with controlled updates reports its old PSID until the reset, so the module reads the flash."""
    cards = Cards("0000:03:00.0", "0000:83:00.0", method=method)
    path = str(root / "fw/other.bin")
    images = {"MT_1": path} if mapped else path
    foreseen = run(cards, root, check=True, images=images, **CONSENT)
    result = run(cards, root, images=images, **CONSENT)
    assert foreseen == result and len(cards.burns) == 2
    assert cards.verified == cards.burns
    assert result["changes"][0] == "adapter 0000:03:00.0 PSID: MT_1 -> MT_2"
    assert {(one["psid"], one["original_psid"], one["activated_by"]) for one in result["adapters"]} == {("MT_2", "MT_1", "device_reset")}
    again = run(cards, root, images=images, **CONSENT)
    assert not again["changed"] and again["pending"] == result["pending"]
    assert any("running PSID: MT_1 -> MT_2" in line for line in pending_words(result)) == (method == "fw_ctrl")
    cards.reset()
    settled = run(cards, root, images=images, **CONSENT)
    assert not settled["changed"] and settled["pending"] == [] and len(cards.burns) == 2


def test_secure_firmware_keeps_its_psid(cards: Cards, root: pathlib.Path) -> None:
    cards.security = "secure-fw"
    with pytest.raises(InvalidInput, match="secure firmware does not allow a change of its PSID"):
        run(cards, root, images=str(root / "fw/other.bin"), **CONSENT)
    assert cards.burns == [] and not any("--no_fw_ctrl" in argv for argv in cards.calls)


def test_a_container_does_not_own_the_cards(cards: Cards, root: pathlib.Path) -> None:
    (root / ".dockerenv").touch()
    for check in (True, False):
        with pytest.raises(Refused, match="allow_container"):
            run(cards, root, check=check, allow_container=False)
    assert cards.burns == []
    assert run(cards, root, state="query", allow_container=False)["adapters"]


def test_without_the_tool(cards: Cards, root: pathlib.Path) -> None:
    cards.tools = ["flint"]
    assert run(cards, root)["changed"] and cards.calls[0][0] == "flint"
    cards.tools = []
    assert "before mstflint is installed" in run(cards, root, check=True)["reasons"][0]
    with pytest.raises(Unsupported, match="neither mstflint nor flint"):
        run(cards, root)


def test_the_module_ends_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    with patch_module_args({"state": "present", "images": "firmware"}), pytest.raises(SystemExit):
        mstflint.main()
    assert "images is 'firmware'" in json.loads(capsys.readouterr().out)["msg"]
