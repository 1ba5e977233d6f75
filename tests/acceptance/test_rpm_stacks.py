# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stacks of RPM packages with a real dnf: a replacement removes only packages of the stack.

Debian has dnf. The packages are empty, with the dependencies of RHEL 9: its firewall needs libpcap, which links libibverbs.
"""

from __future__ import annotations

import collections.abc
import contextlib
import subprocess
import typing as t

import pytest
import tasks
from cluster import Cluster, environment
from common import ROOT
from proofs import LOOK_ALIKE

PREFIX = "rdma-rpm"
NODE = "node1"
PREPARE = r"""
set -e
apt-get update -q && apt-get install -qq -y --no-install-recommends dnf dnf-plugins-core createrepo-c rpm
printf 'ID=rocky\nVERSION_ID="9.3"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 9.3"\n' >/tmp/os-release
rm /etc/os-release && mv /tmp/os-release /etc/os-release
echo 9 >/etc/dnf/vars/releasever
# Debian's plugin for a local repository fails where there is none.
find /usr/lib/python3/dist-packages/dnf-plugins -name '*.py' ! -name versionlock.py -delete
mkdir -p /etc/yum.repos.d
printf '[baseos]\nname=BaseOS\nbaseurl=file:///srv/rpm/distribution\nenabled=1\ngpgcheck=0\n' >/etc/yum.repos.d/baseos.repo
python3 /srv/repositories.py /srv/rpm
dnf -y install rdma-core librdmacm infiniband-diags opensm firewalld
"""
INBOX = {"rdma-core": "48.0", "libibverbs": "48.0", "librdmacm": "48.0", "libibumad": "48.0", "opensm": "3.3.24"}
BYSTANDERS = {"libpcap": "1.10.0", "iptables-libs": "1.8.8", "firewalld": "1.2.1"}
Options = t.Dict[str, t.Any]
DOCA: Options = {"source": "doca", "version": "2.9.1", "repository": "/srv/rpm/doca", "repository_trusted": True}
MLNX_OFED: Options = {
    "source": "mlnx_ofed",
    "method": "repository",
    "version": "23.10-0.5.5.0",
    "repository": "/srv/rpm/mlnx_ofed",
    "repository_trusted": True,
}
ABSENT: Options = {"state": "absent"}
INSTALLED: Options = {
    "source": "mlnx_ofed",
    "method": "installer",
    "version": "23.10-0.5.5.0",
    "bundle": "/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-rhel9.3-x86_64",
    "installer_options": ["--skip-distro-check"],
}
# Stand-in for mlnxofedinstall of an RPM bundle: its check of requirements, with its own messages, then its packages, which replace the distribution's; it
# erases those regardless of their dependants.
INSTALLER = r"""
mkdir -p %(bundle)s && cd %(bundle)s
echo 23.10-0.5.5.0 >.mlnx; echo x86_64 >.arch; echo rhel9.3 >distro
cat >mlnxofedinstall <<'EOF'
#!/bin/sh
if ! rpm -q --quiet tk; then
    printf 'Error: One or more required packages for installing MLNX_OFED_LINUX are missing.\n'
    printf 'Please install the missing packages using your Linux distribution Package Management tool.\nRun:\nyum install tk\n'
    exit 1
fi
echo "options: $*"
rpm -q rdma-core | grep -q mlnx || rpm -e --nodeps rdma-core libibverbs librdmacm libibumad infiniband-diags opensm || exit 1
dnf -y --repofrompath=bundle,/srv/rpm/mlnx_ofed --setopt=bundle.gpgcheck=0 --setopt=bundle.priority=1 install mlnx-ofed-all || exit 1
printf '#!/bin/sh\necho MLNX_OFED_LINUX-23.10-0.5.5.0:\n' >/usr/bin/ofed_info
chmod +x /usr/bin/ofed_info
EOF
chmod +x mlnxofedinstall
"""


class Node(t.NamedTuple):
    cluster: Cluster

    def run(self, script: str) -> str:
        done = self.cluster.shell(NODE, script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def packages(self) -> dict[str, str]:
        return dict(line.split() for line in self.run("rpm -qa --qf '%{NAME} %{VERSION}\\n'").splitlines())

    def stack(self, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """Return the result of the module, failed or not."""
        task = tasks.module("driver_stack", check, allow_upgrade=True, **options)
        return tasks.run(self.cluster.inventory, [NODE], [task], environment=environment())[NODE][0]


@pytest.fixture(scope="module")
def node() -> collections.abc.Iterator[Node]:
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "2-nodes")
        subprocess.run(["docker", "cp", str(ROOT / "tests/lab/stacks/rpm/repositories.py"), "%s-%s:/srv/" % (PREFIX, NODE)], check=True)
        made = Node(cluster)
        made.run(PREPARE)
        yield made
    finally:
        cluster.command("down")


@pytest.mark.parametrize(
    ("wish", "versions"),
    [
        (DOCA, dict.fromkeys(("rdma-core", "libibverbs", "librdmacm", "libibumad"), "2410mlnx54")),
        (MLNX_OFED, dict.fromkeys(("rdma-core", "libibverbs", "librdmacm", "libibumad"), "2310mlnx47")),
        (ABSENT, INBOX),
        (MLNX_OFED, {"mlnx-ofed-all": "23.10"}),
        (DOCA, {"doca-ofed": "2.9.1"}),
        (ABSENT, INBOX),
    ],
    ids=["doca", "doca to mlnx_ofed", "mlnx_ofed to inbox", "mlnx_ofed", "mlnx_ofed to doca", "doca to inbox"],
)
@pytest.mark.proves("mlnx_ofed", "doca", el9=LOOK_ALIKE)
def test_whatever_is_replaced_the_firewall_stays(node: Node, wish: Options, versions: dict[str, str]) -> None:
    before = node.packages()
    foreseen = node.stack(check=True, **wish)
    assert not foreseen["failed"], foreseen["msg"]
    assert node.packages() == before
    done = node.stack(**wish)
    assert not done["failed"], done["msg"]
    assert done["changes"] == foreseen["changes"]
    assert done["changed"]
    found = node.packages()
    assert {**found, **versions, **BYSTANDERS} == found
    if wish is ABSENT:
        assert not [name for name in found if name.startswith(("mlnx", "doca", "ofed"))]
    # The whole user space comes from one stack.
    assert len({found[name] for name in ("rdma-core", "libibverbs", "librdmacm", "libibumad")}) == 1
    again = node.stack(**wish)
    assert (again["failed"], again["changes"]) == (False, [])


@pytest.mark.parametrize("wish", [DOCA, MLNX_OFED], ids=["doca", "mlnx_ofed"])
@pytest.mark.proves("mlnx_ofed", "doca", el9=LOOK_ALIKE)
def test_what_would_go_along_is_refused_and_named(node: Node, wish: Options) -> None:
    node.run("dnf -y install site-lustre")
    before = node.packages()
    for check in (True, False):
        refused = node.stack(check, **wish)
        assert refused["failed"], refused
        assert refused["dependants"] == ["site-lustre"]
        assert "ofed_allow_removal" in refused["msg"]
    assert node.packages() == before
    node.run("dnf -y remove --noautoremove site-lustre")


@pytest.mark.proves("doca", el9=LOOK_ALIKE)
def test_a_version_that_the_repository_lacks_is_refused(node: Node) -> None:
    before = node.packages()
    refused = node.stack(**{**DOCA, "version": "2.9.7"})
    assert refused["failed"], refused
    assert "doca-ofed-2.9.7" in refused["msg"]
    assert "nothing was changed" in refused["msg"]
    assert node.packages() == before


@contextlib.contextmanager
def updates(node: Node) -> collections.abc.Iterator[None]:
    """Yield another repository with packages of the same names and higher versions."""
    path = "/etc/yum.repos.d/updates.repo"
    node.run("printf '[updates]\\nname=Updates\\nbaseurl=file:///srv/rpm/updates\\nenabled=1\\ngpgcheck=0\\n' >%s" % path)
    try:
        yield
    finally:
        node.run("rm %s" % path)


@pytest.mark.parametrize("wish", [MLNX_OFED, DOCA], ids=["mlnx_ofed", "doca"])
@pytest.mark.proves("mlnx_ofed", "doca", el9=LOOK_ALIKE)
def test_an_update_of_the_system_replaces_nothing_of_the_stack(node: Node, wish: Options) -> None:
    """Other repositories have packages of the same names with higher versions."""
    assert not node.stack(**wish)["failed"]
    before = node.packages()
    with updates(node):
        node.run("dnf -y upgrade")
        assert node.packages() == before
        # Only the priority of the repositories ensures this.
        shown = node.cluster.shell(NODE, "dnf --assumeno --setopt=rdma-ofed.priority=99 upgrade").stdout
        assert "9948.0-1.el9" in shown, shown


@pytest.mark.parametrize("wish", [MLNX_OFED, DOCA], ids=["mlnx_ofed", "doca"])
@pytest.mark.proves("mlnx_ofed", "doca", el9=LOOK_ALIKE)
def test_opensm_goes_from_the_record_alone_where_the_stack_needs_it(node: Node, wish: Options) -> None:
    """The role has the package on record, and the metapackage of a stack installed later depends on it."""
    assert not node.stack(**wish)["failed"]
    before = node.packages()
    record = "/etc/rdma-ofed/opensm/record"
    node.run("mkdir -p /etc/rdma-ofed/opensm && echo package >%s && dnf repoquery --installed --whatrequires opensm | grep -E 'mlnx|doca'" % record)
    arguments = ("--limit", NODE, "--tags", "opensm", "-e", "opensm_state=absent", "-e", "rdma_allow_removal=true")
    for check in (("--check",), ()):
        run = node.cluster.play("site", *arguments, *check)
        assert run.status == 0, run.output
        assert node.packages() == before
    assert node.cluster.shell(NODE, "test -e %s" % record).returncode


@pytest.mark.proves("mlnx_ofed", el9=LOOK_ALIKE)
def test_what_the_installer_lacks_of_the_distribution_is_installed(node: Node) -> None:
    assert not node.stack(**ABSENT)["failed"]
    node.run(INSTALLER % INSTALLED)
    foreseen = node.stack(check=True, **INSTALLED)
    assert not foreseen["failed"], foreseen["msg"]
    assert "tk" not in node.packages()
    # The message names the repository that lacks it; nothing has changed.
    before = node.packages()
    node.run("mv /etc/yum.repos.d/baseos.repo /srv/")
    refused = node.stack(**INSTALLED)
    node.run("mv /srv/baseos.repo /etc/yum.repos.d/")
    assert refused["failed"], refused
    assert "packages of the distribution are missing and could not be installed: tk. Next: enable a repository that has them" in refused["msg"]
    assert node.packages() == before
    done = node.stack(**INSTALLED)
    assert not done["failed"], done["msg"]
    assert done["changes"] == foreseen["changes"]
    assert {"tk", "mlnx-ofed-all"} <= set(node.packages())
    again = node.stack(**INSTALLED)
    assert (again["failed"], again["changes"]) == (False, [])


@pytest.mark.proves("mlnx_ofed", el9=LOOK_ALIKE)
def test_an_update_of_the_system_replaces_nothing_that_the_installer_has_installed(node: Node) -> None:
    """No repository has these packages. Without protection, packages of higher versions would replace them."""
    locks = "/etc/dnf/plugins/versionlock.list"
    assert not node.stack(**ABSENT)["failed"]
    # The earlier tests leave the DOCA stack. Its release is reported by ofed_info, which the empty packages lack.
    node.run("dnf -y remove --noautoremove ucx || true")
    node.run("dnf -y versionlock add tk")
    node.run(INSTALLER % INSTALLED)
    assert not node.stack(**INSTALLED)["failed"]
    before = node.packages()
    with updates(node):
        node.run("dnf -y upgrade")
        assert node.packages() == before
        for off in ({"protect_packages": False}, {"state": "absent"}):
            foreseen, done = node.stack(check=True, **INSTALLED, **off), node.stack(**INSTALLED, **off)
            assert not done["failed"], done["msg"]
            assert done["changes"] == foreseen["changes"]
            # Locks set by the site itself stay.
            assert [line.split("-")[0] for line in node.run("cat " + locks).splitlines() if line and not line.startswith("#")] == ["tk"]
            if off == {"protect_packages": False}:
                assert "9948.0-1.el9" in node.cluster.shell(NODE, "dnf --assumeno upgrade").stdout
    node.run("rm -r %(bundle)s" % INSTALLED)
    node.run("dnf versionlock clear")
