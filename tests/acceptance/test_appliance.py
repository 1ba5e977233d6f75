# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node with the marker of an image that brings its own RDMA stack, between two others."""

from __future__ import annotations

import collections.abc
import pathlib
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import Edit
from proofs import LOOK_ALIKE

NODE = "node2"
MARKER = 'printf \'DGX_PRETTY_NAME="NVIDIA DGX Server"\\nDGX_OTA_VERSION="5.2.0"\\n\' >/etc/dgx-release'
OTHER = {"ofed_source": "doca", "ofed_version": "2.9.1", "ofed_repository": "/srv/nowhere", "ofed_repository_trusted": True}


@pytest.fixture(name="node")
def marked(lab: Cluster) -> collections.abc.Iterator[Cluster]:
    assert lab.shell(NODE, MARKER).returncode == 0
    yield lab
    lab.shell(NODE, "rm /etc/dgx-release")


def changed(run: Run) -> set[str]:
    return {host for _play, _task, host in records.changes(run.events)}


def packages(lab: Cluster) -> str:
    return lab.shell(NODE, "dpkg-query --show; ls /etc/apt/sources.list.d /etc/apt/preferences.d").stdout


@pytest.mark.long
@pytest.mark.proves("appliances", debian12=LOOK_ALIKE)
def test_the_stack_of_an_image_is_left_alone_until_the_inventory_consents(node: Cluster, edited: t.Callable[[Edit], pathlib.Path]) -> None:
    before = packages(node)
    # What the image has is declared.
    assert records.changes(node.play("site").events) == {}

    other = edited(lambda inventory: inventory["all"]["children"]["rdma"]["hosts"][NODE].update(OTHER))
    for check in (["--check"], []):
        refused = node.play("site", *check, inventory=other)
        shown = " ".join(refused.output.split())
        assert "belongs to its image, NVIDIA DGX Server 5.2.0 (/etc/dgx-release), and the role would replace it with doca 2.9.1" in shown, refused.output
        assert "set rdma_allow_upgrade: true for this host" in shown
        assert changed(refused) == set()
    # With consent, the run comes as far as the repository, which does not exist.
    allowed = node.play("site", "--check", "-e", "rdma_allow_upgrade=true", inventory=other)
    assert "belongs to its image" not in allowed.output
    assert "/srv/nowhere" in allowed.output

    removal = ["remove", "--limit", NODE, "--tags", "ofed", "-e", "rdma_remove=true"]
    kept = node.play(*removal)
    assert "The RDMA stack stays: it belongs to the image of the node" in " ".join(kept.output.split()), kept.output
    assert (kept.status, changed(kept)) == (0, set())
    assert packages(node) == before
    gone = node.play(*removal, "--check", "-e", "rdma_allow_upgrade=true")
    assert (gone.status, changed(gone)) == (0, {NODE}), gone.output


@pytest.mark.proves("appliances", debian12=LOOK_ALIKE)
def test_the_role_alone_refuses_as_well(node: Cluster, tmp_path: pathlib.Path) -> None:
    play = "- hosts: rdma\n  gather_facts: false\n  roles:\n    - role: rdma.ofed.ofed\n      vars: {ofed_state: absent}\n"
    (tmp_path / "play.yml").write_text(play, encoding="utf-8")
    before = packages(node)
    refused = node.play(str(tmp_path / "play.yml"), "--limit", NODE)
    assert refused.status
    assert "belongs to its image, NVIDIA DGX Server 5.2.0 (/etc/dgx-release), and the role would remove it" in " ".join(refused.output.split())
    assert packages(node) == before


@pytest.mark.proves("appliances", debian12=LOOK_ALIKE)
def test_the_discovery_names_the_image(node: Cluster, tmp_path: pathlib.Path) -> None:
    found = node.play("discover", "-e", "discover_output=%s" % (tmp_path / "discovered"))
    assert found.status == 0, found.output
    assert "of NVIDIA DGX Server 5.2.0 (/etc/dgx-release)" in (tmp_path / "discovered/report.txt").read_text(encoding="utf-8")
