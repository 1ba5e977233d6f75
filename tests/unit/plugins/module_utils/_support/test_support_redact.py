# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._support._redact import HIDDEN, known_secrets, redact
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("sm_key 0x0123456789abcdef", "0123456789abcdef"),
        ("m_key 0x5ec2e75ec2e75ec2", "5ec2e75ec2e75ec2"),
        ("Mkey:............................0x00005ec2e75ec2e7", "5ec2e75ec2e7"),
        ("saquery --smkey 0x5ec2e7 SMIR", "5ec2e7"),
        ('  "sm_key": "0x5ec2e75ec2e7"', "5ec2e75ec2e7"),
        ("vs_key=5ec2e7", "5ec2e7"),
        ("sa-key 0x5ec2e75ec2e7", "5ec2e75ec2e7"),
        ("node_key = 0x5ec2e75ec2e7", "5ec2e75ec2e7"),
        ("vs_key_seed 5ec2e75ec2e7", "5ec2e75ec2e7"),
        ("password = hunter2 and more", "hunter2"),
        ("password hunter2", "hunter2"),
        ("    bmc_password  hunter2 ", "hunter2"),
        ("user admin secret 'hunter2' level 15", "hunter2"),
        ('"api_key": "abc-def",', "abc-def"),
        ("psk=correct horse", "correct horse"),
        ("wifi-sec.psk-flags=0x5", "0x5"),
        ("curl --token abcdef https://x", "abcdef"),
        ("baseurl=https://user:pass@repo.example.org/ofed", "user:pass"),
        ("Authorization: Bearer abcdef", "abcdef"),
        ("snmp community: hidden-word", "hidden-word"),
    ],
)
def test_secrets_go_and_the_rest_stays(line: str, secret: str) -> None:
    found = redact("before\n%s\nafter" % line)
    assert secret not in found.text and HIDDEN in found.text
    assert found.text.startswith("before\n") and found.text.endswith("\nafter")
    assert found.removed == 1


@pytest.mark.parametrize(
    "line",
    [
        "sm_key 0x0000000000000000",
        "m_key_lease_period 0",
        "Mkey:............................<not displayed>",
        "guid 0x0002c90300001001",
        "P_Key 0x7fff",
        "pkey=0x8001",
        "q_key 0x0b1b",
        "default_p_key 0xffff",
        "tokenring=5",
        "the password expires in 5 days",
        "Port GUID: 0x506b4b0300820910",
        "https://repo.example.org/ofed",
        "# a keyboard, a monkey and a token ring",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact(line) == (line, 0)


def test_a_private_key_goes_as_a_whole() -> None:
    text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nb"
    found = redact(text)
    assert found.text.split("\n") == ["a", *[HIDDEN] * 4, "b"]
    # An end that is missing takes the rest along.
    assert "MIIE" not in redact(text.partition("abcd")[0] + "\nmore").text


def test_what_is_known_to_be_secret_goes_wherever_it_stands() -> None:
    known = known_secrets(["0x5eC2e75eC2e75eC2", "swordfish", "", "abc", None])
    assert known is not None
    text = "key 5ec2e75ec2e75ec2, 0x5EC2E75EC2E75EC2, %d, Swordfish, abc" % 0x5EC2E75EC2E75EC2
    assert redact(text, known).text == "key %s, %s, %s, %s, abc" % ((HIDDEN,) * 4)
    assert known_secrets([]) is None and known_secrets(["", "0x0"]) is None


@given(st.text())
def test_any_text_has_as_many_lines_as_before(text: str) -> None:
    assert redact(text).text.count("\n") == text.count("\n")


PARTS = ["password", "sm_key .", "sm_key:", "://a", "-----BEGIN ", "token ", "token_", "a_token '", "x_", "_key", "seed ", "authorization:", "a", "0x", "= "]


@pytest.mark.parametrize("part", PARTS)
def test_the_time_grows_with_the_text(part: str) -> None:
    def seconds(times: int) -> float:
        text = part * times
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    assert any(seconds(8000) < 100 * seconds(500) + 0.01 for _attempt in range(5))
