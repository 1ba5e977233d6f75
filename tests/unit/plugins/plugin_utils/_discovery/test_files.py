# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Value
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._files import HEADER, files
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._lift import Outlier, Placed
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._words import Report, render
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._write import require_place, write
from support import hostile

PLACED = Placed({"rdma": [Value("a", 1, "one")], "gpu": [Value("b", 2, "two")]}, {"node2": [Value("c", [3], "three")]}, [])
GROUPS = {"gpu": ["node1", "node2"], "opensm": ["node2", "node1"]}
HOSTS = ["node10", "node2", "node1"]


def test_a_folder() -> None:
    found = files(PLACED, top="rdma", groups=GROUPS, hosts=HOSTS, single=False)
    assert list(found) == ["hosts.yml", "group_vars/rdma.yml", "group_vars/gpu.yml", "host_vars/node2.yml"]
    assert yaml.safe_load(found["hosts.yml"])["all"]["children"] == {
        "rdma": {"hosts": {"node1": {}, "node2": {}, "node10": {}}},
        "gpu": {"hosts": {"node1": {}, "node2": {}}},
        "opensm": {"hosts": {"node2": {}, "node1": {}}},
    }
    assert found["host_vars/node2.yml"] == HEADER + "\n---\n# three\nc: [3]\n"


def test_one_file() -> None:
    found = files(PLACED, top="rdma", groups=GROUPS, hosts=HOSTS, single=True)
    assert list(found) == ["inventory.yml"]
    children = yaml.safe_load(found["inventory.yml"])["all"]["children"]
    assert children["rdma"] == {"hosts": {"node1": {}, "node2": {"c": [3]}, "node10": {}}, "vars": {"a": 1}}
    assert children["gpu"]["vars"] == {"b": 2} and list(children["opensm"]["hosts"]) == ["node2", "node1"]


@pytest.mark.parametrize("name", [name for name in hostile.NAMES if "\udcff" not in name])
def test_a_host_whose_name_is_no_name_of_a_file(name: str) -> None:
    found = files(Placed({}, {name: [Value("c", 3, name)]}, []), top="rdma", groups={}, hosts=[name], single=False)
    own: dict[str, t.Any] = yaml.safe_load(found["hosts.yml"])["all"]["children"]["rdma"]["hosts"]
    assert own == {name: {"c": 3}} or list(found)[1:] == ["host_vars/%s.yml" % name]
    assert not any("/" in path.partition("/")[2] or ".." in path for path in found)


def test_nothing_of_others_is_replaced(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "discovered"
    require_place(str(folder), overwrite=False)
    write(str(folder), {"hosts.yml": HEADER + "\n", "host_vars/a.yml": HEADER + "\n"})
    with pytest.raises(Refused, match="discover_overwrite=true"):
        require_place(str(folder), overwrite=False)
    require_place(str(folder), overwrite=True)
    write(str(folder), {"hosts.yml": HEADER + "\n"}, kept=["host_vars/a.yml"])
    assert (folder / "host_vars/a.yml").is_file()
    (folder / "host_vars/mine.yml").write_text("x: 1\n", encoding="utf-8")
    write(str(folder), {"hosts.yml": HEADER + "\n---\n"})
    assert sorted(path.name for path in folder.rglob("*.yml")) == ["hosts.yml", "mine.yml"]
    with pytest.raises(Refused, match=r"mine\.yml was not written by rdma.ofed.discover"):
        write(str(folder), {"hosts.yml": HEADER + "\nother\n", "host_vars/mine.yml": HEADER + "\n"})
    assert "other" not in (folder / "hosts.yml").read_text(encoding="utf-8")


def test_a_place_that_is_no_folder(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(Refused, match="is not a directory"):
        require_place(str(tmp_path / "file"), overwrite=True)
    with pytest.raises(RdmaError):
        write(str(tmp_path / "file"), {"hosts.yml": ""})
    (tmp_path / "hosts.yml").mkdir()
    with pytest.raises(RdmaError, match="can't be read"):
        write(str(tmp_path), {"hosts.yml": ""})


def report(**fields: t.Any) -> Report:
    return Report(["node1", "node2"], [], {}, {}, [], "discovered", ["hosts.yml"])._replace(**fields)


def test_the_report() -> None:
    text = render(
        report(
            missing=["node3"],
            left={"": ["site"], "node1": ["same"], "node2": ["same"]},
            dangers={"node1": ["low"]},
            outliers=[Outlier("mtu", "rdma", 4092, ["node2"], "x")],
        ),
        full=False,
    )
    assert text.splitlines()[:-1] == [
        "Discovered: 2 hosts",
        "Dangerous:",
        "  node1: low",
        "Differs between hosts:",
        "  node2: mtu has x, and most hosts of rdma have 4092",
        "Not expressed by the files:",
        "  site",
        "  node[1-2]: same",
        "Not looked at, so nothing is known of:",
        "  node3",
        "Written to discovered: hosts.yml",
    ]
    assert text.endswith("-i discovered behind your inventory")
    assert render(report(files=()), full=False).endswith("Nothing was written in check mode")


def test_a_long_report_fits_on_a_screen_and_is_whole_in_the_file() -> None:
    many = report(left={"node%d" % number: ["%s of another kind" % ("x" * number)] for number in range(100)}, files=["f%d" % number for number in range(100)])
    assert len(render(many, full=False).splitlines()) < 40
    assert len(render(many, full=True).splitlines()) > 100


@pytest.mark.parametrize("text", hostile.NAMES)
def test_what_others_have_named_is_shown_as_one_line(text: str) -> None:
    found = render(report(left={"node1": [text], "": [text]}, dangers={"node1": [text]}), full=True)
    assert all(line.isprintable() for line in found.splitlines()) and len(found.splitlines()) == 8
