# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NVIDIA's kernel driver: its version, its origin, and whether a module was built for the installed RDMA stack.

A kernel with CONFIG_MODVERSIONS refuses a module whose CRC for a symbol differs from that of the exporting module.
"""

from __future__ import annotations

import glob
import os
import re
import typing as t

from .._foreign import hexadecimal, read_table
from .._host._files import read_text
from .._tools._modinfo import parse_modinfo
from ._kernels import Source, read_sources
from ._sysfs import attribute

if t.TYPE_CHECKING:
    from .._host._run import Runner

_NVRM = "NVRM version:"
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+\b")
# Suffixes of modules that come with the driver's main module. Debian inserts another word, as in nvidia-current-peermem.
_COMPANIONS = ("_peermem", "_uvm", "_modeset")
# Where MLNX_OFED and DOCA-OFED store the CRCs of their symbols, in the search order of NVIDIA's build. In newer releases, a DKMS build has
# a folder of its own; the other folders may link to it, or still to that of another kernel.
_FOLDERS = (
    "usr/src/ofa_kernel-dkms/{machine}/{release}",
    "usr/src/ofa_kernel/{machine}/{release}",
    "usr/src/ofa_kernel/{release}",
    "usr/src/ofa_kernel/default",
)
_RELEASE = re.compile(r"^\d+\.\d+\.")


class Driver(t.NamedTuple):
    version: str = ""
    """`535.104.05`; "" where there is no driver for the running kernel."""
    flavour: str = ""
    """`open`, `proprietary`, or ""."""
    loaded: bool = False
    dkms: str = ""
    """The DKMS source, `nvidia/535.104.05`; "" where the driver was prebuilt or installed by its own installer."""
    cuda: str = ""
    """The version of the CUDA toolkit in its default location; programs may bring their own."""
    unbuilt: bool = False
    """Whether it is loaded, but DKMS has only its source and no modules on disk for the running kernel, as after an interrupted build."""


def parse_version(text: str) -> tuple[str, str]:
    """Parse /proc/driver/nvidia/version: version and flavour; two empty texts for anything else."""
    line = next((line for line in text.splitlines() if line.startswith(_NVRM)), "")
    version = next(filter(None, map(_VERSION.match, line[len(_NVRM) :].split())), None)
    if not version:
        return "", ""
    return version.group(0), "open" if "Open Kernel Module" in " ".join(line.split()) else "proprietary"


def flavour_of(fields: t.Mapping[str, str]) -> tuple[str, str]:
    """Version and flavour from the fields of `modinfo nvidia`. The license tells the flavour: `NVIDIA`, or `Dual MIT/GPL` for the open modules."""
    version = fields.get("version", "")
    return version, ("proprietary" if fields.get("license") == "NVIDIA" else "open") if version else ""


def driver_names(names: t.Collection[str]) -> tuple[str, str]:
    """The names on disk of the main module and of the peer memory module; "" for a missing one."""
    peermem = [name for name in names if name.startswith("nvidia") and name.endswith("_peermem")]
    mains = ["nvidia", *sorted(name[: -len(suffix)] for name in names for suffix in _COMPANIONS if name.startswith("nvidia") and name.endswith(suffix))]
    main = next((name for name in mains if name in names), "")
    return main, "nvidia_peermem" if "nvidia_peermem" in peermem else next(iter(sorted(peermem)), "")


def dkms_source(sources: t.Sequence[Source], release: str, version: str) -> tuple[str, bool]:
    """The DKMS source of the driver in that version, in the notation of dkms ("" for none), and whether it is installed for the kernel."""
    ours = [source for source in sources if _is_ours(source.name) and source.version == version]
    source = next((source for source in ours if release in source.installed), next(iter(ours), None))
    return ("%s/%s" % (source.name, source.version), release in source.installed) if source else ("", False)


def _is_ours(name: str) -> bool:
    """Whether DKMS knows the driver by this name, as opposed to dependent modules such as nvidia-fs."""
    return bool(re.match(r"^nvidia(-[a-z0-9-]+)?\Z", name)) and "fs" not in name.split("-")


def source_folder(root: str, version: str) -> str:
    """The same from the place where packages install the source: DKMS forgets a source that it has removed from its last kernel."""
    folders = glob.glob(os.path.join(glob.escape(root), "usr/src/nvidia*-%s/dkms.conf" % version)) if version else []
    names = [os.path.basename(os.path.dirname(path))[: -len(version) - 1] for path in sorted(folders)]
    return next(("%s/%s" % (name, version) for name in names if _is_ours(name)), "")


def _read_cuda(root: str) -> str:
    cuda = read_table(read_text(os.path.join(root, "usr/local/cuda/version.json"))).get("cuda")
    return str(cuda.get("version", "")) if isinstance(cuda, dict) else ""


def read_driver(run: Runner, *, root: str, release: str, main: str) -> Driver:
    """The driver. `main`: its main module on disk for the kernel; "" for none."""
    text = attribute(root, "proc/driver/nvidia/version")
    version, flavour = parse_version(text)
    if not version and main and run.has("modinfo"):
        blocks = parse_modinfo(run(["modinfo", "-k", release, main], ok=(0, 1), timeout=20).stdout)
        version, flavour = flavour_of(next(iter(blocks.values()), {}))
    source, installed = dkms_source(read_sources(root), release, version)
    if not source and not main:
        source = source_folder(root, version)
    return Driver(version, flavour, bool(text), source, _read_cuda(root), bool(text and source) and not installed and not main)


def parse_versions(text: str) -> dict[str, str]:
    """Parse Module.symvers or the output of `modprobe --dump-modversions`: one symbol per line, with its CRC first."""
    rows = [line.split() for line in text.splitlines()]
    return {row[1]: row[0] for row in rows if len(row) >= 2 and row[0].startswith("0x")}


def symvers_of(root: str, release: str) -> str:
    """Module.symvers of the stack for a kernel, from the first existing folder; "" where that belongs to another kernel, or there is none."""
    paths = [os.path.join(root, folder.format(machine=os.uname().machine, release=release)) for folder in _FOLDERS]
    path = next((path for path in paths if os.path.isdir(path)), "")
    name = os.path.basename(os.path.realpath(path))
    if not path or (_RELEASE.match(name) and name != release):
        return ""
    return read_text(path + "/Module.symvers")


def built_on_other(run: Runner, *, root: str, release: str, path: str, symbol: str) -> bool:
    """Whether the module's CRC for the symbol differs from that of the installed stack. False where either is unknown.

    `path`: the path of the module in modules.dep.
    """
    offered = parse_versions(symvers_of(root, release)).get(symbol, "")
    if not offered or not path or not run.has("modprobe"):
        return False
    file = os.path.join(root, "lib/modules", release, path)
    needed = parse_versions(run(["modprobe", "--dump-modversions", file], ok=None, timeout=20).stdout).get(symbol, "")
    return hexadecimal(needed) not in (None, hexadecimal(offered))
