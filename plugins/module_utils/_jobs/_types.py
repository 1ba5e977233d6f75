# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a job test measures, with whom, and what it found. Pure data."""

from __future__ import annotations

import typing as t

MEMLOCK, CONTAINER, WRITE, PINGPONG, ALLTOALL, ALLREDUCE = "memlock", "container", "ib_write_bw", "pingpong", "alltoall", "allreduce"
TESTS = (MEMLOCK, CONTAINER, WRITE, PINGPONG, ALLTOALL, ALLREDUCE)
"""In the order in which a job runs them."""
SLURM, SSH, AUTO = "slurm", "ssh", "auto"
PAIRS, ALL = "pairs", "all"


class Part(t.NamedTuple):
    """A host that takes part in a job."""

    host: str
    """Its name in the inventory."""
    node: str
    """Its name in Slurm, or the address at which mpirun finds it."""
    address: str = ""
    """The address at which the others find it over TCP."""
    port: str = ""
    """The port to measure through, such as `mlx5_0/1`; empty where it has none."""
    gbps: float = 0
    """What its link carries of data, in Gb/s; 0 where that is unknown."""


class Setting(t.NamedTuple):
    """What all jobs of a test have in common."""

    user: str
    launcher: str
    """SLURM or SSH."""
    tests: tuple[str, ...] = TESTS
    setup: str = ""
    """A line of shell before each program, from the inventory."""
    environment: tuple[tuple[str, str], ...] = ()
    container: tuple[str, ...] = ()
    """The words before a command that run it in a container."""
    mpi: str = ""
    """The type of MPI for srun; empty for the best one that Slurm has."""
    options: tuple[str, ...] = ()
    """Further options of sbatch."""
    gpus: int = 1
    """GPUs of each node for NCCL."""
    seconds: int = 5
    """The duration of ib_write_bw."""
    size: int = 65536
    """Bytes of a write."""
    tcp_port: int = 18600
    step_seconds: int = 60
    """The time limit of each step."""
    wait: int = 300
    """Seconds in which a job has to start."""


class Figure(t.NamedTuple):
    """The result of one test. Values that it does not measure are None or empty."""

    test: str
    hosts: tuple[str, ...]
    tool: str = ""
    soft: str = ""
    """The limit of locked memory in KiB, or `unlimited`."""
    hard: str = ""
    gbps: float | None = None
    usec: float | None = None
    network: str = ""
    """What NCCL uses between nodes."""
    problem: str = ""
    """Why there is no result."""
    code: str = ""
    """The code of the finding for that."""


class Job(t.NamedTuple):
    """One job and what it found."""

    hosts: tuple[str, ...]
    number: int = 0
    """The job ID; 0 without one."""
    cluster: str = ""
    """The cluster of Slurm that has the job; empty for that of the host that submits."""
    problem: str = ""
    """Why it measured nothing."""
    code: str = ""
    """The code of the finding for that."""
    left: str = ""
    """Why the job could not be cancelled at the end; empty where it was."""
    missing: tuple[tuple[str, str], ...] = ()
    """Tests that no tool is installed for, with the tools."""
    figures: tuple[Figure, ...] = ()


def pairs_of(parts: t.Sequence[Part]) -> list[list[tuple[Part, Part]]]:
    """Neighbours, in rounds in which no host has two parts. With an odd number, the last one is measured with the first one in a second round."""
    first = list(zip(parts[::2], parts[1::2]))
    rounds = [first] if first else []
    return [*rounds, [(parts[-1], parts[0])]] if len(parts) % 2 and len(parts) > 1 else rounds


def groups_of(hosts: t.Sequence[str], scope: str) -> list[tuple[str, ...]]:
    """The hosts of each job: ALL in one, or PAIRS of neighbours. An odd host joins the last pair."""
    if scope == ALL or len(hosts) < 4:
        return [tuple(hosts)] if hosts else []
    groups = [tuple(hosts[place : place + 2]) for place in range(0, len(hosts) - len(hosts) % 2, 2)]
    return [*groups[:-1], (*groups[-1], hosts[-1])] if len(hosts) % 2 else groups


def as_data(job: Job) -> dict[str, t.Any]:
    """The job in the shape in which a module returns it."""
    return {**job._asdict(), "missing": dict(job.missing), "figures": [figure._asdict() for figure in job.figures]}


def from_data(entry: t.Mapping[str, t.Any]) -> Job:
    """The inverse."""
    figures = tuple(Figure(**{**each, "hosts": tuple(each["hosts"])}) for each in entry["figures"])
    return Job(**{**entry, "hosts": tuple(entry["hosts"]), "missing": tuple(entry["missing"].items()), "figures": figures})
