# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples in ansible-doc are tasks or plays, and each module accepts their options."""

from __future__ import annotations

import collections.abc
import copy
import importlib
import pathlib
import typing as t

import jinja2
import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Picture, written

ROOT = pathlib.Path(__file__).resolve().parents[3]
PREFIX = "rdma.ofed."
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("[!_]*.py"))
FILTERS = sorted(path.stem for path in (ROOT / "plugins/filter").glob("[!_]*.py"))
# Values that replace templates, by option type.
SAMPLES: t.Mapping[str, t.Any] = {"bool": True, "int": 1, "float": 1.0, "list": [], "dict": {}}


def examples(module: str) -> t.Any:
    return yaml.safe_load(importlib.import_module("ansible_collections.rdma.ofed.plugins.modules." + module).EXAMPLES)


def tasks_of(entries: t.Any) -> collections.abc.Iterator[dict[str, t.Any]]:
    """Yield all tasks in tasks, plays and blocks."""
    for entry in entries or ():
        inner = [entry[key] for key in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always") if key in entry]
        for part in inner:
            yield from tasks_of(part)
        if not inner:
            yield entry


def specification(module: str) -> dict[str, t.Any]:
    """Return a copy: Ansible fills in the defaults of suboptions in place."""
    schema = importlib.import_module("ansible_collections.rdma.ofed.plugins.module_utils._schema._" + module)
    return t.cast("dict[str, t.Any]", copy.deepcopy(schema.OPTIONS))


def evaluated(value: t.Any, option: t.Mapping[str, t.Any]) -> t.Any:
    if isinstance(value, str) and "{{" in value:
        return SAMPLES.get(option.get("type", "str"), next(iter(option.get("choices", ())), "x"))
    return value


def options_of(task: dict[str, t.Any]) -> collections.abc.Iterator[tuple[str, dict[str, t.Any]]]:
    for key, arguments in task.items():
        if key.startswith(PREFIX) and key[len(PREFIX) :] in MODULES:
            own = specification(key[len(PREFIX) :])
            yield key[len(PREFIX) :], {name: evaluated(value, own.get(name, {})) for name, value in (arguments or {}).items()}


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_taken(module: str) -> None:
    used = []
    for task in tasks_of(examples(module)):
        assert task.get("name"), task
        for name, arguments in options_of(task):
            used.append(name)
            checked = ArgumentSpecValidator(specification(name)).validate(arguments)
            assert checked.error_messages == [], (name, arguments)
    assert module in used


def node_checks() -> list[dict[str, t.Any]]:
    found = [pair for module in ("node_check", "report") for task in tasks_of(examples(module)) for pair in options_of(task)]
    return [arguments for name, arguments in found if name == "node_check"]


@pytest.mark.parametrize("arguments", node_checks())
def test_examples_of_the_check_hold_on_every_host(arguments: dict[str, t.Any]) -> None:
    """The host of the subnet manager runs opensm, which is a deviation unless the example designates that host."""
    addresses = [{**item, "addresses": ["10.20.0.2/24"]} for item in arguments.get("interfaces", ())]
    checked = ArgumentSpecValidator(specification("node_check")).validate({**arguments, "interfaces": addresses})
    assert problems(checked.validated_parameters) == []
    assert ("designated_host" in arguments) == ("designated" in arguments)
    # A single address for all hosts of a play would be wrong.
    written = [item["addresses"] for item in arguments.get("interfaces", ()) if "addresses" in item]
    assert all("{{" in address for own in written for address in own)


def test_the_table_is_printed_of_what_was_registered() -> None:
    tasks = list(tasks_of(examples("report")))
    (check,) = (task for task in tasks if PREFIX + "node_check" in task)
    (table,) = (task for task in tasks if task.get(PREFIX + "report", {}).get("kind") == "nodes")
    assert table[PREFIX + "report"]["variable"] == check["register"]
    assert check[PREFIX + "node_check"]["fail"] is False and table["run_once"] is True


# Variables that the filter examples read, of one host in a play on two.
PLAY: t.Mapping[str, t.Any] = {
    "groups": {"rdma": ["node1", "node2"], "opensm": ["node1"]},
    "hostvars": {"node1": {}, "node2": {}},
    "inventory_hostname": "node1",
    "gpudirect_outcome": {"pending": []},
}


@pytest.mark.parametrize("name", FILTERS)
def test_examples_of_filters_are_evaluated(name: str) -> None:
    plugin = importlib.import_module("ansible_collections.rdma.ofed.plugins.filter." + name)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.globals["lookup"] = lambda _name, _file: written(Picture(), "")
    environment.filters.update({PREFIX + short: call for short, call in plugin.FilterModule().filters().items()})
    templates = [text for task in yaml.safe_load(plugin.EXAMPLES) for key, part in task.items() if key != "name" for text in part.values()]
    assert any(PREFIX + name in template for template in templates)
    for template in templates:
        environment.from_string(template).render(PLAY)
