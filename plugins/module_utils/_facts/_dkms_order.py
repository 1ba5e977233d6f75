# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order in which DKMS builds modules for a new kernel.

DKMS builds the sources that `BUILD_DEPENDS` in their dkms.conf names first. Without that, a third-party module may be built before the vendor's stack is
there for the kernel: on that of the kernel itself, so that it does not fit what is installed a minute later.

`/etc/dkms/NAME.conf` adds to the dkms.conf of a source. Before 3.1.8, DKMS does not read it when it puts sources in order. There, a script that the package
of a kernel runs before that of DKMS builds the stack.
"""

from __future__ import annotations

import os
import re
import typing as t

from .._host._files import HEADER, read_text
from ._kernels import dkms_modules, is_driver, module_files, module_needs, read_sources
from ._modules import consumers
from ._sysfs import entries

FOLDER = "/etc/dkms"
_DEPENDS = re.compile(r"^[ \t]*BUILD_DEPENDS(?:\[[^]]*\])?\+?=(.*)$", re.MULTILINE)
_SUFFIX = ".conf"
_DKMS = "usr/sbin/dkms"
# How `autoinstall` of the script names the source whose files it reads; it is empty before 3.1.8.
_READS_FILES = re.compile(r"\bmodule=\S+ module_version=\S+ read_conf_or_die [^\n]*/source/dkms\.conf")
# By the scripts of DKMS, which package managers or kernel-install run: those that run before them.
_HOOKS = {
    "etc/kernel/postinst.d/dkms": "/etc/kernel/postinst.d/00-rdma-ofed",
    "etc/kernel/header_postinst.d/dkms": "/etc/kernel/header_postinst.d/00-rdma-ofed",
    "usr/lib/kernel/install.d/40-dkms.install": "/etc/kernel/install.d/00-rdma-ofed.install",
}
_SHELL = "#!/bin/sh\n"
_SCRIPT = """
# DKMS builds third-party modules that depend on the RDMA stack. For a new kernel, the stack is built before them.
# Called with the release of the kernel, or with `add` and the release. A build that fails is reported by DKMS, which tries it again.
case "$1" in
add) kernel=$2 ;;
remove) exit 0 ;;
*) kernel=$1 ;;
esac
[ -d "/lib/modules/$kernel/build/include" ] || exit 0
for source in /var/lib/dkms/%(driver)s/*/source; do
    version=${source%%/source}
    dkms install -m %(driver)s -v "${version##*/}" -k "$kernel" || true
done
exit 0
"""


class Order(t.NamedTuple):
    """The files by which the vendor's stack is built before third-party modules."""

    due: tuple[str, ...] = ()
    """The files to be written or removed."""
    foreign: tuple[str, ...] = ()
    """Files of others at their places, which lack the order."""


class Configured(t.NamedTuple):
    """What there is in the tree of DKMS, in FOLDER and among the scripts for new kernels."""

    driver: str = ""
    """The source of the vendor's stack; "" where DKMS has none."""
    users: t.Mapping[str, str] = {}
    """The sources of third-party modules that depend on the stack, with all configuration of others for them."""
    files: t.Mapping[str, str] = {}
    """The files at the places of these sources, at those of scripts, and those of the collection in FOLDER, with their content."""
    reads_files: bool = False
    """Whether DKMS reads FOLDER when it puts sources in order."""
    hooks: tuple[str, ...] = ()
    """The places of scripts, where DKMS has one."""


def depends(text: str, driver: str) -> bool:
    """Whether this configuration of DKMS has the source built after that of the driver."""
    return any(driver in re.split(r"[\s\"'()]+", value) for value in _DEPENDS.findall(text))


def _place(source: str) -> str:
    return "%s/%s%s" % (FOLDER, source, _SUFFIX)


def is_hook(path: str) -> bool:
    """Whether the file is a script, which has to be executable."""
    return path in _HOOKS.values()


def _lacking(found: Configured) -> tuple[str, ...]:
    """The sources of users that no configuration of others has built after the driver."""
    return tuple(source for source, text in found.users.items() if found.driver and not depends(text, found.driver))


def _is_foreign(text: str) -> bool:
    return bool(text) and not text.startswith((HEADER, _SHELL + HEADER))


def wanted(found: Configured) -> dict[str, str]:
    """The content by path of all files of the collection; "" for one that is to be removed."""
    lacking = _lacking(found)
    line = HEADER + '# The RDMA stack is built first for a new kernel.\nBUILD_DEPENDS+=("%s")\n' % found.driver
    files = {path: "" for path, text in found.files.items() if not _is_foreign(text)}
    mine = {_place(source): line for source in lacking} if found.reads_files else {}
    if lacking and not found.reads_files:
        mine = dict.fromkeys(found.hooks, _SHELL + HEADER + _SCRIPT % {"driver": found.driver})
    return {**files, **{path: text for path, text in mine.items() if not _is_foreign(found.files.get(path, ""))}}


def order_of(found: Configured) -> Order:
    """What is to be done, and what is left to the site."""
    due = (path for path, text in wanted(found).items() if found.files.get(path, "") != text)
    places = [_place(source) for source in _lacking(found)] if found.reads_files else []
    return Order(tuple(sorted(due)), tuple(sorted(path for path in places if _is_foreign(found.files.get(path, "")))))


def read_configured(root: str, release: str, foreseen: str = "") -> Configured:
    """The sources with modules for this kernel, and their configuration. Only files are read. `foreseen`: the driver that DKMS does not have yet."""
    folder = os.path.join(root, FOLDER.lstrip("/"))
    files = {_place(name[: -len(_SUFFIX)]): read_text(os.path.join(folder, name)) for name in entries(folder) if name.endswith(_SUFFIX)}
    scripts = {path: read_text(os.path.join(root, path.lstrip("/"))) for path in _HOOKS.values()}
    ours = {path: text for path, text in {**files, **scripts}.items() if text and not _is_foreign(text)}
    sources = read_sources(root)
    driver = next((source.name for source in sources if is_driver(source)), foreseen)
    if not driver:
        return Configured(files=ours)
    text = read_text(os.path.join(root, "lib/modules", release, "modules.dep"))
    managed = dkms_modules(root, release)
    users: dict[str, str] = {}
    for name in consumers(module_files(text), module_needs(text)):
        source, _slash, version = managed.get(name, "").partition("/")
        if source and source != driver:
            own = read_text(os.path.join(root, "var/lib/dkms", source, version, "source/dkms.conf"))
            others = [files.get(_place(stem), "") for stem in (source, "%s-%s" % (source, version))]
            users[source] = "\n".join([own, *filter(_is_foreign, others)])
    if not users:
        return Configured(driver, files=ours)
    hooks = tuple(ours_ for theirs, ours_ in _HOOKS.items() if os.path.exists(os.path.join(root, theirs)))
    there = {path: text for path, text in {**files, **scripts}.items() if text and path in (*map(_place, users), *hooks)}
    reads = bool(_READS_FILES.search(read_text(os.path.join(root, _DKMS))))
    return Configured(driver, users, {**ours, **there}, reads, hooks)
