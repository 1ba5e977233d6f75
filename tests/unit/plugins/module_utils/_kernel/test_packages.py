# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The script that installs modules for one kernel, with stand-ins for the package managers' tools."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _packages as script

DEB = "DEBS/mlnx-ofed-kernel-modules_23.10.OFED.23.10.0.5.5.1-1.kver.%s_amd64.deb"
RPM = "RPMS/COMMON/mlnx-ofa_kernel-modules-23.10-OFED.23.10.0.5.5.1.kver.%s.x86_64.rpm"
DEB_NAMES = ("iser-modules", "mlnx-ofed-kernel-modules")


def test_packages_of_debian() -> None:
    paths = [
        DEB % "6.1.0-5-amd64",
        DEB % "6.1.0-51-amd64",
        "DEBS/mlnx-ofed-kernel-dkms_23.10_all.deb",
        "DEBS/iser-modules_23.10-1.kver.6.1.0-51-amd64_amd64.deb",
    ]
    assert script.matching("deb", "6.1.0-51-amd64", names=DEB_NAMES, paths=paths) == {"iser-modules": paths[3], "mlnx-ofed-kernel-modules": paths[1]}
    assert script.matching("deb", "6.1.0-5-amd64", names=DEB_NAMES, paths=paths) == {"mlnx-ofed-kernel-modules": paths[0]}
    assert script.matching("deb", "6.1.0-50-amd64", names=DEB_NAMES, paths=paths) == {}


def test_packages_of_rpm() -> None:
    names = ("mlnx-ofa_kernel-modules", "kmod-mlnx-ofa_kernel")
    paths = [
        RPM % "4.18.0_477.10.1.el8_8.x86_64",
        RPM % "4.18.0_477.10.1.el8_8.x86_64.src",
        "RPMS/kmod-mlnx-ofa_kernel-23.10-OFED.1.rhel8u8.x86_64.rpm",
        "x.rpm",
    ]
    assert script.matching("rpm", "4.18.0-477.10.1.el8_8.x86_64", names=names, paths=paths) == dict(zip(names, (paths[0], paths[2])))
    assert script.matching("rpm", "4.18.0-477.el8_8.x86_64", names=names, paths=paths) == {"kmod-mlnx-ofa_kernel": paths[2]}
    assert [argv[1] for argv in script.install_argvs("rpm", [paths[0], paths[2]])] == ["--install", "--upgrade"]


def test_what_the_tool_of_doca_has_built() -> None:
    said = "doca-kernel-support: Built single package: /tmp/DOCA.a/doca-kernel-repo-24.10-1.kver.x.x86_64.rpm\n"
    assert script.built_package(said, [], []) == "/tmp/DOCA.a/doca-kernel-repo-24.10-1.kver.x.x86_64.rpm"
    assert script.built_package("", ["/tmp/DOCA.a/r"], ["/tmp/DOCA.a/r", "/tmp/DOCA.b/r"]) == "/tmp/DOCA.b/r"
    with pytest.raises(script.Failed, match="does not report what it has built"):
        script.built_package("", ["/tmp/DOCA.a/r"], ["/tmp/DOCA.a/r"])


class Tools:
    """Stand-ins for dpkg and other tools, which record their calls."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root, self.log = root, root / "log"
        self.work = root / "work"
        (root / "bin").mkdir()
        self.work.mkdir()
        for name in ("dpkg", "rpm", "depmod"):
            self.make(name, "")

    def make(self, name: str, text: str) -> str:
        path = self.root / "bin" / name
        path.write_text('#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' % (name, self.log, text), encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def call(self, *words: str) -> tuple[int, str, list[str]]:
        environment = {**os.environ, "PATH": "%s:%s" % (self.root / "bin", os.environ["PATH"])}
        argv = [sys.executable, script.__file__, *words]
        done = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
        return done.returncode, done.stdout, self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


@pytest.fixture
def tools(tmp_path: pathlib.Path) -> Tools:
    return Tools(tmp_path)


def touch(path: pathlib.Path) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_from_the_archive_that_was_built(tools: Tools) -> None:
    made = touch(tools.root / "bundle" / (DEB % "6.1.0-51-amd64"))
    with tarfile.open(tools.work / "bundle.tgz", "w:gz") as stream:
        stream.add(made.parent.parent, "bundle")
    status, said, asked = tools.call("install", "/nowhere", "deb", "6.1.0-51-amd64", str(tools.work), *DEB_NAMES)
    assert (status, "there is no iser-modules for kernel 6.1.0-51-amd64" in said) == (0, True)
    path = tools.work / "unpacked/bundle" / (DEB % "6.1.0-51-amd64")
    assert asked == ["dpkg --install --force-confold %s" % path, "depmod -a 6.1.0-51-amd64"]


def test_from_the_bundle_that_has_them(tools: Tools) -> None:
    touch(tools.root / "tree" / (DEB % "6.1.0-51-amd64"))
    status, said, asked = tools.call("install", str(tools.root / "tree"), "deb", "6.1.0-51-amd64", str(tools.work), *DEB_NAMES)
    assert (status, len(asked)) == (0, 2)
    status, said, asked = tools.call("install", str(tools.root / "tree"), "deb", "6.1.0-52-amd64", str(tools.work), *DEB_NAMES)
    assert (status, len(asked)) == (1, 2)
    assert said == "among what was built, there is no package mlnx-ofed-kernel-modules for kernel 6.1.0-52-amd64\n"
    tools.make("dpkg", "exit 2")
    status, said, _asked = tools.call("install", str(tools.root / "tree"), "deb", "6.1.0-51-amd64", str(tools.work), *DEB_NAMES)
    assert (status, said.splitlines()[-1]) == (1, "dpkg ended with exit status 2")


def test_another_kind_than_the_one_that_is_installed(tools: Tools) -> None:
    made = touch(tools.root / "tree" / (RPM % "6.1.0_51"))
    status, said, asked = tools.call("install", str(tools.root / "tree"), "rpm", "6.1.0-51", str(tools.work), "kmod-iser", "kmod-mlnx-ofa_kernel")
    assert (status, "there is no kmod-iser for kernel 6.1.0-51" in said) == (0, True)
    assert asked[0].endswith(str(made))


@pytest.mark.parametrize("packaging", ["deb", "rpm"])
def test_with_the_tool_of_doca(tools: Tools, packaging: str) -> None:
    kernel = "6.1.0-51-amd64"
    modules = touch(tools.root / "share" / (DEB % kernel if packaging == "deb" else RPM % kernel.replace("-", "_")))
    package = touch(tools.root / "DOCA.x" / "r.package")
    tool = tools.make("doca-kernel-support", "echo Built single package: %s" % package)
    assert tools.call("doca", tool, kernel, str(tools.work))[0] == 0
    assert (tools.work / "repository").read_text(encoding="utf-8") == str(package)
    tools.make("dpkg-deb", "echo doca-kernel-repo")
    tools.make("dpkg" if packaging == "deb" else "rpm", 'case $1 in --listfiles|--query) echo "%s" ;; esac' % modules)
    names = DEB_NAMES if packaging == "deb" else ("mlnx-ofa_kernel-modules",)
    status, said, asked = tools.call("install", "", packaging, kernel, str(tools.work), *names)
    assert status == 0, said
    both = ["dpkg --install %s" % package, "dpkg --install --force-confold %s" % modules]
    if packaging == "rpm":
        options = "--oldpackage --replacepkgs --nosignature"
        both = ["rpm --upgrade %s %s" % (options, package), "rpm --install %s %s" % (options, modules)]
    assert [line for line in asked if " --install " in line or " --upgrade " in line] == both
    tools.make("doca-kernel-support", "echo no headers; exit 1")
    status, said, _asked = tools.call("doca", tool, kernel, str(tools.work))
    assert (status, said.splitlines()) == (1, ["no headers", "%s ended with exit status 1" % tool])


def made_by(tools: Tools, package: pathlib.Path) -> tuple[int, str]:
    """Try to install what `build_doca` has recorded."""
    (tools.work / "repository").write_text(str(package), encoding="utf-8")
    status, said, asked = tools.call("install", "", "rpm", "6.1.0-51-amd64", str(tools.work), "mlnx-ofa_kernel-modules")
    assert not asked
    return status, said


def test_what_others_could_have_put_there_is_not_installed(tools: Tools) -> None:
    """Below /tmp, any user can create a directory with a name that the tool uses."""
    for case in ("file of another user", "folder of another user", "folder that all may write to", "link"):
        package = touch(tools.root / case / "DOCA.x" / "doca-kernel-repo-1.rpm")
        if case.endswith("user"):
            os.chown(package if case.startswith("file") else package.parent, 12345, 12345)
        elif case == "link":
            package.rename(package.parent / "elsewhere")
            package.symlink_to(package.parent / "elsewhere")
        else:
            package.parent.chmod(0o777)
        status, said = made_by(tools, package)
        assert status == 1, case
        assert said.startswith("%s is not installed: others than root could have put it there" % package), said
