# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._initramfs import Image
from ansible_collections.rdma.ofed.plugins.module_utils._host._saved import Saved, settled
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._check import check, need_modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import (
    BEGIN,
    DRACUT_PATH,
    END,
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
    naming_text,
    parse_list,
    without_block,
)
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._plan import (
    changed_options,
    conflicts,
    drivers_changed,
    pending,
    plan,
    rule_changed,
    same_value,
    without_effect,
)
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._saved import LEDGER
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._wanted import Wanted, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from hypothesis import given
from hypothesis import strategies as st

POOL = ("ib_ipoib", "ib_srp", "ib_umad", "ib_uverbs", "mlx5_core", "rdma_ucm", "rpcrdma")
CATALOGUE = Catalogue(frozenset(POOL), frozenset({"ib_core"}), {"svcrdma": "rpcrdma", "xprtrdma": "rpcrdma"}, frozenset({"mlx5_core"}))
RDMA_TEXT = "# a comment\nib_iser\nib_uverbs\nrdma_ucm\nxprtrdma\nsvcrdma\n"
ENTRIES = (
    *parse_list(RDMA_PATH, RDMA_TEXT),
    Entry("ib_ipoib", "/etc/rdma/modules/infiniband.conf", 3),
    Entry("ib_umad", "/etc/rdma/modules/infiniband.conf", 6),
)
NODE = Found(release="6.1", installed=("6.1",), catalogue=CATALOGUE, rdma_core=True, files={RDMA_PATH: RDMA_TEXT}, entries=ENTRIES)
SITE = "/etc/modprobe.d/site.conf"
BARE = Found(release="6.1", installed=("6.1",), catalogue=CATALOGUE)
DEFAULT = ("ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib")

LOAD = st.lists(st.sampled_from((*POOL, "svcrdma", "xprtrdma", "ib_core")), max_size=8)
OPTIONS = st.dictionaries(st.sampled_from(POOL), st.dictionaries(st.sampled_from(("a", "b")), st.sampled_from(("1", "2")), min_size=1), max_size=3)
FOUND = st.builds(
    Found,
    release=st.just("6.1"),
    installed=st.just(("6.1",)),
    catalogue=st.just(CATALOGUE),
    loaded=st.dictionaries(st.sampled_from(POOL), st.booleans()),
    rdma_core=st.booleans(),
    files=st.fixed_dictionaries(
        {
            RDMA_PATH: st.sampled_from(("", RDMA_TEXT, RDMA_TEXT.strip(), RDMA_TEXT + BEGIN + "ib_srp\n" + END)),
            OPTIONS_PATH: st.sampled_from(("", HEADER + "options ib_ipoib a=1\n", "options ib_srp b=2\n")),
            DRACUT_PATH: st.sampled_from(("", dracut_text(True, {"ib_srp"}))),
            HOOK_PATH: st.sampled_from(("", hook_text({"ib_srp"}))),
            LOAD_PATH: st.sampled_from(("", HEADER + "ib_srp\n")),
            NAMING_PATH: st.sampled_from(("", naming_text("", Naming("kernel")), naming_text("", Naming("persistent")), "# of others\n")),
        }
    ),
    dracut=st.booleans(),
    initramfs_tools=st.booleans(),
    devices=st.sampled_from(((), ("mlx5_0", "ibp3s0"))),
    entries=st.sampled_from(((), ENTRIES)),
    others=st.none(),
    saved=st.sampled_from(({}, {SITE: Saved("# site\n", "", (), "/var/backups/rdma-ofed" + SITE, pending=True)})),
)


def declared(load: t.Iterable[str] = DEFAULT, **more: t.Any) -> Wanted:
    defaults = {"state": "present", "options": {}, "mechanism": "auto", "load_now": True, "initramfs_drivers": (), "initramfs_cmdline": ()}
    return wanted_of({**defaults, "load": list(load), "device_names": "unmanaged", "memlock": "keep", **more})


def applied(found: Found, todo: Plan) -> Found:
    """Return the node after the plan."""
    for change in todo.changes:
        if change.subject == LEDGER.path:
            found = found._replace(saved=settled(found.saved, ()))
        elif change.kind == Kind.FILE:
            found = found._replace(files={**found.files, change.subject: change.after})
        elif change.kind == Kind.MODULE:
            found = found._replace(loaded={**found.loaded, change.subject: False})
        elif change.kind == Kind.INITRAMFS:
            found = found._replace(stale=tuple(path for path in found.stale if path != change.subject))
    return found


def words(todo: Plan) -> list[str]:
    return [change.words() for change in todo.changes]


def test_a_fresh_node_with_rdma_core_needs_only_the_loading() -> None:
    assert words(plan(declared(), NODE)) == ["module %s: not loaded -> loaded" % name for name in ("ib_ipoib", "ib_umad", "ib_uverbs", "rdma_ucm")]


def test_a_fresh_node_without_rdma_core_gets_a_file() -> None:
    todo = plan(declared(("ib_umad", "mlx5_core", "ib_core")), BARE)
    assert todo.changes[0].after == HEADER + "ib_umad\n"
    assert words(todo) == ["create file " + LOAD_PATH, "module ib_umad: not loaded -> loaded", "module mlx5_core: not loaded -> loaded"]


def test_what_the_lists_lack_goes_into_our_block() -> None:
    todo = plan(declared(("ib_srp", "ib_umad")), NODE._replace(loaded={"ib_srp": False, "ib_umad": False}))
    assert todo.changes[0].after == RDMA_TEXT + BEGIN + "ib_srp\n" + END
    assert words(todo) == ["edit file " + RDMA_PATH]


def test_aliases_are_the_module_behind_them() -> None:
    assert words(plan(declared(("svcrdma", "xprtrdma")), NODE)) == ["module rpcrdma: not loaded -> loaded"]
    assert not plan(declared(("rpcrdma",)), NODE._replace(loaded={"rpcrdma": False}))


def test_options_come_first_then_images_then_modules() -> None:
    wanted = declared(("ib_srp",), options={"ib-srp": {"a": True}})
    assert words(plan(wanted, NODE, [Image("6.1", "/boot/initrd.img-6.1")])) == [
        "create file " + OPTIONS_PATH,
        "initramfs /boot/initrd.img-6.1: holds a module with other options -> rebuilt",
        "edit file " + RDMA_PATH,
        "module ib_srp: not loaded -> loaded",
    ]
    assert changed_options(wanted, NODE) == {"ib_srp"}


def test_absent_removes_ours_and_unloads_nothing() -> None:
    wanted = declared(options={"ib_ipoib": {"a": 1}})
    gone = declared(options={"ib_ipoib": {"a": 1}}, state="absent")
    node = applied(NODE, plan(wanted, NODE))
    assert words(plan(gone, node)) == ["remove file " + OPTIONS_PATH]
    assert not plan(gone, NODE)


def test_nothing_is_loaded_into_the_kernel_that_builds_an_image() -> None:
    assert not plan(declared(load_now=False), NODE)


@given(FOUND, LOAD, OPTIONS, st.sampled_from(("auto", "modules-load.d")), st.randoms())
def test_properties(found: Found, load: list[str], options: dict[str, dict[str, str]], mechanism: str, random: t.Any) -> None:
    wanted = declared(load, options=options, mechanism=mechanism)
    todo = plan(wanted, found)
    assert all(change.before != change.after for change in todo.changes)
    after = applied(found, todo)
    assert not plan(wanted, after)
    assert not changed_options(wanted, after)
    shuffled = list(load)
    random.shuffle(shuffled)
    assert plan(declared(shuffled, options=dict(reversed(list(options.items()))), mechanism=mechanism), found) == todo
    assert without_block(after.text(RDMA_PATH)).splitlines() == without_block(found.text(RDMA_PATH)).splitlines()
    absent = declared(load, options=options, state="absent")
    bare = applied(after, plan(absent, after))
    assert not bare.text(OPTIONS_PATH)
    assert not bare.text(LOAD_PATH)
    assert not bare.text(DRACUT_PATH)
    assert BEGIN not in bare.text(RDMA_PATH)
    assert bare.loaded == after.loaded


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "Y", True),
        ("0", "N", True),
        ("0x10", "16", True),
        ("010", "8", True),
        ("010", "10", False),
        ("off", "N", True),
        ("512", "128", False),
        ("2,2", "2,2", True),
        ("9" * 5000, "1", False),
    ],
)
def test_values_as_the_kernel_shows_them(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) is same


def test_a_loaded_module_keeps_its_old_options_until_it_is_loaded_anew() -> None:
    wanted = declared(options={"ib_ipoib": {"send_queue_size": 512, "secret": 1}})
    node = NODE._replace(loaded={"ib_ipoib": False}, live={"ib_ipoib": {"send_queue_size": "128"}})
    told = [entry.change.words() for entry in pending(wanted, node)]
    assert told == ["module option ib_ipoib secret: unknown -> 1", "module option ib_ipoib send_queue_size: 128 -> 512"]
    after = applied(node, plan(wanted, node))
    assert [entry.change[:3] + entry.change[5:6] for entry in pending(wanted, after)] == [(Kind.PARAMETER, "ib_ipoib", "send_queue_size", "driver_reload")]
    stuck = after._replace(loaded={"ib_ipoib": True})
    assert pending(wanted, stuck)[0].change.needs == "reboot"
    assert not pending(wanted, after._replace(live={"ib_ipoib": {"send_queue_size": "512"}}))
    assert not pending(wanted, NODE), "a module that is loaded by this run gets its options"
    removed = pending(declared(), after._replace(live={"ib_ipoib": {"send_queue_size": "512"}}))
    assert [(entry.change.aspect, entry.change.before, entry.change.after) for entry in removed] == [
        ("secret", "1", "the driver's default"),
        ("send_queue_size", "512", "the driver's default"),
    ]


def test_other_options_lines_are_named() -> None:
    line = Directive("options", "ib_ipoib", "send_queue_size=128 debug=1", "/etc/modprobe.d/ib_ipoib.conf", 4)
    node = NODE._replace(directives=(line,))
    found = conflicts(declared(options={"ib_ipoib": {"send_queue_size": 512}}), node)
    assert len(found) == 1
    assert "/etc/modprobe.d/ib_ipoib.conf line 4" in found[0]
    assert not conflicts(declared(options={"ib_ipoib": {"send_queue_size": 128}}), node)


def test_options_that_nobody_will_use_are_named() -> None:
    assert "ib_srp" in without_effect(declared(options={"ib_srp": {"a": 1}}), NODE)[0]
    assert not without_effect(declared(options={"ib_ipoib": {"a": 1}}), NODE)
    assert not without_effect(declared((), options={"ib_umad": {"a": 1}}), NODE), "a list of rdma-core loads it"
    assert not without_effect(declared(options={"ib_srp": {"a": 1}}, load_now=False), NODE)
    assert without_effect(declared(options={"mlx5_core": {"a": 1}}), NODE), "no such adapter, so udev loads no driver"


@pytest.mark.parametrize(
    ("wanted", "node", "text"),
    [
        (declared(("ib_ipob",)), NODE, "did you mean ib_ipoib"),
        (declared(("zzz",)), NODE, "linux-modules-extra"),
        (declared((), options={"ib_ipob": {"a": 1}}), NODE, "kernel_modules_options.ib_ipob is {'a': '1'}; allowed: a module of kernel 6.1"),
        (
            declared((), options={"ib_ipoib": {"send_queue": 1}}),
            NODE._replace(parameters={"ib_ipoib": {"send_queue_size": "int"}}),
            "did you mean send_queue_size?",
        ),
        (declared((), options={"ib_ipoib": {"x": 1}}), NODE._replace(parameters={"ib_ipoib": {}}), "known: none"),
        (
            declared((), options={"ib_ipoib": {"send_queue_size": "abc"}}),
            NODE._replace(parameters={"ib_ipoib": {"send_queue_size": "int"}}),
            "kernel_modules_options.ib_ipoib.send_queue_size is 'abc'; allowed: a number from -2147483648 to 2147483647",
        ),
        (declared((), options={"ib_core": {"x": 1}}), NODE, "put ib_core.x=1 on the kernel command line"),
        (
            declared(),
            NODE._replace(directives=(Directive("blacklist", "ib_umad", "", "/etc/modprobe.d/no.conf", 2),)),
            "/etc/modprobe.d/no.conf line 2 says: blacklist ib_umad",
        ),
        (declared(), NODE._replace(directives=(Directive("install", "rdma_ucm", "/bin/false", "/f", 1),)), "says: install rdma_ucm /bin/false"),
        (declared(mechanism="rdma-core"), BARE, "rdma-core is not installed"),
        (declared((), initramfs_drivers=("ib_umad",)), NODE, "neither dracut nor initramfs-tools"),
        (declared((), initramfs_cmdline=("rd.neednet=1",)), NODE._replace(initramfs_tools=True), "only dracut can put it into an initramfs"),
        (declared((), initramfs_drivers=("ib_ipob",)), NODE._replace(initramfs_tools=True), "kernel_modules_initramfs_drivers is 'ib_ipob'"),
        (declared((), initramfs_drivers=("ib_ipoib",)), NODE._replace(dracut=True), "install the package dracut-network"),
    ],
)
def test_what_the_node_cannot_have(wanted: Wanted, node: Found, text: str) -> None:
    found = check(wanted, node)
    assert len(found) == 1
    assert text in str(found[0])


def test_hooks_that_run_modprobe_are_left_in_peace() -> None:
    hook = Directive("install", "mlx5_core", "/sbin/modprobe --ignore-install mlx5_core", "/f", 1)
    assert not check(declared((*DEFAULT, "mlx5_core"), options={"ib_ipoib": {"a": 1}}), NODE._replace(directives=(hook,)))


def test_a_kernel_without_modules() -> None:
    lost = Found(release="6.2", installed=("6.1",))
    with pytest.raises(Unsupported, match=r"6\.2 is running, but .* Installed: 6\.1"):
        need_modules(declared(), lost)
    with pytest.raises(Unsupported, match="load_now"):
        need_modules(declared(), lost._replace(container=True))
    need_modules(declared(load_now=False), lost)
    need_modules(declared(), lost._replace(loaded=dict.fromkeys(DEFAULT, False)))
    assert not check(declared(load_now=False, options={"ib_ipoib": {"a": 1}}), lost)


@pytest.mark.parametrize(
    ("node", "path", "line"),
    [
        (NODE._replace(dracut=True, dracut_network=True), DRACUT_PATH, 'force_drivers+=" ib_ipoib mlx5_core "\nadd_dracutmodules+=" network "\n'),
        (NODE._replace(initramfs_tools=True), HOOK_PATH, "force_load ib_ipoib\nforce_load mlx5_core\n"),
    ],
)
def test_drivers_of_the_initramfs(node: Found, path: str, line: str) -> None:
    image = Image("6.1", "/boot/initrd.img-6.1")
    wanted = declared((), initramfs_drivers=("mlx5-core", "ib_ipoib"))
    assert not check(wanted, node)
    assert drivers_changed(wanted, node)
    todo = plan(wanted, node, (image,))
    assert words(todo) == ["create file " + path, "initramfs /boot/initrd.img-6.1: holds other drivers or arguments -> rebuilt"]
    assert todo.changes[0].after.endswith(line)
    after = applied(node, todo)
    assert not plan(wanted, after)
    assert not drivers_changed(wanted, after)
    gone = Wanted(load_now=False)
    assert drivers_changed(gone, after)
    assert words(plan(gone, after, (image,))) == ["remove file " + path, "initramfs /boot/initrd.img-6.1: holds other drivers or arguments -> rebuilt"]


def test_a_node_that_changed_its_builder_loses_the_hook() -> None:
    node = NODE._replace(dracut=True, files={**NODE.files, HOOK_PATH: hook_text({"ib_umad"})})
    assert words(plan(declared((), initramfs_drivers=("ib_umad",)), node)) == ["create file " + DRACUT_PATH, "remove file " + HOOK_PATH]


def test_arguments_of_the_initramfs() -> None:
    node = NODE._replace(dracut=True)
    wanted = declared((), initramfs_cmdline=("rd.neednet=1", "ip=ib0.8001:dhcp"))
    assert not check(wanted, node)
    todo = plan(wanted, node, (Image("6.1", "/boot/initramfs-6.1.img"),))
    assert todo.changes[0].after.endswith('kernel_cmdline+=" rd.neednet=1 ip=ib0.8001:dhcp "\n')
    assert drivers_changed(declared((), initramfs_cmdline=("rd.neednet=1",)), applied(node, todo))
    assert not plan(wanted, applied(node, todo))


def test_options_alone_are_written_for_dracut_as_before() -> None:
    assert dracut_text(True, ()) == HEADER + 'install_optional_items+=" /etc/modprobe.d/rdma-ofed.conf "\n'
    assert dracut_text(False, ()) == hook_text(()) == ""


@pytest.mark.parametrize(("policy", "rule", "wrong"), [("kernel", "NAME_KERNEL", "ibp3s0"), ("persistent", "NAME_FALLBACK", "mlx5_1")])
def test_a_policy_for_the_names_of_devices(policy: str, rule: str, wrong: str) -> None:
    wanted, node = declared((), device_names=policy), NODE._replace(devices=("ibp3s0", "mlx5_1"))
    (change,) = plan(wanted, node).changes
    assert change.is_about(Kind.FILE, NAMING_PATH)
    assert change.after == HEADER + 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %%k %s"\n' % rule
    after = applied(node, plan(wanted, node))
    for state in (node, after):
        (waiting,) = pending(wanted, state)
        assert waiting.change == Change(Kind.RDMA_DEVICE, wrong, "name", wrong, policy, needs="reboot")
    assert not plan(wanted, after)
    (given_up,) = plan(declared(()), after).changes
    assert (given_up.subject, given_up.after) == (NAMING_PATH, "")
    assert pending(declared(()), node) == ()


def test_the_rule_of_others_for_names_stays() -> None:
    wanted = declared((), device_names="kernel")
    same, other = (NODE._replace(files={**NODE.files, NAMING_PATH: "# mine\n" + Naming(policy).rules}) for policy in ("kernel", "persistent"))
    for node in (same, other):
        assert not plan(wanted, node) and not plan(declared(()), node)
    assert check(wanted, same) == []
    assert ["belongs to others and has another rule" in problem.hint for problem in check(wanted, other)] == [True]


def test_dracut_has_the_rule_in_every_image() -> None:
    wanted = declared((), device_names="kernel")
    assert rule_changed(wanted, NODE._replace(dracut=True)) and not rule_changed(wanted, NODE)
    assert not rule_changed(wanted, NODE._replace(dracut=True, files={**NODE.files, NAMING_PATH: naming_text("", Naming("kernel"))}))
