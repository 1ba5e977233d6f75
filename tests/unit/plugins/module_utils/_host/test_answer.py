# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host import _answer
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner

OPTIONS = {"state": {"type": "str"}}


class Ended(Exception):
    """The final call of a module."""


class Module:
    def __init__(self, **settings: t.Any) -> None:
        self.settings = settings

    def exit_json(self, **result: t.Any) -> None:
        raise Ended({"ok": True, **result})

    def fail_json(self, **result: t.Any) -> None:
        raise Ended({"ok": False, **result})


@pytest.fixture(autouse=True)
def _module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_answer, "AnsibleModule", Module)


def end(work: t.Callable[[], t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    with pytest.raises(Ended) as ended:
        _answer.answer(OPTIONS, lambda _module, _run: work())
    result: dict[str, t.Any] = ended.value.args[0]
    return result


def test_a_result_is_handed_on() -> None:
    assert end(lambda: {"changed": True}) == {"ok": True, "changed": True}


def test_what_only_looks_changes_nothing() -> None:
    assert end(lambda: {"links": []}) == {"ok": True, "changed": False, "links": []}


@pytest.mark.parametrize("settings", [{}, {"required_if": ["rule"]}])
def test_the_work_gets_the_module_and_its_runner(settings: dict[str, t.Any]) -> None:
    def work(module: t.Any, run: t.Any) -> t.Mapping[str, t.Any]:
        return {"settings": module.settings, "runner": type(run)}

    with pytest.raises(Ended) as ended:
        _answer.answer(OPTIONS, work, **settings)
    result = ended.value.args[0]
    assert result["runner"] is ModuleRunner
    assert result["settings"] == {"argument_spec": OPTIONS, "supports_check_mode": True, **settings}


def test_an_error_of_ours_has_its_own_words_and_details() -> None:
    def refuse() -> t.Mapping[str, t.Any]:
        raise Refused("not over the root file system", users=["sda"])

    assert end(refuse) == {"ok": False, "msg": "not over the root file system", "users": ["sda"], "refused": True}


def test_any_other_exception_is_a_fault_to_report() -> None:
    def stumble() -> t.Mapping[str, t.Any]:
        return {}["missing"]  # type: ignore[no-any-return]

    result = end(stumble)
    assert "this is a bug in the module, not an error in the input: KeyError: 'missing' (test_answer.py, line" in result["msg"]
    assert "Please report it" in result["msg"]
    assert "Traceback" not in result["msg"]
    assert "Traceback" in result["exception"]
