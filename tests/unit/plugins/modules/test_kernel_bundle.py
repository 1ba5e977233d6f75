# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole module on a simulated node without a vendor's stack."""

from __future__ import annotations

import hashlib
import os
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._bundle import _converge as _bundle
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import misfit, parse_name
from ansible_collections.rdma.ofed.plugins.modules import kernel_bundle
from support.kernel_node import NEW, OLD, Node, bundle
from support.module_files import FakeModule

DEFAULTS = {name: option.get("default") for name, option in kernel_bundle.OPTIONS.items()}
NAME = "MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-%s-kver.%s-ext"
CONTENT = b"a bundle"


class Builder(Node):
    """The vendor's script leaves an archive in its directory."""

    def perform(self, argv: list[str]) -> None:
        if any(word.endswith("mlnx_add_kernel_support.sh") for word in argv):
            self.write("%s/%s.tgz" % (argv[argv.index("--tmpdir") + 1].lstrip("/"), argv[argv.index("--name") + 1]), CONTENT.decode())
        elif argv[0] == "mv":
            source, target = (self.root / path.lstrip("/") for path in argv[-2:])
            source.rename(target)


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    found = Builder(tmp_path)
    monkeypatch.setattr(jobs, "_launch", found.launch)
    return found


class Module(FakeModule):
    defaults = DEFAULTS


def ask(node: Builder, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    module: t.Any = Module(check, **{"bundle": bundle(node), **options, "poll": 0})
    return _bundle.converge(module, node, OLD, root=str(node.root))


def test_it_is_built_once_for_the_running_kernel(node: Builder) -> None:
    foretold = ask(node, check=True)
    assert node.steps == [] and foretold["checksum"] == ""
    done = ask(node)
    path = "/var/lib/rdma.ofed-built/%s.tgz" % (NAME % (os.uname().machine, OLD))
    assert (foretold["changes"], foretold["archive"]) == (done["changes"], done["archive"]) and done["archive"] == path
    assert done["changed"] and done["checksum"] == "sha256:" + hashlib.sha256(CONTENT).hexdigest()
    (script,) = [argv for argv in node.steps if argv[0].endswith("mlnx_add_kernel_support.sh")]
    assert script[script.index("--kernel") + 1] == OLD and script[-2:] == ["--distro", "debian12.1"] and "--kmp" not in script
    steps = len(node.steps)
    again = ask(node)
    assert not again["changed"] and again["changes"] == [] and again["checksum"] == done["checksum"] and len(node.steps) == steps


def test_what_is_built_has_a_name_as_a_bundle_has() -> None:
    named = parse_name("/srv/%s.tgz" % (NAME % ("x86_64", "5.14.0-427.13.1.el9_4.x86_64")))
    assert named == ("tar", "23.10-0.5.5.0", "debian12.1", "x86_64")
    assert misfit(named, OperatingSystem("", "debian", "12"), "x86_64") == ""
    # The vendor's installer omits the architecture from the name of its result.
    assert parse_name("MLNX_OFED_LINUX-23.10-0.5.5.0-rhel9.4-ext.tgz") == ("tar", "23.10-0.5.5.0", "rhel9.4", "")


def test_headers_and_compiler_come_first_for_a_kernel_that_is_named(node: Builder) -> None:
    (node.root / "lib/modules" / NEW / "build").rmdir()
    node.tools -= {"gcc"}
    assert [change.partition(":")[0] for change in ask(node, True, kernel=NEW, kmp=True)["changes"]][:2] == ["package linux-headers-" + NEW, "package gcc"]
    ask(node, kernel=NEW, kmp=True)
    (installing,) = [argv for argv in node.steps if argv[0] == "apt-get"]
    assert installing[-2:] == ["linux-headers-" + NEW, "gcc"]
    assert any("--kmp" in argv for argv in node.steps)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"kernel": "6.9.0"}, Refused, "kernel: 6.9.0 is not installed on this node; installed: "),
        ({"kernel": "6.9 0"}, InvalidInput, "uname -r"),
        ({"bundle": "/srv/ofed.tgz"}, InvalidInput, "version is not set; allowed: a release such as 23.10-0.5.5.0"),
        ({"bundle": "ofed.tgz"}, InvalidInput, "bundle is 'ofed.tgz'"),
        ({"bundle": ""}, InvalidInput, "allowed: the path or URL of the vendor's bundle"),
        ({"version": "24.10"}, InvalidInput, r"version is '24.10'; allowed: a release such as 23.10-0.5.5.0$"),
        ({"bundle": "/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-ppc64le.tgz"}, InvalidInput, "which this node is"),
        ({"bundle": "/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz"}, Refused, "there is no file /srv"),
    ],
)
def test_what_is_refused_starts_nothing(node: Builder, options: dict[str, t.Any], error: type[Exception], words: str, check: bool) -> None:
    with pytest.raises(error, match=words):
        ask(node, check, **options)
    assert node.steps == [] and not (node.root / "var/lib/rdma.ofed-built").exists()


def test_a_bundle_that_has_the_modules_is_not_built_again(node: Builder) -> None:
    (node.root / "lib/modules" / OLD / "build").mkdir()
    node.fault_at("mlnx_add_kernel_support.sh", 30)
    done = ask(node)
    assert not done["changed"] and done["checksum"] == "" and "declare it as ofed_bundle unchanged" in done["reasons"][0]
    # The same status of another step has another meaning.
    node.fault_at("grep", 30)
    with pytest.raises(CommandFailed, match="checking the bundle failed"):
        ask(node)


def test_a_query_tells_the_name_and_looks_at_nothing(node: Builder) -> None:
    found = ask(node, state="query", bundle="/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz")
    assert found["archive"] == "/var/lib/rdma.ofed-built/%s.tgz" % (NAME % (os.uname().machine, OLD)) and (found["changes"], node.steps) == ([], [])
    built = ask(node)
    assert ask(node, state="query")["checksum"] == built["checksum"]
    assert ask(node, state="query", kmp=True)["archive"] != built["archive"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_whoever_logs_in_may_read_what_was_built(node: Builder, mask: int) -> None:
    before = os.umask(mask)
    try:
        ask(node)
    finally:
        os.umask(before)
    assert (node.root / "var/lib/rdma.ofed-built").stat().st_mode & 0o777 == 0o755
    chmod = next(argv for argv in node.steps if argv[0] == "chmod")
    assert chmod[1] == "0644" and node.steps.index(chmod) < node.steps.index(next(argv for argv in node.steps if argv[0] == "mv"))


def test_a_rebuild_of_red_hat_tells_the_script_its_distribution_and_installs_what_it_lacks(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Builder(tmp_path, "dnf")
    monkeypatch.setattr(jobs, "_launch", node.launch)
    tree = node.root / "MLNX_OFED_LINUX-23.10-0.5.5.0-rhel9.4-x86_64"
    node.write(tree.name + "/.mlnx", "23.10-0.5.5.0\n")
    node.write(tree.name + "/mlnxofedinstall", "")
    (tree / "mlnxofedinstall").chmod(0o755)
    ask(node, bundle=str(tree))
    (script,) = [argv for argv in node.steps if any(word.endswith("mlnx_add_kernel_support.sh") for word in argv)]
    assert script[1].endswith("installer_run.py") and "--" in script and script[-2:] == ["--distro", "rhel9.4"]
    with pytest.raises(InvalidInput, match=r"a bundle for rhel9\.4, which this node has"):
        ask(node, bundle="/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-ubuntu22.04-x86_64.tgz")


def test_a_build_that_fails_leaves_nothing_that_looks_whole(node: Builder) -> None:
    node.fault_at("mlnx_add_kernel_support.sh", 1)
    with pytest.raises(CommandFailed, match=r"failed, .*All output is in"):
        ask(node)
    assert list((node.root / "var/lib/rdma.ofed-built").iterdir()) == []
    node.heal()
    assert ask(node)["changed"]
