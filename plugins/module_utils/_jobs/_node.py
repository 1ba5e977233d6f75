# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One host of a job test: how it can take part, and the jobs that are started on it."""

from __future__ import annotations

import pwd
import re
import typing as t

from .._errors import Problem, Refused, Unsupported, require_none
from .._host._run import is_user_name
from .._pairs._node import data_gbps, port_of
from .._tools import _slurm
from ._launch import as_user
from ._run import planned, run_jobs
from ._scripts import limits_command, parse_limits
from ._types import SLURM, SSH, TESTS, WRITE, Part, Setting, as_data

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from .._host._run import Runner

LOOK, RUN = "look", "run"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# It is no option of a command. An address may have a scope: fe80::1%ib0.
_WORD = re.compile(r"(?!-)[A-Za-z0-9_.:%\[\]-]+\Z")
_RANGES: t.Mapping[str, tuple[int, int]] = {
    "seconds": (2, 60),
    "size": (2, 1 << 30),
    "tcp_port": (1024, 65535),
    "gpus": (1, 64),
    "step_seconds": (10, 3600),
    "wait": (1, 86400),
}


def _user_id(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


class Node(t.NamedTuple):
    """The host that the module runs on."""

    run: Runner
    check_mode: bool = False
    root: str = "/"
    user_id: t.Callable[[str], t.Optional[int]] = _user_id
    """The UID of a user; None where the host has no such user."""


def _require_user(node: Node, name: str) -> int:
    """The UID of an ordinary user of this host. Raises InvalidInput and Refused."""
    require_none([] if is_user_name(name) else [Problem("user", name, "the name of an ordinary user")])
    number = node.user_id(name)
    if number is None:
        raise Refused(
            "user %s does not exist on this host, so it can run no job here. Create it, check sssd or nslcd with 'getent passwd %s', or name another user in "
            "job_test_user" % (name, name)
        )
    if number == 0:
        raise Refused("user %s is root, whose limits are not those of users; name an ordinary user in job_test_user" % name)
    if not node.run.has("runuser"):
        raise Unsupported("runuser of util-linux, which opens sessions of users, is not installed on this host")
    return number


def _port(node: Node, name: str) -> tuple[Port | None, str]:
    """The port to measure through, or why there is none."""
    try:
        return port_of(name, node.root), ""
    except Refused as exc:
        return None, exc.msg


def _look(node: Node, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """How this host can take part. Raises RdmaError."""
    number = _require_user(node, options["user"])
    port, why = _port(node, options["port"])
    soft, hard = parse_limits(as_user(node.run, options["user"], limits_command()).stdout)
    if port and not node.run.has(WRITE):
        why = "%s of perftest is not installed" % WRITE
    return {
        "end": {
            "node": options["node"],
            "address": options["address"],
            "user_id": number,
            "slurm": all(node.run.has(tool) for tool in _slurm.TOOLS),
            "port": port.name if port else "",
            "gbps": data_gbps(port) if port else 0,
            "lid": port.lid if port else 0,
            "soft": soft,
            "hard": hard,
            "left_out": {WRITE: why} if why else {},
        }
    }


def _problems(options: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    for name, span in _RANGES.items():
        if not span[0] <= options[name] <= span[1]:
            yield Problem(name, options[name], "%d to %d" % span)
    for key in options["environment"]:
        if not _VARIABLE.match(str(key)):
            yield Problem("environment", key, "names of variables of the shell")
    if options["mpi"] and not _WORD.match(options["mpi"]):
        yield Problem("mpi", options["mpi"], "a type that 'srun --mpi=list' prints")
    for number, group in enumerate(options["groups"]):
        if not group:
            yield Problem("groups[%d]" % number, group, "one part or more")
        for part in group:
            yield from _part_problems("groups[%d]" % number, part)


def _part_problems(name: str, part: t.Any) -> t.Iterator[Problem]:
    if not isinstance(part, dict) or set(Part._fields) - set(part):
        yield Problem(name, part, "mappings with %s" % ", ".join(Part._fields), "take groups of rdma.ofed.arrange")
        return
    for key, allowed, variables in (("node", "the name of a node", "rdma_slurm_node or pair_test_address"), ("address", "an address", "pair_test_address")):
        if not _WORD.match(str(part[key])):
            yield Problem("%s.%s" % (name, key), part[key], allowed, "set " + variables)


def setting_of(options: t.Mapping[str, t.Any]) -> Setting:
    environment = tuple((str(name), str(value)) for name, value in options["environment"].items())
    lists = {"tests": tuple(test for test in TESTS if test in options["tests"]), "environment": environment}
    lists.update(container=tuple(options["container"]), options=tuple(options["options"]))
    return Setting(**{**{name: options[name] for name in Setting._fields if name not in lists}, **lists})


def _run(node: Node, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    require_none(list(_problems(options)))
    number = _require_user(node, options["user"])
    if options["user_id"] not in (-1, number):
        words = "user %s has ID %d here, where the job is submitted, and %d on its hosts. Slurm uses the ID of this host; give the user one ID"
        raise Refused(words % (options["user"], number, options["user_id"]))
    tools = _slurm.TOOLS if options["launcher"] == SLURM else ()
    missing = [tool for tool in tools if not node.run.has(tool)]
    if missing:
        raise Unsupported("%s of Slurm is not installed on this host; set rdma_slurm_host, or job_test_launcher: %s" % (", ".join(missing), SSH))
    setting = setting_of(options)
    groups = [[Part(**{name: part[name] for name in Part._fields}) for part in group] for group in options["groups"]]
    commands = [line for parts in groups for line in planned(setting, parts)]
    jobs = [] if node.check_mode else run_jobs(node.run, setting, groups)
    return {"commands": commands, "jobs": [as_data(job) for job in jobs]}


def work(node: Node, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The result of the module. Raises RdmaError."""
    return _look(node, options) if options["role"] == LOOK else _run(node, options)
