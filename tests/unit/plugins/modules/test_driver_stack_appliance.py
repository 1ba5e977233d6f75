# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stack of an image that brings its own is left alone, whatever else knew of it before."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _converge
from support.stack_node import BUNDLE, OLD_BUNDLE, Module, Node, with_bundles

DOCA = {"doca-ofed": "2.9.1-0.1.4", "rdma-core": "2410mlnx54-1.2410114", "mlnx-ofed-kernel-dkms": "24.10.OFED.24.10.1.1.4.1-1"}
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----\n"
NEWER = {"source": "doca", "version": "3.0.0", "repository": "https://mirror.example.org/x", "repository_key": KEY}


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node with DGX OS, whose stack is DOCA-OFED."""
    found = with_bundles(tmp_path, monkeypatch)
    (tmp_path / "etc/dgx-release").write_text('DGX_PRETTY_NAME="NVIDIA DGX Server"\nDGX_OTA_VERSION="7.1.0"\n', encoding="utf-8")
    found.packages = dict(DOCA)
    found.ofed_info = "OFED-internal-24.10-1.1.4"
    found.offers = {"doca-ofed": "3.0.0-0.1.4"}
    found.save()
    return found


def ask(node: Node, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    return _converge.converge(Module(check, **params), node, str(node.root))  # type: ignore[arg-type]


def files(node: Node) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in node.root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("params", [NEWER, {"state": "absent", "keep": ["rdma-core"]}, {"source": "doca", "packages": "doca-all", "repository": "/srv/x"}])
def test_the_stack_of_an_image_stays(node: Node, params: dict[str, t.Any]) -> None:
    before = files(node)
    for check in (True, False):
        with pytest.raises(Refused, match=r"doca 2\.9\.1, belongs to its image, NVIDIA DGX Server 7\.1\.0 \(/etc/dgx-release\)"):
            ask(node, check, **{"repository_trusted": True, **params})
    assert (node.steps, files(node)) == ([], before)


@pytest.mark.parametrize("version", [None, "2.9.1", "2.9"])
def test_where_the_image_has_the_declared_release_nothing_is_done(node: Node, version: str | None) -> None:
    before = files(node)
    for check in (True, False):
        found = ask(node, check, source="doca", version=version)
        assert (found["changed"], found["pending"]) == (False, [])
    # Not even a protection: the updates of the image bring the next release.
    assert (node.steps, files(node)) == ([], before)


def test_a_doca_without_its_profile_is_right_as_well(node: Node) -> None:
    node.packages = {**{name: version for name, version in DOCA.items() if name != "doca-ofed"}, "doca-tools": "2.9.1"}
    node.save()
    assert not ask(node, source="doca")["changed"]


def test_with_consent_the_stack_is_that_of_the_collection_from_then_on(node: Node) -> None:
    node.faults = {"install": (100, "E: broke off")}
    with pytest.raises(CommandFailed):
        ask(node, allow_upgrade=True, **NEWER)
    # What began with consent is completed without.
    node.faults = {}
    assert ask(node, **NEWER)["changed"]
    assert not ask(node, **NEWER)["changed"]


def test_mlnx_ofed_of_an_image(node: Node) -> None:
    node.packages, node.ofed_info = {"rdma-core": "58mlnx43-1.58101", "mlnx-ofed-kernel-dkms": "5.8"}, "MLNX_OFED_LINUX-5.8-1.0.1.1"
    node.save()
    assert not ask(node, bundle=str(node.root / OLD_BUNDLE))["changed"]
    with pytest.raises(Refused, match="belongs to its image"):
        ask(node, bundle=str(node.root / BUNDLE))
