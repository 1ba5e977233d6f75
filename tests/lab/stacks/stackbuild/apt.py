# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repositories for apt: plain-text Packages and Release files, signed by gpg."""

from __future__ import annotations

import gzip
import hashlib
import pathlib
import tempfile
import typing as t

from . import control, debs

KEY_NAME = "rdma.ofed lab repository"


def packages_text(folder: pathlib.Path, pool: pathlib.Path) -> str:
    """Return the index of the packages in `pool`, with paths relative to `folder`."""
    paragraphs = []
    for deb in sorted(pool.rglob("*.deb")):
        data = deb.read_bytes()
        fields = debs.fields_of(deb)
        description = fields.pop("Description", "")
        extra = {
            "Filename": str(deb.relative_to(folder)) if pool != folder else "./" + deb.name,
            "Size": str(len(data)),
            "MD5sum": hashlib.md5(data, usedforsecurity=False).hexdigest(),
            "SHA256": hashlib.sha256(data).hexdigest(),
            "Description": description,
        }
        paragraphs.append(control.render({**fields, **extra}))
    return "\n".join(paragraphs)


def release_text(origin: str, files: t.Mapping[str, bytes]) -> str:
    lines = ["Origin: %s" % origin, "Label: %s" % origin, "Architectures: amd64", "Date: Mon, 06 Nov 2023 10:00:00 UTC", "SHA256:"]
    lines += [" %s %d %s" % (hashlib.sha256(data).hexdigest(), len(data), name) for name, data in sorted(files.items())]
    return "\n".join(lines) + "\n"


class Signer:
    """A key per build, without a passphrase and in a temporary directory."""

    def __init__(self, home: pathlib.Path) -> None:
        self.argv = ["gpg", "--homedir", str(home), "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        home.mkdir(mode=0o700, exist_ok=True)
        debs.run(*self.argv, "--quick-generate-key", KEY_NAME, "rsa2048", "sign", "never")

    def public(self) -> str:
        return debs.run(*self.argv, "--armor", "--export", KEY_NAME)

    def sign(self, release: pathlib.Path) -> None:
        debs.run(*self.argv, "--armor", "--detach-sign", "--output", str(release.with_name("Release.gpg")), str(release))
        debs.run(*self.argv, "--clear-sign", "--output", str(release.with_name("InRelease")), str(release))

    def stop(self) -> None:
        debs.run("gpgconf", "--homedir", self.argv[2], "--kill", "all")


def flat(folder: pathlib.Path, origin: str, signer: Signer | None) -> None:
    """Make a directory of packages a repository of the form `deb FOLDER ./`."""
    data = packages_text(folder, folder).encode()
    files = {"Packages": data, "Packages.gz": gzip.compress(data, 1, mtime=0)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "Release").write_text(release_text(origin, files), encoding="utf-8")
    if signer:
        signer.sign(folder / "Release")


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary directory for a key: the socket of its agent needs a short path."""
    return tempfile.TemporaryDirectory(prefix="stk")
