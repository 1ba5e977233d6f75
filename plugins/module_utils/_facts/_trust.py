# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the kernel would load a module: this depends on whether it requires signatures and which keys it trusts."""

from __future__ import annotations

import contextlib
import glob
import gzip
import os
import re
import tempfile
import typing as t

from .._words import some
from ._boot import read_secure_boot
from ._signature import TAIL, Certificate, Signature, parse_certificate, parse_signature
from ._sysfs import attribute, content

if t.TYPE_CHECKING:
    from .._host._run import Runner

# Where DKMS and shim keep the certificates of keys that were created on the node. Signatures name the issuer of a certificate, and
# /proc/keys its subject: where these differ, only the certificate connects them.
_SITES_OWN = "etc/rdma-ofed/certificates"
_CERTIFICATES = (_SITES_OWN + "/*.der", "var/lib/dkms/*.pub", "var/lib/dkms/*.der", "var/lib/shim-signed/mok/*.der", "etc/dkms/*.der", "etc/dkms/*.pub")
# proc_keys_show in security/keys/proc.c truncates the type to nine characters.
_TYPE = " asymmetri "
_FLAGS = re.compile(r"\S+ (?P<flags>\S+) ")
_DESCRIPTION = re.compile(r"(?P<name>.*): (?P<id>[0-9a-f]+): \S+ [^:]*\Z")
# Revoked, dead, invalidated; and Q for keys that a user has added, which are in no keyring of the kernel.
_UNUSABLE = frozenset("RDiQ")
_SHOWN = 4


class Key(t.NamedTuple):
    """A key that the kernel trusts."""

    name: str
    """The subject of its certificate."""
    id: str
    """Its identifier, or the certificate's serial number where it has none."""


class Trust(t.NamedTuple):
    """The conditions under which the kernel accepts a signature."""

    enforced: bool = False
    keys: tuple[Key, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    """The certificates on the node. They give the identifier of a key for its issuer and serial number."""


class Untrusted(t.NamedTuple):
    """A module that the kernel would refuse."""

    module: str
    signer: str = ""
    """The signer; "" for an unsigned module."""


def parse_keys(text: str) -> tuple[Key, ...]:
    """Parse /proc/keys: the certificates in the kernel's own keyrings, `NAME: ID: X509.rsa SHORT []` (asymmetric_key_describe in crypto/asymmetric_keys)."""
    found = []
    for line in text.splitlines():
        head, _type, description = line.rpartition(_TYPE)
        flags, match = _FLAGS.match(head), _DESCRIPTION.match(description)
        if flags and match and not _UNUSABLE & set(flags.group("flags")):
            found.append(Key(match.group("name"), match.group("id").lstrip("0")))
    return tuple(found)


def is_enforced(sig_enforce: str, lockdown: str, secure_boot: bool) -> bool:
    """Whether the kernel loads only signed modules. A kernel that shows no lockdown state is assumed to lock down with Secure Boot."""
    if sig_enforce == "Y":
        return True
    return "[none]" not in lockdown if lockdown else secure_boot


def is_trusted(signature: Signature, trust: Trust) -> bool:
    """Whether the kernel trusts the key.

    The kernel shows no issuers and serial numbers, so a certificate on the node has to give the identifier. Without one, the name decides.
    """
    ids = {key.id for key in trust.keys}
    if signature.key_id:
        return signature.key_id.lstrip("0") in ids
    if not signature.serial:
        return False
    known = [one for one in trust.certificates if (one.issuer, one.serial) == (signature.issuer, signature.serial)]
    if known:
        return any((one.key_id or one.serial).lstrip("0") in ids for one in known)
    named = bool(signature.name) and any(key.name == signature.name or key.name.endswith(": " + signature.name) for key in trust.keys)
    return signature.serial in ids or named


def read_trust(root: str = "/") -> Trust:
    """Read the conditions. The keys are read only where they matter."""
    sig_enforce = attribute(root, "sys/module/module/parameters/sig_enforce")
    if not is_enforced(sig_enforce, attribute(root, "sys/kernel/security/lockdown"), read_secure_boot(root)):
        return Trust()
    paths = sorted(path for pattern in _CERTIFICATES for path in glob.glob(os.path.join(root, pattern)))
    found = [parse_certificate(content(path)) for path in paths]
    return Trust(True, parse_keys(attribute(root, "proc/keys")), tuple(one for one in found if one))


def _unpacked(path: str, run: Runner) -> bytes:
    """The end of a module's file after decompression. Raises OSError where it can't be read."""
    if path.endswith(".gz"):
        with gzip.open(path) as stream:
            return stream.read()[-TAIL:]
    if path.endswith(".xz"):
        # Not every Python has lzma.
        import lzma

        with lzma.open(path) as stream:
            return stream.read()[-TAIL:]
    if path.endswith(".zst"):
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "module.ko")
            if not run.has("zstd") or run(["zstd", "-dqf", "-o", plain, path], ok=None).rc != 0:
                raise OSError(path)
            return content(plain)[-TAIL:]
    with open(path, "rb") as stream:
        stream.seek(max(os.fstat(stream.fileno()).st_size - TAIL, 0))
        return stream.read()


def read_signature(path: str, run: Runner) -> Signature | None:
    """The signer of a module's file; None where it is not signed. If the file can't be read, modinfo is used."""
    with contextlib.suppress(OSError, EOFError, ImportError):
        return parse_signature(_unpacked(path, run))
    name = run(["modinfo", "-F", "signer", path], ok=None, timeout=20).stdout.strip()
    serial = run(["modinfo", "-F", "sig_key", path], ok=None, timeout=20).stdout.strip()
    return Signature(serial=serial.replace(":", "").lower().lstrip("0"), name=name) if name or serial else None


def untrusted(files: t.Mapping[str, str], run: Runner, root: str = "/") -> tuple[Untrusted, ...]:
    """The modules whose signatures the kernel would refuse. `files`: paths by module name."""
    trust = read_trust(root)
    if not trust.enforced:
        return ()
    found = []
    for name, path in sorted(files.items()):
        signature = read_signature(path, run)
        if signature is None:
            found.append(Untrusted(name))
        elif not is_trusted(signature, trust):
            found.append(Untrusted(name, signature.name or signature.key_id or "an unknown key"))
    return tuple(found)


def words(found: t.Sequence[Untrusted]) -> str:
    """The modules that the kernel would refuse, and how to fix that, in words; "" where it would refuse none."""
    if not found:
        return ""
    causes = []
    for signer in sorted({one.signer for one in found}):
        names = some([one.module for one in found if one.signer == signer], _SHOWN)
        causes.append('%s: signed by "%s", which this kernel does not trust' % (names, signer) if signer else "%s: not signed" % names)
    return (
        "the kernel loads only modules with a trusted signature, and would refuse %s. Enrol the certificate of the key (mokutil --import FILE, for DKMS "
        "/var/lib/dkms/mok.pub; then reboot and confirm on the console; mokutil --test-key FILE and /proc/keys tell whether it is enrolled), use the "
        "packages that the vendor has signed and enrol the vendor's key, or turn Secure Boot off. Where the key is enrolled and an authority has issued "
        "its certificate, put that, in DER, into /%s/NAME.der: without it, the key can't be recognized"
    ) % ("; ".join(causes), _SITES_OWN)
