# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The method that a node gets, and the reasons against the others."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import SERVICE, STAMP_PATH, UNIT, UNITS, Device, Gpu, Peer, PeerMemory
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu_driver import Driver
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _input, _method
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found, found_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import decide, obstacles, problems_of
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data
from hypothesis import given
from hypothesis import strategies as st

KERNEL = "6.1.0-50-amd64"
PEER = Peer("nvidia_peermem", "nvidia_peermem", linked=True)
READY = Gpu(
    devices=(Device("0000:1a:00.0", driver="nvidia"),),
    driver=Driver("535.104.05", "open", True, "nvidia/535.104.05"),
    peers=(PEER, Peer("nv_peer_mem")),
    peer_memory=PeerMemory("ib_core", "ib_core", True),
)
INBOX = READY._replace(peers=(PEER._replace(linked=False),), peer_memory=PeerMemory(core=True))
STUB = READY._replace(peers=(PEER._replace(linked=False),))
OLD = READY._replace(driver=Driver("460.91.03", "proprietary", True), peers=())
CLOSED = Driver("535.104.05", "proprietary", True)
GONE = READY._replace(driver=READY.driver._replace(unbuilt=True), peers=())


def codes(method: str, gpu: Gpu, kernel: str = KERNEL, stack: str = "mlnx_ofed") -> list[str]:
    return [obstacle.code for obstacle in obstacles(method, Found(gpu, kernel, stack))]


@pytest.mark.parametrize(
    ("method", "gpu", "kernel", "stack", "expected"),
    [
        ("nvidia_peermem", READY, KERNEL, "mlnx_ofed", []),
        ("nvidia_peermem", READY._replace(driver=Driver()), KERNEL, "doca", ["no_driver"]),
        ("nvidia_peermem", OLD, KERNEL, "mlnx_ofed", ["driver_without_peermem"]),
        ("nvidia_peermem", READY._replace(peers=()), KERNEL, "mlnx_ofed", ["peermem_missing"]),
        ("nvidia_peermem", GONE, KERNEL, "mlnx_ofed", ["driver_unbuilt"]),
        ("nvidia_peermem", GONE._replace(peer_memory=PeerMemory()), KERNEL, "inbox", ["driver_unbuilt", "no_peer_memory"]),
        ("dmabuf", GONE, KERNEL, "inbox", ["driver_unbuilt"]),
        ("nv_peer_mem", OLD._replace(driver=OLD.driver._replace(unbuilt=True)), KERNEL, "mlnx_ofed", ["driver_unbuilt"]),
        ("nvidia_peermem", STUB, KERNEL, "mlnx_ofed", ["built_before_stack"]),
        ("nvidia_peermem", READY._replace(peers=(PEER._replace(other_build=True),)), KERNEL, "mlnx_ofed", ["built_on_other_stack"]),
        ("nvidia_peermem", INBOX, KERNEL, "inbox", ["no_peer_memory"]),
        ("nvidia_peermem", INBOX, KERNEL, "doca", ["stack_not_built"]),
        ("nvidia_peermem", READY._replace(peers=(PEER, Peer("nv_peer_mem", loaded=True))), KERNEL, "mlnx_ofed", ["legacy_loaded"]),
        ("nvidia_peermem", READY._replace(peers=(PEER, Peer("nv_peer_mem", loaded=True)), managed=(STAMP_PATH,)), KERNEL, "mlnx_ofed", []),
        ("nv_peer_mem", READY, KERNEL, "mlnx_ofed", ["superseded"]),
        ("nv_peer_mem", OLD, KERNEL, "mlnx_ofed", []),
        ("nv_peer_mem", OLD._replace(peer_memory=PeerMemory()), KERNEL, "inbox", ["no_peer_memory"]),
        ("dmabuf", INBOX, KERNEL, "inbox", []),
        ("dmabuf", READY, KERNEL, "mlnx_ofed", []),
        ("dmabuf", READY._replace(driver=CLOSED), KERNEL, "inbox", ["proprietary"]),
        ("dmabuf", READY, "5.4.0-200-generic", "inbox", ["kernel_without_dmabuf"]),
        ("dmabuf", READY, "5.14.0-427.el9.x86_64", "inbox", []),
        ("dmabuf", OLD, "4.18.0-553.el8.x86_64", "inbox", ["driver_without_dmabuf", "kernel_without_dmabuf"]),
    ],
)
def test_each_obstacle_is_told_apart(method: str, gpu: Gpu, kernel: str, stack: str, expected: list[str]) -> None:
    assert codes(method, gpu, kernel, stack) == expected
    for obstacle in obstacles(method, Found(gpu, kernel, stack)):
        text = str(obstacle.problem(method))
        assert all((obstacle.cause, obstacle.allowed, obstacle.next_step or obstacle.instead))
        assert all(part in text for part in (obstacle.cause, obstacle.allowed, obstacle.next_step, obstacle.instead, "gpudirect_method is '%s'" % method))


@pytest.mark.parametrize(
    ("gpu", "stack", "method", "words"),
    [
        (READY, "mlnx_ofed", "nvidia_peermem", "ib_core of the installed stack offers peer memory"),
        (INBOX, "inbox", "dmabuf", "not nvidia_peermem, as the inbox stack has no peer memory"),
        (STUB, "mlnx_ofed", "dmabuf", "not nvidia_peermem, as the GPU driver was built before the stack"),
        (OLD, "mlnx_ofed", "nv_peer_mem", "not dmabuf"),
        (Gpu(), "mlnx_ofed", "", "there is no NVIDIA GPU in this node"),
    ],
)
def test_auto_says_why(gpu: Gpu, stack: str, method: str, words: str) -> None:
    chosen = decide("auto", Found(gpu, KERNEL, stack))
    assert (chosen.name, chosen.obstacles) == (method, ())
    assert words in chosen.why


def test_auto_without_a_way_names_all_that_was_tried() -> None:
    gpu = INBOX._replace(driver=CLOSED)
    chosen = decide("auto", Found(gpu, KERNEL, "inbox"))
    assert chosen.name == ""
    assert [(obstacle.method, obstacle.code) for obstacle in chosen.obstacles] == [
        ("nvidia_peermem", "no_peer_memory"),
        ("dmabuf", "proprietary"),
        ("nv_peer_mem", "superseded"),
        ("nv_peer_mem", "no_peer_memory"),
    ]


def test_dmabuf_takes_one_adapter_that_can() -> None:
    assert decide("dmabuf", Found(INBOX, KERNEL, adapters=("mlx4_core", "mlx5_core"))).name == "dmabuf"
    assert decide("dmabuf", Found(INBOX, KERNEL, adapters=())).name == "dmabuf"
    (obstacle,) = decide("dmabuf", Found(INBOX, KERNEL, adapters=("mlx4_core", "mlx4_core"))).obstacles
    assert obstacle.code == "adapter_without_dmabuf"
    text = str(obstacle.problem("dmabuf"))
    for words in ("mlx4_core, which drives the adapters of this node", "an adapter from ConnectX-4 on", "use nvidia_peermem"):
        assert words in text
    # The facts read before any change show it as well.
    facts = {"gpu": {}, "kernels": {"running": KERNEL}, "adapters": [{"driver": "mlx4_core"}, {"driver": ""}]}
    assert found_of(facts).adapters == ("mlx4_core",)
    assert decide("auto", Found(READY, KERNEL, "mlnx_ofed", adapters=("mlx4_core",))).name == "nvidia_peermem"


def test_a_rebuild_needs_permission_and_a_source() -> None:
    assert decide("nvidia_peermem", Found(STUB, KERNEL, "doca"), True).rebuild
    assert "gpudirect_allow_rebuild" in decide("nvidia_peermem", Found(STUB, KERNEL, "doca")).obstacles[0].next_step
    ready_made = STUB._replace(driver=STUB.driver._replace(dkms=""))
    chosen = decide("nvidia_peermem", Found(ready_made, KERNEL, "doca"), True)
    assert (chosen.name, chosen.rebuild) == ("", False)
    assert "DKMS has no source" in chosen.obstacles[0].next_step
    # A correct build is not repeated, regardless of permissions.
    assert not decide("auto", Found(READY, KERNEL, "doca"), True).rebuild


def test_a_build_that_was_broken_off_is_resumed_or_told() -> None:
    for method in ("auto", "nvidia_peermem"):
        assert decide(method, Found(GONE, KERNEL, "doca"), True)[:1] == ("nvidia_peermem",)
        assert decide(method, Found(GONE, KERNEL, "doca"), True).rebuild
    refused = decide("auto", Found(GONE, KERNEL, "doca"))
    assert refused.name == ""
    steps = {obstacle.method: obstacle.next_step for obstacle in refused.obstacles if obstacle.code == "driver_unbuilt"}
    assert "gpudirect_allow_rebuild: true, or install it: dkms install nvidia/535.104.05 -k " + KERNEL in steps["nvidia_peermem"]
    assert steps["dmabuf"] == "install it: dkms install nvidia/535.104.05 -k " + KERNEL
    # Without peer memory, or without nvidia_peermem in the driver, the permission would not help.
    for gpu in (GONE._replace(peer_memory=PeerMemory()), OLD._replace(driver=OLD.driver._replace(dkms="nvidia/460.91.03", unbuilt=True))):
        helpless = decide("auto", Found(gpu, KERNEL, "inbox"), True)
        assert helpless.name == ""
        assert not any("gpudirect_allow_rebuild" in obstacle.next_step for obstacle in helpless.obstacles)


GPUS = st.builds(
    Gpu,
    devices=st.sampled_from([(), READY.devices]),
    driver=st.builds(
        Driver,
        st.sampled_from(["", "418.1", "460.91.03", "470.57.02", "515.43.04", "535.104.05", "strange"]),
        st.sampled_from(["", "open", "proprietary"]),
        st.booleans(),
        st.sampled_from(["", "nvidia/1"]),
        st.just(""),
        st.booleans(),
    ),
    peers=st.tuples(
        st.builds(Peer, st.just("nvidia_peermem"), st.sampled_from(["", "nvidia_peermem"]), st.booleans(), st.booleans(), st.booleans()),
        st.builds(Peer, st.just("nv_peer_mem"), st.sampled_from(["", "nv_peer_mem"]), st.booleans(), st.booleans(), st.booleans()),
    ),
    peer_memory=st.builds(PeerMemory, st.sampled_from(["", "ib_core"]), st.sampled_from(["", "ib_core"]), st.booleans()),
    masked=st.sampled_from([(), (UNIT,), (SERVICE,), UNITS]),
)
NODES = st.builds(Found, GPUS, st.sampled_from(["", "4.18.0", "5.11.9", "5.12.0", "6.1.0-50-amd64"]), st.sampled_from(["inbox", "none", "mlnx_ofed", "doca"]))


@given(st.sampled_from(_method.METHODS), NODES, st.booleans())
def test_a_decision_is_a_method_or_the_reasons(wanted: str, node: Found, allowed: bool) -> None:
    chosen = decide(wanted, node, allowed)
    assert chosen.why
    assert bool(chosen.name) != bool(chosen.obstacles or not node.gpu.devices)
    if chosen.name:
        assert wanted in ("auto", chosen.name)
        left = [obstacle.code for obstacle in obstacles(chosen.name, node)]
        assert len(left) == chosen.rebuild
        assert not left or left[0].startswith(("built_", "driver_unbuilt"))
    assert not chosen.rebuild or (allowed and bool(node.gpu.driver.dkms))


@given(NODES, st.booleans())
def test_auto_finds_a_way_where_one_that_is_named_would_do(node: Found, allowed: bool) -> None:
    named = [decide(method, node, allowed).name for method in ("nvidia_peermem", "dmabuf", "nv_peer_mem")]
    assert decide("auto", node, allowed).name == next((method for method in named if method), "")


@given(st.sampled_from(_method.METHODS), NODES, st.booleans())
def test_what_is_said_before_the_run_is_said_by_the_run(wanted: str, node: Found, allowed: bool) -> None:
    facts = {"gpu": as_data(node.gpu), "kernels": {"running": node.kernel}}
    early = {str(problem) for problem in _input.problems({"gpudirect_method": wanted}, facts)}
    chosen = decide(wanted, node, allowed)
    assert early <= {str(obstacle.problem(wanted)) for obstacle in chosen.obstacles}
    masks = _method.masks(wanted, found_of(facts))
    assert set(masks) <= set(chosen.obstacles)
    assert not ((early or masks) and chosen.name)


@pytest.mark.parametrize(
    ("gpu", "masked", "named"),
    [
        (INBOX._replace(driver=CLOSED), (UNIT,), [UNIT]),
        (INBOX._replace(driver=CLOSED), (SERVICE,), []),
        # DMA-BUF needs no unit.
        (INBOX, UNITS, []),
        (OLD, (SERVICE,), [SERVICE]),
        (OLD, (UNIT,), []),
    ],
)
def test_a_mask_that_leaves_auto_no_method_is_known_before_the_run(gpu: Gpu, masked: tuple[str, ...], named: list[str]) -> None:
    facts = {"gpu": as_data(gpu._replace(masked=masked)), "kernels": {"running": KERNEL}}
    refusals = _input.foreseen({"gpudirect_method": "auto"}, facts)
    assert [unit for unit in UNITS if "systemctl unmask " + unit in " ".join(refusals)] == named
    assert len(refusals) == len(named)
    # It is not part of the input, which all playbooks validate regardless of their tags.
    assert _input.problems({"gpudirect_method": "auto"}, facts) == []


def test_what_another_role_changes_is_not_judged_before_it() -> None:
    facts = {"gpu": as_data(INBOX), "kernels": {"running": KERNEL}}
    assert _input.problems({"gpudirect_method": "nvidia_peermem"}, facts) == []
    (problem,) = _input.problems({"gpudirect_method": "nv_peer_mem"}, facts)
    assert "superseded" not in str(problem)
    assert "has nvidia_peermem instead" in str(problem)
    assert _input.problems({"gpudirect_method": "nv_peer_mem", "gpudirect_state": "absent"}, facts) == []
    assert _input.problems({"gpudirect_method": "nv_peer_mem"}, {"gpu": as_data(Gpu()), "kernels": {"running": KERNEL}}) == []
    assert _input.problems({"gpudirect_method": "nv_peer_mem"}, {}) == []


WRONG: dict[str, t.Sequence[t.Any]] = {
    "gpudirect_method": ("peermem", None, 1, ["auto"]),
    "gpudirect_state": ("off", None, True),
    "gpudirect_peerdirect_support": ("2", 2, True, None),
    "gpudirect_allow_rebuild": ("perhaps", 2, None),
    "gpudirect_timeout": (0, "59", "1h", True, 10**9),
    "gpudirect_source": ("nv.tar.gz", "http://x/y.git", None, "/srv/x.zip", "https://a b"),
    "gpudirect_commit": ("master", "d9a0a12", None, "D" * 40),
    "gpudirect_checksum": ("md5:1", None, "sha256:" + "A" * 64),
}


@pytest.mark.parametrize(("name", "value"), [pair for name, values in WRONG.items() for pair in itertools.product([name], values)])
def test_wrong_input_is_named(name: str, value: t.Any) -> None:
    (problem,) = _input.problems({name: value})
    assert (problem.variable, problem.value) == (name, value)


def test_right_input() -> None:
    assert _input.problems({}) == []
    for support in ("auto", "0", "1", 0, 1):
        assert _input.problems({"gpudirect_peerdirect_support": support}) == []
    archive = {"gpudirect_source": "/srv/nv_peer_memory.tar.gz"}
    assert [problem.variable for problem in _input.problems(archive)] == ["gpudirect_checksum"]
    assert _input.problems({**archive, "gpudirect_checksum": "sha256:" + "0" * 64}) == []


@given(st.dictionaries(st.sampled_from(sorted(WRONG)), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=3)))
def test_input_of_any_type_is_judged(variables: dict[str, t.Any]) -> None:
    assert all(problem.variable in WRONG for problem in _input.problems(variables))


def test_auto_is_told_each_cause_once_and_sent_nowhere_in_a_circle() -> None:
    bare = Found(READY._replace(driver=Driver()), KERNEL)
    (problem,) = problems_of(decide("auto", bare), "auto")
    assert "NVIDIA's driver is not installed" in str(problem)
    closed = Found(INBOX._replace(driver=CLOSED), KERNEL)
    lines = [str(problem) for problem in problems_of(decide("auto", closed), "auto")]
    assert len(lines) == 3
    assert not any("or use" in line or "or auto" in line or line.endswith("; )") for line in lines)
    assert "or use nvidia_peermem" in str(problems_of(decide("dmabuf", closed), "dmabuf")[0])


@pytest.mark.parametrize("value", ["yes", "False", 1])
def test_words_of_the_command_line_are_switches(value: object) -> None:
    assert _input.problems({"gpudirect_method": "auto", "gpudirect_allow_rebuild": value, "gpudirect_timeout": "3600"}) == []
