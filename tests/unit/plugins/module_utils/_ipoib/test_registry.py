# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A back end is known only to its own files and to the registry; its name is a choice wherever choices are listed."""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _look, _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend, Evidence, Files, Interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options, unchanged, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Claim, Found, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._registry import choose
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ipoib import VARIABLES
from ansible_collections.rdma.ofed.plugins.modules import ipoib

ROOT = pathlib.Path(__file__).resolve().parents[5]
PACKAGE = ROOT / "plugins/module_utils/_ipoib"
NAMES = tuple(backend.name.replace("systemd-", "") for backend in _registry.BACKENDS)
# Other back ends that read or render the files of a back end; most need no entry.
PARTNERS = {
    "netplan": ("networkd", "networkmanager"),
    "ifcfg": ("networkmanager",),
    # Its profiles of a P_Key child and of netplan are distinguished by name.
    "networkmanager": ("netplan",),
    # Both have a format of shell variables, and their texts mention the difference.
    "wicked": ("ifcfg",),
}


def named(text: str) -> set[str]:
    return {name for name in NAMES if re.search(name.replace("networkmanager", r"network.?manager"), text, re.IGNORECASE)}


def code_of(path: pathlib.Path) -> str:
    """Return a plugin without its documentation."""
    lines = path.read_text().splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("DOCUMENTATION", "EXAMPLES", "RETURN"):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (t.cast("int", node.end_lineno) - node.lineno + 1)
    return "\n".join(lines)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_of_every_backend_are_on_record(name: str) -> None:
    assert list((pathlib.Path(__file__).parent / "golden").glob(name + "-*.txt"))


@pytest.mark.parametrize("path", sorted(path for path in PACKAGE.glob("*.py") if path.name != "_registry.py"), ids=lambda path: path.name)
def test_no_other_file_of_the_package_names_a_backend(path: pathlib.Path) -> None:
    assert named(path.read_text()) == set()


@pytest.mark.parametrize("path", sorted((PACKAGE / "_backends").glob("_*.py")), ids=lambda path: path.name)
def test_the_files_of_a_backend_name_none_but_its_partners(path: pathlib.Path) -> None:
    own = path.stem.split("_")[1]
    if own:
        assert named(path.read_text()) <= {own, *PARTNERS.get(own, ())}


@pytest.mark.parametrize("path", ["plugins/modules/ipoib.py", "plugins/action/ipoib.py"])
def test_no_plugin_names_a_backend_but_in_its_documentation(path: str) -> None:
    assert named(code_of(ROOT / path)) == set()


def test_the_choices_are_those_of_the_registry() -> None:
    choices = ["auto", *(backend.name for backend in _registry.BACKENDS)]
    assert sorted(yaml.safe_load(ipoib.DOCUMENTATION)["options"]["backend"]["choices"]) == sorted(choices)
    specification = yaml.safe_load((ROOT / "roles/ipoib/meta/argument_specs.yml").read_text())
    assert sorted(specification["argument_specs"]["main"]["options"]["ipoib_backend"]["choices"]) == sorted(choices)


class Toy:
    """The files of a back end that exists only in this test: `/etc/toy/NAME`, with the addresses."""

    @staticmethod
    def is_ours(path: str, text: str) -> bool:
        return path.startswith("/etc/toy/") and text.startswith("# ours")

    @classmethod
    def records(cls, files: Files) -> dict[str, Record]:
        return {path[9:]: Record(path[9:], tuple(text.split()[2:])) for path, text in files.items() if cls.is_ours(path, text)}

    @classmethod
    def conflicts(cls, interface: Identity, files: Files) -> tuple[str, ...]:
        return tuple(path for path, text in files.items() if path == "/etc/toy/other-" + interface.name and not cls.is_ours(path, text))


class ToyBackend(Backend):
    name = "toy"
    format = t.cast("t.Any", Toy)
    service = "toy.service"
    patterns = ("/etc/toy/*",)

    def claim(self, evidence: Evidence) -> Claim | None:
        return Claim("toy.service is active", 2) if evidence.is_active(self.service) else None

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return {"/etc/toy/" + interface.name: " ".join(["# ours", *interface.addresses]) for interface in interfaces}


def test_a_further_backend_needs_an_entry_in_the_registry_and_a_declared_choice(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "BACKENDS", (*_registry.BACKENDS, ToyBackend()))
    # As generated from the argument specification of the role.
    monkeypatch.setitem(
        t.cast("dict[str, t.Any]", VARIABLES), "ipoib_backend", {"type": "str", "choices": ["auto", *(backend.name for backend in _registry.BACKENDS)]}
    )
    (tmp_path / "etc/toy").mkdir(parents=True)
    (tmp_path / "etc/toy/ib1").write_text("# ours 10.20.0.2/24")
    files = _look.read_files(str(tmp_path))
    presences = {backend.name: backend.recognise(Evidence(files=files)) for backend in _registry.BACKENDS}
    assert problems({"ipoib_backend": "toy"}) == []
    with pytest.raises(Refused, match=r"toy\.service is not active"):
        choose("toy", presences)
    running = {**presences, "toy": presences["toy"]._replace(claim=Claim("", 2), missing="", in_use=True)}
    assert choose("auto", running).name == "toy"
    found = Found(files=files, backends=running, netdevs={})
    assert [record.name for record in plan(wanted_of(Options(state="absent"), found), found).removed] == ["ib1"]
    assert unchanged({"state": "absent"}, found) is None
