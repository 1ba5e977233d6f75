# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager goes on with the profile of an interface that is taken over: ours has its UUID, so the interface is not activated again."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._saved import Saved
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Tools
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifcfg, _networkmanager, _networkmanager_profiles
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifcfg_backend import IFCFG
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import NETWORKMANAGER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Active, BondState, Claim, Found, Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Wanted, together
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

GUID = "0x0002c903000f0001"
UUID = "9c92fad9-6ecb-3e6c-eb4d-8a47c6f50c04"
OTHER = "0a1b2c3d-6ecb-4e6c-8b4d-8a47c6f50c04"
LIVE = Netdev("ib0", "ipoib", mode="datagram", mtu=2044, up=True, addresses=("10.20.0.1/24",), port_guid=GUID)
WANTED = Interface("ib0", "datagram", addresses=("10.20.0.1/24",))
KEYFILE = _networkmanager.DIRECTORY + "/storage.nmconnection"
IFCFG_FILE = _ifcfg.path_of("ib0")
KEYS = "[connection]\nid=storage\nuuid=%s\ntype=infiniband\ninterface-name=ib0\n[ipv4]\nmethod=manual\naddress1=10.20.0.1/24\n"
VARIABLES = "DEVICE=ib0\nUUID=%s\nTYPE=InfiniBand\nIPADDR=10.20.0.1\nPREFIX=24\n"
TEXTS = {KEYFILE: KEYS % UUID, IFCFG_FILE: VARIABLES % UUID}


def node(files: t.Mapping[str, str], uuids: t.Mapping[str, str], backend: str = "networkmanager", **more: t.Any) -> Found:
    """Return a node whose NetworkManager runs, with its active profiles by interface."""
    presences = {each.name: Presence() for each in _registry.BACKENDS}
    presences[NETWORKMANAGER.name] = Presence(in_use=True, settings={"version": "1.42"}, active={name: Active("theirs", uuid) for name, uuid in uuids.items()})
    presences[backend] = presences[backend]._replace(claim=Claim("it is there", 2), in_use=True)
    return Found(netdevs={"ib0": LIVE}, files=files, backends=presences)._replace(**more)


def files_of(todo: IpoibPlan) -> dict[str, str]:
    return {change.subject: change.after for change in todo.plan.about(Kind.FILE)}


def then(found: Found, todo: IpoibPlan) -> Found:
    """Return the node after the plan, which changes files only."""
    return found._replace(files={path: text for path, text in {**found.files, **files_of(todo)}.items() if text})


@pytest.mark.parametrize(("backend", "path"), [("networkmanager", KEYFILE), ("networkmanager", IFCFG_FILE), ("ifcfg", IFCFG_FILE)])
def test_an_active_profile_goes_on_under_its_uuid_without_consent(backend: str, path: str) -> None:
    found = node({path: TEXTS[path]}, {"ib0": UUID}, backend)
    wanted = Wanted((WANTED,), backend, adopt=True)
    todo = plan(wanted, found)
    assert todo.continued == {"ib0": UUID} and set(todo.adopted) == {path}
    own = _registry.named(backend).format
    ours = {each: text for each, text in files_of(todo).items() if own.is_ours(each, text) and UUID in text}
    assert len(ours) == 1 and files_of(todo).get(IFCFG_FILE, "") in ("", *ours.values())
    assert todo.plan.about(Kind.INTERFACE) == ()
    # What an earlier run has taken over keeps its UUID.
    after = then(found, todo)
    assert not plan(wanted, after).plan and not plan(wanted._replace(adopt=False), condensed(after, {"ib0": ""})).plan
    # The controller foresees the same.
    reduced = condensed(found, {"ib0": ""}, adopt={"backend": backend, "ports": []})
    assert reduced.taken.continued == {"ib0": UUID}


@pytest.mark.parametrize(
    ("files", "uuids"),
    [
        ({KEYFILE: KEYS % UUID}, {"ib0": OTHER}),
        ({KEYFILE: KEYS % UUID}, {}),
        ({KEYFILE: KEYS % "What is this?"}, {"ib0": UUID}),
        ({IFCFG_FILE: VARIABLES % UUID}, {"ib0": OTHER}),
        # Its routes are taken over with it, and have no profile.
        ({_ifcfg.path_of("ib0", "route"): "10.30.0.0/16 via 10.20.0.254\n"}, {"ib0": ""}),
    ],
)
def test_what_is_active_from_elsewhere_needs_consent(files: dict[str, str], uuids: dict[str, str]) -> None:
    found, wanted = node(files, uuids), Wanted((WANTED,), "networkmanager", adopt=True)
    with pytest.raises(Refused, match="rdma_allow_interruption"):
        plan(wanted, found)
    todo = plan(wanted._replace(interruption=True), found)
    assert todo.continued == {} and _networkmanager.connection_uuid("ib0") in files_of(todo)[_networkmanager.path_of("ib0")]


@pytest.mark.parametrize(("backend", "path"), [("networkmanager", KEYFILE), ("ifcfg", IFCFG_FILE)])
def test_a_uuid_of_another_form_is_not_continued(backend: str, path: str) -> None:
    """Old releases keep the letters of a UUID as they are. A later run would not know such a one again, and activate the interface."""
    found, wanted = node({path: TEXTS[path].replace(UUID, UUID.upper())}, {"ib0": UUID.upper()}, backend), Wanted((WANTED,), backend, adopt=True)
    with pytest.raises(Refused, match="rdma_allow_interruption"):
        plan(wanted, found)
    todo = plan(wanted._replace(interruption=True), found)
    assert todo.continued == {} and not plan(wanted, then(found, todo)).plan


def test_an_interrupted_run_has_cut_nothing_although_the_profile_has_its_former_name() -> None:
    """The files are written, and NetworkManager has not read them yet."""
    found, wanted = node({KEYFILE: KEYS % UUID}, {"ib0": UUID}, ssh_path=frozenset({"ib0"})), Wanted((WANTED,), "networkmanager", adopt=True)
    left = Saved(KEYS % UUID, "", ("ib0",), "/var/backups/rdma-ofed" + KEYFILE, "networkmanager", True)
    todo = plan(wanted, then(found, plan(wanted, found))._replace(saved={KEYFILE: left}))
    assert todo.touched == {"ib0"} and todo.cutting == ()


@pytest.mark.parametrize(("version", "stays"), [("1.18", False), ("1.20", True)])
def test_a_release_that_binds_profiles_to_files_needs_consent(version: str, stays: bool) -> None:
    found = node({KEYFILE: KEYS % UUID}, {"ib0": UUID})
    older = found.backends[NETWORKMANAGER.name]._replace(settings={"version": version})
    todo = plan(
        Wanted((WANTED,), "networkmanager", adopt=True, interruption=not stays), found._replace(backends={**found.backends, NETWORKMANAGER.name: older})
    )
    assert bool(todo.continued) == stays


def test_an_interface_that_changes_needs_consent() -> None:
    """NetworkManager may refuse to reapply a profile of another form, and has to activate it then."""
    found = node({KEYFILE: KEYS % UUID}, {"ib0": UUID})
    wanted = Wanted((WANTED._replace(addresses=("10.20.0.9/24",)),), "networkmanager", adopt=True)
    with pytest.raises(Refused, match="rdma_allow_interruption"):
        plan(wanted, found)
    assert plan(wanted._replace(interruption=True), found).continued == {"ib0": UUID}


def test_one_profile_is_not_continued_for_two_interfaces() -> None:
    files = {KEYFILE: KEYS % UUID, KEYFILE + "2": (KEYS % UUID).replace("ib0", "ib1").replace("20.0.1", "20.0.2")}
    second = LIVE._replace(name="ib1", port_guid="0x0002c903000f0002", addresses=("10.20.0.2/24",))
    found = node(files, {"ib0": UUID, "ib1": UUID}, netdevs={"ib0": LIVE, "ib1": second})
    wanted = Wanted((WANTED, Interface("ib1", "datagram", addresses=("10.20.0.2/24",))), "networkmanager", adopt=True)
    with pytest.raises(Refused, match="taking over ib0, ib1 interrupts"):
        plan(wanted, found)


def test_the_connection_of_the_run_may_go_through_an_interface_that_is_not_disturbed() -> None:
    found, wanted = node({KEYFILE: KEYS % UUID}, {"ib0": UUID}, ssh_path=frozenset({"ib0"})), Wanted((WANTED,), "networkmanager", adopt=True)
    assert plan(wanted, found).cutting == ()
    with pytest.raises(Refused, match="brought up again"):
        plan(wanted._replace(interruption=True), found._replace(files={KEYFILE: KEYS % OTHER}))


def bonded(files: t.Mapping[str, str], backend: str) -> tuple[Wanted, Found]:
    """Return a bond that is declared as it is, with these files."""
    names = ("ib0", "ib1")
    ports = {name: LIVE._replace(name=name, port_guid=GUID[:-1] + name[-1], addresses=(), master="bond0") for name in names}
    bond = Netdev("bond0", "bond", mtu=2044, up=True, addresses=("10.20.0.1/24",), members=names)
    wanted = Wanted(tuple(together([Interface("bond0", "datagram", addresses=("10.20.0.1/24",), bond=Bond(names))])), backend, adopt=True)
    state = BondState("active-backup", 100, "", "active")
    return wanted, node(files, dict(zip(("bond0", *names), UUIDS)), backend, netdevs={**ports, "bond0": bond}, bonds={"bond0": state})


UUIDS = (UUID, OTHER, OTHER[:-1] + "5")
BOND_KEYS = {
    "bond0": "[connection]\nuuid=%s\ntype=bond\ninterface-name=bond0\n[bond]\nmode=1\n[ipv4]\nmethod=manual\naddress1=10.20.0.1/24\n" % UUIDS[0],
    **{
        name: "[connection]\nuuid=%s\ntype=infiniband\ninterface-name=%s\nmaster=bond0\nslave-type=bond\n" % (uuid, name)
        for name, uuid in zip(("ib0", "ib1"), UUIDS[1:])
    },
}
BOND_VARIABLES = {
    "bond0": "DEVICE=bond0\nUUID=%s\nTYPE=Bond\nBONDING_MASTER=yes\nBONDING_OPTS='mode=1 miimon=100'\nIPADDR=10.20.0.1\nPREFIX=24\nIPV6_DISABLED=yes\n"
    % UUIDS[0],
    **{
        name: "DEVICE=%s\nUUID=%s\nTYPE=InfiniBand\nMASTER=bond0\nMASTER_UUID=%s\nSLAVE=yes\n" % (name, uuid, UUIDS[0])
        for name, uuid in zip(("ib0", "ib1"), UUIDS[1:])
    },
}


@pytest.mark.parametrize("backend", ["networkmanager", "ifcfg"])
def test_a_bond_goes_on_with_its_ports(backend: str) -> None:
    kinds = {"networkmanager": (_networkmanager.DIRECTORY + "/%s", BOND_KEYS), "ifcfg": (_ifcfg.DIRECTORY + "/ifcfg-%s", BOND_VARIABLES)}
    pattern, texts = kinds[backend]
    files = {pattern % name: text for name, text in texts.items()}
    wanted, found = bonded(files, backend)
    todo = plan(wanted, found)
    assert dict(todo.continued) == dict(zip(("bond0", "ib0", "ib1"), UUIDS)) and set(todo.adopted) == set(files)
    assert todo.plan.about(Kind.INTERFACE) == ()
    if backend == "networkmanager":
        assert "master=%s\n" % UUID in files_of(todo)[_networkmanager.path_of("ib1")]
    assert not plan(wanted, then(found, todo)).plan


def test_options_of_a_bond_that_no_variable_expresses_are_refused() -> None:
    texts = {**BOND_VARIABLES, "bond0": BOND_VARIABLES["bond0"].replace("miimon=100", "miimon=100 num_grat_arp=3 updelay=200")}
    wanted, found = bonded({_ifcfg.path_of(name): text for name, text in texts.items()}, "ifcfg")
    with pytest.raises(Refused, match=r"BONDING_OPTS \.\.\. num_grat_arp in %s of bond0; BONDING_OPTS \.\.\. updelay in" % _ifcfg.path_of("bond0")):
        plan(wanted, found)


def test_the_uuid_of_a_file_without_one_is_that_of_its_path() -> None:
    """The expected values are what NetworkManager 1.42 has for these files."""
    assert NETWORKMANAGER.profile(KEYFILE, "[connection]\ntype=infiniband\n", node({}, {})) == "abdd158e-8794-353c-85b7-862534c4353a"
    assert IFCFG.profile(_ifcfg.path_of("eth0"), "DEVICE=eth0\n", node({}, {})) == "5fb06bd0-0bb0-7ffb-45f1-d6edd65f3e03"
    assert IFCFG.profile(_ifcfg.path_of("ib0", "route"), "default via 10.0.0.1\n", node({}, {})) == ""


def test_a_python_without_md5_tells_no_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: bytes, **options: t.Any) -> t.NoReturn:
        raise TypeError(options) if options else ValueError("disabled for FIPS")

    monkeypatch.setattr(hashlib, "md5", refuse)
    assert _networkmanager_profiles.of_keyfile(KEYFILE) == "" and IFCFG.profile(IFCFG_FILE, "DEVICE=ib0\n", node({}, {})) == ""
    assert IFCFG.profile(IFCFG_FILE, VARIABLES % UUID, node({}, {})) == UUID


def test_a_continued_profile_is_ours_after_nmcli_has_rewritten_it() -> None:
    path, text = next(iter(_networkmanager.render([WANTED], {"ib0": UUID}).items()))
    bare = text[len(HEADER) :]
    assert _networkmanager.is_ours(path, bare) and _networkmanager.continued({path: bare}) == {"ib0": UUID}
    assert not _networkmanager.is_ours(path, bare.replace("=ib0\n", "=ib1\n"))
    # What is no UUID does not get into a file of ours, or into a command.
    assert _networkmanager.continued({path: text.replace(UUID, "$(reboot)")}) == {}
    assert _networkmanager.continued(_networkmanager.render([WANTED])) == {}


@dataclasses.dataclass
class Commands:
    """Records commands; `nmcli` reports one active profile."""

    uuid: str
    said: str = ""
    broken: str = ""
    ran: list[str] = dataclasses.field(default_factory=list)

    def __call__(self, argv: t.Sequence[str], **_options: t.Any) -> t.Any:
        self.ran.append(" ".join(argv))
        if self.broken and self.broken in argv:
            raise CommandFailed("%s has no carrier" % self.broken)
        return dataclasses.make_dataclass("Done", ["rc", "stdout", "stderr"])(0, self.said or "rdma-ib0:%s:ib0:activated\n" % self.uuid, "")

    def has(self, name: str) -> bool:
        return True


@pytest.mark.parametrize("backend", ["networkmanager", "ifcfg"])
def test_an_interface_that_goes_on_is_not_activated(backend: str) -> None:
    path = KEYFILE if backend == "networkmanager" else IFCFG_FILE
    found = node({path: TEXTS[path]}, {"ib0": UUID}, backend)
    todo = plan(Wanted((WANTED,), backend, adopt=True), found)
    run = Commands(UUID)
    chosen = _registry.named(backend)
    driver = chosen.drive(
        t.cast("t.Any", Tools(t.cast("t.Any", run), t.cast("t.Any", None))), found._replace(taken=found.taken._replace(continued=todo.continued))
    )
    driver.apply(todo, list(files_of(todo)), found)
    assert "nmcli connection reload" in run.ran
    assert not [words for words in run.ran if " up " in words or "reapply" in words or "connect " in words]


@pytest.mark.parametrize(
    ("active", "more"),
    [("rdma-ib0:u:ib0:activated\n", ["nmcli connection up uuid %s" % UUIDS[1]]), ("theirs:u:ib0:activated\nport:u:ib1:activating\n", [])],
)
def test_profiles_that_are_given_back_are_brought_up(active: str, more: list[str]) -> None:
    """The bond before its ports, which it may bring up itself. A child has to be created."""
    _wanted, found = bonded({}, "networkmanager")
    child = Netdev("ib2.8001", "ipoib_child", parent="ib2", pkey="0x8001")
    found = found._replace(netdevs={**found.netdevs, "ib2.8001": child, "ib2": LIVE._replace(name="ib2")})
    run = Commands(UUID, said=active)
    driver = NETWORKMANAGER.drive(t.cast("t.Any", Tools(t.cast("t.Any", run), t.cast("t.Any", None))), found)
    driver.give_back({"ib1": UUIDS[1], "ib0": "", "ib2.8001": OTHER, "bond0": UUID, "ib2": ""}, found)
    commands = [words for words in run.ran if " up " in words or "connect " in words]
    first = ["nmcli connection up uuid %s" % UUID, "nmcli device connect ib2", "nmcli connection up uuid %s" % OTHER]
    assert commands == [*first, *more]


def test_one_profile_that_does_not_come_up_leaves_no_other_one_down() -> None:
    run = Commands(UUID, broken="ib0")
    driver = NETWORKMANAGER.drive(t.cast("t.Any", Tools(t.cast("t.Any", run), t.cast("t.Any", None))), node({}, {}))
    with pytest.raises(CommandFailed, match="ib0 has no carrier"):
        driver.give_back({"ib0": "", "ib1": ""}, node({}, {}))
    assert run.ran[-2:] == ["nmcli device connect ib0", "nmcli device connect ib1"]
