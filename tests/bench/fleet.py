# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site of hosts behind the connection `recorded`."""

from __future__ import annotations

import json
import pathlib
import typing as t

HERE = pathlib.Path(__file__).resolve().parent
CONNECTIONS = HERE / "connection_plugins"
ODD = 10
"""How many hosts drift, can't be reached or are broken."""


class Case(t.NamedTuple):
    """A run: its playbook, what most hosts answer, what the last ten do, and the exit code."""

    playbook: str
    most: str
    last: str
    status: int


def answered(count: int, case: Case) -> list[str]:
    """What each host answers."""
    return [case.last if number >= count - ODD else case.most for number in range(count)]


def inventory(cases: t.Sequence[str], answers: pathlib.Path) -> dict[str, t.Any]:
    """A site of one fabric, whose first host runs the subnet manager, with variables as in the inventory of a lab. `cases`: what each host answers."""
    hosts = {}
    for number, case in enumerate(cases):
        address = "10.%d.%d.%d/24" % (20 + number // 62500, number // 250 % 250, number % 250 + 1)
        hosts["n%05d" % number] = {
            "bench_number": number,
            "bench_case": case,
            "bench_kind": "compute" if number else "manager",
            "rdma_ports": ["0000:03:00.0/1"],
            "ipoib_interfaces": [{"name": "ib0", "addresses": [address], "mode": "auto"}],
        }
    common = {"ansible_connection": "recorded", "ansible_python_interpreter": "/usr/bin/python3", "bench_answers": str(answers)}
    common["discover_output"] = str(answers / "discovered")
    return {"all": {"vars": common, "children": {"rdma": {"hosts": hosts}, "opensm": {"hosts": {"n00000": {}}}}}}


def write_answers(folder: pathlib.Path) -> None:
    """Write a file for each recorded answer: a worker then reads only its own."""
    (folder / "calls").mkdir()
    for case, kinds in json.loads((HERE / "recorded.json").read_text(encoding="utf-8")).items():
        for kind, modules in kinds.items():
            for module, texts in modules.items():
                for number, text in enumerate(texts):
                    (folder / "-".join([case, kind, module, str(number)])).write_text(text, encoding="utf-8")
