# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import importlib
import json
import pathlib
import typing as t

import pytest

pytest.importorskip("ansible", reason="the module itself needs ansible-core")

import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gather import PARTS
from ansible_collections.rdma.ofed.plugins.module_utils._host import _answer
from ansible_collections.rdma.ofed.plugins.module_utils._site import _looks
from ansible_collections.rdma.ofed.plugins.modules import rdma_facts
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import RUN

MODULES = pathlib.Path(rdma_facts.__file__).parent


def run(capsys: pytest.CaptureFixture[str], **args: t.Any) -> dict[str, t.Any]:
    with patch_module_args(args), pytest.raises(SystemExit):
        rdma_facts.main()
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("check", [False, True])
def test_this_machine(capsys: pytest.CaptureFixture[str], check: bool) -> None:
    result = run(capsys, _ansible_check_mode=check)
    assert result["changed"] is False
    assert set(result["ansible_facts"]) == {"rdma"}
    assert set(result["ansible_facts"]["rdma"]) == {"os", "adapters", "rails", *PARTS}


def test_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(run(capsys, gather=["ports"])["ansible_facts"]["rdma"]) == {"os", "ports"}


def test_only_root_looks_for_planners(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    look = {"packages": {"names": []}}
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert set(run(capsys, gather=["ports"], look=look)["look"]) == {"packages"}
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "look" not in run(capsys, gather=["ports"], look=look)


def test_others_than_root_are_refused_first(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "ansible_facts" in run(capsys, gather=["ports"])
    answer = run(capsys, gather=["ports"], require_root=True)
    assert (answer["failed"], answer["root_required"]) == (True, True)
    assert "become: true" in answer["msg"] and "nothing was changed" in answer["msg"]
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "ansible_facts" in run(capsys, gather=["ports"], require_root=True)


# Modules that only inspect, or that answer questions on the controller.
READERS = {"node_check", "fabric_ports", "mlxlink_info", "opensm_info", "rdma_facts"}


@pytest.mark.parametrize("name", sorted(path.stem for path in MODULES.glob("*.py") if "answer(OPTIONS" in path.read_text(encoding="utf-8")))
def test_what_changes_a_node_takes_root(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name in READERS:
        return
    module = importlib.import_module("ansible_collections.rdma.ofed.plugins.modules." + name)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(_answer, "AnsibleModule", lambda **_settings: Refusing())
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert "become: true" in str(ended.value)


class Refusing:
    """The part of AnsibleModule that a refusal needs."""

    def fail_json(self, msg: str, **_details: t.Any) -> t.NoReturn:
        raise SystemExit(msg)


def test_a_concern_that_can_not_be_looked_at_is_left_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_arguments: t.Any) -> t.NoReturn:
        raise PermissionError("not yours")

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(_looks, "LOOKS", {**_looks.LOOKS, "opensm": refused})
    result = run(capsys, gather=["ports"], look={"packages": {"names": []}, "opensm": {}})
    assert (set(result["look"]), result["changed"]) == ({"packages"}, False)


def test_unknown_part(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, gather=["colour"])
    assert result["failed"] is True
    assert "colour" in result["msg"]


def test_documentation_names_every_part_and_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    options = yaml.safe_load(rdma_facts.DOCUMENTATION)["options"]
    assert options["gather"]["choices"] == options["gather"]["default"] == list(PARTS)
    documented = yaml.safe_load(rdma_facts.RETURN)["ansible_facts"]["contains"]["rdma"]["contains"]
    facts = run(capsys)["ansible_facts"]["rdma"]
    # The action plugin adds the mark of the run.
    assert set(documented) == {*facts, RUN}
    # The keys of `rails` are names of the site.
    for part, value in ((part, value) for part, value in facts.items() if part != "rails"):
        found = value if isinstance(value, dict) else value[0] if value else {}
        assert set(found) <= set(documented[part]["contains"]), part


def test_documentation_matches_the_fields() -> None:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts import _connections, _kernels, _machine, _modules, _netdevs, _ports, _stack, _usage

    documented = yaml.safe_load(rdma_facts.RETURN)["ansible_facts"]["contains"]["rdma"]["contains"]
    for fields, contains in (
        (_machine.OperatingSystem._fields, documented["os"]["contains"]),
        (_machine.Machine._fields, documented["machine"]["contains"]),
        (_stack.Stack._fields, documented["stack"]["contains"]),
        (_kernels.Kernel._fields, documented["kernels"]["contains"]["installed"]["contains"]),
        (_modules.Module._fields, documented["modules"]["contains"]),
        (_ports.Hca._fields, documented["hcas"]["contains"]),
        (_ports.Adapter._fields, documented["adapters"]["contains"]),
        # The controller adds the names of rails.
        ((*_ports.Port._fields, "rails"), documented["ports"]["contains"]),
        (_netdevs.Netdev._fields, documented["netdevs"]["contains"]),
        (_usage.User._fields, documented["usage"]["contains"]["users"]["contains"]),
        (_connections.SshPath._fields, documented["ssh"]["contains"]),
    ):
        assert list(contains) == list(fields)


def test_main_is_short() -> None:
    source = pathlib.Path(rdma_facts.__file__).read_text(encoding="utf-8")
    assert len(source.partition("def main()")[2].splitlines()) <= 40
