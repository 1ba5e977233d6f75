# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stack in use is replaced only with consent, and an installation that began with consent is completed."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _converge
from support.stack_node import BUNDLE, INBOX, OLD_BUNDLE, Module, Node, with_bundles

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----\n"
DOCA = {"source": "doca", "version": "2.9.1", "repository": "https://mirror.example.org/x", "repository_key": KEY}


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    found = with_bundles(tmp_path, monkeypatch)
    found.offers = {"doca-ofed": "2.9.1-0.1.4"}
    return found


def ask(node: Node, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    return _converge.converge(Module(check, **params), node, str(node.root))  # type: ignore[arg-type]


def bundle(node: Node, name: str = BUNDLE, **params: t.Any) -> dict[str, t.Any]:
    return {"bundle": str(node.root / name), **params}


def use(node: Node, comm: str = "mpi_job") -> None:
    """Simulate a process with an open RDMA device."""
    process = node.root / "proc/4711"
    (process / "fd").mkdir(parents=True)
    (process / "comm").write_text(comm + "\n", encoding="utf-8")
    os.symlink("/dev/infiniband/uverbs0", process / "fd/3")


def pending(result: dict[str, t.Any]) -> list[tuple[str, str, str, str]]:
    return [(entry["kind"], entry["before"], entry["after"], entry["needs"]) for entry in result["pending"]]


def test_an_idle_node_gets_its_first_vendor_stack_without_consent(node: Node) -> None:
    assert ask(node, **bundle(node))["stack"]["replaced"]


def test_the_stack_of_the_distribution_stays_while_it_is_used(node: Node) -> None:
    use(node)
    for check in (True, False):
        found = ask(node, check, **bundle(node))
        assert (found["changed"], found["stack"]["withheld"]) == (False, True)
        assert pending(found) == [("stack", "inbox 44.0", "mlnx_ofed 23.10-0.5.5.0", "upgrade")]
        assert found["pending"][0]["why"] == ["in use by process mpi_job"]
        assert found["stack"]["after"] == found["stack"]["before"]
    assert (node.steps, node.packages) == ([], INBOX)
    assert ask(node, allow_upgrade=True, **bundle(node))["changed"]


def test_a_connection_over_a_port_is_no_user_of_the_stack(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """An Ethernet management port always has connections. They count if the driver is to be reloaded."""
    users = [User(kind, "chronyd", "", ("ens1f0",)) for kind in ("connection", "link", "namespace", "vf")]
    monkeypatch.setattr(_converge, "with_users", lambda _run, found, _root: found._replace(users=tuple(users)))
    for check in (True, False):
        found = ask(node, check, **bundle(node))
        assert (found["stack"]["replaced"], found["stack"]["withheld"]) == (True, False)


WISHES: dict[str, t.Callable[[Node], dict[str, t.Any]]] = {
    "another release": bundle,
    "another source": lambda node: DOCA,
    "none": lambda node: {"state": "absent", "keep": ["rdma-core"]},
    "another set of packages": lambda node: bundle(node, OLD_BUNDLE, packages="hpc"),
}


@pytest.mark.parametrize("wish", WISHES)
def test_the_stack_of_a_vendor_is_in_use_where_it_is_installed(node: Node, wish: str) -> None:
    ask(node, **bundle(node, OLD_BUNDLE))
    steps, packages = list(node.steps), dict(node.packages)
    options = WISHES[wish](node)
    for check in (True, False):
        found = ask(node, check, **options)
        assert (found["changed"], found["changes"], found["stack"]["withheld"]) == (False, [], True)
        assert {entry["needs"] for entry in found["pending"]} == {"upgrade"}
        assert found["pending"][0]["why"] == ["mlnx_ofed 5.8-1.0.1.1 is installed"]
    assert (node.steps, node.packages) == (steps, packages)
    # The repository is not configured either: the distribution's next upgrade would install its packages.
    assert not (node.root / "etc/apt/sources.list.d/rdma-ofed.sources").exists()
    done = ask(node, allow_upgrade=True, **options)
    assert (done["changed"], done["stack"]["withheld"]) == (True, False)


def test_the_stack_that_is_there_is_configured_as_declared_meanwhile(node: Node) -> None:
    ask(node, **bundle(node, OLD_BUNDLE))
    conf = node.root / "etc/infiniband/openib.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("ONBOOT=yes\nIPOIB_LOAD=no\n", encoding="utf-8")
    found = ask(node, **bundle(node, openib_conf={"IPOIB_LOAD": "yes"}))
    assert [entry["needs"] for entry in found["pending"]] == ["upgrade", "driver_reload"]
    assert (found["changed"], found["packages_changed"]) == (True, False)
    assert "IPOIB_LOAD=yes" in conf.read_text(encoding="utf-8")


def test_half_a_stack_that_somebody_else_left_is_named_and_mended(node: Node) -> None:
    """The vendor's installer was started by hand and killed after some packages: dpkg itself reports no problem."""
    ask(node, **bundle(node))
    node.ofed_info = "OFED-internal-23.10-0.5.5"
    (node.root / "var/lib/rdma.ofed/stack.json").unlink()
    use(node)
    found = ask(node, **bundle(node))
    assert found["stack"]["withheld"]
    assert pending(found) == [("stack", "mlnx_ofed 23.10-0.5.5, half installed", "mlnx_ofed 23.10-0.5.5.0", "upgrade")]
    assert found["pending"][0]["why"] == ["in use by process mpi_job"]
    shutil.rmtree(node.root / "proc/4711")
    assert ask(node, True, **bundle(node))["changes"] == ["stack: mlnx_ofed 23.10-0.5.5, half installed -> mlnx_ofed 23.10-0.5.5.0"]
    assert ask(node, **bundle(node))["stack"]["replaced"]
    assert ask(node, **bundle(node))["changes"] == []


def test_half_a_stack_of_another_release(node: Node) -> None:
    ask(node, **bundle(node, OLD_BUNDLE))
    node.ofed_info = "OFED-internal-5.8-1.0.1"
    assert ask(node, True, **bundle(node))["changes"] == [
        "stack: mlnx_ofed 5.8-1.0.1, half installed -> mlnx_ofed 23.10-0.5.5.0",
        "protected packages: mlnx_ofed 5.8-1.0.1 -> mlnx_ofed 23.10-0.5.5.0",
    ]


@pytest.mark.parametrize("former", ["", "5.8-1.0.1.1"])
def test_what_may_be_another_stack_takes_consent(node: Node, former: str) -> None:
    """A DOCA-OFED without its profile looks like half an MLNX_OFED. Nothing is on record, and no program uses RDMA."""
    ask(node, **DOCA)
    record = node.root / "var/lib/rdma.ofed/stack.json"
    if former:
        # The record of a stack that its own uninstaller removed before another one was installed.
        record.write_text(json.dumps({"source": "mlnx_ofed", "version": former, "method": "installer"}), encoding="utf-8")
    else:
        record.unlink()
    node.packages = {name: version for name, version in node.packages.items() if not name.startswith("doca-")}
    node.ofed_info = "OFED-internal-24.10-1.1.4"
    node.save()
    before = dict(node.packages)
    found = ask(node, **bundle(node))
    assert found["stack"]["withheld"] and node.packages == before
    assert "another stack that ofed_info calls the same" in found["pending"][0]["why"][0]
    # Its own release may be repaired.
    assert ask(node, True, **bundle(node, allow_upgrade=True))["changes"]


def test_doca_without_its_profile_is_neither_torn_down_nor_rebuilt(node: Node) -> None:
    """doca-ofed depends on opensm and was removed with it."""
    ask(node, **DOCA)
    del node.packages["doca-ofed"]
    node.save()
    before = dict(node.packages)
    found = ask(node, **DOCA)
    assert (found["changes"], found["stack"]["withheld"]) == (["package doca-ofed: none -> 2.9.1"], False)
    assert {**node.packages, **before} == node.packages
    node.packages.update({"doca-ofed-userspace": "2.9.1-0.1.4", "doca-kernel": "24.10"})
    del node.packages["doca-ofed"]
    node.save()
    # The profile in two parts is complete. Packages that are no longer installed need no protection.
    assert ask(node, **DOCA)["changes"] == ["edit file /etc/apt/preferences.d/rdma-ofed-installed.pref"]
    assert ask(node, **DOCA)["changes"] == []


def test_an_upgrade_that_was_interrupted_is_completed_by_a_run_without_consent(node: Node) -> None:
    ask(node, **bundle(node, OLD_BUNDLE))
    node.faults = {"mlnxofedinstall": (-9, "")}
    with pytest.raises(CommandFailed, match="was interrupted"):
        ask(node, allow_upgrade=True, **bundle(node))
    node.faults = {}
    assert ask(node, **DOCA)["stack"]["replaced"], "nobody uses a stack that is not whole"
    ask(node, allow_upgrade=True, **bundle(node, OLD_BUNDLE))
    node.faults = {"mlnxofedinstall": (-9, "")}
    with pytest.raises(CommandFailed, match="was interrupted"):
        ask(node, allow_upgrade=True, **bundle(node))
    node.faults = {}
    use(node)
    assert ask(node, **DOCA)["stack"]["withheld"], "another stack than the one that was begun"
    assert ask(node, **bundle(node))["changed"]


def test_a_run_removes_the_password_that_a_killed_one_has_left(node: Node) -> None:
    left = node.root / "run/rdma-ofed/preview/rdma-ofed-preview.repo"
    left.parent.mkdir(parents=True)
    left.write_text("password=s3cr@t\n", encoding="utf-8")
    ask(node, check=True, **bundle(node))
    assert not left.exists()
