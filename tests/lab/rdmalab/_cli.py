# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of the lab."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
import typing as t

from . import _cluster, _driver, _engine, _fabric, _generate, _image, _kinds, _leftovers, _seed, _swap, _vmimage
from ._docker import docker
from ._say import LabError, record_start, say
from ._settings import LAB, Settings, settings
from ._topology import NETWORKS

DEFAULT_TOPOLOGY = {"container": "3-nodes", "vm": "machines"}


def main(argv: t.Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(settings(arguments.prefix), arguments) or 0)
    except LabError as exc:
        print("lab: %s" % exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; 'lab up' goes on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab", description="A simulated InfiniBand cluster: systemd nodes in containers on one simulated fabric.")
    parser.add_argument("--prefix", default="", help="of the lab's names, for a second lab beside the first (default: $RDMALAB_PREFIX or rdmalab)")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: t.Callable[[Settings, argparse.Namespace], int | None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    sub = command("up", _up, "build what is missing, start the nodes, and wait until they are at work")
    which = sub.add_mutually_exclusive_group()
    which.add_argument(
        "--topology",
        default="",
        help="a name in tests/lab/topologies, or a file that ibnetdiscover wrote (default: the running one, or %(container)s, or %(vm)s)" % DEFAULT_TOPOLOGY,
    )
    which.add_argument("--nodes", type=int, default=0, help="a generated fabric with so many nodes")
    sub.add_argument("--kind", default="", choices=_kinds.KINDS, help="of nodes: containers (default), or virtual machines with a real kernel")
    sub.add_argument(
        "--names", default="", choices=sorted(_seed.MANAGEMENT), help="of the interfaces in virtual machines: ib0 (kernel, default), or as udev names them"
    )
    sub.add_argument(
        "--from",
        dest="snapshots",
        action="append",
        default=[],
        metavar="NAME",
        help="virtual machines: resume this snapshot if there is one of such machines, instead of booting; the first of several",
    )
    sub.add_argument("--keep", default="", metavar="NAME", help="virtual machines: if they boot for the first time, keep their state as a snapshot")
    sub.add_argument("--tree", default="", metavar="DIR", help="virtual machines: boot these files, which 'image --tree' has unpacked, for all of them")
    sub = command("down", _down, "remove the lab's nodes, and what connects them")
    sub.add_argument("--image", action="store_true", help="remove the images too")
    command("sweep", _sweep, "remove the labs of this checkout that runs of tests have left behind, and those of the run in RDMALAB_RUN")
    command("status", _show_status, "the nodes, their ports, and who is master")
    sub = command("shell", _shell, "a shell, or a command, on a node")
    sub.add_argument("node")
    sub.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")
    sub = command("restart", _restart, "restart nodes, all at the same time")
    sub.add_argument("nodes", nargs="*", metavar="NODE")
    sub.add_argument("--all", action="store_true")
    sub.add_argument("--simulator", action="store_true", help="the simulator too: every switch loses power at once")
    command("swap", _swap_adapters, "replace the adapters of a node by others in the same slots: only their GUIDs differ").add_argument("node")
    command("kill", _kill, "cut the power of a node; 'up' brings it back").add_argument("node")
    command("save", _save, "virtual machines: keep the state of all of them as a snapshot for 'up --from'").add_argument("name")
    sub = command("driver", _drive, "virtual machines: build the adapters' driver for kernels that were installed in a node, or will be")
    sub.add_argument("node")
    sub.add_argument("releases", nargs="*", metavar="RELEASE", help="such as 6.1.0-56-amd64 (default: all installed kernels that have none)")
    command("fabric", _show_fabric, "what iblinkinfo says").add_argument(
        "--all", action="store_true", help="with the switch ports that nothing is plugged into"
    )
    command("inventory", lambda s, _: print(s.inventory), "the path of the inventory")
    sub = command("image", _show_image, "build the node image if it is missing, and print its tag, or for virtual machines its disk")
    sub.add_argument("--kind", default="container", choices=_kinds.KINDS, help="of nodes")
    sub.add_argument("--tree", default="", metavar="DIR", help="virtual machines: unpack the files into this folder instead")
    command("recipe", _show_recipe, "how a node's container is made, as JSON")
    sub = command("topology", lambda _, a: print(_generate.generate(a.nodes, a.containers), end=""), "print a topology file for so many nodes")
    sub.add_argument("nodes", type=int)
    sub.add_argument("--containers", type=int, default=0, metavar="N", help="run only the first N of them; the others are ports on the fabric")
    command("console", _console, "a command of ibsim's console, such as: help, dump, attached").add_argument("words", nargs=argparse.REMAINDER)
    _add_faults(command("fault", lambda _s, _a: 0, "break something, or repair it"))
    return parser


def _add_faults(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(metavar="FAULT", required=True)
    sub = kinds.add_parser("link", help="pull or plug the cable of a port")
    sub.add_argument("node")
    sub.add_argument("to", choices=("down", "up"))
    sub.add_argument("--port", default="", help="such as mlx5_0/1 (default: the node's first)")
    sub.set_defaults(run=_fault_link)
    for name, text in (("cut", "pull all fabric cables of a node"), ("heal", "plug them again")):
        sub = kinds.add_parser(name, help=text)
        sub.add_argument("node")
        sub.set_defaults(run=_fault_cut, up=name == "heal")
    _add_card_fault(kinds)
    sub = kinds.add_parser("sm", help="virtual machines: a fabric with or without a subnet manager")
    sub.add_argument("to", choices=("off", "on"))
    sub.set_defaults(run=_fault_sm)
    sub = kinds.add_parser("mtu", help="virtual machines: the MTU of the fabric's multicast groups, which limits datagram mode")
    sub.add_argument("mtu", choices=("2048", "4096"))
    sub.set_defaults(run=_fault_mtu)
    sub = kinds.add_parser("pkeys", help="virtual machines: the P_Key table that a subnet manager would give the ports of a node")
    sub.add_argument("node")
    sub.add_argument("keys", help="such as 0xffff,0x8001")
    sub.set_defaults(run=_fault_pkeys)
    sub = kinds.add_parser("slow", help="let every request to the fabric wait for so many milliseconds")
    sub.add_argument("milliseconds", metavar="MS|off")
    sub.set_defaults(run=_fault_slow)


def _add_card_fault(kinds: t.Any) -> None:
    sub = kinds.add_parser("card", help="break or repair the firmware side of an emulated adapter", epilog="An unknown KIND lists all kinds.")
    sub.add_argument("node")
    sub.add_argument("adapter", help="such as mlx5_0 or 0000:03:00.0, or all")
    sub.add_argument("kind", help="such as busy, slow=20, read-only=NUM_OF_VFS, or none: everything is whole again")
    sub.add_argument("state", nargs="?", default="on", choices=("on", "off", "once"))
    sub.set_defaults(run=_fault_card)


def _hosts(count: int) -> int:
    if not 1 <= count <= 500:
        raise LabError("A generated fabric has 1 to 500 nodes, not %d." % count)
    return count


def _topology(lab: Settings, arguments: argparse.Namespace) -> tuple[str, str, str]:
    """Return the text of the topology, its name for messages, and the text of the user's inventory."""
    if arguments.nodes:
        return _generate.generate(_hosts(arguments.nodes)), "the generated topology", ""
    name = arguments.topology or DEFAULT_TOPOLOGY[_kinds.running(lab) or arguments.kind or "container"]
    path = LAB / "topologies" / (name + ".topo")
    if not path.exists():
        path = pathlib.Path(name)
    _cluster.read_topology(path)
    own = path.with_suffix(".inventory.yml")
    return path.read_text(encoding="utf-8"), str(path), own.read_text(encoding="utf-8") if own.exists() else ""


def _up(lab: Settings, arguments: argparse.Namespace) -> None:
    asked = bool(arguments.topology or arguments.nodes)
    nodes = _kinds.kind(lab, arguments.kind, arguments.names, snapshots=arguments.snapshots, keep=arguments.keep, tree=arguments.tree)
    text, source, inventory = _topology(lab, arguments)
    nodes.up(lab, text, asked, source, inventory)
    say("the lab is up: %d nodes, inventory %s" % (len(_cluster.running_topology(lab).nodes), lab.inventory))
    record_start(lab.prefix)


def _down(lab: Settings, arguments: argparse.Namespace) -> None:
    gone = _kinds.kind(lab).down(lab)
    say("removed %s" % (", ".join(gone) if gone else "nothing: no lab with the prefix '%s' was there" % lab.prefix))
    if arguments.image:
        say("removed images: %s" % (", ".join([*_image.remove_images(), *_vmimage.remove_disks(lab)]) or "none"))


def _sweep(lab: Settings, _arguments: argparse.Namespace) -> None:
    for prefix in sorted({*_cluster.left(lab), *_leftovers.left(lab)}):
        # A failure must not keep the others.
        with _problems_told():
            _down(settings(prefix), argparse.Namespace(image=False))


@contextlib.contextmanager
def _problems_told() -> t.Iterator[None]:
    try:
        yield
    except LabError as exc:
        print("lab: %s" % exc, file=sys.stderr)


def _show_status(lab: Settings, arguments: argparse.Namespace) -> None:
    print(_kinds.kind(lab).status(lab), end="")


def _shell(lab: Settings, arguments: argparse.Namespace) -> t.NoReturn:
    node = _cluster.node_named(lab, arguments.node)
    sys.stdout.flush()
    _kinds.kind(lab).shell(lab, node, arguments.argv, sys.stdin.isatty() and sys.stdout.isatty())


def _kill(lab: Settings, arguments: argparse.Namespace) -> None:
    _kinds.kind(lab).kill(lab, _cluster.node_named(lab, arguments.node))
    say("%s has no power" % arguments.node)


def _swap_adapters(lab: Settings, arguments: argparse.Namespace) -> None:
    if _kinds.running(lab) == "vm":
        raise LabError("The adapters of virtual machines can't be swapped.")
    for hca in _swap.swap(lab, arguments.node).hcas:
        say("%s has an adapter with the node GUID 0x%016x" % (arguments.node, hca.guid))


def _save(lab: Settings, arguments: argparse.Namespace) -> None:
    _cluster.running_topology(lab)
    _kinds.kind(lab).save(lab, arguments.name)


def _drive(lab: Settings, arguments: argparse.Namespace) -> None:
    node = _cluster.node_named(lab, arguments.node)
    if _kinds.running(lab) != "vm":
        raise LabError("The adapters of containers have no driver. 'lab up --kind vm' starts virtual machines.")
    done = _driver.provide(lab, node, arguments.releases)
    say("%s has the driver for %s" % (node.name, ", ".join(done) or "all its kernels"))


def _restart(lab: Settings, arguments: argparse.Namespace) -> None:
    topology = _cluster.running_topology(lab)
    if not (arguments.nodes or arguments.all or arguments.simulator):
        raise LabError("Which nodes? Name them, or say --all. There are: %s." % ", ".join(node.name for node in topology.nodes))
    nodes = topology.nodes if arguments.all else [_cluster.node_named(lab, name) for name in arguments.nodes]
    _kinds.kind(lab).restart(lab, nodes, arguments.simulator)
    say("all of them are at work again")


def _show_fabric(lab: Settings, arguments: argparse.Namespace) -> None:
    _kinds.need_simulator(lab)
    print(_fabric.link_table(lab, arguments.all), end="")


def _show_image(lab: Settings, arguments: argparse.Namespace) -> None:
    if arguments.kind == "vm":
        usual = (lab.suite, NETWORKS[0])
        if arguments.tree:
            _vmimage.ensure_image(lab, usual[1])
            _vmimage.unpack(lab, usual[1], pathlib.Path(arguments.tree))
            return
        print(_vmimage.ensure_disks(lab, [usual])[usual])
        return
    _engine.ensure_engine(lab)
    print(_image.ensure_images(lab).nodes[lab.suite])


def _show_recipe(lab: Settings, arguments: argparse.Namespace) -> None:
    print(json.dumps(_cluster.recipe(lab, _image.tags(lab).nodes[lab.suite]), indent=2))


def _console(lab: Settings, arguments: argparse.Namespace) -> None:
    _kinds.need_simulator(lab)
    print(_fabric.console(lab, *(arguments.words or ["help"])), end="")


def _fault_link(lab: Settings, arguments: argparse.Namespace) -> None:
    node = _cluster.node_named(lab, arguments.node)
    port = arguments.port or _fabric.first_port(node)
    _tell(_kinds.kind(lab).set_links(lab, node, arguments.to == "up", port), "%s %s is %s" % (node.name, port, arguments.to))


def _fault_cut(lab: Settings, arguments: argparse.Namespace) -> None:
    node = _cluster.node_named(lab, arguments.node)
    _tell(_kinds.kind(lab).set_links(lab, node, arguments.up, ""), "%s is %s the fabric" % (node.name, "back on" if arguments.up else "cut off from"))


def _fault_card(lab: Settings, arguments: argparse.Namespace) -> None:
    node = _cluster.node_named(lab, arguments.node)
    try:
        docker("exec", lab.container(node.name), "/opt/lab/bin/rdmalab-fault", arguments.adapter, arguments.kind, arguments.state)
    except LabError as exc:
        raise LabError(str(exc).rpartition("rdmalab-fault: ")[2]) from exc
    say("%s %s: %s %s" % (node.name, arguments.adapter, arguments.kind, "" if arguments.kind == "none" else arguments.state))


def _tell(remarks: t.Sequence[str], done: str) -> None:
    for remark in remarks:
        say(remark)
    say(done)


def _fault_sm(lab: Settings, arguments: argparse.Namespace) -> None:
    _kinds.kind(lab).set_parameter(lab, _cluster.running_topology(lab).nodes, "sa", "Y" if arguments.to == "on" else "N")
    say("the fabric has %s subnet manager" % ("a" if arguments.to == "on" else "no"))


def _fault_mtu(lab: Settings, arguments: argparse.Namespace) -> None:
    _kinds.kind(lab).set_parameter(lab, _cluster.running_topology(lab).nodes, "mcast_mtu", arguments.mtu)
    say("multicast groups have an MTU of %s: %d in datagram mode" % (arguments.mtu, int(arguments.mtu) - 4))


def _fault_pkeys(lab: Settings, arguments: argparse.Namespace) -> None:
    _kinds.kind(lab).set_parameter(lab, [_cluster.node_named(lab, arguments.node)], "pkeys", arguments.keys)
    say("the P_Keys of %s are %s" % (arguments.node, arguments.keys))


def _fault_slow(lab: Settings, arguments: argparse.Namespace) -> None:
    text = arguments.milliseconds
    try:
        delay = 0.0 if text == "off" else float(text)
    except ValueError:
        delay = -1
    if not 0 <= delay <= 60000:
        raise LabError("'%s' is not a delay: give milliseconds from 0 to 60000, or 'off'." % text)
    _kinds.need_simulator(lab)
    _fabric.slow(lab, delay)
    say("the fabric answers %s" % ("%g ms late" % delay if delay else "at its normal speed"))
