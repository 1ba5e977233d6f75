# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Empty RPM packages with the dependencies of the distribution's and the vendor's packages, as repositories.

Runs on a node with rpmbuild and createrepo_c: `python3 repositories.py /srv/rpm`.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import typing as t

VERBS, RDMACM, PCAP, UMAD = ("%s()(64bit)" % name for name in ("libibverbs.so.1", "librdmacm.so.1", "libpcap.so.1", "libibumad.so.3"))


class Rpm(t.NamedTuple):
    """An RPM package."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()


def _user_space(version: str, release: str) -> list[Rpm]:
    """Return the packages that both a distribution and the vendor build from rdma-core. The libraries require each other in the exact version."""
    whole = "%s-%s" % (version, release)
    return [
        Rpm("rdma-core", whole, ("libibverbs = " + whole,)),
        Rpm("libibverbs", whole, ("rdma-core = " + whole,), (VERBS,)),
        Rpm("librdmacm", whole, ("libibverbs = " + whole, VERBS), (RDMACM,)),
        Rpm("libibumad", whole, ("rdma-core = " + whole,), (UMAD,)),
        Rpm("infiniband-diags", whole, ("libibumad = " + whole, UMAD)),
    ]


def _vendor(version: str, release: str, kernel: str) -> list[Rpm]:
    return [
        *_user_space(version, release),
        Rpm("opensm", "5.17.0.MLNX2310-0.1.%s" % release, (UMAD,)),
        Rpm("ofed-scripts", kernel, ()),
        Rpm("mlnx-tools", "23.10-0.%s" % release, ("ofed-scripts",)),
        Rpm("mlnx-ofa_kernel", kernel + ".1", ("mlnx-tools",)),
        Rpm("ucx", "1.16.0-1.%s" % release, (VERBS,)),
    ]


REPOSITORIES: dict[str, list[Rpm]] = {
    # libpcap links libibverbs since RHEL 8, and the firewall depends on libpcap.
    "distribution": [
        # Installed on every system. zypper cannot read a database that has become empty.
        Rpm("filesystem", "3.16-2.el9"),
        *_user_space("48.0", "1.el9"),
        Rpm("opensm", "3.3.24-5.el9", (UMAD,)),
        Rpm("libpcap", "1.10.0-4.el9", (VERBS,), (PCAP,)),
        Rpm("iptables-libs", "1.8.8-6.el9", (PCAP,)),
        Rpm("firewalld", "1.2.1-1.el9", ("iptables-libs",)),
        Rpm("tk", "8.6.10-9.el9"),
        Rpm("site-lustre", "2.15-1.el9", ("rdma-core = 48.0-1.el9",)),
    ],
    # Packages of EPEL and of the next minor release: newer than the vendor's packages of the same names.
    "updates": [*_user_space("9948.0", "1.el9"), Rpm("opensm", "9903.3.24-5.el9", (UMAD,)), Rpm("ucx", "9901.18.1-1.el9", (VERBS,))],
    "mlnx_ofed": [
        *_vendor("2310mlnx47", "1.2310055", "23.10-OFED.23.10.0.5.5"),
        Rpm("mlnx-ofed-all", "23.10-0.5.5.0", ("opensm", "ucx", "rdma-core", "librdmacm", "infiniband-diags", "mlnx-ofa_kernel")),
    ],
    "doca": [
        *_vendor("2410mlnx54", "1.2410114", "24.10-OFED.24.10.1.1.4"),
        Rpm("doca-ofed", "2.9.1-0.1.4", ("opensm", "ucx", "rdma-core", "librdmacm", "infiniband-diags", "mlnx-ofa_kernel")),
    ],
}


def spec(rpm: Rpm) -> str:
    """Return the spec file of an empty package."""
    version, release = rpm.version.rsplit("-", 1)
    lines = ["Name: " + rpm.name, "Version: " + version, "Release: " + release, "Summary: stand-in", "License: none", "BuildArch: noarch"]
    lines += ["Requires: " + name for name in rpm.requires] + ["Provides: " + name for name in rpm.provides]
    return "\n".join([*lines, "AutoReqProv: no", "%description", "stand-in", "%files", ""])


def build(into: pathlib.Path) -> None:
    for repository, packages in REPOSITORIES.items():
        folder = into / repository
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as top:
            paths = []
            for rpm in packages:
                path = pathlib.Path(top, rpm.name + ".spec")
                path.write_text(spec(rpm), encoding="utf-8")
                paths.append(str(path))
            options = ["--define", "_topdir %s" % top, "--define", "_rpmdir %s" % folder, "--define", "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.rpm"]
            subprocess.run(["rpmbuild", "-bb", "--quiet", *options, *paths], check=True)
        subprocess.run(["createrepo_c", "--quiet", str(folder)], check=True)


if __name__ == "__main__":
    build(pathlib.Path(sys.argv[1]))
