# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The terse output of nmcli."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import (
    fields,
    parse_active,
    parse_device,
    parse_version,
)
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Active


@pytest.mark.parametrize(
    ("line", "expected"),
    [("a:b:c", ["a", "b", "c"]), ("a::c", ["a", "", "c"]), (r"a\:b:c", ["a:b", "c"]), (r"a\\:b", ["a\\", "b"]), ("a:b:", ["a", "b", ""]), ("", [""])],
)
def test_fields(line: str, expected: list[str]) -> None:
    assert fields(line) == expected


def test_active_profiles_by_interface() -> None:
    text = "rdma-ib0:u0:ib0:activated\nWired \\: one:u1:eth0:activating\nrdma-ib1:u2:ib1:deactivating\nvpn:u3::activated\n"
    assert parse_active(text) == {"ib0": Active("rdma-ib0", "u0"), "eth0": Active("Wired : one", "u1", True)}


@pytest.mark.parametrize(("text", "expected"), [("nmcli tool, version 1.42.4", (1, 42)), ("nmcli tool, version 1.20.0-5.el8", (1, 20)), ("", None)])
def test_version(text: str, expected: tuple[int, int] | None) -> None:
    assert parse_version(text) == expected


@pytest.mark.parametrize(
    ("stdout", "device"),
    [
        ('o "/org/freedesktop/NetworkManager/Devices/3"\n', "/org/freedesktop/NetworkManager/Devices/3"),
        ('o "/org/freedesktop/NetworkManager/Devices/3/x"\n', ""),
        ('s "ib0"\n', ""),
        ("", ""),
    ],
)
def test_the_device_of_an_interface(stdout: str, device: str) -> None:
    assert parse_device(stdout) == device
