# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module on a node made of files: what it reads, starts and leaves behind."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._converge import converge
from support.module_files import FileNode
from support.module_results import pending_words

RELEASE = "6.1.0-50-amd64"
LIST = "etc/modules-load.d/rdma-ofed-ulps.conf"
RECORD = "var/lib/rdma.ofed/ulps.json"
CONF = "etc/infiniband/openib.conf"
UNITS = {"srp": ["srp_daemon.service"], "ibacm": ["ibacm.socket", "ibacm.service"], "iser": ["iscsid.socket"]}
DEFAULTS: dict[str, t.Any] = {"protocols": [], "source": "inbox", "openib_conf": {}, "renewed": False, "start": True}


class Node(FileNode):
    """A root directory, minimal systemd and modprobe, and the part of AnsibleModule that the code uses."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        self.units: dict[str, list[str]] = {}
        self.fails = ""
        self.write("lib/modules/%s/modules.dep" % RELEASE, "kernel/ib_srp.ko:\nkernel/ib_iser.ko:\nkernel/rpcrdma.ko:\n")
        self.write("proc/modules", "")
        self.write("etc/os-release", "ID=debian\n")

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8") if (self.root / path).exists() else ""

    def install(self, *names: str, state: str = "disabled", active: str = "inactive") -> None:
        self.units.update({unit: [state, active] for name in names for unit in UNITS[name]})

    def has(self, tool: str) -> bool:
        return tool in ("modprobe", "systemctl")

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[:2] == ["systemctl", "show"]:
            names = argv[argv.index("--") + 1 :]
            row = "Id=%s\nLoadState=%s\nUnitFileState=%s\nActiveState=%s\n"
            rows = [(name, *self.units[name]) for name in names if name in self.units]
            return Output(0, "\n".join(row % (name, "masked" if state == "masked" else "loaded", state, active) for name, state, active in rows), "")
        self.calls.append(" ".join(argv))
        if argv[0] == "modprobe":
            self.write("proc/modules", self.text("proc/modules") + "".join("%s 1 0 - Live 0x0\n" % name for name in argv[2:]))
        elif argv[0] == "systemctl":
            self._systemctl(argv)
        return Output(0, "", "")

    def _systemctl(self, argv: t.Sequence[str]) -> None:
        for name in (word for word in argv[2:] if word != "--now"):
            if name == self.fails:
                raise CommandFailed("Job for %s failed" % name)
            if argv[1] == "enable":
                self.units[name][0] = "enabled"
            elif argv[1] == "start":
                self.units[name][1] = "active"
            else:
                assert list(argv[1:3]) == ["disable", "--now"]
                self.units[name] = ["disabled", "inactive"]

    def run(self, *protocols: str, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
        """Run in check mode first, which must return the same and change nothing."""
        self.params = {**DEFAULTS, "protocols": list(protocols), **params}
        self.check_mode = True
        before = (len(self.calls), self.text(LIST), self.text(RECORD), self.text(CONF))
        foreseen = converge(self, self, RELEASE, root=str(self.root))
        assert before == (len(self.calls), self.text(LIST), self.text(RECORD), self.text(CONF))
        if check:
            return foreseen
        self.check_mode = False
        result = converge(self, self, RELEASE, root=str(self.root))
        assert (foreseen["changes"], foreseen["diff"]) == (result["changes"], result["diff"])
        return result


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_nothing_declared_and_nothing_on_is_nothing_to_do(node: Node) -> None:
    assert node.run()["changed"] is False
    assert not node.text(RECORD)


def test_on_and_on_again_and_off(node: Node) -> None:
    node.install("ibacm", "srp")
    first = node.run("srp", "ibacm")
    assert first["changes"] == [
        "create file /etc/modules-load.d/rdma-ofed-ulps.conf",
        "upper-layer protocol ibacm: off -> on",
        "upper-layer protocol srp: off -> on",
    ]
    assert node.calls == [
        "modprobe -a ib_srp",
        "systemctl enable ibacm.socket ibacm.service srp_daemon.service",
        "systemctl start ibacm.socket srp_daemon.service",
    ]
    assert node.text(LIST).endswith("\nib_srp\n")
    assert first["protocols"][1] == {"name": "srp", "modules": {"ib_srp": True}, "services": {"srp_daemon.service": True}}
    assert node.run("srp", "ibacm")["changed"] is False
    assert node.run("ibacm")["changes"] == ["upper-layer protocol srp: on -> off", "remove file /etc/modules-load.d/rdma-ofed-ulps.conf"]
    assert node.units["srp_daemon.service"] == ["disabled", "inactive"]
    assert "ib_srp" in node.text("proc/modules"), "loaded modules stay"
    assert node.units["ibacm.socket"] == ["enabled", "active"]
    assert node.run()["changes"] == ["upper-layer protocol ibacm: on -> off"]
    assert not (node.root / RECORD).exists()
    assert not (node.root / LIST).exists()


def test_packages_to_come_are_trusted_in_check_mode_only(node: Node) -> None:
    assert node.run("srp", check=True)["changed"]
    with pytest.raises(InvalidInput, match=r"no unit srp_daemon\.service; it is in the package srptools"):
        node.run("srp")
    assert not node.text(RECORD)


def test_what_packages_enabled_by_themselves_is_the_same_change(node: Node) -> None:
    node.install("srp", state="enabled", active="active")
    assert node.run("srp")["changes"][-1] == "upper-layer protocol srp: off -> on"
    assert node.calls == ["modprobe -a ib_srp"]
    assert node.run()["changed"]
    assert node.units["srp_daemon.service"] == ["disabled", "inactive"], "it is of use for nothing else"


def test_a_shared_service_stays_as_it_was(node: Node) -> None:
    node.install("iser", state="enabled", active="active")
    node.run("iser")
    node.run()
    assert node.units["iscsid.socket"] == ["enabled", "active"]


def test_drift_is_mended_and_named(node: Node) -> None:
    node.install("srp")
    node.run("srp")
    node.install("srp")
    node.write("proc/modules", "")
    assert node.run("srp")["changes"] == [
        "module ib_srp: not loaded -> loaded",
        "service srp_daemon.service enabled: disabled -> enabled",
        "service srp_daemon.service: inactive -> active",
    ]


def test_openib_conf_is_edited_and_set_back(node: Node) -> None:
    node.install("srp")
    node.write(CONF, "ONBOOT=yes\nSRP_LOAD=no\n")
    node.run("srp", source="mlnx_ofed")
    assert node.text(CONF) == "ONBOOT=yes\nSRP_LOAD=yes\n"
    assert node.run("srp", source="mlnx_ofed")["changed"] is False
    node.run(source="mlnx_ofed")
    assert node.text(CONF) == "ONBOOT=yes\nSRP_LOAD=no\n"


def test_while_the_driver_waits_nothing_is_started(node: Node) -> None:
    node.install("srp")
    result = node.run("srp", source="doca", renewed=True, start=False)
    assert node.calls == ["systemctl enable srp_daemon.service"]
    assert pending_words(result) == ["module ib_srp: not loaded -> loaded (needs driver_reload)"]
    assert node.run("srp", source="doca", start=False)["changed"] is False
    assert node.run("srp", source="doca")["changes"] == [
        "module ib_srp: not loaded -> loaded",
        "service srp_daemon.service: inactive -> active",
    ]


def test_after_another_stack_all_is_turned_on_anew(node: Node) -> None:
    node.install("srp")
    node.run("srp")
    node.install("srp")
    assert node.run("srp", source="doca", renewed=True)["changes"] == ["upper-layer protocol srp: on, with inbox -> on, with doca"]
    assert node.units["srp_daemon.service"] == ["enabled", "active"]
    assert json.loads(node.text(RECORD))["source"] == "doca"


def test_a_service_that_does_not_start_is_tried_again(node: Node) -> None:
    node.install("srp")
    node.fails = "srp_daemon.service"
    with pytest.raises(CommandFailed, match=r"Job for srp_daemon\.service failed"):
        node.run("srp")
    node.fails = ""
    assert node.run("srp")["changes"] == ["service srp_daemon.service enabled: disabled -> enabled", "service srp_daemon.service: inactive -> active"]
    assert node.run()["changed"]


@pytest.mark.parametrize(
    ("protocol", "prepare", "words"),
    [
        (
            "nvmf",
            lambda node: None,
            r"ofed_ulps is 'nvmf'; allowed: a protocol whose module is a module of kernel \S+ \(nvme_rdma is its module; it may be in another package",
        ),
        ("srp", lambda node: node.write("etc/modprobe.d/cis.conf", "install ib_srp /bin/true\n"), r"/etc/modprobe\.d/cis\.conf line 1 says"),
        ("sdp", lambda node: None, "has SDP any longer"),
        ("srp", lambda node: (node.root / "run/systemd/system").rmdir(), "without systemd"),
    ],
)
def test_what_the_node_can_not_have_is_told_before_anything_is_changed(node: Node, protocol: str, prepare: t.Callable[[Node], t.Any], words: str) -> None:
    node.install("srp")
    prepare(node)
    with pytest.raises(InvalidInput, match=words):
        node.run(protocol)
    assert node.calls == []


def test_a_masked_unit_is_somebodys_decision(node: Node) -> None:
    node.install("srp", state="masked")
    with pytest.raises(InvalidInput, match=r"srp_daemon\.service is masked: systemctl unmask it"):
        node.run("srp")
    assert node.calls == []


def test_nothing_can_be_turned_off_without_systemd(node: Node) -> None:
    node.install("srp")
    node.run("srp")
    (node.root / "run/systemd/system").rmdir()
    with pytest.raises(Unsupported, match="srp can't be turned off"):
        node.run()
