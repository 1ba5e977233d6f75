# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of others are taken over and given back by the module, also by runs that end in the middle."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifupdown_backend import IfupdownDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._netplan_backend import NetplanNetworkdDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkd_backend import NetworkdDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._saved import LEDGER
from support.ipoib_node import FakeNode, wait_briefly, with_two_ports

RECORD = LEDGER.path[1:]
COPIES = "var/backups/rdma-ofed/"
INTERFACES = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]
FILES = {
    "systemd-networkd": ("etc/systemd/network/10-ib0.network", "[Match]\nName=ib0\n\n[Link]\nMTUBytes=2044\n\n[Network]\nAddress=10.20.0.1/24\n"),
    "ifupdown": ("etc/network/interfaces", "source /etc/network/interfaces.d/*.cfg\n\nauto ib0\niface ib0 inet static\n  address 10.20.0.1/24\n"),
    "netplan": ("etc/netplan/50-ib.yaml", "network:\n  version: 2\n  ethernets:\n    # storage\n    ib0:\n      addresses: [10.20.0.1/24]\n"),
}
DRIVERS = (NetworkdDriver, IfupdownDriver, NetplanNetworkdDriver)


def ifup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the nodes' ifup set up stanzas of others, too."""
    real = FakeNode._ifup

    def up(self: FakeNode, words: list[str]) -> None:
        if "iface ib0" in self.read("etc/network/interfaces"):
            self.configure("ib0", ["10.20.0.1/24"], "", [])
        else:
            real(self, words)

    monkeypatch.setattr(FakeNode, "_ifup", up)


@pytest.fixture(params=list(FILES))
def node(request: pytest.FixtureRequest, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node with an interface that is up by a file of the administrator."""
    wait_briefly(monkeypatch, 0.3)
    made = FakeNode(tmp_path, request.param)
    path, text = FILES[request.param]
    made.appear("ib0")
    made.write(path, text.rstrip("\n"))
    made.configure("ib0", ["10.20.0.1/24"], "", [])
    if request.param == "ifupdown":
        made.write("run/network/ifstate", "ib0=ib0")
        ifup(monkeypatch)
    return made


def original(node: FakeNode) -> tuple[pathlib.Path, str]:
    path, text = FILES[node.stack]
    return node.root / path, text


def test_a_file_is_taken_over_and_given_back(node: FakeNode) -> None:
    path, text = original(node)
    predicted = node.call(check=True, interfaces=INTERFACES, adopt=True)
    assert path.read_text() == text and not (node.root / COPIES).exists()
    done = node.call(interfaces=INTERFACES, adopt=True)
    assert done["changes"] == predicted["changes"] and done["changed"]
    assert not [line for line in done["changes"] if line.startswith("ib0")], "nothing of the interface changes"
    assert "ib0" not in (path.read_text() if path.exists() else "")
    copy = COPIES + FILES[node.stack][0]
    assert done["backup_files"] == ["/" + copy] and (node.root / copy).read_text() == text
    assert not node.call(interfaces=INTERFACES, adopt=True)["changed"]

    assert node.call(state="absent", restore=True)["changed"]
    assert path.read_text() == text
    assert node.addresses["ib0"] == ["10.20.0.1/24"], "by the administrator's file again"
    assert not node.call(state="absent", restore=True)["changed"]


def test_what_is_restored_is_of_no_interest_after_that(node: FakeNode) -> None:
    path, _text = original(node)
    node.call(interfaces=INTERFACES, adopt=True)
    node.call(state="absent", restore=True)
    assert not (node.root / RECORD).exists()
    path.write_text("# edited\n")
    result = node.call(state="absent", restore=True)
    assert not result["changed"] and result["reasons"] == []


@pytest.mark.parametrize("node", ["ifupdown"], indirect=True)
def test_only_lines_that_change_leave_the_node(node: FakeNode) -> None:
    path, text = original(node)
    path.write_text(text + "\niface wlan0 inet dhcp\n  wpa-psk s3cret\n")
    for arguments in ({"interfaces": INTERFACES, "adopt": True}, {"state": "absent", "restore": True}):
        result = node.call(**arguments)
        assert result["changed"] and "s3cret" not in json.dumps(result)
    assert "s3cret" in path.read_text()


def test_the_back_end_stays_although_the_files_that_told_it_are_gone(node: FakeNode) -> None:
    node.call(interfaces=INTERFACES, adopt=True)
    (node.root / "etc/netplan/01-eth.yaml").unlink(missing_ok=True)
    other = "systemd-networkd" if node.stack == "ifupdown" else "ifupdown"
    former = node.stack
    node.change_stack(other)
    node.stack = former
    result = node.call(interfaces=INTERFACES, adopt=True)
    assert result["backend"] == former and not result["changed"]


def test_a_run_that_is_killed_before_the_back_end_is_told_is_completed(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    for driver in DRIVERS:
        monkeypatch.setattr(driver, "apply", _killed)
    with pytest.raises(KeyboardInterrupt):
        node.call(interfaces=INTERFACES, adopt=True)
    monkeypatch.undo()
    wait_briefly(monkeypatch, 0.3)
    ifup(monkeypatch)
    assert node.call(interfaces=INTERFACES, adopt=True)["changed"]
    assert node.stack == "ifupdown" or "networkctl reload" in node.argv
    assert node.stack != "netplan" or "netplan generate" in node.argv
    assert not node.call(interfaces=INTERFACES, adopt=True)["changed"]


def test_a_run_that_is_killed_before_the_interface_is_given_back_is_completed(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = original(node)
    node.call(interfaces=INTERFACES, adopt=True)
    for driver in DRIVERS:
        monkeypatch.setattr(driver, "give_back", _killed)
    with pytest.raises(KeyboardInterrupt):
        node.call(state="absent", restore=True)
    assert path.read_text() == text
    monkeypatch.undo()
    wait_briefly(monkeypatch, 0.3)
    ifup(monkeypatch)
    node.call(state="absent", restore=True)
    assert node.addresses["ib0"] == ["10.20.0.1/24"]


def test_why_an_original_file_has_no_effect_is_told(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = original(node)
    node.call(interfaces=INTERFACES, adopt=True)

    def broken(*_arguments: object) -> None:
        raise CommandFailed("ifup: no such device")

    for driver in DRIVERS:
        monkeypatch.setattr(driver, "give_back", broken)
    result = node.call(state="absent", restore=True)
    assert path.read_text() == text
    assert result["reasons"] == ["ib0: the original file was restored, and %s did not apply it: ifup: no such device" % node.stack]


def _killed(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_copy_made_beside_an_interface_of_ours_is_restored_without_its_line(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.3)
    ifup(monkeypatch)
    made = with_two_ports(tmp_path, "ifupdown")
    made.call(interfaces=[{"name": "ib1", "addresses": ["10.21.0.1/24"]}])
    path = tmp_path / "etc/network/interfaces"
    path.write_text(path.read_text() + "iface ib0 inet static\n  address 10.20.0.1/24\n")
    made.configure("ib0", ["10.20.0.1/24"], "", [])
    with open(tmp_path / "run/network/ifstate", "a", encoding="utf-8") as state:
        state.write("ib0=ib0\n")
    made.call(interfaces=[*INTERFACES, {"name": "ib1", "addresses": ["10.21.0.1/24"]}], adopt=True)
    made.call(state="absent", restore=True)
    assert "iface ib0" in path.read_text() and "rdma-" not in path.read_text()
    assert not made.call(state="absent", restore=True)["changed"]


def test_without_a_word_nothing_is_given_back(node: FakeNode) -> None:
    path, text = original(node)
    node.call(interfaces=INTERFACES, adopt=True)
    node.call(state="absent")
    assert (path.read_text() if path.exists() else "") != text
    # It may also be given back later.
    node.call(state="absent", restore=True)
    assert path.read_text() == text


def test_a_file_that_has_changed_since_stays_and_is_named(node: FakeNode) -> None:
    path, _text = original(node)
    node.call(interfaces=INTERFACES, adopt=True)
    path.write_text("# something else\n")
    result = node.call(state="absent", restore=True)
    assert ["/%s has changed since" % FILES[node.stack][0] in line for line in result["reasons"]] == [True]
    assert "something else" in path.read_text()


def test_a_run_that_is_broken_off_is_completed_and_the_first_copy_stays(node: FakeNode) -> None:
    """The copy is made before the file changes, and a second run does not copy what the first has left."""
    path, text = original(node)
    node.break_at = 1
    other = [{"name": "ib0", "addresses": ["10.20.0.9/24"]}]
    with pytest.raises(CommandFailed):
        node.call(interfaces=other, adopt=True)
    node.break_at = 0
    node.call(interfaces=other, adopt=True)
    assert node.addresses["ib0"] == ["10.20.0.9/24"]
    assert not node.call(interfaces=other, adopt=True)["changed"]
    node.call(state="absent", restore=True)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "no JSON",
        "[]",
        '{"/etc/network/interfaces": 7}',
        json.dumps({"/etc/network/interfaces": {"copy": "/etc/shadow", "left": "", "subjects": []}}),
        json.dumps({"/etc/network/interfaces": {"copy": "/var/backups/rdma-ofed/../../../etc/shadow", "left": "", "subjects": ["ib0"]}}),
        json.dumps({"/etc/network/interfaces": {"copy": "/var/backups/rdma-ofed/gone", "left": "", "subjects": ["ib0"]}}),
    ],
)
def test_a_damaged_record_gives_nothing_back(tmp_path: pathlib.Path, damage: str) -> None:
    path = tmp_path / RECORD
    path.parent.mkdir(parents=True)
    path.write_text(damage)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/shadow").write_text("secret")
    assert LEDGER.read(str(tmp_path)) == {}


def test_one_interface_after_the_other_has_one_copy(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc/network/interfaces"
    path.parent.mkdir(parents=True)
    path.write_text("ib0 ib1 lo")
    first = LEDGER.note("/etc/network/interfaces", "ib1 lo", ["ib0"], by="ifupdown", root=str(tmp_path))
    path.write_text("ib1 lo")
    assert LEDGER.note("/etc/network/interfaces", "lo", ["ib1"], by="ifupdown", root=str(tmp_path)) == first
    saved = LEDGER.read(str(tmp_path))["/etc/network/interfaces"]
    assert saved.text == "ib0 ib1 lo" and saved.subjects == ("ib0", "ib1") and saved.left == LEDGER.digest("/etc/network/interfaces", "lo")
    # The administrator has edited it: that is what is to be restored from then on.
    path.write_text("ib2 lo")
    second = LEDGER.note("/etc/network/interfaces", "lo", ["ib2"], by="ifupdown", root=str(tmp_path))
    assert second != first
    assert LEDGER.read(str(tmp_path))["/etc/network/interfaces"].text == "ib2 lo"


SITE = "# by hand\nnetwork:\n  ethernets:\n    eth0: {dhcp4: true} # the office\n    ib0:\n      addresses: [10.20.0.1/24]\n    # the end\n"


@pytest.fixture
def planned(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node with netplan, where one file of the administrator describes the interface and another one."""
    wait_briefly(monkeypatch, 0.3)
    made = FakeNode(tmp_path, "netplan")
    made.appear("ib0")
    made.write("etc/netplan/01-eth.yaml", SITE.rstrip("\n"))
    (tmp_path / "etc/netplan/01-eth.yaml").chmod(0o640)
    made.configure("ib0", ["10.20.0.1/24"], "", [])
    return made


def test_of_a_file_of_netplan_all_else_stays_with_its_mode(planned: FakeNode) -> None:
    path = planned.root / "etc/netplan/01-eth.yaml"
    planned.call(interfaces=INTERFACES, adopt=True)
    assert path.read_text() == SITE.replace("    ib0:\n      addresses: [10.20.0.1/24]\n", "")
    assert path.stat().st_mode & 0o777 == 0o640
    assert planned.argv.index("netplan generate") < planned.argv.index("networkctl reload")
    planned.call(state="absent", restore=True)
    assert path.read_text() == SITE and path.stat().st_mode & 0o777 == 0o640
    assert planned.argv.index("netplan generate") < planned.argv.index("networkctl reconfigure ib0")
    assert planned.addresses["ib0"] == ["10.20.0.1/24"]


def test_the_renderer_is_told_where_ours_exist_already(planned: FakeNode) -> None:
    path = planned.root / "etc/netplan/01-eth.yaml"
    planned.call(interfaces=INTERFACES, adopt=True)
    path.write_text(SITE)
    assert planned.call(interfaces=INTERFACES, adopt=True)["changed"]
    assert "ib0" not in path.read_text()
    assert planned.argv.index("netplan generate") < planned.argv.index("networkctl reload")
    assert not planned.call(interfaces=INTERFACES, adopt=True)["changed"]


def test_an_old_netplan_is_known_as_such_where_ours_is_its_only_file(planned: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a release refuses the whole file for a key that it does not know."""
    real = FakeNode.__call__

    def call(self: FakeNode, argv: list[str], ok: object = (0,), timeout: float = 60) -> Output:
        return Output(0, "features:\n  - dbus\n", "") if list(argv) == ["netplan", "info"] else real(self, argv, ok, timeout)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeNode, "__call__", call)
    (planned.root / "etc/netplan/01-eth.yaml").write_text("network:\n  ethernets:\n    ib0:\n      addresses: [10.20.0.1/24]\n")
    planned.call(interfaces=INTERFACES, adopt=True)
    assert [path.name for path in (planned.root / "etc/netplan").iterdir()] == ["90-rdma-ofed.yaml"]
    assert "infiniband-mode" not in planned.read("etc/netplan/90-rdma-ofed.yaml")
    assert not planned.call(interfaces=INTERFACES, adopt=True)["changed"]
