# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""For any output of a tool, its parser returns an answer or raises an error of this collection."""

from __future__ import annotations

import contextlib
import json
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _session, _values
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools import (
    _apt,
    _benchmarks,
    _iblinkinfo,
    _ibnetdiscover,
    _ip,
    _modinfo,
    _opensm_log,
    _port_counters,
    _rpm,
    _saquery,
    _slurm,
    _sminfo,
    _smpquery,
)
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _flint as flint
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxconfig as mlxconfig
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxfwreset as mlxfwreset
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxlink as mlxlink
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recordings import CORPUS, recorded

DEVICE = "0000:03:00.0"
NINES = "9" * 5000


def use_rows(answer: mlxconfig.Answer) -> None:
    for row in answer.rows.values():
        for value in (row.next, row.default, row.current, row.new):
            if value is not None:
                use_value("0x10", value)


def use_value(wish: str, shown: str) -> None:
    _values.same(wish, shown)
    _values.argument(wish, shown)
    _values.agree(wish, shown)
    _values.bounds(shown)
    _values.elements_of(shown)


def use_errors(text: str) -> None:
    errors = mlxconfig.errors_of(text)
    for phrases in (mlxconfig.BUSY, mlxconfig.MISSING, mlxconfig.OTHER_TOOL):
        mlxconfig.says(errors, phrases)
    for error in [*errors, text]:
        mlxconfig.allowed_by(error)


def use_flint(text: str) -> None:
    flint.error_of(text)
    flint.verified(0, text)
    found = flint.parse_query(text)
    flint.firmware_checks(found)
    assert flint.same_version(found.version, found.version) and flint.numbers(found.running)


def use_reset(text: str) -> None:
    outcome = mlxfwreset.parse_reset(text, text)
    assert outcome.loaded or outcome.message
    mlxfwreset.with_hint(mlxfwreset.error_of(text))


def use_confs(text: str) -> None:
    for conf in mlxconfig.parse_confs(text).values():
        conf.allowed()


READERS: t.Mapping[str, t.Callable[[str], t.Any]] = {
    "all_reduce_perf": _benchmarks.parse_all_reduce,
    "IMB-MPI1, Alltoall": _benchmarks.parse_imb_alltoall,
    "IMB-MPI1, PingPong": _benchmarks.parse_imb_pingpong,
    "osu_bw": _benchmarks.parse_osu_bandwidth,
    "osu_latency": _benchmarks.parse_osu_latency,
    "sbatch": _slurm.parse_submitted,
    "squeue": _slurm.parse_state,
    "squeue, IDs": _slurm.parse_found,
    "srun": _slurm.parse_mpi_types,
    "dpkg-query, configuration": _apt.parse_conffiles,
    "iblinkinfo": _iblinkinfo.parse_active,
    "opensm, moments": lambda text: _opensm_log.parse_moments(text, 2026),
    "iblinkinfo, ports": _iblinkinfo.parse_ports,
    "ibnetdiscover": _ibnetdiscover.parse_topology,
    "ibqueryerrors": _port_counters.parse_errors,
    "ibqueryerrors, silent ports": _port_counters.parse_silent,
    "ip, links": _ip.parse_links,
    "ip, route": _ip.parse_route_device,
    "ip, routes": lambda text: _ip.parse_static_routes(text, 4),
    "mlxconfig, text": lambda text: use_rows(mlxconfig.parse_query(text)),
    "mlxconfig, errors": use_errors,
    "mlxconfig, database": use_confs,
    "flint": use_flint,
    "flint, version": flint.numbers,
    "mlxfwreset, query": mlxfwreset.parse_query,
    "mlxfwreset, reset": use_reset,
    "mlxlink, text": lambda text: mlxlink.link_of(mlxlink.parse_text(text)),
    "mlxlink, error": mlxlink.error_of,
    "modinfo": _modinfo.parse_modinfo,
    "modinfo, files": _modinfo.parse_files,
    "modinfo, parameters": _modinfo.parse_parameters,
    "ofed_info": _modinfo.parse_ofed_info,
    "ibportstate": _smpquery.parse_port,
    "log of opensm": _opensm_log.parse_log,
    "perfquery": _port_counters.parse_counters,
    "rdma link": _ip.parse_rdma_netdevs,
    "rpm, files": _rpm.parse_fixed,
    "saquery": _saquery.parse_sm_records,
    "saquery, members": _saquery.parse_members,
    "saquery, P_Keys": _saquery.parse_pkeys,
    "sminfo": _sminfo.parse,
    "smpquery": _smpquery.parse_node_description,
    "smpquery, P_Keys": _smpquery.parse_pkeys,
    "vendstat": _smpquery.parse_vendstat,
    "a value": lambda text: use_value(text, text),
}


def read_all(text: str) -> None:
    for reader in READERS.values():
        with contextlib.suppress(RdmaError):
            reader(text)


TOKENS = (
    *(
        "Device #1:\n",
        "Device: x\n",
        "Configurations: Default Current Next Boot\n",
        "Configurations: New\n",
        "*",
        " RO ",
        "SRIOV_EN ",
        "True(1)",
        "Array[0..",
        "N/A\n",
    ),
    *("0x", "(", ")", "-E- ", "FW Version: ", "FW Version(Running): ", "Rom Info: ", "PSID: ", "Reset-levels:\n", "3: x -Supported", "-I- ", " -Done\n", ": "),
    *("Operational Info\n----\n", "Status Opcode : ", "Symbol BER : 9E", "\x1b[31m", '[{"ifname": "rxe0", "netdev": ', "}]", "["),
    *(NINES, "-1", "1e999", "NaN", "²", "٣", "\x00", "\r", "\n", "\u2028", "\x85", "\ud800", "\udcff", "^M", " " * 100, "{", "}", "\\"),
)
PIECE = st.one_of(st.sampled_from(TOKENS), st.text(max_size=10))
RECORDINGS = [recorded(path) for path in sorted(CORPUS.glob("*/*.txt"))]


@st.composite
def damaged(draw: t.Any) -> str:
    """Return part of a recording: cut, repeated, with parts removed and other text inserted."""
    text = draw(st.sampled_from(RECORDINGS))
    start = draw(st.sampled_from([0, 0, max(0, len(text) - 1500), len(text) // 2]))
    text = text[start : start + draw(st.integers(0, 1500))]
    for at, lost, put in draw(st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 30), PIECE), max_size=6)):
        text = text[:at] + put + text[at + lost :]
    return text * draw(st.sampled_from([1, 1, 2]))


@given(damaged())
def test_damaged_recordings(text: str) -> None:
    read_all(text)


@given(st.lists(PIECE, max_size=10).map("".join))
def test_any_text(text: str) -> None:
    read_all(text)


SCALAR = st.one_of(
    st.none(), st.booleans(), st.floats(), st.integers(), st.just(10**4000), st.text(max_size=6), st.sampled_from(["N/A", "True(1)", "0x10(16)", "5E-9"])
)
KEY = st.sampled_from(["ifname", "netdev", "x"])
JSON = st.recursive(SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEY, inner, max_size=4)), max_leaves=8)
FORMS: t.Sequence[t.Callable[[t.Any, t.Any], t.Any]] = (
    lambda one, two: one,
    lambda one, two: [{"ifname": one, "netdev": two}],
)


@given(st.sampled_from(FORMS), JSON, JSON)
def test_any_json(form: t.Callable[[t.Any, t.Any], t.Any], one: t.Any, two: t.Any) -> None:
    read_all(json.dumps(form(one, two)))


PLACES = (
    "%s",
    '[{"ifname": "rxe0", "netdev": %s}]',
)


@pytest.mark.parametrize("place", PLACES)
def test_deep_nesting_and_long_numbers(place: str) -> None:
    # At a certain depth the text still parses, but the next step fails.
    for depth in (*range(100, 1000, 25), 10000, 100000):
        read_all(place % ("[" * depth + "]" * depth))
    for text in ('{"a":' * 100000, "[" * 100000, NINES, "-" + NINES, '"%s"' % NINES, '"0x%s"' % NINES, "1." + NINES, "1e" + NINES, '"\\ud800"', "NaN"):
        read_all(place % text)


@pytest.mark.parametrize(
    "text", [NINES, "0x" + NINES, "X(%s)" % NINES, "NAME[%s]" % NINES, "Array[0..%s]" % NINES, "٣", "²", "0x٣", "X(٣)", "NAME[٣]", "", "\n", "1\n"]
)
def test_numbers_are_digits_and_not_too_many(text: str) -> None:
    use_value(text, text)
    assert _values.number_of(text) is None and _values.elements_of(text) == [] and _values.bounds(text) is None


@settings(max_examples=60)
@given(st.sampled_from([0, 2, 3]), st.one_of(damaged(), st.lists(PIECE, max_size=6).map("".join)))
def test_a_session_ends_with_an_error_of_ours(rc: int, text: str) -> None:
    def run(argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        return Output(rc, text, text)

    with mock.patch.object(_session, "WAITS", ()):
        session = _session.Session(t.cast("t.Any", run), ("mstconfig", "mlxconfig"), DEVICE)
        for do in (
            session.query,
            session.confs,
            lambda: session.rehearse({"A": "1"}),
            lambda: session.set({"A": "1"}),
            lambda: session.backup("/f"),
        ):
            with contextlib.suppress(RdmaError):
                do()
