# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the sampler writes about a fabric for any output of the tools."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import stat
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, PlainRunner
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _sampler, _settings
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._metrics import METRICS, State, kind_of, labels, parse_states, render, written
from support import large_fabric

HOSTS = 20
# With quadratic growth, it takes sixteen times as long.
TIMES, TOO_MUCH = 4, 9
OTHER = "0x0002c90300000fff"
SUMMARY = "## Summary: %d nodes checked, 0 bad nodes found\n"
TEXTFILE = "/metrics/rdma_fabric.prom"
SETTINGS = _settings.SampleSettings((("ib", ""),), TEXTFILE, "/names", True)


@functools.lru_cache(maxsize=None)
def two_levels(hosts: int) -> large_fabric.Fabric:
    """Return the fabric without core switches, which have nearly all ports of a small fabric."""
    tree = large_fabric.fat_tree(hosts)
    count = len(tree.names) - large_fabric.HALF**2
    return large_fabric.Fabric(hosts, tree.names[:count], {one: other for one, other in tree.links.items() if max(one.node, other.node) < count})


class Tools(large_fabric.Tools):
    """The Runner of a host on the fabric, with errors and failing tools."""

    def __init__(self, fabric: large_fabric.Fabric) -> None:
        super().__init__(fabric)
        self.fabric = fabric
        self._said["ibqueryerrors"] = SUMMARY % len(fabric.names)
        self.broken: set[str] = set()
        self.masters = [self.guid(0)]

    def guid(self, node: int) -> str:
        return "0x" + self.fabric.guid(node)

    def count(self, node: int, port: int, said: str) -> None:
        text = 'Errors for "x"\n   GUID %s port %d: %s\n' % (self.guid(node), port, said)
        self._said["ibqueryerrors"] = text + self._said["ibqueryerrors"]

    def replace(self, tool: str, old: str, new: str) -> None:
        assert old in self._said[tool]
        self._said[tool] = self._said[tool].replace(old, new)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] in self.broken:
            return Output(2, "", "ibpanic: failed")
        if argv[-1] == "SMIR":
            record = large_fabric.sm_records(self.fabric)
            text = "".join(record.replace(self.guid(0), guid) for guid in self.masters)
            return Output(0, text, "") if text else Output(255, "", "No SM/SA found on port")
        return super().__call__(argv, ok, timeout)


class Host:
    """A host of the fabric, made of files."""

    def __init__(self, root: pathlib.Path, hosts: int = HOSTS) -> None:
        self.root = root
        self.tools = Tools(two_levels(hosts))
        self.time = 1700000000.0
        port = root / "sys/class/infiniband/mlx5_0/ports/1"
        (port / "gids").mkdir(parents=True)
        guid = self.tools.guid(0)[2:]
        gid = "fe80:0000:0000:0000:" + ":".join(guid[at : at + 4] for at in range(0, 16, 4))
        for name, text in (("gids/0", gid), ("link_layer", "InfiniBand"), ("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("lid", "0x1")):
            (port / name).write_text(text + "\n", encoding="utf-8")

    def now(self) -> float:
        self.time += 1
        return self.time

    def sample(self, settings: _settings.SampleSettings = SETTINGS, *, stopped: bool = False) -> dict[str, float]:
        _sampler.sample(_sampler.Host(self.tools, str(self.root), self.now), settings, stopped=stopped)
        text = self.text()
        assert text.startswith(HEADER)
        series = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        found = {name[len("rdma_fabric_") :]: float(value) for name, _blank, value in series}
        assert len(found) == len(series), "two values of one series"
        return found

    def text(self) -> str:
        return (self.root / TEXTFILE[1:]).read_text(encoding="utf-8")


@pytest.fixture(name="host")
def fresh_host(tmp_path: pathlib.Path) -> Host:
    return Host(tmp_path)


def test_a_fabric_as_metrics(host: Host) -> None:
    host.tools.count(HOSTS, 3, "[SymbolErrorCounter == 7] [LinkDownedCounter == 255] [PortXmitWait == 12]")
    (host.root / "names").write_text('%s "leaf \\ one"\n' % host.tools.guid(HOSTS), encoding="utf-8")
    found = host.sample()
    links = len(host.tools.fabric.links) // 2
    assert [found['%s{fabric="ib"}' % name] for name in ("sample_success", "sampled", "links", "links_degraded")] == [1, 1, links, 0]
    assert found['sample_duration_seconds{fabric="ib"}'] > 0
    assert found['sample_success_timestamp_seconds{fabric="ib"}'] == found['sample_timestamp_seconds{fabric="ib"}'] > 1700000000
    assert found['nodes{fabric="ib",type="ca"}'] == HOSTS
    leaf = 'fabric="ib",node="leaf \\\\ one",guid="%s",port="3"' % host.tools.guid(HOSTS)
    assert found['port_errors_total{%s,counter="SymbolErrorCounter"}' % leaf] == 7
    assert found["port_wait_ticks_total{%s}" % leaf] == 12
    assert found["port_saturated_counters{%s}" % leaf] == 1
    link = 'fabric="ib",node="node2 mlx5_0",guid="%s",port="1",peer="leaf \\\\ one",peer_port="3"' % host.tools.guid(2)
    assert [found["%s{%s}" % (name, link)] for name in ("link_active", "link_lanes", "link_lanes_max", "link_lane_bytes_per_second")] == [
        1,
        4,
        4,
        25.78125e9 / 8,
    ]
    assert found['subnet_manager_state{fabric="ib",guid="%s",node="node0 mlx5_0"}' % host.tools.guid(0)] == 3
    assert found['port_errors_limit{counter="SymbolErrorCounter",code="symbol_errors"}'] == 10
    assert not [name for name in found if "PortRcvSwitchRelayErrors" in name]
    assert stat.S_IMODE((host.root / TEXTFILE[1:]).stat().st_mode) == 0o644
    assert os.listdir(str(host.root / "metrics")) == ["rdma_fabric.prom"]


def test_a_slow_link_has_what_it_could_be(host: Host) -> None:
    slow = '[  ] "node2 mlx5_0" (Could be 53.125 Gbps)\n'
    host.tools.replace("iblinkinfo", '[  ] "node2 mlx5_0" ( )\n', slow)
    found = host.sample()
    assert found['links_degraded{fabric="ib"}'] == 1
    assert [value for name, value in found.items() if name.startswith("link_lane_max") and 'node="node2 ' in name] == [53.125e9 / 8]


def test_where_the_master_is_elsewhere_only_that_is_written(host: Host) -> None:
    host.tools.masters = [OTHER]
    found = host.sample()
    assert found['sampled{fabric="ib"}'] == 0 and found['sample_success{fabric="ib"}'] == 1
    assert found['subnet_managers{fabric="ib",state="master"}'] == 1
    assert not [name for name in found if name.startswith(("link", "nodes", "subnet_manager_"))]
    assert 'links{fabric="ib"}' in host.sample(SETTINGS._replace(only_master=False))


def test_where_no_master_answers_this_host_reads_the_fabric(host: Host) -> None:
    host.tools.masters = []
    found = host.sample()
    assert [found[name] for name in ('sampled{fabric="ib"}', 'subnet_managers{fabric="ib",state="master"}')] == [1, 0]
    assert found['sample_problems{fabric="ib",code="no_subnet_manager",tool=""}'] == 1
    assert 'links{fabric="ib"}' in found


def test_a_fail_over_is_counted_once_and_a_time_without_a_master_is_none(host: Host) -> None:
    seen = []
    for masters in ([host.tools.guid(0)], [], [host.tools.guid(0)], [OTHER], [OTHER], [], [host.tools.guid(0)]):
        host.tools.masters = masters
        found = host.sample()
        seen.append((found['master_changes_total{fabric="ib"}'], found['master_change_timestamp_seconds{fabric="ib"}'] > 0))
    assert seen == [(0, False)] * 3 + [(1, True)] * 3 + [(2, True)]


@pytest.mark.parametrize(("tool", "kept"), [("ibnetdiscover", False), ("ibqueryerrors", True), ("saquery", True)])
def test_a_tool_that_fails_is_no_success_and_leaves_the_rest(host: Host, tool: str, kept: bool) -> None:
    before = host.sample()['sample_success_timestamp_seconds{fabric="ib"}']
    host.tools.broken = {tool}
    found = host.sample()
    assert found['sample_success{fabric="ib"}'] == 0
    assert found['sample_success_timestamp_seconds{fabric="ib"}'] == before < found['sample_timestamp_seconds{fabric="ib"}']
    assert found['sample_problems{fabric="ib",code="failed",tool="%s"}' % tool] > 0
    assert ('links{fabric="ib"}' in found) == kept


def test_nothing_old_stays_as_if_it_was_fresh(host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither if systemd killed the sampler nor if it failed unexpectedly."""

    def fails(*_given: t.Any) -> t.Any:
        raise CommandFailed("x") if host.time < 1700000100 else ZeroDivisionError

    host.sample()
    assert "rdma_fabric_links{" in host.text()
    assert host.sample(stopped=True)['sample_success{fabric="ib"}'] == 0
    assert "rdma_fabric_links{" not in host.text()
    host.sample()
    monkeypatch.setattr(_sampler, "spots_of", fails)
    assert host.sample()['sample_success{fabric="ib"}'] == 0 and capsys.readouterr().err == ""
    host.time += 1000
    assert host.sample()['sample_success{fabric="ib"}'] == 0 and "ZeroDivisionError" in capsys.readouterr().err
    assert "rdma_fabric_links{" not in host.text()


def test_one_fabric_that_fails_leaves_the_others(host: Host) -> None:
    found = host.sample(SETTINGS._replace(fabrics=(("absent", "mlx5_7/1"), ("ib", "mlx5_0/1"))))
    assert [found['sample_success{fabric="%s"}' % name] for name in ("absent", "ib")] == [0, 1]


def test_the_same_fabric_makes_the_same_text(host: Host) -> None:
    host.time = 0
    host.sample()
    first = host.text()
    host.time = 0
    host.sample()
    assert host.text() == first


@pytest.mark.parametrize("name", ['a"b', "a\\", "a\nb", 'a\\"} 1\n', "ä\t", "a\r"])
def test_a_name_of_any_characters_is_one_label(name: str) -> None:
    text = render({"m": "x"}, {"m": {labels(node=name): 1}})
    (line,) = [line for line in text.split("\n") if line and not line.startswith("#")]
    match = re.fullmatch(r'm\{node="((?:[^"\\\n]|\\["\\n])*)"\} 1', line)
    assert match and re.sub(r"\\(.)", lambda each: {"n": "\n"}.get(each[1], each[1]), match[1]) == name


def test_nodes_of_one_name_are_series_of_their_own(host: Host) -> None:
    for tool in ("ibnetdiscover", "iblinkinfo"):
        host.tools.replace(tool, "node3 mlx5_0", "node2 mlx5_0")
    assert len([name for name in host.sample() if name.startswith("link_active") and 'node="node2 ' in name]) == 2


def seconds(work: t.Callable[[], t.Any]) -> float:
    """Return the minimum of several measurements: other load on the machine only adds time."""
    found = []
    for _count in range(3):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def test_time_grows_with_the_number_of_links(tmp_path: pathlib.Path) -> None:
    hosts = [Host(tmp_path / str(count), count) for count in (200, 200 * TIMES)]
    links = [len(host.tools.fabric.links) for host in hosts]
    work = [functools.partial(_sampler.sample, _sampler.Host(host.tools, str(host.root), host.now), SETTINGS) for host in hosts]
    limit = TOO_MUCH * links[1] / links[0] / TIMES
    assert any(seconds(work[1]) < limit * seconds(work[0]) for _attempt in range(8))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ib": 1}', '{"ib": {"master": 1, "changes": 0, "changed": 0, "succeeded": 0}}', '{"ib": {"master": ""}}'])
def test_a_broken_memory_is_none(text: str) -> None:
    assert parse_states(text) == {}


def test_the_memory_comes_back() -> None:
    states = {"ib": State("0x1", 3, 1700000000.5, 1700000001.0), "storage": State()}
    assert parse_states(written(states)) == states


def test_settings_come_back() -> None:
    assert _settings.parse_sample_settings(_settings.text_of(SETTINGS)) == SETTINGS
    health = _settings.HealthSettings(("mlx5_0/1",), ("ib0",), 100, "n1")
    assert _settings.parse_health_settings(_settings.text_of(health)) == health
    assert _settings.parse_sample_settings("{}") is None and _settings.parse_health_settings("{}") is None
    assert _settings.parse_health_settings(_settings.text_of(health).replace('[\n    "ib0"\n  ]', '"ib0"')) is None


def test_a_plain_runner_starts_a_process_and_knows_what_is_missing() -> None:
    run = PlainRunner()
    assert run(["echo", "x"]).stdout == "x\n" and run.has("echo") and not run.has("no-such-tool")
    with pytest.raises(CommandFailed, match="did not end"):
        run(["sleep", "9"], timeout=0.1)


def test_names_are_those_of_prometheus() -> None:
    for name in METRICS:
        assert re.fullmatch(r"rdma_fabric_[a-z]+(_[a-z]+)*", name)
        assert kind_of(name) != "gauge" or "timestamp" not in name or name.endswith("_seconds")
