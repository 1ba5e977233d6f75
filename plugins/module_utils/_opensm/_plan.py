# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From what a node has of subnet managers to what it shall have. Pure.

Nothing in a plan depends on whether a package is installed yet: so check mode, before the installation, gives the
same changes as the run.
"""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import BEGIN, DEFAULT_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import render as render_names
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options_effect import NOTHING, RESTART, SIGHUP, strongest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import (
    PACKAGED,
    ROTATION,
    SETTINGS,
    TEMPLATE,
    UNIT_TEXT,
    Instance,
    fabric_of,
    file_effect,
    rotation_text,
    silence_path,
)
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan, changes_of

# Aspects of a unit.
STATE, ENABLED, MASKED = "state", "enabled", "masked"
YES, NO = "yes", "no"

# States of a unit or process. The last three are those of a unit that runs, and not as it should: it has to read its files again,
# or to be restarted, because of its settings or because its program was replaced.
STOPPED, RUNNING, RELOAD, REPLACED = "stopped", "running", "reload", "replaced"
_STATES = {NOTHING: RUNNING, SIGHUP: RELOAD, RESTART: RESTART}


def _yes(value: bool) -> str:
    return YES if value else NO


def _unit(unit: str, aspect: str, before: str, after: str) -> Change:
    return Change(Kind.UNIT, unit, aspect, before, after)


def _packaged(unit: str) -> str:
    """The unit file of a packaged unit: C(opensm@.service) for C(opensm@0x1.service)."""
    return re.sub(r"@.*\.", "@.", unit)


def _masks(found: Found, wanted: bool, stay: t.Collection[str] = ()) -> list[Change]:
    kept = {_packaged(unit) for unit in stay}
    return [_unit(unit, MASKED, _yes(unit in found.masked), _yes(wanted)) for unit in PACKAGED if unit not in kept]


def _stops(found: Found, keep: t.Collection[str] = ()) -> list[Change]:
    units = [_unit(unit, STATE, RUNNING, STOPPED) for unit in found.running if unit not in keep]
    return units + [Change(Kind.PROCESS, str(pid), "opensm", RUNNING, STOPPED) for pid in found.strays if str(pid) not in keep]


def _removals(found: Found, keep: t.Collection[str] = (), keep_files: t.Collection[str] = ()) -> list[Change | None]:
    disabled: list[Change | None] = [_unit(unit, ENABLED, YES, NO) for unit in found.enabled if unit not in keep]
    return disabled + [file_change(path, text, "") for path, text in sorted(found.files.items()) if path not in keep_files]


def _unnamed(found: Found) -> str:
    """The file of the names of nodes without ours. One that has none of ours is not touched."""
    return render_names(found.node_names, {}) if BEGIN in found.node_names else found.node_names


def plan_absent(found: Found) -> Plan:
    """Nothing of ours is left. The masks go, too: what happens with the package is up to the role."""
    names = file_change(DEFAULT_PATH, found.node_names, _unnamed(found))
    return Plan(changes_of(*_stops(found), *_removals(found), names, *_masks(found, False)))


def _state(found: Found, instance: Instance) -> str:
    """What the unit of an instance does now, as a plan has it."""
    if instance.unit not in found.running:
        return STOPPED
    effects = [file_effect(path, found.files.get(path, ""), text) for path, text in instance.files().items()]
    state = _STATES[strongest([*effects, RESTART if found.files.get(TEMPLATE, "") != UNIT_TEXT else NOTHING])]
    return REPLACED if instance.unit in found.replaced and state != RESTART else state


def plan_present(found: Found, instances: t.Sequence[Instance] = (), stay: t.Collection[str] = (), node_names: str | None = None) -> Plan:
    """Exactly these instances run, and start at boot; none, and no subnet manager runs here and no package can start one.

    C(node_names): wanted content of that file; without it, our names are taken out.
    C(stay): units and process IDs that stay as they are, because nobody else would manage the fabric.
    """
    keep = {instance.unit for instance in instances} | set(stay)
    files = {path: text for instance in instances for path, text in instance.files().items()}
    if instances:
        files.update({TEMPLATE: UNIT_TEXT, ROTATION: rotation_text(instances)})
    fabrics = {fabric_of(unit) for unit in stay} - {""}
    kept = {path for path in found.files if os.path.dirname(path) in {"%s/%s" % (SETTINGS, fabric) for fabric in fabrics}}
    if fabrics:
        kept |= {TEMPLATE, ROTATION, *(silence_path(fabric) for fabric in fabrics)}
    # Who stays goes on reading that file.
    unsaid = found.node_names if fabrics else _unnamed(found)
    names = unsaid if node_names is None else node_names
    return Plan(
        changes_of(
            *_masks(found, True, stay),
            *_stops(found, keep),
            *_removals(found, keep, {*files, *kept}),
            *(file_change(path, found.files.get(path, ""), text) for path, text in sorted(files.items())),
            file_change(DEFAULT_PATH, found.node_names, names),
            *(_unit(instance.unit, ENABLED, _yes(instance.unit in found.enabled), YES) for instance in instances),
            *(_unit(instance.unit, STATE, _state(found, instance), RUNNING) for instance in instances),
        )
    )


def started(plan: Plan) -> list[str]:
    """The units that the plan starts or restarts. One that only reads its files again goes on."""
    return [change.subject for change in plan.about(Kind.UNIT, STATE) if change.after == RUNNING and change.before != RELOAD]


def stopped(plan: Plan) -> list[Change]:
    """What the plan stops for good: units and processes."""
    return [change for change in (*plan.about(Kind.UNIT, STATE), *plan.about(Kind.PROCESS)) if change.after == STOPPED]
