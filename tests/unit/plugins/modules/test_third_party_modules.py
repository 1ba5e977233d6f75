# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Third-party modules after a stack was replaced: rebuilt by DKMS or by tasks of the site, and judged by the versions on disk."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty import _look
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty._converge import converge
from support.module_tree import KERNEL, NEW, Module, ModuleTree

TASKS = "/srv/hooks/rebuild.yml"


@pytest.fixture
def tree(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> ModuleTree:
    """Return a node with a module that DKMS manages, one on top of it, and one that the site builds."""
    found = ModuleTree(tmp_path)
    monkeypatch.setattr(jobs, "_launch", found.launch)
    monkeypatch.setattr(jobs, "_LOOK_EVERY", 0.01)
    # In alphabetical order, the dependent one would come first.
    found.manage("lnet/1", lnet=["ib_register_client"])
    found.manage("client/2", client=["lnet_call"])
    found.build("gpfs", "rdma_connect")
    return found


def replaced(tree: ModuleTree) -> list[dict[str, t.Any]]:
    """Do to the node what driver_stack does, and return what that tells."""
    built = _look.on_stack(tree, "mlnx_ofed 1", running=KERNEL, owners=lambda _paths: (), vendors=(), root=str(tree.root))
    _look.write_record(built, str(tree.root))
    tree.stack(NEW)
    return [module.row() for module in built]


def ask(tree: ModuleTree, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    return converge(Module(check, **params), tree, root=str(tree.root))  # type: ignore[arg-type]


def names(result: t.Mapping[str, t.Any]) -> list[str]:
    return [row["name"] for row in result["modules"]]


def recorded(tree: ModuleTree) -> bool:
    return (tree.root / "var/lib/rdma.ofed/third_party.json").exists()


def test_dkms_rebuilds_in_order_and_the_site_the_rest(tree: ModuleTree) -> None:
    rows = replaced(tree)
    foreseen = ask(tree, check=True, modules=rows)
    done = ask(tree)
    assert [argv[3] for argv in tree.steps if argv[1] == "install"] == ["lnet", "client"]
    assert done["changes"] == foreseen["changes"] and len(done["changes"]) == 2
    assert "rebuilt by dkms install -m lnet -v 1 -k %s" % KERNEL in "\n".join(done["changes"])
    assert names(done) == names(foreseen) == ["gpfs"]
    assert [(entry["subject"], entry["needs"]) for entry in done["pending"]] == [("gpfs", "rebuild")]
    assert "rdma_connect" in done["pending"][0]["why"][0] and "ofed_rebuild_tasks" in done["pending"][0]["why"][1]
    assert recorded(tree)
    foreseen = ask(tree, check=True, tasks=TASKS, modules=done["modules"])
    tree.build("gpfs", "rdma_connect")
    last = ask(tree, tasks=TASKS, modules=done["modules"])
    assert last["changes"] == foreseen["changes"] == ["module gpfs %s: built on mlnx_ofed 1 -> rebuilt by %s" % (KERNEL, TASKS)]
    assert (last["pending"], last["modules"], recorded(tree)) == ([], [], False)


def test_tasks_that_did_not_help_fail_with_the_name_of_the_module(tree: ModuleTree) -> None:
    replaced(tree)
    done = ask(tree)
    with pytest.raises(CommandFailed) as caught:
        ask(tree, tasks=TASKS, modules=done["modules"])
    assert TASKS in caught.value.msg and "extra/gpfs.ko" in caught.value.msg and "rdma_connect" in caught.value.msg
    assert recorded(tree)


def test_a_second_run_changes_nothing_and_one_without_a_record_starts_no_process(tree: ModuleTree) -> None:
    replaced(tree)
    ask(tree)
    tree.build("gpfs", "rdma_connect")
    assert ask(tree)["changes"] == [] and not recorded(tree)
    tree.calls.clear()
    for check in (True, False):
        again = ask(tree, check=check)
        assert (again["changed"], again["pending"]) == (False, [])
    assert tree.calls == []


def test_a_build_that_fails_is_pending_and_does_not_prevent_others(tree: ModuleTree) -> None:
    tree.manage("beegfs/7", beegfs=["rdma_connect"])
    replaced(tree)
    tree.failing.add("beegfs/7")
    done = ask(tree)
    assert names(done) == ["beegfs", "gpfs"]
    assert "/var/lib/dkms/beegfs/7/build/make.log" in done["pending"][0]["why"][0]
    # The next run tries again.
    tree.failing.clear()
    assert ["beegfs" in line for line in ask(tree)["changes"]] == [True]


def test_what_something_else_has_rebuilt_is_left_alone(tree: ModuleTree) -> None:
    replaced(tree)
    tree.manage("lnet/1", lnet=["ib_register_client"])
    tree.manage("client/2", client=["lnet_call"])
    assert ask(tree)["changes"] == [] and tree.steps == []


def test_it_can_look_without_dkms(tree: ModuleTree) -> None:
    replaced(tree)
    assert names(ask(tree, dkms=False)) == ["client", "gpfs", "lnet"] and tree.steps == []


def test_the_way_back_to_the_stack_of_the_distribution(tree: ModuleTree) -> None:
    """ib_core of the kernel is another file, and lacks a symbol that the vendor's had."""
    tree.modules["ib_core"].exports["ib_register_peer"] = 5
    tree.save()
    tree.build("peer", "ib_register_peer")
    replaced(tree)
    tree.stack(NEW, "kernel/drivers/infiniband/core")
    done = ask(tree)
    assert names(done) == ["gpfs", "peer"]
    assert "lacks the symbol ib_register_peer" in done["reasons"][1]


def test_a_kernel_that_was_removed_needs_nothing(tree: ModuleTree) -> None:
    replaced(tree)
    (tree.root / "lib/modules" / KERNEL / "modules.dep").unlink()
    assert ask(tree)["pending"] == [] and not recorded(tree)
