# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual machines whose test run has ended or whose checkout is gone. They use memory, and no command of another checkout lists them."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import typing as t

from ._owner import Owner, Verdict, in_use, is_left, judge
from ._say import LabError, say
from ._settings import DEFAULT_PREFIX, HOME, Settings

OWNER = "owner.json"


def owner_of(machines: pathlib.Path) -> Owner | None:
    """Return the owner, None without machines or without a record of their owner."""
    try:
        return Owner(**json.loads((machines / OWNER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def abandoned(lab: Settings) -> bool:
    """Return whether to take the lab's machines down before it starts. Refuses machines that another test run uses."""
    owner = owner_of(lab.machines)
    verdict = judge(owner, lab.owner) if owner else Verdict.OURS
    if verdict is Verdict.IN_USE:
        raise LabError(in_use(lab.prefix, owner.run if owner else ""))
    return verdict is Verdict.ABANDONED


def left(lab: Settings, home: pathlib.Path = HOME) -> set[str]:
    """Return the prefixes of the labs with machines that a run of tests in this checkout has left behind, and of those of this very run."""
    states = {DEFAULT_PREFIX: home, **{path.name: path for path in home.glob("*") if path.is_dir()}}
    owners = {prefix: owner_of(state / "vm") for prefix, state in states.items()}
    return {prefix for prefix, owner in owners.items() if owner and is_left(owner, lab.owner)}


def claim(lab: Settings) -> None:
    """Record the owner of the machines that this command starts. A person who restarts one leaves the lab to the run that uses it."""
    if lab.owner.run or not owner_of(lab.machines):
        lab.machines.mkdir(parents=True, exist_ok=True)
        (lab.machines / OWNER).write_text(json.dumps(lab.owner._asdict()) + "\n", encoding="utf-8")


def folders(processes: t.Mapping[int, t.Sequence[str]], prefix: str) -> dict[int, pathlib.Path]:
    """Return the directories of machines of labs with this prefix, by process ID. `processes` has command lines."""
    found = {}
    for number, argv in processes.items():
        if "-pidfile" in argv[:-1]:
            folder = pathlib.Path(argv[argv.index("-pidfile") + 1]).parent
            if folder.parts[-3:-1] == (prefix, "vm"):
                found[number] = folder
    return found


def end_others(lab: Settings) -> None:
    """End machines with this prefix that no other command will take down."""
    for number, folder in folders(_processes(), lab.prefix).items():
        owner = owner_of(folder.parent)
        if folder.parent != lab.machines and (not folder.is_dir() or (owner and judge(owner, lab.owner) is Verdict.ABANDONED)):
            say("ending the machine of %s, which nobody uses" % folder)
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _processes() -> dict[int, list[str]]:
    """Return the command lines of all QEMU processes."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            argv = path.read_bytes().decode(errors="replace").split("\0")
            if pathlib.Path(argv[0]).name.startswith("qemu-system"):
                found[int(path.parent.name)] = argv
    return found
