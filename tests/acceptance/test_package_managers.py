# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distribution packages with the real apt, dnf and zypper, on nodes where no Python has bindings for them.

Debian has all three. The packages for dnf and zypper are empty, with the dependencies of RHEL 9. The test needs no fabric, so the containers belong to no lab.
"""

from __future__ import annotations

import collections.abc
import json
import subprocess
import typing as t

import pytest
from cluster import BIN, Cluster, environment
from common import ROOT
from proofs import LOOK_ALIKE, REAL

pytestmark = pytest.mark.long

NAME = "rdma-packages"
APT = r"""
set -e
apt-get update -q
apt-get purge -qq -y opensm infiniband-diags
"""
RPM = r"""
set -e
apt-get update -q && apt-get install -qq -y --no-install-recommends %s createrepo-c rpm
python3 /srv/repositories.py /srv/rpm
rm /etc/os-release
"""
DNF = r"""
printf 'ID=rocky\nVERSION_ID="9.3"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 9.3"\n' >/etc/os-release
echo 9 >/etc/dnf/vars/releasever
echo plugins=0 >>/etc/dnf/dnf.conf
mkdir -p /etc/yum.repos.d
printf '[baseos]\nname=BaseOS\nbaseurl=file:///srv/rpm/distribution\nenabled=1\ngpgcheck=0\n' >/etc/yum.repos.d/baseos.repo
dnf -y install filesystem firewalld
"""
# Debian's rpm has a database per user.
ZYPPER = r"""
mkdir -p /etc/rpm
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros
printf 'ID="sles"\nVERSION_ID="15.5"\nID_LIKE="suse"\nPRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"\n' >/etc/os-release
mkdir -p /etc/zypp/repos.d
printf '[sle]\nname=SLE\nbaseurl=file:///srv/rpm/distribution\nenabled=1\ngpgcheck=0\n' >/etc/zypp/repos.d/sle.repo
zypper --non-interactive --no-gpg-checks install filesystem firewalld
"""
LIST_RPM = "rpm -qa --qf '%{NAME} %{VERSION}-%{RELEASE}\\n'"
LIST_DEB = "dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package} ${Version}\\n' | sed -n 's/^ii *//p'"
VENV = "/opt/plain"
PYTHON = VENV + "/bin/python3"
Result = t.Dict[str, t.Any]


class Manager(t.NamedTuple):
    prepare: str
    list: str
    taken_along: str = ""
    """Package installed along with libibverbs; "" if none in the image depends on it."""


MANAGERS = {
    "apt": Manager(APT, LIST_DEB),
    "dnf": Manager(RPM % "dnf" + DNF, LIST_RPM, "firewalld"),
    "zypper": Manager(RPM % "zypper" + ZYPPER, LIST_RPM, "firewalld"),
}


class Node(t.NamedTuple):
    manager: Manager
    inventory: str

    def run(self, script: str) -> str:
        done = subprocess.run(["docker", "exec", NAME, "sh", "-c", script], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def packages(self) -> dict[str, str]:
        return {line.split()[0].partition(":")[0]: line.split()[1] for line in self.run(self.manager.list).splitlines()}

    def ask(self, *arguments: str, **options: t.Any) -> Result:
        """Return the result of the module, failed or not."""
        argv = [str(BIN / "ansible"), "-i", self.inventory, NAME, "-m", "rdma.ofed.packages", "-a", json.dumps(options), *arguments]
        env = dict(environment(), ANSIBLE_LOAD_CALLBACK_PLUGINS="1", ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
        done = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
        text = done.stdout[done.stdout.index("{\n") :]
        return {"failed": False, **json.loads(text)["plays"][0]["tasks"][0]["hosts"][NAME]}

    def converge(self, **options: t.Any) -> tuple[Result, dict[str, str], dict[str, str]]:
        """Run in check mode, for real, and again. Returns the result, and the packages before and after."""
        before = self.packages()
        foreseen = self.ask("--check", **options)
        assert not foreseen["failed"], foreseen["msg"]
        assert self.packages() == before
        done = self.ask(**options)
        assert not done["failed"], done["msg"]
        assert done["changes"] == foreseen["changes"]
        again = self.ask(**options)
        assert (again["failed"], again["changed"], again["changes"]) == (False, False, []), again
        return done, before, self.packages()


@pytest.fixture(scope="module", params=MANAGERS)
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Node]:
    inventory = tmp_path_factory.mktemp("inventory") / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {NAME: {"ansible_connection": "community.docker.docker", "ansible_python_interpreter": PYTHON}}}}))
    image = Cluster().command("image").strip().splitlines()[-1]
    subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)
    subprocess.run(["docker", "run", "--detach", "--name", NAME, "--entrypoint", "sleep", image, "infinity"], check=True)
    try:
        made = Node(MANAGERS[request.param], str(inventory))
        subprocess.run(["docker", "cp", str(ROOT / "tests/lab/stacks/rpm/repositories.py"), "%s:/srv/" % NAME], check=True)
        made.run(made.manager.prepare)
        # Bindings are for the system Python, and would be found there.
        made.run("python3 -m venv --without-pip %s && ! %s -c 'import apt' 2>/dev/null && ! %s -c 'import rpm' 2>/dev/null" % (VENV, PYTHON, PYTHON))
        yield made
    finally:
        subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)


@pytest.mark.proves("packages", debian12=REAL, el9=LOOK_ALIKE, sles15=LOOK_ALIKE)
def test_packages_come_with_what_they_need_and_go_alone(node: Node) -> None:
    done, before, after = node.converge(purposes=["opensm", "diagnostics"], start_services=False)
    gained = {name: version for name, version in after.items() if before.get(name) != version}
    assert {"opensm", "infiniband-diags"} <= gained.keys()
    assert len(done["changes"]) == len(gained)
    assert all(any(name in words and version in words for words in done["changes"]) for name, version in gained.items())
    assert before.keys() <= after.keys()
    done, before, after = node.converge(purposes=["opensm"], names=["libibverbs1", "libibverbs"], state="absent")
    assert (before.keys() - after.keys(), after.keys() - before.keys()) == ({"opensm"}, set())


@pytest.mark.proves("packages", debian12=REAL, el9=LOOK_ALIKE, sles15=LOOK_ALIKE)
def test_what_is_not_to_be_had_is_named_before_any_change(node: Node) -> None:
    before = node.packages()
    for arguments in (("--check",), ()):
        refused = node.ask(*arguments, purposes=["opensm"], names=["coffee"])
        assert refused["failed"]
        assert "coffee" in refused["msg"] and "nothing was changed" in refused["msg"], refused["msg"]
    assert node.packages() == before


@pytest.mark.parametrize("node", [name for name, manager in MANAGERS.items() if manager.taken_along], indirect=True)
def test_others_go_along_only_where_that_is_declared(node: Node) -> None:
    before = node.packages()
    assert node.ask(names=["libibverbs"], state="absent")["changed"] is False
    assert node.packages() == before
    done, before, after = node.converge(names=["libibverbs"], state="absent", needed="remove")
    assert {"libibverbs", "rdma-core", node.manager.taken_along} <= before.keys() - after.keys()
    assert len(done["changes"]) == len(before.keys() - after.keys())
