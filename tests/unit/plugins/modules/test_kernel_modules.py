# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module on a node made of files: what it reads, starts and leaves behind."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _apply
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._concern import hints, unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import INFINIBAND_PATH, RDMA_PATH, default_lists
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._input import problems as validated
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import MEMLOCK, NOFILE, SERVICES_PATH, SESSIONS_PATH, is_declaration, reaches
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import seen as look_for
from proofs import GOLDEN
from support.expected import at
from support.kmod_node import IMAGE, RELEASE, Node, node_of
from support.module_results import pending_words


@pytest.fixture(name="node")
def fresh_node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return node_of(tmp_path, monkeypatch)


@pytest.mark.parametrize("options", [{}, {"ib_ipoib": {"send_queue_size": 512}}])
def test_the_controller_gives_the_answer_of_an_unchanged_node(node: Node, options: dict[str, t.Any]) -> None:
    node.install_rdma_core()
    seen = look_for(at(node, node.root, RELEASE), hints({"kernel_modules_options": options}))
    node.run(options=options)
    assert unchanged({**node.params, "load": ["ib_srp"]}, seen) is None, "a module that was not looked at"
    node.write("sys/module/ib_ipoib/parameters/send_queue_size", "128\n")
    again = node.run(options=options)
    assert again["changed"] is False
    seen = look_for(at(node, node.root, RELEASE), hints({"kernel_modules_options": options}))
    assert unchanged(node.params, seen) == {**again, "warnings": node.warnings}


def test_check_mode_before_the_packages_predicts_the_run_after_them(node: Node) -> None:
    arguments: dict[str, t.Any] = {"assume_rdma_core": True, "load": ["ib_umad", "ib_ipoib", "ib_srp"], "options": {"ib_ipoib": {"send_queue_size": 512}}}
    predicted = node.run(check=True, **arguments)
    assert not any(call[0] == "modprobe" for call in node.calls)
    assert not (node.root / "etc").exists()
    node.install_rdma_core()
    done = node.run(**arguments)
    assert (
        done["changes"]
        == predicted["changes"]
        == [
            "create file /etc/modprobe.d/rdma-ofed.conf",
            "edit file " + RDMA_PATH,
            "module ib_ipoib: not loaded -> loaded",
            "module ib_srp: not loaded -> loaded",
            "module ib_umad: not loaded -> loaded",
        ]
    )
    assert ["modprobe", "-a", "ib_ipoib", "ib_srp", "ib_umad"] in node.calls
    assert node.read("etc/modprobe.d/rdma-ofed.conf") == HEADER + "options ib_ipoib send_queue_size=512\n"
    again = node.run(**arguments)
    assert not again["changed"]
    assert again["changes"] == again["pending"] == again["reasons"] == again["diff"] == []
    assert [(entry["name"], entry["loaded"], entry["persisted_by"]) for entry in again["modules"]] == [
        ("ib_ipoib", True, INFINIBAND_PATH + " line 1"),
        ("ib_srp", True, "rdma.ofed"),
        ("ib_umad", True, INFINIBAND_PATH + " line 2"),
    ]


def test_assuming_counts_in_check_mode_only(node: Node) -> None:
    node.run(assume_rdma_core=True)
    assert node.read("etc/modules-load.d/rdma-ofed.conf") == HEADER + "ib_ipoib\nib_umad\nib_uverbs\nrdma_ucm\n"


def test_red_hat_lists_more(node: Node) -> None:
    node.write("etc/os-release", 'ID="rocky"\n')
    node.write(RDMA_PATH, "")
    node.write("lib/modules/%s/modules.dep" % RELEASE, "kernel/ib_srpt.ko:\n")
    assert node.run(check=True, load=["ib_srpt"], assume_rdma_core=True)["changes"] == ["module ib_srpt: not loaded -> loaded"]


def test_absent_takes_ours_away_and_leaves_the_kernel_alone(node: Node) -> None:
    node.install_rdma_core()
    node.run(load=["ib_srp"], options={"ib_ipoib": {"send_queue_size": 512}})
    gone = node.run(state="absent", backup=True)
    assert gone["changes"] == ["remove file /etc/modprobe.d/rdma-ofed.conf", "edit file " + RDMA_PATH]
    assert len(gone["backup_files"]) == 1
    assert node.read(RDMA_PATH) == default_lists(FAMILIES[0])[RDMA_PATH]
    assert not any(call[0] in ("modprobe", "rmmod") for call in node.calls)
    assert not node.run(state="absent")["changed"]


def test_live_parameters_are_compared_in_every_run(node: Node) -> None:
    node.install_rdma_core()
    node.run()
    node.write("sys/module/ib_ipoib/parameters/send_queue_size", "128\n")
    options = {"ib_ipoib": {"send_queue_size": 512}}
    first = node.run(options=options)
    second = node.run(options=options)
    assert first["changed"]
    assert not second["changed"]
    assert pending_words(first) == pending_words(second) == ["module option ib_ipoib send_queue_size: 128 -> 512 (needs driver_reload)"]
    assert not second["reboot_required"]
    node.write("sys/module/ib_ipoib/parameters/send_queue_size", "512\n")
    assert not node.run(options=options)["pending"]


def test_the_image_is_rebuilt_when_it_holds_the_module(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    change = "initramfs /%s: holds a module with other options -> rebuilt" % IMAGE
    options = {"ib_ipoib": {"send_queue_size": 512}}
    assert change in node.run(check=True, options=options)["changes"]
    assert change in node.run(options=options)["changes"]
    assert ["update-initramfs", "-u", "-k", RELEASE] in node.calls
    node.run(options=options)
    assert not any(call[0] == "lsinitramfs" for call in node.calls), "an unchanged run lists no image"
    assert change not in node.run(options={**options, "ib_srp": {}})["changes"]


def test_a_run_that_is_killed_before_the_image_leaves_the_next_run_its_work(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The options file is in the declared state by then and shows no pending work."""
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    options = {"ib_ipoib": {"send_queue_size": 512}}

    def killed(*_words: t.Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_apply, "rebuild", killed)
        with pytest.raises(KeyboardInterrupt):
            node.run(options=options)
    assert "send_queue_size=512" in node.read("etc/modprobe.d/rdma-ofed.conf")
    foreseen = node.run(check=True, options=options)["changes"]
    assert foreseen[0].startswith("initramfs /%s: " % IMAGE)
    assert node.run(options=options)["changes"] == foreseen
    assert ["update-initramfs", "-u", "-k", RELEASE] in node.calls
    assert not node.run(options=options)["changed"]
    assert not (node.root / "var/lib/rdma.ofed/stale-images").exists()


def test_a_failed_image_leaves_the_next_run_its_work(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    node.write("etc/modprobe.d/rdma-ofed.conf", HEADER + "options ib_ipoib send_queue_size=64\n")
    node.build_rc = 1
    with pytest.raises(CommandFailed):
        node.run(options={"ib_ipoib": {"send_queue_size": 512}})
    assert "send_queue_size=64" in node.read("etc/modprobe.d/rdma-ofed.conf")
    node.build_rc = 0
    assert len(node.run(options={"ib_ipoib": {"send_queue_size": 512}})["changes"]) > 1


def test_dracut_is_told_to_take_the_options_along(node: Node) -> None:
    node.tools |= {"dracut"}
    node.write("boot/initramfs-%s.img" % RELEASE, "")
    options = {"ib_ipoib": {"send_queue_size": 512}}
    assert node.run(options=options)["changes"][:3] == [
        "create file /etc/dracut.conf.d/rdma-ofed.conf",
        "create file /etc/modprobe.d/rdma-ofed.conf",
        "initramfs /boot/initramfs-%s.img: holds a module with other options -> rebuilt" % RELEASE,
    ]
    assert ["dracut", "--force", "/boot/initramfs-%s.img" % RELEASE, RELEASE] in node.calls
    assert not node.run(options=options)["changed"]
    assert "remove file /etc/dracut.conf.d/rdma-ofed.conf" in node.run(state="absent")["changes"]


def test_never_touching_the_image_is_said(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    result = node.run(options={"ib_ipoib": {"send_queue_size": 512}}, initramfs="never")
    assert "rebuild it before the next boot" in result["reasons"][0]
    assert not any(call[0] == "update-initramfs" for call in node.calls)


@pytest.mark.parametrize(
    ("refusal", "container", "hint"),
    [
        ("modprobe: ERROR: could not insert 'ib_umad': Operation not permitted", True, "kernel_modules_load_now: false"),
        ("modprobe: ERROR: could not insert 'ib_umad': Operation not permitted", False, "kernel.modules_disabled"),
        ("modprobe: ERROR: could not insert 'ib_umad': Key was rejected by service", False, "Secure Boot"),
        ("modprobe: ERROR: could not insert 'ib_umad': Unknown symbol in module", False, "a different driver stack"),
    ],
)
def test_a_refusal_of_the_kernel_is_explained(node: Node, refusal: str, container: bool, hint: str) -> None:
    node.refusal = refusal
    if container:
        node.write(".dockerenv", "")
    with pytest.raises(CommandFailed, match="did not load ib_ipoib, ib_umad") as caught:
        node.run()
    assert hint in caught.value.msg
    assert refusal in caught.value.msg


@pytest.mark.parametrize(
    ("params", "kind", "text"),
    [
        ({"load": ["ib_ipob"], "options": {"ib_ipoib": {"send_queue": 1}}}, InvalidInput, "ib_ipoib.send_queue is '1'"),
        ({"load": ["ib_sdp"]}, InvalidInput, "has SDP any longer"),
        ({"mechanism": "rdma-core"}, InvalidInput, "not installed"),
    ],
)
def test_bad_input_is_found_before_the_first_change(node: Node, params: dict[str, t.Any], kind: type[RdmaError], text: str) -> None:
    with pytest.raises(kind) as caught:
        node.run(**params)
    assert text in caught.value.msg
    assert not (node.root / "etc").exists()
    assert not any(call[0] == "modprobe" for call in node.calls)


def test_conflicting_lines_of_others_are_warned_of(node: Node) -> None:
    node.write("etc/modprobe.d/ib_ipoib.conf", "# site\noptions ib_ipoib send_queue_size=128\n")
    node.run(options={"ib_ipoib": {"send_queue_size": 512}})
    assert "/etc/modprobe.d/ib_ipoib.conf line 2" in node.warnings[0]


def test_a_container_without_modules(node: Node) -> None:
    (node.root / ("lib/modules/%s/modules.dep" % RELEASE)).unlink()
    node.write("run/systemd/container", "docker\n")
    with pytest.raises(Unsupported, match="this is a container"):
        node.run()
    done = node.run(load_now=False)
    assert done["changes"] == ["create file /etc/modules-load.d/rdma-ofed.conf"]
    assert not node.run(load_now=False)["changed"]


def test_drivers_of_the_initramfs_rebuild_every_image(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    predicted = node.run(check=True, initramfs_drivers=["ib_ipoib"])
    done = node.run(initramfs_drivers=["ib_ipoib"])
    assert predicted["changes"] == done["changes"]
    assert done["changes"][:2] == ["create file /etc/initramfs-tools/hooks/rdma-ofed", "initramfs /%s: holds other drivers or arguments -> rebuilt" % IMAGE]
    assert ["update-initramfs", "-u", "-k", RELEASE] in node.calls
    assert not any(call[0] == "lsinitramfs" for call in node.calls)
    assert not node.run(initramfs_drivers=["ib_ipoib"])["changed"]
    assert "remove file /etc/initramfs-tools/hooks/rdma-ofed" in node.run(state="absent")["changes"]


def test_a_failed_image_takes_the_hook_back(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    node.build_rc = 1
    with pytest.raises(CommandFailed):
        node.run(initramfs_drivers=["ib_ipoib"])
    assert not (node.root / "etc/initramfs-tools/hooks/rdma-ofed").exists()
    node.build_rc = 0
    assert len(node.run(initramfs_drivers=["ib_ipoib"])["changes"]) > 1
    assert "rebuild it before the next boot" in node.run(initramfs_drivers=[], initramfs="never")["reasons"][0]


MAY_RAISE = "Name:\tsystemd\nCapEff:\t000001ffffffffff\n"
MAY_NOT = "Name:\tsystemd\nCapEff:\t00000000a80425fb\n"


def test_the_limit_of_locked_memory_is_for_sessions_and_services(node: Node) -> None:
    node.write("proc/1/status", MAY_RAISE)
    (node.root / "run/systemd/system").mkdir(parents=True)
    foreseen = node.run(check=True)
    done = node.run()
    assert done["changes"] == foreseen["changes"]
    assert {"create file " + SESSIONS_PATH, "create file " + SERVICES_PATH} < set(done["changes"])
    assert node.read(SESSIONS_PATH).endswith("* - memlock unlimited\nroot - memlock unlimited\n")
    assert node.read(SERVICES_PATH).endswith("[Manager]\nDefaultLimitMEMLOCK=infinity\n")
    assert ["systemctl", "daemon-reexec"] in node.calls
    assert not node.run()["changed"]
    node.run(memlock=65536)
    assert "* - memlock 65536\n" in node.read(SESSIONS_PATH) and "DefaultLimitMEMLOCK=65536K\n" in node.read(SERVICES_PATH)
    gone = node.run(memlock="keep")
    assert gone["changes"] == ["remove file " + SESSIONS_PATH, "remove file " + SERVICES_PATH]


def test_where_limits_may_not_be_raised_they_are_left_alone(node: Node) -> None:
    """pam_limits would fail there, and no session could start."""
    node.write("proc/1/status", MAY_NOT)
    assert not any("limits.d" in change or "system.conf.d" in change for change in node.run()["changes"])


@pytest.mark.parametrize(
    ("path", "text", "kept"),
    [
        ("etc/security/limits.conf", "# x\n* hard memlock 64\n", SESSIONS_PATH),
        ("etc/security/limits.d/99-site.conf", "* - memlock 128 # ours\n", SESSIONS_PATH),
        ("etc/systemd/system.conf", "[Manager]\nDefaultLimitMEMLOCK=8M\n", SERVICES_PATH),
        ("etc/systemd/system.conf.d/site.conf", "[Manager]\nDefaultLimitMEMLOCK=8M:infinity\n", SERVICES_PATH),
    ],
)
def test_a_lower_limit_of_others_stays_and_is_named(node: Node, path: str, text: str, kept: str) -> None:
    node.write("proc/1/status", MAY_RAISE)
    node.write(path, text)
    changes = node.run()["changes"]
    assert ("create file " + kept) not in changes
    assert len([change for change in changes if change in ("create file " + SESSIONS_PATH, "create file " + SERVICES_PATH)]) == 1
    (warning,) = node.warnings
    assert warning.startswith("/%s line " % path) and "limits locked memory to" in warning


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/security/limits.conf", "* soft memlock unlimited\n* hard memlock unlimited\n@hpc - memlock 64\nbob hard memlock 64\n#* - memlock 64\n"),
        ("etc/systemd/system.conf", "[Manager]\n#DefaultLimitMEMLOCK=8M\nDefaultLimitMEMLOCK=infinity\n"),
    ],
)
def test_limits_that_are_high_enough_or_not_for_everybody_do_not_matter(node: Node, path: str, text: str) -> None:
    node.write("proc/1/status", MAY_RAISE)
    node.write(path, text)
    assert {"create file " + SESSIONS_PATH, "create file " + SERVICES_PATH} < set(node.run()["changes"])
    assert node.warnings == []


def test_the_last_file_of_systemd_counts(node: Node) -> None:
    node.write("proc/1/status", MAY_RAISE)
    node.write("etc/systemd/system.conf", "[Manager]\nDefaultLimitMEMLOCK=8M\n")
    node.write("etc/systemd/system.conf.d/hpc.conf", "[Manager]\nDefaultLimitMEMLOCK=infinity\n")
    assert "create file " + SERVICES_PATH in node.run()["changes"]
    assert node.warnings == []


def test_the_last_line_of_pam_counts_for_each_type(node: Node) -> None:
    """Red Hat's rdma-core raises both limits in a file of its own."""
    node.write("proc/1/status", MAY_RAISE)
    node.write("etc/security/limits.conf", "* soft memlock 64\n* hard memlock 64\n")
    node.write("etc/security/limits.d/rdma.conf", "* soft memlock unlimited\n* hard memlock unlimited\n")
    assert "create file " + SESSIONS_PATH in node.run()["changes"]
    assert node.warnings == []
    node.write("etc/security/limits.d/site.conf", "* soft memlock 128\n")
    assert "remove file " + SESSIONS_PATH in node.run()["changes"]
    (warning,) = node.warnings
    assert warning.startswith("/etc/security/limits.d/site.conf line 1 limits locked memory to 128")


@pytest.mark.parametrize(
    ("value", "good"), [("unlimited", True), ("keep", True), (65536, True), ("64", True), ("8M", False), (True, False), (0, False), (None, False)]
)
def test_what_may_be_declared_as_a_limit(value: t.Any, good: bool) -> None:
    assert is_declaration(value, MEMLOCK) is good


@pytest.mark.parametrize(
    ("value", "good"), [("keep", True), (65536, True), ("1048576", True), (1048577, False), ("unlimited", False), ("64K", False), (0, False)]
)
def test_open_files_have_an_end(value: t.Any, good: bool) -> None:
    """Above fs.nr_open, pam_limits fails, and no session can start."""
    assert is_declaration(value, NOFILE) is good
    problems = validated({"kernel_modules_nofile": value})
    assert [problem.variable for problem in problems] == ([] if good else ["kernel_modules_nofile"])


OPEN_FILES = "* soft nofile 65536\n* hard nofile %(hard)d\nroot soft nofile 65536\nroot hard nofile %(hard)d\n"


@pytest.mark.parametrize(
    ("theirs", "kernel", "hard"),
    [
        ("* hard nofile 900000\n", 1 << 30, 900000),
        ("* - nofile unlimited\n", 1 << 30, 1 << 20),
        ("* hard nofile 900000\n", 700000, 700000),
        ("", 100000, 100000),
    ],
)
def test_the_hard_limit_of_open_files_is_not_lowered(node: Node, theirs: str, kernel: int, hard: int) -> None:
    """Programs raise their own limit up to it. One above fs.nr_open would end all logins."""
    node.write("proc/1/status", MAY_RAISE)
    node.write("proc/sys/fs/nr_open", "%d\n" % kernel)
    node.write("etc/security/limits.conf", theirs)
    node.run(nofile=65536)
    assert node.read(SESSIONS_PATH).endswith(OPEN_FILES % {"hard": hard})
    assert node.read(SERVICES_PATH).endswith("DefaultLimitNOFILE=65536:%d\n" % min(524288, kernel))
    assert not node.run(nofile=65536)["changed"]


@pytest.mark.proves("modules", "check_mode", "unchanged")
def test_open_files_are_in_the_same_files(node: Node) -> None:
    node.write("proc/1/status", MAY_RAISE)
    node.run()
    foreseen = node.run(check=True, nofile=65536)
    done = node.run(nofile=65536)
    assert done["changes"] == foreseen["changes"] == ["edit file " + SESSIONS_PATH, "edit file " + SERVICES_PATH]
    assert node.read(SESSIONS_PATH).endswith("* - memlock unlimited\nroot - memlock unlimited\n" + OPEN_FILES % {"hard": 524288})
    assert node.read(SERVICES_PATH).endswith("[Manager]\nDefaultLimitMEMLOCK=infinity\nDefaultLimitNOFILE=65536:524288\n")
    assert not node.run(nofile=65536)["changed"]
    assert node.run(nofile=65536, memlock="keep")["changes"] == ["edit file " + SESSIONS_PATH, "edit file " + SERVICES_PATH]
    assert "memlock" not in node.read(SESSIONS_PATH) and "MEMLOCK" not in node.read(SERVICES_PATH)
    assert node.run(memlock="keep")["changes"] == ["remove file " + SESSIONS_PATH, "remove file " + SERVICES_PATH]


def test_a_lower_limit_of_open_files_stays_and_one_of_locked_memory_does_not_matter(node: Node) -> None:
    node.write("proc/1/status", MAY_RAISE)
    node.write("etc/security/limits.d/site.conf", "* soft nofile 4096\n")
    node.write("etc/systemd/system.conf", "[Manager]\nDefaultLimitNOFILE=1024:524288\n")
    node.run(nofile=65536)
    assert "nofile" not in node.read(SESSIONS_PATH) and "NOFILE" not in node.read(SERVICES_PATH)
    assert "memlock" in node.read(SESSIONS_PATH)
    first, second = node.warnings
    assert first.startswith("/etc/security/limits.d/site.conf line 1 limits open files to 4096, and 65536 is declared")
    assert second.startswith("/etc/systemd/system.conf line 2 limits open files to 1024") and second.endswith("declare kernel_modules_nofile: keep")


def test_more_open_files_than_the_kernel_allows_are_refused_before_the_first_change(node: Node) -> None:
    node.write("proc/1/status", MAY_RAISE)
    node.write("proc/sys/fs/nr_open", "32768\n")
    with pytest.raises(InvalidInput, match=r"more than fs\.nr_open, so no session could start"):
        node.run(nofile=65536)
    assert not (node.root / SESSIONS_PATH[1:]).exists()
    assert node.run(nofile=32768)["changed"]


@pytest.mark.parametrize(
    ("found", "limit", "enough"),
    [
        ("unlimited", "64", True),
        ("64", "64", True),
        ("128", "64", True),
        ("32", "64", False),
        ("64", "unlimited", False),
        ("x", "64", False),
        ("1", "keep", True),
    ],
)
def test_a_limit_is_reached(found: str, limit: str, enough: bool) -> None:
    assert reaches(found, limit) is enough


def _adapter(node: Node, name: str, pci: str, guid: str) -> None:
    place = "sys/devices/pci0000:00/%s/infiniband/%s" % (pci, name)
    node.write(place + "/ports/1/gids/0", "fe80:0000:0000:0000:%s\n" % ":".join(guid[index : index + 4] for index in (2, 6, 10, 14)))
    device = node.root / "sys/class/infiniband" / name
    device.parent.mkdir(parents=True, exist_ok=True)
    device.symlink_to(node.root / place)
    (device / "device").symlink_to(node.root / "sys/devices/pci0000:00" / pci)


@pytest.mark.proves("names", debian12=GOLDEN)
def test_rails_get_their_names_at_the_next_boot(node: Node) -> None:
    _adapter(node, "mlx5_0", "0000:41:00.0", "0x0c42a10300000011")
    _adapter(node, "mlx5_1", "0000:18:00.0", "0x0c42a10300000022")
    _adapter(node, "mlx5_2", "0000:19:00.0", "0x0c42a10300000033")
    node.write("usr/lib/udev/rules.d/60-rdma-persistent-naming.rules", '# NAME_KERNEL\nACTION=="add", PROGRAM="rdma_rename %k NAME_FALLBACK"\n')
    node.write("usr/lib/udev/rdma_rename", "\x7fELF NAME_KERNEL NAME_FIXED")
    path = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
    rails = {"rdma0": {"pci": "18:00.0", "interface": "ib0"}, "left": {"port_guid": "0x0c42a10300000011"}, "spare": {"pci": "0000:99:00.0"}}
    foreseen = node.run(check=True, load=[], rails=rails)
    done = node.run(load=[], rails=rails)
    assert foreseen["changes"] == done["changes"] == ["create file " + path]
    waiting = [(entry["kind"], entry["subject"], entry["needs"]) for entry in done["pending"]]
    assert waiting == [("rdma_device", "mlx5_0", "reboot"), ("rdma_device", "mlx5_1", "reboot")]
    assert foreseen["pending"] == done["pending"]
    text = node.read(path)
    assert 'DEVPATH=="*/0000:18:00.0/infiniband/*", ENV{RDMA_OFED_RAIL}="rdma0"' in text
    assert 'ATTR{ports/1/gids/0}=="*:0c42:a103:0000:0011", ENV{RDMA_OFED_RAIL}="left"' in text
    # The other devices are named as the stack does.
    assert text.endswith('ENV{RDMA_OFED_RAIL}=="", PROGRAM="rdma_rename %k NAME_FALLBACK"\n')
    assert node.run(load=[], rails=rails)["changed"] is False
    kernel = node.run(load=[], rails=rails, device_names="kernel")
    assert (kernel["changes"], "NAME_KERNEL" in node.read(path)) == (["edit file " + path], True)
    assert "remove file " + path in node.run(state="absent", rails=rails)["changes"]


def test_rails_are_refused_where_nothing_can_give_a_name(node: Node) -> None:
    node.write("usr/lib/udev/rdma_rename", "\x7fELF NAME_KERNEL NAME_FALLBACK")
    with pytest.raises(InvalidInput, match=r"rdma_rails is \['rdma0'\]; allowed: nothing .*since release 34"):
        node.run(load=[], rails={"rdma0": {"pci": "18:00.0"}})
    with pytest.raises(InvalidInput, match=r"rdma_rails is 'pci_order'; allowed: a mapping .*run rdma.ofed.rdma_facts before"):
        node.run(load=[], rails="pci_order")
    with pytest.raises(InvalidInput, match=r"rdma_rails.mlx5_7 is 'mlx5_7'"):
        node.run(load=[], rails={"mlx5_7": {"pci": "18:00.0"}})


def test_a_rule_of_others_is_replaced_by_rails_only_on_request(node: Node) -> None:
    path = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
    rails = {"rdma0": {"pci": "18:00.0"}}
    own = 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"\n'
    node.write(path[1:], own)
    with pytest.raises(InvalidInput, match="belongs to others and has another rule: replace the rule with kernel_modules_adopt: true"):
        node.run(load=[], rails=rails)
    assert node.run(load=[], rails=rails, adopt=True)["changed"]
    assert "NAME_FIXED" in node.read(path)
    assert node.run(load=[], rails=rails, adopt=True)["changed"] is False
    assert node.run(load=[], rails={**rails, "rdma1": {"pci": "19:00.0"}}, adopt=True)["changed"]
    node.run(state="absent", restore=True)
    assert node.read(path) == own
    # One that names single devices is decided by hand.
    node.write(path[1:], 'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="0000:18:00.0", PROGRAM="rdma_rename %k NAME_FIXED a"\n')
    with pytest.raises(InvalidInput, match="kernel_modules_adopt leaves line 1, because the rule has conditions"):
        node.run(load=[], rails=rails, adopt=True)


def test_names_of_devices_change_at_the_next_boot(node: Node) -> None:
    node.write("sys/devices/pci0000:00/0000:03:00.0/infiniband/ibp3s0/node_type", "1: CA\n")
    node.write("sys/class/infiniband/rxe0/node_type", "1: CA\n")
    device = node.root / "sys/class/infiniband/ibp3s0"
    device.symlink_to(node.root / "sys/devices/pci0000:00/0000:03:00.0/infiniband/ibp3s0")
    (device / "device").symlink_to(node.root / "sys/devices/pci0000:00/0000:03:00.0")
    path = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
    done = node.run(load=[], device_names="kernel")
    assert done["changes"] == ["create file " + path]
    assert [(entry["kind"], entry["subject"], entry["needs"]) for entry in done["pending"]] == [("rdma_device", "ibp3s0", "reboot")]
    assert done["reboot_required"]
    assert "NAME_KERNEL" in node.read(path)
    again = node.run(load=[], device_names="kernel")
    assert (again["changed"], again["pending"]) == (False, done["pending"])
    assert "remove file " + path in node.run(state="absent", device_names="kernel")["changes"]
