# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import random
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import (
    DRACUT_PATH,
    HOOK_PATH,
    LOAD_PATH,
    NAMING_PATH,
    OPTIONS_PATH,
    RDMA_PATH,
    Directive,
    Entry,
    Naming,
    dracut_text,
    hook_text,
    load_text,
    naming_text,
    options_text,
)
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._discovery import read
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found, Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._handmade import Reader, SeenOfStack, parse_dracut, read_early, seen_of_stack
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import SERVICES_PATH, SESSIONS_PATH, Daemon, Limit, Line, services_text, sessions_text
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._wanted import USUAL, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._schema._kernel_modules import OPTIONS
from support import drawn, hostile

LOADED = dict.fromkeys(USUAL, False)
FACTS = {"os": {"family": "Debian"}}
SESSION = Line("/etc/security/limits.d/rdma.conf", 1, "unlimited")
SERVICE = Line("/etc/systemd/system.conf", 9, "unlimited")


def values(found: Found) -> dict[str, t.Any]:
    reading = read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=found))))
    declared = {value.variable: value.value for value in reading.values}
    assert problems(declared) == []
    return declared


def left(found: Found) -> str:
    return "\n".join("%s: %s" % each for each in read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=found)))).left)


def option(rest: str, kind: str = "options", path: str = "/etc/modprobe.d/site.conf") -> Found:
    return Found(loaded=LOADED, directives=(Directive(kind, "ib_ipoib", rest, path, 3),))


@pytest.mark.parametrize(("link", "loaded", "told"), [("InfiniBand", False, True), ("InfiniBand", True, False), ("Ethernet", False, False)])
def test_a_host_on_which_the_subnet_manager_can_not_be_queried_is_named(link: str, loaded: bool, told: bool) -> None:
    facts = {**FACTS, "ports": [{"name": "mlx5_0/1", "device": "mlx5_0", "port": 1, "port_guid": "0x1", "link_layer": link, "state": "ACTIVE"}]}
    found = Found(loaded=dict.fromkeys(["ib_ipoib", *(["ib_umad"] if loaded else [])], False))
    reading = read(Subject("node1", facts=facts, found=SeenOfStack(Seen(found=found))))
    assert any("ib_umad" in each.what for each in reading.left) == told


def test_what_is_loaded_and_what_is_listed_and_loaded() -> None:
    entries = (Entry("ib_srpt", "/etc/modules-load.d/x.conf", 1), Entry("rdma_rxe", "/etc/modules-load.d/x.conf", 2))
    found = Found(loaded={"ib_umad": False, "ib_srpt": False}, entries=entries)
    assert values(found)["kernel_modules_load"] == ["ib_umad", "ib_srpt"]
    assert "rdma_rxe, which /etc/modules-load.d/x.conf line 2 lists: it is not loaded now" in left(found)


def test_the_lists_of_the_package_declare_nothing() -> None:
    found = Found(loaded={**LOADED, "ib_iser": False, "ib_isert": False}, rdma_core=True, entries=(Entry("ib_iser", "/etc/rdma/modules/rdma.conf", 9),))
    assert values(found)["kernel_modules_load"] == list(USUAL)


def test_our_list_where_there_is_one_of_the_package_too() -> None:
    found = Found(loaded=LOADED, rdma_core=True, files={LOAD_PATH: load_text(["ib_srpt"])})
    assert values(found)["kernel_modules_mechanism"] == "modules-load.d"
    assert values(found)["kernel_modules_load"] == [*USUAL, "ib_srpt"]


def test_options_of_others_and_ours() -> None:
    found = option('send_queue_size=512 debug="1"')._replace(files={OPTIONS_PATH: options_text({"mlx5_core": {"prof_sel": "3"}})})
    assert values(found)["kernel_modules_options"] == {"ib_ipoib": {"debug": 1, "send_queue_size": 512}, "mlx5_core": {"prof_sel": 3}}


@pytest.mark.parametrize("text", [*hostile.NAMES, "", '"a b"'])
def test_an_option_that_can_not_be_declared_is_named(text: str) -> None:
    found = option("send_queue_size=%s" % text)
    reading = read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=found))))
    assert problems({value.variable: value.value for value in reading.values}) == []
    declared = {value.variable: value.value for value in reading.values}.get("kernel_modules_options", {})
    assert declared or "option send_queue_size of ib_ipoib" in left(found)


def test_the_word_for_files_of_others_is_named_where_there_are_any() -> None:
    listed = (Entry("ib_umad", "/etc/modules-load.d/site.conf", 1), Entry("ib_uverbs", RDMA_PATH, 1))
    for found, expected in (
        (option("send_queue_size=512")._replace(entries=listed), {"kernel_modules_load", "kernel_modules_options"}),
        (Found(loaded=LOADED, files={OPTIONS_PATH: options_text({"mlx5_core": {"prof_sel": "3"}})}, entries=listed[1:]), set()),
    ):
        reading = read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=found))))
        assert {value.variable for value in reading.values if "kernel_modules_adopt: true" in value.source} == expected
    lower = Seen(found=Found(may_raise=True, session_limits=(SESSION._replace(value="64"),)), limits={"memlock": {"session": "64"}})
    (danger,) = read(Subject("node1", facts=FACTS, found=SeenOfStack(lower))).dangers
    assert "kernel_modules_adopt: true, because files set lower limits" in danger


def test_other_lines_of_others_are_named_and_those_of_packages_are_not() -> None:
    assert "/etc/modprobe.d/site.conf line 3: blacklist ib_ipoib" in left(option("", kind="blacklist"))
    assert left(option("pre: x", kind="softdep", path="/etc/modprobe.d/mlx4.conf")) == ""
    assert "kernel_modules_options" not in values(option("a=1", path="/usr/lib/modprobe.d/x.conf"))


def test_a_running_module_with_another_value() -> None:
    found = option("send_queue_size=512")._replace(live={"ib_ipoib": {"send_queue_size": "128"}})
    (danger,) = read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=found)))).dangers
    assert danger == "ib_ipoib runs with send_queue_size=128, and the files say 512: the next load of the driver changes it"


def test_what_a_run_would_refuse_is_named_and_not_declared() -> None:
    catalogue = Catalogue(frozenset(["ib_umad", "ib_ipoib", "ib_srpt"]))
    blacklist = Directive("blacklist", "ib_srpt", "", "/etc/modprobe.d/a.conf", 1)
    options = Directive("options", "ib_ipoib", "what=1 send_queue_size=big recv_queue_size=9", "/etc/modprobe.d/a.conf", 2)
    gone = Directive("options", "ib_old", "a=1", "/etc/modprobe.d/a.conf", 3)
    found = Found(
        loaded={"ib_umad": False, "ib_srpt": False},
        catalogue=catalogue,
        entries=(Entry("ib_srpt", "/etc/modules-load.d/x.conf", 1),),
        directives=(blacklist, options, gone),
        parameters={"ib_ipoib": {"send_queue_size": "int", "recv_queue_size": "int"}},
        files={HOOK_PATH: hook_text(["ib_ipoib"])},
    )
    declared = values(found)
    assert declared == {"kernel_modules_load": ["ib_umad"], "kernel_modules_options": {"ib_ipoib": {"recv_queue_size": 9}}, "kernel_modules_memlock": "keep"}
    for words in (
        "loaded module ib_srpt: a run would refuse it",
        "option what of ib_ipoib",
        "option send_queue_size of ib_ipoib",
        "option a of ib_old",
        "drivers of the initramfs (ib_ipoib): a run would refuse them",
    ):
        assert words in left(found)


def test_drivers_and_arguments_of_the_initramfs() -> None:
    ours = {DRACUT_PATH: dracut_text(False, ["mlx5_ib"], ["rd.neednet=1"]), HOOK_PATH: hook_text(["ib_ipoib"])}
    early = (Entry("ib_iser", "/etc/initramfs-tools/modules", 4),)
    node = Found(loaded=LOADED, files=ours, dracut=True, dracut_network=True)
    reading = read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=node), early)))
    declared = {value.variable: value.value for value in reading.values}
    assert declared["kernel_modules_initramfs_drivers"] == ["ib_ipoib", "ib_iser", "mlx5_ib"]
    assert declared["kernel_modules_initramfs_cmdline"] == ["rd.neednet=1"]


def test_the_drivers_that_others_add_to_the_initramfs(tmp_path: pathlib.Path) -> None:
    assert [entry.name for entry in parse_dracut("", '# no\nadd_drivers+=" mlx5-ib xfs "\nforce_drivers+="ib_ipoib"\nomit_drivers+=" ib_iser "\n')] == [
        "mlx5_ib",
        "xfs",
        "ib_ipoib",
    ]
    for name, text in (("initramfs-tools/modules", "# x\nib_ipoib\next4\n"), ("dracut.conf.d/a.conf", 'add_drivers+=" mlx5_ib "\n')):
        (tmp_path / "etc" / name).parent.mkdir(parents=True)
        (tmp_path / "etc" / name).write_text(text, encoding="utf-8")
    (tmp_path / DRACUT_PATH[1:]).write_text('force_drivers+=" ib_iser "\n', encoding="utf-8")
    assert read_early(str(tmp_path)) == (Entry("ib_ipoib", "/etc/initramfs-tools/modules", 2), Entry("mlx5_ib", "/etc/dracut.conf.d/a.conf", 1))


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        (Found(), "keep"),
        (Found(session_limits=(SESSION,), service_limits=(SERVICE,)), "unlimited"),
        (Found(session_limits=(SESSION._replace(value="64"),), service_limits=(SERVICE._replace(value="64"),)), 64),
        (Found(session_limits=(SESSION,)), "keep"),
        (Found(session_limits=(SESSION,), service_limits=(SERVICE._replace(value="64"),)), "keep"),
        (Found(session_limits=(SESSION._replace(value="{{ 7 * 7 }}"),), service_limits=(SERVICE._replace(value="{{ 7 * 7 }}"),)), "keep"),
        (Found(files={SESSIONS_PATH: sessions_text([Limit("memlock", "1024")]), SERVICES_PATH: services_text([Limit("memlock", "1024")])}), 1024),
        (Found(files={SESSIONS_PATH: sessions_text([Limit("memlock", "unlimited")])}), "unlimited"),
    ],
)
def test_the_limit_of_locked_memory(found: Found, limit: t.Any) -> None:
    assert values(found)["kernel_modules_memlock"] == limit


def test_the_limit_of_open_files_is_ours_or_unmanaged() -> None:
    ours = values(Found(files={SESSIONS_PATH: sessions_text([Limit("memlock", "64"), Limit("nofile", "65536")])}))
    assert (ours["kernel_modules_memlock"], ours["kernel_modules_nofile"]) == (64, 65536)
    other = (SESSION._replace(value="1024", resource="nofile"), SERVICE._replace(value="1024", resource="nofile"))
    theirs = values(Found(session_limits=other[:1], service_limits=other[1:]))
    assert (theirs["kernel_modules_memlock"], "kernel_modules_nofile" in theirs) == ("keep", False)


def test_limits_that_are_too_low_are_dangerous() -> None:
    seen = Seen(
        found=Found(may_raise=True, daemons=(Daemon("slurmd", "slurmd.service", "64"),)), limits={"memlock": {"session": "8192", "service": "unlimited"}}
    )
    dangers = read(Subject("node1", facts=FACTS, found=SeenOfStack(seen))).dangers
    assert [danger.partition(":")[0] for danger in dangers] == [
        "memory locked by a session is limited to 8192 KiB",
        "slurmd.service passes a limit of 64 KiB of locked memory on to what it starts",
    ]


@pytest.mark.parametrize("policy", ["kernel", "persistent"])
def test_the_names_of_devices(policy: str) -> None:
    rule = {NAMING_PATH: naming_text("", Naming(policy))}
    device = "mlx5_0" if policy == "kernel" else "ibp3s0"
    assert values(Found(files=rule, devices=(device,)))["kernel_modules_device_names"] == policy
    reading = read(Subject("node1", facts=FACTS, found=SeenOfStack(Seen(found=Found(files=rule, devices=("mlx5_0", "ibp3s0"))))))
    assert "another name: the next boot renames it" in reading.dangers[0]
    assert "it has no rule" in left(Found(files={NAMING_PATH: "# nothing"}))


def test_a_look_for_whatever_module_of_the_stack_there_is(tmp_path: pathlib.Path) -> None:
    found = Found(
        loaded={"mlx5_core": False, "ext4": False},
        directives=(
            Directive("options", "mlx5_core", "prof_sel=3", "/etc/modprobe.d/a.conf", 1),
            Directive("options", "ext4", "", "/etc/modprobe.d/a.conf", 2),
        ),
        entries=(Entry("ib_srpt", "/etc/modules-load.d/a.conf", 1), Entry("loop", "/etc/modules-load.d/a.conf", 2)),
    )
    seen = seen_of_stack(found, Reader(lambda module: {"of": module}, lambda module: {"a": "int"}), root=str(tmp_path), usual=USUAL).seen
    assert {"mlx5_core", "ib_srpt", *USUAL} == seen.names
    assert seen.found.live == {"mlx5_core": {"of": "mlx5_core"}}
    assert [each.module for each in seen.found.directives] == ["mlx5_core"]
    assert [each.name for each in seen.found.entries] == ["ib_srpt"]


def test_what_was_declared_applied_and_forgotten_is_declared_again() -> None:
    """In the world of the planner: the files of its plan are those of the node."""
    chance = random.Random(3)
    for _round in range(1000):
        wanted, node = drawn.with_modules(chance, drawn.kernel_modules(chance))
        assert not plan(wanted, node)
        declared = values(node)
        options = {name: declared.get("kernel_modules_" + name, entry["default"]) for name, entry in OPTIONS.items()}
        again = wanted_of(options)
        assert not plan(again, node), (wanted, again)
        assert again._replace(mechanism="") == wanted._replace(mechanism="")
