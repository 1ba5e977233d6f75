# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`ofed_info`: the release of MLNX_OFED, or of the OFED drivers in DOCA-OFED."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# The installer from a tarball writes the first spelling, packages from a repository and DOCA keep the second.
INTERNAL = "OFED-internal"
_RELEASE = re.compile(r"^\s*(MLNX_OFED_LINUX|OFED-internal|MLNX_EN|mlnx-en)-(\d+(?:\.\d+)+(?:-\d+(?:\.\d+)*)*)")


def parse(text: str) -> tuple[str, str]:
    """`ofed_info -s` -> spelling and version: `("OFED-internal", "23.07-0.5.0")`; two empty texts for anything else."""
    match = _RELEASE.match(text)
    return (match.group(1), match.group(2)) if match else ("", "")


def read(run: Runner) -> tuple[str, str]:
    """Spelling and version of the installed release; two empty texts where there is no such tool."""
    return parse(run(["ofed_info", "-s"], ok=None, timeout=10).stdout) if run.has("ofed_info") else ("", "")
