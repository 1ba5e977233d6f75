# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A vendor's stack whose source is not declared: it stays as it is, and what needs packages is refused."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _converge
from support.stack_node import BUNDLE, Module, Node, with_bundles

RELEASE = {"version": "23.10-0.5.5.0"}
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----\n"
REPOSITORY = {"repository": "https://mirror.example.org/x", "repository_key": KEY}
SOURCES = "etc/apt/sources.list.d/rdma-ofed.sources"


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return with_bundles(tmp_path, monkeypatch)


def ask(node: Node, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    return _converge.converge(Module(check, **params), node, str(node.root))  # type: ignore[arg-type]


def by_hand(node: Node) -> None:
    """Install the release without the collection: it has no record of it."""
    node._mlnx(node.root / BUNDLE, [])
    node.save()


def refused(node: Node, **params: t.Any) -> str:
    """What a run says that is refused, in check mode and without it. Nothing was done."""
    steps, packages, found = list(node.steps), dict(node.packages), []
    for check in (True, False):
        with pytest.raises(InvalidInput) as raised:
            ask(node, check, **params)
        found.append(raised.value.msg)
    assert found[0] == found[1] and (node.steps, node.packages) == (steps, packages)
    return found[0]


def test_the_release_that_was_installed_by_hand_stays(node: Node) -> None:
    by_hand(node)
    packages = dict(node.packages)
    predicted = ask(node, True, **RELEASE)
    done = ask(node, **RELEASE)
    assert done["changes"] == predicted["changes"] != []
    assert (done["packages_changed"], done["pending"], node.steps, node.packages) == (False, [], [], packages)
    for check in (True, False):
        assert not ask(node, check, **RELEASE)["changed"]
    assert not ask(node, protect_packages=False, **RELEASE)["packages_changed"]


def test_a_repair_needs_the_bundle(node: Node) -> None:
    by_hand(node)
    node.broken = {"ofed-scripts": "half-installed"}
    node.save()
    said = refused(node, **RELEASE)
    assert "ofed_bundle is not set" in said and "ofed-scripts" in said and "the installer needs a bundle" in said


def test_another_release_needs_the_bundle(node: Node) -> None:
    by_hand(node)
    assert "the node has mlnx_ofed 23.10-0.5.5.0" in refused(node, version="5.8-1.0.1.1", allow_upgrade=True)


def test_another_selection_needs_the_bundle(node: Node) -> None:
    ask(node, bundle=str(node.root / BUNDLE), allow_upgrade=True, packages="basic")
    assert "ofed_bundle is not set" in refused(node, packages="hpc", allow_upgrade=True, **RELEASE)


def test_doca_from_a_repository_that_is_no_longer_declared(node: Node) -> None:
    node.offers = {"doca-ofed": "2.9.1-0.1.4", "doca-all": "2.9.1-0.1.4"}
    wish = {"source": "doca", "version": "2.9.1"}
    ask(node, **wish, **REPOSITORY)
    # The file that an earlier run wrote stays: nothing is declared in its place.
    before = (node.root / SOURCES).read_text(encoding="utf-8")
    for check in (True, False):
        assert ask(node, check, **wish)["changes"] == []
    assert (node.root / SOURCES).read_text(encoding="utf-8") == before
    said = refused(node, packages="doca-all", allow_upgrade=True, repository_trusted=True, **wish)
    assert "ofed_repository is not set" in said and "doca-all" in said
    assert ask(node, packages="doca-all", allow_upgrade=True, **wish, **REPOSITORY)["packages_changed"]


def test_a_metapackage_of_the_repository_is_a_package_to_install(node: Node) -> None:
    by_hand(node)
    said = refused(node, method="repository", repository_trusted=True, **RELEASE)
    assert "ofed_repository is not set" in said and "mlnx-ofed-all" in said


def test_the_removal_needs_no_source(node: Node) -> None:
    by_hand(node)
    assert ask(node, state="absent", allow_upgrade=True)["packages_changed"]
