# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings are taken out of the files of others and given back by the module, also by runs that end in the middle."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _apply
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._concern import hints, unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import NAMING_PATH, OPTIONS_PATH, Naming
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import SERVICES_PATH, SESSIONS_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import seen as look_for
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._saved import LEDGER
from support.expected import at
from support.kmod_node import IMAGE, LISTING, RELEASE, Node, node_of

COPIES = "/var/backups/rdma-ofed"
MODPROBE, LISTED = "/etc/modprobe.d/site.conf", "/etc/modules-load.d/site.conf"
LIMITS, SYSTEM = "/etc/security/limits.d/99-site.conf", "/etc/systemd/system.conf.d/site.conf"
# The files of an administrator, and what is left of them.
HAND_MADE = {
    MODPROBE: (
        "# queues\noptions ib_ipoib send_queue_size=128 \\\n  debug_level=1\noptions ib_srp a=1\n",
        "# queues\noptions ib_ipoib \\\n  debug_level=1\noptions ib_srp a=1\n",
    ),
    LISTED: ("ib_umad\nloop\nib-ipoib\n", "loop\n"),
    LIMITS: ("* soft memlock 64\n* hard memlock 64\n", ""),
    "/etc/security/limits.conf": ("# pam\n* - memlock 128 # all\n* - nofile 1024\n", "# pam\n* - nofile 1024\n"),
    SYSTEM: ("[Manager]\nDefaultLimitMEMLOCK=8M\nDefaultLimitNOFILE=9\n", "[Manager]\nDefaultLimitNOFILE=9\n"),
    NAMING_PATH: ("# names\n" + Naming("persistent").rules, "# names\n" + Naming("kernel").rules),
}
PARAMETERS = {"ib_ipoib": {"send_queue_size": 512}}
WANTED: dict[str, t.Any] = {"options": PARAMETERS, "device_names": "kernel", "adopt": True}
ABSENT: dict[str, t.Any] = {"state": "absent", "restore": True}


@pytest.fixture(name="node")
def hand_made_node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    node = node_of(tmp_path, monkeypatch)
    node.write("proc/1/status", "CapEff:\t000001ffffffffff\n")
    node.write("etc/os-release", "ID=debian\n")
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    for path, (text, _rest) in HAND_MADE.items():
        node.write(path, text)
    (tmp_path / LIMITS[1:]).chmod(0o600)
    return node


def texts(node: Node) -> dict[str, str]:
    return {path: (node.read(path) if (node.root / path[1:]).exists() else "") for path in HAND_MADE}


BEFORE = {path: text for path, (text, _rest) in HAND_MADE.items()}
AFTER = {path: rest for path, (_text, rest) in HAND_MADE.items()}


def test_files_are_taken_over_and_given_back(node: Node) -> None:
    predicted = node.run(check=True, **WANTED)
    assert texts(node) == BEFORE and not (node.root / COPIES[1:]).exists()
    done = node.run(**WANTED)
    assert done["changes"] == predicted["changes"] and done["diff"] == predicted["diff"]
    assert texts(node) == AFTER
    assert sorted(done["backup_files"]) == sorted(COPIES + path for path in HAND_MADE)
    assert {path: node.read(COPIES + path) for path in HAND_MADE} == BEFORE
    assert node.warnings == []
    assert node.read(OPTIONS_PATH) == HEADER + "options ib_ipoib send_queue_size=512\n"
    assert node.read("etc/modules-load.d/rdma-ofed.conf") == HEADER + "ib_ipoib\nib_umad\nib_uverbs\nrdma_ucm\n"
    assert (node.root / SESSIONS_PATH[1:]).exists() and (node.root / SERVICES_PATH[1:]).exists()
    assert [(row["name"], row["persisted_by"]) for row in done["modules"][:2]] == [("ib_ipoib", "rdma.ofed"), ("ib_umad", "rdma.ofed")]
    assert ["systemctl", "daemon-reexec"] in node.calls
    again = node.run(**WANTED)
    assert (again["changed"], again["changes"]) == (False, [])

    foreseen = node.run(check=True, **ABSENT)
    assert texts(node) == AFTER
    assert node.run(**ABSENT)["changes"] == foreseen["changes"]
    assert ["systemctl", "daemon-reexec"] in node.calls
    assert texts(node) == BEFORE
    assert (node.root / LIMITS[1:]).stat().st_mode & 0o777 == 0o600
    assert not (node.root / LEDGER.path[1:]).exists() and not (node.root / OPTIONS_PATH[1:]).exists()
    node.write(MODPROBE, "# edited\n")
    assert not node.run(**ABSENT)["changed"]
    assert node.warnings == []


def test_without_a_word_they_stay_and_the_word_is_named(node: Node) -> None:
    node.run(options=PARAMETERS)
    assert texts(node) == BEFORE
    assert len(node.warnings) == 4 and all("take it over with kernel_modules_adopt: true" in line for line in node.warnings)
    with pytest.raises(InvalidInput, match="replace the rule with kernel_modules_adopt: true"):
        node.run(device_names="kernel")
    node.run(**WANTED)
    node.run(state="absent")
    assert texts(node) == AFTER
    # They may also be given back later.
    node.run(**ABSENT)
    assert texts(node) == BEFORE


def test_a_run_that_ends_at_any_file_is_completed(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    number, ended = 0, True
    while ended:
        number += 1
        for wanted, end in ((WANTED, AFTER), (ABSENT, BEFORE)):
            node.break_at = number
            try:
                node.run(**wanted)
                ended = False
            except KeyboardInterrupt:
                ended = True
            node.break_at = 0
            node.run(**wanted)
            assert texts(node) == end, number
            assert not node.run(**wanted)["changed"], number
            assert {path: node.read(COPIES + path) for path in HAND_MADE if (node.root / (COPIES + path)[1:]).exists()}.items() <= BEFORE.items()
    assert number > len(HAND_MADE)


def test_systemd_is_told_after_a_run_that_was_killed_before_that(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in (WANTED, ABSENT):
        with monkeypatch.context() as patch:
            patch.setattr(_apply, "systemd_runs", _killed)
            with pytest.raises(KeyboardInterrupt):
                node.run(**wanted)
        node.run(**wanted)
        assert ["systemctl", "daemon-reexec"] in node.calls
        assert not node.run(**wanted)["changed"]


def _killed(*_arguments: object) -> bool:
    raise KeyboardInterrupt


def test_a_failed_image_gives_everything_back_that_it_contains(node: Node) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    node.build_rc = 1
    with pytest.raises(CommandFailed):
        node.run(**WANTED)
    assert texts(node) == BEFORE
    node.build_rc = 0
    node.run(**WANTED)
    assert texts(node) == AFTER


@pytest.mark.parametrize(
    ("value", "listing", "is_rebuilt"),
    [
        (128, LISTING, True),
        (512, LISTING + "etc/modprobe.d/site.conf\n", False),
        (512, LISTING, True),
        (512, "etc/modprobe.d/x.conf\n", False),
    ],
)
def test_an_image_with_the_same_options_is_not_rebuilt(node: Node, value: int, listing: str, is_rebuilt: bool) -> None:
    node.tools |= {"update-initramfs", "lsinitramfs"}
    node.write(IMAGE, "")
    node.listing = listing
    node.write(MODPROBE, "options ib_ipoib send_queue_size=%d\n" % value)
    result = node.run(options=PARAMETERS, adopt=True)
    assert (["update-initramfs", "-u", "-k", RELEASE] in node.calls) is is_rebuilt
    assert any(change.startswith("initramfs ") for change in result["changes"]) is is_rebuilt
    assert not (node.root / MODPROBE[1:]).exists()


def test_what_is_pending_are_options_that_count(node: Node) -> None:
    node.write("proc/modules", "ib_ipoib 1 0 - Live 0x0\n")
    node.write(MODPROBE, "options ib_ipoib send_queue_size=512 recv_queue_size=64\n")
    node.write("sys/module/ib_ipoib/parameters/recv_queue_size", "64\n")
    # The value of the other one can't be read, and it does not change.
    assert node.run(options=PARAMETERS, adopt=True)["pending"] == []
    assert node.run(options=PARAMETERS, adopt=True)["pending"] == []
    assert node.run(**ABSENT)["pending"] == []
    both = {"ib_ipoib": {"send_queue_size": 1024, "recv_queue_size": 128}}
    assert [(row["aspect"], row["before"], row["after"]) for row in node.run(options=both, adopt=True)["pending"]] == [
        ("recv_queue_size", "64", "128"),
        ("send_queue_size", "unknown", "1024"),
    ]


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("/usr/lib/modprobe.d/vendor.conf", "options ib_ipoib send_queue_size=1\n", "it is not in /etc"),
        ("/etc/modprobe.d/a.conf", "options ib_ipoib send_queue_size=1\r\n", "it has unusual line ends"),
        ("/etc/modprobe.d/a.conf", "options ib_ipoib send_queue_size=1 # x\n", "modprobe has no comments"),
        ("/etc/modprobe.d/packaged.conf", "options ib_ipoib send_queue_size=1\n", "it belongs to a package"),
        ("/etc/modprobe.d/linked.conf", "options ib_ipoib send_queue_size=1\n", "it is a link to /srv/linked.conf, which is not in /etc"),
        ("/etc/modprobe.d/hiding.conf", "options ib_ipoib send_queue_size=1\n", "/usr/lib/modprobe.d/hiding.conf would count in its place"),
        ("/usr/lib/systemd/system.conf.d/vendor.conf", "[Manager]\nDefaultLimitMEMLOCK=1M\n", "it is not in /etc"),
        ("/etc/systemd/system.conf.d/z.conf", "[Manager]\nDefaultLimitMEMLOCK=what\n", "its value is neither a number nor unlimited"),
        ("/etc/modules-load.d/z.conf", "ib_umad now\n", "the line has more than one word"),
    ],
)
def test_what_can_not_be_taken_over_stays_and_is_named(node: Node, path: str, text: str, why: str) -> None:
    (node.root / LISTED[1:]).unlink()
    (node.root / SYSTEM[1:]).unlink()
    node.packaged = {"/etc/modprobe.d/packaged.conf"}
    if path.endswith("linked.conf"):
        node.write("/srv/linked.conf", text)
        (node.root / path[1:]).symlink_to(node.root / "srv/linked.conf")
    else:
        node.write(path, text)
    if path.endswith("hiding.conf"):
        node.write("/usr/lib/modprobe.d/hiding.conf", "")
    result = node.run(**WANTED)
    assert node.read(path) == text.replace("\r\n", "\n")
    (warning,) = (line for line in node.warnings if path in line)
    assert why in warning and "%s line %d" % (path, 1 + text.startswith("[")) in warning
    assert not any(path in change for change in result["changes"])
    assert not node.run(**WANTED)["changed"]


def test_a_configuration_file_of_a_package_is_changed(node: Node) -> None:
    node.packaged = node.conffiles = set(HAND_MADE)
    node.run(**WANTED)
    assert texts(node) == AFTER


def test_a_file_behind_a_link_in_etc_is_changed_and_the_link_stays(node: Node) -> None:
    """Debian's /etc/modules is read by this link."""
    node.write("/etc/modules", "# at boot\nib_umad\n")
    link = node.root / "etc/modules-load.d/modules.conf"
    link.symlink_to("../modules")
    node.run(**WANTED)
    assert link.is_symlink() and node.read("/etc/modules") == "# at boot\n"
    node.run(**ABSENT)
    assert link.is_symlink() and node.read("/etc/modules") == "# at boot\nib_umad\n"


def test_files_of_other_roles_are_not_of_others(node: Node) -> None:
    path = "/etc/modprobe.d/rdma-ofed-gpudirect.conf"
    node.write(path, HEADER + "options ib_ipoib send_queue_size=1\n")
    node.run(**WANTED)
    assert node.read(path) == HEADER + "options ib_ipoib send_queue_size=1\n"


def test_a_limit_that_others_override_stays(node: Node) -> None:
    node.write(LIMITS, "* - memlock unlimited\n")
    node.run(**WANTED)
    assert node.read("/etc/security/limits.conf") == BEFORE["/etc/security/limits.conf"]


def test_where_limits_may_not_be_raised_they_stay(node: Node) -> None:
    node.write("proc/1/status", "CapEff:\t00000000a80425fb\n")
    node.run(**WANTED)
    assert (node.read(LIMITS), node.read(SYSTEM)) == (BEFORE[LIMITS], BEFORE[SYSTEM])


def test_a_file_that_has_changed_since_stays_and_is_named(node: Node) -> None:
    node.run(**WANTED)
    node.write(LISTED, "ib_srp\n")
    node.run(**ABSENT)
    assert node.read(LISTED) == "ib_srp\n" and node.read(MODPROBE) == BEFORE[MODPROBE]
    assert node.warnings == ["%s has changed since settings were taken out of it, so it stays; what it was before is in %s%s" % (LISTED, COPIES, LISTED)]


def test_what_comes_back_is_taken_over_again(node: Node) -> None:
    node.run(**WANTED)
    node.write(MODPROBE, AFTER[MODPROBE] + "options ib_ipoib send_queue_size=7\n")
    assert node.run(**WANTED)["changed"]
    assert texts(node) == AFTER
    node.run(**ABSENT)
    assert node.read(MODPROBE).endswith("options ib_ipoib send_queue_size=7\n"), "as the administrator left it last"


def test_the_controller_gives_the_answer_of_an_unchanged_node(node: Node) -> None:
    node.write("/usr/lib/modprobe.d/vendor.conf", "options ib_ipoib send_queue_size=1\n")
    variables = {"kernel_modules_options": PARAMETERS, "kernel_modules_adopt": "yes"}
    assert unchanged({**node.params, **_options(node)}, look_for(at(node, node.root, RELEASE), hints(variables))) is None
    node.run(**WANTED)
    again = node.run(**WANTED)
    assert unchanged(node.params, look_for(at(node, node.root, RELEASE), hints(variables))) == {**again, "warnings": node.warnings}
    assert unchanged(node.params, look_for(at(node, node.root, RELEASE), hints({"kernel_modules_options": PARAMETERS}))) is None
    node.run(**ABSENT)
    assert unchanged({**node.params}, look_for(at(node, node.root, RELEASE), hints(variables))) is not None


def _options(node: Node) -> dict[str, t.Any]:
    node.run(check=True, **WANTED)
    return node.params
