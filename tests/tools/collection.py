# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds the collection and installs the tarball into build/collections, as a user would. The tests thus run the shipped files."""

from __future__ import annotations

import os
import shutil

from common import BUILD, ROOT, digest, is_stamped, main, run, say

SHIPPED = ("galaxy.yml", "LICENSE", "README.md", "CHANGELOG.rst", "changelogs", "docs", "meta", "playbooks", "plugins", "roles")
GALAXY = str(ROOT / ".venv/bin/ansible-galaxy")


def link_checkout() -> None:
    """Link build/checkout/ansible_collections/rdma/ofed to this checkout. Linters resolve imports and FQCNs through it."""
    link = BUILD / "checkout/ansible_collections/rdma/ofed"
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(ROOT, link.parent))


def install() -> None:
    link_checkout()
    target = BUILD / "collections"
    stamp = target / ".stamp"
    wanted = digest([ROOT / name for name in SHIPPED])
    if is_stamped(stamp, wanted):
        return
    say("building the collection and installing it into build/collections")
    shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(BUILD / "dist", ignore_errors=True)
    run([GALAXY, "collection", "build", "--output-path", str(BUILD / "dist"), "--force"], log="collection-build")
    tarball = next((BUILD / "dist").glob("*.tar.gz"))
    run([GALAXY, "collection", "install", str(tarball), "--offline", "--no-deps", "--collections-path", str(target)], log="collection-install")
    stamp.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main(install)
