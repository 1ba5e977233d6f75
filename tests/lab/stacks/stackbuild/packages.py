# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All packages of one release, in one directory."""

from __future__ import annotations

import pathlib
import shutil
import typing as t

from . import catalog, control, debs
from .releases import Release

VENDOR = pathlib.Path(__file__).resolve().parents[1] / "vendor"
# Strings that the installer and the uninstaller search for in the names of installed packages.
REMOVE = (
    "ar-mgr cc-mgr compat-dapl1 dapl1 dapl2-utils dump-pr ibacm ibsim ibsim-utils ibutils ibutils2 ibverbs-utils infiniband-diags libdapl2 libibcm1"
    " libibdm1 libibmad libibmad5 libibmad-dev libibnetdisc5 libibumad libibumad3 libibumad-dev libibverbs1 libibverbs-dev libipathverbs1 libmlx4-1"
    " libmlx5-1 librxe-1 libopensm libopensm-devel librdmacm1 librdmacm-dev libsdp1 libumad2sim0 mlnx-ofed-kernel-dkms mlnx-ofed-kernel-modules"
    " mlnx-ofed-kernel-utils ofed-docs ofed-scripts opensm opensm-libs opensm-doc perftest rdmacm-utils rds-tools sdpnetstat srptools mft kernel-mft-dkms"
    " mstflint mxm ucx fca openmpi openshmem mpitests knem knem-dkms ummunotify libvma sockperf iser-dkms isert-dkms srp-dkms libmthca1 ibdump"
    " mlnx-ethtool mlnx-iproute2 mlnx-fw-updater knem-modules iser-modules isert-modules srp-modules kernel-mft-modules libosmvendor libosmvendor4"
    " libosmcomp libosmcomp3 mlnx-en mlnx-nfsrdma-dkms mlnx-nvme-dkms ibverbs-providers rdma-core neohost-backend rshim-dkms python3-pyverbs mlnx-tools"
    " hcoll sharp dpcp libxlio mlnx-dpdk"
)


def vendor(name: str, **words: str) -> str:
    """Return a file of ../vendor with its @WORDS@ filled in."""
    text = (VENDOR / name).read_text(encoding="utf-8")
    if "@FAULTS@" in text:
        text = text.replace("@FAULTS@", (VENDOR / "faults.snippet").read_text(encoding="utf-8").rstrip())
    for word, value in words.items():
        text = text.replace("@%s@" % word, value)
    return text


def _postinst(name: str) -> str:
    return "#!/bin/sh\n%sexit 0\n" % (VENDOR / "faults.snippet").read_text(encoding="utf-8").replace("@NAME@", name)


def _opensm(tree: pathlib.Path) -> t.Mapping[str, str]:
    """Replace the distribution's units by the vendor's service opensmd."""
    for name in ("lib/systemd/system/opensm.service", "lib/systemd/system/opensm@.service", "etc/init.d/opensm", "etc/default/opensm"):
        (tree / name).unlink()
    shutil.copy(VENDOR / "opensmd.service", tree / "lib/systemd/system/opensmd.service")
    reload = "#!/bin/sh\n[ ! -d /run/systemd/system ] || systemctl daemon-reload || true\n"
    stop = "#!/bin/sh\n[ ! -d /run/systemd/system ] || [ $1 != remove ] || systemctl disable --now opensmd 2>/dev/null || true\n"
    return {"postinst": reload, "prerm": stop, "postrm": reload}


def _userland(release: Release, sources: t.Mapping[str, pathlib.Path], into: pathlib.Path) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    versions = {name: catalog.version(release, name) for name in catalog.package_names()}
    found = {}
    for name in catalog.REPACKED:
        parts = [sources[part] for part, whole in catalog.MERGED.items() if whole == name] or [sources[name]]
        edit = _opensm if name == "opensm" else lambda tree: None
        merged = [part for part, whole in catalog.MERGED.items() if whole == name]
        extra = {"Conflicts": ", ".join(merged), "Replaces": ", ".join(merged)} if merged else {}
        fields = debs.repack(parts, versions, catalog.MERGED, into, edit, extra)
        depends = dict.fromkeys(control.names(fields.get("Depends", "")))
        found[name] = (tuple(part for part in depends if part in versions), tuple(part for part in depends if part not in versions))
    return found


def _kernel_files(release: Release) -> dict[str, dict[str, str | bytes]]:
    dkms = release.kernel.partition("-")[0]
    version = release.internal
    source = "/usr/src/mlnx-ofed-kernel-%s/" % dkms
    code = {name: vendor("dkms/" + name, DKMS=dkms, VERSION=version) for name in ("Makefile", "dkms.conf", "standin-make.sh")}
    code.update({name: vendor("dkms/" + name, VERSION=version) for name in ("mlx_compat.c", "mlx5_core.c", "mlx5_ib.c")})
    return {
        "mlnx-ofed-kernel-dkms": {source + name: text for name, text in code.items()},
        "mlnx-ofed-kernel-utils": {
            "/etc/init.d/openibd": vendor("openibd.sh"),
            "/lib/systemd/system/openibd.service": vendor("openibd.service"),
            "/etc/infiniband/openib.conf": vendor("openib.conf"),
            "/etc/infiniband/info": "#!/bin/bash\necho prefix=/usr\necho Kernel=`uname -r`\n",
            "/etc/modprobe.d/ib_ipoib.conf": "# Module parameters for MLNX_OFED kernel modules\nalias netdev-ib* ib_ipoib\n",
            "/etc/modprobe.d/mlnx.conf": "# Module parameters for MLNX_OFED kernel modules\n",
            "/etc/udev/rules.d/90-ib.rules": 'KERNEL=="umad*", NAME="infiniband/%k", MODE="0600"\nKERNEL=="uverbs*", NAME="infiniband/%k", MODE="0666"\n',
        },
    }


def _files(release: Release) -> dict[str, dict[str, str | bytes]]:
    names = "|".join(catalog.package_names())
    listed = "\n".join(
        "%s:\n/sw/release/mlnx_ofed/IBHPC/OFED-internal-%s/SRPMS/%s-%s.src.rpm\n"
        % (name.replace("-", "_"), release.internal, name, catalog.version(release, name))
        for name in catalog.package_names()
        if not catalog.is_kernel(name)
    )
    return {
        **_kernel_files(release),
        "ofed-scripts": {
            "/usr/bin/ofed_info": vendor("ofed_info.sh", INTERNAL=release.internal, SOURCES=listed, NAMES=names),
            "/usr/sbin/ofed_uninstall.sh": vendor("uninstall.py", REMOVE=REMOVE),
        },
        "mlnx-tools": {"/usr/bin/ibdev2netdev": vendor("ibdev2netdev.sh")},
        "mft": {"/usr/bin/mst": '#!/bin/sh\necho "mst, mft %s, built on Nov 05 2023"\n' % release.package("mft")},
        "kernel-mft-dkms": {},
    }


def _executables(files: t.Iterable[str]) -> list[str]:
    return [path for path in files if path.startswith(("/usr/bin/", "/usr/sbin/", "/etc/init.d/")) or path == "/etc/infiniband/info"]


def _stub(release: Release, entry: catalog.Entry, files: t.Mapping[str, str | bytes], into: pathlib.Path) -> None:
    name = entry.name
    depends = ["%s | %s-modules" % (need, need[: -len("-dkms")]) if need.endswith("-dkms") else need for need in entry.needs]
    fields = {"Depends": ", ".join([*depends, *entry.distro])}
    scripts = {"postinst": _postinst(name)}
    conffiles = tuple(path for path in files if path.startswith("/etc/"))
    if name == "mlnx-ofed-kernel-utils":
        scripts["postinst"] = vendor("kernel-utils.postinst.sh", NAME=name)
        scripts["prerm"] = "#!/bin/sh\n[ ! -d /run/systemd/system ] || systemctl disable openibd >/dev/null 2>&1 || true\n"
    if name == "mlnx-ofed-kernel-dkms":
        dkms = release.kernel.partition("-")[0]
        fields["Recommends"] = "linux-headers-amd64 | linux-headers-generic | linux-headers"
        fields["Conflicts"] = "mlnx-ofed-kernel-modules"
        scripts["postinst"] = vendor("kernel-dkms.postinst.sh", NAME=name, DKMS=dkms)
        scripts["prerm"] = "#!/bin/sh\ncase $1 in remove|upgrade|deconfigure) dkms remove -m mlnx-ofed-kernel -v %s --all || true ;; esac\n" % dkms
    package = debs.Debian(name, entry.version, entry.arch, {key: value for key, value in fields.items() if value}, scripts, conffiles)
    debs.make(package, files, into, _executables(files))


def build(release: Release, sources: t.Mapping[str, pathlib.Path], into: pathlib.Path) -> dict[str, catalog.Entry]:
    """Build all packages except metapackages and the updater. Returns their catalogue."""
    entries = catalog.entries(release, _userland(release, sources, into))
    files = _files(release)
    for name, entry in entries.items():
        if name not in catalog.REPACKED:
            _stub(release, entry, files.get(name, {}), into)
    updater = debs.Debian("mlnx-fw-updater", release.version, "amd64", scripts={"postinst": vendor("fw-updater.postinst.sh", NAME="mlnx-fw-updater")})
    debs.make(updater, {"/opt/mellanox/mlnx-fw-updater/README": "No firmware in here.\n"}, into)
    return entries


def metapackage(meta: catalog.Meta, version: str, into: pathlib.Path) -> None:
    fields = {"Depends": ", ".join(meta.depends), "Section": "utils", "Description": meta.description}
    marker: dict[str, str | bytes] = {"/usr/share/doc/%s/%s-release" % (meta.name, meta.name): version + "\n"}
    debs.make(debs.Debian(meta.name, version, "all", fields), marker, into)
