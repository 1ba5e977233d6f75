# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._answer import answer


class Ended(Exception):
    """What a module does last."""


class Module:
    def exit_json(self, **result: t.Any) -> None:
        raise Ended({"ok": True, **result})

    def fail_json(self, **result: t.Any) -> None:
        raise Ended({"ok": False, **result})


def end(work: t.Callable[[], t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    module: t.Any = Module()
    with pytest.raises(Ended) as ended:
        answer(module, work)
    result: dict[str, t.Any] = ended.value.args[0]
    return result


def test_a_result_is_handed_on() -> None:
    assert end(lambda: {"changed": True}) == {"ok": True, "changed": True}


def test_an_error_of_ours_has_its_own_words_and_details() -> None:
    def refuse() -> t.Mapping[str, t.Any]:
        raise Refused("not over the root file system", users=["sda"])

    assert end(refuse) == {"ok": False, "msg": "not over the root file system", "users": ["sda"]}


def test_any_other_exception_is_a_fault_to_report() -> None:
    def stumble() -> t.Mapping[str, t.Any]:
        return {}["missing"]  # type: ignore[no-any-return]

    result = end(stumble)
    assert "this is a fault in the module, not in the input: KeyError: 'missing' (test_answer.py, line" in result["msg"]
    assert "Please report it" in result["msg"]
    assert "Traceback" not in result["msg"]
    assert "Traceback" in result["exception"]
