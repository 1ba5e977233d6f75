# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Slurm for its users: `sbatch`, `squeue`, `srun` and `scancel`. Pure.

Output as in the manual pages of Slurm 20.11 to 24.11.
"""

from __future__ import annotations

import math
import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, shown
from ._measure import last_words

TOOLS = ("sbatch", "squeue", "srun", "scancel")
RUNNING = "RUNNING"
# No state of Slurm: squeue has not told one.
UNSEEN = "not seen"
# These become RUNNING without help.
_WAITING = ("PENDING", "CONFIGURING", "SUSPENDED", UNSEEN)
_SUBMITTED = re.compile(r"([0-9]{1,10})(?:;([A-Za-z0-9_.-]{1,100}))?\Z")
_STATE = re.compile(r"([A-Z_]{1,40})\|(.{0,400})\Z")
# From better to worse. Versions of PMIx have names such as pmix_v4.
_MPI_TYPES = ("pmix", "pmi2")
NAME = "rdma_job_test"


class JobId(t.NamedTuple):
    """What a job is called."""

    number: int
    """0 for none."""
    cluster: str = ""
    """Empty for that of the host. Each cluster has numbers of its own."""

    @property
    def options(self) -> tuple[str, ...]:
        """What makes a command ask its cluster."""
        return ("--clusters=" + self.cluster,) if self.cluster else ()


class State(t.NamedTuple):
    """A job, as `squeue` shows it."""

    name: str
    """Such as `PENDING`; UNSEEN where squeue failed; empty where the job is no longer in the queue."""
    reason: str
    """Why it waits or has ended, such as `Resources`; empty for none."""

    @property
    def waits(self) -> bool:
        return self.name in _WAITING


def submit_command(nodes: t.Sequence[str], seconds: int, options: t.Sequence[str], *, name: str = NAME) -> tuple[str, ...]:
    """A job that holds the nodes for that time, for steps that come from outside. It writes no file. `options` are those of the site."""
    return (
        "sbatch",
        "--parsable",
        "--job-name=" + name,
        "--nodes=%d" % len(nodes),
        "--ntasks-per-node=1",
        "--nodelist=" + ",".join(nodes),
        "--time=%d" % math.ceil(seconds / 60),
        "--output=/dev/null",
        "--error=/dev/null",
        "--chdir=/",
        "--no-requeue",
        *options,
        "--wrap=exec sleep %d" % seconds,
    )


def parse_submitted(output: str) -> JobId:
    """The ID, with the cluster where options or the user's environment name some. Lines of a login may come first. Raises UnexpectedOutput."""
    for line in reversed(output.splitlines()):
        match = _SUBMITTED.match(line.strip())
        if match:
            return JobId(decimal(match[1], 0), match[2] or "")
    raise UnexpectedOutput("sbatch printed no job ID; it said: %s" % (last_words(output) or "nothing"))


def find_command(user: str, name: str) -> tuple[str, ...]:
    """The jobs of a user with that name."""
    return ("squeue", "--noheader", "--user=" + user, "--name=" + name, "--format=%i")


def parse_found(output: str) -> JobId:
    """The last one."""
    numbers = [decimal(line.strip(), 0) for line in output.splitlines()]
    return JobId(next(filter(None, reversed(numbers)), 0))


def state_command(job: JobId) -> tuple[str, ...]:
    return ("squeue", *job.options, "--noheader", "--jobs=%d" % job.number, "--states=all", "--format=%T|%r")


def is_unknown_job(errors: str) -> bool:
    """Whether squeue has failed because Slurm no longer has the job."""
    return "invalid job id" in errors.lower()


def parse_state(output: str) -> State:
    """A job that ended some minutes ago is unknown to squeue."""
    for line in reversed(output.splitlines()):
        match = _STATE.match(line.strip())
        if match:
            return State(match[1], "" if match[2] == "None" else shown(match[2]))
    return State("", "")


def step_command(job: JobId, nodes: t.Sequence[str], argv: t.Sequence[str], *, mpi: str) -> tuple[str, ...]:
    """One process on each of these nodes of the job. When one fails, the others end, too."""
    count = str(len(nodes))
    where = (*job.options, "--jobid=%d" % job.number, "--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1", "--nodelist=" + ",".join(nodes))
    return ("srun", *where, "--chdir=/", "--kill-on-bad-exit=1", "--mpi=" + mpi, *argv)


def cancel_command(job: JobId) -> tuple[str, ...]:
    return ("scancel", *job.options, str(job.number))


def mpi_types_command() -> tuple[str, ...]:
    return ("srun", "--mpi=list")


def parse_mpi_types(output: str) -> str:
    """The best type of MPI that this Slurm has; `none` where it has none."""
    words = set(output.replace(",", " ").split())
    return next((kind for kind in _MPI_TYPES if kind in words), "none")
