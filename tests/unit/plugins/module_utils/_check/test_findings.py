# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wanted against found: every deviation is reported, and nothing else."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._accepted import Accepted
from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._expect import checked_ports, fabric_port, findings
from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._types import Card, Live, Manager, Master, Opensm, Process
from ansible_collections.rdma.ofed.plugins.module_utils._check._managers import is_designated, short
from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import judge, table_rows
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Fabric
from ansible_collections.rdma.ofed.plugins.module_utils._check._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie import PcieLink, Slot
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie_registers import Registers
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._facts._railrule import Rail
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code, Finding, Severity, Topic
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links._look import Limits
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found as Ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Presence
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _plan as kmod
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH, NAMING_PATH, OPTIONS_PATH, Naming, load_text, naming_text, options_text
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Device
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import SERVICES_PATH, SESSIONS_PATH, Daemon, Limit, Line, services_text, sessions_text
from ansible_collections.rdma.ofed.plugins.module_utils._performance._found import Adapter
from ansible_collections.rdma.ofed.plugins.module_utils._performance._found import Found as Performance
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from hypothesis import given
from hypothesis import strategies as st
from support.expected import having, limited, wanting

OWN = "0x0c42a10300000021"
MASTERS = "0x0c42a10300000011"
PORT = Port(
    name="mlx5_0/1",
    device="mlx5_0",
    port=1,
    port_guid=OWN,
    link_layer="InfiniBand",
    state="ACTIVE",
    phys_state="LinkUp",
    rate="100 Gb/sec (4X EDR)",
    lid=2,
    sm_lid=1,
)
IB0 = Netdev(name="ib0", kind="ipoib", port="mlx5_0/1", port_guid=OWN, pkey="0xffff", mode="datagram", mtu=2044, up=True, addresses=("10.20.0.2/24",))
BACKEND = "systemd-networkd"
DECLARED_MODULES = kmod.Wanted(load=frozenset(("ib_umad", "ib_ipoib")))
MODULES = Modules(loaded={"ib_umad": False, "ib_ipoib": False}, files={LOAD_PATH: load_text(["ib_ipoib", "ib_umad"])})

ADDRESSES = ["10.20.0.2/24"]
IPOIB = " (run rdma.ofed.site --tags ipoib)"
IB0_DECLARED = {"name": "ib0", "addresses": ADDRESSES, "mode": "datagram", "mtu": 2044}


def declaring(*items: t.Mapping[str, t.Any]) -> Options:
    return Options(list(items), BACKEND, rollback_timeout=30)


def seen(found: Found, **live: t.Any) -> Found:
    """Return the node with this view of its fabric."""
    own = {name: live.pop(name) for name in Manager._fields if name in live}
    managers = (found.live.managers or (Manager(),)) if own else found.live.managers
    return found._replace(live=found.live._replace(managers=tuple(manager._replace(**own) for manager in managers), **live))


def managing(wanted: Wanted, **fabric: t.Any) -> Wanted:
    """Return a wanted state with this declaration of its fabric."""
    return wanted._replace(fabrics=(wanted.fabrics[0]._replace(**fabric),))


def with_interfaces(found: Found, *netdevs: Netdev, options: Options | None = None) -> Found:
    """Return the node with these interfaces, and the files that the role writes for `options`; none if the role refuses them."""
    state = Ipoib(
        {netdev.name: netdev for netdev in netdevs},
        backends={BACKEND: Presence()},
        ports=found.live.ports,
        loaded=True,
    )
    try:
        changes = _plan.plan(wanted_of(options or declaring(IB0_DECLARED), state), state).plan.changes
    except RdmaError:
        changes = ()
    files = {change.subject: change.after for change in changes if change.kind == Kind.FILE}
    return having(seen(found, netdevs=netdevs), ipoib=state._replace(files=files))


WANTED = wanting(
    Wanted(ports=("mlx5_0/1",), fabrics=(Fabric(designated_host="node1"),)),
    ipoib=declaring(IB0_DECLARED),
    kernel_modules=DECLARED_MODULES,
)
GOOD = with_interfaces(
    having(Found(Live(ports=(PORT,), managers=(Manager(master=Master(MASTERS, 3, "node1 mlx5_0")),))), kernel_modules=MODULES),
    IB0,
)
SM_WANTED = managing(WANTED, designated=True, designated_host="node2")
SM_GOOD = seen(GOOD, master=Master(OWN, 3), masters=(OWN,), opensm=Opensm((Process(42),), ("opensm.service",)))


def port_of(wanted: Wanted, found: Found) -> Port | None:
    """Return the port through which the only fabric is queried."""
    return fabric_port(wanted, found, wanted.fabrics[0])


def words(wanted: Wanted, found: Found) -> list[str]:
    return _words.lines(findings(wanted, found))


def test_nothing_deviates_on_a_good_node() -> None:
    assert findings(WANTED, GOOD) == []
    assert findings(SM_WANTED, SM_GOOD) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            seen(GOOD, ports=(PORT._replace(state="DOWN", phys_state="Polling"),)),
            "port mlx5_0/1: wanted ACTIVE and LinkUp, found DOWN and Polling "
            "(look at the cable and the switch port: 'iblinkinfo' on another node shows its side)",
            id="link down",
        ),
        pytest.param(
            seen(GOOD, ports=(PORT._replace(state="INIT"),)),
            "port mlx5_0/1: wanted ACTIVE and LinkUp, found INIT and LinkUp "
            "(no subnet manager has configured the port yet: see 'sminfo', and opensm on the designated host)",
            id="no subnet manager",
        ),
        pytest.param(
            seen(GOOD, ports=(PORT._replace(name="mlx5_1/1"),)),
            "port mlx5_0/1: wanted ACTIVE and LinkUp, found no such port (ports of this node: mlx5_1/1 (port GUID 0x0c42a10300000021); "
            "correct rdma_ports, or see 'lspci -d 15b3:' for the card)",
            id="another port",
        ),
        pytest.param(
            seen(GOOD, ports=(PORT._replace(link_layer="Ethernet"),)),
            "port mlx5_0/1 link layer: wanted InfiniBand, found Ethernet (see mlxconfig for LINK_TYPE)",
            id="RoCE",
        ),
        pytest.param(
            seen(GOOD, ports=(PORT._replace(sm_lid=0),)),
            "port mlx5_0/1 SM LID: wanted the LID of the subnet manager, found 0 "
            "(no subnet manager has registered with the port: see opensm on the designated host)",
            id="no SM LID",
        ),
        pytest.param(
            seen(GOOD, master=None, master_error="no subnet manager answers on port mlx5_0/1"),
            "subnet manager of fabric ib: wanted one master on node1, found none (no subnet manager answers on port mlx5_0/1)",
            id="no master",
        ),
        pytest.param(
            seen(GOOD, master=Master(MASTERS, 2, "node1 mlx5_0")),
            "subnet manager of fabric ib: wanted one master on node1, found node1 mlx5_0 (%s) in state STANDBY "
            "(it is taking over, or has lost the master: check again, then see journalctl -u 'rdma-opensm@*' on its host)" % MASTERS,
            id="standby only",
        ),
        pytest.param(
            seen(GOOD, opensm=Opensm((Process(77),), ())),
            "opensm: wanted stopped, found running (77) (the designated host is node1: rdma.ofed.site stops it here)",
            id="opensm runs",
        ),
        pytest.param(
            seen(GOOD, opensm=Opensm((), ("opensm.service",))),
            "opensm at boot: wanted disabled, found enabled (opensm.service) (the designated host is node1: rdma.ofed.site stops it here)",
            id="opensm enabled",
        ),
        pytest.param(
            with_interfaces(GOOD),
            "interface ib0: wanted present, found absent (no interface of this node has that name: see 'ip -br link', or run rdma.ofed.site --tags ipoib)",
            id="no interface",
        ),
        pytest.param(with_interfaces(GOOD, IB0._replace(up=False)), "interface ib0: wanted up, found down" + IPOIB, id="interface down"),
        pytest.param(with_interfaces(GOOD, IB0._replace(mode="connected")), "interface ib0 mode: wanted datagram, found connected" + IPOIB, id="mode"),
        pytest.param(with_interfaces(GOOD, IB0._replace(mtu=1500)), "interface ib0 mtu: wanted 2044, found 1500" + IPOIB, id="mtu"),
        pytest.param(
            with_interfaces(GOOD, IB0._replace(addresses=("10.20.0.3/24",))),
            "interface ib0 addresses: wanted 10.20.0.2/24, found 10.20.0.3/24" + IPOIB,
            id="another address",
        ),
        pytest.param(
            with_interfaces(GOOD, IB0._replace(addresses=("10.20.0.2/16",))),
            "interface ib0 addresses: wanted 10.20.0.2/24, found 10.20.0.2/16" + IPOIB,
            id="another prefix",
        ),
        pytest.param(
            having(GOOD, kernel_modules=MODULES._replace(loaded={"ib_umad": False})),
            "kernel module ib_ipoib: wanted loaded, found not loaded (run rdma.ofed.site)",
            id="module not loaded",
        ),
        pytest.param(
            having(GOOD, kernel_modules=MODULES._replace(files={LOAD_PATH: load_text(["ib_umad"])})),
            "file %s: wanted as declared, found other content (run rdma.ofed.site)" % LOAD_PATH,
            id="module not persisted",
        ),
    ],
)
def test_each_deviation_is_named_once(found: Found, expected: str) -> None:
    assert words(WANTED, found) == [expected]


def test_a_foreign_master_is_named() -> None:
    (line,) = words(managing(WANTED, designated_guids=(MASTERS,)), seen(GOOD, master=Master("0x0000000000100001", 3, "ufm mlx5_0")))
    assert line.startswith("subnet manager of fabric ib: wanted one master on node1, found the master is ufm mlx5_0 (0x0000000000100001)")


def test_two_masters_are_named_on_the_designated_host() -> None:
    assert words(SM_WANTED, seen(SM_GOOD, masters=(MASTERS, OWN))) == [
        "subnet manager of fabric ib: wanted one master on node2, found 2 masters: %s, %s "
        "('saquery SMIR' lists them: stop those that are not on the designated host)" % (MASTERS, OWN)
    ]


def test_the_designated_host_runs_and_enables_opensm() -> None:
    assert words(SM_WANTED, seen(SM_GOOD, opensm=Opensm((Process(42),), ()))) == [
        "opensm at boot: wanted enabled, found disabled (this is the designated host: run rdma.ofed.site for it)"
    ]


def test_a_master_elsewhere_is_wrong_on_the_designated_host() -> None:
    assert any("the master is" in line for line in words(SM_WANTED, seen(SM_GOOD, master=Master(MASTERS, 3))))


def test_subnet_managers_are_left_alone_on_request() -> None:
    wanted = WANTED._replace(subnet_manager=False)
    assert findings(wanted, seen(GOOD, master=None, opensm=Opensm((Process(1),), ("opensm.service",)))) == []


def test_an_mtu_that_the_broadcast_group_clamps_comes_with_the_remedy() -> None:
    options = declaring({**IB0_DECLARED, "mtu": 4092})
    for written in (options, None):
        # Whether an earlier run has set it or only declared it.
        joined = with_interfaces(GOOD, IB0._replace(carrier=True), options=written)
        (deviation,) = (each for each in findings(wanting(WANTED, ipoib=options), joined) if each.kind == Kind.INTERFACE)
        (line,) = _words.lines([deviation])
        assert line.startswith("interface ib0 mtu: wanted 4092, found 2044") and "mtu: 4096 in opensm_partitions" in line
        assert deviation.code == Code.MTU_CLAMPED and deviation.lasting
    (deviation,) = findings(wanting(WANTED, ipoib=options), with_interfaces(GOOD, IB0, options=options))
    assert not deviation.lasting, "without a carrier nothing is known of the group yet"


def test_an_interface_without_an_address_from_dhcp() -> None:
    options = declaring({"name": "ib0", "addresses": ADDRESSES, "dhcp": True})
    wanted = wanting(WANTED, ipoib=options)
    (finding,) = findings(wanted, with_interfaces(GOOD, IB0, options=options))
    assert (finding.code, finding.subject, finding.lasting) == (Code.NO_LEASE, "ib0", False)
    (line,) = words(wanted, with_interfaces(GOOD, IB0, options=options))
    assert line.startswith("interface ib0 dhcp: wanted an address, found none (no DHCP server answers on this network")
    # Which one it is, and whether its lease ends, is up to the server.
    for lent in ({"dynamic_addresses": ("10.99.0.7/24",)}, {"addresses": (*IB0.addresses, "10.99.0.7/24")}):
        assert findings(wanted, with_interfaces(GOOD, IB0._replace(**lent), options=options)) == []
    assert findings(wanted, with_interfaces(GOOD, IB0._replace(dynamic_addresses=("fe80::1/64",)), options=options)) == [finding]


def test_an_open_mode_is_the_choice_of_the_planner_and_an_open_mtu_that_of_the_kernel() -> None:
    options = declaring({"name": "ib0", "addresses": ADDRESSES})
    wanted = wanting(WANTED, ipoib=options)
    assert findings(wanted, with_interfaces(GOOD, IB0._replace(mtu=4092), options=options)) == []
    connected = with_interfaces(GOOD, IB0._replace(mode="connected", mtu=65520), options=options)
    assert "interface ib0 mode: wanted datagram, found connected" + IPOIB in words(wanted, connected)


def test_a_child_is_compared_by_partition() -> None:
    options = declaring(IB0_DECLARED, {"parent": "ib0", "pkey": 0x8001})
    wanted = wanting(WANTED, ipoib=options)
    child = Netdev(name="ib0.8001", kind="ipoib_child", port="mlx5_0/1", parent="ib0", pkey="0x8001", mode="datagram", mtu=2044, up=True, carrier=True)
    assert findings(wanted, with_interfaces(GOOD, IB0, child, options=options)) == []
    (line,) = words(wanted, with_interfaces(GOOD, IB0, child._replace(carrier=False), options=options))
    assert line.startswith("interface ib0.8001 carrier: wanted present, found none (the port has no P_Key 0x8001") and "--tags opensm" in line
    other = with_interfaces(GOOD, IB0, child._replace(pkey="0x8002"), options=options)
    assert words(wanted, other) == ["interface ib0.8001 pkey: wanted 0x8001, found 0x8002" + IPOIB]


def test_an_absent_interface_comes_with_its_cause() -> None:
    options = declaring(IB0_DECLARED, {"parent": "ib0", "pkey": 0x8001})
    wanted = wanting(WANTED, ipoib=options)
    alone = with_interfaces(GOOD, IB0, options=options)
    (line,) = [line for line in words(wanted, alone) if "ib0.8001" in line]
    assert line == "interface ib0.8001: wanted present, found absent (nothing has created this P_Key child: run rdma.ofed.site --tags ipoib)"
    none = with_interfaces(GOOD, options=options)
    assert "(its parent is absent, too)" in "".join(line for line in words(wanted, none) if "ib0.8001" in line)
    unloaded = having(none, ipoib=none.concerns["ipoib"]._replace(loaded=False))
    assert any("(ib_ipoib is not loaded: run rdma.ofed.site --tags kernel_modules,ipoib)" in line for line in words(wanted, unloaded))


def test_an_opensm_that_was_stopped_comes_before_what_it_explains() -> None:
    silent = seen(SM_GOOD, master=None, master_error="no subnet manager answers", masters=None, ports=(PORT._replace(state="INIT"),))
    stopped = seen(silent, opensm=Opensm((), ("rdma-opensm@ib.service",)), stopped=True)
    found = findings(SM_WANTED, stopped)
    assert [finding.code for finding in found] == [Code.OPENSM_STOPPED, Code.NO_MASTER, Code.PORT_NOT_CONFIGURED]
    assert _words.lines(found)[0].endswith("(it was stopped, and did not fail: 'systemctl start rdma-opensm@ib', or run rdma.ofed.site)")
    failed = seen(silent, opensm=Opensm((), ("rdma-opensm@ib.service",)), stopped=False)
    assert findings(SM_WANTED, failed)[0].code == Code.OPENSM_ENDED


def test_a_designated_host_outside_of_the_run_is_named() -> None:
    silent = seen(GOOD, master=None, master_error="no subnet manager answers")
    (line,) = words(managing(WANTED, designated_absent=True), silent)
    assert "the designated host node1 is not among the hosts of this run: run rdma.ofed.site for it, too" in line
    assert "not among the hosts" not in words(WANTED, silent)[0]


def test_a_slow_fabric_makes_no_stranger_of_the_master() -> None:
    slow = seen(GOOD, master=Master(MASTERS, 3, "", answers=False))
    (finding,) = findings(WANTED, slow)
    assert finding.code == Code.UNNAMED_MASTER and "the fabric is slow" in _words.lines([finding])[0]
    # The name does not matter if the port GUID is known.
    assert findings(managing(WANTED, designated_guids=(MASTERS,)), slow) == []


SECOND = PORT._replace(name="mlx5_1/1", device="mlx5_1", port_guid="0x0c42a10300000022")
TWO = WANTED._replace(
    ports=("mlx5_0/1", "mlx5_1/1"),
    fabrics=(Fabric("ib", ("mlx5_0/1",), designated_host="node1"), Fabric("storage", ("mlx5_1/1",), designated_host="node3")),
)
TWO_GOOD = GOOD._replace(
    live=GOOD.live._replace(
        ports=(PORT, SECOND),
        managers=(Manager("ib", master=Master(MASTERS, 3, "node1 mlx5_0")), Manager("storage", master=Master("0x0c42a10300000031", 3, "node3 mlx5_0"))),
    )
)


def test_each_fabric_of_a_node_is_judged_by_its_own_master() -> None:
    assert findings(TWO, TWO_GOOD) == []
    assert [(row["port"], row["fabric"], row["sm"]) for row in table_rows(TWO, TWO_GOOD, [])] == [
        ("mlx5_0/1", "ib", "node1"),
        ("mlx5_1/1", "storage", "node3"),
    ]
    one, two = TWO_GOOD.live.managers
    for managers, fabric in (((one._replace(master=None), two), "ib"), ((one, two._replace(master=None)), "storage")):
        found = TWO_GOOD._replace(live=TWO_GOOD.live._replace(managers=managers))
        assert [(finding.code, finding.subject) for finding in findings(TWO, found)] == [(Code.NO_MASTER, fabric)]


def test_a_master_of_another_fabric_of_the_host_is_none_of_this_one() -> None:
    """The two fabrics are connected by a cable: the master of one answers on the other."""
    one, _two = TWO_GOOD.live.managers
    here = TWO._replace(fabrics=tuple(fabric._replace(designated=True, designated_host="node2") for fabric in TWO.fabrics))
    managers = (one._replace(master=Master(OWN, 3)), Manager("storage", master=Master(OWN, 3)))
    found = TWO_GOOD._replace(live=TWO_GOOD.live._replace(managers=managers, opensm=SM_GOOD.live.opensm))
    assert [(finding.code, finding.subject) for finding in findings(here, found) if finding.kind == Topic.SUBNET_MANAGER] == [(Code.OTHER_MASTER, "storage")]


def test_a_standby_goes_by_its_other_names_too() -> None:
    over = seen(GOOD, master=Master(MASTERS, 3, "node3-ib mlx5_0"))
    assert [finding.code for finding in findings(managing(WANTED, standbys={"sm2": ("node3-ib",)}), over)] == [Code.FAILED_OVER]


def test_an_opensm_of_each_fabric_is_told_apart() -> None:
    def said(*processes: Process, enabled: tuple[str, ...] = ()) -> list[str]:
        wanted = TWO._replace(fabrics=(TWO.fabrics[0], TWO.fabrics[1]._replace(standby=True)))
        return words(wanted, TWO_GOOD._replace(live=TWO_GOOD.live._replace(opensm=Opensm(processes, enabled))))

    unit = "rdma-opensm@storage.service"
    assert said(Process(42, "storage"), enabled=(unit,)) == []
    (line,) = said(Process(42, "storage"), Process(43, "ib"), enabled=(unit,))
    assert line.startswith("opensm of fabric ib: wanted stopped, found running (43)")
    (line,) = said(Process(42, "storage"), Process(44), enabled=(unit, "opensm.service"))
    assert line.startswith("opensm: wanted stopped, found running (44); at boot: wanted disabled, found enabled (opensm.service)")
    assert line.endswith(" (rdma.ofed.site stops it here)")
    # A subnet manager started by hand belongs to the fabric of its port.
    assert said(Process(42, "", (SECOND.port_guid,)), enabled=(unit,)) == []
    (line,) = said(Process(42, "storage"), Process(44, "", (OWN,)), enabled=(unit,))
    assert line.startswith("opensm of fabric ib: wanted stopped, found running (44)")
    lines = said()
    assert len(lines) == 1 and lines[0].startswith("opensm of fabric storage: wanted running, found stopped; at boot: wanted enabled")


@pytest.mark.parametrize("standbys", [{"node3": ()}, {"node3": (MASTERS,)}])
def test_a_master_on_a_declared_standby_is_a_fail_over(standbys: dict[str, tuple[str, ...]]) -> None:
    over = seen(GOOD, master=Master(MASTERS, 3, "node3 mlx5_0"))
    wanted = managing(WANTED, standbys=standbys)
    (finding,) = findings(wanted, over)
    assert (finding.code, finding.severity) == (Code.FAILED_OVER, Severity.WARNING)
    assert judge(wanted, over).result()["ok"] and judge(wanted, over).result()["deviation_lines"] == []
    assert [row["result"] for row in judge(wanted, over).result()["rows"]] == ["NOTED"]
    # The designated host reports the same, and so does the standby itself.
    for own in (managing(wanted, designated=True, designated_host="node2"), managing(WANTED._replace(host="node3"), standby=True)):
        found = over if own.fabrics[0].designated else seen(over, master=Master(OWN, 3, "node3 mlx5_0"))
        assert Code.FAILED_OVER in [finding.code for finding in findings(own, found)]
    other = managing(WANTED, designated_guids=("0x0002c90300009999",))
    assert [finding.code for finding in findings(other, over)] == [Code.OTHER_MASTER]


def test_a_host_without_infiniband_of_which_none_is_declared_is_not_red() -> None:
    roce = Found(Live(ports=(PORT._replace(link_layer="Ethernet"),), managers=(Manager(unable="this node has no InfiniBand port"),)))
    (finding,) = findings(managing(Wanted(), designated_host="node1"), roce)
    assert (finding.code, finding.severity) == (Code.NO_INFINIBAND, Severity.WARNING)
    assert "node_check_subnet_manager: false" in _words.lines([finding])[0]
    for declared in (WANTED, managing(Wanted(), ports=("mlx5_0/1",)), managing(Wanted(), standby=True)):
        assert Code.NO_INFINIBAND not in [finding.code for finding in findings(declared, roce)]
    assert [finding.code for finding in findings(Wanted(), Found(Live(managers=(Manager(unable="no port"),))))] == [Code.MASTER_UNKNOWN]


@pytest.mark.parametrize("live", [{"unable": "sminfo failed"}, {"master_error": "none answers"}, {"master": Master(MASTERS, 3, "", answers=False)}])
def test_a_virtual_function_need_not_ask(live: dict[str, t.Any]) -> None:
    guest = seen(GOOD, **{"master": None, **live}, virtual=("mlx5_0",))
    (finding,) = findings(WANTED, guest)
    assert (finding.code, finding.severity) == (Code.NO_MANAGEMENT, Severity.WARNING)
    assert "node_check_subnet_manager: false" in _words.lines([finding])[0]
    # Without an SM LID, the port has not seen a subnet manager.
    silent = seen(guest, ports=(PORT._replace(sm_lid=0),))
    assert Code.NO_MANAGEMENT not in [finding.code for finding in findings(WANTED, silent)]


def test_what_is_accepted_is_no_deviation() -> None:
    down = seen(GOOD, ports=(PORT._replace(state="DOWN", phys_state="Polling", pci="0000:03:00.0"),))
    for port in ("mlx5_0/1", "0000:03:00.0/1", OWN.upper().replace("X", "x")):
        wanted = WANTED._replace(
            host="node2.cluster", today="2026-12-31", accepted=(Accepted("link_down", "node*", port, until="2026-12-31", reason="ordered"),)
        )
        result = judge(wanted, down).result()
        assert (result["ok"], result["deviation_lines"]) == (True, [])
        assert result["deviations"][0]["accepted"] == {"until": "2026-12-31", "reason": "ordered", "expired": False}
        expired = judge(wanted._replace(today="2027-01-01"), down).result()
        assert not expired["ok"] and expired["deviation_lines"][0].endswith("[was accepted until 2026-12-31: ordered]")
    other = WANTED._replace(host="node2", accepted=(Accepted("link_down", "node2", "mlx5_1/1"), Accepted("no_port", "node2"), Accepted("link_down", "node3")))
    assert not judge(other, down).result()["ok"]


def test_an_option_that_waits_for_a_reload_is_pending() -> None:
    declared = DECLARED_MODULES._replace(options={"ib_ipoib": {"send_queue_size": "512"}})
    files = {**MODULES.files, OPTIONS_PATH: options_text(declared.options)}

    def deviations(live: str) -> list[dict[str, t.Any]]:
        modules = MODULES._replace(files=files, live={"ib_ipoib": {"send_queue_size": live}})
        found: list[dict[str, t.Any]] = judge(wanting(WANTED, kernel_modules=declared), having(GOOD, kernel_modules=modules)).result()["deviations"]
        return [each for each in found if each["code"] == "pending"]

    (pending,) = deviations("128")
    words_of_it = (pending["severity"], pending["object"], pending["expected"], pending["found"])
    assert words_of_it == ("warning", "module option ib_ipoib send_queue_size", "512", "128 in effect")
    assert pending["next_step"].startswith("run rdma.ofed.reboot with rdma_allow_reload")
    assert deviations("512") == []


def test_every_deviation_of_a_node_has_a_next_step() -> None:
    for code in _words.FORMS:
        for kind in (Kind.INTERFACE, Kind.MODULE, Kind.FILE, Kind.UNIT, Kind.RDMA_DEVICE):
            detail = "port" if code == Code.NO_INTERFACE else "detail"
            assert _words.result(Finding(code, kind, "x", "", "a", "b", detail))["next_step"], (code, kind)


def test_an_absent_child_must_not_be_there_and_an_absent_parent_may() -> None:
    gone = declaring({"name": "ib0", "state": "absent"}, {"parent": "ib0", "pkey": 0x8001, "state": "absent"})
    wanted = wanting(WANTED, ipoib=gone)
    child = IB0._replace(name="ib0.8001", kind="ipoib_child", parent="ib0", pkey="0x8001")
    assert findings(wanted, with_interfaces(GOOD, IB0, options=gone)) == []
    assert words(wanted, with_interfaces(GOOD, IB0, child, options=gone)) == ["interface ib0.8001: wanted absent, found present" + IPOIB]
    ours = with_interfaces(GOOD, IB0, child, options=declaring(IB0_DECLARED, {"parent": "ib0", "pkey": 0x8001}))
    assert "interface ib0.8001: wanted none, found P_Key child 0x8001 of ib0" + IPOIB in words(wanted, ours)


def test_addresses_compare_by_value() -> None:
    options = declaring({"name": "ib0", "addresses": ["fd00::1/64"]})
    found = with_interfaces(GOOD, IB0._replace(addresses=("fd00:0:0::1/64",)), options=options)
    assert findings(wanting(WANTED, ipoib=options), found) == []


def test_files_of_the_role_are_as_it_would_write_them() -> None:
    path = "/etc/systemd/network/50-rdma-ib0.network"
    lost = having(GOOD, ipoib=GOOD.concerns["ipoib"]._replace(files={}))
    assert words(WANTED, lost) == ["file %s: wanted as declared, found none (run rdma.ofed.site)" % path]
    files = GOOD.concerns["ipoib"].files
    edited = having(GOOD, ipoib=GOOD.concerns["ipoib"]._replace(files={**files, path: files[path] + "# by hand"}))
    assert words(WANTED, edited) == ["file %s: wanted as declared, found other content (run rdma.ofed.site)" % path]


def test_a_part_of_the_declared_modules_can_be_checked() -> None:
    """The role's file lists more modules than are checked."""
    only = wanting(WANTED, kernel_modules=kmod.Wanted(load=frozenset(("ib_umad",))))
    assert words(only, GOOD) == []
    assert words(only, having(GOOD, kernel_modules=MODULES._replace(loaded={"ib_umad": False}))) == []
    assert words(only, having(GOOD, kernel_modules=MODULES._replace(loaded={"ib_ipoib": False}))) != []


def test_options_that_only_the_role_was_given_are_no_finding() -> None:
    options = {"ib_ipoib": {"send_queue_size": "256"}}
    node = having(GOOD, kernel_modules=MODULES._replace(files={**MODULES.files, OPTIONS_PATH: options_text(options)}))
    assert words(WANTED, node) == []
    other = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(options={"ib_ipoib": {"send_queue_size": "512"}}))
    assert words(other, node) == ["file /etc/modprobe.d/rdma-ofed.conf: wanted as declared, found other content (run rdma.ofed.site)"]


def test_limits_of_locked_memory_that_are_lower_than_declared() -> None:
    wanted = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(memlock="unlimited"))
    files = {**MODULES.files, SESSIONS_PATH: sessions_text([Limit("memlock", "unlimited")]), SERVICES_PATH: services_text([Limit("memlock", "unlimited")])}
    able = MODULES._replace(may_raise=True, files=files)
    node = having(limited(GOOD, limits={"memlock": {"session": "unlimited", "service": "8192"}}), kernel_modules=able)
    (line,) = words(wanted, node)
    assert line.startswith("locked memory of a service: wanted unlimited, found 8192 (run rdma.ofed.site;")
    assert [finding.lasting for finding in findings(wanted, node)] == [True]
    assert words(wanted, limited(node, limits={"memlock": {"service": "unlimited"}})) == []
    # If limits may not be raised or must stay, nothing is wrong.
    assert words(WANTED, limited(GOOD, limits=node.concerns["kernel_modules"].limits)) == []
    assert words(wanted, limited(GOOD, limits=node.concerns["kernel_modules"].limits)) == []
    foreign = able._replace(files={**files, SERVICES_PATH: ""}, service_limits=(Line("/etc/systemd/system.conf", 4, "8192"),))
    (line,) = words(wanted, having(node, kernel_modules=foreign))
    assert "/etc/systemd/system.conf line 4 sets it: remove the line" in line
    # Without a setting of its engine, a container has the limit of what starts it.
    of_docker = able._replace(container_limits=(Line("/etc/docker/daemon.json", 3, "64"), Line("/etc/containers/containers.conf", 2, "unlimited")))
    (line,) = words(wanted, having(GOOD, kernel_modules=of_docker))
    assert line.startswith("locked memory of a container: wanted unlimited, found 64 (/etc/docker/daemon.json line 3 sets it")
    assert words(wanted, having(GOOD, kernel_modules=of_docker._replace(may_raise=False, files=MODULES.files))) == []


def test_limits_of_open_files_that_are_lower_than_declared() -> None:
    wanted = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(nofile="65536"))
    declared = [Limit("nofile", "65536", "524288")]
    files = {**MODULES.files, SESSIONS_PATH: sessions_text(declared), SERVICES_PATH: services_text(declared)}
    able = MODULES._replace(may_raise=True, files=files)
    node = having(limited(GOOD, limits={"nofile": {"session": "65536", "service": "1024"}, "memlock": {"service": "64"}}), kernel_modules=able)
    (line,) = words(wanted, node)
    assert line.startswith("open files of a service: wanted 65536, found 1024 (run rdma.ofed.site;")
    foreign = able._replace(files={**files, SERVICES_PATH: ""}, service_limits=(Line("/etc/systemd/system.conf", 4, "1024", resource="nofile"),))
    (line,) = words(wanted, having(node, kernel_modules=foreign))
    assert "/etc/systemd/system.conf line 4 sets it: remove the line, or declare kernel_modules_nofile: keep" in line
    daemons = (Daemon("slurmd", "slurmd.service", "8192"), Daemon("slurmd", "slurmd.service", "1024", resource="nofile"))
    (line,) = words(wanted, having(GOOD, kernel_modules=able._replace(daemons=daemons)))
    assert line.startswith("daemon slurmd open files: wanted 65536, found 1024 (it passes its limit on")


@pytest.mark.proves("modules")
def test_daemons_that_were_started_before_the_limit_was_raised() -> None:
    wanted = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(memlock="unlimited"))
    files = {**MODULES.files, SESSIONS_PATH: sessions_text([Limit("memlock", "unlimited")]), SERVICES_PATH: services_text([Limit("memlock", "unlimited")])}
    daemons = (Daemon("slurmd", "slurmd.service", "8192"), Daemon("dockerd", "docker.service", "unlimited"))
    able = MODULES._replace(may_raise=True, files=files, daemons=daemons)
    node = having(GOOD, kernel_modules=able)
    (line,) = words(wanted, node)
    assert line.startswith("daemon slurmd locked memory: wanted unlimited, found 8192 (it passes its limit on to what it starts: it was started before")
    assert "'systemctl restart slurmd.service'" in line
    assert [finding.severity for finding in findings(wanted, node)] == [Severity.WARNING], "the role restarts daemons of others only with consent"
    # What a service started now would lack is one finding.
    (line,) = words(wanted, limited(node, limits={"memlock": {"service": "8192"}}))
    assert line.startswith("locked memory of a service")
    # The service manager of a user gets the limit of sessions.
    manager = having(GOOD, kernel_modules=able._replace(daemons=(Daemon("systemd", "user@1000.service", "8192", "it has services"),)))
    (line,) = words(wanted, manager)
    assert "'systemctl restart user@1000.service' while nothing depends on it, because it has services" in line
    (line,) = words(wanted, limited(manager, limits={"memlock": {"session": "8192"}}))
    assert line.startswith("locked memory of a session")
    lower = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(memlock="8192"))
    assert Code.DAEMON_LIMIT not in [finding.code for finding in findings(lower, node)]
    # If limits may not be raised, nothing is wrong.
    assert words(wanted, having(node, kernel_modules=MODULES._replace(daemons=daemons))) == []


def test_a_part_of_the_declared_interfaces_can_be_checked() -> None:
    second = IB0._replace(name="ib1", port="mlx5_0/2", port_guid="0x0002c90300001099", addresses=("10.21.0.2/24",))
    whole = declaring(IB0_DECLARED, {**IB0_DECLARED, "name": "ib1", "addresses": ["10.21.0.2/24"]})
    node = with_interfaces(GOOD, IB0, second, options=whole)
    assert words(WANTED, node) == words(wanting(WANTED, ipoib=whole), node) == []


def test_what_the_planner_refuses_is_one_finding() -> None:
    (line,) = words(WANTED, with_interfaces(GOOD, IB0._replace(master="br0")))
    assert line.startswith("IPoIB: wanted as declared, found not possible (ib0 is a port of br0, which is not declared")


def rails(number: int, **first: t.Any) -> tuple[Port, ...]:
    """Return ports of that many cards; the first one differs."""
    ports = [PORT._replace(name="mlx5_%d/1" % card, device="mlx5_%d" % card, port_guid="0x%016x" % card, width="4X", speed="NDR") for card in range(number)]
    return (ports[0]._replace(**first), *ports[1:])


def test_without_declared_ports_all_of_physical_functions_are_checked() -> None:
    assert checked_ports(WANTED._replace(ports=()), GOOD) == ("mlx5_0/1",)
    assert checked_ports(wanting(Wanted(), ipoib=declaring({"parent": "ib0", "pkey": 0x8001})), GOOD) == ("mlx5_0/1",)
    mixed = Live(ports=(*rails(3), PORT._replace(name="roce/1", link_layer="Ethernet")), virtual=("mlx5_1",))
    assert checked_ports(Wanted(), Found(mixed)) == ("mlx5_0/1", "mlx5_2/1")
    assert checked_ports(Wanted(), Found(mixed._replace(virtual=("mlx5_0", "mlx5_1", "mlx5_2")))) == ("mlx5_0/1", "mlx5_1/1", "mlx5_2/1")
    # Below a declared interface, the port of a virtual function counts as well, and it comes first.
    assert checked_ports(WANTED._replace(ports=()), seen(GOOD, ports=rails(2), virtual=("mlx5_0",))) == ("mlx5_0/1", "mlx5_1/1")


def test_rails_that_are_down_are_found_without_a_declaration() -> None:
    found = Found(Live(ports=tuple(port._replace(state="DOWN", phys_state="Polling") if port.name in ("mlx5_3/1", "mlx5_6/1") else port for port in rails(8))))
    wanted = Wanted(subnet_manager=False)
    down = findings(wanted, found)
    assert [(finding.code, finding.subject) for finding in down] == [(Code.LINK_DOWN, "mlx5_3/1"), (Code.LINK_DOWN, "mlx5_6/1")]
    assert "declare the others in rdma_ports, or their number in node_check_port_count" in _words.lines(down)[0]
    assert [row["result"] for row in table_rows(wanted, found, down)].count("BAD") == 2
    assert "node_check_port_count" not in _words.lines(findings(wanted._replace(ports=("mlx5_3/1",)), found))[0]
    # Two that are meant to be unused, and one more that is not.
    assert findings(wanted._replace(port_count=6), found) == []
    (short_of,) = findings(wanted._replace(port_count=7, min_speed="NDR"), found)
    assert _words.lines([short_of]) == [
        "InfiniBand ports: wanted 7 ACTIVE and LinkUp at NDR or faster, found 6 (look at the cables and the switch ports of the others: mlx5_3/1, mlx5_6/1)"
    ]


@pytest.mark.parametrize(
    ("link", "declared", "good"),
    [
        ({"width": "1X"}, {}, False),
        ({"width": "2X"}, {}, True),
        ({"width": "2X", "speed": "EDR"}, {}, False),
        ({"width": "1X", "speed": "EDR"}, {"min_width": "1X"}, True),
        ({"width": "2X"}, {"min_width": "4X"}, False),
        ({"speed": "HDR"}, {"min_speed": "NDR"}, False),
        ({"speed": "XDR"}, {"min_speed": "NDR"}, True),
        ({"width": "1X", "speed": "SDR"}, {}, True),
        ({"width": "", "speed": ""}, {"min_speed": "NDR"}, True),
    ],
)
def test_speed_and_width_are_judged(link: dict[str, str], declared: dict[str, str], good: bool) -> None:
    wanted, found = wanting(Wanted(subnet_manager=False, **declared), cables=Limits()), Found(Live(ports=rails(2, **link)))
    codes = [finding.code for finding in findings(wanted, found)]
    assert codes == ([] if good else [Code.LINK_DEGRADED])
    assert [finding.code for finding in findings(wanted._replace(port_count=2), found)] == ([] if good else [Code.TOO_FEW_PORTS])
    # The adapter's tool reports the same in more detail.
    told = having(found, cables=(Finding(Code.LINK_DEGRADED, Topic.PORT, "mlx5_0/1", found="slow"),))
    assert [finding.found for finding in findings(wanted, told)] == ["slow"]


def test_ports_are_found_by_address_and_guid() -> None:
    renamed = PORT._replace(name="ibp3s0/1", device="ibp3s0", pci="0000:03:00.0")
    found = seen(GOOD, ports=(renamed,))
    for name in ("0000:03:00.0/1", "03:00.0/1", PORT.port_guid):
        assert checked_ports(Wanted(ports=(name,)), found) == ("ibp3s0/1",)
        assert port_of(managing(Wanted(), ports=(name,)), found) == renamed
        assert findings(Wanted(ports=(name,), subnet_manager=False), found) == []
    (line,) = words(Wanted(ports=("mlx5_0/1",), subnet_manager=False), found)
    assert "found no such port (ports of this node: ibp3s0/1 (0000:03:00.0/1, port GUID %s); the device was renamed" % PORT.port_guid in line
    assert "write 0000:03:00.0/1" in line


def test_the_subnet_manager_is_asked_through_an_active_declared_infiniband_port() -> None:
    down = PORT._replace(name="mlx5_0/1", state="DOWN")
    other = PORT._replace(name="mlx5_1/1")
    roce = PORT._replace(name="mlx5_2/1", link_layer="Ethernet")
    assert port_of(WANTED, seen(GOOD, ports=(roce, down, other))) == other
    assert port_of(WANTED, seen(GOOD, ports=(other, PORT))) == PORT
    assert port_of(WANTED, seen(GOOD, ports=(roce,))) is None


@pytest.mark.parametrize(
    ("wanted", "master", "expected"),
    [
        (managing(Wanted(), designated_host="node1"), Master(MASTERS, 3, "node1 mlx5_0"), True),
        (managing(Wanted(), designated_host="node1.example.org"), Master(MASTERS, 3, "NODE1 HCA-1"), True),
        (managing(Wanted(), designated_host="node1"), Master(MASTERS, 3, "mlx5_0 node1.example.org"), True),
        (managing(Wanted(), designated_host="node1"), Master(MASTERS, 3, "node1:HCA-1"), True),
        (managing(Wanted(), designated_host="node1"), Master(MASTERS, 3, "node11 mlx5_0"), None),
        (managing(Wanted(), designated_host="sm", designated_names=("node1.cluster",)), Master(MASTERS, 3, "node1 mlx5_0"), True),
        (managing(Wanted(), designated_host="node1"), Master(MASTERS, 3, "MT4119 ConnectX5   Mellanox Technologies"), None),
        (managing(Wanted(), designated_host="node1"), Master(MASTERS, 3, ""), None),
        (managing(Wanted(), designated_host=""), Master(MASTERS, 3, "node1"), None),
        (managing(Wanted(), designated_host="node1", designated_guids=(MASTERS,)), Master(MASTERS, 3, "other"), True),
        (managing(Wanted(), designated_host="node1", designated_guids=("0x0",)), Master(MASTERS, 3, "node1"), False),
        (managing(Wanted(), designated_host="node1"), Master(OWN, 3, "node1"), False),
        (managing(Wanted(), designated_host="node2", designated=True), Master(OWN, 3), True),
        (managing(Wanted(), designated_host="node2", designated=True), Master(MASTERS, 3, "node2"), False),
    ],
)
def test_who_the_master_is(wanted: Wanted, master: Master, expected: bool | None) -> None:
    assert is_designated(wanted.fabrics[0], GOOD.live, master) is expected


def test_a_master_whose_identity_nothing_tells_is_neither_red_nor_green() -> None:
    wanted = managing(WANTED, designated_host="node1-mgmt", designated=False)
    found = seen(GOOD, master=Master(MASTERS, 3, "node1 mlx5_0"))
    assert findings(wanted, found) == []
    assert {row["sm"] for row in table_rows(wanted, found, [])} == {"node1 mlx5_0 (%s), not judged" % MASTERS}
    told = managing(wanted, designated_guids=(MASTERS,))
    assert {row["sm"] for row in table_rows(told, found, [])} == {"node1-mgmt"}
    other = managing(wanted, designated_guids=("0x0002c90300009999",))
    assert [finding.code for finding in findings(other, found)] == [Code.OTHER_MASTER]
    # The designated host is down and its port GUIDs are unknown; those of the standby are known.
    dead = managing(wanted, standbys={"node2-mgmt": (MASTERS,)})
    assert [finding.code for finding in findings(dead, found)] == [Code.FAILED_OVER]


def test_a_master_without_a_name_is_its_guid() -> None:
    assert short(Master(MASTERS, 3, "MT4119 ConnectX5")) == MASTERS


def test_one_row_for_each_interface_and_each_port_without_one() -> None:
    second = PORT._replace(name="mlx5_1/1")
    wanted = WANTED._replace(ports=("mlx5_0/1", "mlx5_1/1"))
    found = seen(GOOD, ports=(PORT, second))
    rows = table_rows(wanted, found, findings(wanted, found))
    assert [(row["port"], row["interface"], row["rate"], row["sm"], row["result"]) for row in rows] == [
        ("mlx5_0/1", "ib0", "100 Gb/sec", "node1", "OK"),
        ("mlx5_1/1", "-", "100 Gb/sec", "node1", "OK"),
    ]


def test_only_the_row_of_the_deviating_port_is_bad() -> None:
    second = PORT._replace(name="mlx5_1/1", state="DOWN", phys_state="Polling")
    wanted = WANTED._replace(ports=("mlx5_0/1", "mlx5_1/1"))
    found = seen(GOOD, ports=(PORT, second))
    assert [row["result"] for row in table_rows(wanted, found, findings(wanted, found))] == ["OK", "BAD"]


def test_a_node_without_anything_has_a_row() -> None:
    wanted, found = Wanted(), Found(Live(managers=(Manager(unable="this node has no InfiniBand port"),)))
    (row,) = table_rows(wanted, found, findings(wanted, found))
    assert (row["port"], row["result"]) == ("-", "BAD")


def test_the_master_itself_is_marked() -> None:
    assert {row["sm"] for row in table_rows(SM_WANTED, SM_GOOD, [])} == {"master"}


PORTS = st.builds(
    Port,
    name=st.sampled_from(("mlx5_0/1", "mlx5_1/1")),
    device=st.just("mlx5_0"),
    port=st.just(1),
    port_guid=st.sampled_from((OWN, MASTERS)),
    link_layer=st.sampled_from(("InfiniBand", "Ethernet")),
    state=st.sampled_from(("ACTIVE", "INIT", "DOWN")),
    phys_state=st.sampled_from(("LinkUp", "Polling")),
    lid=st.integers(0, 5),
    sm_lid=st.integers(0, 5),
)
NETDEVS = st.builds(
    Netdev,
    name=st.sampled_from(("ib0", "ib1", "ib0.8001")),
    kind=st.just("ipoib"),
    port=st.sampled_from(("", "mlx5_0/1", "mlx5_1/1")),
    pkey=st.sampled_from(("", "0xffff", "0x8001")),
    mode=st.sampled_from(("", "datagram", "connected")),
    mtu=st.sampled_from((2044, 4092)),
    up=st.booleans(),
    addresses=st.sampled_from(((), ("10.0.0.1/24",), ("10.0.0.1/24", "fd00::1/64"))),
)
INTERFACES = st.one_of(
    st.just({"parent": "ib0", "pkey": 0x8001}),
    st.fixed_dictionaries(
        {"name": st.sampled_from(("ib0", "ib1"))},
        optional={
            "addresses": st.sampled_from(([], ["10.0.0.1/24"])),
            "mode": st.sampled_from(("auto", "datagram", "connected")),
            "mtu": st.sampled_from((2044, 4092)),
            "state": st.sampled_from(("present", "absent")),
        },
    ),
)
MODULE_SETS = st.frozensets(st.sampled_from(("ib_umad", "ib_ipoib", "rdma_ucm")))
FOUND_MODULES = st.builds(
    Modules, loaded=MODULE_SETS.map(lambda names: dict.fromkeys(names, False)), files=MODULE_SETS.map(lambda names: {LOAD_PATH: load_text(sorted(names))})
)
NAMES = ("ib", "storage")
FOUND = st.builds(
    lambda netdevs, modules, **live: with_interfaces(having(Found(Live(**live)), kernel_modules=modules), *netdevs),
    ports=st.lists(PORTS, max_size=3).map(tuple),
    netdevs=st.lists(NETDEVS, max_size=3, unique_by=lambda netdev: netdev.name),
    modules=FOUND_MODULES,
    managers=st.tuples(
        *(
            st.builds(
                Manager,
                st.just(name),
                master=st.none() | st.builds(Master, st.sampled_from((OWN, MASTERS)), st.integers(0, 3), st.sampled_from(("", "node1", "MT4119"))),
                masters=st.none() | st.lists(st.sampled_from((OWN, MASTERS)), max_size=2).map(tuple),
                stopped=st.booleans(),
            )
            for name in NAMES
        )
    ),
    opensm=st.builds(
        Opensm,
        st.lists(st.builds(Process, st.just(7), st.sampled_from(("", *NAMES))), max_size=2).map(tuple),
        st.sampled_from(((), ("opensm.service",), ("rdma-opensm@storage.service",))),
    ),
)
FABRICS = st.builds(
    Fabric,
    st.sampled_from(NAMES),
    designated=st.booleans(),
    standby=st.booleans(),
    designated_host=st.sampled_from(("", "node1")),
    designated_guids=st.sampled_from(((), (MASTERS,))),
)
DECLARATIONS = st.builds(
    lambda ipoib, modules, **own: wanting(Wanted(**own), ipoib=ipoib, kernel_modules=modules),
    ports=st.lists(st.sampled_from(("mlx5_0/1", "mlx5_1/1")), unique=True).map(tuple),
    ipoib=st.none() | st.lists(INTERFACES, min_size=1, max_size=3, unique_by=lambda item: item.get("name")).map(lambda items: declaring(*items)),
    modules=st.none() | MODULE_SETS.map(lambda names: kmod.Wanted(load=names)),
    subnet_manager=st.booleans(),
    fabrics=st.lists(FABRICS, min_size=1, max_size=2, unique_by=lambda fabric: fabric.fabric).map(tuple),
)


@given(DECLARATIONS, FOUND)
def test_every_deviation_is_one_and_every_bad_node_shows_it(wanted: Wanted, found: Found) -> None:
    deviations = findings(wanted, found)
    assert all(entry["expected"] != entry["found"] for entry in map(_words.result, deviations))
    rows = table_rows(wanted, found, deviations)
    assert rows
    assert any(row["result"] == "BAD" for row in rows) == bool(deviations)


@given(DECLARATIONS, FOUND)
def test_the_order_of_what_was_found_does_not_matter(wanted: Wanted, found: Found) -> None:
    names = [port.name for port in found.live.ports], [netdev.name for netdev in found.live.netdevs]
    if any(len(set(group)) != len(group) for group in names):
        return
    own = found.concerns["ipoib"]
    interfaces = own._replace(netdevs=dict(reversed(own.netdevs.items())))
    turned = having(seen(found, ports=found.live.ports[::-1], netdevs=found.live.netdevs[::-1]), ipoib=interfaces)
    assert findings(wanted, turned) == findings(wanted, found)


@given(DECLARATIONS)
def test_a_node_with_nothing_deviates_where_anything_is_declared(wanted: Wanted) -> None:
    options, modules = (wanted.concerns.get(name) for name in ("ipoib", "kernel_modules"))
    items = options.interfaces if options else []
    declared = [*wanted.ports, *(modules.load if modules else ()), *(item for item in items if item.get("state") != "absent")]
    assert bool(findings(wanted._replace(subnet_manager=False), with_interfaces(having(Found(), kernel_modules=Modules())))) == bool(declared)


def test_a_bond_is_compared_by_its_ports() -> None:
    options = declaring({"name": "bond0", "addresses": ADDRESSES, "mode": "datagram", "mtu": 2044, "bond": {"ports": ["ib0"]}})
    ib0 = IB0._replace(addresses=(), master="bond0")
    bond0 = Netdev("bond0", "bond", mtu=2044, up=True, addresses=tuple(ADDRESSES), members=("ib0",))
    wanted = wanting(WANTED, ipoib=options)
    assert words(wanted, with_interfaces(GOOD, bond0, ib0, options=options)) == []
    loose = with_interfaces(GOOD, bond0._replace(members=()), ib0._replace(master=""), options=options)
    assert words(wanted, loose) == ["interface bond0 ports: wanted ib0, found none" + IPOIB]


def test_devices_with_other_names_than_the_policy_has() -> None:
    node = having(GOOD, kernel_modules=MODULES._replace(devices=("ibp3s0",)))
    assert words(WANTED, node) == []
    wanted = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(device_names="kernel"))
    assert words(wanted, node) == [
        "file %s: wanted as declared, found none (run rdma.ofed.site)" % NAMING_PATH,
        "RDMA device ibp3s0 name: wanted a name of its driver, found ibp3s0 (udev names it at the next boot: run rdma.ofed.site, then rdma.ofed.reboot)",
    ]
    named = MODULES._replace(files={**MODULES.files, NAMING_PATH: naming_text("", Naming("kernel"))}, devices=("mlx5_0",))
    assert words(wanted, having(GOOD, kernel_modules=named)) == words(WANTED, having(GOOD, kernel_modules=named)) == []


def test_rails_are_compared_with_devices() -> None:
    rails = (Rail("left", "0000:18:00.0"), Rail("right", guid="0x0c42a10300000011"), Rail("spare", "0000:99:00.0"))
    wanted = wanting(WANTED, kernel_modules=DECLARED_MODULES._replace(rails=rails))
    there = (Device("mlx5_0", "0000:18:00.0"), Device("right", "0000:41:00.0", ("0x0c42a10300000011",)))
    files = {**MODULES.files, NAMING_PATH: naming_text("", Naming(rails=rails))}
    node = having(GOOD, kernel_modules=MODULES._replace(devices=("mlx5_0", "right"), adapters=there, files=files))
    assert words(wanted, node) == [
        "RDMA device spare: wanted 0000:99:00.0, found no such adapter "
        "(see 'rdma link' and 'lspci -d 15b3:' for the card; if it has moved, correct rdma_rails)",
        "RDMA device mlx5_0 name: wanted left, found mlx5_0 (udev names it at the next boot: run rdma.ofed.site, then rdma.ofed.reboot)",
    ]


def test_a_card_with_fewer_lanes_than_it_could_have() -> None:
    full, half = PcieLink(16, 16.0), PcieLink(8, 16.0)
    slots = (Slot("0000:03:00.0", full, full), Slot("0000:41:00.0", half, full), Slot("0000:81:00.0", PcieLink(16, 8.0), full))
    ports = tuple(PORT._replace(name="mlx5_%d/1" % card, device="mlx5_%d" % card) for card in range(3))
    node = seen(GOOD, ports=ports, cards={port.device: Card(slot.pci) for port, slot in zip(ports, slots)}, slots=slots)
    wanted = WANTED._replace(ports=tuple(port.name for port in ports))
    first, second = words(wanted, node)
    assert first.startswith("PCI Express link of adapter 0000:41:00.0: wanted x16 at 16 GT/s, found x8 at 16 GT/s (the link was trained with less")
    assert "0000:81:00.0: wanted x16 at 16 GT/s, found x16 at 8 GT/s (" in second
    # Named by any of its functions.
    assert words(wanted._replace(pcie_accepted=("0000:41:00.1", "0000:81:00.0")), node) == []
    assert words(wanted._replace(ports=("mlx5_0/1", "mlx5_2/1")), node) == [second], "of the checked ports alone"


def test_what_slows_down_an_adapter_counts_only_where_the_site_wants_it() -> None:
    slow = Registers(256, 512, 512, relaxed_ordering=True, aspm=0)
    surroundings = Performance(adapters=(Adapter("0000:03:00.0", slow, iommu="DMA"), Adapter("0000:41:00.0", slow)), numa_balancing=1, numa_nodes=2)
    ports = (PORT._replace(pci="0000:03:00.0", rate_gbps=100),)
    node = seen(GOOD, ports=ports, cards={"mlx5_0": Card("0000:03:00.0"), "mlx5_1": Card("0000:41:00.0")}, performance=surroundings)
    codes = ["max_read_request", "iommu_translates", "numa_balancing"]
    for how, severity in (("report", "notice"), ("fail", "error")):
        outcome = judge(WANTED._replace(performance=how), node)
        assert [(each.code.value, each.severity.value) for each in outcome.findings] == [(code, severity) for code in codes]
        result = outcome.result()
        assert (result["ok"], len(result["deviation_lines"])) == ((True, 0) if how == "report" else (False, 3))
        assert [row["result"] for row in result["rows"]] == (["OK"] if how == "report" else ["BAD"])
    assert findings(WANTED, node) == []
    # A port of 40 Gb/s does not need more than 512 bytes.
    slower = seen(node, ports=(ports[0]._replace(rate_gbps=40),))
    assert [each.code.value for each in findings(WANTED._replace(performance="report"), slower)] == codes[1:]


def test_links_and_cables_are_judged_by_the_tool_of_the_firmware() -> None:
    codes = (Code.LINK_DIAGNOSIS, Code.CABLE_UNDECLARED, Code.CABLE_FOR_ETHERNET, Code.CABLE_SLOW, Code.LINK_DEGRADED, Code.BIT_ERRORS)
    problems = tuple(Finding(code, Topic.PORT, "mlx5_0/1", found="what mstlink says of %s" % code.value) for code in codes)
    wanted = wanting(WANTED, cables=Limits())
    assert tuple(findings(wanted, having(GOOD, cables=problems))) == problems
    for problem in problems:
        (line,) = words(wanted, having(GOOD, cables=(problem,)))
        assert re.fullmatch(r"port mlx5_0/1: wanted (a|the) .*, found %s \(.*cable.*\)" % problem.found, line), "with a next step"
