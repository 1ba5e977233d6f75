# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager: the UUIDs of profiles. Pure.

A profile is its UUID. Where another file has it after a reload, or other content, the interface stays activated as it was. Where no file has it any
longer, the interface is deactivated. Source: nm-uuid.c.
"""

from __future__ import annotations

import hashlib
import re
import typing as t
import uuid

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_KEYFILES = uuid.UUID("b425e9fb-7598-44b4-9e3b-5a2e3aaa4905")


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in the form of nmcli."""
    return _UUID.match(text) is not None


def of_keyfile(path: str) -> str:
    """The UUID of a keyfile without one; "" where this Python can't tell."""
    digest = md5(_KEYFILES.bytes + b"keyfile\0" + path.encode("utf-8", "surrogateescape") + b"\0")
    return str(uuid.UUID(bytes=digest, version=3)) if digest else ""


def md5(data: bytes) -> bytes:
    """The MD5 sum; b"" on nodes in FIPS mode whose Python knows no other use of it than for security."""
    options: dict[str, t.Any] = {"usedforsecurity": False}
    for each in (options, {}):
        try:
            return hashlib.md5(data, **each).digest()
        except (TypeError, ValueError):
            continue
    return b""
