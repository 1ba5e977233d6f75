# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The READMEs of the roles share one form. Their examples are plays that Ansible accepts, with variables that the site accepts."""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import jinja2
import pytest
import yaml
from support.subjects import host_problems

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
FORM = ["Requirements", "Example", "Variables", "What it does", "Consents", "Check mode and results", "Limits"]
# Values that the templates of the examples read.
HOST: t.Mapping[str, t.Any] = {"groups": {"rdma": ["node1", "node2"]}, "inventory_hostname": "node1", "ib_number": 7}


def text(role: str) -> str:
    return (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")


def sections(role: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", text(role), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def examples(role: str) -> list[str]:
    """Return the plays of the examples section; some show an inventory beside them."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", sections(role)["Example"], re.MULTILINE | re.DOTALL)
    return [block for block in blocks if isinstance(yaml.safe_load(block), list)]


def declared() -> set[str]:
    paths = [*ROOT.glob("roles/*/meta/argument_specs.yml"), ROOT / "meta/argument_specs.yml"]
    specs = [yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"] for path in paths]
    return {name for spec in specs for entry in spec.values() for name in entry.get("options", {})}


VARIABLES = declared()


def variables_in(node: t.Any) -> collections.abc.Iterator[dict[str, t.Any]]:
    """Yield the variables of plays, of their roles, of hosts and groups in an inventory, and of plain variable files."""
    if isinstance(node, list):
        for each in node:
            yield from variables_in(each)
    elif isinstance(node, dict):
        if VARIABLES.intersection(node):
            yield node
        else:
            yield from variables_in(list(node.values()))


def evaluated(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: evaluated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [evaluated(each) for each in value]
    return jinja2.Template(value, undefined=jinja2.StrictUndefined).render(HOST) if isinstance(value, str) else value


@pytest.mark.parametrize("role", ROLES)
def test_each_readme_has_the_same_sections_in_the_same_order(role: str) -> None:
    assert list(sections(role)) == FORM


@pytest.mark.parametrize("role", ROLES)
def test_each_readme_begins_with_one_sentence(role: str) -> None:
    title, sentence = text(role).split("\n\n")[:2]
    assert title == "# Role `%s`" % role
    assert sentence.endswith(".") and sentence.count(". ") == 0


@pytest.mark.parametrize("role", ROLES)
def test_the_table_of_variables_is_in_its_section(role: str) -> None:
    assert "<!-- variables: made by `make schema` -->" in sections(role)["Variables"]


@pytest.mark.parametrize("role", ROLES)
def test_the_first_example_is_a_play_with_the_role(role: str) -> None:
    (play,) = yaml.safe_load(examples(role)[0])
    assert play["hosts"] == "rdma" and "rdma.ofed.%s" % role in examples(role)[0]


def test_ansible_takes_every_example(tmp_path: pathlib.Path) -> None:
    paths = []
    for role in ROLES:
        for number, example in enumerate(examples(role)):
            paths.append(tmp_path / ("%s-%d.yml" % (role, number)))
            paths[-1].write_text(example, encoding="utf-8")
    assert len(paths) >= len(ROLES)
    argv = [sys.executable, "-m", "ansible", "playbook", "--syntax-check", "-i", "rdma,", *map(str, paths)]
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(ROOT / "build/checkout"), LC_ALL="C.UTF-8")
    done = subprocess.run(argv, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def hosts_of(block: t.Any) -> list[dict[str, t.Any]]:
    """Return the variables of each host or play. Hosts of an inventory also have those of their group."""
    found = list(variables_in(block))
    common = {name: value for own in found for name, value in own.items()} if isinstance(block, dict) else {}
    return [{**common, **own} for own in found]


@pytest.mark.parametrize("role", ROLES)
def test_the_site_takes_the_variables_of_all_blocks(role: str) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", text(role), re.MULTILINE | re.DOTALL)
    found = [host for block in blocks for host in hosts_of(yaml.safe_load(block))]
    assert found
    for host in found:
        assert [str(problem) for problem in host_problems(evaluated(host))] == [], host
