# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _conf
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import RELOAD, RESTART, RUNNING, parse_conf, redact, with_key, without_secrets
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import render
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import fabric_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance, file_effect, rotation_text
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from hypothesis import given
from hypothesis import strategies as st

TEMPLATE = (pathlib.Path(__file__).resolve().parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")

keys = st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True)
values = st.from_regex(r"[A-Za-z0-9/._-]{1,20}", fullmatch=True)


@given(st.dictionaries(keys, values))
def test_what_is_written_is_read(wanted: dict[str, str]) -> None:
    assert parse_conf(render("", wanted)) == wanted


@given(st.dictionaries(keys, values), keys, values)
def test_one_key_is_changed_and_no_other(wanted: dict[str, str], key: str, value: str) -> None:
    assert parse_conf(with_key(render("", wanted), key, value)) == {**wanted, key: value}


def test_comments_and_blanks_are_nothing() -> None:
    assert parse_conf("# SM priority\n\nsm_priority 14 # high\nsm_key\t0x1\nlog_prefix (null)\n") == {
        "sm_priority": "14",
        "sm_key": "0x1",
        "log_prefix": "(null)",
    }


def test_files_of_an_instance_and_others() -> None:
    for name in ("partitions.conf", "qos-policy.conf", "root-guids.conf"):
        assert file_effect("/x/" + name, "a", "b") == RELOAD
        assert file_effect("/x/" + name, "a", "a") == RUNNING
    assert file_effect("/x/opensm.conf", "sm_priority 14\n", "sm_priority 13\n") == RELOAD
    assert file_effect("/x/opensm.conf", "guid 0x1\n", "guid 0x2\n") == RESTART
    assert file_effect("/x/other", "a", "b") == RESTART


def test_units_and_their_fabrics() -> None:
    assert fabric_of("rdma-opensm@ib.1.service") == "ib.1"
    assert fabric_of("opensm@0x1.service") == fabric_of("7") == ""


def test_each_log_is_rotated_and_opened_anew() -> None:
    text = rotation_text([Instance("ib", "0x1", 14), Instance("storage", "0x2", 14, "/var/log/sm.log")])
    assert "/var/log/opensm/ib/opensm.log {" in text and "/var/log/sm.log {" in text
    assert "systemctl kill --signal=USR1 rdma-opensm@storage.service" in text


class Counted(str):
    """A text that counts its comparisons."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("size", [200, 800])
def test_redaction_takes_as_long_as_the_text(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a key on each line was compared as a whole for each line."""
    Counted.compared = 0
    monkeypatch.setattr(_conf, "_normal", Counted)
    old = "".join("m_key %d\n" % number for number in range(size))
    redact(old, old)
    assert Counted.compared <= 2 * size


def test_a_configuration_that_goes_is_shown_by_what_tells_it() -> None:
    """Of the 960 lines that the installed opensm generated, a few identify the configuration."""
    folder = "/etc/rdma-ofed/opensm/ib/"
    conf = TEMPLATE.replace("sweep_interval 10\n", "sweep_interval 30\n").replace("guid 0x0000000000000000\n", "guid 0x0000000000000011\n")
    planned = Plan((Change(Kind.FILE, folder + "opensm.conf", "", conf, ""), Change(Kind.FILE, folder + "declared-keys", "", "# x\nsweep_interval\n", "")))
    (shown, _keys) = without_secrets(planned, {}).changes
    lines = shown.before.splitlines()
    assert {"sweep_interval 30", "guid 0x0000000000000011", "sm_key (hidden)"} <= set(lines) and len(lines) < 10
    assert shown.after == ""
