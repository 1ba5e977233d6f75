#!/usr/bin/env python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds the stand-ins for the vendor's downloads: build.py --into DIR. Needs Debian, root, gpg and the lab's Docker; see README.md."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True

from rdmalab._say import LabError
from rdmalab._settings import settings
from stackbuild import apt, bundle, debs, doca, download
from stackbuild.releases import BUNDLES, DOCAS


def digest(image: str, distro: str) -> str:
    """Return a hash of everything that the result depends on."""
    total = hashlib.sha256(("%s %s" % (image, distro)).encode())
    for path in sorted(HERE.rglob("*")):
        if path.is_file() and "cache" not in str(path.parent.name) and path.suffix not in (".md", ".pyc"):
            total.update(str(path.relative_to(HERE)).encode() + path.read_bytes())
    return total.hexdigest()[:12]


def distribution(kernel: str, into: pathlib.Path) -> None:
    """Build a repository of the distribution's packages that are too heavy for a container: dkms and kernel headers."""
    doca.dkms_package("99:3.0.10-8+deb12u1", into)
    headers = "/usr/src/linux-headers-%s/" % kernel
    link = "#!/bin/sh\nmkdir -p /lib/modules/%s && ln -sfn /usr/src/linux-headers-%s /lib/modules/%s/build\n" % (kernel, kernel, kernel)
    package = debs.Debian("linux-headers-" + kernel, "99", "amd64", {"Provides": "linux-headers"}, {"postinst": link})
    debs.make(package, {headers + "scripts/README": "no scripts\n", headers + "Makefile": "# no sources\n"}, into)
    debs.make(debs.Debian("linux-headers-amd64", "99", "amd64", {"Depends": "linux-headers-" + kernel}), {}, into)
    apt.flat(into, "Debian", None)


def build(image: str, distro: str, into: pathlib.Path, downloads: pathlib.Path) -> None:
    sources = download.download(image, downloads)
    kernel = download.kernel(image)
    manifest: dict[str, object] = {"kernel": kernel, "bundles": {}, "doca": {}}
    with apt.scratch() as scratch:
        signer = apt.Signer(pathlib.Path(scratch, "h"))
        try:
            bundles = {}
            for release in BUNDLES:
                print("MLNX_OFED %s" % release.version, file=sys.stderr, flush=True)
                archive = bundle.build(release, distro, sources, signer, into)
                checksum = "sha256:" + hashlib.sha256(archive.read_bytes()).hexdigest()
                bundles[release.version] = {"archive": archive.name, "folder": archive.stem, "checksum": checksum}
            docas = {}
            for release_of_doca in DOCAS:
                print("DOCA %s" % release_of_doca.version, file=sys.stderr, flush=True)
                repository = doca.build(release_of_doca, sources, signer, into / "doca")
                docas[release_of_doca.version] = {"repository": str(repository.relative_to(into)), "packages": release_of_doca.full}
            (into / "key.asc").write_text(signer.public(), encoding="utf-8")
        finally:
            signer.stop()
    distribution(kernel, into / "distribution")
    manifest.update(bundles=bundles, doca=docas, key="key.asc", distribution="distribution", distro=distro)
    (into / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", required=True, type=pathlib.Path, help="folder that gets the result; hard links into the cache where that works")
    parser.add_argument("--distro", default="debian12", help="what the bundles say they are for")
    options = parser.parse_args(argv)
    cache = settings().cache / "stacks"
    try:
        image = download.node_image()
        made = cache / digest(image, options.distro)
        if not made.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            work = pathlib.Path(tempfile.mkdtemp(dir=cache, prefix="work-"))
            try:
                build(image, options.distro, work, cache / "downloads")
                work.chmod(0o755)
                with contextlib.suppress(OSError):
                    work.rename(made)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        options.into.mkdir(parents=True, exist_ok=True)
        same = made.stat().st_dev == options.into.stat().st_dev
        shutil.copytree(made, options.into, symlinks=True, dirs_exist_ok=True, copy_function=replace if same else shutil.copy2)
    except (debs.StackError, LabError) as exc:
        print("build.py: %s" % exc, file=sys.stderr)
        return 1
    print(options.into)
    return 0


def replace(source: str, target: str) -> str:
    """Replace a file by a hard link."""
    pathlib.Path(target).unlink(missing_ok=True)
    os.link(source, target)
    return target


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
