# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data, decode, encode


class Inner(t.NamedTuple):
    name: str
    number: int = 0


class Outer(t.NamedTuple):
    inners: t.Tuple[Inner, ...] = ()
    by_name: t.Mapping[str, Inner] = {}
    names: t.FrozenSet[str] = frozenset()
    maybe: t.Optional[Inner] = None
    pair: t.Tuple[int, str] = (0, "")
    anything: t.Any = None


FULL = Outer((Inner("a", 1), Inner("b")), {"x": Inner("c")}, frozenset(("p", "q")), Inner("d"), (3, "e"), ["as", {"it": "is"}])


@pytest.mark.parametrize("value", [Outer(), FULL._replace(anything=None)])
def test_what_was_encoded_is_decoded_to_the_same(value: Outer) -> None:
    assert decode(Outer, json.loads(json.dumps(encode(value)))) == value


def test_equal_states_have_equal_texts() -> None:
    assert encode(frozenset(("b", "a"))) == encode(frozenset(("a", "b"))) == ["a", "b"]


def test_what_json_cannot_carry_is_refused() -> None:
    with pytest.raises(TypeError):
        encode(object())


@pytest.mark.parametrize("data", [[1, 2], "text", [["a"], [], [], None, [0, ""], None]])
def test_what_has_another_form_is_refused(data: t.Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        decode(Outer, data)


def test_results_and_facts_have_mappings_and_lists_at_every_level() -> None:
    inner = {"name": "a", "number": 1}
    assert as_data({"it": Outer((Inner("a", 1),), {"x": Inner("a", 1)}, maybe=Inner("a", 1), pair=(3, "e"))}) == {
        "it": {"inners": [inner], "by_name": {"x": inner}, "names": frozenset(), "maybe": inner, "pair": [3, "e"], "anything": None}
    }
