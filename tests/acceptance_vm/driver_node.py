# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A machine with the vendor's driver from DKMS, and the users of RDMA on it, one after another."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
import typing as t

import yaml
from cluster import BIN, Cluster, Run, environment
from common import ROOT

HERE = pathlib.Path(__file__).resolve().parent
NODE = "node1"
VERSION = "23.10-0.5.5.0"
COMPILED = ("mlx_compat", "mlx5_core", "mlx5_ib")
"""Modules that DKMS compiles. mlx5_core does not drive the adapters, which use the lab's driver."""
IN_USE = ("ib_core", "ib_cm", "ib_umad", "ib_uverbs", "rdma_cm", "rdma_ucm", "ib_ipoib")
"""Modules that IPoIB and user space use: the distribution's, with version and srcversion of the stand-in's."""
ADDRESS, PEER = "10.20.0.1", "10.20.0.2"
_CONTROL = "Package: linux-image-amd64\nVersion: 99\nArchitecture: amd64\nMaintainer: lab <lab@example.invalid>\nDepends: linux-image-%s\nDescription: kernel\n"
_OFFER = """
mkdir -p /srv/newer/package/DEBIAN && cd /srv/newer && cat >package/DEBIAN/control && dpkg-deb --build package linux-image-amd64_99_amd64.deb &&
rm -r package && dpkg-scanpackages . >Packages && echo 'deb [trusted=yes] file:/srv/newer ./' >/etc/apt/sources.list.d/newer.list && apt-get update
"""
COMPILERS = """
if [ -e /etc/apt/apt.conf.d/lean ]; then exit; fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq --yes --no-install-recommends install dkms gcc make linux-headers-$(uname -r) >/dev/null
# Whatever needs them later must not add desktop libraries, which they recommend: the machine is emulated.
echo 'APT::Install-Recommends "false";' >/etc/apt/apt.conf.d/lean
"""
"""Packages for building a driver, for a machine that should not install them in each test module."""
_RELAY = "exec 3<>/dev/tcp/%s/22; cat <&3 & cat >&3; kill %%1" % ADDRESS


class Node:
    """The machine. `variables` declare its state; `inventory` reaches it over Ethernet."""

    def __init__(self, cluster: Cluster, bundle: pathlib.Path) -> None:
        self.cluster = cluster
        self.inventory = cluster.inventory
        self.variables = {"ofed_source": "mlnx_ofed", "ofed_bundle": str(bundle), "ofed_bundle_on": "controller", "ofed_packages": "basic"}
        # These tests stop whatever uses RDMA. Tests about that set the variables themselves.
        self.variables |= {"rdma_allow_upgrade": True, "rdma_allow_reload": True}

    def run(self, script: str) -> str:
        done = self.cluster.shell(NODE, script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def play(self, playbook: str, *arguments: str, **variables: t.Any) -> Run:
        return self.cluster.play(playbook, "-e", json.dumps({**self.variables, **variables}), *arguments)

    def ofed(self, *arguments: str, **variables: t.Any) -> Run:
        """Run only the role ofed."""
        return self.play(str(HERE / "ofed.yml"), *arguments, **variables)

    def module(self, name: str, *arguments: str, inventory: pathlib.Path | None = None, **options: t.Any) -> dict[str, t.Any]:
        """Return the result of a module, failed or not."""
        argv = [str(BIN / "ansible"), "-i", str(inventory or self.inventory), "rdma", "-m", "rdma.ofed." + name, *arguments]
        argv += ["-a", json.dumps(options)] if options else []
        env = dict(environment(), ANSIBLE_LOAD_CALLBACK_PLUGINS="1", ANSIBLE_STDOUT_CALLBACK="ansible.posix.json", ANSIBLE_TIMEOUT="60")
        done = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=900, check=False)
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        result: dict[str, t.Any] = json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"][NODE]
        assert not result.get("unreachable"), result
        return {"failed": False, **result}

    def loaded(self) -> dict[str, str]:
        """Return the srcversions of the loaded modules; "" for the distribution's, which have none."""
        lines = self.run("cd /sys/module; for name in %s; do [ -d $name ] && echo $name $(cat $name/srcversion 2>/dev/null); done; true" % _words(IN_USE))
        return {line.split()[0]: "".join(line.split()[1:]) for line in lines.splitlines()}

    def built(self, release: str) -> dict[str, str]:
        """Return the srcversions of the modules that this kernel would load."""
        script = "for name in %s; do echo $name $(modinfo -k %s -F srcversion $name); done" % (_words((*COMPILED, *IN_USE)), release)
        return {line.split()[0]: "".join(line.split()[1:]) for line in self.run(script).splitlines()}

    def kernels(self) -> dict[str, t.Any]:
        found: dict[str, t.Any] = self.module("rdma_facts", gather=["kernels"])["ansible_facts"]["rdma"]["kernels"]
        return found

    def addresses(self) -> list[str]:
        return self.run("ip -oneline -4 address show ib0 2>/dev/null | awk '{print $4}'").split()

    def reachable(self, seconds: float) -> bool:
        """Return whether ib0 gets its address and a carrier in time. Only udev and systemd-networkd configure it here."""
        end = time.monotonic() + seconds
        while self.addresses() != [ADDRESS + "/24"] or self.cluster.shell(NODE, "grep -q 1 /sys/class/net/ib0/carrier").returncode:
            if time.monotonic() > end:
                return False
            time.sleep(1)
        return True

    def offer(self, release: str) -> None:
        """Add a repository with a metapackage that depends on that kernel, as apt sees a newer kernel."""
        self.run("printf %s | (%s)" % (shlex.quote((_CONTROL % release).replace("\n", "\\n")), _OFFER.strip()))

    @contextlib.contextmanager
    def process(self, name: str, script: str) -> t.Iterator[int]:
        """Start a process in the background and return its process ID."""
        self.run("systemd-run --quiet --collect --unit=%s /bin/bash -c %s" % (name, shlex.quote(script)))
        try:
            yield int(self.run("systemctl show --property=MainPID --value %s" % name))
        finally:
            self.run("systemctl stop %s" % name)

    @contextlib.contextmanager
    def mount(self) -> t.Iterator[None]:
        """Create what looks like a mount of NFS over RDMA, see node/nfsrdma."""
        folder = "/root/nfsrdma"
        if self.cluster.shell(NODE, "test -e %s/nfsrdma_standin.ko" % folder).returncode:
            self.run("mkdir -p %s /scratch" % folder)
            for path in sorted((HERE / "node/nfsrdma").iterdir()):
                self.run("cat >%s/%s <<'EOF'\n%s\nEOF" % (folder, path.name, path.read_text(encoding="utf-8").rstrip("\n")))
            self.run("make -C /lib/modules/$(uname -r)/build M=%s modules" % folder)
        self.run("insmod %s/nfsrdma_standin.ko && mount -i -t nfs4 %s:/scratch /scratch" % (folder, PEER))
        try:
            yield
        finally:
            self.run("umount /scratch; rmmod nfsrdma_standin")

    @contextlib.contextmanager
    def over_ipoib(self, folder: pathlib.Path) -> t.Iterator[pathlib.Path]:
        """Yield an inventory that reaches the machine over IPoIB: from ib1, in a network namespace that acts as another machine."""
        self.run("ip netns add peer && ip link set ib1 netns peer && ip -n peer address add %s/24 dev ib1 && ip -n peer link set ib1 up" % PEER)
        self.run("for i in $(seq 30); do ip netns exec peer ping -c 1 -W 2 %s && exit; done; exit 1" % ADDRESS)
        everything = yaml.safe_load(self.inventory.read_text(encoding="utf-8"))
        common, host = everything["all"]["vars"], everything["all"]["children"]["rdma"]["hosts"][NODE]
        options = shlex.split(common["ansible_ssh_common_args"])
        way = ["ssh", *options, "-i", common["ansible_ssh_private_key_file"], "-p", str(host["ansible_port"]), "root@127.0.0.1"]
        way.append("ip netns exec peer bash -c %s" % shlex.quote(_RELAY))
        common["ansible_ssh_common_args"] = shlex.join([*options, "-o", "ProxyCommand=" + shlex.join(way).replace("%", "%%")])
        common["ansible_host"], host["ansible_port"] = ADDRESS, 22
        path = folder / "over-ipoib.yml"
        path.write_text(yaml.safe_dump(everything), encoding="utf-8")
        try:
            yield path
        finally:
            # ssh keeps its connection for the next task, and with it the relay.
            self.run("ip netns pids peer | xargs -r kill || true")
            self.wait_for_the_end_of_connections()
            self.run("ip -n peer link set ib1 netns 1 && ip netns delete peer")

    def wait_for_the_end_of_connections(self) -> None:
        """Wait until the peers of connections over IPoIB have closed them."""
        left = "ss -Htn state established state fin-wait-1 state close-wait src %s" % ADDRESS
        self.run("for i in $(seq 300); do %s | grep -q . || exit 0; sleep 0.2; done; ss -tnp; exit 1" % left)


def _words(names: t.Iterable[str]) -> str:
    return " ".join(names)


@contextlib.contextmanager
def vendor_node(cluster: Cluster) -> t.Iterator[Node]:
    """Yield a running machine with the distribution's modules loaded; the vendor's bundle is on the controller."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder)
        subprocess.run([sys.executable, str(ROOT / "tests/lab/stacks/build.py"), "--into", folder], check=True, timeout=900)
        manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
        node = Node(cluster, made / manifest["bundles"][VERSION]["archive"])
        node.run("modprobe -a ib_ipoib ib_umad ib_uverbs rdma_ucm")
        yield node
