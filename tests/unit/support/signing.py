# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Signs modules as the kernel's scripts/sign-file does, with keys from openssl."""

from __future__ import annotations

import pathlib
import struct
import subprocess
import typing as t

MARKER = b"~Module signature appended~\n"
_CODE = b"\x7fELF and so on" * 100


def _openssl(*arguments: str | pathlib.Path, stdin: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *map(str, arguments)], input=stdin, check=True, capture_output=True).stdout


class Signer(t.NamedTuple):
    """A key with its certificate."""

    key: pathlib.Path
    certificate: pathlib.Path
    """Certificate in PEM format."""
    name: str

    def der(self) -> bytes:
        return _openssl("x509", "-in", self.certificate, "-outform", "DER")

    def listed(self, flags: str = "I------") -> str:
        """Return its line in /proc/keys."""
        text = _openssl("x509", "-in", self.certificate, "-noout", "-ext", "subjectKeyIdentifier").decode()
        number = text.split()[-1].replace(":", "").lower() if ":" in text.split()[-1] else self.serial()
        return "0a5bd1a3 %s     1 perm 1f030000     0     0 asymmetri %s: %s: X509.rsa %s []\n" % (flags, self.name, number, number[-8:])

    def serial(self) -> str:
        return _openssl("x509", "-in", self.certificate, "-noout", "-serial").decode().strip().partition("=")[2].lower()

    def sign(self, *options: str) -> bytes:
        """Sign a module; `-keyid` names the signer by the identifier of the key."""
        cms = ["cms", "-sign", "-binary", "-noattr", "-nosmimecap", "-md", "sha256", "-outform", "DER", "-signer", self.certificate, "-inkey", self.key]
        message = _openssl(*cms, *options, stdin=_CODE)
        return _CODE + message + struct.pack(">BBBBB3xI", 0, 0, 2, 0, 0, len(message)) + MARKER


UNSIGNED = _CODE


def make_signer(folder: pathlib.Path, name: str) -> Signer:
    """Create a self-signed key with an identifier, as `dkms` does at its first use."""
    files = folder / ("%s.key" % name.replace(" ", "_")), folder / ("%s.pem" % name.replace(" ", "_"))
    _openssl("req", "-new", "-x509", "-nodes", "-days", "36500", "-newkey", "rsa:2048", "-subj", "/CN=%s" % name, "-keyout", files[0], "-out", files[1])
    return Signer(*files, name)
