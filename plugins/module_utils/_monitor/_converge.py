# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module fabric_monitor."""

from __future__ import annotations

import contextlib
import os
import sys
import typing as t

from .._errors import InvalidInput, Problem, Refused, Unsupported, require_none
from .._facts._asked import asked_port
from .._host._files import apply_file, read_text, under
from .._host._units import ENABLED, Systemd, Unit, show_units, systemd_runs
from .._host._write import open_regular
from .._plan import Change, Kind, Plan
from . import _health, _sampler
from . import _plan as planner
from . import _settings as places
from ._bundle import program
from ._found import Found
from ._input import problems, wanted_of
from ._plan import is_ours

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

_LONGEST_LINE = 1000
_FOLDERS = (places.PROGRAMS, places.SETTINGS, places.KEPT)


def _first_line(path: str) -> str:
    """Of a file that may be long; "" where there is none."""
    with contextlib.suppress(OSError), open_regular(path) as stream:
        return stream.readline(_LONGEST_LINE).decode("utf-8", "replace")
    return ""


def look(run: Runner, textfile: str, *, systemd: bool, root: str = "/") -> Found:
    """`textfile` is the declared one; that of an earlier run is in its settings."""
    texts = {path: read_text(under(root, path)) for path in planner.FILES}
    settings = places.parse_sample_settings(texts[places.SAMPLE_CONF]) if is_ours(texts[places.SAMPLE_CONF]) else None
    before = settings.textfile if settings else ""
    written = {path: _first_line(under(root, path)) for path in (textfile, before) if path}
    left = {path: line for path, line in written.items() if is_ours(line)}
    for path in (places.STATES, places.DRAINED):
        if os.path.exists(under(root, path)):
            left[path] = read_text(under(root, path)) or "\n"
    timer = show_units(run, [places.TIMER])[places.TIMER] if systemd else Unit(places.TIMER)
    return Found({path: text for path, text in texts.items() if text}, left, timer)


def _require_ports(fabrics: t.Iterable[tuple[str, str]], root: str) -> None:
    """Raises InvalidInput where the host can't sample: the timer would only ever write that it failed. A port without a link may get one."""
    found: list[Problem] = []
    for fabric, name in fabrics:
        where, hint = "fabrics.%s" % fabric, "load the driver, or let a host with a port of this fabric sample it: fabric_monitor_sampler"
        try:
            if asked_port(name, root) is None:
                found.append(Problem(where, [], "a fabric that this host has an InfiniBand port in; it has none", hint))
        except InvalidInput as exc:
            found += [Problem("%s: %s" % (where, problem.variable), problem.value, problem.allowed, problem.hint or hint) for problem in exc.problems]
    require_none(found)


def converge(module: AnsibleModule, run: Runner, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module."""
    require_none(problems(module.params))
    wanted = wanted_of(module.params)
    # -I: neither the variables nor the folders of a user have a say.
    programs = {path: program(entry, sys.executable + " -I") for path, entry in ((places.SAMPLER, _sampler), (places.HEALTH, _health))}
    files = planner.files_of(wanted, programs)
    textfile = wanted.sample.textfile if wanted.sample else ""
    systemd = run.has("systemctl") and systemd_runs(root)
    if wanted.sample and not systemd:
        raise Unsupported("systemd does not run on this node: its timer runs the sampler, which is impossible in a container or chroot")
    _require_ports(wanted.sample.fabrics if wanted.sample else (), root)
    found = look(run, textfile, systemd=systemd, root=root)
    others = [path for path in files if path in found.files and not is_ours(found.files[path])]
    if others:
        raise Refused("not of this collection: %s. Move it away, and run the role again" % ", ".join(others))
    todo = planner.plan(wanted, found, files)
    result = todo.result()
    if todo and not module.check_mode:
        apply(module, run, todo, root=root)
        planner.plan(wanted, look(run, textfile, systemd=systemd, root=root), files).require_empty()
    return result


def apply(module: AnsibleModule, run: Runner, todo: Plan, *, root: str = "/") -> None:
    """In the order of the plan; systemd reads its files again before it starts anything."""
    stale = False
    for change in todo.changes:
        if change.kind == Kind.FILE:
            apply_file(module, change, mode=0o755 if change.subject in planner.EXECUTABLE else 0o644, root=root)
            stale = stale or change.subject.startswith("/etc/systemd/")
            continue
        if stale:
            Systemd(run).daemon_reload()
            stale = False
        _unit(run, change)
    if stale and run.has("systemctl"):
        Systemd(run).daemon_reload()
    for folder in _FOLDERS:
        # Only an empty one goes.
        with contextlib.suppress(OSError):
            os.rmdir(under(root, folder))


def _unit(run: Runner, change: Change) -> None:
    if change.aspect == ENABLED:
        Systemd(run).set_enabled(change)
    elif change.after == planner.STOPPED:
        Systemd(run).stop(change.subject, places.SERVICE)
    elif change.before == planner.STOPPED and change.after == planner.RUNNING:
        Systemd(run).start(change.subject)
    else:
        Systemd(run).restart(change.subject)
