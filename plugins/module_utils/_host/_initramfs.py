# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The initramfs images of a node: their paths, their content, and their builder."""

from __future__ import annotations

import os
import re
import typing as t

from ._files import read_text
from ._step import Step

if t.TYPE_CHECKING:
    from ._run import Runner

# Listing an image decompresses it, which takes seconds; building one compresses it, which takes minutes.
LIST_TIMEOUT = 120.0
BUILD_TIMEOUT = 900.0
REBUILD_STAGE = "rebuilding "


class Image(t.NamedTuple):
    """The image that a kernel boots with."""

    release: str
    path: str


class Builder(t.NamedTuple):
    """A tool that builds images. All supported distributions have one of BUILDERS."""

    tool: str
    lister: str
    build: tuple[str, ...]
    """argv with the placeholders `{release}` and `{path}`."""


BUILDERS = (
    Builder("update-initramfs", "lsinitramfs", ("update-initramfs", "-u", "-k", "{release}")),
    Builder("dracut", "lsinitrd", ("dracut", "--force", "{path}", "{release}")),
)


def builder_of(run: Runner) -> Builder | None:
    """The node's builder; None for a node without an initramfs, such as a container."""
    return next((builder for builder in BUILDERS if run.has(builder.tool)), None)


def installed_images(releases: t.Iterable[str], root: str = "/") -> tuple[Image, ...]:
    """The image of each kernel release that has one, named as on Debian, Red Hat or SUSE, or as in the Boot Loader Specification."""
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
    """Whether the image described by `listing` contains one of the modules (canonical names)."""
    if not modules:
        return False
    names = "|".join(re.escape(name).replace("_", "[-_]") for name in sorted(modules))
    return re.search(r"/(?:%s)\.ko(?:\.[a-z0-9]+)?\s*$" % names, listing, re.MULTILINE) is not None


def lacks(listing: str, paths: t.Iterable[str]) -> bool:
    """Whether the image described by `listing` lacks one of the files."""
    return any(re.search(r"(?:^|[\s/])%s\s*$" % re.escape(path.lstrip("/")), listing, re.MULTILINE) is None for path in paths)


def images_with(
    run: Runner, builder: Builder, *, images: t.Iterable[Image], modules: t.Collection[str], moved: t.Mapping[str, t.Collection[str]] | None = None
) -> tuple[Image, ...]:
    """The images that contain one of the modules. If the images can't be listed, all of them: a needless rebuild does less harm.

    `moved`: further modules, each with files. An image with such a module and all of its files does not count.
    """
    if not run.has(builder.lister):
        return tuple(images)
    listings = {image: run([builder.lister, image.path], timeout=LIST_TIMEOUT).stdout for image in images}
    return tuple(
        image
        for image, listing in listings.items()
        if holds(listing, modules) or any(holds(listing, [module]) and lacks(listing, paths) for module, paths in (moved or {}).items())
    )


def holding(run: Runner, releases: t.Iterable[str], modules: t.Collection[str], *, root: str = "/") -> tuple[Image, ...]:
    """The images of kernel releases that contain one of the modules: at boot these are loaded instead of the modules on disk."""
    builder = builder_of(run)
    return () if builder is None else images_with(run, builder, images=installed_images(releases, root), modules=modules)


def rebuilding(run: Runner, images: t.Iterable[Image]) -> tuple[Step, ...]:
    """The steps of a job that rebuild images. An earlier step may have rebuilt them before the modules were in place."""
    builder = builder_of(run)
    return () if builder is None else tuple(Step(REBUILD_STAGE + image.path, build_argv(builder, image)) for image in images)


def build_argv(builder: Builder, image: Image) -> tuple[str, ...]:
    """The command that rebuilds an image."""
    return tuple(part.format(release=image.release, path=image.path) for part in builder.build)


def kernels(root: str = "/") -> list[str]:
    """The kernel releases that have modules on disk."""
    base = os.path.join(root, "lib/modules")
    return sorted(os.listdir(base)) if os.path.isdir(base) else []


def rebuild(run: Runner, builder: Builder, image: Image) -> None:
    """Rebuild the image from the configuration on disk."""
    run(build_argv(builder, image), timeout=BUILD_TIMEOUT)
