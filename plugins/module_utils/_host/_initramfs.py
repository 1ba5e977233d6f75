# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The initramfs images of a node: where they are, what they hold, and how they are rebuilt."""

from __future__ import annotations

import os
import re
import typing as t

from ._files import read_text
from ._step import Step

if t.TYPE_CHECKING:
    from ._run import Runner

# Listing an image unpacks it, which takes seconds; building one compresses it, which takes minutes.
LIST_TIMEOUT = 120.0
BUILD_TIMEOUT = 900.0
REBUILD_STAGE = "rebuilding "


class Image(t.NamedTuple):
    """The image that one kernel boots with."""

    release: str
    path: str


class Builder(t.NamedTuple):
    """A tool that builds images. All supported distributions have one of BUILDERS."""

    tool: str
    lister: str
    build: tuple[str, ...]
    """argv in which `{release}` and `{path}` are filled in."""


BUILDERS = (
    Builder("update-initramfs", "lsinitramfs", ("update-initramfs", "-u", "-k", "{release}")),
    Builder("dracut", "lsinitrd", ("dracut", "--force", "{path}", "{release}")),
)


def builder_of(run: Runner) -> Builder | None:
    """The node's builder; None where it boots without, as containers do."""
    return next((builder for builder in BUILDERS if run.has(builder.tool)), None)


def installed_images(releases: t.Iterable[str], root: str = "/") -> tuple[Image, ...]:
    """The image of each kernel release that has one: Debian's name, Red Hat's, SUSE's, and the boot loader specification's."""
    machine_id = read_text(os.path.join(root, "etc/machine-id")).strip()
    images = []
    for release in releases:
        places = ["boot/initrd.img-%s", "boot/initramfs-%s.img", "boot/initrd-%s"]
        if machine_id:
            places += ["boot/%s/%%s/initrd" % machine_id, "efi/%s/%%s/initrd" % machine_id, "boot/efi/%s/%%s/initrd" % machine_id]
        paths = (place % release for place in places)
        images += [Image(release, "/" + path) for path in paths if os.path.isfile(os.path.join(root, path))][:1]
    return tuple(images)


def holds(listing: str, modules: t.Collection[str]) -> bool:
    """Whether one of the modules (canonical names) is in the image that `listing` describes."""
    if not modules:
        return False
    names = "|".join(re.escape(name).replace("_", "[-_]") for name in sorted(modules))
    return re.search(r"/(?:%s)\.ko(?:\.[a-z0-9]+)?\s*$" % names, listing, re.MULTILINE) is not None


def images_with(run: Runner, builder: Builder, *, images: t.Iterable[Image], modules: t.Collection[str]) -> tuple[Image, ...]:
    """The images in which one of the modules is. Where they can't be listed, all: a needless build is the lesser harm."""
    if not run.has(builder.lister):
        return tuple(images)
    return tuple(image for image in images if holds(run([builder.lister, image.path], timeout=LIST_TIMEOUT).stdout, modules))


def holding(run: Runner, releases: t.Iterable[str], modules: t.Collection[str], *, root: str = "/") -> tuple[Image, ...]:
    """The images of kernel releases in which one of the modules is; those would be loaded before what is on disk."""
    builder = builder_of(run)
    return () if builder is None else images_with(run, builder, images=installed_images(releases, root), modules=modules)


def rebuilding(run: Runner, images: t.Iterable[Image]) -> tuple[Step, ...]:
    """Steps of a job that rebuild images. An earlier one may have done that before the modules were in place."""
    builder = builder_of(run)
    return () if builder is None else tuple(Step(REBUILD_STAGE + image.path, build_argv(builder, image)) for image in images)


def build_argv(builder: Builder, image: Image) -> tuple[str, ...]:
    """The process that rebuilds an image."""
    return tuple(part.format(release=image.release, path=image.path) for part in builder.build)


def kernels(root: str = "/") -> list[str]:
    """The releases that have modules on the disk."""
    base = os.path.join(root, "lib/modules")
    return sorted(os.listdir(base)) if os.path.isdir(base) else []


def rebuild(run: Runner, builder: Builder, image: Image) -> None:
    """Rebuild the image from the configuration that is on disk now."""
    run(build_argv(builder, image), timeout=BUILD_TIMEOUT)
