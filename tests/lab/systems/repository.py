# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repository of RPM packages with Debian's programs, laid out like those of Red Hat or SUSE.

It stands for the repositories BaseOS and AppStream of RHEL, and those of SLES. Package names, dependencies, file locations, the lists of kernel modules and the
opensm service are those of the other system; the programs and libraries are Debian's. Packages that every node has (iproute, kmod) are empty. The directory of
verbs providers is compiled into libibverbs and therefore stays.

Runs on a Debian node with rpmbuild and createrepo_c: `python3 repository.py redhat|suse FOLDER`.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing as t

LIBRARIES = "usr/lib/x86_64-linux-gnu"
OPENSM = {
    "etc/sysconfig/opensm": "# GUIDS=\n# PRIORITY=\n",
    "etc/rdma/opensm.conf": "# The options of opensm.\n",
    "etc/rdma/partitions.conf": "Default=0x7fff, ipoib : ALL=full;\n",
    "usr/lib/systemd/system/opensm.service": """[Unit]
Description=Starts the OpenSM InfiniBand fabric Subnet Manager
After=network.target

[Service]
Type=forking
ExecStart=%s

[Install]
WantedBy=multi-user.target
""",
}
LAUNCHER = """#!/bin/sh
# Stands for: opensm-launch of the package opensm, in what it does without GUIDS and without further configuration files.
. /etc/sysconfig/opensm
(while true; do /usr/sbin/opensm ${PRIORITY:+-p $PRIORITY} -F /etc/rdma/opensm.conf; sleep 30; done) &
exit 0
"""


class Rpm(t.NamedTuple):
    """A package. `debian` lists the Debian packages whose files it has."""

    name: str
    debian: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    files: t.Mapping[str, str] = {}
    """Additional or replaced files: text by path. Programs are recognised by their directory."""


class System(t.NamedTuple):
    release: str
    launcher: str
    packages: tuple[Rpm, ...]


def soname(name: str) -> str:
    return "%s()(64bit)" % name


VERBS, RDMACM, UMAD, MAD, NETDISC = map(soname, ("libibverbs.so.1", "librdmacm.so.1", "libibumad.so.3", "libibmad.so.5", "libibnetdisc.so.5"))
BASE = ("/bin/sh", "/sbin/ldconfig")
RED_HAT_MODULES = "ib_uverbs\nrdma_ucm\nib_iser\nib_isert\nib_srpt\nxprtrdma\nsvcrdma\n"
SYSTEMS = {
    "redhat": System(
        "1.el",
        "usr/libexec/opensm-launch",
        (
            Rpm("filesystem", provides=BASE),
            *(Rpm(name) for name in ("kmod", "iproute", "pciutils")),
            Rpm("rdma-core", ("rdma-core",), ("kmod", "pciutils"), ("rdma",), {"etc/rdma/modules/rdma.conf": RED_HAT_MODULES}),
            Rpm("libibverbs", ("libibverbs1", "ibverbs-providers"), ("rdma-core",), (VERBS,)),
            Rpm("libibverbs-utils", ("ibverbs-utils",), (VERBS,)),
            Rpm("librdmacm", ("librdmacm1",), (VERBS, "rdma-core"), (RDMACM,)),
            Rpm("librdmacm-utils", ("rdmacm-utils",), (RDMACM,)),
            Rpm("libibumad", ("libibumad3",), ("rdma-core",), (UMAD,)),
            Rpm("infiniband-diags", ("infiniband-diags", "libibmad5", "libibnetdisc5"), (UMAD,), (MAD, NETDISC)),
            Rpm("opensm-libs", ("libopensm9", "libosmcomp5", "libosmvendor5"), (UMAD,)),
            Rpm("opensm", ("opensm",), ("opensm-libs", UMAD, "rdma-core"), files=OPENSM),
            Rpm("perftest", ("perftest",), (VERBS, RDMACM, UMAD)),
        ),
    ),
    "suse": System(
        "150500.1",
        "usr/lib/opensm-launch",
        (
            Rpm("filesystem", provides=BASE),
            *(Rpm(name) for name in ("kmod", "iproute2", "pciutils")),
            Rpm("rdma-core", ("rdma-core",), ("kmod",)),
            Rpm("rdma-ndd", requires=("rdma-core",)),
            Rpm("libibverbs", ("ibverbs-providers",), ("rdma-core", VERBS)),
            Rpm("libibverbs1", ("libibverbs1",), (), (VERBS,)),
            Rpm("libibverbs-utils", ("ibverbs-utils",), (VERBS,)),
            Rpm("librdmacm1", ("librdmacm1",), ("libibverbs", VERBS), (RDMACM,)),
            Rpm("librdmacm-utils", ("rdmacm-utils",), (RDMACM,)),
            Rpm("libibumad3", ("libibumad3",), (), (UMAD,)),
            Rpm("libibmad5", ("libibmad5",), (UMAD,), (MAD,)),
            Rpm("libibnetdisc5", ("libibnetdisc5",), (MAD,), (NETDISC,)),
            Rpm("infiniband-diags", ("infiniband-diags",), (UMAD, MAD, NETDISC)),
            Rpm("opensm-libs3", ("libopensm9", "libosmcomp5", "libosmvendor5"), (UMAD,)),
            Rpm("opensm", ("opensm",), ("opensm-libs3", UMAD, "rdma-core"), files=OPENSM),
            Rpm("perftest", ("perftest",), (VERBS, RDMACM, UMAD)),
        ),
    ),
}
PYTHONS = {"redhat": "python3.11", "suse": "python311"}
"""Package with a newer Python (Debian's), for a system whose own is too old."""


def place(path: str) -> str | None:
    """Return the other system's location of a Debian file, None if that system lacks the file."""
    path = "usr/" + path if path.startswith(("lib/", "sbin/", "bin/")) else path
    if path.startswith(("usr/share/doc/", "usr/share/man/", "usr/share/lintian/", "etc/init.d/", "etc/default/")) or path.endswith(
        ("system/opensm.service", "system/opensm@.service")
    ):
        return None
    folder, _slash, name = path.rpartition("/")
    return "usr/lib64/" + name if folder == LIBRARIES else path


def fill(root: pathlib.Path, rpm: Rpm, launcher: str, debs: pathlib.Path) -> None:
    """Copy the files of a package below `root`."""
    for package in rpm.debian:
        unpacked = debs / package
        for path in sorted(unpacked.rglob("*")):
            target = place(str(path.relative_to(unpacked)))
            if target and (path.is_symlink() or path.is_file()):
                (root / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, root / target, follow_symlinks=False)
    texts = {path: text % ("/" + launcher) if "%s" in text else text for path, text in rpm.files.items()}
    for name, text in {**texts, **({launcher: LAUNCHER} if rpm.files is OPENSM else {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
        (root / name).chmod(0o755 if name == launcher else 0o644)


def spec(rpm: Rpm, version: str, release: str, root: pathlib.Path) -> str:
    files = ["/%s" % path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_symlink() or path.is_file()]
    rows = ['%%config(noreplace) "%s"' % path if path.startswith("/etc/") else '"%s"' % path for path in files]
    fields = {"Name": rpm.name, "Version": version, "Release": release, "Summary": rpm.name, "License": "as in Debian"}
    head = ["%define __os_install_post %{nil}", "%define debug_package %{nil}", "%define _build_id_links none"]
    head += ["%s: %s" % item for item in fields.items()] + ["Requires: " + name for name in rpm.requires] + ["Provides: " + name for name in rpm.provides]
    install = ["%install", "mkdir -p %{buildroot}", "cp -a %s/. %%{buildroot}/" % root]
    scripts = ["%post -p /sbin/ldconfig", "%postun -p /sbin/ldconfig"] if any(path.startswith("/usr/lib64/") for path in files) else []
    return "\n".join([*head, "AutoReqProv: no", "%description", rpm.name, *install, *scripts, "%files", *rows, ""])


def build(family: str, folder: pathlib.Path) -> None:
    system = SYSTEMS[family]
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        top = pathlib.Path(scratch)
        (top / "debs").mkdir()
        names = sorted({name for rpm in system.packages for name in rpm.debian})
        subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *names], cwd=top, check=True)
        for name in names:
            (deb,) = top.glob("%s_*.deb" % name)
            subprocess.run(["dpkg-deb", "-x", str(deb), str(top / "debs" / name)], check=True)
        specs = []
        for rpm in (*system.packages, Rpm(PYTHONS[family])):
            root = top / "roots" / rpm.name
            root.mkdir(parents=True)
            fill(root, rpm, system.launcher, top / "debs")
            if rpm.name == PYTHONS[family]:
                (root / "usr/bin").mkdir(parents=True)
                shutil.copy2("/usr/bin/python3.11", root / "usr/bin")
            specs.append(top / (rpm.name + ".spec"))
            specs[-1].write_text(spec(rpm, "44.0", system.release, root), encoding="utf-8")
        options = ["--define", "_topdir %s" % top, "--define", "_rpmdir %s" % folder, "--define", "_rpmfilename %%{NAME}.rpm"]
        subprocess.run(["rpmbuild", "-bb", "--quiet", *options, *map(str, specs)], check=True)
    subprocess.run(["createrepo_c", "--quiet", str(folder)], check=True)


if __name__ == "__main__":
    build(sys.argv[1], pathlib.Path(sys.argv[2]))
