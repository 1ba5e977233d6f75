# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges on the controller what ib_fabric_info returns from the host. The module of the same name has the documentation."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._accepted import counts, entries_of
from ansible_collections.rdma.ofed.plugins.module_utils._accepted import problems as accepted_problems
from ansible_collections.rdma.ofed.plugins.module_utils._check._table import verdict
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, require_none
from ansible_collections.rdma.ofed.plugins.module_utils._fabric import _health_report
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Picture, parse_baseline, picture_of, written
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_fabric_check import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import plain
from ansible_collections.rdma.ofed.plugins.plugin_utils._actions import ValidatedAction, show
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import facts_of
from ansible_collections.rdma.ofed.plugins.plugin_utils._files import moment, write_file
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._content import Report, extended, parse_history, run_of
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._page import explanations, page

_SAVE = "fabric_save_baseline=true of the playbook rdma.ofed.fabric, or save=true of this module"
_LOOK = ("port", "node_name_map", "sa_key", "gather")


def _read(path: str) -> Picture | None:
    """The baseline; None where there is none. Raises RdmaError."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            text = stream.read()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise RdmaError("the baseline %s can't be read: %s" % (path, exc.strerror)) from exc
    picture = parse_baseline(text)
    if picture is None:
        raise RdmaError("%s is no baseline that this version of the collection can read: save it again, with %s" % (path, _SAVE))
    return picture


def _former(path: str) -> str:
    """The last report; "" where there is none, or none that can be read, as this one replaces it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _report(arguments: t.Mapping[str, t.Any], data: t.Mapping[str, t.Any], result: t.Mapping[str, t.Any], *, before: Picture | None) -> str:
    """Writes the files for tools and for people; the path of the one for people. Raises RdmaError."""
    name, findings, now = arguments["name"], result["findings"], moment()
    open_ones = [each for each in findings if not counts(each.get("accepted"))]
    stem: str = os.path.join(arguments["report_dir"], name + "-findings")
    runs = extended(parse_history(_former(stem + ".json")), run_of(now, open_ones, data["totals"]))
    write_file(stem + ".html", page(Report(name, now, data, open_ones, before, runs, explanations())))
    write_file(stem + ".xml", _health_report.junit(name, findings))
    # The last one: a history that has this run is that of a report that was written.
    write_file(stem + ".json", json.dumps({"fabric": name, "time": now, **result, "history": [run._asdict() for run in runs]}, indent=1) + "\n")
    return stem + ".html"


def _name_adapters(nodes: t.Iterable[dict[str, t.Any]], hosts: t.Iterable[str], hostvars: t.Mapping[str, t.Any]) -> None:
    """Adds PSID and firmware of adapters, which the fabric does not tell, from the facts of their hosts."""
    facts = [facts_of(hostvars[host]) or {} for host in hosts if host in hostvars]
    known = {hca["node_guid"]: hca for own in facts for hca in own.get("hcas") or () if hca["node_guid"]}
    for node in nodes:
        hca = known.get(node["guid"])
        if hca is not None and node["type"] == "ca":
            node.update(psid=hca["psid"], firmware=hca["firmware"])


def _baseline_words(arguments: t.Mapping[str, t.Any], *, changed: bool, compared: bool, check: bool) -> str:
    """What became of the baseline, which decides what a table without findings means."""
    path = arguments["baseline"]
    if arguments["save"]:
        return "Baseline: %s %s" % ("unchanged in" if not changed else "would be saved in" if check else "saved in", path)
    if compared:
        return "Compared with the baseline %s" % path
    return "Not compared: there is no baseline %s; it is saved with %s" % (path, _SAVE) if path else ""


class ActionModule(ValidatedAction):
    """Looks on the host; pure code judges here, and files are those of the controller."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        require_none(accepted_problems("accepted", arguments["accepted"]))
        expected = _health_report.expected_of(arguments)
        if arguments["save"] and not arguments["baseline"]:
            raise RdmaError("save needs baseline, the path of the file")
        look = {name: arguments[name] for name in _LOOK}
        answer = self._execute("ib_fabric_info", look, task_vars)
        if answer.get("failed"):
            return answer
        data = plain(dict(answer))
        _name_adapters(data["nodes"], arguments["adapters_of"], task_vars.get("hostvars") or {})
        return self._judged(data, expected, arguments)

    def _judged(self, data: dict[str, t.Any], expected: t.Any, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        _health_report.require_whole(data)
        path, changed = arguments["baseline"], False
        before = None
        if arguments["save"]:
            changed = self._save(path, picture_of(data))
        elif path:
            before = _read(path)
        found = _health_report.findings_of(data, expected, before)
        findings = _health_report.accept(found, data, entries_of(arguments["accepted"]), today=arguments["today"] or moment()[:10])
        baseline = _baseline_words(arguments, changed=changed, compared=before is not None, check=self._task.check_mode)
        worst = verdict(findings, "%(object)s: found %(found)s, expected %(expected)s (%(code)s)")
        table = _health_report.render(arguments["name"], data, findings, baseline=baseline)
        result = {
            "changed": changed,
            "findings": findings,
            "compared": before is not None,
            "totals": data["totals"],
            "problems": data["problems"],
            "table": table.split("\n"),
            "verdict": "fabric %s: %s" % (arguments["name"], worst) if worst else "",
        }
        report = _report(arguments, data, result, before=before) if arguments["report_dir"] and not self._task.check_mode else ""
        if arguments["show"]:
            show(table + ("\n\nReport: " + report if report else ""))
        if result["verdict"] and arguments["fail"]:
            result.update(failed=True, msg=result["verdict"])
        return result

    def _save(self, path: str, picture: Picture) -> bool:
        """Whether the file was another one; in check mode, whether it would be."""
        try:
            former = _read(path)
        except RdmaError:
            # It is replaced, whatever it was.
            former = None
        if former == picture:
            return False
        if not self._task.check_mode:
            write_file(path, written(picture, moment()))
        return True
