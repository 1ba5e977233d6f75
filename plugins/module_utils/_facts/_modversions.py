# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Symbol versions: whether a module was built on the installed build of another.

A kernel with CONFIG_MODVERSIONS refuses a module whose number for a symbol is not that of the module that exports it.
"""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import hexadecimal
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# Where MLNX_OFED and DOCA-OFED leave the numbers of their symbols, in the order of NVIDIA's build: what DKMS has built has a folder of its
# own in newer releases, to which the others may link, or still link to that of another kernel.
_FOLDERS = (
    "usr/src/ofa_kernel-dkms/{machine}/{release}",
    "usr/src/ofa_kernel/{machine}/{release}",
    "usr/src/ofa_kernel/{release}",
    "usr/src/ofa_kernel/default",
)
_RELEASE = re.compile(r"^\d+\.\d+\.")


def parse_versions(text: str) -> dict[str, str]:
    """Module.symvers, and `modprobe --dump-modversions`: a line a symbol, with its number first."""
    rows = [line.split() for line in text.splitlines()]
    return {row[1]: row[0] for row in rows if len(row) >= 2 and row[0].startswith("0x")}


def symvers_of(root: str, release: str) -> str:
    """Module.symvers of the stack for a kernel, from the first folder that is there; "" where that is another kernel's, or there is none."""
    paths = [os.path.join(root, folder.format(machine=os.uname().machine, release=release)) for folder in _FOLDERS]
    path = next((path for path in paths if os.path.isdir(path)), "")
    name = os.path.basename(os.path.realpath(path))
    if not path or (_RELEASE.match(name) and name != release):
        return ""
    return read_text(path + "/Module.symvers")


def built_on_other(run: Runner, *, root: str, release: str, path: str, symbol: str) -> bool:
    """Whether the module's number for the symbol differs from that of the installed stack. False where one is not known.

    `path` is the module's in modules.dep.
    """
    offered = parse_versions(symvers_of(root, release)).get(symbol, "")
    if not offered or not path or not run.has("modprobe"):
        return False
    file = os.path.join(root, "lib/modules", release, path)
    needed = parse_versions(run(["modprobe", "--dump-modversions", file], ok=None, timeout=20).stdout).get(symbol, "")
    return hexadecimal(needed) not in (None, hexadecimal(offered))
