# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which third-party modules were built on the stack, and which fit it, by the versions of symbols."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import consumers
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty import _look
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty._fit import judged, misfit
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty._found import Built, Tree
from support.module_tree import KERNEL, NEW, OLD, ModuleTree


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> ModuleTree:
    return ModuleTree(tmp_path)


def owners(_paths: t.Sequence[str]) -> tuple[str, ...]:
    return ()


def found(tree: ModuleTree, owners: t.Callable[[t.Sequence[str]], t.Collection[str]] = owners) -> dict[str, Built]:
    built = _look.on_stack(tree, "mlnx_ofed 1", running=KERNEL, owners=owners, vendors=["mlnx-tools"], root=str(tree.root))
    return {module.name: module for module in built}


def test_only_what_was_built_on_the_stack_is_found(tree: ModuleTree) -> None:
    tree.build("lnd", "rdma_connect", "ib_register_client")
    tree.build("plain")
    # Built on another build of the stack: it does not fit now, and would fit the next one no better.
    tree.stack(NEW)
    tree.build("stale", "rdma_connect")
    tree.stack(OLD)
    assert found(tree) == {"lnd": Built("lnd", KERNEL, "extra/lnd.ko", "", "mlnx_ofed 1", ("ib_register_client", "rdma_connect"))}


def test_what_builds_on_such_a_module_is_found_too(tree: ModuleTree) -> None:
    tree.build("lnet", "ib_register_client", exports="lnet_call")
    tree.build("lustre", "lnet_call")
    assert sorted(found(tree)) == ["lnet", "lustre"]


def test_modules_of_the_kernel_of_the_stack_and_for_gpu_memory_are_left_out(tree: ModuleTree) -> None:
    tree.build("rpcrdma", "rdma_connect", folder="kernel/net/sunrpc")
    tree.build("ib_iser", "rdma_connect")
    tree.build("nvidia_peermem", "ib_register_client")
    tree.build("mlxdevm", "ib_register_client")
    tree.manage("mlnx-ofed-kernel/23.10", mlx_extra=["ib_register_client"])
    assert sorted(found(tree, lambda paths: ("mlnx-tools",) if paths[0].endswith("/mlxdevm.ko") else ())) == []


def test_a_link_of_weak_modules_is_of_the_package_that_owns_its_target(tree: ModuleTree) -> None:
    tree.build("mlxdevm", "ib_register_client", folder="weak-updates")
    link = tree.root / "lib/modules" / KERNEL / "weak-updates/mlxdevm.ko"
    link.parent.mkdir()
    link.symlink_to("/lib/modules/5.14.0-1/extra/mlxdevm.ko")
    assert found(tree, lambda paths: ("mlnx-tools",) if "/lib/modules/5.14.0-1/extra/mlxdevm.ko" in paths else ()) == {}
    assert sorted(found(tree)) == ["mlxdevm"]


def test_a_driver_of_another_vendor_is_found(tree: ModuleTree) -> None:
    tree.build("bnxt_re", "ib_register_client")
    assert sorted(found(tree)) == ["bnxt_re"]


def test_dkms_is_named_with_the_command(tree: ModuleTree) -> None:
    tree.manage("lustre-client/2.15.5", lnet=["ib_register_client"])
    module = found(tree)["lnet"]
    assert (module.source, module.command) == ("lustre-client/2.15.5", "dkms install -m lustre-client -v 2.15.5 -k %s" % KERNEL)


def test_a_package_of_the_stack_owns_the_source(tree: ModuleTree) -> None:
    tree.manage("knem/1.1", knem=["ib_register_client"])
    asked: list[str] = []
    assert found(tree, lambda paths: asked.extend(paths) or ("mlnx-tools",)) == {}  # type: ignore[func-returns-value]
    assert asked == ["/usr/src/knem-1.1/dkms.conf"]


def test_without_such_modules_no_process_is_started(tree: ModuleTree) -> None:
    tree.build("plain")
    assert found(tree) == {} and tree.calls == []


@pytest.mark.parametrize("of_kernel", [False, True])
def test_an_old_modprobe_is_replaced_by_the_list_of_the_build(tree: ModuleTree, of_kernel: bool) -> None:
    """kmod 25 of RHEL 8 does not show what a module exports."""
    tree.shows_exports = False
    if of_kernel:
        tree.stack(OLD, "kernel/drivers/infiniband/core")
    tree.build("lnd", "ib_register_client")
    # Nothing is claimed where nothing is known.
    assert found(tree) == {}
    symvers = tree.root / ("lib/modules/%s/build" % KERNEL if of_kernel else "usr/src/ofa_kernel/default")
    symvers.mkdir(parents=True)
    line = "0x%08x\t%s\tdrivers/infiniband/core/%s\tEXPORT_SYMBOL\n"
    rows = [(OLD, "ib_register_client", "ib_core"), (OLD + 1, "rdma_connect", "rdma_cm")]
    (symvers / "Module.symvers").write_text("".join(line % row for row in rows), encoding="utf-8")
    assert sorted(found(tree)) == ["lnd"]


def test_damaged_records_are_no_modules(tree: ModuleTree) -> None:
    path = tree.root / "var/lib/rdma.ofed/third_party.json"
    path.parent.mkdir(parents=True)
    for text in ("", "[]", '{"modules": 1}', '{"modules": [1, {}, {"name": "x"}]}', '{"modules": [{"name": "", "kernel": "", "path": ""}]}'):
        path.write_text(text, encoding="utf-8")
        assert _look.read_record(str(tree.root)) == ()


def test_a_record_is_read_back_and_goes_with_its_last_module(tree: ModuleTree) -> None:
    module = Built("lnd", KERNEL, "extra/lnd.ko", "", "inbox 44", ("rdma_connect",))
    _look.write_record([module], str(tree.root))
    assert _look.read_record(str(tree.root)) == (module,)
    _look.write_record([], str(tree.root))
    _look.write_record([], str(tree.root))
    assert not (tree.root / "var/lib/rdma.ofed/third_party.json").exists()


MODULE = Built("lnd", KERNEL, "extra/lnd.ko", symbols=("gone",))
PATHS = {"lnd": "extra/lnd.ko", "ib_core": "updates/ib_core.ko"}
HAS = Tree(KERNEL, PATHS, {"lnd": ["ib_core"]}, {"call": "ib_core"}, {"lnd": {"call": 1}}, {"ib_core": {"call": 1}})


@pytest.mark.parametrize(
    ("tree", "symbol"),
    [
        (HAS, ""),
        (HAS._replace(offered={"ib_core": {"call": 2}}), "call"),
        # The build of the exporting module has no versions, or its symbol went to a module that is not compared.
        (HAS._replace(offered={"ib_core": {"call": 0}}), ""),
        (HAS._replace(offered={"ib_core": {}}), ""),
        (HAS._replace(offered={}), ""),
        # A symbol without an exporter is of the kernel, unless a module had it.
        (HAS._replace(needed={"lnd": {"printk": 7}}), ""),
        (HAS._replace(needed={"lnd": {"gone": 7}}), "gone"),
    ],
)
def test_the_symbol_that_does_not_fit(tree: Tree, symbol: str) -> None:
    assert misfit("lnd", tree, ("gone",)) == symbol
    assert [entry.symbol for entry in judged([MODULE], tree)] == ([symbol] if symbol else [])


def test_what_can_not_be_read_does_not_fit() -> None:
    assert [(entry.symbol, entry.missing) for entry in judged([MODULE], HAS._replace(needed={}))] == [("", False)]


def test_a_module_that_was_removed_fits_unless_dkms_still_has_its_source() -> None:
    gone = HAS._replace(paths={"ib_core": PATHS["ib_core"]})
    managed = MODULE._replace(source="lnd/1")
    assert judged([MODULE, managed], gone) == ()
    assert [entry.missing for entry in judged([managed], gone._replace(registered=frozenset(["lnd/1"])))] == [True]


def test_a_source_that_dkms_has_lost_is_none() -> None:
    wrong = HAS._replace(offered={"ib_core": {"call": 2}})
    assert [entry.module.source for entry in judged([MODULE._replace(source="lnd/1")], wrong)] == [""]


def test_consumers_depend_on_the_stack_directly_or_not() -> None:
    assert consumers({**PATHS, "other": "extra/other.ko"}, {"lnd": ["ib_core"], "other": ["mac80211"]}) == ("lnd",)
