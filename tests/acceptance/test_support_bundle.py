# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The support bundle of the lab: real tools and logs, planted secrets, and a host that does not respond."""

from __future__ import annotations

import pathlib
import tarfile
import typing as t

import pytest
from cluster import Cluster
from proofs import REAL

SECRETS = ("5ec2e75ec2e75ec2", "hunter2", "swordfish77")
PLANTED = "/etc/rdma/planted.conf"
PLANT = "printf 'sm_key 0x5ec2e75ec2e75ec2\\npassword=hunter2\\nplain swordfish77\\nharmless line\\n' >" + PLANTED
LEFT = "find /tmp /var/tmp -name '*rdma-support*'"


def with_silent_host(folder: pathlib.Path) -> t.Callable[[dict[str, t.Any]], None]:
    """Return an edit that adds a host which ssh cannot reach."""
    ssh = folder / "ssh"
    ssh.write_text("#!/bin/sh\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o755)

    def edit(inventory: dict[str, t.Any]) -> None:
        hosts = inventory["all"]["children"]["rdma"]["hosts"]
        hosts["node9"] = {**hosts["node1"], "ansible_connection": "ssh", "ansible_ssh_executable": str(ssh)}

    return edit


def contents(path: pathlib.Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        texts = {member.name: archive.extractfile(member) for member in archive}
        return {name.partition("/")[2]: stream.read().decode("utf-8", "replace") for name, stream in texts.items() if stream}


@pytest.mark.proves("support", debian12=REAL)
def test_one_archive_of_all_hosts_without_secrets(lab: Cluster, edited: t.Callable[..., pathlib.Path], tmp_path: pathlib.Path) -> None:
    arguments = ["-e", "support_bundle_dir=%s" % (tmp_path / "bundles"), "-e", '{"opensm_secret_options": {"some_key": "swordfish77"}}']
    inventory = edited(with_silent_host(tmp_path))
    lab.shell("node1", PLANT)
    try:
        foreseen = lab.play("support_bundle", "--check", *arguments, inventory=inventory)
        assert not (tmp_path / "bundles").exists(), foreseen.output
        run = lab.play("support_bundle", *arguments, inventory=inventory)
    finally:
        lab.shell("node1", "rm " + PLANTED)
    assert [event["task"] for event in run.events if event.get("changed")] == [], run.output
    assert (tmp_path / "bundles").is_dir(), run.output
    (path,) = (tmp_path / "bundles").iterdir()
    assert "Support bundle: %s (" % path in run.output and "3 hosts, without node9" in run.output, run.output
    files = contents(path)
    assert not [name for name, text in files.items() if any(secret in text.lower() for secret in SECRETS)]
    assert "harmless line" in files["node1/modules/files%s" % PLANTED]
    for host in ("node1", "node2", "node3"):
        assert "mlx5_0" in files[host + "/hca/ibstat.txt"] or "CA '" in files[host + "/hca/ibstat.txt"]
        assert "ID=debian" in files[host + "/system/files/etc/os-release"]
    assert "Switch" in files["node1/fabric/ibnetdiscover.txt"] and "SMInfoRecord" in files["node1/fabric/subnet-managers.txt"]
    assert not [name for name in files if name.startswith("node2/fabric/")]
    assert "node9: no archive" in files["README.txt"]
    for host in ("node1", "node2", "node3"):
        assert lab.shell(host, LEFT).stdout == ""
