# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole module on a simulated node with two kernels, one of which was installed after the driver."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _converge, _plan
from ansible_collections.rdma.ofed.plugins.modules import kernel_policy
from support.kernel_node import INBOX, MENU, NEW, OLD, Node, bundle
from support.module_files import FakeModule
from support.module_results import pending_words

OPTIONS: dict[str, t.Any] = {"timeout": 1, "bundle": None, "bundle_on": "node", "bundle_checksum": None, "poll": 0, "attach": "", "staged": "", "digest": ""}


class Module(FakeModule):
    defaults = OPTIONS


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    found = Node(tmp_path)
    monkeypatch.setattr(jobs, "_launch", found.launch)
    return found


def ask(node: Node, policy: str = "build", check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    module: t.Any = Module(check, policy=policy, **options)
    return _converge.converge(module, node, OLD, root=str(node.root))


def converge(node: Node, policy: str, **options: t.Any) -> list[str]:
    foretold = ask(node, policy, check=True, **options)["changes"]
    assert node.steps == []
    assert ask(node, policy, **options)["changes"] == foretold
    assert ask(node, policy, **options)["changes"] == []
    return list(foretold)


def test_build(node: Node) -> None:
    assert converge(node, "build") == ["kernel %s: without the driver -> driver built by DKMS" % NEW]
    assert node.steps == [["dkms", "autoinstall", "-k", NEW]]
    assert ask(node, "refuse")["kernel"] == NEW


def test_headers_come_first_and_the_image_last(node: Node) -> None:
    (node.root / "lib/modules" / NEW / "build").rmdir()
    node.image = True
    node.write("boot/initrd.img-" + NEW, "")
    converge(node, "build")
    assert [argv[0] for argv in node.steps] == ["apt-get", "dkms", "update-initramfs"]
    assert node.steps[0][-1] == "linux-headers-" + NEW


def test_headers_elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for manager in ("dnf", "zypper"):
        node = Node(tmp_path / manager, manager)
        monkeypatch.setattr(jobs, "_launch", node.launch)
        (node.root / "lib/modules" / NEW / "build").rmdir()
        if manager == "dnf":
            converge(node, "build")
            assert node.steps[0][-1] == "kernel-devel-" + NEW
        else:
            with pytest.raises(Refused, match="kernel-default-devel"):
                ask(node)


def test_a_build_that_fails(node: Node) -> None:
    node.fault = (10, "==> one: true\nfine\n\n==> two: dkms\nError! Bad return status for module build on kernel")
    with pytest.raises(CommandFailed, match="building the driver for kernel %s failed, exit status 10: Error! Bad return" % NEW):
        ask(node)


def test_a_build_that_says_nothing_and_does_nothing(node: Node) -> None:
    node.perform = lambda argv: None  # type: ignore[method-assign]
    with pytest.raises(CommandFailed, match="would start with the driver of the distribution"):
        ask(node)


@pytest.mark.parametrize("policy", ["build", "pin", "refuse"])
@pytest.mark.parametrize("check", [True, False])
def test_nothing_to_build_from(node: Node, policy: str, check: bool) -> None:
    (node.dkms / "23.10/source").unlink()
    with pytest.raises(Refused, match="%s, which boots next .*boot %s next" % (NEW, OLD)):
        ask(node, policy, check)


def test_a_kernel_without_any_modules(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % "6.1.0-99-amd64")
    with pytest.raises(Refused, match="has no modules in /lib/modules"):
        ask(node)


def test_refuse(node: Node) -> None:
    with pytest.raises(Refused, match="would start with the driver of the distribution"):
        ask(node, "refuse")
    node.write("boot/grub/grub.cfg", MENU % OLD)
    assert ask(node, "refuse")["changes"] == []


def test_pin(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % OLD)
    assert converge(node, "pin") == ["package %s: free -> held" % name for name in ("linux-headers-" + OLD, "linux-image-" + OLD, "linux-image-amd64")]
    assert node.steps[0][:2] == ["apt-mark", "hold"]


@pytest.mark.parametrize(("manager", "names"), [("dnf", ["kernel", "kernel-core", "kernel-modules"]), ("zypper", ["kernel-default"])])
def test_pin_with_rpm(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, manager: str, names: list[str]) -> None:
    node = Node(tmp_path, manager)
    monkeypatch.setattr(jobs, "_launch", node.launch)
    node.write("boot/grub/grub.cfg", MENU % OLD)
    if manager == "dnf":
        with pytest.raises(Unsupported, match="versionlock"):
            ask(node, "pin")
        node.write("etc/dnf/plugins/versionlock.conf", "[main]\n")
    assert converge(node, "pin") == ["package %s: free -> held" % name for name in names]


@pytest.mark.parametrize(
    ("flavour", "release", "package"),
    [
        ("kernel-uek", "5.15.0-305.176.4.el9uek.x86_64", "kernel-uek-devel-5.15.0-305.176.4.el9uek.x86_64"),
        ("kernel-64k", "5.14.0-503.11.1.el9_5.aarch64+64k", "kernel-64k-devel-5.14.0-503.11.1.el9_5.aarch64"),
        ("kernel-rt", "5.14.0-503.11.1.el9_5.x86_64+rt", "kernel-rt-devel-5.14.0-503.11.1.el9_5.x86_64"),
        ("kernel6.12", "6.12.22-27.96.amzn2023.x86_64", "kernel6.12-devel-6.12.22-27.96.amzn2023.x86_64"),
    ],
)
def test_kernels_of_other_flavours(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, *, flavour: str, release: str, package: str) -> None:
    node = Node(tmp_path, "dnf")
    monkeypatch.setattr(jobs, "_launch", node.launch)
    node.flavour = flavour
    node.write("boot/grub/grub.cfg", MENU % release)
    node.write("lib/modules/%s/modules.dep" % release, INBOX)
    ask(node, "build")
    assert node.steps[0][-1] == package
    node.write("etc/dnf/plugins/versionlock.conf", "[main]\n")
    node.steps.clear()
    parts = ("", "-core", "-modules", "-modules-core")
    assert converge(node, "pin") == ["package %s%s: free -> held" % (flavour, part) for part in parts]


def test_a_kernel_that_no_package_has_is_named(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % OLD)
    node.compiled = {OLD}
    assert ask(node, "pin", check=True)["reasons"] == [_plan.NO_PACKAGE % OLD] == ask(node, "pin")["reasons"] == ask(node, "pin")["reasons"]
    assert "linux-image-amd64" in node.held


def test_a_hold_that_the_package_manager_did_not_keep_is_no_success(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % OLD)
    node.perform = lambda argv: None  # type: ignore[method-assign]
    with pytest.raises(CommandFailed, match="linux-headers-%s: free -> held" % OLD):
        ask(node, "pin")


def test_no_driver_at_all(node: Node) -> None:
    (node.dkms / "23.10/source").unlink()
    node.write("lib/modules/%s/modules.dep" % OLD, INBOX)
    for policy in kernel_policy.OPTIONS["policy"]["choices"]:
        assert ask(node, policy)["changes"] == []


def test_unknown_next_kernel(node: Node) -> None:
    (node.root / "boot/grub/grub.cfg").unlink()
    assert ask(node, "refuse")["kernel"] == OLD


def test_secure_boot(node: Node) -> None:
    path = node.root / "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x06\0\0\0\x01")
    node.write("boot/grub/grub.cfg", MENU % OLD)
    with pytest.raises(Refused, match="mokutil --import"):
        ask(node, "refuse")
    # Signed does not mean trusted: dkms signs with its own key, which the kernel does not know until it is enrolled.
    node.signer = "DKMS module signing key"
    with pytest.raises(Refused, match='signed by "DKMS module signing key", which this kernel does not trust'):
        ask(node, "refuse")
    node.write("proc/keys", "0a5bd1a3 I------     1 perm 1f030000     0     0 asymmetri DKMS module signing key: 6ccece7e4c: X509.rsa 7e4c6c0d []\n")
    assert ask(node, "refuse")["changes"] == []


def test_unknown_distribution(node: Node) -> None:
    node.write("etc/os-release", "ID=plan9\n")
    with pytest.raises(Unsupported):
        ask(node)


def test_ready_made_modules_from_the_bundle(node: Node) -> None:
    node.ready_made()
    tree = bundle(node)
    node.write("var/lib/rdma.ofed/stack.json", json.dumps({"version": "23.10-0.5.5.0", "installer_options": ["--distro debian12.1", "--without-dkms"]}))
    node.tools -= {"gcc", "make"}
    (node.root / "lib/modules" / NEW / "build").rmdir()
    changes = converge(node, "build", bundle=tree)
    assert changes == ["kernel %s: without the driver -> driver built by mlnx_add_kernel_support.sh" % NEW, "kernel %s: with the driver -> without" % OLD]
    assert [argv[0].rpartition("/")[2] for argv in node.steps[:3]] == ["grep", "apt-get", "mlnx_add_kernel_support.sh"]
    assert node.steps[1][-3:] == ["linux-headers-" + NEW, "gcc", "make"]
    assert node.steps[2][1:3] == ["--mlnx_ofed", tree]
    assert node.steps[2][node.steps[2].index("--kernel") + 1] == NEW
    assert node.steps[2][-2:] == ["--distro", "debian12.1"]
    assert "--kmp" not in node.steps[2]
    assert node.steps[3][2:] == ["install", tree, "deb", NEW, _plan.WORK, "iser-modules", "mlnx-ofed-kernel-modules"]
    assert node.steps[4][-1] == _plan.WORK


def test_the_kernel_that_runs_is_left_with_what_it_has_in_memory(node: Node) -> None:
    node.ready_made()
    answer = ask(node, bundle=bundle(node))
    assert pending_words(answer) == ["kernel %s: with the driver -> without (needs reboot)" % OLD]
    assert answer["reboot_required"] is True


def test_rpm_has_packages_for_several_kernels(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "dnf")
    monkeypatch.setattr(jobs, "_launch", node.launch)
    node.ready_made()
    node.packages = {"mlnx-ofa_kernel-modules": "23.10-OFED.23.10.0.5.5.1.kver.%s" % OLD.replace("-", "_")}
    assert len(converge(node, "build", bundle=bundle(node))) == 1
    assert ask(node, bundle=bundle(node))["reboot_required"] is False
    node = Node(tmp_path / "kmp", "dnf")
    monkeypatch.setattr(jobs, "_launch", node.launch)
    node.ready_made()
    node.packages = {"kmod-mlnx-ofa_kernel": "23.10-OFED.23.10.0.5.5.1.rhel9u4"}
    converge(node, "build", bundle=bundle(node))
    assert node.steps[1][-1] == "--kmp"


def test_ready_made_modules_without_a_bundle(node: Node) -> None:
    node.ready_made()
    for check in (True, False):
        with pytest.raises(Refused, match=r"declare ofed_bundle, the bundle of MLNX_OFED 23\.10-0\.5\.5\.0, .*boot %s next" % OLD):
            ask(node, check=check)
    with pytest.raises(Refused, match=r"has the release 24\.10-0\.7\.0\.0, and 23\.10-0\.5\.5\.0 is wanted"):
        ask(node, bundle=bundle(node, "24.10-0.7.0.0"))
    with pytest.raises(InvalidInput, match="ofed_bundle_checksum"):
        ask(node, bundle="https://mirror.example.org/MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz")
    assert node.steps == []


def test_a_bundle_from_elsewhere(node: Node) -> None:
    node.ready_made()
    name, checksum = "/MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz", "sha256:" + "0" * 64
    assert ask(node, bundle="/srv" + name, bundle_on="controller")["bundle_needed"] == "checksum"
    assert ask(node, bundle="/srv" + name, bundle_on="controller", digest=checksum)["bundle_needed"] == "transfer"
    changes = ask(node, check=True, bundle="/srv" + name, bundle_on="controller")["changes"]
    assert ask(node, bundle="https://mirror.example.org" + name, bundle_checksum=checksum)["changes"] == changes
    assert [argv[1].rpartition("/")[2] if "python" in argv[0] else argv[0] for argv in node.steps[:5]] == ["download.py", "tar", "mv", "rm", "grep"]
    assert not (node.root / "var/lib/rdma.ofed/bundles").exists()


def test_doca_builds_with_a_tool_of_its_own(node: Node) -> None:
    node.ready_made("doca")
    changes = converge(node, "build")
    assert changes[0] == "kernel %s: without the driver -> driver built by doca-kernel-support" % NEW
    assert node.steps[0][-1] == "doca-extra"
    assert node.steps[1][2:] == ["doca", _plan.DOCA_TOOL, NEW, _plan.WORK]
    assert node.steps[2][2:5] == ["install", "", "deb"]
    assert len(node.steps) == 4


def test_what_the_package_manager_does_not_have(node: Node) -> None:
    (node.root / "lib/modules" / NEW / "build").rmdir()
    node.offered = False
    words = "building the driver needs linux-headers-%s, which apt can't install" % NEW
    assert ask(node, check=True)["reasons"] == [words + " from the current package lists; the run refreshes them"]
    assert node.refreshed == 0
    with pytest.raises(Refused, match=words + ".*Nothing was changed"):
        ask(node)
    assert (node.refreshed, node.steps) == (1, [])


@pytest.mark.parametrize(("manager", "headers"), [("dnf", "kernel-devel-" + NEW), ("zypper", "")])
def test_what_dnf_and_zypper_do_not_have(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, manager: str, headers: str) -> None:
    node = Node(tmp_path, manager)
    node.ready_made()
    node.packages = {"mlnx-ofa_kernel-modules": "23.10-OFED.23.10.0.5.5.1.kver.x"}
    node.tools -= {"gcc"}
    node.offered = False
    if headers:
        (node.root / "lib/modules" / NEW / "build").rmdir()
    for check in (True, False):
        with pytest.raises(Refused, match=", ".join(filter(None, (headers, "gcc"))) + ", which %s can't install" % manager):
            ask(node, check=check, bundle=bundle(node))


def test_it_is_followed_while_it_runs(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    memo = {"policy": "build", "target": NEW, "bundle": False, "changes": [["kernel", "x", "", "a", "b", "", ""]], "last": "building"}
    state = jobs.State("a", True, "building", 1, 2, 61.5, False, 0, "", "/log", memo)
    monkeypatch.setattr(jobs, "read_job", lambda name, root="/": state)
    answer = ask(node)
    assert (answer["job"]["running"], answer["job"]["elapsed"], answer["changes"], answer["kernel"]) == (True, 61, ["kernel x: a -> b"], NEW)
    state = state._replace(running=False)
    with pytest.raises(CommandFailed, match=r"building was interrupted\. The next run starts it again"):
        ask(node, attach="a")
    state = state._replace(finished=True, failed="building", rc=124)
    with pytest.raises(CommandFailed, match="building failed, it did not finish in time; raise ofed_timeout"):
        ask(node, attach="a")
    state = state._replace(failed="", rc=0)
    node.built(NEW)
    assert ask(node, attach="a")["changes"] == ["kernel x: a -> b"]


def test_a_job_of_another_policy_is_only_waited_for(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % OLD)
    job = ask(node, "pin")["job"]["id"]
    node.write("boot/grub/grub.cfg", MENU % NEW)
    assert ask(node, "build", attach=job)["changes"] == ["kernel %s: without the driver -> driver built by DKMS" % NEW]


def test_main(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_policy, "converge", lambda *_arguments: {"changed": False, "changes": []})
    with patch_module_args({}), pytest.raises(SystemExit):
        kernel_policy.main()
    assert json.loads(capsys.readouterr().out)["changes"] == []
