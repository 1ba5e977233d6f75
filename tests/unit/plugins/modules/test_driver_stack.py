# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole module on a simulated node: from any stack to any other, and obstacles on the way."""

from __future__ import annotations

import collections
import hashlib
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _converge, _look
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import parse_name
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty._found import Built
from ansible_collections.rdma.ofed.plugins.module_utils._thirdparty._look import read_record
from ansible_collections.rdma.ofed.plugins.modules import driver_stack
from support.made_bundles import make_archive, make_bundle
from support.module_results import pending_words
from support.stack_node import BUNDLE, DEFAULTS, INBOX, OLD_BUNDLE, Module, Node, with_bundles

_DISK = collections.namedtuple("_DISK", "total used free")
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----\n"


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return with_bundles(tmp_path, monkeypatch)


def ask(node: Node, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    # These tests check how a stack is replaced, not whether it may be.
    return _converge.converge(Module(check, **{"allow_upgrade": True, **params}), node, str(node.root))  # type: ignore[arg-type]


def installer(node: Node, name: str = BUNDLE, **params: t.Any) -> dict[str, t.Any]:
    return {"bundle": str(node.root / name), **params}


def wishes(node: Node) -> dict[str, dict[str, t.Any]]:
    repository = {"repository": "https://mirror.example.org/x", "repository_key": KEY}
    return {
        "inbox": {"state": "absent"},
        "old": installer(node, OLD_BUNDLE),
        "new": installer(node),
        "repository": {"method": "repository", "version": "23.10-0.5.5.0", "packages": "hpc", **repository},
        "doca": {"source": "doca", "version": "2.9.1", **repository},
        "doca3": {"source": "doca", "version": "3.0.0", "packages": "doca-all", **repository},
    }


def offers(name: str) -> dict[str, str]:
    return {
        "repository": {"mlnx-ofed-hpc": "23.10-0.5.5.0"},
        "doca": {"doca-ofed": "2.9.1-0.1.4"},
        "doca3": {"doca-all": "3.0.0-0.0.1"},
    }.get(name, {})


def converge(node: Node, name: str) -> list[str]:
    """Run check mode, the run, and a second run. Returns the result of the first run."""
    node.offers = offers(name)
    wish = wishes(node)[name]
    before = dict(node.packages)
    foretold = ask(node, check=True, **wish)
    assert node.packages == before
    answer = ask(node, **wish)
    assert answer["changes"] == foretold["changes"]
    for key in ("changed", "packages_changed", "pending"):
        assert answer[key] == foretold[key]
    assert answer["stack"]["replaced"] == foretold["stack"]["replaced"]
    assert answer["stack"]["before"] == foretold["stack"]["before"]
    again = ask(node, **wish)
    assert again["changes"] == []
    assert again["changed"] is False
    assert ask(node, check=True, **wish)["changes"] == []
    return list(answer["changes"])


STACKS = ("inbox", "old", "new", "repository", "doca", "doca3")


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(STACKS, 2)))
def test_from_any_stack_to_any_other(node: Node, first: str, second: str) -> None:
    converge(node, first)
    changes = converge(node, second)
    assert changes
    kinds = {"inbox": "none", "old": "mlnx_ofed", "new": "mlnx_ofed", "repository": "mlnx_ofed", "doca": "doca", "doca3": "doca"}
    assert ask(node, **wishes(node)[second])["stack"]["after"]["kind"] == kinds[second]


PROTECTED = "protected packages: none -> mlnx_ofed 23.10-0.5.5.0"
INSTALLED = ["stack: inbox 44.0 -> mlnx_ofed 23.10-0.5.5.0", PROTECTED]


def test_a_first_installation_in_words(node: Node) -> None:
    assert ask(node, check=True, **wishes(node)["new"])["stack"] == {
        "before": {"kind": "inbox", "version": "44.0"},
        "after": {"kind": "mlnx_ofed", "version": "23.10-0.5.5.0"},
        "replaced": True,
        "withheld": False,
    }
    assert converge(node, "new") == INSTALLED
    stages = [argv[0] if "/" not in argv[0] else argv[0].rsplit("/", 1)[1] for argv in node.steps]
    assert stages == ["grep", "mlnxofedinstall"]
    assert node.steps[1][1:] == ["--all", "--distro", "debian12.1", "--without-fw-update", "--force"]


NEW_OPTION = "    --brand-new <how>    Do it\n"


@pytest.mark.parametrize("packed", [False, True])
def test_the_bundle_is_asked_for_what_the_tables_lack(node: Node, packed: bool) -> None:
    path = node.root / (BUNDLE + ".tgz")
    make_archive(path, "23.10-0.5.5.0")
    wish = {"bundle": str(path if packed else node.root / BUNDLE), "packages": "hpc", "installer_options": ["--brand-new fast"]}
    # The job checks an archive after it has unpacked it and before it changes the system.
    with pytest.raises(CommandFailed if packed else InvalidInput, match="ofed_installer_options is '--brand-new'"):
        ask(node, **wish)
    assert not any("mlnxofedinstall" in argv[0] for argv in node.steps)
    node.help = NEW_OPTION
    assert ask(node, **wish)["changed"]
    (argv,) = (argv for argv in node.steps if argv[0].endswith("mlnxofedinstall"))
    assert argv[1:4] == ["--hpc", "--brand-new", "fast"]


def test_what_check_mode_refuses_of_an_unpacked_bundle(node: Node) -> None:
    with pytest.raises(InvalidInput, match="exit status 22"):
        ask(node, check=True, **installer(node, installer_options=["--bogus"]))
    with pytest.raises(InvalidInput, match="as the name of a package"):
        ask(node, check=True, **installer(node, installer_options=["--with-brand-new"]))
    with pytest.raises(InvalidInput, match="ofed_packages is 'xlio'"):
        ask(node, check=True, **{**installer(node), "bundle": str(make_bundle(node.root / "old", "5.0-2.1.8.0")), "version": "5.0-2.1.8.0", "packages": "xlio"})


def test_an_installer_that_may_not_be_executed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    (node.root / BUNDLE / "mlnxofedinstall").chmod(0o644)
    for check in (True, False):
        with pytest.raises(Refused, match=r"its mode is 0644\. Give the bundle as \.tgz, or copy the folder again"):
            ask(node, check=check, **installer(node))
    mounted = os.statvfs(node.root)
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result((*mounted[:8], mounted.f_flag | os.ST_NOEXEC, mounted[9])))
    with pytest.raises(Refused, match="mounted with noexec"):
        ask(node, **installer(node))
    assert node.steps == []


def test_a_container_without_the_headers_of_its_kernel_gets_user_space_alone(node: Node) -> None:
    (node.root / ".dockerenv").touch()
    node.mirror = {"dpkg": "1.21"}
    repository = {"method": "repository", "version": "23.10-0.5.5.0", "repository": "https://mirror.example.org/x", "repository_key": KEY}
    for wish in (installer(node, packages="basic"), {**repository, "packages": "basic"}):
        for check in (True, False):
            with pytest.raises(Refused, match=r"linux-headers-.* Set ofed_packages: basic-user-only"):
                ask(node, check=check, **wish)
    assert node.steps == []
    assert ask(node, check=True, **installer(node, packages="basic", installer_options=["--without-dkms"]))["changed"]
    # Without package lists, or with a package for the kernel, nothing is known to be missing.
    for node.mirror in ({}, {"dpkg": "1.21", "linux-headers-" + os.uname().release: "6.1"}):
        assert ask(node, check=True, **installer(node, packages="basic"))["changed"]
    answer = ask(node, **installer(node, packages="basic-user-only"))
    assert answer["pending"] == []
    assert node.steps[-1][1:3] == ["--basic", "--user-space-only"]
    node.offers = {"mlnx-ofed-basic-user-only": "23.10-0.5.5.0"}
    assert ask(node, **repository, packages="basic-user-only")["changed"]


def test_the_way_back_keeps_what_others_need(node: Node) -> None:
    converge(node, "doca")
    node.dependants = {"libpcap0.8": "1.10"}
    node.save()
    wish = {"state": "absent", "keep": ["rdma-core", "bash"]}
    assert ask(node, **wish)["changes"][-1] == "stack: doca 2.9.1 -> inbox"
    assert node.packages == {"libibverbs1": INBOX["libibverbs1"], "rdma-core": INBOX["rdma-core"]}
    assert ask(node, **wish)["changes"] == []
    assert node.dependants
    assert not (node.root / "etc/apt/sources.list.d/rdma-ofed.sources").exists()


@pytest.mark.parametrize("tools", [("update-initramfs", "lsinitramfs"), ("dracut", "lsinitrd")])
def test_images_with_the_former_modules_are_rebuilt_both_ways(node: Node, tools: tuple[str, str]) -> None:
    """They would be loaded before the installed modules."""
    release = "6.1.0-50-amd64"
    for path in ("lib/modules/%s/modules.dep" % release, "boot/initrd.img-" + release):
        (node.root / path).parent.mkdir(parents=True, exist_ok=True)
        (node.root / path).write_text("")
    node.tools, node.listing = tools, "usr/lib/modules/%s/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.xz\n" % release
    expected = "initramfs /boot/initrd.img-%s: contains modules of the former stack -> rebuilt" % release
    for name in ("new", "doca", "inbox"):
        node.steps.clear()
        assert expected in converge(node, name)
        assert node.steps[-1][0] == tools[0] and release in node.steps[-1]
    # An image without such modules is left alone.
    node.listing = "usr/lib/modules/%s/kernel/fs/ext4/ext4.ko\n" % release
    assert expected not in converge(node, "new")


def test_an_image_that_could_not_be_rebuilt_is_named(node: Node) -> None:
    release = "6.1.0-50-amd64"
    for path in ("lib/modules/%s/modules.dep" % release, "boot/initrd.img-" + release):
        (node.root / path).parent.mkdir(parents=True, exist_ok=True)
        (node.root / path).write_text("")
    node.tools = ("update-initramfs",)
    node.faults["update-initramfs"] = (1, "==> x: y\nno space left\n")
    with pytest.raises(CommandFailed, match=r"rebuilding /boot/initrd.img-%s failed: .*rebuild the image before the next boot" % release):
        ask(node, **wishes(node)["new"])


def test_packages_are_kept_by_their_purpose(node: Node) -> None:
    converge(node, "doca")
    assert ask(node, state="absent", keep=["bash"], keep_purposes=["core"])["changes"][-1] == "stack: doca 2.9.1 -> inbox"
    assert {"rdma-core", "ibverbs-providers"} <= set(node.packages)


def test_foreign_packages_end_the_run_before_anything_is_changed(node: Node) -> None:
    node.dependants = {"libpcap0.8": "1.10", "tcpdump": "4.99"}
    node.save()
    for check in (True, False):
        with pytest.raises(Refused, match=r"libpcap0\.8, tcpdump"):
            ask(node, check, **installer(node))
    with pytest.raises(Refused, match=r": tcpdump\."):
        ask(node, **installer(node, allow_removal=["libpcap0.8"]))
    assert node.steps == []
    wish = installer(node, allow_removal=["tcpdump", "libpcap0.8"])
    foretold = ask(node, True, **wish)["changes"]
    assert foretold[2:] == ["package libpcap0.8: 1.10 -> none", "package tcpdump: 4.99 -> none"]
    assert ask(node, **wish)["changes"] == foretold
    assert node.steps[-1][-1] == "--force"
    assert ask(node, **wish)["changes"] == []


@pytest.mark.parametrize("code", [1, 2, 22, 28, 171, 172, 173, 174])
def test_a_failing_installer_is_explained_and_another_run_converges(node: Node, code: int) -> None:
    node.faults = {"mlnxofedinstall": (code, "Logs dir: /tmp/MLNX_OFED_LINUX.99.logs\n")}
    with pytest.raises(CommandFailed, match=r"exit status %d: .* Next: .*MLNX_OFED_LINUX\.99\.logs" % code) as failed:
        ask(node, **installer(node))
    assert failed.value.details["rc"] == code
    node.faults = {}
    assert converge(node, "new")


def test_an_upgrade_that_failed_is_done_again_even_if_the_release_looks_right(node: Node) -> None:
    converge(node, "new")
    node.ofed_info = "OFED-internal-5.8-1.0.1"
    node.faults = {"mlnxofedinstall": (1, "")}
    with pytest.raises(CommandFailed):
        ask(node, **installer(node))
    node.faults, node.ofed_info = {}, "OFED-internal-23.10-0.5.5"
    stack = "stack: mlnx_ofed 23.10-0.5.5.0, failed while installing MLNX_OFED 23.10-0.5.5.0 -> mlnx_ofed 23.10-0.5.5.0"
    # The packages were no longer protected when the installer started.
    assert converge(node, "new") == [stack, PROTECTED]


@pytest.mark.parametrize("stack", ["new", "repository", "doca"])
def test_killed_in_the_middle_another_run_mends_and_converges(node: Node, stack: str) -> None:
    node.offers = offers(stack)
    node.faults = {"mlnxofedinstall": (-9, ""), "mlnx-ofed-hpc": (-9, ""), "doca-ofed": (-9, "")}
    with pytest.raises(CommandFailed, match="was interrupted"):
        ask(node, **wishes(node)[stack])
    node.faults = {}
    node.packages["mlnx-tools"] = "23.10-0.2310055"
    node.broken = {"mlnx-tools": "half-configured", "bash": "installed"}
    node.save()
    changes = converge(node, stack)
    assert "package mlnx-tools: half-configured -> installed" in changes
    assert ["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"] in node.steps


def test_another_selection_runs_the_installer_again(node: Node) -> None:
    converge(node, "new")
    wish = installer(node, packages="hpc", installer_options=["--without-dkms"])
    answer = ask(node, **wish)
    assert answer["changes"] == ["stack packages: all -> hpc", "stack installer options: none -> --without-dkms"]
    assert (answer["packages_changed"], answer["stack"]["replaced"]) == (True, False)
    assert ask(node, **wish)["changes"] == []
    (node.root / "var/lib/rdma.ofed/stack.json").unlink()
    assert ask(node, **installer(node))["changes"] == []


def test_another_selection_of_user_space_needs_no_other_driver(node: Node) -> None:
    ask(node, **installer(node, packages="user-space-only"))
    answer = ask(node, **installer(node, packages="user-space-only", installer_options=["--without-opensm"]))
    assert (answer["changes"], answer["pending"]) == (["stack installer options: none -> --without-opensm"], [])
    assert ask(node, **installer(node, packages="hpc"))["pending"]


def test_an_installer_that_says_all_is_well_is_not_believed(node: Node) -> None:
    node.faults = {"mlnxofedinstall": (0, "")}
    with pytest.raises(CommandFailed, match="the node is still not as declared"):
        ask(node, **installer(node))


def test_options_reach_the_installer(node: Node) -> None:
    ask(node, **installer(node, packages="user-space-only", firmware_update=True, installer_options=["--tmpdir /scratch", "--without-opensm"]))
    assert node.steps[-1][1:] == ["--all", "--user-space-only", "--tmpdir", "/scratch", "--without-opensm", "--distro", "debian12.1", "--force"]


def test_packages_of_upper_layer_protocols_come_along_and_later(node: Node) -> None:
    node.offers = {**offers("doca"), **dict.fromkeys(("mlnx-nvme-dkms", "nvme-cli", "ibacm"), offers("doca")["doca-ofed"])}
    wish = {**wishes(node)["doca"], "ulps": ["nvmf"]}
    foreseen = ask(node, check=True, **wish)["changes"]
    assert foreseen[-3:-1] == ["package mlnx-nvme-dkms: none -> installed", "package nvme-cli: none -> installed"]
    assert ask(node, **wish)["changes"] == foreseen
    assert ask(node, **wish)["changed"] is False
    wish["ulps"] = ["ibacm", "nvmf"]
    assert ask(node, **wish)["changes"] == ["package ibacm: none -> installed"]
    wish["ulps"] = []
    assert ask(node, **wish)["changed"] is False, "packages stay"
    with pytest.raises(InvalidInput, match="ofed_ulps is 'rds'"):
        ask(node, **{**wish, "ulps": ["rds"]})


def test_what_is_added_leaves_the_release_alone(node: Node) -> None:
    """The repository has a newer release, and no version is declared."""
    node.offers = {**offers("doca"), "ibacm": "2504mlnx1-1"}
    wish = {**wishes(node)["doca"], "ulps": []}
    ask(node, **wish)
    node.offers["doca-ofed"] = "3.0.0-0.0.1"
    wish.update(version=None, ulps=["ibacm"])
    node.pulled = {"libibverbs1": "2504mlnx1-1"}
    before = dict(node.packages)
    for check in (True, False):
        with pytest.raises(Refused, match=r"libibverbs1 \(%s is installed, 2504mlnx1-1 would be\)" % before["libibverbs1"]):
            ask(node, check, **wish)
    assert node.packages == before
    node.pulled = {}
    ask(node, **wish)
    (installed,) = (step for step in node.steps if step[-1] == "ibacm")
    assert not [word for word in installed if word.startswith("doca")]


def archive(node: Node, name: str = BUNDLE) -> tuple[pathlib.Path, str]:
    """Return a bundle as a file."""
    path = node.root / (name + ".tgz")
    make_archive(path, parse_name(name).version)
    return path, "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def kept(node: Node) -> list[str]:
    folder = node.root / "var/lib/rdma.ofed/bundles"
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def test_an_archive_is_unpacked_checked_and_its_folder_named_for_cleaning(node: Node) -> None:
    path, checksum = archive(node)
    assert ask(node, bundle=str(path), bundle_checksum=checksum)["changes"]
    assert [argv[0] if "install" not in argv[0] else "installer" for argv in node.steps] == ["tar", "mv", "rm", "grep", "installer", "rm"]
    assert node.steps[-1][:3] == ["rm", "-rf", "--"]
    assert node.steps[-1][3].startswith(str(node.root / "var/lib/rdma.ofed/bundles/MLNX_OFED"))
    assert str(path) not in node.steps[-1]
    assert (kept(node), path.exists()) == ([], True)


def test_another_file_is_refused_before_it_is_unpacked(node: Node) -> None:
    path, checksum = archive(node)
    path.write_text("something else", encoding="utf-8")
    with pytest.raises(Refused, match=r"its sha256 is .* instead of .* nothing was unpacked"):
        ask(node, bundle=str(path), bundle_checksum=checksum)
    assert node.steps == []
    with pytest.raises(Refused, match="there is no file"):
        ask(node, bundle="/nowhere/%s.tgz" % BUNDLE)


def test_an_archive_of_another_release_is_found_before_the_installer_runs(node: Node) -> None:
    path, _checksum = archive(node)
    make_archive(path, "5.8-1.0.1.1")
    words = r"has the release 5\.8-1\.0\.1\.1, and 23\.10-0\.5\.5\.0 is wanted\. Set ofed_version: 5\.8-1\.0\.1\.1, or give the bundle of 23\.10-0\.5\.5\.0"
    for check in (True, False):
        with pytest.raises(Refused, match=re.escape(str(path)) + " " + words):
            ask(node, check, bundle=str(path))
    assert (node.steps, node.packages) == ([], INBOX)
    # A remote bundle can only be checked after the download.
    node.served = path.read_bytes()
    checksum = "sha256:" + hashlib.sha256(node.served).hexdigest()
    with pytest.raises(CommandFailed, match=r"https://mirror\.example\.org/MLNX\S+ " + words):
        ask(node, bundle="https://mirror.example.org/%s.tgz" % BUNDLE, bundle_checksum=checksum)
    assert node.packages == INBOX


def test_what_is_no_archive_is_refused_before_anything_is_done(node: Node) -> None:
    path = node.root / (BUNDLE + ".tgz")
    whole = archive(node)[0].read_bytes()
    for content in (b"", b"a page of an intranet", whole[: len(whole) // 2]):
        path.write_bytes(content)
        for check in (True, False):
            with pytest.raises(Refused, match=r"not a readable \.tgz or \.tar: .* Copy or download it again"):
                ask(node, check, bundle=str(path))
    assert node.steps == []


def test_a_bundle_is_downloaded_only_to_be_installed(node: Node) -> None:
    path, checksum = archive(node)
    wish = {"bundle": "https://mirror.example.org/%s.tgz" % BUNDLE, "bundle_checksum": checksum}
    assert ask(node, True, **wish)["changes"]
    assert (node.asked, kept(node)) == ([], [])
    node.served = b"not it"
    with pytest.raises(CommandFailed, match=r"https://mirror.*its sha256 is .* instead of %s\. Nothing was unpacked, no package was changed" % checksum[7:]):
        ask(node, **wish)
    assert [argv[1].rpartition("/")[2] for argv in node.steps if argv[0] != "rm"] == ["download.py"]
    assert not (node.root / "var/lib/rdma.ofed/bundles").exists()
    assert node.packages == INBOX
    node.served = path.read_bytes()
    answer = ask(node, **wish)
    assert answer["changes"] == INSTALLED
    assert ask(node, **wish)["changes"] == []
    assert len(node.asked) == 2
    assert (node.steps[-1][0], kept(node)) == ("rm", [])


def test_a_bundle_that_does_not_fit_is_refused_before_it_is_unpacked(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _checksum = archive(node)
    asked = []

    def little(folder: str) -> tuple[int, int, int]:
        asked.append(folder)
        return _DISK(1, 1, 0)

    monkeypatch.setattr(shutil, "disk_usage", little)
    for check in (True, False):
        with pytest.raises(Refused, match=r"ofed_bundle: unpacking %s needs \d+ MB, and there are 0 MB free in .* nothing was changed" % path):
            ask(node, check, bundle=str(path))
    assert (node.steps, node.packages) == ([], INBOX)
    assert all(folder.startswith(str(node.root)) for folder in asked)


def test_a_file_system_that_fills_while_a_bundle_is_unpacked(node: Node) -> None:
    path, _checksum = archive(node)
    node.faults = {"--extract": (2, "tar: MLNX/DEBS/ucx.deb: Cannot write: No space left on device\n")}
    for _run in range(2):
        with pytest.raises(CommandFailed, match=r"%s could not be unpacked: the file system of .* is full\. .* removed again" % path):
            ask(node, bundle=str(path))
        assert node.steps[-1][:3] == ["rm", "-rf", "--"]
        assert node.steps[-1][3].endswith(".part")
        assert node.packages == INBOX
    node.faults = {}
    assert ask(node, bundle=str(path))["changes"] == INSTALLED


def test_a_file_that_is_here_is_not_downloaded_again_and_another_one_is(node: Node) -> None:
    path, checksum = archive(node)
    wish = {"bundle": "https://mirror.example.org/%s.tgz" % BUNDLE, "bundle_checksum": checksum}
    node.served = path.read_bytes()
    node.faults = {"mlnxofedinstall": (1, "")}
    with pytest.raises(CommandFailed):
        ask(node, **wish)
    shutil.rmtree(next((node.root / "var/lib/rdma.ofed/bundles").glob("MLNX*")))
    with pytest.raises(CommandFailed):
        ask(node, **wish)
    assert len(node.asked) == 1
    shutil.rmtree(next((node.root / "var/lib/rdma.ofed/bundles").glob("MLNX*")))
    (node.root / "var/lib/rdma.ofed/bundles/files" / checksum[7:]).write_text("bits fall over", encoding="utf-8")
    node.faults = {}
    assert ask(node, **wish)["changes"]
    assert len(node.asked) == 2


def test_a_password_stays_out_of_messages(node: Node) -> None:
    _path, checksum = archive(node)
    node.served = b"not it"
    wish = {"bundle": "https://me:secret@mirror.example.org/a@b/%s.tgz" % BUNDLE, "bundle_checksum": checksum}
    with pytest.raises(CommandFailed, match=r"ofed_bundle: https://mirror\.example\.org/a@b/MLNX") as failed:
        ask(node, **wish)
    assert "secret" not in str(failed.value.details)
    assert not any("secret" in word for argv in node.steps for word in argv)
    assert node.asked == [wish["bundle"]]


def test_a_run_that_ended_while_downloading_left_nothing_half_installed(node: Node) -> None:
    _path, checksum = archive(node)
    wish = {"bundle": "https://mirror.example.org/%s.tgz" % BUNDLE, "bundle_checksum": checksum}
    node.faults = {"download.py": (124, "")}
    with pytest.raises(CommandFailed, match="raise ofed_timeout, the next run continues where this one stopped"):
        ask(node, **wish)
    node.faults = {"download.py": (-9, "")}
    with pytest.raises(CommandFailed, match="downloading the bundle was interrupted"):
        ask(node, **wish)
    assert ask(node, True, **wish)["changes"] == INSTALLED


def test_a_bundle_from_the_controller_is_asked_for_and_taken_over(node: Node) -> None:
    path, checksum = archive(node)
    wish = {"bundle": "/controller/%s.tgz" % BUNDLE, "bundle_on": "controller"}
    foreseen = ask(node, True, **wish)
    assert foreseen["changes"] == INSTALLED
    # The controller can inspect the file.
    assert (foreseen["bundle_needed"], foreseen["bundle_release"], foreseen["bundle_architecture"]) == ("checksum", "23.10-0.5.5.0", os.uname().machine)
    assert ask(node, **wish)["bundle_needed"] == "checksum"
    assert ask(node, **wish, digest=checksum)["bundle_needed"] == "transfer"
    with pytest.raises(Refused, match="the file was damaged in transfer"):
        ask(node, **wish, digest="sha256:" + "0" * 64, staged=str(path))
    assert ask(node, **wish, digest=checksum, staged=str(path))["changes"]
    assert ask(node, **wish)["changes"] == []


def test_folders_that_are_no_bundle(node: Node) -> None:
    (node.root / "empty").mkdir()
    for folder, words in (("empty", "has no .mlnx"), ("nowhere", "there is no folder")):
        with pytest.raises(Refused, match=words):
            ask(node, True, bundle=str(node.root / folder), version="23.10-0.5.5.0")
    with pytest.raises(Refused, match=r"has the release 23\.10-0\.5\.5\.0, and 5\.8-1\.0\.1\.1 is wanted"):
        ask(node, True, bundle=str(make_bundle(node.root / "ofed", "23.10-0.5.5.0")), version="5.8-1.0.1.1")


def test_a_disk_image_needs_something_that_reads_it(node: Node) -> None:
    (node.root / (BUNDLE + ".iso")).write_text("x", encoding="utf-8")
    (node.root / ".dockerenv").write_text("", encoding="utf-8")
    with pytest.raises(Unsupported, match="none of bsdtar, xorriso and 7z"):
        ask(node, bundle=str(node.root / (BUNDLE + ".iso")))


def test_a_repository_that_offers_another_version(node: Node) -> None:
    node.offers = {"doca-ofed": "2.10.0-1"}
    with pytest.raises(Refused, match=r"offers doca-ofed 2\.10\.0-1, and 2\.9\.1 is wanted"):
        ask(node, True, **wishes(node)["doca"])
    assert not (node.root / "etc/apt").exists()


def test_keys(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    wish = {**wishes(node)["doca"], "repository_key": "/srv/key.asc"}
    node.offers = offers("doca")
    with pytest.raises(InvalidInput, match="a public PGP key"):
        ask(node, True, **wish)
    asked: list[str] = []

    def opener(url: str, timeout: int) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(KEY.encode())

    monkeypatch.setattr(_look, "open_url", opener)
    wish["repository_key"] = "https://mirror.example.org/key.asc"
    assert "create file /etc/apt/keyrings/rdma-ofed.asc" in ask(node, **wish)["changes"]
    assert (node.root / "etc/apt/keyrings/rdma-ofed.asc").read_text(encoding="utf-8") == KEY
    before = len(asked)
    assert ask(node, **wish)["changes"] == []
    assert len(asked) == before


def test_a_running_job_is_waited_for(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    wish = installer(node)
    memo = {"changes": [["stack", "", "", "a", "b", "", ""]], "before": {"kind": "inbox", "version": "44.0"}, "after": {"kind": "doca", "version": ""}}
    running = jobs.State("a", True, "installing MLNX_OFED", 2, 3, 61.5, False, 0, "", "/log", memo)
    monkeypatch.setattr(jobs, "read_job", lambda name, root="/": running)
    answer = ask(node, **wish, poll=0)
    assert answer["job"] == {"id": "a", "running": True, "stage": "installing MLNX_OFED", "detail": "", "step": 2, "steps": 3, "elapsed": 61, "log": "/log"}
    assert answer["changes"] == ["stack: a -> b"]
    with pytest.raises(Refused, match="a job is installing MLNX_OFED"):
        ask(node, True, **wish)


def test_a_job_that_an_earlier_release_began_is_followed_to_its_end(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    wish = installer(node)
    job = ask(node, **wish)["job"]["id"]
    path = node.root / jobs.JOBS / _look.JOB / "job.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["memo"]["changes"] = [
        ["file /etc/apt/sources.list.d/rdma-ofed.sources", "", "x", "", ""],
        ["stack", "inbox 44.0", "mlnx_ofed 23.10-0.5.5.0", "driver_reload", ""],
        ["package ucx", "", "installed", "", ""],
    ]
    del content["memo"]["before"], content["memo"]["after"]
    path.write_text(json.dumps(content), encoding="utf-8")
    words = [
        "create file /etc/apt/sources.list.d/rdma-ofed.sources",
        "stack: inbox 44.0 -> mlnx_ofed 23.10-0.5.5.0",
        "package ucx: none -> installed",
    ]
    answer = ask(node, **wish, attach=job)
    assert (answer["changes"], answer["packages_changed"]) == (words, True)
    assert (answer["stack"]["replaced"], answer["stack"]["after"]["version"]) == (True, "23.10-0.5.5.0")
    state = jobs.read_job(_look.JOB, str(node.root))
    assert state is not None
    monkeypatch.setattr(jobs, "read_job", lambda name, root="/": state._replace(running=True))
    assert ask(node, **wish, poll=0)["changes"] == words


@pytest.mark.parametrize("protected", [True, False])
def test_the_protection_at_the_end_of_a_job_is_what_this_run_declares(node: Node, protected: bool) -> None:
    """The run that started the job declared otherwise and did not see its end."""
    wish = installer(node, protect_packages=not protected)
    job = ask(node, **wish)["job"]["id"]
    path = node.root / "etc/apt/preferences.d/rdma-ofed-installed.pref"
    assert path.exists() is not protected
    ask(node, **{**wish, "protect_packages": protected}, attach=job)
    assert path.exists() is protected
    assert ask(node, **{**wish, "protect_packages": protected})["changes"] == []


def test_a_job_for_something_else_is_only_waited_for(node: Node) -> None:
    node.offers = offers("doca")
    job = ask(node, **wishes(node)["doca"])["job"]["id"]
    assert ask(node, **installer(node), attach=job)["stack"] == {
        "before": {"kind": "doca", "version": "2.9.1"},
        "after": {"kind": "mlnx_ofed", "version": "23.10-0.5.5.0"},
        "replaced": True,
        "withheld": False,
    }


def test_wrong_input_is_said_with_the_names_of_the_role(node: Node) -> None:
    with pytest.raises(InvalidInput, match=r"ofed_timeout is 1.*ofed_bundle is not set"):
        ask(node, timeout=1)


def test_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def failing(module: t.Any, run: t.Any) -> t.NoReturn:
        assert {name: module.params[name] for name in DEFAULTS} == {**DEFAULTS, "state": "absent"}
        raise Refused("no", dependants=["x"])

    monkeypatch.setattr(driver_stack, "converge", failing)
    with patch_module_args({"state": "absent"}), pytest.raises(SystemExit):
        driver_stack.main()
    assert '"dependants": ["x"]' in capsys.readouterr().out


def test_configuration_of_openibd(node: Node) -> None:
    conf = node.root / "etc/infiniband/openib.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("# ours\nONBOOT=yes\nIPOIB_LOAD=yes\n", encoding="utf-8")
    wish = installer(node, openib_conf={"IPOIB_LOAD": False, "ONBOOT": "yes", "POST_START_DELAY": 3})
    foretold = ask(node, check=True, **wish)["changes"]
    assert foretold[2:] == ["openib.conf IPOIB_LOAD: yes -> no", "openib.conf POST_START_DELAY: none -> 3"]
    assert ask(node, **wish)["changes"] == foretold
    assert conf.read_text(encoding="utf-8") == "# ours\nONBOOT=yes\nIPOIB_LOAD=no\nPOST_START_DELAY=3\n"
    assert ask(node, **wish)["changes"] == []
    wish["openib_conf"]["IPOIB_LOAD"] = True
    answer = ask(node, check=True, **wish)
    assert answer["changes"] == ["edit file /etc/infiniband/openib.conf"]
    assert pending_words(answer) == ["openib.conf IPOIB_LOAD: no -> yes (needs driver_reload)"]
    assert (answer["packages_changed"], answer["stack"]["replaced"]) == (False, False)
    assert "IPOIB_LOAD=no" in conf.read_text(encoding="utf-8")
    assert ask(node, **wish)["changes"] == answer["changes"]
    assert "IPOIB_LOAD=yes" in conf.read_text(encoding="utf-8")
    assert ask(node, **wish)["changes"] == []
    conf.unlink()
    with pytest.raises(InvalidInput, match="ofed_openib_conf"):
        ask(node, **wish)
    with pytest.raises(InvalidInput, match="did you mean IPOIB_LOAD"):
        ask(node, **installer(node, openib_conf={"IPOIB_LAOD": "no"}))


def test_two_that_end_the_same_job_leave_one_record(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "stack.json"
    rename = os.rename

    def another_first(source: str, target: str, **folders: int) -> None:
        monkeypatch.setattr(os, "rename", rename)
        _converge._record(str(path), {"by": 2})
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", another_first)
    _converge._record(str(path), {"by": 1})
    assert json.loads(path.read_text(encoding="utf-8")) == {"by": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_the_password_of_a_repository_is_in_one_file_of_root_and_in_no_result(node: Node) -> None:
    wish = {**wishes(node)["doca"], "repository": "https://reader:p%40ss-w0rd@mirror.example.org/doca"}
    node.offers = offers("doca")
    folder = node.root / "etc/apt/sources.list.d"
    folder.mkdir(parents=True)
    (folder / "rdma-ofed.sources").write_text("URIs: https://reader:p%40ss-w0rd@mirror.example.org/old\n", encoding="utf-8")
    answers = [ask(node, True, **wish), ask(node, **wish)]
    assert answers[0]["changes"] == answers[1]["changes"]
    path = node.root / "etc/apt/auth.conf.d/rdma-ofed.conf"
    assert "password p@ss-w0rd\n" in path.read_text(encoding="utf-8") and path.stat().st_mode & 0o777 == 0o600
    written = [other for other in node.root.rglob("*") if other.is_file() and other != path and b"ss-w0rd" in other.read_bytes()]
    assert written == [] and not any("ss-w0rd" in json.dumps(answer) for answer in answers)
    path.chmod(0o644)
    path.write_text(path.read_text(encoding="utf-8").replace("reader", "another"), encoding="utf-8")
    ask(node, **wish)
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_address_that_is_none_shows_no_password(node: Node) -> None:
    wish = {**wishes(node)["doca"], "repository": "htps://reader:p-w0rd@mirror.example.org/doca"}
    with pytest.raises(InvalidInput, match="ofed_repository") as raised:
        ask(node, **wish)
    assert "w0rd" not in raised.value.msg


LUSTRE = Built("lustre", "6.1.0", "updates/dkms/lustre.ko", "lustre-client/2.15.5", "inbox 44.0", ("rdma_connect",))


def test_a_set_of_user_space_leaves_the_modules_of_the_kernel_and_what_was_built_on_them(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "on_stack", lambda *_args, **_more: (LUSTRE,))
    wish = installer(node, packages="user-space-only")
    assert ask(node, check=True, **wish)["third_party"] == ask(node, **wish)["third_party"] == []
    # The next stack replaces the vendor's.
    assert ask(node, check=True, **wishes(node)["new"])["third_party"] == [LUSTRE.row()]


def test_modules_that_were_built_on_the_stack_are_named_and_recorded_before_it_is_replaced(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(_converge, "on_stack", lambda _run, stack, **_more: asked.append(stack) or (LUSTRE,))  # type: ignore[func-returns-value]
    foretold = ask(node, check=True, **wishes(node)["new"])
    assert foretold["third_party"] == [LUSTRE.row()] and read_record(str(node.root)) == ()
    # The record is there although the run is interrupted, and knows what no look finds any longer.
    node.faults["mlnxofedinstall"] = (-9, "")
    with pytest.raises(CommandFailed):
        ask(node, **wishes(node)["new"])
    node.faults.clear()
    monkeypatch.setattr(_converge, "on_stack", lambda _run, _stack, **_more: ())
    assert ask(node, check=True, **wishes(node)["new"])["third_party"] == [LUSTRE.row()]
    assert ask(node, **wishes(node)["new"])["third_party"] == [LUSTRE.row()]
    assert read_record(str(node.root)) == (LUSTRE,) and asked == ["inbox 44.0"] * 2
    # Nothing is replaced by the next run. The record is for the module that rebuilds.
    assert ask(node, **wishes(node)["new"])["third_party"] == []
