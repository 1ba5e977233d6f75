# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rehearsal has shown."""

from __future__ import annotations

import json
import os
import typing as t

from ...module_utils._errors import RdmaError
from .._actions import show
from .._files import moment, write_file
from .._rehearsal import _judge, _words

_NEEDED = ("title", "changes", "hosts", "ports", "before", "after", "left_out", "not_simulated")


def answer(arguments: t.Mapping[str, t.Any], _task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    summary = arguments["plan"]
    missing = [name for name in _NEEDED if name not in summary]
    if missing:
        raise RdmaError("kind rehearsal needs in plan the summary that rdma.ofed.arrange has returned; it has no %s" % ", ".join(missing))
    found = _judge.judge(_judge.read(arguments["output"]), summary)
    text = _words.render(found, summary, title=summary["title"], changes=summary["changes"])
    show(text)
    rehearsed: dict[str, t.Any] = {**found._asdict(), "timeline": [line._asdict() for line in found.timeline]}
    if arguments["report_dir"] and not predicted:
        path = os.path.join(arguments["report_dir"], "rehearsal.json")
        write_file(path, json.dumps({"time": moment(), "changes": summary["changes"], **rehearsed}, indent=1) + "\n")
    return {"rehearsed": rehearsed, "problems": list(found.problems)}
