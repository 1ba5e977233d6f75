# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module fabric_monitor."""

from __future__ import annotations

import sys
import typing as t

from .._errors import InvalidInput, Problem, Refused, Unsupported, require_none
from .._facts._asked import asked_port
from .._host._units import systemd_runs
from . import _health, _sampler
from . import _plan as planner
from . import _settings as places
from ._apply import apply
from ._bundle import program
from ._files import is_ours
from ._input import problems, wanted_of
from ._look import look

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def _require_ports(fabrics: t.Iterable[tuple[str, str]], root: str) -> None:
    """Raise InvalidInput where the host has no port to sample through: every sample would fail. A port without a link is accepted, it may get one."""
    found: list[Problem] = []
    for fabric, name in fabrics:
        where, hint = "fabrics.%s" % fabric, "load the driver, or choose another host with a port on this fabric in fabric_monitor_sampler"
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
    # -I isolates Python from the environment and the directories of a user.
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
        raise Refused("does not belong to this collection: %s. Move it away, and run the role again" % ", ".join(others))
    todo = planner.plan(wanted, found, files)
    result = todo.result()
    if todo and not module.check_mode:
        apply(module, run, todo, root=root)
        planner.plan(wanted, look(run, textfile, systemd=systemd, root=root), files).require_empty()
    return result
