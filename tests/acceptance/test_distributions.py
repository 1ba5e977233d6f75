# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster of look-alikes of RHEL 8, 9, 10, SLES 15 and Ubuntu, and of Debian 11, 12 and 13: the whole site, and its removal."""

from __future__ import annotations

import collections.abc
import concurrent.futures
import pathlib
import subprocess
import tempfile
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from common import ROOT
from proofs import LOOK_ALIKE, REAL

pytestmark = pytest.mark.long

PREFIX = "rdma-distributions"
SYSTEMS = {"el8": "redhat", "el9": "redhat", "el10": "redhat", "sles": "suse", "ubuntu": ""}
RELEASES = {
    "el8": "Rocky Linux 8.10",
    "el9": "AlmaLinux 9.4",
    "el10": "Red Hat Enterprise Linux 10.0",
    "ubuntu": "Ubuntu 24.04",
    "sles": "SUSE Linux Enterprise Server 15.5",
    "bullseye": "Debian GNU/Linux 11 (bullseye)",
    "bookworm": "Debian GNU/Linux 12 (bookworm)",
    "trixie": "Debian GNU/Linux 13 (trixie)",
}
THERE = {
    "el8": LOOK_ALIKE,
    "el9": LOOK_ALIKE,
    "el10": LOOK_ALIKE,
    "sles15": LOOK_ALIKE,
    "ubuntu24": LOOK_ALIKE,
    "debian11": REAL,
    "debian12": REAL,
    "debian13": REAL,
}
# The simulator has ten places, of which each subnet manager keeps one. Those of Debian 12 and 13 run in other labs.
MANAGERS = ("el9", "el8", "el10", "sles", "bullseye")
LIST = "if [ -e /usr/bin/dpkg-query ]; then dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | sed -n 's/^ii *//p'; else rpm -qa --qf '%{NAME}\\n'; fi"
REMOVAL = ("-e", "rdma_remove=true", "-e", "rdma_allow_removal=true")


def docker(*argv: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["docker", *argv], input=data, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout


def repositories(image: str) -> dict[str, bytes]:
    """The repository of each family, as an archive."""
    name = PREFIX + "-repositories"
    docker("rm", "--force", "--volumes", name)
    docker("run", "--detach", "--name", name, "--entrypoint", "sleep", image, "infinity")
    try:
        docker("cp", str(ROOT / "tests/lab/systems/repository.py"), "%s:/srv/" % name)
        docker("exec", name, "sh", "-ec", "apt-get update -q; apt-get install -qq -y --no-install-recommends rpm createrepo-c")
        found = {}
        for family in sorted(set(filter(None, SYSTEMS.values()))):
            docker("exec", name, "python3", "/srv/repository.py", family, "/srv/" + family)
            found[family] = docker("exec", name, "tar", "-C", "/srv/" + family, "-c", ".")
        return found
    finally:
        docker("rm", "--force", "--volumes", name)


class Mixed(t.NamedTuple):
    cluster: Cluster
    inventory: pathlib.Path
    before: t.Mapping[str, frozenset[str]]
    """The packages of each node."""
    started: tuple[Run, ...]
    """The site on bare nodes, and the bootstrap, twice."""

    def play(self, playbook: str, *arguments: str) -> Run:
        run = self.cluster.play(playbook, *arguments, inventory=self.inventory)
        assert run.status == 0, run.output
        return run

    def said(self, script: str) -> dict[str, str]:
        """What a script prints on each node."""
        done = {name: self.cluster.shell(name, script) for name in RELEASES}
        assert not any(each.returncode for each in done.values()), done
        return {name: each.stdout.strip() for name, each in done.items()}


def hosts(run: Run) -> set[str]:
    """Those on which something changed."""
    return {host for _play, _task, host in records.changes(run.events)}


def packages(cluster: Cluster) -> dict[str, frozenset[str]]:
    return {name: frozenset(cluster.shell(name, LIST).stdout.split()) for name in RELEASES}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Mixed]:
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "distributions")
        archives = repositories(cluster.command("image").strip().splitlines()[-1])

        def become(system: str) -> None:
            name = "%s-%s" % (PREFIX, system)
            if SYSTEMS[system]:
                docker("exec", name, "mkdir", "-p", "/srv/rpm")
                docker("exec", "--interactive", name, "tar", "-C", "/srv/rpm", "-x", data=archives[SYSTEMS[system]])
            docker("cp", str(ROOT / "tests/lab/systems/become.sh"), "%s:/srv/" % name)
            docker("exec", name, "sh", "/srv/become.sh", system)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(become, SYSTEMS))
        inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
        del inventory["all"]["vars"]["ansible_python_interpreter"]
        inventory["all"]["children"]["opensm"] = {
            "vars": {"opensm_standby": True, "opensm_options": {"sminfo_polling_timeout": 1000}},
            "hosts": dict.fromkeys(MANAGERS),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "inventory.yml")
            path.write_text(yaml.safe_dump(inventory, sort_keys=False), encoding="utf-8")
            bare = Mixed(cluster, path, packages(cluster), ())
            yield bare._replace(started=(cluster.play("site", inventory=path), bare.play("bootstrap"), bare.play("bootstrap")))
    finally:
        cluster.command("down")


@pytest.fixture(scope="module")
def converged(mixed: Mixed) -> tuple[Run, Run]:
    """The site: its check, and the run that followed."""
    return mixed.play("site", "--check"), mixed.play("site")


@pytest.mark.proves("bootstrap", el8=LOOK_ALIKE, sles15=LOOK_ALIKE)
def test_the_systems_are_known_and_two_need_a_python(mixed: Mixed) -> None:
    assert mixed.said(". /etc/os-release; echo $PRETTY_NAME") == RELEASES
    refused, first, second = mixed.started
    assert refused.status != 0 and records.changes(refused.events) == {}
    assert "rdma.ofed.bootstrap" in refused.output and "Traceback" not in refused.output
    assert hosts(first) == {"el8", "sles"}
    assert records.changes(second.events) == {}


@pytest.mark.proves("packages", "modules", **THERE)
@pytest.mark.proves("networkd", debian12=REAL, debian13=REAL)
@pytest.mark.proves("ifupdown", debian11=REAL)
def test_the_site_converges_as_predicted_and_a_second_run_changes_nothing(mixed: Mixed, converged: tuple[Run, Run]) -> None:
    predicted, done = converged
    assert records.differences(predicted.events, done.events) == []
    assert hosts(done) == set(RELEASES)
    assert records.changes(mixed.play("site").events) == records.changes(mixed.play("site", "--check").events) == {}
    mixed.play("verify")
    active = mixed.said("systemctl is-active rdma-opensm@ib || true")
    assert {name for name, state in active.items() if state == "active"} == set(MANAGERS)
    assert all("SMINFO_MASTER" in said for said in mixed.said("sminfo").values())


@pytest.mark.proves("opensm", el8=LOOK_ALIKE, el9=LOOK_ALIKE, el10=LOOK_ALIKE, sles15=LOOK_ALIKE, debian11=REAL)
@pytest.mark.usefixtures("converged")
def test_each_system_is_master_once(mixed: Mixed) -> None:
    """The one that is master ends, and the next one takes over: the program of each system does its work."""
    for name, after in zip(MANAGERS, MANAGERS[1:]):
        mixed.cluster.shell(name, "systemctl stop rdma-opensm@ib")
        guid = mixed.cluster.shell(after, "cat /sys/class/infiniband/*/ports/1/gids/0 | tail -c 20 | tr -d ':'").stdout.strip()
        script = "for i in $(seq 280); do sminfo 2>/dev/null | grep -q 'guid 0x%s.*SMINFO_MASTER' && exit 0; sleep 1; done; sminfo; exit 1" % guid.lstrip("0")
        found = mixed.cluster.shell("ubuntu", script)
        assert found.returncode == 0, (after, guid, found.stdout)
    mixed.play("site")
    mixed.play("verify")


@pytest.mark.usefixtures("converged")
def test_a_system_that_is_not_known_is_left_out_and_the_others_go_on(mixed: Mixed) -> None:
    """The node is still what it was: only its os-release says otherwise."""
    mixed.cluster.shell("ubuntu", "cp /etc/os-release /srv/; printf 'ID=plan9\\nPRETTY_NAME=Plan\\n' >/etc/os-release")
    for name in ("ubuntu", "trixie"):
        mixed.cluster.shell(name, "apt-get purge -qq -y perftest")
    run = mixed.cluster.play("site", inventory=mixed.inventory)
    mixed.cluster.shell("ubuntu", "cp /srv/os-release /etc/os-release")
    assert run.status != 0
    failed = [(failure["host"], str(failure["msg"])) for failure in records.failures(run.events)]
    assert [host for host, _message in failed] == ["ubuntu"], failed
    assert "ubuntu is left out, and nothing was changed on it" in failed[0][1]
    assert hosts(run) == {"trixie"}
    assert hosts(mixed.play("site")) == {"ubuntu"}
    mixed.play("verify")


@pytest.mark.proves("remove", **THERE)
@pytest.mark.usefixtures("converged")
def test_what_was_brought_goes_and_the_rest_stays(mixed: Mixed) -> None:
    predicted, done = mixed.play("remove", "--check", *REMOVAL), mixed.play("remove", *REMOVAL)
    assert records.differences(predicted.events, done.events) == []
    assert hosts(done) == set(RELEASES)
    assert records.changes(mixed.play("remove", *REMOVAL).events) == {}
    left = packages(mixed.cluster)
    for name in RELEASES:
        assert mixed.before[name] <= left[name], name
        assert left[name].isdisjoint({"opensm", "perftest"}), name
    assert mixed.said("find /etc/rdma-ofed -type f 2>/dev/null || true") == dict.fromkeys(RELEASES, "")
