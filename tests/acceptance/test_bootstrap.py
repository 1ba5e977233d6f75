# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes without a Python that the modules support: a Debian with the real apt, and a look-alike of RHEL 8 with the real dnf.

The look-alike has Python 3.6 as its platform Python, if this machine has one, and a repository with one package: Debian's interpreter under the name of
AppStream's package. The test needs no fabric, so the containers belong to no lab.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import typing as t

import pytest
import records
import virtualenvs
from cluster import Cluster
from proofs import LOOK_ALIKE, REAL

NAME = "rdma-bootstrap"
INVENTORY = {"all": {"children": {"rdma": {"hosts": {NAME: {"ansible_connection": "community.docker.docker", "opensm_state": "unmanaged"}}}}}}
OLD_PYTHONS = sorted(pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))).glob("versions/3.6.*"))
# Programs that need Python stay broken; this test needs none of them.
DEBIAN = "rm -rf /opt/lab; dpkg-query -W -f '${Package}\\n' | grep -E '^(lib)?python3' | xargs dpkg --purge --force-all || true"
RHEL_8 = r"""
set -e
apt-get update -q
apt-get install -qq -y --no-install-recommends dnf createrepo-c rpm
mkdir -p /srv/rpm /usr/lib/python-of-dnf /etc/yum.repos.d
cat >/tmp/python.spec <<'END'
%define __os_install_post %{nil}
Name: python3.11
Version: 3.11.9
Release: 1.el8
Summary: stand-in
License: none
AutoReqProv: no
%description
stand-in
%install
mkdir -p %{buildroot}/usr/bin
cp /usr/bin/python3.11 %{buildroot}/usr/bin/
%files
/usr/bin/python3.11
END
rpmbuild --quiet -bb --define '_topdir /tmp/rpmbuild' --define '_rpmdir /srv/rpm' /tmp/python.spec
createrepo_c --quiet /srv/rpm
printf '[appstream]\nname=AppStream\nbaseurl=file:///srv/rpm\nenabled=1\ngpgcheck=0\n' >/etc/yum.repos.d/appstream.repo
rm /etc/os-release
printf 'ID="rocky"\nVERSION_ID="8.10"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 8.10"\n' >/etc/os-release
echo plugins=0 >>/etc/dnf/dnf.conf
sed -i '1s|.*|#!/usr/lib/python-of-dnf/python3.11|' "$(readlink -f /usr/bin/dnf)"
mv /usr/bin/python3.11 /usr/lib/python-of-dnf/
rm /usr/bin/python3
"""


class Node(t.NamedTuple):
    prepare: str
    found: str
    """The message about the Pythons that the node has."""
    interpreter: str
    """The interpreter that the bootstrap installs."""
    old: t.Sequence[pathlib.Path] = ()
    """Installation directory of its platform Python."""


PLATFORM = "%s (/usr/libexec/platform-python)" % OLD_PYTHONS[0].name if OLD_PYTHONS else "none"
NODES = {"debian": Node(DEBIAN, "none", "/usr/bin/python3"), "rhel8": Node(RHEL_8, PLATFORM, "/usr/bin/python3.11", OLD_PYTHONS[:1])}


def inside(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", "exec", NAME, *argv], capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("name", NODES)
@pytest.mark.proves("bootstrap", el8=LOOK_ALIKE, debian12=REAL)
def test_a_node_without_python_gets_one_once(tmp_path: pathlib.Path, name: str) -> None:
    node, cluster = NODES[name], Cluster()
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps(INVENTORY))
    image = cluster.command("image").strip().splitlines()[-1]
    subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)
    subprocess.run(["docker", "run", "--detach", "--name", NAME, "--entrypoint", "sleep", image, "infinity"], check=True)
    try:
        for python in node.old:
            # This Python finds its libraries by the path that it was built for.
            inside("mkdir", "-p", str(python.parent), "/usr/libexec")
            subprocess.run(["docker", "cp", str(python), "%s:%s" % (NAME, python)], check=True)
            inside("ln", "-s", str(python / "bin/python3.6"), "/usr/libexec/platform-python")
        made = inside("sh", "-c", node.prepare)
        assert made.returncode == 0, made.stdout + made.stderr
        refused = cluster.play("verify", inventory=inventory)
        assert refused.status == 2
        said = " ".join(refused.output.split())
        assert "no Python that the modules run with: found " + node.found in said, refused.output
        runs = [cluster.play("bootstrap", *arguments, inventory=inventory) for arguments in (["--check"], [], [], ["--check"])]
        assert [run.status for run in runs] == [0, 0, 0, 0], runs[1].output
        assert [bool(records.changes(run.events)) for run in runs] == [True, True, False, False]
        assert "ansible_python_interpreter: %s for %s" % (node.interpreter, NAME) in runs[1].output
        # The collection's modules need no declared interpreter, whatever interpreter discovery would choose.
        for programs in (cluster.programs, virtualenvs.core(virtualenvs.OLDEST_CORE) / "bin"):
            checked = Cluster(programs=programs).play("verify", inventory=inventory).output
            assert "1 of 1 hosts are not as declared" in checked, checked
        assert inside(node.interpreter, "--version").returncode == 0
    finally:
        subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)
