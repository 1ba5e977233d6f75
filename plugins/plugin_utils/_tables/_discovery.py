# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was found on all hosts, as an inventory, and a report of what it leaves out."""

from __future__ import annotations

import os
import typing as t

from ...module_utils._concern import Subject
from ...module_utils._hosts import natural
from .. import _looks
from .._actions import show
from .._discovery import _files, _read, _words, _write
from .._discovery._lift import Site, place
from .._facts_of_run import facts_by_host

_TOP = "rdma"
_GENERAL = ("all", "ungrouped")


def _groups(task_vars: t.Mapping[str, t.Any]) -> dict[str, list[str]]:
    return {str(name): [str(host) for host in hosts] for name, hosts in (task_vars.get("groups") or {}).items()}


def _subjects(hosts: t.Sequence[str], task_vars: t.Mapping[str, t.Any], *, groups: t.Mapping[str, t.Sequence[str]], unseen: t.Sequence[str]) -> list[Subject]:
    facts = facts_by_host(task_vars["hostvars"])
    subjects = []
    for host in hosts:
        looks = _looks.recall_all(host)
        subjects.append(Subject(host, {}, facts(host), groups=groups, recall=looks.get, unseen=unseen))
    return subjects


def _shared(groups: t.Mapping[str, t.Sequence[str]], hosts: t.Sequence[str], top: str) -> dict[str, list[str]]:
    """The groups that may get values, with the hosts that were looked at."""
    known = frozenset(hosts)
    own = {name: [host for host in members if host in known] for name, members in groups.items() if name not in (*_GENERAL, top) and _files.is_name(name)}
    return {name: members for name, members in own.items() if 1 < len(members) < len(hosts)}


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    folder = os.path.expanduser(arguments["dest"])
    if arguments["before"]:
        _write.require_place(folder, overwrite=arguments["overwrite"])
        return {}
    hosts = sorted((str(host) for host in task_vars["ansible_play_hosts"]), key=natural)
    listed = _groups(task_vars)
    top = arguments["group"] if arguments["group"] in listed and _files.is_name(arguments["group"]) else _TOP
    missing = [str(host) for host in task_vars["ansible_play_hosts_all"] if str(host) not in hosts]
    missing += [host for host in listed.get(top, ()) if host not in hosts and host not in missing]
    found = _read.read(_subjects(hosts, task_vars, groups=listed, unseen=missing))
    shared = _shared({**listed, **found.groups}, hosts, top)
    placed = place(found.values, Site(top, hosts, shared, _read.DEFAULTS, arguments["explicit"], tuple(found.groups)))
    named = {**found.groups, **{name: shared[name] for name in placed.groups if name in shared}}
    texts = _files.files(placed, top=top, groups=named, hosts=hosts, single=arguments["single_file"])
    report = _words.Report(hosts, missing, found.left, found.dangers, placed.outliers, folder, () if predicted else (*texts, _files.REPORT))
    if not predicted:
        whole = {**texts, _files.REPORT: "%s\n%s\n" % (_files.HEADER, _words.render(report, full=True))}
        # Of hosts that were not looked at, what an earlier discovery has found is all that is known.
        _write.write(folder, whole, kept=[_files.host_file(host) for host in missing])
    show(_words.render(report, full=False))
    return {
        "files": [] if predicted else [os.path.join(folder, name) for name in (*texts, _files.REPORT)],
        "dangers": {host: list(words) for host, words in found.dangers.items() if words},
        "not_expressed": {host: list(words) for host, words in found.left.items() if words},
    }
