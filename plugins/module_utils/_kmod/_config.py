# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of the files that name modules: modprobe.d, modules-load.d and rdma-core's lists."""

from __future__ import annotations

import re
import typing as t

from .._facts._railrule import PATH, Rail, render
from .._host._files import HEADER
from ._names import canonical

if t.TYPE_CHECKING:
    from .._distro._family import Family

# These files belong entirely to the collection.
OPTIONS_PATH = "/etc/modprobe.d/rdma-ofed.conf"
LOAD_PATH = "/etc/modules-load.d/rdma-ofed.conf"
# The modules of upper-layer protocols, which are configured separately.
ULPS_PATH = "/etc/modules-load.d/rdma-ofed-ulps.conf"

# By default, dracut adds OPTIONS_PATH only to host-only images; this file adds it to all images.
DRACUT_PATH = "/etc/dracut.conf.d/rdma-ofed.conf"
# initramfs-tools runs this hook while it builds an image.
HOOK_PATH = "/etc/initramfs-tools/hooks/rdma-ofed"
NAMING_PATH = PATH
# The files that determine the content of an image. None of them may be newer than the images.
IMAGE_PATHS = (DRACUT_PATH, HOOK_PATH, OPTIONS_PATH, NAMING_PATH)

# The images to be rebuilt. Written before these files, and removed after the rebuild.
STALE_PATH = "/var/lib/rdma.ofed/stale-images"

UNMANAGED = "unmanaged"
_POLICIES = {"kernel": "NAME_KERNEL", "persistent": "NAME_FALLBACK"}

_HOOK = (
    "#!/bin/sh\n"
    + HEADER
    + """\
case "$1" in
prereqs)
    exit 0
    ;;
esac
. /usr/share/initramfs-tools/hook-functions
%s"""
)

# rdma-core's list for every RDMA device: a conffile in which only our block belongs to us.
RDMA_PATH = "/etc/rdma/modules/rdma.conf"
# rdma-core's list for devices that support InfiniBand.
INFINIBAND_PATH = "/etc/rdma/modules/infiniband.conf"

BEGIN = "# BEGIN rdma.ofed: this block is managed by the Ansible collection rdma.ofed\n"
END = "# END rdma.ofed\n"


def default_lists(family: Family) -> dict[str, str]:
    """rdma-core's lists as the package installs them, without comments, for check mode on a node without the package."""
    names = {RDMA_PATH: family.rdma_modules, INFINIBAND_PATH: family.infiniband_modules}
    return {path: "".join(name + "\n" for name in modules) for path, modules in names.items()}


class Entry(t.NamedTuple):
    """A module that a file loads at boot."""

    name: str
    path: str
    line: int


class Directive(t.NamedTuple):
    """A line of modprobe.d."""

    kind: str
    """`options`, `blacklist`, `install` ..."""
    module: str
    """The canonical name of the module."""
    rest: str
    path: str
    line: int


def parse_list(path: str, text: str) -> list[Entry]:
    """Parse a file of modules-load.d(5): one name per line, `#` and `;` begin a comment. Names are canonical."""
    rows = ((number, line.split()) for number, line in enumerate(text.splitlines(), 1))
    return [Entry(canonical(fields[0]), path, number) for number, fields in rows if fields and fields[0][0] not in "#;"]


def parse_modprobe(path: str, text: str) -> list[Directive]:
    """Parse a file of modprobe.d(5): a backslash at the end continues a line; the line number is that of the first part."""
    directives = []
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        fields = (held + line).split(None, 2)
        if len(fields) >= 2 and not fields[0].startswith("#"):
            directives.append(Directive(fields[0], canonical(fields[1]), fields[2].strip() if len(fields) > 2 else "", path, start))
        held, start = "", 0
    return directives


def parse_assignments(rest: str) -> dict[str, str]:
    """Parse `a=1 b="x y"` of an options line. A parameter without a value has the value ""."""
    return {match.group(1): match.group(2) or "" for match in re.finditer(r'([A-Za-z0-9_]+)(?:=((?:"[^"]*"|[^\s"])*))?', rest)}


def parse_options(text: str) -> dict[str, dict[str, str]]:
    """All options of one file, by module; a later line wins."""
    options: dict[str, dict[str, str]] = {}
    for directive in parse_modprobe("", text):
        if directive.kind == "options":
            options.setdefault(directive.module, {}).update(parse_assignments(directive.rest))
    return options


def options_text(options: t.Mapping[str, t.Mapping[str, str]]) -> str:
    """Our file in modprobe.d, sorted, so that the order of the inventory makes no difference. Empty: no file."""
    lines = [
        "options %s %s\n" % (module, " ".join("%s=%s" % pair for pair in sorted(parameters.items())))
        for module, parameters in sorted(options.items())
        if parameters
    ]
    return HEADER + "".join(lines) if lines else ""


def dracut_text(options: bool, drivers: t.Collection[str], cmdline: t.Sequence[str] = ()) -> str:
    """Our file for dracut. Its `force_drivers` are added to every image and loaded early. Empty: no file.

    `cmdline` is added to the images, too, and has the same effect as arguments of the boot loader.

    IPoIB in the initramfs is useful only with a network, which dracut leaves out of the images of hosts with their
    root file system on a disk.
    """
    lines = ['install_optional_items+=" %s "\n' % OPTIONS_PATH] if options else []
    if drivers:
        lines.append('force_drivers+=" %s "\n' % " ".join(sorted(drivers)))
    if "ib_ipoib" in drivers:
        lines.append('add_dracutmodules+=" network "\n')
    if cmdline:
        lines.append('kernel_cmdline+=" %s "\n' % " ".join(cmdline))
    return HEADER + "".join(lines) if lines else ""


def hook_text(drivers: t.Collection[str]) -> str:
    """Our hook for initramfs-tools. It adds the drivers to every image and has them loaded early. Empty: no file."""
    return _HOOK % "".join("force_load %s\n" % driver for driver in sorted(drivers)) if drivers else ""


class Naming(t.NamedTuple):
    """How RDMA devices are named."""

    policy: str = UNMANAGED
    """`unmanaged`, `kernel` or `persistent`, for the devices that are no rails."""
    rails: tuple[Rail, ...] = ()
    stack: str = ""
    """The policy of the rule that ours overrides, such as NAME_FALLBACK; "" for none."""

    def __bool__(self) -> bool:
        return self.policy != UNMANAGED or bool(self.rails)

    @property
    def rules(self) -> str:
        """The rules for udev."""
        policy = _POLICIES.get(self.policy, self.stack or _POLICIES["kernel"])
        if self.rails:
            return render(self.rails, policy)
        return 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %%k %s"\n' % policy


def naming_text(found: str, naming: Naming) -> str:
    """The file with the rules. A file not written by us is kept, because the administrator has decided, or it has the rules. Empty: no file."""
    if found and not found.startswith(HEADER):
        return found
    return HEADER + naming.rules if naming else ""


def load_text(names: t.Collection[str]) -> str:
    """Our file in modules-load.d. Empty: no file."""
    return HEADER + "".join("%s\n" % name for name in sorted(names)) if names else ""


def without_block(text: str) -> str:
    """The lines of others. A block without an end marker was edited by hand: only the start marker is removed."""
    kept: list[str] = []
    block: list[str] | None = None
    for line in text.splitlines(True):
        marker = line.rstrip("\n") + "\n"
        if marker == BEGIN:
            kept.extend(block or [])
            block = []
        elif block is not None and marker == END:
            block = None
        elif block is not None:
            block.append(line)
        elif marker != END:
            kept.append(line)
    kept.extend(block or [])
    return "".join(kept)


def with_block(text: str, names: t.Collection[str]) -> str:
    """`text` with exactly one block of ours at its end, or without any where there is nothing to list."""
    foreign = without_block(text)
    if not names:
        return foreign
    if foreign and not foreign.endswith("\n"):
        foreign += "\n"
    return foreign + BEGIN + "".join("%s\n" % name for name in sorted(names)) + END
