# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Of several profiles of the administrator for one interface, the active one is given back as the active one."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import NetworkManagerDriver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._saved import LEDGER
from support.ipoib_node import FakeNode, wait_briefly

FOLDER = "etc/NetworkManager/system-connections/"
UUIDS = {name: "6a1f3f4e-0d39-4c3b-9ad4-6a6a4d1f0a0%d" % number for number, name in enumerate(("a-storage", "m-storage", "z-storage"))}
ADDRESSES = {"a-storage": "10.20.0.1/24", "m-storage": "10.20.0.2/24", "z-storage": "10.20.0.3/24"}
PROFILE = """[connection]
id=%s
uuid=%s
type=infiniband
interface-name=ib0

[infiniband]
transport-mode=datagram

[ipv4]
method=manual
address1=%s

[ipv6]
method=disabled
"""


@pytest.fixture(params=list(UUIDS))
def active(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def node(active: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node with three profiles for the interface, one of which is active."""
    wait_briefly(monkeypatch, 0.3)
    made = FakeNode(tmp_path, "networkmanager")
    made.appear("ib0")
    for name, uuid in UUIDS.items():
        made.write(FOLDER + name + ".nmconnection", (PROFILE % (name, uuid, ADDRESSES[name])).rstrip("\n"))
        (tmp_path / (FOLDER + name + ".nmconnection")).chmod(0o600)
    made._reload()
    made._activate(made.profiles[UUIDS[active]])
    return made


def take_over(node: FakeNode, active: str) -> None:
    node.call(interfaces=[{"name": "ib0", "addresses": [ADDRESSES[active]]}], adopt=True, allow_interruption=True)
    assert sorted(path.name for path in (node.root / FOLDER).iterdir()) == ["rdma-ib0.nmconnection"]


def given_back(node: FakeNode) -> tuple[str, list[str]]:
    node.call(state="absent", restore=True)
    assert sorted(path.name for path in (node.root / FOLDER).iterdir()) == [name + ".nmconnection" for name in UUIDS]
    assert not node.call(state="absent", restore=True)["changed"]
    return node.active["ib0"], node.addresses["ib0"]


def test_the_profile_that_was_active_is_activated_again(node: FakeNode, active: str) -> None:
    take_over(node, active)
    record = json.loads((node.root / LEDGER.path[1:]).read_text(encoding="utf-8"))
    assert {path: entry.get("active") for path, entry in record.items() if "active" in entry} == {"/%s%s.nmconnection" % (FOLDER, active): ["ib0"]}
    assert given_back(node) == (UUIDS[active], [ADDRESSES[active]])


def _killed(*_args: object) -> None:
    raise KeyboardInterrupt


def test_also_by_the_run_after_one_that_was_killed(node: FakeNode, active: str, monkeypatch: pytest.MonkeyPatch) -> None:
    take_over(node, active)
    with monkeypatch.context() as patched:
        patched.setattr(NetworkManagerDriver, "give_back", _killed)
        with pytest.raises(KeyboardInterrupt):
            node.call(state="absent", restore=True)
    assert given_back(node) == (UUIDS[active], [ADDRESSES[active]])


def test_a_record_of_an_earlier_release_does_not_tell(node: FakeNode, active: str) -> None:
    take_over(node, active)
    path = node.root / LEDGER.path[1:]
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({name: {key: value for key, value in entry.items() if key != "active"} for name, entry in record.items()}), encoding="utf-8")
    assert given_back(node)[0] in UUIDS.values()
