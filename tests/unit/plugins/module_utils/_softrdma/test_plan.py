# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Software RDMA links without a node: input, units, the output of rdma(8), and the plan."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _soft_links
from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import Link
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma import _input, _plan
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._found import Found, Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _ip
from hypothesis import given, settings
from hypothesis import strategies as st

GOLDEN = pathlib.Path(__file__).parent / "golden"

RXE = Link("rxe0", "rxe", "eth0")
SIW = Link("siw_lan", "siw", "br-lan")
RDMA_LINK = (
    '[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP"},'
    '{"ifindex":1,"ifname":"rxe0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth0","netdev_index":2}]\n'
)
BARE = Found(
    hardware=frozenset({"mlx5_0"}),
    netdevs={"eth0": Netdev("1"), "br-lan": Netdev("1"), "eth0.7": Netdev("1", vlan=True), "ib0": Netdev("32"), "lo": Netdev("772")},
    catalogue=Catalogue(loadable=frozenset({"rdma_rxe", "siw"})),
    release="6.1.0-50-amd64",
)


def made(*links: Link) -> Found:
    """Return the node after a run."""
    return BARE._replace(
        links={link.name: link for link in links},
        files=_plan.render(links),
        units={_soft_links.unit_of(link.name): Unit(_soft_links.unit_of(link.name), load="loaded", enabled="enabled") for link in links},
    )


def words(links: t.Sequence[Link], node: Found) -> list[str]:
    return [change.words() for change in _plan.plan(links, node).changes]


def test_golden_units(tmp_path: pathlib.Path) -> None:
    files = _plan.render((RXE, SIW))
    text = "".join("==> %s\n%s" % (path, content) for path, content in sorted(files.items()))
    golden = GOLDEN / "units.txt"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert _soft_links.records(files) == {"rxe0": RXE, "siw_lan": SIW}
    assert _soft_links.records({path: content.split("\n", 1)[1] for path, content in files.items()}) == {}
    if shutil.which("systemd-analyze"):
        for path, content in files.items():
            (tmp_path / os.path.basename(path)).write_text(content, encoding="utf-8")
        paths = [str(path) for path in sorted(tmp_path.iterdir())]
        done = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", *paths], check=False, capture_output=True, text=True)
        assert "rdma-ofed-link" not in done.stderr, done.stderr


@pytest.mark.parametrize(("netdev", "escaped"), [("eth0", "eth0"), ("br-lan", "br\\x2dlan"), ("eth0.7", "eth0.7"), ("en_a", "en_a")])
def test_systemd_names_of_interfaces(netdev: str, escaped: str) -> None:
    assert _plan.device_unit(netdev) == "sys-subsystem-net-devices-%s.device" % escaped
    if shutil.which("systemd-escape"):
        done = subprocess.run(
            ["systemd-escape", "--path", "--suffix=device", "/sys/subsystem/net/devices/" + netdev], check=True, capture_output=True, text=True
        )
        assert done.stdout.strip() == _plan.device_unit(netdev)


def test_what_rdma_prints() -> None:
    assert _ip.parse_rdma_netdevs(RDMA_LINK) == {"mlx5_0": "", "rxe0": "eth0"}
    assert _ip.parse_rdma_netdevs('[{"ifname":"rxe0/1","netdev":"eth0"}, {}, 7]') == {"rxe0": "eth0"}
    assert _ip.parse_rdma_netdevs("") == _ip.parse_rdma_netdevs("[]") == {}


@pytest.mark.parametrize("text", ["link rxe0/1 state ACTIVE", "{}", "[" * 100000])
def test_what_rdma_never_prints(text: str) -> None:
    with pytest.raises(UnexpectedOutput, match="rdma -j link"):
        _ip.parse_rdma_netdevs(text)


@pytest.mark.parametrize(
    ("virtual", "node_type", "expected"), [(True, "1: CA", "rxe"), (True, "4: RNIC", "siw"), (False, "1: CA", ""), (True, "6: usnic UDP", ""), (True, "", "")]
)
def test_types_of_devices(virtual: bool, node_type: str, expected: str) -> None:
    assert _soft_links.type_of(virtual, node_type) == expected


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ([], []),
        ([RXE._asdict(), SIW._asdict()], []),
        ([RXE._asdict(), {"name": "siw0", "type": "siw", "netdev": "eth0"}], []),
        ("rxe0", ["soft_rdma_links is 'rxe0'"]),
        (["rxe0", None], ["soft_rdma_links[0] is 'rxe0'", "soft_rdma_links[1] is not set"]),
        ([{}], ["soft_rdma_links[0].name is not set", "soft_rdma_links[0].type is not set", "soft_rdma_links[0].netdev is not set"]),
        ([dict(RXE._asdict(), name="0rxe")], ["soft_rdma_links[0].name is '0rxe'"]),
        ([dict(RXE._asdict(), name="rxe0\n")], ["soft_rdma_links[0].name is 'rxe0\\n'"]),
        ([dict(RXE._asdict(), name="a" * 64)], ["soft_rdma_links[0].name"]),
        ([dict(RXE._asdict(), type="roce")], ["soft_rdma_links[0].type is 'roce'; allowed: rxe, siw"]),
        ([dict(RXE._asdict(), type=["rxe"])], ["soft_rdma_links[0].type is ['rxe']"]),
        ([dict(RXE._asdict(), netdev="a/b")], ["soft_rdma_links[0].netdev is 'a/b'"]),
        ([dict(RXE._asdict(), mtu=1)], ["soft_rdma_links[0].mtu is 1; allowed: only the keys"]),
        ([RXE._asdict(), dict(SIW._asdict(), name="rxe0")], ["soft_rdma_links[1].name is 'rxe0'"]),
        ([RXE._asdict(), dict(RXE._asdict(), name="rxe1")], ["soft_rdma_links[1].netdev is 'eth0'"]),
    ],
)
def test_input(links: t.Any, found: list[str]) -> None:
    problems = [str(problem) for problem in _input.problems({"soft_rdma_links": links})]
    assert len(problems) == len(found)
    assert all(problem.startswith(start) for problem, start in zip(problems, found)), problems


def test_wrong_state() -> None:
    assert [problem.variable for problem in _input.problems({"soft_rdma_state": ["absent"]})] == ["soft_rdma_state"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6))
@settings(max_examples=settings.default.max_examples + 10)
def test_no_input_raises(value: t.Any) -> None:
    _input.problems({"soft_rdma_links": value, "soft_rdma_state": value})
    _input.problems({"soft_rdma_links": [{"name": value, "type": value, "netdev": value}]})


def test_a_fresh_node() -> None:
    assert _plan.check((RXE, SIW), BARE) == []
    assert words((RXE, SIW), BARE) == [
        "create file /etc/systemd/system/rdma-ofed-link-rxe0.service",
        "create file /etc/systemd/system/rdma-ofed-link-siw_lan.service",
        "service rdma-ofed-link-rxe0.service enabled: no -> yes",
        "service rdma-ofed-link-siw_lan.service enabled: no -> yes",
        "link rxe0: none -> rxe on eth0",
        "link siw_lan: none -> siw on br-lan",
    ]
    assert words((RXE, SIW), made(RXE, SIW)) == []


def test_what_is_not_declared_any_more_goes() -> None:
    assert words((SIW,), made(RXE, SIW)) == [
        "link rxe0: rxe on eth0 -> none",
        "service rdma-ofed-link-rxe0.service enabled: yes -> no",
        "remove file /etc/systemd/system/rdma-ofed-link-rxe0.service",
    ]


def test_a_link_that_moves_is_made_anew() -> None:
    assert words((RXE._replace(netdev="br-lan"),), made(RXE)) == [
        "link rxe0: rxe on eth0 -> none",
        "edit file /etc/systemd/system/rdma-ofed-link-rxe0.service",
        "link rxe0: none -> rxe on br-lan",
    ]


def test_a_renamed_link_frees_its_interface_first() -> None:
    renamed = RXE._replace(name="rxe_eth0")
    assert _plan.check((renamed,), made(RXE)) == []
    changes = words((renamed,), made(RXE))
    assert changes[0] == "link rxe0: rxe on eth0 -> none"
    assert changes[-1] == "link rxe_eth0: none -> rxe on eth0"


def test_what_somebody_deleted_comes_back() -> None:
    assert words((RXE,), made(RXE)._replace(links={})) == ["link rxe0: none -> rxe on eth0"]
    assert words((), made(RXE)._replace(links={}))[0].startswith("service")


def test_links_of_others_stay() -> None:
    node = BARE._replace(links={"rxe9": Link("rxe9", "rxe", "br-lan")})
    assert words((), node) == []
    assert words((RXE,), node)[-1] == "link rxe0: none -> rxe on eth0"


@pytest.mark.parametrize(
    ("link", "node", "found"),
    [
        (RXE._replace(name="mlx5_0"), BARE, "an RDMA adapter of this node has it"),
        (RXE, BARE._replace(links={"rxe0": Link("rxe0", "rxe", "eth1")}), "rdma link delete rxe0"),
        (RXE, BARE._replace(links={"rxe9": Link("rxe9", "rxe", "eth0")}), "rxe9 is one, and does not belong to this collection"),
        (RXE._replace(netdev="eth9"), BARE, "no such network interface on this node"),
        (RXE._replace(netdev="ib0"), BARE, "its hardware type is 32"),
        (RXE._replace(netdev="eth0.7"), BARE, "the interface below the VLAN"),
        (RXE, BARE._replace(files={_soft_links.path_of("rxe0"): "[Unit]\n"}), "does not belong to this collection"),
    ],
)
def test_what_the_node_can_not_have(link: Link, node: Found, found: str) -> None:
    problems = _plan.check((link,), node)
    assert len(problems) == 1
    assert found in str(problems[0])


def test_a_link_that_somebody_made_as_it_is_declared_is_taken_over() -> None:
    node = BARE._replace(links={"rxe0": RXE})
    assert _plan.check((RXE,), node) == []
    assert words((RXE,), node) == [
        "create file /etc/systemd/system/rdma-ofed-link-rxe0.service",
        "service rdma-ofed-link-rxe0.service enabled: no -> yes",
    ]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert len(_plan.check((RXE._replace(netdev="eth8"), SIW._replace(netdev="eth9")), BARE)) == 2


def test_siw_is_made_on_a_vlan() -> None:
    assert _plan.check((SIW._replace(netdev="eth0.7"),), BARE) == []


@pytest.mark.parametrize(("container", "text"), [(False, "kernel 6.1.0-50-amd64 has no module siw: install"), (True, "this is a container")])
def test_a_kernel_without_the_driver(container: bool, text: str) -> None:
    node = BARE._replace(catalogue=Catalogue(loadable=frozenset({"rdma_rxe"})), container=container)
    assert _plan.check((RXE,), node) == []
    problems = _plan.check((RXE._replace(netdev="eth9"), SIW), node)
    assert [problem.variable for problem in problems] == ["soft_rdma_links[0].netdev", "soft_rdma_links[1].type"]
    assert text in str(problems[1])
    assert _plan.check((SIW,), node._replace(loaded=frozenset({"siw"}))) == []
    assert _plan.check((), node) == []
