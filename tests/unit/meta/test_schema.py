# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each variable is declared once, and everything generated from the declaration is up to date."""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import ROLES
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _gather
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _method
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._schema import _gpudirect, _ipoib, _rdma_facts, _validate_site
from support.playbook_plays import plays

ROOT = pathlib.Path(__file__).resolve().parents[3]
DECLARATION = """\
      ipoib_colour:
        description: The colour of the cable. See O(ipoib_backup).
        type: str
        choices: [blue, orange]
        default: blue
"""


@pytest.fixture
def schema(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT / "tests/tools"))
    import schema

    yield schema
    for name in ("common", "schema", "schema_text"):
        sys.modules.pop(name, None)


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    for folder in ("docs", "meta", "playbooks", "plugins", "roles"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def append(path: pathlib.Path, text: str, behind: str = "") -> None:
    old = path.read_text(encoding="utf-8")
    assert behind in old
    path.write_text(old.replace(behind, behind + text, 1) if behind else old + text, encoding="utf-8")


def test_what_follows_from_the_declarations_is_up_to_date(schema: t.Any) -> None:
    assert schema.check() == []


def test_a_variable_takes_three_edits(schema: t.Any, copy: pathlib.Path) -> None:
    append(copy / "roles/ipoib/meta/argument_specs.yml", DECLARATION)
    wrong = schema.check(root=copy)
    assert wrong[0] == "nothing reads ipoib_colour. %s" % schema.RECIPE
    append(copy / "roles/ipoib/tasks/main.yml", '    colour: "{{ ipoib_colour }}"\n', '    state: "{{ ipoib_state }}"\n')
    # The third edit is the code, which cannot be generated.
    assert all("run `make schema`" in line for line in schema.check(root=copy))
    assert schema.check(write=True, root=copy) == []
    assert schema.check(root=copy) == []
    assert yaml.safe_load((copy / "roles/ipoib/defaults/main.yml").read_text())["ipoib_colour"] == "blue"
    option = schema.Tree(copy).documentation("ipoib")["colour"]
    assert option == {"description": "The colour of the cable. See O(backup).", "type": "str", "choices": ["blue", "orange"], "default": "blue"}
    scope: dict[str, t.Any] = {}
    exec((copy / "plugins/module_utils/_schema/_ipoib.py").read_text(), scope)
    assert scope["OPTIONS"]["colour"] == scope["VARIABLES"]["ipoib_colour"] == {"type": "str", "choices": ["blue", "orange"], "default": "blue"}
    row = "| `ipoib_colour` | %s`blue` | The colour of the cable. See `ipoib_backup`."
    assert row % "str | " in (copy / "roles/ipoib/README.md").read_text()
    assert row % "str | " + " One of `blue`, `orange`. |" in (copy / "docs/variables.md").read_text()


@pytest.mark.parametrize(
    ("path", "behind", "text", "message"),
    [
        ("roles/ipoib/defaults/main.yml", "", "ipoib_colour: blue\n", "ipoib_colour is in roles/ipoib/defaults/main.yml, but not declared. A variable takes"),
        (
            "roles/ipoib/tasks/main.yml",
            '    state: "{{ ipoib_state }}"\n',
            '    colour: "{{ ipoib_colour }}"\n',
            "ipoib_colour is in roles/ipoib/tasks/main.yml, but not declared. A variable takes",
        ),
        ("roles/ipoib/defaults/main.yml", "ipoib_backup: ", "not ", "ipoib_backup has another default in roles/ipoib/defaults/main.yml than is declared"),
        (
            "roles/ipoib/meta/argument_specs.yml",
            "choices: [auto, systemd-networkd, ",
            "ifplugd, ",
            "plugins/modules/ipoib.py is out of date: run `make schema`",
        ),
        ("plugins/modules/gpudirect.py", "choices: [auto, nvidia_peermem, ", "gdrdrv, ", "plugins/modules/gpudirect.py: option method has the choices"),
        (
            "roles/opensm/meta/argument_specs.yml",
            "      opensm_log_flags:\n        type: str",
            "2",
            "option log_flags is of type str, but opensm_log_flags of str2",
        ),
        ("plugins/modules/soft_rdma.py", "          - The network interface", " card", "plugins/modules/soft_rdma.py is out of date: run `make schema`"),
    ],
)
def test_a_contradiction_is_named(schema: t.Any, copy: pathlib.Path, path: str, behind: str, text: str, message: str) -> None:
    append(copy / path, text, behind)
    assert any(message in line for line in schema.check(root=copy))


def test_the_table_of_a_role_that_is_gone_goes(schema: t.Any, copy: pathlib.Path) -> None:
    shutil.rmtree(copy / "roles/soft_rdma")
    (copy / "plugins/modules/soft_rdma.py").unlink()
    schema.check(write=True, root=copy)
    assert not (copy / "plugins/module_utils/_schema/_soft_rdma.py").exists()
    assert (copy / "plugins/module_utils/_schema/_values.py").exists()


def test_modules_and_actions_take_their_options_from_the_schema() -> None:
    for path in (ROOT / "plugins/modules").glob("*.py"):
        # A module without code documents an action.
        code = path if "def main" in path.read_text(encoding="utf-8") else ROOT / "plugins/action" / path.name
        assert "_schema._%s import OPTIONS\n" % path.stem in code.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize(
    ("choices", "known"),
    [
        (_ipoib.VARIABLES["ipoib_backend"]["choices"], ["auto", *(backend.name for backend in _registry.BACKENDS)]),
        (_gpudirect.VARIABLES["gpudirect_method"]["choices"], ["none", *_method.METHODS]),
        (_rdma_facts.OPTIONS["gather"]["choices"], _gather.PARTS),
    ],
)
def test_choices_are_what_the_code_knows(choices: t.Iterable[str], known: t.Iterable[str]) -> None:
    assert sorted(choices) == sorted(known)


def test_what_is_validated_on_its_own_is_a_role_or_a_playbook_without_one() -> None:
    assert set(_validate_site.OPTIONS["role"]["choices"]) <= {"fabric", "discover", "rehearse", *ROLES}


@pytest.mark.parametrize("playbook", ["gpudirect_test", "pair_test"])
def test_a_playbook_that_validates_its_variables_reads_their_declaration(playbook: str) -> None:
    tasks = [task for play in plays(playbook) for task in play["tasks"]]
    judged = next(task["ansible.builtin.validate_argument_spec"]["argument_spec"] for task in tasks if "ansible.builtin.validate_argument_spec" in task)
    declared = next(task["ansible.builtin.include_vars"] for task in tasks if "ansible.builtin.include_vars" in task)
    assert judged == "{{ %s.argument_specs.%s.options }}" % (declared["name"], playbook)
    assert playbook in yaml.safe_load((ROOT / "playbooks" / declared["file"]).read_text(encoding="utf-8"))["argument_specs"]


# `default(omit)` and `or omit` pass no value: the option has its own default.
DEFAULTED = re.compile(r"(?<![.'\w])(?P<name>[a-z]\w+)\)?\s*\|\s*(?:default|d)\((?P<value>(?:[^()]|\([^()]*\))*)\)(?! or omit)")
LITERAL = re.compile(r"""^(?:'[^']*'|"[^"]*"|[\d.]+|true|false|none|\[.*\]|\{.*\})$""", re.IGNORECASE)


def inline_defaults(schema: t.Any, text: str) -> list[str]:
    """Return inline defaults of variables that are declared, or should be."""
    tree = schema.Tree()
    declared = {name: option for owner in tree.declared for name, option in tree.own(owner).items()}
    found = [(match["name"], re.sub(r",\s*true$", "", match["value"])) for match in DEFAULTED.finditer(text)]
    known = [(name, value) for name, value in found if name in declared and value != "omit"]
    return ["%s: %s" % (name, value) for name, value in known if "default" in declared[name] or LITERAL.match(value)]


def test_defaults_come_from_the_declaration_alone(schema: t.Any) -> None:
    """In a playbook or role: a role's own variables have the role's defaults, others the lookup `declared`."""
    assert inline_defaults(schema, "{{ ofed_timeout | default(3600) }} {{ (rdma_fabrics | default({}, true)).values() }}") == [
        "ofed_timeout: 3600",
        "rdma_fabrics: {}",
    ]
    assert inline_defaults(schema, "{{ ofed_bundle | default('', true) or omit }} {{ rdma_slurm_node | default(inventory_hostname_short) }}") == []
    paths = [*(ROOT / "playbooks").rglob("*.yml"), *(path for part in ("defaults", "tasks", "vars") for path in (ROOT / "roles").glob("*/%s/*.yml" % part))]
    found = {str(path.relative_to(ROOT)): inline_defaults(schema, path.read_text(encoding="utf-8")) for path in paths}
    assert {path: own for path, own in found.items() if own} == {}
