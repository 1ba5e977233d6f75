# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Any YAML value in a firmware declaration is either valid or answered with a list of problems."""

from __future__ import annotations

import contextlib
import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._firmware import _devices
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _values
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._check import check
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._input import entry_problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image._input import image_problems
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset import _look as _reset_look
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
from hypothesis import given
from hypothesis import strategies as st
from support.subjects import host_problems

DEVICES = (
    Device("0000:03:00.0", ("0000:03:00.0", "0000:03:00.1"), ("mlx5_0",), ("ib0",), "MT4119", "ConnectX5", "MT_1", "MCX556A-ECAT", ("0x0c42a10300000010",)),
    Device("0000:81:00.0", ("0000:81:00.0",), ("mlx5_2",), (), "MT4123", "ConnectX6"),
)
ROWS = {name: Row(name, value, value, value) for name, value in (("A", "0x10(16)"), ("B", "True(1)"), ("C", "Array[0..7]"), ("D", "N/A"), ("E", "ab" * 16))}
HUGE = 10**5000


def nested(depth: int) -> t.Any:
    found: t.Any = []
    for _level in range(depth):
        found = [found]
    return found


# Two of them need more than 4300 digits or 1000 levels when printed.
AWKWARD = (
    *(HUGE, -HUGE, 2**64, -1, 0xFFFFFFFF, 16.35, float("nan"), float("inf"), nested(5000), {"a": nested(5000)}),
    *("", " ", "\n", "A\n", "\0", "/\0", "/\ud800", "\ud800", "٣", "A[٣]", "²", "0x" + "f" * 5000, "9" * 5000, "A=1", "-y", "A[9..0]", "A[0..9999]"),
    *(b"x", (1, 2), frozenset(), range(3)),
)
TEXTS = st.one_of(
    st.text(max_size=4), st.sampled_from(["all", "A", "B", "C[0..1]", "D", "E", "/f", "03:00.0", "mlx5_0", "MT_1", "16.35.3006", "present", "default", "yes"])
)


def awkward(at: int) -> t.Any:
    return AWKWARD[at]


def awkward_key(at: int) -> t.Any:
    return (HUGE, 7, 1.5, float("nan"), None, True, (1, HUGE), "\ud800", "A[0..1]")[at]


# Chosen by number: hypothesis must print the values that it chooses from.
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.integers(0, len(AWKWARD) - 1).map(awkward))
KEYS = st.one_of(
    st.sampled_from(["all", "pci", "psid", "guid", "type", "state", "parameters", "names", "path", "url", "checksum"]),
    st.integers(0, 8).map(awkward_key),
    TEXTS,
)
ANYTHING = st.recursive(SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=6)
ENTRY = st.one_of(
    st.dictionaries(KEYS, ANYTHING, max_size=3),
    st.fixed_dictionaries({"all": st.just(True), "parameters": st.dictionaries(TEXTS, SCALAR, max_size=3)}),
    st.fixed_dictionaries({"pci": st.just("03:00.0"), "state": st.just("default"), "names": st.lists(TEXTS, max_size=2)}),
)
ENTRIES = st.one_of(ANYTHING, st.lists(ENTRY, max_size=3))


def told(problems: t.Sequence[Problem]) -> None:
    """All problems can be printed and are errors of the collection."""
    assert isinstance(str(InvalidInput(problems)), str)


def use_config(entries: t.Any) -> None:
    problems = entry_problems("devices", entries)
    told(problems)
    if problems:
        return
    found, problems = wanted_of("devices", entries, DEVICES, missing="fail")
    told(problems)
    for wanted in found:
        for name, setting in wanted.settings.items():
            assert _values.elements_of(name)
            # An argument on a command line is one word of printable ASCII.
            assert setting.value is None or re.match(r"^[!-<>-~]+\Z", setting.value)
        told(check(wanted, ROWS))
        with contextlib.suppress(InvalidInput):
            plan(wanted, {name: row for name, row in ROWS.items() if name in wanted.settings and not check(wanted, ROWS)})


def use_images(variables: t.Mapping[str, t.Any]) -> None:
    problems = image_problems(variables)
    told(problems)
    if not problems and variables.get("devices") is not None:
        chosen, problems = _devices.select_devices("devices", variables["devices"], DEVICES, missing="fail")
        told(problems)
        assert set(chosen) <= set(DEVICES)


@given(ENTRIES)
def test_any_configuration(entries: t.Any) -> None:
    use_config(entries)


@given(st.fixed_dictionaries({}, optional={"images": ANYTHING, "versions": ANYTHING, "devices": ENTRIES, "state": st.sampled_from(["present", "query"])}))
def test_any_images(variables: t.Mapping[str, t.Any]) -> None:
    use_images(variables)


@pytest.mark.parametrize("value", AWKWARD, ids=range(len(AWKWARD)))
def test_awkward_values(value: t.Any) -> None:
    for entries in (
        value,
        [value],
        [{"all": value}],
        [{"pci": value}],
        [{"guid": value}],
        [{"type": value}],
        [{"state": value}],
        [{"all": True, "names": value}],
    ):
        use_config(entries)
        use_images({"devices": entries})
    for parameters in (value, {"A": value}, {"A[0..1]": value}, {"A[0..1]": [value, 1]}):
        use_config([{"all": True, "parameters": parameters}])
    use_config([{"all": True, "state": "default", "names": [value]}])
    for images in (value, {"MT_1": value}, {"MT_1": {"path": value}}, {"MT_1": {"url": value, "checksum": value}}):
        use_images({"images": images, "versions": images})
    told(
        host_problems({"hca_firmware_config": value, "hca_firmware_images": value, "hca_firmware_versions": value, "hca_firmware_devices": value}, None, False)
    )
    if isinstance(value, t.Hashable):
        use_config([{"all": True, value: 1, "parameters": {value: 1}}])
        use_images({"images": {value: value}, "versions": {value: value}, "devices": [{value: value}]})


@given(st.lists(st.one_of(TEXTS, st.text(max_size=20)), max_size=3))
def test_any_names_of_adapters(names: list[str]) -> None:
    with contextlib.suppress(InvalidInput):
        assert set(_reset_look.choose(DEVICES, names)) <= set(DEVICES)
    for kind in _devices.SELECTORS:
        for name in names:
            if _devices.selector_problem("x", kind, name) is None:
                assert _devices.matches(DEVICES[0], kind, name) in (True, False)
