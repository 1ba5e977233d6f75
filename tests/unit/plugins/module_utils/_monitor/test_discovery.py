# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the monitor as declarations: what the role writes is read back as it was declared."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._node import Node
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _settings as places
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._discovery import join, read
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._files import FILES, TIMER_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._found import Installed
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._input import role_problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._look import seen
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._plan import files_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found, Whole
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_monitor import OPTIONS
from support import hostile

PORT = {"name": "mlx5_0/1", "link_layer": "InfiniBand", "state": "ACTIVE"}
PROGRAMS = dict.fromkeys((places.SAMPLER, places.HEALTH), "#!/usr/bin/python3 -I\n" + HEADER + "import sys\n" * 9)
SAMPLING = {"sampler": True, "fabrics": {"ib": []}}


def installed(root: pathlib.Path, **options: t.Any) -> Installed:
    """What the look reports of a node on which the role ran with these options, after its way to the controller."""
    defaults = {name: option.get("default") for name, option in OPTIONS.items()}
    for path, text in files_of(wanted_of({**defaults, **options}), PROGRAMS).items():
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).write_text(text, encoding="utf-8")
    return decode(Installed, encode(seen(Node(t.cast("t.Any", None), "", {}, str(root)), {})))


def values(found: Installed, *ports: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    reading = read(Subject("node1", facts={"ports": list(ports or (PORT,))}, found=found))
    assert list(reading.left) == []
    declared = {value.variable: value.value for value in reading.values}
    assert role_problems(declared) == []
    return declared


def test_what_the_role_writes_is_read_back(tmp_path: pathlib.Path) -> None:
    declared = {"interval": 600, "only_master": False, "textfile_dir": "/srv/metrics", "node_name_map": "/etc/names"}
    found = installed(tmp_path, sampler=True, fabrics={"ib": ["mlx5_0/1"], "storage": []}, **declared)
    assert values(found) == {
        **{"fabric_monitor_" + name: value for name, value in declared.items()},
        "fabric_monitor_fabrics": {"ib": ["mlx5_0/1"], "storage": []},
    }


def test_health_checks_are_read_back(tmp_path: pathlib.Path) -> None:
    options = {"health_checks": ["slurm", "nhc"], "ports": ["mlx5_0/1"], "interfaces": ["ib0", {"port_guid": "0x1"}], "rate_gbps": 12.5, "slurm_node": "n1"}
    assert values(installed(tmp_path, **options)) == {
        "fabric_monitor_health_checks": ["nhc", "slurm"],
        "fabric_monitor_health_ports": ["mlx5_0/1"],
        "fabric_monitor_health_interfaces": ["ib0"],
        "fabric_monitor_health_rate_gbps": 12.5,
        "rdma_slurm_node": "n1",
    }


def test_defaults_are_recognised(tmp_path: pathlib.Path) -> None:
    found = installed(tmp_path, **SAMPLING, health_checks=["slurm"], slurm_node="node1")
    defaults = {"fabric_monitor_" + name: OPTIONS[name]["default"] for name in ("interval", "only_master", "textfile_dir", "node_name_map")}
    assert values(found) == {**defaults, "fabric_monitor_health_checks": ["slurm"], "fabric_monitor_health_rate_gbps": 0}
    # With several ports, a discovery may declare one of them for the subnet manager, and the defaults would follow it.
    declared = values(found, PORT, {**PORT, "name": "mlx5_1/1"})
    assert (declared["fabric_monitor_fabrics"], declared["fabric_monitor_health_ports"]) == ({"ib": []}, [])
    assert values(Installed()) == {}


def test_programs_stay_on_the_node(tmp_path: pathlib.Path) -> None:
    found = installed(tmp_path, **SAMPLING, health_checks=["nhc"])
    assert sorted(found.files) == sorted(set(FILES) - {places.SLURM})
    assert all(len(found.files[path].splitlines()) == 2 for path in (places.SAMPLER, places.HEALTH, places.NHC))


def test_files_of_others() -> None:
    reading = read(Subject("node1", found=Installed({TIMER_PATH: "[Timer]\nOnUnitActiveSec=7\n", places.SAMPLE_CONF: "{}\n"})))
    assert list(reading.values) == []
    assert [left.what for left in reading.left] == [places.SAMPLE_CONF, TIMER_PATH]


def test_values_that_the_role_does_not_write(tmp_path: pathlib.Path) -> None:
    found = installed(tmp_path, sampler=True, fabrics={"ib": ["no port"]}, textfile_dir="/srv/{{ 7 * 7 }}")
    (left,) = read(Subject("node1", found=found)).left
    assert left.what == places.SAMPLE_CONF
    assert "fabrics.ib[0], textfile_dir" in left.why


def samplers(**hosts: tuple[bool, bool]) -> dict[str, bool]:
    """Whether each host is declared to sample, by whether it samples and whether it runs a subnet manager."""
    manager = encode(Whole(Found(running=("rdma-opensm@ib.service",), files={"/etc/rdma-ofed/opensm/ib/opensm.conf": "guid 0x1\n"})))
    looks = {True: manager, False: encode(Whole())}
    conf = {places.SAMPLE_CONF: places.text_of(places.SampleSettings((("ib", ""),), "/x/y", "/z", True))}
    joined = join(
        [
            Subject(name, facts={}, found=Installed(conf if samples else {}), recall=lambda _concern, manages=manages: looks[manages])
            for name, (samples, manages) in hosts.items()
        ]
    )
    return {host: own[0].value for host, own in joined.values.items()}


def test_which_hosts_sample() -> None:
    assert samplers(a=(True, True), b=(False, False)) == {}
    assert samplers(a=(False, True), b=(False, False)) == {}
    assert samplers(a=(False, True), b=(True, False)) == {"a": False, "b": True}
    assert samplers(a=(True, False), b=(False, False)) == {"a": True, "b": False}


@pytest.mark.parametrize("text", hostile.NAMES)
def test_hostile_values(text: str) -> None:
    health = places.text_of(places.HealthSettings((text,), (text,), 1, text))
    sample = places.text_of(places.SampleSettings(((text, text),), text, text, True))
    reading = read(Subject("node1", facts={}, found=Installed({places.HEALTH_CONF: health, places.SAMPLE_CONF: sample, places.SLURM: HEADER})))
    assert role_problems({value.variable: value.value for value in reading.values}) == []


@pytest.mark.parametrize("rate", ["NaN", "Infinity", "-Infinity", "1e999", "-1"])
def test_rates_that_are_none(rate: str) -> None:
    text = places.text_of(places.HealthSettings(rate_gbps=12345)).replace("12345", rate)
    reading = read(Subject("node1", facts={}, found=Installed({places.HEALTH_CONF: text, places.NHC: HEADER})))
    assert [value.variable for value in reading.values] == []
