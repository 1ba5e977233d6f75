# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bundle of MLNX_OFED: the vendor's directory tree and its archive."""

from __future__ import annotations

import json
import pathlib
import shutil
import typing as t

from . import apt, catalog, debs, packages
from .packages import VENDOR
from .releases import Release

INSTALLER = "mlnxofedinstall"


def folder_name(release: Release, distro: str) -> str:
    return "MLNX_OFED_LINUX-%s-%s-x86_64" % (release.version, distro)


def _write(root: pathlib.Path, files: t.Mapping[str, str], mode: int = 0o644) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)


def catalogue_text(entries: t.Mapping[str, catalog.Entry]) -> str:
    """Return the catalogue that the installer reads."""
    document = {
        "packages": {name: entry._asdict() for name, entry in entries.items()},
        "groups": {name: list(members) for name, members in catalog.GROUPS.items()},
        "required": list(catalog.REQUIRED),
        "remove": packages.REMOVE.split(),
        # Installed packages of these names do not cause exit status 174.
        "known": [*entries, "mlnx-fw-updater"],
    }
    return json.dumps(document, indent=1)


def build(release: Release, distro: str, sources: t.Mapping[str, pathlib.Path], signer: apt.Signer, into: pathlib.Path) -> pathlib.Path:
    """Build the archive and return its path. The source tree stays beside it."""
    root = into / folder_name(release, distro)
    entries = packages.build(release, sources, root / "DEBS")
    for meta in catalog.metapackages(release, entries):
        packages.metapackage(meta, release.version, root / "DEBS")
    apt.flat(root / "DEBS", "MLNX_OFED", signer)
    groups = {"docs/conf/ofed-%s.conf" % name: "".join(member + "=y\n" for member in members) for name, members in catalog.GROUPS.items()}
    _write(
        root,
        {
            ".mlnx": release.version + "\n",
            ".arch": "x86_64\n",
            "distro": distro + "\n",
            "LICENSE": "A stand-in for tests: there is nothing of the vendor's in it. GPL-3.0-or-later\n",
            "RPM-GPG-KEY-Mellanox": signer.public(),
            "docs/MLNX_OFED_README": "Stand-in for MLNX_OFED %s\n" % release.version,
            "docs/Secure_Boot/README.txt": "mokutil --import mlnx_signing_key_pub.der\n",
            "docs/Secure_Boot/mlnx_signing_key_pub.der": "no key\n",
            "docs/readme_and_user_manual/MLNX_OFED_configuration_files.txt": "/etc/infiniband/openib.conf\n/etc/modprobe.d/mlnx.conf\n",
            "src/README": "MLNX_OFED_SRC-%s.tgz is left out\n" % release.version,
            **groups,
            ".standin/catalogue.json": catalogue_text(entries),
        },
    )
    _write(
        root,
        {
            INSTALLER: packages.vendor("mlnxofedinstall.py"),
            "uninstall.sh": packages.vendor("uninstall.py", REMOVE=packages.REMOVE),
            "mlnx_add_kernel_support.sh": packages.vendor("mlnx_add_kernel_support.sh"),
        },
        0o755,
    )
    ignored = shutil.ignore_patterns("__pycache__", ".mypy_cache")
    shutil.copytree(VENDOR / "standin", root / ".standin/standin", ignore=ignored, dirs_exist_ok=True)
    for name in ("kmodfile.py", "kernel_debs.py"):
        shutil.copy(VENDOR / name, root / ".standin" / name)
    archive = into / (root.name + ".tgz")
    debs.run("tar", "--sort=name", "--owner=0", "--group=0", "--use-compress-program=gzip -1", "-C", str(into), "-cf", str(archive), root.name)
    return archive
