# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Firmware of HCAs: real mstflint and mstconfig on the emulated adapters of the lab."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
import records
from cluster import Cluster, Run
from common import ROOT

PSID = "MT_0000000008"
DECLARED = {
    "hca_firmware_allow_container": True,
    "hca_firmware_devices": [{"psid": PSID}],
    "hca_firmware_images": {PSID: "/srv/firmware/new.bin"},
    "hca_firmware_versions": {PSID: "16.35.3006"},
    "hca_firmware_config": [{"psid": PSID, "parameters": {"SRIOV_EN": True, "NUM_OF_VFS": "0x10"}}],
    "rdma_serial": 3,
}
# Of mlx5 nodes: the tools can't open the emulated ConnectX-3 of node3.
NODES = ("node1", "node2")


def image(folder: pathlib.Path, name: str, *arguments: str) -> pathlib.Path:
    path = folder / name
    subprocess.run([sys.executable, "-m", "cxemu.image", str(path), *arguments], cwd=ROOT / "tests/lab", check=True)
    return path


@pytest.fixture(scope="module")
def firmware_lab(lab: Cluster, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Cluster]:
    """The lab with an image of a newer version, one of an older, one of another PSID, and one that is damaged on each node."""
    folder = tmp_path_factory.mktemp("firmware")
    images = [
        image(folder, "new.bin", "--psid", PSID, "--firmware", "16.35.3006"),
        image(folder, "old.bin", "--psid", PSID, "--firmware", "16.28.1002"),
        image(folder, "other.bin", "--psid", "MT_0000000099", "--firmware", "16.35.4000"),
        image(folder, "damaged.bin", "--psid", PSID, "--firmware", "16.35.4000", "--corrupt"),
    ]
    for node in NODES:
        lab.shell(node, "mkdir -p /srv/firmware")
        for path in images:
            subprocess.run(["docker", "cp", str(path), "rdma-accept-%s:/srv/firmware/" % node], check=True, capture_output=True)
    yield lab
    for node in NODES:
        lab.shell(node, "apt-get purge -qq -y mstflint pciutils >/dev/null; rm -rf /srv/firmware")


def firmware(lab: Cluster, *arguments: str, **variables: t.Any) -> Run:
    return lab.play("firmware", *arguments, "-e", json.dumps({**DECLARED, **variables}))


def test_firmware_is_burned_and_configured_once(firmware_lab: Cluster) -> None:
    predicted = firmware(firmware_lab, "--check", "--diff")
    assert predicted.status == 0, predicted.output
    first = firmware(firmware_lab)
    assert first.status == 0, first.output
    assert {host for _play, task, host in records.changes(first.events) if "Install" not in task} == set(NODES)
    assert "16.35.2000 -> 16.35.3006" in first.output
    # A node without the tools can't be asked in check mode; with them, the prediction is exact, and nothing is left to do.
    second = firmware(firmware_lab, "--check")
    third = firmware(firmware_lab)
    assert records.changes(second.events) == records.changes(third.events) == {}
    assert "NUM_OF_VFS: 0 -> 16 (needs reboot)" in third.output


def test_another_value_shows_alone_and_check_mode_says_so(firmware_lab: Cluster) -> None:
    config = [{"psid": PSID, "parameters": {"SRIOV_EN": "1", "NUM_OF_VFS": 8}}]
    predicted = firmware(firmware_lab, "--check", "--diff", hca_firmware_config=config)
    done = firmware(firmware_lab, hca_firmware_config=config)
    assert records.differences(predicted.events, done.events) == []
    assert sorted(records.changes(done.events).values()) == [[["0000:03:00.0 NUM_OF_VFS: 16 -> 8"]]] * len(NODES)


def test_default_values_come_back(firmware_lab: Cluster) -> None:
    run = firmware(firmware_lab, hca_firmware_config=[{"psid": PSID, "state": "default", "names": ["SRIOV_EN", "NUM_OF_VFS"]}])
    assert run.status == 0, run.output
    assert {host for _play, _task, host in records.changes(run.events)} == set(NODES)


REFUSED = [
    pytest.param({"hca_firmware_config": [{"psid": PSID, "parameters": {"NUM_OF_VF": 8}}]}, ("NUM_OF_VF", "NUM_OF_VFS"), id="unknown parameter"),
    pytest.param({"hca_firmware_config": [{"psid": PSID, "parameters": {"LINK_TYPE_P1": "VPI"}}]}, ("LINK_TYPE_P1", "VPI", "IB"), id="bad value"),
    pytest.param(
        {"hca_firmware_images": {PSID: "/srv/firmware/other.bin"}, "hca_firmware_versions": {}}, ("MT_0000000099", PSID, "other.bin"), id="another PSID"
    ),
    pytest.param({"hca_firmware_images": {PSID: "/srv/firmware/damaged.bin"}, "hca_firmware_versions": {}}, ("damaged.bin",), id="damaged image"),
    pytest.param({"hca_firmware_images": {PSID: "/srv/firmware/old.bin"}, "hca_firmware_versions": {}}, ("16.28.1002", "16.35.3006"), id="downgrade"),
]


@pytest.mark.parametrize(("variables", "words"), REFUSED)
def test_what_is_refused_changes_nothing(firmware_lab: Cluster, variables: dict[str, t.Any], words: tuple[str, ...]) -> None:
    run = firmware(firmware_lab, **variables)
    assert run.status != 0
    assert records.changes(run.events) == {}
    messages = " ".join(str(event["msg"]) for event in records.failures(run.events))
    for word in words:
        assert word in messages, messages
    assert "Traceback" not in run.output
