# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Duplicate declarations agree: metadata, documentation, argument specifications, defaults, tests."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import pathlib
import re
import subprocess
import typing as t

import pytest
import yaml
from support import sources

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
# An action plugin of the same name does the work, and the module file holds the documentation. Those whose module has no code run only on the controller;
# others extend what their module does on the node.
ACTIONS = {path.stem for path in (ROOT / "plugins/action").glob("*.py") if "def main" not in (ROOT / "plugins/modules" / path.name).read_text(encoding="utf-8")}
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
REAL_MODULES = [name for name in MODULES if name not in ACTIONS]

# Role options without a default: their description says what omitting them means.
NO_DEFAULT = re.compile(r"default|left out|without|not set|empty", re.IGNORECASE)

# Words about the development of the code, or that are not terms of the field.
FORBIDDEN = ("TODO", "FIXME", "XXX")

# Former names of what docs/architecture.md calls Wanted, Found, Plan, Change and finding.
RETIRED = {"Wish", "Verdict", "Draft", "Decision", "Declared", "Observed", "Judged", "Look", "Target"}


def load(path: str) -> t.Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def constant(module: str, name: str) -> t.Any:
    """Return a documentation block of a module without importing the module."""
    tree = sources.tree(ROOT / "plugins/modules" / ("%s.py" % module))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
            return ast.literal_eval(node.value)
    raise AssertionError("%s has no %s" % (module, name))


def shipped() -> list[str]:
    """Return the files that a user gets."""
    ignored = [pattern.rstrip("/") for pattern in load("galaxy.yml")["build_ignore"]]
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()
    return [name for name in names if not any(fnmatch.fnmatch(part, pattern) for pattern in ignored for part in (name, name.split("/")[0]))]


def options(role: str) -> dict[str, t.Any]:
    specs = load("roles/%s/meta/argument_specs.yml" % role)["argument_specs"]
    return {name: option for entry in specs.values() for name, option in entry.get("options", {}).items()}


def test_the_action_group_has_every_module() -> None:
    assert load("meta/runtime.yml")["action_groups"]["rdma"] == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_module_documentation_names_the_module(name: str) -> None:
    documentation = yaml.safe_load(constant(name, "DOCUMENTATION"))
    assert documentation["module"] == name
    assert documentation["version_added"]
    fragments = set(documentation["extends_documentation_fragment"])
    kind = "action" if name in ACTIONS else "info" if name.endswith(("_info", "_facts", "_check", "_ports", "support_bundle", "file_systems")) else "state"
    assert "rdma.ofed.attributes.%s" % kind in fragments


@pytest.mark.parametrize("name", MODULES)
def test_examples_use_the_full_name(name: str) -> None:
    examples = yaml.safe_load(constant(name, "EXAMPLES"))
    assert any("rdma.ofed.%s" % name in task for task in examples)


@pytest.mark.parametrize("name", REAL_MODULES)
def test_every_module_has_unit_tests(name: str) -> None:
    assert (ROOT / "tests/unit/plugins/modules" / ("test_%s.py" % name)).is_file()


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_action_is_tested_and_documented(name: str) -> None:
    assert name in MODULES
    assert any(name in path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit/plugins/action").glob("test_*.py"))


def test_actions_of_the_controller_open_in_one_place() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "plugins/action").glob("*.py")}
    assert [name for name, text in texts.items() if "_requires_connection" in text] == []
    assert {name for name, text in texts.items() if "(ControllerAction)" in text} < ACTIONS


@pytest.mark.parametrize("role", ROLES)
def test_defaults_and_argument_specification_of_a_role_agree(role: str) -> None:
    path = ROOT / "roles" / role / "defaults/main.yml"
    defaults = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.is_file() else {}
    found = options(role)
    undocumented = set(defaults) - set(found)
    assert not undocumented
    for name, option in found.items():
        if name in defaults and "default" in option and "{{" not in str(defaults[name]):
            assert option["default"] == defaults[name], name
        if name not in defaults:
            text = " ".join([option["description"]] if isinstance(option["description"], str) else option["description"])
            assert option.get("required") or "default" in option or NO_DEFAULT.search(text), "%s: what does leaving it out mean?" % name


@pytest.mark.parametrize("role", ROLES)
def test_role_is_in_the_release_notes(role: str) -> None:
    main = load("roles/%s/meta/argument_specs.yml" % role)["argument_specs"]["main"]
    assert main["version_added"]
    if main["version_added"] in load("changelogs/changelog.yaml")["releases"]:
        assert "- rdma.ofed.%s - %s" % (role, main["short_description"].replace("_", "\\_")) in (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "tests/corpus").glob("*/PROVENANCE.tsv")), ids=lambda path: path.parent.name)
def test_sources_of_samples_are_ones_that_a_reader_can_look_up(path: pathlib.Path) -> None:
    assert not re.search(r"\bid [0-9]+", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("environ", "folder", "words"),
    [
        ({}, ".lab", [" tests/lab/lab status", "ansible-playbook rdma.ofed.verify", "is .lab/inventory.yml", " make stop"]),
        (
            {"RDMALAB_PREFIX": "two"},
            ".lab/two",
            [
                "RDMALAB_PREFIX=two tests/lab/lab status",
                "-i .lab/two/inventory.yml rdma.ofed.verify",
                "is .lab/two/inventory.yml",
                "RDMALAB_PREFIX=two make stop",
            ],
        ),
    ],
)
def test_the_demo_names_its_own_lab(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], folder: str, words: list[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests/tools"))
    demo = importlib.import_module("demo")
    text = demo.look_around(7.0, ROOT / folder / "inventory.yml", environ)
    assert not [word for word in words if word not in text]


@pytest.mark.parametrize("role", ROLES)
def test_role_readme_has_every_variable_and_an_example(role: str) -> None:
    text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    assert not [name for name in options(role) if name not in text]
    assert "rdma.ofed.%s" % role in text
    assert "```yaml" in text


@pytest.mark.parametrize("role", ROLES)
def test_public_variables_carry_the_name_of_the_role(role: str) -> None:
    # fabric and rdma_* belong to the node or the site, not to one role
    assert not [name for name in options(role) if not name.startswith(("%s_" % role, "rdma_")) and name != "fabric"]


def test_what_is_shipped_is_what_a_user_needs() -> None:
    top = {name.split("/")[0] for name in shipped()}
    needed = {"CHANGELOG.rst", "LICENSE", "README.md", "changelogs", "galaxy.yml", "meta", "playbooks", "plugins", "roles"}
    assert top - {"docs"} == needed


def test_an_installed_collection_does_not_reach_into_the_checkout() -> None:
    for name in shipped():
        if name.startswith(("plugins/", "roles/", "playbooks/")) and not name.endswith(".md"):
            assert not re.search(r"\b(tests|molecule)/", (ROOT / name).read_text(encoding="utf-8")), name


def test_no_forbidden_words() -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.split("\0")
    found = []
    for name in filter(None, names):
        path = ROOT / name
        if name == "LICENSE" or name.startswith("tests/corpus/") or path == pathlib.Path(__file__) or not path.is_file():
            continue
        text = path.read_bytes().decode(errors="replace")
        found += ["%s: %s" % (name, word) for word in FORBIDDEN if re.search(r"\b%s\b" % word, text)]
    assert not found


@pytest.mark.parametrize("folder", ["module_utils", "plugin_utils"])
def test_what_plugins_share_is_private_to_the_collection(folder: str) -> None:
    """Other collections may import names without a leading underscore."""
    public = [path.name for path in (ROOT / "plugins" / folder).iterdir() if not path.name.startswith("_")]
    assert public == []


def test_python_files_have_the_header() -> None:
    names = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()
    bare = []
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else ""
        if text and ("SPDX-License-Identifier: GPL-3.0-or-later" not in text[:600] or "Copyright (c) 2026 The rdma.ofed engineers" not in text[:600]):
            bare.append(name)
    assert not bare


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names[1:] if names[:1] in (["self"], ["cls"]) else names)


def test_no_class_has_a_retired_name() -> None:
    trees = {path: sources.tree(path) for path in sorted((ROOT / "plugins").rglob("*.py"))}
    classes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert [str(path.relative_to(ROOT)) for path, node in classes if node.name.lstrip("_") in RETIRED] == []


def test_parameters_beyond_the_third_are_taken_by_keyword() -> None:
    many = []
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        for node in ast.walk(sources.tree(path)):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or positional(node) <= 3:
                continue
            # Jinja passes the arguments of a template in order, and Python and Ansible choose how they call methods.
            template = path.parent in (ROOT / "plugins/filter", ROOT / "plugins/inventory") and not node.name.startswith("_")
            if not template and not (node.name.startswith("__") and node.name.endswith("__")):
                many.append("%s:%d %s" % (path.relative_to(ROOT), node.lineno, node.name))
    assert not many


def test_the_role_ofed_starts_from_nothing_where_it_runs_again() -> None:
    """Registered results last for the whole run, and not every path through the role sets each of them."""
    files = (ROOT / "roles/ofed/tasks").glob("*.yml")
    registered = {found for file in files for found in re.findall(r"^ *register: (\S+)$", file.read_text(encoding="utf-8"), re.MULTILINE)}
    first = yaml.safe_load((ROOT / "roles/ofed/tasks/main.yml").read_text(encoding="utf-8"))[0]
    assert first["ansible.builtin.set_fact"] == {name: {} for name in registered}
    assert first["when"] == "ofed_outcome is defined"
