# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a step of a job failed, as far as its output tells. Pure.

Messages of perftest, rdma-core, Open MPI 4 and 5, UCX, NCCL, OpenSSH and Slurm.
"""

from __future__ import annotations

import re
import typing as t

from .._finding import Code
from .._tools._measure import is_no_device

# timeout(1), and what srun and mpirun make of a process that was killed.
_TIMED_OUT = (124, 137)
# The first one that matches is the reason: a library names the cause before its callers complain.
_REASONS: tuple[tuple[Code, t.Pattern[str]], ...] = (
    (Code.JOB_NO_MEMORY, re.compile(r"(?i)couldn't allocate MR|locked memory|memlock|(?:ibv_|failed to |couldn't )[^\n]{0,120}cannot allocate memory")),
    (Code.JOB_NO_LOGIN, re.compile(r"Permission denied \(|Host key verification failed|ssh: connect to host|ssh: Could not resolve")),
    (Code.JOB_NO_PMI, re.compile(r"not built with S[Ll][Uu][Rr][Mm]|PMI2?_Init|PMI support|MPI plugin|Invalid MPI type|mpi/pmi|PMIX?[_ ]ERR")),
    (
        Code.JOB_NO_TRANSPORT,
        re.compile(r"PML \S+ cannot be selected|[Nn]o (?:usable|supported) (?:transports|devices)|[Dd]estination is unreachable|No components were able"),
    ),
    (Code.JOB_NO_DEVICE, re.compile(r"/dev/infiniband/\S{1,60}[^\n]{0,60}(?:Permission denied|No such file)")),
)


def reason_of(status: int, output: str) -> Code:
    """The code of the finding. `status`: that of the step."""
    for code, pattern in _REASONS:
        if pattern.search(output):
            return code
    if is_no_device(output):
        return Code.JOB_NO_DEVICE
    return Code.JOB_TIMED_OUT if status in _TIMED_OUT else Code.JOB_FAILED
