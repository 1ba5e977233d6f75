# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Third-party modules after a stack was replaced: rebuilt by DKMS or by tasks of the site, and judged by the versions on disk."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._facts._dkms_order import order_of, read_configured
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
    return converge(Module(check, **params), tree, KERNEL, root=str(tree.root))  # type: ignore[arg-type]


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


def test_a_job_that_ended_before_dkms_had_its_source_again_loses_no_module(tree: ModuleTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """DKMS forgets a source with the last build of it."""

    def interrupted(_run: t.Any, _name: str, directory: str, **_more: t.Any) -> None:
        job = json.loads((pathlib.Path(directory) / "job.json").read_text(encoding="utf-8"))
        tree.dkms(job["steps"][0]["argv"])
        shutil.rmtree(tree.root / "var/lib/dkms/lnet")
        state = {"id": job["id"], "started": time.time(), "finished": 0, "rc": 0, "failed": "", "stage": "x", "step": 1}
        jobs.runner.save(os.path.join(directory, "state.json"), state)

    replaced(tree)
    monkeypatch.setattr(jobs, "_launch", interrupted)
    with pytest.raises(CommandFailed):
        ask(tree)
    monkeypatch.setattr(jobs, "_launch", tree.launch)
    # While a module has no file, nothing tells what depends on it: one that is built before it takes another run.
    assert "lnet" not in tree.modules and "lnet" not in names(ask(tree))
    assert names(ask(tree)) == ["gpfs"] and "lnet" in tree.modules


def test_a_module_that_was_removed_with_its_source_after_a_failed_build_is_no_longer_of_interest(tree: ModuleTree) -> None:
    replaced(tree)
    tree.failing.add("client/2")
    assert names(ask(tree)) == ["client", "gpfs"]
    for folder in ("var/lib/dkms/client", "usr/src/client-2"):
        shutil.rmtree(tree.root / folder)
    assert names(ask(tree)) == ["gpfs"]


def test_a_module_whose_source_has_gone_is_left_to_the_site(tree: ModuleTree) -> None:
    """Some packages leave the link in the tree of DKMS. To remove the module would leave nothing to build another from."""
    replaced(tree)
    shutil.rmtree(tree.root / "usr/src/client-2")
    done = ask(tree)
    assert names(done) == ["client", "gpfs"] and "client" in tree.modules
    assert not [argv for argv in tree.steps if "client" in argv]


@pytest.mark.parametrize("row", ['{"name": "x"}', '{"name": "x;y", "kernel": "6", "path": "x.ko", "source": "", "stack": "", "symbols": []}'])
def test_a_damaged_record_goes(tree: ModuleTree, row: str) -> None:
    """The look counts its entries: a node with one would have the module run each time."""
    write(tree, "/var/lib/rdma.ofed/third_party.json", '{"modules": [%s]}' % row)
    assert ask(tree)["changes"] == [] and not recorded(tree)


def test_what_something_else_has_rebuilt_is_left_alone(tree: ModuleTree) -> None:
    replaced(tree)
    tree.manage("lnet/1", lnet=["ib_register_client"])
    tree.manage("client/2", client=["lnet_call"])
    assert ask(tree)["changes"] == [] and tree.steps == []


def test_it_can_look_without_dkms(tree: ModuleTree) -> None:
    replaced(tree)
    assert names(ask(tree, dkms=False)) == ["client", "gpfs", "lnet"] and tree.steps == []


def test_a_look_without_dkms_writes_nothing_and_foresees_nothing(tree: ModuleTree) -> None:
    replaced(tree)
    with_stack(tree)
    foreseen = ask(tree, check=True, dkms=False)
    done = ask(tree, dkms=False)
    assert (foreseen["changes"], foreseen["pending"]) == (done["changes"], done["pending"]) and done["changes"] == []
    assert names(done) == ["client", "gpfs", "lnet"] and order(tree) == ""


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


STACK = "mlnx-ofed-kernel"
ORDER = "/etc/dkms/lnet.conf"


# From dkms 3.2.2 and 3.0.10.
NEW_DKMS = 'module=$m module_version=$v read_conf_or_die "${kernelver[0]}" "${arch[0]}" "$dkms_tree/$m/$v/source/dkms.conf"\n'
OLD_DKMS = 'read_conf_or_die "$k" "$a" "$dkms_tree/$m/$v/source/dkms.conf"\nmodule=$m module_version=$v read_conf_or_die "$1" "$2"\n'
HOOKS = ("/etc/kernel/header_postinst.d/00-rdma-ofed", "/etc/kernel/postinst.d/00-rdma-ofed")


def write(tree: ModuleTree, path: str, text: str) -> None:
    target = tree.root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def order(tree: ModuleTree) -> str:
    path = tree.root / ORDER.lstrip("/")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def with_stack(tree: ModuleTree) -> None:
    """Put the source of the stack under the management of DKMS."""
    folder = tree.root / "var/lib/dkms" / STACK / "23.10"
    folder.mkdir(parents=True)
    (folder / "source").symlink_to("/usr/src/%s-23.10" % STACK)
    write(tree, "/usr/sbin/dkms", NEW_DKMS)


def due(tree: ModuleTree) -> tuple[str, ...]:
    return order_of(read_configured(str(tree.root), KERNEL)).due


def test_for_a_new_kernel_dkms_builds_the_stack_first(tree: ModuleTree) -> None:
    assert due(tree) == ()
    with_stack(tree)
    assert due(tree) == ("/etc/dkms/client.conf", ORDER)
    foreseen = ask(tree, check=True)
    done = ask(tree)
    assert done["changes"] == foreseen["changes"] == ["create file /etc/dkms/client.conf", "create file %s" % ORDER]
    assert done["diff"] == foreseen["diff"] and 'BUILD_DEPENDS+=("%s")' % STACK in order(tree)
    assert due(tree) == () and ask(tree)["changes"] == ask(tree, check=True)["changes"] == []
    # The module goes, and its file with it.
    tree.remove("client/2")
    tree.save()
    assert due(tree) == ("/etc/dkms/client.conf",)
    assert ask(tree)["changes"] == ["remove file /etc/dkms/client.conf"] and due(tree) == ()


@pytest.mark.parametrize(("stack", "changes"), [("kept", 0), ("absent", 2)])
def test_the_order_goes_with_the_stack(tree: ModuleTree, stack: str, changes: int) -> None:
    with_stack(tree)
    ask(tree)
    foreseen = ask(tree, check=True, stack=stack)
    assert len(foreseen["changes"]) == changes
    if changes:
        shutil.rmtree(tree.root / "var/lib/dkms" / STACK)
        assert ask(tree)["changes"] == foreseen["changes"] and order(tree) == ""


@pytest.mark.parametrize(("system", "changes"), [("ID=debian\nVERSION_ID=12\n", 2), ("ID=rocky\nVERSION_ID=9.4\n", 0)])
def test_check_mode_knows_whether_a_first_stack_will_be_in_dkms(tree: ModuleTree, system: str, changes: int) -> None:
    (tree.root / "etc").mkdir()
    (tree.root / "etc/os-release").write_text(system, encoding="utf-8")
    write(tree, "/usr/sbin/dkms", NEW_DKMS)
    foreseen = ask(tree, check=True, stack="dkms")
    assert len(foreseen["changes"]) == changes
    with_stack(tree)
    if changes:
        assert ask(tree)["changes"] == foreseen["changes"]


@pytest.mark.parametrize("place", ["source", "/etc/dkms/lnet.conf", "/etc/dkms/lnet-1.conf"])
@pytest.mark.parametrize("line", ['BUILD_DEPENDS[0]="mlnx-ofed-kernel"', "BUILD_DEPENDS=(other mlnx-ofed-kernel)", "  BUILD_DEPENDS+=('mlnx-ofed-kernel')"])
def test_a_source_that_names_the_stack_itself_needs_no_file(tree: ModuleTree, place: str, line: str) -> None:
    with_stack(tree)
    code = tree.root / "var/lib/dkms/lnet/1/source"
    code.unlink()
    code.mkdir()
    path = code / "dkms.conf" if place == "source" else tree.root / place.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("PACKAGE_NAME=lnet\n%s\n" % line, encoding="utf-8")
    assert due(tree) == ("/etc/dkms/client.conf",)


def test_a_file_of_others_stays_and_is_named(tree: ModuleTree) -> None:
    with_stack(tree)
    path = tree.root / ORDER.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_text("MAKE[0]=own\n# BUILD_DEPENDS=mlnx-ofed-kernel\n", encoding="utf-8")
    done = ask(tree)
    assert done["changes"] == ["create file /etc/dkms/client.conf"] and order(tree).startswith("MAKE[0]=own")
    assert [ORDER in reason and 'BUILD_DEPENDS+=("%s")' % STACK in reason for reason in done["reasons"]] == [True]
    assert due(tree) == ()


def test_an_old_dkms_has_scripts_that_run_before_its_own(tree: ModuleTree) -> None:
    with_stack(tree)
    write(tree, "/usr/sbin/dkms", OLD_DKMS)
    # Without scripts of DKMS, nothing builds for a new kernel.
    assert due(tree) == ()
    for folder in ("postinst.d", "header_postinst.d"):
        write(tree, "/etc/kernel/%s/dkms" % folder, "")
    assert due(tree) == HOOKS
    foreseen = ask(tree, check=True)
    done = ask(tree)
    assert done["changes"] == foreseen["changes"] == ["create file %s" % path for path in HOOKS]
    for path in HOOKS:
        script = tree.root / path.lstrip("/")
        assert script.stat().st_mode & 0o777 == 0o755
        text = script.read_text(encoding="utf-8")
        assert text.startswith("#!/bin/sh\n# Managed by ") and 'dkms install -m %s -v "${version##*/}" -k "$kernel" || true' % STACK in text
        subprocess.run(["sh", "-n", str(script)], check=True)
    assert due(tree) == () and ask(tree)["changes"] == []
    # An update of dkms needs the files, and no scripts.
    write(tree, "/usr/sbin/dkms", NEW_DKMS)
    assert due(tree) == ("/etc/dkms/client.conf", ORDER, *HOOKS)
    ask(tree)
    assert due(tree) == () and not (tree.root / HOOKS[0].lstrip("/")).exists()


@pytest.mark.parametrize(("arguments", "built"), [(["6.9"], "6.9"), (["add", "6.9", "/boot"], "6.9"), (["remove", "6.9"], ""), (["6.8"], "")])
def test_the_script_builds_the_stack_for_the_kernel_that_is_added(tree: ModuleTree, tmp_path: pathlib.Path, arguments: list[str], built: str) -> None:
    with_stack(tree)
    write(tree, "/usr/sbin/dkms", OLD_DKMS)
    write(tree, "/usr/lib/kernel/install.d/40-dkms.install", "")
    ask(tree)
    script = (tree.root / "etc/kernel/install.d/00-rdma-ofed.install").read_text(encoding="utf-8")
    for place in ("/lib/modules/", "/var/lib/dkms/"):
        script = script.replace(place, str(tree.root) + place)
    # The headers of the other kernel are missing.
    (tree.root / "lib/modules/6.9/build/include").mkdir(parents=True)
    write(tree, "/bin/dkms", '#!/bin/sh\necho "$@" >>%s/called\nexit 1\n' % tmp_path)
    (tree.root / "bin/dkms").chmod(0o755)
    subprocess.run(["sh", "-c", script, "hook", *arguments], env={"PATH": "%s/bin:%s" % (tree.root, os.defpath)}, check=True)
    called = (tmp_path / "called").read_text(encoding="utf-8") if (tmp_path / "called").exists() else ""
    assert called == ("install -m %s -v 23.10 -k %s\n" % (STACK, built) if built else "")
