# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Signatures of kernel modules, and the certificates of their keys. Pure.

A signed module ends with a PKCS#7 message, twelve bytes with its length (`struct module_signature` in
include/linux/module_signature.h) and a marker. The message names its signer by issuer and serial number, or by a key identifier.
"""

from __future__ import annotations

import struct
import typing as t

MARKER = b"~Module signature appended~\n"
_INFORMATION = struct.Struct(">BBBBB3xI")
_INFORMATION_LENGTH = struct.calcsize(">BBBBB3xI")
_PKCS7 = 2
# The maximum size of a signature, including certificates that some tools add.
TAIL = 65536
_SEQUENCE, _SET, _INTEGER, _OCTETS, _CONTEXT = 0x30, 0x31, 0x02, 0x04, 0xA0
_SHORT_CONTEXT = 0x80
_EXTENSIONS = 0xA3
# 2.5.4.3, commonName, and 2.5.29.14, subjectKeyIdentifier.
_COMMON_NAME = bytes.fromhex("0603550403")
_KEY_IDENTIFIER = bytes.fromhex("0603551d0e")


class Signature(t.NamedTuple):
    """The signer of a module."""

    issuer: bytes = b""
    """The encoded name of the certificate's issuer."""
    serial: str = ""
    """The serial number of the certificate in hexadecimal digits."""
    key_id: str = ""
    """The identifier of the key, where the signature names that instead."""
    name: str = ""
    """The issuer, for display."""


class Certificate(t.NamedTuple):
    """The certificate of a key."""

    issuer: bytes
    serial: str
    subject: str
    key_id: str = ""


class _Element(t.NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def _elements(data: bytes) -> list[_Element]:
    """The consecutive elements of DER data. Raises ValueError for anything else."""
    found, position = [], 0
    while position < len(data):
        if len(data) < position + 2:
            raise ValueError("cut off")
        tag, length = data[position], data[position + 1]
        start = position + 2
        if length & 0x80:
            size = length & 0x7F
            if not 1 <= size <= 4 or len(data) < start + size:
                raise ValueError("no length of DER")
            length = int.from_bytes(data[start : start + size], "big")
            start += size
        if len(data) < start + length:
            raise ValueError("cut off")
        found.append(_Element(tag, data[start : start + length], data[position : start + length]))
        position = start + length
    return found


def _number(content: bytes) -> str:
    return content.hex().lstrip("0") or "0"


def _common_name(name: bytes) -> str:
    """The common name in an encoded name; "" where it has none."""
    for one in _elements(name):
        for part in _elements(one.content):
            for pair in _elements(part.content) if part.tag == _SEQUENCE else []:
                if pair.whole == _COMMON_NAME:
                    return _elements(part.content)[1].content.decode("utf-8", "replace")
    return ""


def _signer(message: bytes) -> Signature:
    (outer,) = _elements(message)
    _kind, content = _elements(outer.content)
    (signed,) = _elements(content.content)
    signers = [part for part in _elements(signed.content) if part.tag == _SET][-1]
    identity = _elements(_elements(signers.content)[0].content)[1]
    if identity.tag in (_SHORT_CONTEXT, _CONTEXT):
        return Signature(key_id=identity.content.hex())
    issuer, serial = _elements(identity.content)
    return Signature(issuer.whole, _number(serial.content), name=_common_name(issuer.content))


def parse_signature(end: bytes) -> Signature | None:
    """Parse the signature at the end of a module; None where it has none. An unreadable signature counts as that of an unknown key."""
    if not end.endswith(MARKER):
        return None
    body = end[: -len(MARKER)]
    try:
        _algorithm, _hash, kind, _name, _key, length = _INFORMATION.unpack(body[-_INFORMATION_LENGTH:])
        body = body[:-_INFORMATION_LENGTH]
        if kind != _PKCS7 or not 0 < length <= len(body):
            raise ValueError("no PKCS#7 message")
        return _signer(body[-length:])
    except (ValueError, IndexError, struct.error):
        return Signature()


def parse_certificate(data: bytes) -> Certificate | None:
    """Parse a certificate in DER; None for anything else."""
    try:
        body = _elements(_elements(_elements(data)[0].content)[0].content)
        fields = body[1:] if body[0].tag == _CONTEXT else body
        serial, issuer, subject = fields[0], fields[2], fields[4]
        if serial.tag != _INTEGER or issuer.tag != _SEQUENCE:
            return None
        extensions = [part for part in body if part.tag == _EXTENSIONS]
        rows = _elements(_elements(extensions[0].content)[0].content) if extensions else []
        parts = [_elements(row.content) for row in rows]
        values = [part[-1].content for part in parts if part and part[0].whole == _KEY_IDENTIFIER and part[-1].tag == _OCTETS]
        key_id = _elements(values[0])[0].content.hex() if values else ""
        return Certificate(issuer.whole, _number(serial.content), _common_name(subject.content), key_id)
    except (ValueError, IndexError):
        return None
