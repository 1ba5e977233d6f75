# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of sysctl.d, as systemd-sysctl reads them."""

from __future__ import annotations

import pathlib
import string

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._look import read_lines
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._names import is_key
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._sysctl import Own, assigned, at_boot, key_of, matches, name_of, parse, parse_own, render
from hypothesis import given
from hypothesis import strategies as st

KEY = "net/ipv4/conf/ib0/arp_ignore"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("net.ipv4.conf.ib0.arp_ignore", KEY),
        ("net/ipv4/conf/ib0/arp_ignore", KEY),
        ("net.ipv4.conf.ib0/8001.arp_ignore", "net/ipv4/conf/ib0.8001/arp_ignore"),
        ("net/ipv4/conf/ib0.8001/arp_ignore", "net/ipv4/conf/ib0.8001/arp_ignore"),
        ("kernel", "kernel"),
    ],
)
def test_the_first_separator_tells_the_notation(name: str, key: str) -> None:
    assert key_of(name) == key
    assert key_of(name_of(key)) == key


def test_lines_that_assign() -> None:
    text = "# net.a = 1\n;net.a = 1\n\nnonsense\n net.a  =  1 \n-net.b=2\n-net.c\nnet.d = a=b\n"
    found = [(line.line, line.key, line.value) for line in parse("/etc/sysctl.d/x.conf", text)]
    assert found == [(5, "net/a", "1"), (6, "net/b", "2"), (7, "net/c", ""), (8, "net/d", "a=b")]


def test_the_last_assignment_counts_and_one_key_before_patterns() -> None:
    lines = parse("a.conf", "net.ipv4.conf.ib0.arp_ignore = 1\nnet.ipv4.conf.ib0.arp_ignore = 2\nnet.ipv4.conf.*.arp_ignore = 8\n")
    assert assigned(lines, KEY) == lines[1] == at_boot(lines, KEY)
    assert at_boot(lines, "net/ipv4/conf/ib1/arp_ignore") == lines[2]
    assert assigned(lines, "net/ipv4/conf/ib1/arp_ignore") is None
    exempt = parse("b.conf", "net.ipv4.conf.*.arp_ignore = 8\n-net.ipv4.conf.ib0.arp_ignore\n")
    assert at_boot(exempt, KEY) is None


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("net/ipv4/conf/*/arp_ignore", True),
        ("net/*/conf/ib[0-9]/arp_ignor?", True),
        # A wildcard stands for no separator.
        ("net/*/arp_ignore", False),
        ("net/ipv4/conf/ib0?arp_ignore", False),
        # Older Pythons refuse it.
        ("net/ipv4/conf/[z-a]*/arp_ignore", False),
        ("net/ipv4/conf/[ib0/arp_ignore", False),
    ],
)
def test_patterns(pattern: str, matching: bool) -> None:
    assert matches(KEY, pattern) is matching


NAMES = st.text(string.ascii_lowercase + string.digits + "._-", min_size=1, max_size=14).map(lambda rest: "i" + rest)
KEYS = st.builds("net/ipv4/conf/%s/%s".__mod__, st.tuples(NAMES, st.sampled_from(["arp_ignore", "arp_announce", "rp_filter"])))


@given(st.dictionaries(KEYS, st.builds(Own, st.from_regex(r"[0-9]{1,9}", fullmatch=True), st.from_regex(r"[0-9]{0,9}", fullmatch=True)), max_size=5))
def test_what_is_written_is_read_back(own: dict[str, Own]) -> None:
    assert parse_own(render(own)) == own


def test_other_keys_in_our_file_are_not_ours() -> None:
    text = render({KEY: Own("1")}) + "net.ipv4.ip_forward = 1\nnet/ipv4/conf/../../../etc/passwd = 1\n"
    assert set(parse_own(text)) == {KEY}
    assert parse_own("net.ipv4.conf.ib0.arp_ignore = 1\n") == {}
    assert not is_key("net/ipv4/conf/../arp_ignore")
    assert not is_key("net/ipv4/conf/ib0/forwarding")


def test_files_are_read_by_name_and_hide_those_of_later_directories(tmp_path: pathlib.Path) -> None:
    texts = {
        "etc/sysctl.d/50-a.conf": "net.x = etc\n",
        "usr/lib/sysctl.d/50-a.conf": "net.x = hidden\n",
        "usr/lib/sysctl.d/10-b.conf": "net.x = first\n",
        "run/sysctl.d/95-c.conf": "net.x = run\n",
        "etc/sysctl.d/90-rdma-ofed.conf": "net.x = own\n",
        "etc/sysctl.d/60-d.txt": "net.x = other\n",
        "etc/sysctl.conf": "net.x = last\n",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = [(line.path, line.value, line.later) for line in read_lines(str(tmp_path))]
    last = ("/etc/sysctl.conf", "last", True)
    assert found == [
        ("/usr/lib/sysctl.d/10-b.conf", "first", False),
        ("/etc/sysctl.d/50-a.conf", "etc", False),
        ("/run/sysctl.d/95-c.conf", "run", True),
        last,
    ]
    (tmp_path / "etc/sysctl.d/99-sysctl.conf").symlink_to("../sysctl.conf")
    assert [line.path for line in read_lines(str(tmp_path))][-1] == "/etc/sysctl.d/99-sysctl.conf"
    (tmp_path / "etc/sysctl.d/70-e.conf").mkdir()
    (tmp_path / "etc/sysctl.d/70-f.conf").symlink_to("70-f.conf")
    assert [line.path for line in read_lines(str(tmp_path))][-1] == "/etc/sysctl.d/99-sysctl.conf"
    (tmp_path / "etc/sysctl.d/95-c.conf").symlink_to("/dev/null")
    assert "run" not in [line.value for line in read_lines(str(tmp_path))]
