# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The containers of a lab: creates, starts, awaits and removes them."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import pathlib
import time
import typing as t

from . import _image, _network
from ._adapters import cards
from ._docker import docker, files, inspect
from ._hardware import address, description, read
from ._inventory import render
from ._owner import Owner, Verdict, in_use, is_left, judge, lives
from ._say import LabError, say
from ._settings import LAB, Settings
from ._topology import Node, Topology

CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SYS_MODULE")
SECURITY = ("seccomp=unconfined", "apparmor=unconfined")
TMPFS = ("/run", "/run/lock", "/tmp:exec")
VOLUMES = ("/sys/fs/cgroup:/sys/fs/cgroup:rw",)
DEVICES = ("/dev/net/tun",)
INOTIFY = pathlib.Path("/proc/sys/fs/inotify/max_user_instances")
# A node that reboots exits with a nonzero status (node/preload/boot.c), a node that shuts down with 0.
RESTART = "on-failure"
BOOT_SECONDS = 600
AT_ONCE = 8

_UNITS = "/etc/systemd/system/"
_STACKS = {
    "networkd": {
        _UNITS + "multi-user.target.wants/systemd-networkd.service": "/lib/systemd/system/systemd-networkd.service",
        _UNITS + "dbus-org.freedesktop.network1.service": "/lib/systemd/system/systemd-networkd.service",
        _UNITS + "sockets.target.wants/systemd-networkd.socket": "/lib/systemd/system/systemd-networkd.socket",
    },
    "ifupdown": {_UNITS + "multi-user.target.wants/networking.service": "/lib/systemd/system/networking.service"},
}

T = t.TypeVar("T")


def recipe(settings: Settings, image: str) -> dict[str, t.Any]:
    """Return the parameters of a node's container, named as in Molecule's and Ansible's docker modules."""
    return {
        "image": image,
        "command": "/sbin/init",
        "network": settings.prefix,
        "capabilities": list(CAPABILITIES),
        "security_opts": list(SECURITY),
        "cgroupns_mode": "host",
        "tmpfs": list(TMPFS),
        "volumes": list(VOLUMES),
        "devices": list(DEVICES),
        "env": {"container": "docker"},
        "stop_signal": "SIGRTMIN+3",
        "restart_policy": RESTART,
    }


def together(work: t.Callable[[Node], T], nodes: t.Sequence[Node]) -> list[T]:
    """Run the work on all nodes, a few in parallel. All nodes are tried; the failures are raised as one error."""
    problems: list[str] = []
    results: list[T] = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for node, future in [(node, pool.submit(work, node)) for node in nodes]:
            try:
                results.append(future.result())
            except LabError as exc:
                problems.append("%s: %s" % (node.name, exc))
    if problems:
        raise LabError("\n".join(problems))
    return results


def read_topology(path: pathlib.Path) -> Topology:
    try:
        return read(path.read_text(encoding="utf-8"), str(path))
    except OSError as exc:
        raise LabError(
            "The topology %s cannot be read: %s. The ones that come with the lab: %s." % (path, exc.strerror, ", ".join(known_topologies()))
        ) from exc


def known_topologies() -> list[str]:
    return sorted((path.stem for path in (LAB / "topologies").glob("*.topo")), key=lambda name: int("0" + name.partition("-")[0]) if name[0].isdigit() else 0)


def running_topology(settings: Settings) -> Topology:
    """Return the topology of the running lab."""
    if not settings.topology.exists():
        raise LabError("There is no lab with the prefix '%s'. Start it with 'lab up'." % settings.prefix)
    return read_topology(settings.topology)


def node_named(settings: Settings, name: str) -> Node:
    nodes = running_topology(settings).nodes
    for node in nodes:
        if node.name == name:
            return node
    raise LabError("There is no node '%s' in this lab. It has: %s." % (name, ", ".join(node.name for node in nodes)))


class Present(t.NamedTuple):
    """The containers of a lab that this command may use or remove."""

    names: list[str]
    abandoned: bool
    """The owner of one of them has ended: see _owner."""


def present_containers(listing: str, prefix: str, judge: t.Callable[[Owner], Verdict]) -> Present:
    """Parse lines of the form NAME TAB CHECKOUT TAB RUN. Refuses a lab that another owner uses."""
    rows = [line.split("\t") for line in listing.splitlines() if line]
    verdicts = {owner: judge(owner) for owner in (Owner(checkout, run) for _name, checkout, run in rows)}
    for owner, verdict in verdicts.items():
        if verdict is Verdict.FOREIGN:
            raise LabError(
                "The lab with the prefix '%s' belongs to another checkout, %s. Use 'lab' there, or start a lab of your own: 'lab --prefix NAME up'."
                % (prefix, owner.checkout)
            )
        if verdict is Verdict.IN_USE:
            raise LabError(in_use(prefix, owner.run))
    return Present(sorted(row[0] for row in rows), Verdict.ABANDONED in verdicts.values())


def _present(settings: Settings) -> Present:
    form = '{{.Names}}\t{{.Label "rdmalab.checkout"}}\t{{.Label "rdmalab.run"}}'
    listing = docker("ps", "--all", "--filter", "label=rdmalab=" + settings.prefix, "--format", form)
    return present_containers(listing, settings.prefix, lambda owner: judge(owner, settings.owner))


def left(settings: Settings) -> set[str]:
    """Return the prefixes of the labs of this checkout whose run has ended, and of those of this very run."""
    form = '{{.Label "rdmalab"}}\t{{.Label "rdmalab.checkout"}}\t{{.Label "rdmalab.run"}}'
    containers, networks = (docker(*kind, "--filter", "label=rdmalab.run", "--format", form, check=False) for kind in (("ps", "--all"), ("network", "ls")))
    return left_labs(containers, networks, settings.owner)


def left_labs(containers: str, networks: str, we: Owner, *, alive: t.Callable[[str], bool] = lives) -> set[str]:
    """Parse lines of the form PREFIX TAB CHECKOUT TAB RUN. A network tells only where there are no containers: those of a later run may be on it."""

    def owners(listing: str) -> list[tuple[str, Owner]]:
        return [(prefix, Owner(checkout, run)) for prefix, checkout, run in (line.split("\t") for line in listing.splitlines())]

    used = owners(containers)
    empty = [(prefix, owner) for prefix, owner in owners(networks) if prefix not in dict(used)]
    return {prefix for prefix, owner in [*used, *empty] if is_left(owner, we, alive=alive)}


def _dead(settings: Settings) -> list[str]:
    """Return the containers whose removal was interrupted: they keep their names and cannot be started."""
    states = [word for state in ("dead", "removing") for word in ("--filter", "status=" + state)]
    return docker("ps", "--all", "--filter", "label=rdmalab=" + settings.prefix, *states, "--format", "{{.Names}}").split()


def up(settings: Settings, text: str, asked: bool, source: str, own_inventory: str) -> None:
    """Start the lab; idempotent. `text` is the wanted topology. Unless the user `asked` for it, a running lab keeps its own."""
    present, abandoned = _present(settings)
    if abandoned:
        say("removing the lab that an earlier run of tests or another checkout left behind")
        down(settings)
    dead = _dead(settings)
    if dead:
        say("removing what is left of %s" % ", ".join(dead))
        docker("rm", "--force", "--volumes", *dead, timeout=300)
    if abandoned or dead:
        present, _abandoned = _present(settings)
    if present and settings.topology.exists() and settings.topology.read_text(encoding="utf-8") != text:
        if asked:
            raise LabError("A lab with another topology is up. Take it down first ('lab down'), or start a second one beside it ('lab --prefix NAME up').")
        text, own_inventory = settings.topology.read_text(encoding="utf-8"), settings.inventory.read_text(encoding="utf-8")
    topology = read(text, source)
    suites = {node.name: node.suite or settings.suite for node in topology.nodes}
    images = _image.ensure_images(settings, suites.values())
    settings.state.mkdir(parents=True, exist_ok=True)
    settings.topology.write_text(text, encoding="utf-8")
    subnet = _network.ensure_network(settings)
    _simulator(settings, images.simulator, subnet, text)
    missing = [node for node in topology.nodes if settings.container(node.name) not in present]
    if missing:
        kernels = {suite: _image.kernel(images.nodes[suite]) for suite in {suites[node.name] for node in missing}}
        say("creating %s" % _names(missing))
        numbers = {node.name: number for number, node in enumerate(topology.nodes, 1)}

        def create(node: Node) -> None:
            suite = suites[node.name]
            address, simulator = (_network.address(subnet, number) for number in (numbers[node.name], 0))
            _create(settings, images.nodes[suite], node, address, simulator, kernels[suite])

        together(create, missing)
    start(settings, topology.nodes)
    inventory = own_inventory or render(topology.nodes, {node.name: settings.container(node.name) for node in topology.nodes})
    if not settings.inventory.exists() or settings.inventory.read_text(encoding="utf-8") != inventory:
        settings.inventory.write_text(inventory, encoding="utf-8")
    current = {settings.container(node): images.nodes[suite] for node, suite in suites.items()}
    old = [name for name, found in inspect(list(current)).items() if found["Config"]["Image"] != current[name]]
    if old:
        say("%d nodes run an older image than the sources make: 'lab down' and 'lab up' renew them" % len(old))


def ensure_simulator(settings: Settings, topology: str) -> str:
    """Start a simulator without node containers, for virtual machines, and return its address."""
    present, abandoned = _present(settings)
    if abandoned:
        docker("rm", "--force", "--volumes", *present, timeout=300)
    settings.state.mkdir(parents=True, exist_ok=True)
    subnet = _network.ensure_network(settings)
    _simulator(settings, _image.ensure_images(settings).simulator, subnet, topology)
    return _network.address(subnet, 0)


def allow_inotify(nodes: int, limit: pathlib.Path = INOTIFY) -> None:
    """Raise the inotify limit. Every systemd watches files; the usual 128 instances of a machine suffice for a dozen nodes."""
    wanted = 1024 + 16 * max(0, nodes - 16)
    try:
        found = int(limit.read_text())
        if found < wanted:
            limit.write_text("%d\n" % wanted)
            say("raised fs.inotify.max_user_instances from %d to %d on this machine" % (found, wanted))
    except OSError:
        say("fs.inotify.max_user_instances of this machine cannot be raised to %d: units of the nodes may fail" % wanted)


def start(settings: Settings, nodes: t.Sequence[Node]) -> None:
    """Start the nodes that are not running, and wait until all are ready."""
    found = inspect([settings.container(node.name) for node in nodes])
    stopped = [node for node in nodes if not found.get(settings.container(node.name), {}).get("State", {}).get("Running")]
    if stopped:
        allow_inotify(len(nodes))
        say("starting %s" % _names(stopped))
        together(lambda node: docker("start", settings.container(node.name)), stopped)
    wait(settings, nodes)


def restart(settings: Settings, nodes: t.Sequence[Node], simulator: bool) -> None:
    """Restart all nodes in parallel."""
    containers = [settings.container(node.name) for node in nodes] + [settings.simulator] * simulator
    say("restarting %s" % (", ".join(containers) if len(containers) <= 4 else "%d containers" % len(containers)))
    with concurrent.futures.ThreadPoolExecutor(len(containers)) as pool:
        for future in [pool.submit(docker, "restart", "--time", "20", container) for container in containers]:
            future.result()
    wait(settings, nodes)


def wait(settings: Settings, nodes: t.Sequence[Node]) -> None:
    end = time.monotonic() + BOOT_SECONDS
    together(lambda node: _booted(settings, node, end), nodes)


def down(settings: Settings) -> list[str]:
    """Remove everything but the images. Returns the names of what was removed."""
    containers = _present(settings).names
    if containers:
        docker("rm", "--force", "--volumes", *containers, timeout=300)
    if _network.subnet_of(settings):
        docker("network", "rm", settings.prefix)
    for path in (settings.topology, settings.inventory):
        path.unlink(missing_ok=True)
    return containers


def _names(nodes: t.Sequence[Node]) -> str:
    return ", ".join(node.name for node in nodes) if len(nodes) <= 4 else "%d nodes" % len(nodes)


def _simulator(settings: Settings, image: str, subnet: str, topology: str) -> None:
    found = inspect([settings.simulator]).get(settings.simulator)
    if found is None:
        say("starting the fabric simulator")
        arguments = ["--name", settings.simulator, "--hostname", "simulator", *settings.labels]
        arguments += ["--network", settings.prefix, "--ip", _network.address(subnet, 0), "--restart", "unless-stopped"]
        docker("create", *arguments, image)
        docker("cp", "-", settings.simulator + ":/", stdin=files({"/etc/lab/fabric.topo": topology}))
    if found is None or not found["State"]["Running"]:
        docker("start", settings.simulator)
    end = time.monotonic() + 20
    while not docker("exec", settings.simulator, "/usr/bin/python3", "/opt/lab/sim/main.py", "slow", check=False):
        if time.monotonic() > end:
            raise LabError("The fabric simulator does not come up. See 'docker logs %s'." % settings.simulator)
        time.sleep(0.3)


def _create(settings: Settings, image: str, node: Node, address: str, simulator: str, kernel: str) -> None:
    container = settings.container(node.name)
    arguments = ["--name", container, "--hostname", node.name, *settings.labels]
    arguments += ["--network", settings.prefix, "--ip", address, "--cgroupns", "host", "--env", "container=docker"]
    arguments += ["--stop-signal", "SIGRTMIN+3", "--restart", RESTART]
    options = (("--cap-add", CAPABILITIES), ("--security-opt", SECURITY), ("--tmpfs", TMPFS), ("--volume", VOLUMES), ("--device", DEVICES))
    arguments += [word for option, values in options for value in values for word in (option, value)]
    docker("create", *arguments, image, "/sbin/init")
    contents = {
        "/etc/lab/node.json": json.dumps(description(node, simulator, kernel), indent=2) + "\n",
        "/etc/machine-id": hashlib.sha256(container.encode()).hexdigest()[:32] + "\n",
    }
    docker("cp", "-", container + ":/", stdin=files(contents, _STACKS[node.network]))


def _booted(settings: Settings, node: Node, end: float) -> None:
    """Wait until systemd has finished booting and the emulated adapters exist."""
    container = settings.container(node.name)
    # Device names may differ.
    wanted = ["/sys/bus/pci/devices/%s/infiniband/*/ports/1/state" % address(place) for place in cards(node.hcas)]
    script = (
        # The agent reports a description that it cannot emulate, and then waits.
        'systemctl show -P StatusText rdmalab-agent | grep "^cannot" && exit; state=$(systemctl is-system-running); '
        'case $state in running|degraded) for f; do test -e $f || exit 3; done; echo up;; *) echo "$state";; esac'
    )
    answer = ""
    while True:
        answer = docker("exec", container, "sh", "-c", script, "sh", *wanted, check=False).strip()
        if answer == "up":
            return
        if answer.startswith("cannot"):
            raise LabError("the agent in it %s" % answer)
        if time.monotonic() > end:
            break
        time.sleep(0.4)
    if answer:
        raise LabError("systemd says '%s' after %d s. See 'lab shell %s journalctl -b'." % (answer, BOOT_SECONDS, node.name))
    raise LabError("it does not come up: no adapter in /sys/class/infiniband. See 'docker logs %s' and 'lab shell %s journalctl -b'." % (container, node.name))
