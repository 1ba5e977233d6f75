# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python for modules on nodes of other distributions, whose package managers give prepared answers."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rdma.ofed.plugins.action import interpreter
from ansible_collections.rdma.ofed.plugins.module_utils._site import _interpreter
from ansible_collections.rdma.ofed.plugins.module_utils._site._interpreter import Python

ROOT = pathlib.Path(__file__).resolve().parents[4]
ROCKY = 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"'
SLES = 'ID="sles"\nID_LIKE="suse"\nVERSION_ID="15.5"'
PLATFORM = ("/usr/libexec/platform-python", "3.6.8")
NEW = {"python3.11": ("/usr/bin/python3.11", "3.11.9"), "python3.12": ("/usr/bin/python3.12", "3.12.5"), "python311": ("/usr/bin/python3.11", "3.11.9")}


class Node:
    """Answers of a shell on the node."""

    def __init__(self, system: str, *, offers: t.Collection[str] = (), pythons: t.Sequence[tuple[str, str]] = (PLATFORM,), user: int = 0) -> None:
        self.system, self.offers, self.pythons, self.user = system, offers, list(pythons), user
        self.installed: list[str] = []

    def answer(self, line: str) -> dict[str, t.Any]:
        words = line.split()
        name = words[-1]
        if words[1] == "sh":
            lines = ["Welcome", "user %d" % self.user, *("os " + row for row in self.system.splitlines())]
            lines += ["python %s %s" % (version, path) for path, version in self.pythons]
            return {"rc": 0, "stdout": "\n".join("rdma-ofed " + each if each != "Welcome" else each for each in lines), "stderr": ""}
        trial = "list" in words or "--dry-run" in words
        if name not in self.offers:
            return {"rc": 1, "stdout": "", "stderr": "No match for argument: %s" % name}
        if not trial:
            self.installed.append(name)
            self.pythons.append(NEW[name])
        return {"rc": 0, "stdout": "", "stderr": ""}


def run(node: Node, *, install: bool = False, check: bool = False, running: bool = False, **variables: t.Any) -> dict[str, t.Any]:
    arguments = {"install": install, **({"keep_failure": True, "running": True} if running else {})}
    task = mock.MagicMock(args=arguments, check_mode=check, async_val=0, action="rdma.ofed.interpreter")
    context = mock.MagicMock(check_mode=check)
    templar = Templar(loader=DataLoader(), variables=variables)
    action = interpreter.ActionModule(
        task=task, connection=mock.MagicMock(), play_context=context, loader=DataLoader(), templar=templar, shared_loader_obj=mock.MagicMock()
    )
    with mock.patch.object(action, "_low_level_execute_command", node.answer):
        result: dict[str, t.Any] = action.run(task_vars={"inventory_hostname": "node1", "ansible_facts": {}, **variables})
    return result


@pytest.mark.parametrize(
    "system, offers, package",
    [(ROCKY, ("python3.11", "python3.12"), "python3.11"), (ROCKY, ("python3.12",), "python3.12"), (SLES, ("python311",), "python311")],
)
def test_the_first_package_that_the_node_can_get_is_installed(system: str, offers: tuple[str, ...], package: str) -> None:
    node = Node(system, offers=offers)
    predicted = run(node, install=True, check=True)
    assert (predicted["changed"], predicted["package"], predicted["interpreter"], node.installed) == (True, package, "", [])
    done = run(node, install=True)
    assert (done["changed"], done["package"], node.installed) == (True, package, [package])
    assert done["ansible_facts"] == {"discovered_interpreter_python": NEW[package][0]}
    again = run(node, install=True)
    assert (again["changed"], again["interpreter"], node.installed) == (False, NEW[package][0], [package])


def test_what_can_not_be_installed_fails_by_name() -> None:
    assert run(Node(ROCKY), install=True)["msg"] == "node1: dnf has none of the packages python3.11, python3.12, python3; look at its repositories"
    assert "requires root" in run(Node(ROCKY, offers=("python3.11",), user=1000), install=True)["msg"]
    assert "no Python package is known for the distribution" in run(Node("ID=void"), install=True)["msg"]


def test_what_is_declared_counts() -> None:
    node = Node(ROCKY, pythons=[PLATFORM, NEW["python3.11"]])
    assert run(node)["ansible_facts"] == {"discovered_interpreter_python": "/usr/bin/python3.11"}
    fine = run(node, ansible_python_interpreter="/usr/bin/python3.11")
    assert (fine["wrong"], "ansible_facts" in fine) == ([], False)
    (wrong,) = run(node, ansible_python_interpreter="/usr/libexec/platform-python")["wrong"]
    assert wrong.startswith("ansible_python_interpreter is 3.6.8 (/usr/libexec/platform-python); allowed: 3.")
    assert "Set it to /usr/bin/python3.11" in wrong
    (wrong,) = run(Node(ROCKY), ansible_python_interpreter="/opt/python")["wrong"]
    assert "/opt/python, which does not start" in wrong


def test_the_python_of_the_distribution_comes_first_where_it_is_new_enough() -> None:
    both = [Python("/usr/bin/python3", (3, 9, 18)), Python("/usr/bin/python3.11", (3, 11, 9))]
    assert _interpreter.choose(both) == both[0]
    assert _interpreter.choose([Python(*("/usr/bin/python3", (3, 6, 8))), both[1]]) == both[1]


@pytest.mark.parametrize("core, oldest", [("2.14.18", (3, 8)), ("2.19.14", (3, 8)), ("2.20.0rc1", (3, 9)), ("2.21.5", (3, 9))])
def test_newer_ansible_wants_a_newer_python(core: str, oldest: tuple[int, int]) -> None:
    assert _interpreter.oldest_for(core) == oldest
    found = [Python("/usr/bin/python3", (3, 8, 10))]
    assert ("allowed: 3.9 to" in _interpreter.refusal(found, oldest=oldest)) == (oldest == (3, 9))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"rc": 127, "stdout": "", "stderr": "Warning: x\n/bin/sh: 1: sudo: not found\n"},
            "no command can be run there with become: /bin/sh: 1: sudo: not found. Next: ",
        ),
        ({"rc": 1, "stdout": "This account is not available.\n", "stderr": ""}, "no command can be run there with become: This account is not available"),
        # ssh allocates a terminal in this case.
        (
            {"rc": 127, "stdout": "/bin/sh: 1: sudo: not found\r\n", "stderr": "Shared connection to node1 closed.\r\n"},
            "with become: /bin/sh: 1: sudo: not found. Next: ",
        ),
        ({"rc": 255, "stdout": "", "stderr": "Connection to node1 closed."}, "it printed nothing"),
    ],
)
def test_a_node_on_which_nothing_runs_is_not_said_to_lack_a_python(said: dict[str, t.Any], words: str) -> None:
    node = Node(ROCKY)
    node.answer = lambda line: said  # type: ignore[method-assign]
    (wrong,) = run(node)["wrong"]
    assert words in wrong and "bootstrap" not in wrong
    installing = run(node, install=True)
    assert installing["failed"] and words in installing["msg"]


@pytest.mark.parametrize(("declared", "out"), [(True, True), ("yes", True), (False, False), ("no", False)])
def test_an_image_is_left_out_where_a_running_system_is_needed(declared: t.Any, out: bool) -> None:
    node = Node(SLES, pythons=[NEW["python311"]])
    result = run(node, running=True, rdma_image=declared)
    assert [reason.startswith("it is the tree of an image (rdma_image)") for reason in result["left_out"].get("all", [])] == [True] * out
    assert run(node, rdma_image=declared)["wrong"] == []


@pytest.mark.parametrize("name", ["discover", "fabric", "gpudirect_test", "job_test", "pair_test", "support_bundle"])
def test_playbooks_that_measure_need_a_running_system(name: str) -> None:
    text = (ROOT / "playbooks" / (name + ".yml")).read_text(encoding="utf-8")
    needs = text.count("shared/need_python.yml")
    assert text.count("shared/need_python.yml\n" + "      vars:\n        __rdma_running: true\n") == needs > 0
    assert text.count("rdma.ofed.interpreter:") == text.count("        running: true\n")
