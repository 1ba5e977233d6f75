# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes of the subnet manager, rehearsed on the simulated fabric of a real cluster: two levels of NDR switches, with more than 500 adapters."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
import yaml
from cluster import Cluster, Run
from common import ROOT
from proofs import REAL

FABRIC = ROOT / "tests/corpus/ibnetdiscover/ndr_two_level.txt"
OLD, NEW, THIRD = ("a08-p1-dgx-04-c0%d" % number for number in (1, 2, 3))
BASE = "import sys; sys.path.insert(0, 'tests/lab'); from rdmalab import _image, _settings; print(_image.ensure_base(_settings.settings()))"


@pytest.fixture(scope="module")
def base() -> str:
    """Return the image of a plain Debian, from the machine's own mirror: there may be no registry."""
    Cluster("rdma-rehearse").command("image")
    return subprocess.run([sys.executable, "-c", BASE], cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.split()[-1]


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> pathlib.Path:
    managers: dict[str, t.Any] = {"hosts": {OLD: {}, NEW: {}}, "vars": {"opensm_standby": True}}
    nodes: dict[str, t.Any] = {"hosts": {OLD: {}, NEW: {"opensm_port": "mlx5_5/1"}, THIRD: {}}}
    path = tmp_path / "inventory.yml"
    path.write_text(yaml.safe_dump({"all": {"children": {"rdma": nodes, "opensm": managers}}}), encoding="utf-8")
    return path


def rehearse(inventory: pathlib.Path, **variables: t.Any) -> Run:
    given = json.dumps({"rehearse_fabric": str(FABRIC), **{"rehearse_" + name: value for name, value in variables.items()}})
    return Cluster("rdma-rehearse").play("rehearse", "-e", given, inventory=inventory)


def report(folder: pathlib.Path) -> dict[str, t.Any]:
    found: dict[str, t.Any] = json.loads((folder / "rehearsal.json").read_text(encoding="utf-8"))
    return found


def containers() -> list[str]:
    argv = ["docker", "ps", "--all", "--filter", "name=rdma-rehearse-ansible", "--format", "{{.Names}}"]
    return subprocess.run(argv, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.split()


@pytest.mark.proves("rehearsal", debian12=REAL)
def test_a_move_of_the_subnet_manager(inventory: pathlib.Path, tmp_path: pathlib.Path, base: str) -> None:
    run = rehearse(inventory, managers=[NEW, OLD], image_base=base, report_dir=str(tmp_path))
    assert run.status == 0, run.output
    assert "All is as declared" in run.output
    found = report(tmp_path)
    assert found["masters"] == [["before", OLD], ["after", NEW]]
    assert found["states"] == {"before": {OLD: "MASTER", NEW: "STANDBY"}, "after": {OLD: "STANDBY", NEW: "MASTER"}}
    assert found["seconds"] > 0 and found["several"] == 0
    # All ports keep the LIDs that they have in the file.
    assert (found["ports"], found["moved"], found["pairs"]["after"][1]) == (582, [], 0)
    assert not containers()


@pytest.mark.proves("rehearsal", debian12=REAL)
def test_a_change_that_does_not_fit_the_fabric(inventory: pathlib.Path, tmp_path: pathlib.Path, base: str) -> None:
    partitions = [
        {"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"keyword": "ALL"}]},
        {"name": "storage", "pkey": "0x8001", "members": [{"group": "rdma"}, {"host": OLD, "membership": "limited"}]},
    ]
    variables = {"opensm_standby": False, "opensm_routing_engine": ["ftree"], "opensm_partitions": partitions}
    run = rehearse(inventory, managers=[THIRD, NEW], variables=variables, image_base=base, report_dir=str(tmp_path))
    assert run.status != 0
    found = report(tmp_path)
    assert found["problems"] == ["the routing engine is minhop, declared: ftree"], run.output
    assert found["said"] == {THIRD: ["ftree: cannot build lid matrices"]}
    assert (found["checked"], found["pkeys"]) == (582, [])
    # Managers that the change takes away hand over before they stop.
    assert found["states"]["after"] == {OLD: "", NEW: "", THIRD: "MASTER"}
    assert found["without"] < 5
    assert not containers()


def test_what_can_not_be_rehearsed_is_refused(inventory: pathlib.Path, tmp_path: pathlib.Path, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "fabric.txt"
    wrong.write_text("{}\n", encoding="utf-8")
    for given, said in (
        ({"managers": ["node-1"]}, "the inventory has no such host"),
        ({"variables": {"ipoib_interfaces": []}}, "variables of the role opensm"),
        ({"fabric": str(tmp_path / "missing")}, "can't be read"),
        ({"fabric": str(wrong)}, "has no node in the form of ibnetdiscover"),
        ({"image": "rdma-rehearse-no-such-image"}, "Docker has no such image"),
        ({"managres": []}, "rehearse_managers"),
    ):
        run = rehearse(inventory, **{"image_base": base, **given})
        assert run.status != 0 and said in " ".join(run.output.split()), run.output
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    run = rehearse(inventory, image_base=base)
    assert run.status != 0 and "Docker does not answer on the controller" in " ".join(run.output.split()), run.output


@pytest.mark.proves("rehearsal", debian12=REAL)
def test_an_upgrade_of_the_hosts_of_subnet_managers(inventory: pathlib.Path, tmp_path: pathlib.Path, base: str) -> None:
    run = rehearse(inventory, upgrade=True, image_base=base, report_dir=str(tmp_path))
    assert run.status == 0, run.output
    found = report(tmp_path)
    # The standby is master while the designated host restarts.
    assert [line["host"] for line in found["timeline"] if line["words"] == "is MASTER"] == [NEW, OLD]
    assert [line["host"] for line in found["timeline"] if line["words"] == "is stopped"] == [NEW, OLD]
    assert found["masters"][-1] == ["after", OLD] and found["several"] == 0


@pytest.mark.proves("rehearsal", debian12=REAL)
def test_an_inventory_with_the_change(inventory: pathlib.Path, tmp_path: pathlib.Path, base: str) -> None:
    changed = yaml.safe_load(inventory.read_text(encoding="utf-8"))
    changed["all"]["children"]["opensm"] = {"hosts": {THIRD: {"opensm_priority": 7}}, "vars": {"opensm_routing_engine": ["updn"]}}
    after = tmp_path / "after.yml"
    after.write_text(yaml.safe_dump(changed), encoding="utf-8")
    run = rehearse(inventory, after=str(after), image_base=base, report_dir=str(tmp_path))
    assert run.status == 0, run.output
    found = report(tmp_path)
    assert found["states"]["after"] == {OLD: "", NEW: "", THIRD: "MASTER"}
    assert (found["engines"], found["pairs"]["after"][1]) == ({"before": "minhop", "after": "updn"}, 0)
