# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Signatures of locally signed modules, and whether a kernel trusts their keys."""

from __future__ import annotations

import gzip
import lzma
import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _signature, _trust
from ansible_collections.rdma.ofed.plugins.module_utils._facts._trust import Key, Untrusted
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support import signing

# The headings of proc_keys_show in security/keys/proc.c: serial, flags, uses, expiry, permissions, uid, gid, type (nine characters), description.
KEYRINGS = """\
00b875d4 I------     1 perm 1f0b0000     0     0 keyring   .builtin_trusted_keys: 2
1b1f57e6 I------     1 perm 1f030000     0     0 asymmetri Debian Secure Boot CA: 6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1: X509.rsa bb419ea1 []
2c3d4e5f I------     1 perm 1f030000     0     0 asymmetri Site: Signing: key of modules: 00aa11: X509.rsa 0000aa11 []
0027654e I--Q---     1 perm 0b0b0000     0     0 user      invocation_id: 16
"""


@pytest.fixture(scope="module", name="dkms")
def key_of_dkms(tmp_path_factory: pytest.TempPathFactory) -> signing.Signer:
    return signing.make_signer(tmp_path_factory.mktemp("dkms"), "DKMS module signing key")


@pytest.fixture(scope="module", name="other")
def key_of_another_node(tmp_path_factory: pytest.TempPathFactory) -> signing.Signer:
    """dkms creates a key per node, and all of them have the same name."""
    return signing.make_signer(tmp_path_factory.mktemp("other"), "DKMS module signing key")


def test_who_signed(dkms: signing.Signer) -> None:
    certificate = _signature.parse_certificate(dkms.der())
    assert certificate is not None and certificate.subject == dkms.name
    for options in ([], ["-nocerts"]):
        found = _signature.parse_signature(dkms.sign(*options))
        assert found is not None
        assert (found.issuer, found.serial, found.name) == (certificate.issuer, dkms.serial().lstrip("0"), dkms.name)
    by_key = _signature.parse_signature(dkms.sign("-keyid", "-nocerts"))
    assert by_key is not None and by_key.key_id == certificate.key_id != ""


def test_not_signed() -> None:
    assert _signature.parse_signature(signing.UNSIGNED) is None
    assert _signature.parse_signature(b"") is None


def test_a_damaged_signature_is_that_of_no_key(dkms: signing.Signer) -> None:
    module = dkms.sign("-nocerts")
    found = _signature.parse_signature(module[:-400] + signing.MARKER)
    assert found == _signature.Signature() and not _trust.is_trusted(found, _trust.Trust(True, _trust.parse_keys(KEYRINGS)))


def test_keys() -> None:
    assert _trust.parse_keys(KEYRINGS) == (
        Key("Debian Secure Boot CA", "6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1"),
        Key("Site: Signing: key of modules", "aa11"),
    )


@pytest.mark.parametrize("flags", ["I--Q---", "IR-----", "I-D----"])
def test_keys_that_are_in_no_keyring_of_the_kernel(flags: str, dkms: signing.Signer) -> None:
    assert _trust.parse_keys(dkms.listed(flags)) == ()


@pytest.mark.parametrize(
    ("sig_enforce", "lockdown", "secure_boot", "enforced"),
    [
        ("Y", "", False, True),
        ("N", "none [integrity] confidentiality", False, True),
        ("N", "none integrity [confidentiality]", True, True),
        ("N", "[none] integrity confidentiality", True, False),
        ("N", "", True, True),
        ("N", "", False, False),
        ("", "", False, False),
    ],
)
def test_when_signatures_are_demanded(sig_enforce: str, lockdown: str, secure_boot: bool, enforced: bool) -> None:
    assert _trust.is_enforced(sig_enforce, lockdown, secure_boot) == enforced


class Runner:
    """A runner for modinfo that cannot read the file."""

    def __init__(self, fields: dict[str, str] | None = None) -> None:
        self.fields = fields or {}

    def has(self, tool: str) -> bool:
        return False

    def __call__(self, argv: object, ok: object = (0,), timeout: float = 60) -> Output:
        assert isinstance(argv, list)
        return Output(0, self.fields[argv[2]] + "\n", "")


def node(tmp_path: pathlib.Path, keys: str, certificate: bytes = b"") -> str:
    tree: nodes.Tree = {"sys/module/module/parameters/sig_enforce": "Y\n", "proc/keys": KEYRINGS + keys}
    if certificate:
        tree["var/lib/dkms/mok.pub"] = certificate
    return nodes.write(tmp_path, tree)


@pytest.mark.parametrize("name", ["mlx5_core.ko", "mlx5_core.ko.xz", "mlx5_core.ko.gz"])
def test_a_key_that_nobody_enrolled(name: str, tmp_path: pathlib.Path, dkms: signing.Signer, other: signing.Signer) -> None:
    path = tmp_path / name
    packed = {"xz": lzma.compress, "gz": gzip.compress}.get(path.suffix[1:], lambda data: data)
    path.write_bytes(packed(dkms.sign("-nocerts")))
    files = {"mlx5_core": str(path)}
    # Another node's key has the same name; only the certificate distinguishes them.
    assert _trust.untrusted(files, Runner(), node(tmp_path / "a", other.listed(), dkms.der())) == (Untrusted("mlx5_core", dkms.name),)
    assert _trust.untrusted(files, Runner(), node(tmp_path / "b", dkms.listed(), dkms.der())) == ()
    assert _trust.untrusted(files, Runner(), node(tmp_path / "c", "")) == (Untrusted("mlx5_core", dkms.name),)
    # Without the certificate, only the name can be compared.
    assert _trust.untrusted(files, Runner(), node(tmp_path / "d", dkms.listed())) == ()
    path.write_bytes(packed(signing.UNSIGNED))
    assert _trust.untrusted(files, Runner(), node(tmp_path / "e", dkms.listed())) == (Untrusted("mlx5_core"),)
    # If the kernel requires no signature, none is read.
    assert _trust.untrusted(files, Runner(), nodes.write(tmp_path / "f", {"proc/keys": ""})) == ()


def test_a_key_whose_certificate_an_authority_has_issued(tmp_path: pathlib.Path, dkms: signing.Signer) -> None:
    """The signature names the issuer, and the kernel the subject. The certificate, which the site provides, connects them."""
    path = tmp_path / "mlx5_core.ko"
    path.write_bytes(dkms.sign("-nocerts"))
    root = node(tmp_path / "a", dkms.listed().replace(dkms.name, "modules of the site"))
    (found,) = _trust.untrusted({"mlx5_core": str(path)}, Runner(), root)
    assert "/etc/rdma-ofed/certificates/NAME.der" in _trust.words([found])
    nodes.write(pathlib.Path(root), {"etc/rdma-ofed/certificates/site.der": dkms.der()})
    assert _trust.untrusted({"mlx5_core": str(path)}, Runner(), root) == ()


def test_the_identifier_in_the_signature(tmp_path: pathlib.Path, dkms: signing.Signer, other: signing.Signer) -> None:
    path = tmp_path / "mlx5_core.ko"
    path.write_bytes(dkms.sign("-nocerts", "-keyid"))
    assert _trust.untrusted({"mlx5_core": str(path)}, Runner(), node(tmp_path / "a", dkms.listed())) == ()
    (found,) = _trust.untrusted({"mlx5_core": str(path)}, Runner(), node(tmp_path / "b", other.listed()))
    assert found.signer


def test_what_can_not_be_unpacked_is_asked_of_modinfo(tmp_path: pathlib.Path, dkms: signing.Signer) -> None:
    files = {"mlx5_core": str(tmp_path / "mlx5_core.ko.zst")}
    serial = ":".join(dkms.serial()[start : start + 2].upper() for start in range(0, len(dkms.serial()), 2))
    signed = Runner({"signer": dkms.name, "sig_key": serial})
    assert _trust.untrusted(files, signed, node(tmp_path / "a", "")) == (Untrusted("mlx5_core", dkms.name),)
    assert _trust.untrusted(files, signed, node(tmp_path / "b", dkms.listed())) == ()
    assert _trust.untrusted(files, Runner({"signer": "", "sig_key": ""}), node(tmp_path / "c", "")) == (Untrusted("mlx5_core"),)


def test_words() -> None:
    assert _trust.words([]) == ""
    text = _trust.words([Untrusted("ib_core", "DKMS module signing key"), Untrusted("mlx5_core", "DKMS module signing key")])
    assert 'would refuse ib_core, mlx5_core: signed by "DKMS module signing key", which this kernel does not trust' in text
    assert "mokutil --import" in text
    assert "not signed" in _trust.words([Untrusted("ib_core")])
    text = _trust.words([Untrusted("ib_core", "DKMS module signing key"), Untrusted("mlxfw")])
    assert 'would refuse mlxfw: not signed; ib_core: signed by "DKMS module signing key", which this kernel does not trust. ' in text


@given(st.binary(max_size=300), st.text())
def test_anything(data: bytes, text: str) -> None:
    _signature.parse_certificate(data)
    _signature.parse_signature(data + b"\0\0\2\0\0\0\0\0" + len(data).to_bytes(4, "big") + signing.MARKER)
    _trust.parse_keys(text)
