# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _boot, _kernels
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _loaders as loader
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

# As written by grub-mkconfig of Debian 12, shortened.
DEBIAN = """### BEGIN /etc/grub.d/00_header ###
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="%s"
fi

if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
function savedefault {
  if [ -z "${boot_once}" ]; then
    saved_entry="${chosen}"
    save_env saved_entry
  fi
}
### BEGIN /etc/grub.d/10_linux ###
menuentry 'Debian GNU/Linux' --class debian --class gnu-linux --class gnu --class os $menuentry_id_option 'gnulinux-simple-8e3a' {
\tload_video
\tinsmod gzio
\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
\tsearch --no-floppy --fs-uuid --set=root 8e3a
\techo\t'Loading Linux 6.1.0-51-amd64 ...'
\tlinux\t/boot/vmlinuz-6.1.0-51-amd64 root=UUID=8e3a ro  quiet
\techo\t'Loading initial ramdisk ...'
\tinitrd\t/boot/initrd.img-6.1.0-51-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-8e3a' {
\tmenuentry 'Debian GNU/Linux, with Linux 6.1.0-51-amd64' --class debian $menuentry_id_option 'gnulinux-6.1.0-51-amd64-advanced-8e3a' {
\t\tlinux\t/boot/vmlinuz-6.1.0-51-amd64 root=UUID=8e3a ro  quiet
\t\tinitrd\t/boot/initrd.img-6.1.0-51-amd64
\t}
\tmenuentry 'Debian GNU/Linux, with Linux 6.1.0-50-amd64' --class debian $menuentry_id_option 'gnulinux-6.1.0-50-amd64-advanced-8e3a' {
\t\tlinux\t/boot/vmlinuz-6.1.0-50-amd64 root=UUID=8e3a ro  quiet
\t\tinitrd\t/boot/initrd.img-6.1.0-50-amd64
\t}
}
### BEGIN /etc/grub.d/20_linux_xen ###
menuentry 'Debian GNU/Linux, with Xen hypervisor' --class debian $menuentry_id_option 'xen-gnulinux-simple-8e3a' {
\tmultiboot2\t/boot/xen-4.17-amd64.gz placeholder  ${xen_rm_opts}
\tmodule2\t/boot/vmlinuz-6.1.0-50-amd64 placeholder root=UUID=8e3a ro  quiet
\tmodule2\t--nounzip   /boot/initrd.img-6.1.0-50-amd64
}
### BEGIN /etc/grub.d/30_uefi-firmware ###
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
\tfwsetup
}
"""
NEW, OLD = "6.1.0-51-amd64", "6.1.0-50-amd64"
ADVANCED = "gnulinux-advanced-8e3a>gnulinux-6.1.0-50-amd64-advanced-8e3a"


@pytest.mark.parametrize(
    ("default", "environment", "release"),
    [
        ("0", "", NEW),
        ("1>1", "", OLD),
        ("1>0", "", NEW),
        (ADVANCED, "", OLD),
        ("Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-50-amd64", "", OLD),
        # A submenu waits for a choice.
        ("1", "", ""),
        ("2", "", OLD),
        # Not Linux.
        ("3", "", ""),
        # An entry that does not exist means the first entry.
        ("99", "", NEW),
        ("gone", "", NEW),
        ("1>gone", "", NEW),
        ("${saved_entry}", "", NEW),
        ("${saved_entry}", "saved_entry=%s\n" % ADVANCED, OLD),
        ("0", "next_entry=1>1\nsaved_entry=0\n", OLD),
    ],
)
def test_grub(tmp_path: pathlib.Path, default: str, environment: str, release: str) -> None:
    tree: nodes.Tree = {"boot/grub/grub.cfg": DEBIAN % default, "boot/grub/grubenv": "# GRUB Environment Block\n" + environment + "#" * 900}
    assert _boot.read_next_boot(nodes.write(tmp_path, tree)).release == release


def test_menu() -> None:
    menu = loader.parse_menu(DEBIAN % "0")
    assert [entry.title.split(",")[0] for entry in menu] == [
        "Debian GNU/Linux",
        "Advanced options for Debian GNU/Linux",
        "Debian GNU/Linux",
        "UEFI Firmware Settings",
    ]
    assert [entry.image for entry in menu[1].menu or ()] == ["/boot/vmlinuz-" + NEW, "/boot/vmlinuz-" + OLD]
    assert menu[3].image == ""


@given(st.text(), st.text())
def test_any_text_is_a_menu(text: str, choice: str) -> None:
    loader.select(loader.parse_menu(text), choice)
    loader.chosen(loader.parse_default(text), loader.parse_environment(text))


def test_images() -> None:
    assert loader.release_of("/vmlinuz-5.14.0-427.13.1.el9_4.x86_64") == "5.14.0-427.13.1.el9_4.x86_64"
    assert loader.release_of("/4b1f/6.6.10/linux") == "6.6.10"
    assert loader.release_of("/boot/Image-5.14.21-150500.55-default") == "5.14.21-150500.55-default"
    assert loader.release_of("/boot/xen.gz") == loader.release_of("/boot/linux") == ""


# Red Hat's menu consists of files.
RED_HAT = """set default_kernelopts="root=UUID=1 ro"
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="${saved_entry}"
fi
insmod blscfg
blscfg
### BEGIN /etc/grub.d/30_uefi-firmware ###
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
    fwsetup
}
"""
RELEASES = ("5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.9.1.el9_4.x86_64", "5.14.0-503.11.1.el9_5.x86_64")
ID = "a5b6"


def red_hat(environment: str) -> nodes.Tree:
    tree: nodes.Tree = {
        "boot/grub2/grub.cfg": RED_HAT,
        "boot/grub2/grubenv": environment,
        "boot/loader/entries/%s-0-rescue.conf" % ID: "title Rocky (0-rescue-%s)\nversion 0-rescue-%s\nlinux /vmlinuz-0-rescue-%s\n" % (ID, ID, ID),
        "boot/efi/EFI/rocky/grub.cfg": "search --no-floppy --fs-uuid --set=dev 1\nset prefix=($dev)/grub2\nconfigfile $prefix/grub.cfg\n",
    }
    for release in RELEASES:
        text = "title Rocky Linux (%s)\nversion %s\nlinux /vmlinuz-%s\ninitrd /initramfs-%s.img $tuned_initrd\noptions root=1\ngrub_users $grub_users\n"
        tree["boot/loader/entries/%s-%s.conf" % (ID, release)] = text % ((release,) * 4)
    return tree


@pytest.mark.parametrize(
    ("environment", "release"),
    [
        ("", RELEASES[2]),
        ("saved_entry=%s-%s\n" % (ID, RELEASES[1]), RELEASES[1]),
        ("saved_entry=1\n", RELEASES[0]),
        ("saved_entry=gone\n", RELEASES[2]),
        ("saved_entry=0\nnext_entry=Rocky Linux (%s)\n" % RELEASES[0], RELEASES[0]),
    ],
)
def test_grub_with_entries_in_files(tmp_path: pathlib.Path, environment: str, release: str) -> None:
    assert _boot.read_next_boot(nodes.write(tmp_path, red_hat(environment))).release == release


def systemd_boot(conf: str) -> nodes.Tree:
    tree: nodes.Tree = {"efi/loader/loader.conf": conf}
    for version in ("6.6.9", "6.6.10", "6.5.1"):
        tree["efi/loader/entries/4b1f-%s+3-0.conf" % version] = "# kernel-install\ntitle Arch\nversion %s\nsort-key arch\nlinux /4b1f/%s/linux\n" % (
            version,
            version,
        )
    tree["efi/loader/entries/windows.conf"] = "title Windows\nefi /EFI/Microsoft/Boot/bootmgfw.efi\n"
    return tree


@pytest.mark.parametrize(
    ("conf", "variables", "release"),
    [
        ("timeout 3\n", {}, "6.6.10"),
        ("default 4b1f-6.5.*\n", {}, "6.5.1"),
        ("default nothing-*\n", {}, "6.6.10"),
        ("default 4b1f-6.5.*\n", {"LoaderEntryDefault": "4b1f-6.6.9.conf"}, "6.6.9"),
        ("", {"LoaderEntryDefault": "4b1f-6.6.9.conf", "LoaderEntryOneShot": "4b1f-6.5.1.conf"}, "6.5.1"),
        ("default @saved\n", {"LoaderEntryLastBooted": "4b1f-6.6.9.conf"}, "6.6.9"),
    ],
)
def test_systemd_boot(tmp_path: pathlib.Path, conf: str, variables: dict[str, str], release: str) -> None:
    tree = systemd_boot(conf)
    for name, value in variables.items():
        tree["sys/firmware/efi/efivars/%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f" % name] = b"\x06\0\0\0" + (value + "\0").encode("utf-16-le")
    assert _boot.read_next_boot(nodes.write(tmp_path, tree)).release == release


def test_link(tmp_path: pathlib.Path) -> None:
    assert _boot.read_next_boot(str(tmp_path)) == _boot.NextBoot()
    assert _boot.read_next_boot(nodes.write(tmp_path, {"vmlinuz": nodes.Link("boot/vmlinuz-6.1.0-50-amd64")})).release == OLD


@pytest.mark.parametrize(
    ("newer", "older"),
    [("5.14.0-427.13.1", "5.14.0-427.9.1"), ("1.0", "1.0~rc1"), ("1.0.1", "1.0"), ("2", "1.9.9"), ("1.1", "1.a"), ("b", "a")],
)
def test_versions(newer: str, older: str) -> None:
    assert loader.compare(newer, older) == 1
    assert loader.compare(older, newer) == -1
    assert loader.compare(newer, newer) == 0


@given(st.lists(st.text(alphabet="019.-~^ab", max_size=6), max_size=6, unique=True))
def test_order_does_not_depend_on_the_order_of_files(names: list[str]) -> None:
    found = [loader.Entry(name, version=name) for name in names]
    for order in (loader.in_grub_order, loader.in_systemd_order):
        ids = [entry.id for entry in order(found)]
        assert [loader.compare(one, other) >= 0 for one, other in zip(ids, ids[1:])].count(False) == 0


@pytest.mark.parametrize(("content", "on"), [(b"\x06\0\0\0\x01", True), (b"\x06\0\0\0\0", False), (b"", False), (None, False)])
def test_secure_boot(tmp_path: pathlib.Path, content: bytes | None, on: bool) -> None:
    tree: nodes.Tree = {} if content is None else {"sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": content}
    assert _boot.read_secure_boot(nodes.write(tmp_path, tree)) is on


INBOX = "kernel/drivers/infiniband/core/ib_core.ko: kernel/net/core/x.ko\n"


def test_whose_modules(tmp_path: pathlib.Path) -> None:
    assert _kernels.stack_of(_kernels.module_files(INBOX)) == "inbox"
    assert _kernels.stack_of(_kernels.module_files("kernel/drivers/infiniband/core/ib_core.ko\n")) == "inbox"
    for path in ("updates/dkms/ib_core.ko", "extra/mlnx-ofa_kernel/drivers/infiniband/core/ib_core.ko.xz", "weak-updates/mlnx-ofa_kernel/ib_core.ko"):
        assert _kernels.stack_of(_kernels.module_files(path + ": updates/dkms/mlx_compat.ko\n")) == "ofed"
    assert _kernels.stack_of(_kernels.module_files("kernel/fs/ext4/ext4.ko:\n")) == "none"


def test_dkms(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "var/lib/dkms/mlnx-ofed-kernel/23.10.OFED.23.10.0.5.5.1/source": nodes.Link("/usr/src/mlnx-ofed-kernel-23.10"),
        "var/lib/dkms/mlnx-ofed-kernel/kernel-6.1.0-50-amd64-x86_64": nodes.Link("23.10.OFED.23.10.0.5.5.1/6.1.0-50-amd64/x86_64"),
        "var/lib/dkms/iser/1/source": nodes.Link("/usr/src/iser-1"),
        "lib/modules/6.1.0-50-amd64/modules.dep": "updates/dkms/ib_core.ko: updates/dkms/mlx_compat.ko\n",
        "lib/modules/6.1.0-51-amd64/modules.dep": INBOX,
    }
    root = nodes.write(tmp_path, tree)
    assert [source.name for source in _kernels.read_sources(root)] == ["iser", "mlnx-ofed-kernel"]
    found = {kernel.release: (kernel.stack, kernel.dkms) for kernel in _kernels.read_kernels(root, OLD)}
    assert found == {OLD: ("ofed", "built"), NEW: ("inbox", "missing")}
