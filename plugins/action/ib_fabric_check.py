# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge on the controller what ib_fabric_info returns from the host. The module of the same name has the documentation."""

from __future__ import annotations

import json
import os
import typing as t

from ..module_utils._accepted import counts, entries_of
from ..module_utils._accepted import problems as accepted_problems
from ..module_utils._check._table import verdict
from ..module_utils._errors import RdmaError, require_none
from ..module_utils._fabric._baseline import Picture, parse_baseline, picture_of, written
from ..module_utils._fabric._health import _report as _health_report
from ..module_utils._fabric._health._judge import Expected, unknown_nodes
from ..module_utils._foreign import read_table
from ..module_utils._plain import plain
from ..module_utils._schema._ib_fabric_check import OPTIONS
from ..plugin_utils._actions import ValidatedAction, show
from ..plugin_utils._facts_of_run import facts_of
from ..plugin_utils._files import moment, write_file
from ..plugin_utils._managers import line_of
from ..plugin_utils._report._content import Report, extended, parse_history, run_of
from ..plugin_utils._report._document import explanations
from ..plugin_utils._report._page import page

_SAVE = "fabric_save_baseline=true of the playbook rdma.ofed.fabric, or save=true of this module"
_SHOWN = 20
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
        raise RdmaError("%s is not a baseline that this version of the collection can read: save it again with %s" % (path, _SAVE))
    return picture


def _former(path: str) -> str:
    """The last report; "" where there is none or it can't be read, because the new report replaces it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _report(arguments: t.Mapping[str, t.Any], data: t.Mapping[str, t.Any], result: t.Mapping[str, t.Any], *, before: Picture | None) -> str:
    """Write the files for tools and for people; return the path of the latter. Raises RdmaError."""
    name, findings, now = arguments["name"], result["findings"], moment()
    open_ones = [each for each in findings if not counts(each.get("accepted"))]
    stem: str = os.path.join(arguments["report_dir"], name + "-findings")
    runs = extended(parse_history(_former(stem + ".json")), run_of(now, open_ones, data["totals"]))
    write_file(stem + ".html", page(Report(name, now, data, open_ones, before, runs, explanations())))
    write_file(stem + ".xml", _health_report.junit(name, findings))
    # Written last: if the history contains this run, the other files have been written.
    write_file(stem + ".json", json.dumps({"fabric": name, "time": now, **result, "history": [run._asdict() for run in runs]}, indent=1) + "\n")
    return stem + ".html"


def _name_adapters(nodes: t.Iterable[dict[str, t.Any]], hosts: t.Iterable[str], hostvars: t.Mapping[str, t.Any]) -> None:
    """Add PSID and firmware of adapters from the facts of their hosts, because the fabric does not report them."""
    facts = [facts_of(hostvars[host]) or {} for host in hosts if host in hostvars]
    known = {hca["node_guid"]: hca for own in facts for hca in own.get("hcas") or () if hca["node_guid"]}
    for node in nodes:
        hca = known.get(node["guid"])
        if hca is not None and node["type"] == "ca":
            node.update(psid=hca["psid"], firmware=hca["firmware"])


def _adapters_by_host(hosts: t.Iterable[str], hostvars: t.Mapping[str, t.Any]) -> dict[str, tuple[str, ...]]:
    """Node GUIDs of the hosts whose adapters this run has read."""
    found = {}
    for host in hosts:
        facts = facts_of(hostvars[host]) if host in hostvars else None
        guids = tuple(sorted(str(hca["node_guid"]) for hca in (facts or {}).get("hcas") or () if hca["node_guid"]))
        if guids:
            found[host] = guids
    return found


def _require_baseline(arguments: t.Mapping[str, t.Any]) -> None:
    """Raise RdmaError where the last report was made with a baseline that no longer exists."""
    stem = os.path.join(arguments["report_dir"], arguments["name"] + "-findings.json")
    last = read_table(_former(stem)) if arguments["report_dir"] else {}
    if last.get("compared") or last.get("saved"):
        raise RdmaError(
            "the baseline %s is gone, with which the last report (%s) was made, so nothing can be compared. The likely cause is a folder that is removed "
            "after the run, such as the project of a job in AWX. Next: restore it, set fabric_baseline to a path that stays, or save it again with %s"
            % (arguments["baseline"], stem, _SAVE)
        )


def _difference_words(differences: t.Sequence[t.Mapping[str, t.Any]]) -> list[str]:
    """The differences between the former and the new baseline, in words."""
    if not differences:
        return []
    lines = ["  %(code)s %(object)s: found %(found)s, former baseline: %(expected)s" % row for row in differences[:_SHOWN]]
    more = len(differences) - len(lines)
    return ["Accepted with this baseline (%d):" % len(differences), *lines, *(["  and %d more" % more] if more else [])]


def _baseline_words(arguments: t.Mapping[str, t.Any], *, changed: bool, compared: bool, check: bool) -> str:
    """What was done with the baseline, which determines the meaning of a table without findings."""
    path = arguments["baseline"]
    if arguments["save"]:
        return "Baseline: %s %s" % ("unchanged in" if not changed else "would be saved in" if check else "saved in", path)
    if compared:
        return "Compared with the baseline %s" % path
    return "Not compared: there is no baseline %s; it is saved with %s" % (path, _SAVE) if path else ""


class ActionModule(ValidatedAction):
    """Looks on the host, judges with pure code on the controller, and writes files there."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        require_none(accepted_problems("accepted", arguments["accepted"]))
        if arguments["managed"] and not arguments["line"]:
            arguments = {**arguments, "line": line_of(task_vars["groups"], task_vars["hostvars"], arguments["name"])}
        expected = _health_report.expected_of(arguments)
        if arguments["save"] and not arguments["baseline"]:
            raise RdmaError("save needs baseline, the path of the file")
        look = {name: arguments[name] for name in _LOOK}
        answer = self._execute("ib_fabric_info", look, task_vars)
        if answer.get("failed"):
            return answer
        data = plain(dict(answer))
        hostvars = task_vars.get("hostvars") or {}
        _name_adapters(data["nodes"], arguments["adapters_of"], hostvars)
        known = _adapters_by_host(dict.fromkeys((*arguments["adapters_of"], *expected.hosts)), hostvars)
        return self._judged(data, expected._replace(guids=known), arguments)

    def _judged(self, data: dict[str, t.Any], expected: Expected, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        _health_report.require_whole(data)
        path, save, changed = arguments["baseline"], arguments["save"], False
        former = self._former_picture(path, save=save) if path else None
        if path and former is None and not save:
            _require_baseline(arguments)
        known = {**(former.hosts if former else {}), **expected.guids}
        expected = expected._replace(guids=known)
        require_none(unknown_nodes(expected, data, former.nodes.values() if former else ()))
        differences: list[dict[str, t.Any]] = []
        if save:
            now = picture_of(data)._replace(hosts=known)
            differences = _health_report.changes_of(former, now) if former else []
            changed = self._save(path, former, now)
        before = None if save else former
        found = _health_report.findings_of(data, expected, before)
        findings = _health_report.accept(found, data, entries_of(arguments["accepted"]), today=arguments["today"] or moment()[:10])
        baseline = _baseline_words(arguments, changed=changed, compared=before is not None, check=self._task.check_mode)
        worst = verdict(findings, "%(object)s: found %(found)s, expected %(expected)s (%(code)s)")
        table = _health_report.render(
            arguments["name"], data, findings, baseline="\n".join([*([baseline] if baseline else []), *_difference_words(differences)])
        )
        result = {
            "changed": changed,
            "findings": findings,
            "compared": before is not None,
            "saved": bool(save),
            "differences": differences,
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

    def _former_picture(self, path: str, *, save: bool) -> Picture | None:
        """The baseline; None where there is none. Raises RdmaError."""
        try:
            return _read(path)
        except RdmaError:
            # It is replaced, whatever its content.
            if save:
                return None
            raise

    def _save(self, path: str, former: Picture | None, picture: Picture) -> bool:
        """Save the baseline; return whether the file changed. In check mode, only return whether it would."""
        if former == picture:
            return False
        if not self._task.check_mode:
            write_file(path, written(picture, moment()))
        return True
