# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters whose nodes imitate other distributions: see tests/lab/systems."""

from __future__ import annotations

import collections.abc
import concurrent.futures
import contextlib
import pathlib
import subprocess
import tempfile
import typing as t

import records
import yaml
from cluster import Cluster, Run
from common import ROOT

LIST = "if [ -e /usr/bin/dpkg-query ]; then dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | sed -n 's/^ii *//p'; else rpm -qa --qf '%{NAME}\\n'; fi"


def docker(*argv: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["docker", *argv], input=data, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout


def repositories(image: str, families: t.Iterable[str], prefix: str) -> dict[str, bytes]:
    """Return the repository of each family as an archive."""
    name = prefix + "-repositories"
    docker("rm", "--force", "--volumes", name)
    docker("run", "--detach", "--name", name, "--entrypoint", "sleep", image, "infinity")
    try:
        docker("cp", str(ROOT / "tests/lab/systems/repository.py"), "%s:/srv/" % name)
        docker("exec", name, "sh", "-ec", "apt-get update -q; apt-get install -qq -y --no-install-recommends rpm createrepo-c")
        found = {}
        for family in families:
            docker("exec", name, "python3", "/srv/repository.py", family, "/srv/" + family)
            found[family] = docker("exec", name, "tar", "-C", "/srv/" + family, "-c", ".")
        return found
    finally:
        docker("rm", "--force", "--volumes", name)


class Nodes(t.NamedTuple):
    """A cluster in which each node is named after its system."""

    cluster: Cluster
    inventory: pathlib.Path
    names: tuple[str, ...]

    def play(self, playbook: str, *arguments: str) -> Run:
        run = self.cluster.play(playbook, *arguments, inventory=self.inventory)
        assert run.status == 0, run.output
        return run

    def said(self, script: str) -> dict[str, str]:
        """Return the output of a script on each node."""
        done = {name: self.cluster.shell(name, script) for name in self.names}
        assert not any(each.returncode for each in done.values()), done
        return {name: each.stdout.strip() for name, each in done.items()}

    def packages(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(text.split()) for name, text in self.said(LIST).items()}


def hosts(run: Run) -> set[str]:
    """Return the hosts with at least one change."""
    return {host for _play, _task, host in records.changes(run.events)}


@contextlib.contextmanager
def look_alikes(
    prefix: str, topology: str, systems: t.Mapping[str, str], *, real: t.Iterable[str] = (), managers: t.Sequence[str]
) -> collections.abc.Iterator[Nodes]:
    """Turn nodes into look-alikes. `systems` maps each system to the family of its RPM repository, "" for none. The nodes in `real` stay unchanged."""
    cluster = Cluster(prefix)
    try:
        cluster.command("up", "--topology", topology)
        archives = repositories(cluster.command("image").strip().splitlines()[-1], sorted(set(filter(None, systems.values()))), prefix)

        def become(system: str) -> None:
            name = "%s-%s" % (prefix, system)
            if systems[system]:
                docker("exec", name, "mkdir", "-p", "/srv/rpm")
                docker("exec", "--interactive", name, "tar", "-C", "/srv/rpm", "-x", data=archives[systems[system]])
            docker("cp", str(ROOT / "tests/lab/systems/become.sh"), "%s:/srv/" % name)
            docker("exec", name, "sh", "/srv/become.sh", system)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(become, systems))
        inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
        del inventory["all"]["vars"]["ansible_python_interpreter"]
        inventory["all"]["children"]["opensm"] = {
            "vars": {"opensm_standby": True, "opensm_options": {"sminfo_polling_timeout": 1000}},
            "hosts": dict.fromkeys(managers),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "inventory.yml")
            path.write_text(yaml.safe_dump(inventory, sort_keys=False), encoding="utf-8")
            yield Nodes(cluster, path, (*systems, *real))
    finally:
        cluster.command("down")
