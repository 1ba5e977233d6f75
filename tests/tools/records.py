# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the files of the callback task_record. Pure except for the reading."""

from __future__ import annotations

import collections
import json
import pathlib
import typing as t

Event = t.Dict[str, t.Any]
Key = t.Tuple[str, str, str]
"""Play, task and host."""


def read(path: pathlib.Path) -> list[Event]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def find(folder: pathlib.Path, playbook: str, mode: str) -> list[list[Event]]:
    """Return the runs of a playbook, oldest first. `mode` is "check" or "run"."""
    return [read(path) for path in sorted(folder.glob("%s-%s-*.jsonl" % (playbook, mode)))]


def changes(events: t.Iterable[Event]) -> dict[Key, list[t.Any]]:
    """Return the changes by task: the described plan of a module of the collection, True for other modules."""
    found: dict[Key, list[t.Any]] = collections.defaultdict(list)
    for event in events:
        if event["event"] == "result" and event["changed"]:
            found[event["play"], event["task"], event["host"]].append(event["changes"] if event["changes"] is not None else True)
    return dict(found)


def differences(predicted: t.Iterable[Event], done: t.Iterable[Event]) -> list[str]:
    """Return a line for each difference between check mode and the run: changes not predicted, and predicted changes that did not happen."""
    before, after = changes(predicted), changes(done)
    return [
        "%s: %s: check mode says %s, the run did %s" % (key[2], key[1], before.get(key, "no change"), after.get(key, "no change"))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]


def executions(events: t.Iterable[Event]) -> dict[str, list[str]]:
    """Return the modules executed on each host in order, without those on the controller."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for event in events:
        if event["event"] == "module" and event["connection"] != "local":
            found[event["host"]].append(event["module"])
    return dict(found)


def failures(events: t.Iterable[Event]) -> list[Event]:
    return [event for event in events if event["event"] == "result" and event["status"] in ("failed", "unreachable")]
