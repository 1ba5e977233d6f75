# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module on a node made of files, and the same decisions on the controller."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._expectation import Around
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._node import Node as Examined
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet import _converge
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._concern import CONCERN, hints, unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._expect import EXPECTATION
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._look import seen
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._routing._found import SCRIPT_PATH, SERVICE, UNIT_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager import connection_uuid
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ufw import COMMENT
from support.ipoib_node import FakeNode
from support.module_files import FileNode

TWO = [{"name": "ib0", "addresses": ["10.20.0.1/16"]}, {"name": "ib1", "addresses": ["10.20.1.1/16"]}]
DEFAULTS: dict[str, t.Any] = {
    "interfaces": TWO,
    "arp": "auto",
    "neighbours": "4",
    "firewall": "keep",
    "firewall_zone": "trusted",
    "policy_routing": False,
    "state": "present",
}
OURS = "etc/sysctl.d/90-rdma-ofed.conf"
OTHERS = "etc/sysctl.d/99-site.conf"
CONF = "proc/sys/net/ipv4/conf/"
GUIDS = ("0x0002c903000f0001", "0x0002c903000f0002")
TABLE = "proc/sys/net/ipv4/neigh/default/gc_thresh"


class Node(FileNode):
    """A root directory with the values of the kernel. It has no commands: none is needed."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        # Not a chroot: the first process has the same root directory.
        (root / "proc/1").mkdir(parents=True)
        (root / "proc/1/root").symlink_to("../..")
        for name in ("all", "default", "eth0", "ib0", "ib1"):
            for key, value in {"arp_ignore": "0", "arp_announce": "0", "rp_filter": "0" if name == "all" else "1"}.items():
                self.write(CONF + "%s/%s" % (name, key), value + "\n")
        for number, limit in enumerate((128, 512, 1024), 1):
            self.write(TABLE + str(number), "%d\n" % limit)

    def state(self) -> dict[str, str]:
        return {str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*") if path.is_file()}

    def read(self, path: str) -> str:
        return (self.root / path).read_text().strip()

    def run(self, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
        self.check_mode, self.params = check, {**DEFAULTS, **params}
        module: t.Any = self
        return _converge.converge(module, module, environ={}, root=str(self.root))

    def seen(self, **params: t.Any) -> Found:
        """Return what the controller gets."""
        module: t.Any = self
        options = {**DEFAULTS, **params}
        needed = hints(
            {
                "ipoib_interfaces": options["interfaces"],
                "ipoib_network_firewall": options["firewall"],
                "ipoib_network_policy_routing": options["policy_routing"],
            }
        )
        return decode(Found, encode(seen(Examined(module, "", {}, str(self.root)), needed)))

    def unchanged(self, **params: t.Any) -> t.Mapping[str, t.Any] | None:
        return unchanged({**DEFAULTS, **params}, self.seen(**params))


@pytest.fixture(name="node")
def fresh_node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_check_mode_predicts_the_run_and_absent_gives_everything_back(node: Node) -> None:
    before = node.state()
    predicted = node.run(check=True, neighbours="5000")
    assert node.state() == before
    assert node.unchanged(neighbours="5000") is None
    done = node.run(neighbours="5000")
    assert done == predicted
    assert done["shared"] == ["ib0", "ib1"]
    assert [node.read(CONF + "ib1/" + key) for key in ("arp_ignore", "arp_announce", "rp_filter")] == ["1", "2", "2"]
    assert {path: text for path, text in node.state().items() if "eth0" in path or "/all/" in path or "/default/arp" in path}.items() <= before.items()
    assert [node.read(TABLE + number) for number in "123"] == ["16384", "32768", "65536"]
    again = node.run(neighbours="5000")
    assert not again["changed"]
    assert node.unchanged(neighbours="5000") == again
    assert node.run(state="absent")["changed"]
    assert node.state() == before


def test_a_host_with_one_interface_in_a_small_fabric_is_left_alone(node: Node) -> None:
    before = node.state()
    result = node.unchanged(interfaces=TWO[:1])
    assert result is not None and not result["changed"]
    assert node.run(interfaces=TWO[:1]) == result
    assert node.state() == before


def test_an_interface_that_is_no_longer_declared_gets_its_values_back(node: Node) -> None:
    before = node.state()
    node.run()
    node.run(interfaces=TWO[:1])
    assert node.state() == before


def test_each_part_can_be_switched_off(node: Node) -> None:
    before = node.state()
    node.run(arp="keep", neighbours="keep")
    assert node.state() == before
    node.run(arp="keep", neighbours="5000")
    assert node.read(CONF + "ib0/arp_ignore") == "0"


def test_a_file_that_undoes_a_setting_is_refused_before_any_change(node: Node) -> None:
    node.write(OTHERS, "# ours\nnet.ipv4.conf.ib1.rp_filter = 1\n")
    before = node.state()
    with pytest.raises(Refused) as refused:
        node.run()
    assert "/etc/sysctl.d/99-site.conf line 2 sets net.ipv4.conf.ib1.rp_filter = 1" in refused.value.msg
    assert node.state() == before
    assert node.unchanged() is None
    variables = {"ipoib_interfaces": TWO}
    subject = Subject("node1", variables, found=node.seen(), options=lambda: {**DEFAULTS, "neighbours": "auto"}, groups={"rdma": ["node1"]})
    assert CONCERN.refusals(subject) == [refused.value.msg]
    assert CONCERN.settled is not None and not CONCERN.settled(subject)
    (finding,) = EXPECTATION.findings(DEFAULTS, node.seen(), Around())
    assert (finding.code, finding.detail) == (Code.REFUSED, refused.value.msg)


def test_the_kernel_is_asked(node: Node) -> None:
    """The file is there, and a value was changed by hand since."""
    node.run()
    assert EXPECTATION.findings(DEFAULTS, node.seen(), Around()) == []
    node.write(CONF + "ib0/arp_ignore", "0\n")
    (finding,) = EXPECTATION.findings(DEFAULTS, node.seen(), Around())
    assert (finding.subject, finding.wanted, finding.found) == ("net.ipv4.conf.ib0.arp_ignore", "1", "0")
    assert node.unchanged() is None
    assert node.run()["changes"] == ["sysctl net.ipv4.conf.ib0.arp_ignore: 0 -> 1"]


def test_a_kernel_that_refuses(node: Node) -> None:
    (node.root / CONF / "ib0/arp_ignore").unlink()
    # A number that even root can't write.
    (node.root / CONF / "ib0/arp_ignore").symlink_to("/proc/sys/kernel/ngroups_max")
    with pytest.raises(CommandFailed) as failed:
        node.run()
    assert "the kernel refused net.ipv4.conf.ib0.arp_ignore = 1" in failed.value.msg


def test_wrong_input_is_refused(node: Node) -> None:
    with pytest.raises(InvalidInput):
        node.run(neighbours="many")
    assert node.unchanged(neighbours="many") is None


@pytest.mark.parametrize("addresses", [["10.0.0.x/16"], ["10.0.0.1/99"], "10.0.0.1/16", [None], 5])
def test_wrong_addresses_are_refused(node: Node, addresses: t.Any) -> None:
    """The role may run alone, without the validation of the role ipoib."""
    interfaces = [{"name": "ib0", "addresses": addresses}]
    with pytest.raises(InvalidInput) as refused:
        node.run(interfaces=interfaces)
    assert "ipoib_interfaces[0].addresses" in refused.value.msg
    assert node.unchanged(interfaces=interfaces) is None


@pytest.mark.parametrize(("key", "value"), [("routes", "x"), ("bond", "x")])
def test_other_wrong_keys_of_interfaces_are_refused(node: Node, key: str, value: str) -> None:
    interfaces: t.List[t.Dict[str, t.Any]] = [{**TWO[0], key: value}]
    with pytest.raises(InvalidInput) as refused:
        node.run(interfaces=interfaces)
    assert "ipoib_interfaces[0]." + key in refused.value.msg
    assert node.unchanged(interfaces=interfaces) is None


def test_a_pattern_that_cannot_be_read_matters_to_nothing(node: Node) -> None:
    node.write(OTHERS, "net.ipv4.conf.[z-a]*.rp_filter = 1\nnet.*.rp_filter = 1\nnet.ipv4.conf.ib*.rp_filter = 1\n")
    assert [line.line for line in node.seen().lines] == [3]


def test_the_size_of_the_inventory_decides(node: Node) -> None:
    """The validation knows the groups; the role gets the number from its action plugin."""
    options = {**DEFAULTS, "interfaces": TWO[:1], "neighbours": "auto"}

    def settled(hosts: int) -> bool:
        groups = {"rdma": ["node%d" % number for number in range(hosts)]}
        subject = Subject("node1", {"ipoib_interfaces": TWO[:1]}, found=node.seen(interfaces=TWO[:1]), options=lambda: options, groups=groups)
        assert CONCERN.settled is not None
        return CONCERN.settled(subject)

    assert settled(128)
    assert not settled(129)


def test_a_look_at_other_interfaces_decides_nothing(node: Node) -> None:
    assert unchanged(DEFAULTS, node.seen(interfaces=TWO[:1])) is None


def test_interfaces_are_found_by_their_ports(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "networkd", ports=2)
    node.appear("ib0")
    node.appear("ib1")
    entries = [{"port_guid": guid, "addresses": ["10.20.0.1/24"]} for guid in GUIDS]
    examined = Examined(t.cast("t.Any", node), "", {}, str(tmp_path))
    found = seen(examined, hints({"ipoib_interfaces": entries}))
    assert found.named == dict(zip(GUIDS, ("ib0", "ib1")))
    assert found.examined == {"ib0", "ib1"}


def test_malformed_declarations_do_not_stop_the_look(node: Node) -> None:
    assert hints({"ipoib_interfaces": "ib0"}) == {"interfaces": [], "firewall": False, "routing": False}
    assert node.seen(interfaces=[{"name": "ib0", "addresses": 3}, 7]).examined == {"ib0"}


def test_in_a_chroot_the_kernel_of_the_build_host_is_left_alone(node: Node) -> None:
    (node.root / "proc/1/root").unlink()
    for name in ("all", "ib0"):
        node.write(CONF + name + "/arp_ignore", "8\n")
    node.write(TABLE + "1", "999999\n")
    before = node.state()
    predicted = node.run(check=True, neighbours="5000")
    assert node.state() == before
    done = node.run(neighbours="5000")
    assert done == predicted
    assert done["changes"] == ["create file /" + OURS]
    assert done["reasons"] == [
        "this is a chroot, so net.ipv4.conf.ib0.arp_announce, net.ipv4.conf.ib0.arp_ignore and 7 more are set "
        "by /etc/sysctl.d/90-rdma-ofed.conf only when a system boots from it"
    ]
    written = node.state()
    text = written.pop(OURS)
    assert written == before
    # The limits and their former values are those of a kernel that boots, not of the build host.
    assert "# Before: 128\nnet.ipv4.neigh.default.gc_thresh1 = 16384\n" in text
    again = node.run(neighbours="5000")
    assert not again["changed"]
    assert node.unchanged(neighbours="5000") == again
    assert EXPECTATION.findings({**DEFAULTS, "neighbours": "5000"}, node.seen(), Around()) == []
    assert node.run(state="absent")["changes"] == ["remove file /" + OURS]
    assert node.state() == before


def test_an_image_that_boots_has_what_the_chroot_promised(node: Node) -> None:
    (node.root / "proc/1/root").unlink()
    node.run()
    (node.root / "proc/1/root").symlink_to("../..")
    done = node.run()
    assert done["reasons"] == []
    assert [change.split(" ")[0] for change in done["changes"]] == 6 * ["sysctl"]
    assert not node.run()["changed"]


ZONE = '<?xml version="1.0" encoding="utf-8"?>\n<zone%s>\n%s</zone>\n'
KEYFILE = HEADER + "[connection]\nid=rdma-ib0\nuuid=%s\ntype=infiniband\ninterface-name=ib0\nautoconnect=true\n" % connection_uuid("ib0")
PROFILE = "etc/NetworkManager/system-connections/rdma-ib0.nmconnection"
RECORD = "var/lib/rdma.ofed/firewall.json"


class Guarded(Node):
    """A node with firewalld. Its commands change the zone files and the present zones, as the real ones do."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        self.zones: t.Dict[str, str] = {"eth0": "public"}
        self.hangs = False
        self.keeps_addresses = True
        """Whether NetworkManager can reapply a profile without a loss of addresses of others: since 1.42."""
        self.write("proc/77/comm", "firewalld\n")
        self.write("usr/lib/firewalld/zones/trusted.xml", ZONE % (' target="ACCEPT"', ""))
        self.write("usr/lib/firewalld/zones/public.xml", ZONE % ("", '  <service name="ssh"/>\n'))

    def has(self, tool: str) -> bool:
        return tool.startswith("firewall") or tool in ("nmcli", "busctl")

    def __call__(self, argv: t.Sequence[str], ok: t.Optional[t.Collection[int]] = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        if self.hangs:
            # As the real runner does.
            if ok is None or 124 not in ok:
                raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout))
            return Output(124, "", "")
        words = dict(word.partition("=")[::2] for word in argv)
        zone = words.get("--zone", "")
        name = words.get("--add-interface") or words.get("--change-interface") or words.get("--remove-interface") or ""
        if "--get-active-zones" in words:
            rows = ["%s\n  interfaces: %s\n" % (each, " ".join(n for n, z in self.zones.items() if z == each)) for each in sorted(set(self.zones.values()))]
            return Output(0, "".join(rows), "")
        if "--permanent" in words or argv[0] == "firewall-offline-cmd":
            line = '  <interface name="%s"/>\n' % name
            own = self.path("etc/firewalld/zones/%s.xml" % zone)
            text = own.read_text() if own.exists() else self.path("usr/lib/firewalld/zones/%s.xml" % zone).read_text()
            self.write("etc/firewalld/zones/%s.xml" % zone, text.replace("</zone>", line + "</zone>") if "--add-interface" in words else text.replace(line, ""))
        elif argv[0] == "nmcli":
            assert argv[1:3] == ("connection", "load")
        elif "--remove-interface" in words and self.zones.get(name) != zone:
            assert ok is not None and 18 in ok
            return Output(18, "", "Error: ZONE_CONFLICT")
        elif name:
            self.zones.pop(name, None)
            self.zones.update({name: zone} if "--change-interface" in words else {})
        elif "GetDeviceByIpIface" in argv:
            return Output(0, 'o "/org/freedesktop/NetworkManager/Devices/3"\n', "") if argv[-1] == "ib0" else Output(1, "", "No device found")
        elif "Reapply" in argv:
            assert argv[3] == "/org/freedesktop/NetworkManager/Devices/3" and argv[-1] == "1"
            if not self.keeps_addresses:
                return Output(1, "", "Call failed: Invalid flags specified\n")
            # NetworkManager tells the zone of the keyfile.
            self.zones["ib0"] = "trusted" if "zone=trusted" in self.read(PROFILE) else "public"
        return Output(0, "", "")


@pytest.fixture(name="guarded")
def guarded_node(tmp_path: pathlib.Path) -> Guarded:
    return Guarded(tmp_path)


def judged(node: Node, **params: t.Any) -> t.List[t.Tuple[str, str, str]]:
    options = {**DEFAULTS, **params}
    module: t.Any = node
    examined = Examined(module, "", {}, str(node.root))
    found = EXPECTATION.look(examined, options, Around())
    # The look of the run gives the same.
    assert (
        seen(examined, EXPECTATION.hints({"ipoib_interfaces": options["interfaces"], "ipoib_network_policy_routing": options["policy_routing"]}) or {}) == found
    )
    return [(each.code.value, each.subject, each.aspect) for each in EXPECTATION.findings(options, found, Around()) if each.kind != Kind.SYSCTL]


def test_a_firewall_accepts_the_declared_interfaces_on_request(guarded: Guarded) -> None:
    before = guarded.state()
    one = {"interfaces": TWO[:1]}
    assert judged(guarded, **one) == [("firewall_drops", "ib0", "zone")]
    assert not guarded.run(**one)["changed"]
    predicted = guarded.run(check=True, firewall="trusted", **one)
    assert guarded.state() == before
    assert guarded.unchanged(firewall="trusted", **one) is None
    assert guarded.run(firewall="trusted", **one) == predicted
    assert predicted["changes"] == ["create file /" + RECORD, "firewall ib0 zone at boot: none -> trusted", "firewall ib0 zone: public -> trusted"]
    assert guarded.zones == {"eth0": "public", "ib0": "trusted"}
    again = guarded.unchanged(firewall="trusted", **one)
    assert again is not None and again == guarded.run(firewall="trusted", **one)
    assert judged(guarded, firewall="trusted", **one) == []
    guarded.zones.pop("ib0")
    assert judged(guarded, firewall="trusted", **one) == [("differs", "ib0", "zone")]
    assert guarded.run(firewall="trusted", **one)["changes"] == ["firewall ib0 zone: public -> trusted"]
    guarded.run(state="absent")
    kept = "etc/firewalld/zones/trusted.xml"
    assert {path: text for path, text in guarded.state().items() if path != kept} == before
    assert guarded.read(kept) == guarded.read("usr/lib/firewalld/zones/trusted.xml")
    assert guarded.zones == {"eth0": "public"}


def test_without_a_declaration_no_process_is_started(guarded: Guarded) -> None:
    """In a run; the check asks firewalld."""
    assert guarded.unchanged(interfaces=TWO[:1]) is not None
    assert guarded.calls == []
    # Such a look does not tell what a declared zone needs.
    assert unchanged({**DEFAULTS, "interfaces": TWO[:1], "firewall": "trusted"}, guarded.seen(interfaces=TWO[:1])) is None


@pytest.mark.parametrize("keeps_addresses", [True, False])
def test_the_zone_is_in_our_profile_of_networkmanager(guarded: Guarded, keeps_addresses: bool) -> None:
    one = {"interfaces": TWO[:1]}
    guarded.keeps_addresses = keeps_addresses
    guarded.write(PROFILE, KEYFILE)
    guarded.zones["ib0"] = "public"
    predicted = guarded.run(check=True, firewall="trusted", **one)
    assert guarded.run(firewall="trusted", **one) == predicted
    assert guarded.read(PROFILE) == KEYFILE.replace("interface-name=ib0\n", "interface-name=ib0\nzone=trusted\n").strip()
    # 'nmcli device reapply' would remove addresses that others have added to the interface.
    assert [call for call in guarded.calls if call.startswith("nmcli")] == ["nmcli connection load /" + PROFILE]
    assert len([call for call in guarded.calls if "Reapply" in call]) == 1
    assert not [path for path in guarded.state() if path.startswith("etc/firewalld")]
    assert not guarded.run(firewall="trusted", **one)["changed"]
    guarded.run(**one)
    assert guarded.read(PROFILE) == KEYFILE.strip()
    assert guarded.zones.get("ib0", "public") == "public"


def test_what_was_listed_before_there_was_a_keyfile_goes_as_well(guarded: Guarded) -> None:
    one = {"interfaces": TWO[:1]}
    guarded.run(firewall="trusted", **one)
    guarded.write(PROFILE, KEYFILE)
    guarded.run(firewall="trusted", **one)
    guarded.calls.clear()
    guarded.run(**one)
    assert guarded.read(PROFILE) == KEYFILE.strip()
    assert "ib0" not in guarded.read("etc/firewalld/zones/trusted.xml")
    # firewall-cmd would edit the keyfile in place of the zone.
    assert "firewall-offline-cmd --zone=trusted --remove-interface=ib0" in guarded.calls
    assert not guarded.run(**one)["changed"]


def test_a_firewalld_that_hangs_costs_no_other_finding(guarded: Guarded) -> None:
    one: t.Dict[str, t.Any] = {"interfaces": TWO[:1]}
    guarded.hangs = True
    assert judged(guarded, **one) == []
    found = EXPECTATION.findings({**DEFAULTS, "neighbours": "5000"}, guarded.seen(), Around())
    assert {each.kind for each in found} == {Kind.FILE, Kind.SYSCTL}
    with pytest.raises(Refused) as refused:
        guarded.run(firewall="trusted", **one)
    assert "firewalld runs and does not answer (no answer within 30 s)" in refused.value.msg


def test_a_profile_of_others_is_refused(guarded: Guarded) -> None:
    uuid = "6b2e0f6c-6a35-4c0b-9d0e-3f1c1d7a9b42"
    guarded.write("sys/class/net/ib0/ifindex", "7\n")
    guarded.write("run/NetworkManager/devices/7", "[device]\nmanaged=true\nconnection-uuid=%s\n" % uuid)
    before = guarded.state()
    with pytest.raises(Refused) as refused:
        guarded.run(firewall="trusted", interfaces=TWO[:1])
    assert "'nmcli connection modify %s connection.zone trusted'" % uuid in refused.value.msg
    assert guarded.state() == before
    assert judged(guarded, firewall="trusted", interfaces=TWO[:1]) == [("refused", "", "")]
    # As the refusal says.
    guarded.zones["ib0"] = "trusted"
    for firewall in ("trusted", "keep"):
        assert not guarded.run(firewall=firewall, interfaces=TWO[:1])["changed"]
    assert guarded.state() == before


def test_in_an_image_the_files_alone_are_changed(guarded: Guarded) -> None:
    (guarded.root / "proc/1/root").unlink()
    (guarded.root / "etc/systemd/system/multi-user.target.wants").mkdir(parents=True)
    (guarded.root / "etc/systemd/system/multi-user.target.wants/firewalld.service").symlink_to("/usr/lib/systemd/system/firewalld.service")
    guarded.run(firewall="trusted", interfaces=TWO[:1])
    assert guarded.calls == ["firewall-offline-cmd --zone=trusted --add-interface=ib0"]
    assert not guarded.run(firewall="trusted", interfaces=TWO[:1])["changed"]


@pytest.mark.parametrize("zone", ["", "a b", "--reload", "a/b", "x" * 97])
def test_a_wrong_zone_is_refused(node: Node, zone: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        node.run(firewall_zone=zone)
    assert "ipoib_network_firewall_zone" in refused.value.msg


class Railed(Node):
    """A node with systemd. Where the unit runs, the kernel has the rules and routes that the text of the unit lists."""

    active, enabled = "inactive", "disabled"

    def has(self, tool: str) -> bool:
        return tool in ("systemctl", "ip")

    def sources(self) -> t.List[t.List[str]]:
        path = self.path(UNIT_PATH)
        words = path.read_text().partition(" follow ")[2].splitlines()[0].split() if self.active == "active" else []
        return [words[start : start + 4] for start in range(0, len(words), 4)]

    def __call__(self, argv: t.Sequence[str], ok: t.Optional[t.Collection[int]] = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        if argv[:2] == ["systemctl", "show"]:
            return Output(0, "Id=%s\nActiveState=%s\nUnitFileState=%s\n" % (SERVICE, self.active, self.enabled), "")
        if argv[0] == "systemctl":
            self.active = {"restart": "active", "stop": "inactive"}.get(argv[1], self.active)
            self.enabled = {"enable": "enabled", "disable": "disabled"}.get(argv[1], self.enabled)
            return Output(0, "", "")
        rows: t.List[t.Any] = [{"priority": int(table), "src": address, "table": table} for table, _name, address, _network in self.sources()]
        if "address" in argv:
            rows = [{"ifname": item["name"], "addr_info": [{"local": item["addresses"][0].partition("/")[0]}]} for item in TWO]
        if "table" in argv:
            rows = [{"dst": network, "dev": name} for table, name, _address, network in self.sources() if table == argv[-1]]
        return Output(0, json.dumps(rows), "")


def test_each_address_gets_its_way_out_and_gives_it_back(tmp_path: pathlib.Path) -> None:
    node = Railed(tmp_path)
    before = node.state()
    predicted = node.run(check=True, arp="keep", policy_routing=True)
    assert node.state() == before
    assert node.run(arp="keep", policy_routing=True) == predicted
    assert [change.partition(" ")[0] for change in predicted["changes"]] == ["create", "create", "service", "service"]
    assert node.path(SCRIPT_PATH).stat().st_mode & 0o777 == 0o755
    again = node.unchanged(arp="keep", policy_routing=True)
    assert again is not None and again == node.run(arp="keep", policy_routing=True)
    assert judged(node, arp="keep", policy_routing=True) == []
    node.active = "inactive"
    assert judged(node, arp="keep", policy_routing=True) == [("differs", SERVICE, "state")]
    node.run(arp="keep", policy_routing=True)
    moved = [{**TWO[0], "addresses": ["10.20.7.7/16"]}, TWO[1]]
    node.calls.clear()
    node.run(arp="keep", policy_routing=True, interfaces=moved)
    # The former rules are taken back while systemd knows them.
    assert node.calls.index("systemctl stop " + SERVICE) < node.calls.index("systemctl daemon-reload")
    node.run(arp="keep")
    assert (node.state(), node.active, node.enabled) == (before, "inactive", "disabled")


def test_without_a_declaration_of_policy_routing_no_process_is_started(tmp_path: pathlib.Path) -> None:
    node = Railed(tmp_path)
    node.seen()
    assert node.calls == []
    assert unchanged({**DEFAULTS, "arp": "keep", "policy_routing": True}, node.seen()) is None


class Filtered(Node):
    """A node with ufw. Its command adds and deletes rules in its files, as the real one does."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        self.write("etc/ufw/ufw.conf", "ENABLED=yes\n")
        self.write("etc/default/ufw", 'IPV6=yes\nDEFAULT_INPUT_POLICY="DROP"\n')

    def has(self, tool: str) -> bool:
        return tool == "ufw"

    def __call__(self, argv: t.Sequence[str], ok: t.Optional[t.Collection[int]] = (0,), timeout: float = 60) -> Output:
        assert argv[-2:] == ("comment", COMMENT)
        families = {"user": "0.0.0.0/0", **({"user6": "::/0"} if self.path("proc/sys/net/ipv6").exists() else {})}
        for name, address in families.items():
            path = self.path("etc/ufw/%s.rules" % name)
            line = "### tuple ### allow any any %s any %s in_%s comment=%s\n" % (address, address, argv[-3], COMMENT.encode().hex())
            text = path.read_text().replace(line, "") if path.exists() else ""
            self.write("etc/ufw/%s.rules" % name, text + ("" if argv[1] == "delete" else line))
        return Output(0, "", "")


@pytest.mark.parametrize("ipv6", [True, False])
def test_ufw_has_rules_for_the_ip_versions_that_the_kernel_has(tmp_path: pathlib.Path, ipv6: bool) -> None:
    """A kernel that was started with ipv6.disable=1 has no /proc/sys/net/ipv6, and ufw writes one rule."""
    node = Filtered(tmp_path)
    if ipv6:
        node.write("proc/sys/net/ipv6/conf/all/forwarding", "0\n")
    one = {"interfaces": TWO[:1]}
    assert judged(node, **one) == [("firewall_drops", "ib0", "rule")]
    assert node.run(firewall="trusted", **one)["changes"] == ["firewall ib0 rule of ufw: none -> allow"]
    assert node.path("etc/ufw/user6.rules").exists() == ipv6
    assert not node.run(firewall="trusted", **one)["changed"]
    assert judged(node, firewall="trusted", **one) == []
    node.run(**one)
    assert not node.run(**one)["changed"]
