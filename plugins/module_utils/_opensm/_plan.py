# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From what a node has of subnet managers to what it shall have. Pure.

Nothing in a plan depends on whether a package is installed yet, so check mode before the installation gives the same changes as
the run.
"""

from __future__ import annotations

import posixpath
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import RELOAD, RESTART, RUNNING, strongest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import BEGIN, DEFAULT_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import render as render_names
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

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Wanted

# Aspects of a unit.
STATE, ENABLED, MASKED = "state", "enabled", "masked"
YES, NO = "yes", "no"

# States of a unit or process, besides those of _conf.py. A unit that is replaced runs a program that no longer is on disk.
STOPPED, REPLACED = "stopped", "replaced"


def _yes(value: bool) -> str:
    return YES if value else NO


def _packaged(unit: str) -> str:
    """The unit file of a packaged unit: `opensm@.service` for `opensm@0x1.service`."""
    return re.sub(r"@.*\.", "@.", unit)


def _masks(found: Found, wanted: bool, stay: t.Collection[str] = ()) -> list[Change]:
    kept = {_packaged(unit) for unit in stay}
    return [Change(Kind.UNIT, unit, MASKED, _yes(unit in found.masked), _yes(wanted)) for unit in PACKAGED if unit not in kept]


def _stops(found: Found, keep: t.Collection[str] = ()) -> list[Change]:
    units = [Change(Kind.UNIT, unit, STATE, RUNNING, STOPPED) for unit in found.running if unit not in keep]
    return units + [Change(Kind.PROCESS, str(pid), "opensm", RUNNING, STOPPED) for pid in found.strays if str(pid) not in keep]


def _removals(found: Found, keep: t.Collection[str] = (), keep_files: t.Collection[str] = ()) -> list[Change | None]:
    disabled: list[Change | None] = [Change(Kind.UNIT, unit, ENABLED, YES, NO) for unit in found.enabled if unit not in keep]
    return disabled + [file_change(path, text, "") for path, text in sorted(found.files.items()) if path not in keep_files]


def _unnamed(found: Found) -> str:
    """The file of the names of nodes without ours. One that has none of ours is not touched."""
    return render_names(found.node_names, {}) if BEGIN in found.node_names else found.node_names


def _named(wanted: Wanted, found: Found, stays: bool) -> str:
    """The wanted file of the names of nodes. `stays`: an instance that is not wanted stays, and goes on reading the file."""
    if not wanted.instances:
        return found.node_names if stays else _unnamed(found)
    if wanted.node_names is None:
        return found.node_names
    return render_names(found.node_names, wanted.node_names.hosts, wanted.node_names.names)


def _state(found: Found, instance: Instance, files: t.Mapping[str, str]) -> str:
    """What the unit of an instance does now, with regard to its wanted files."""
    if instance.unit not in found.running:
        return STOPPED
    effects = [file_effect(path, found.files.get(path, ""), text) for path, text in files.items()]
    state = strongest([*effects, RESTART if found.files.get(TEMPLATE, "") != UNIT_TEXT else RUNNING])
    return REPLACED if instance.unit in found.replaced and state != RESTART else state


def plan(wanted: Wanted, found: Found, stay: t.Collection[str] = ()) -> Plan:
    """Exactly the wanted instances run, and start at boot. Without any, no subnet manager runs here and no package can start one.

    `stay`: units and process IDs that stay as they are, because otherwise the fabric would have no subnet manager.
    Raises InvalidInput for options that the installed opensm does not take.
    """
    return _plan_present(wanted, found, stay) if wanted.present else _plan_absent(found)


def _plan_absent(found: Found) -> Plan:
    """Nothing of ours is left. The masks go, too: what happens with the package is up to the role."""
    names = file_change(DEFAULT_PATH, found.node_names, _unnamed(found))
    return Plan(changes_of(*_stops(found), *_removals(found), names, *_masks(found, False)))


def _plan_present(wanted: Wanted, found: Found, stay: t.Collection[str]) -> Plan:
    instances = wanted.instances
    texts = {instance.unit: instance.files(found.template) for instance in instances}
    files = {path: text for own in texts.values() for path, text in own.items()}
    if instances:
        files.update({TEMPLATE: UNIT_TEXT, ROTATION: rotation_text(instances)})
    fabrics = {fabric_of(unit) for unit in stay} - {""}
    kept = {path for path in found.files if posixpath.dirname(path) in {"%s/%s" % (SETTINGS, fabric) for fabric in fabrics}}
    if fabrics:
        kept |= {TEMPLATE, ROTATION, *(silence_path(fabric) for fabric in fabrics)}
    keep = {*texts, *stay}
    return Plan(
        changes_of(
            *_masks(found, True, stay),
            *_stops(found, keep),
            *_removals(found, keep, {*files, *kept}),
            *(file_change(path, found.files.get(path, ""), text) for path, text in sorted(files.items())),
            file_change(DEFAULT_PATH, found.node_names, _named(wanted, found, bool(fabrics))),
            *(Change(Kind.UNIT, unit, ENABLED, _yes(unit in found.enabled), YES) for unit in texts),
            *(Change(Kind.UNIT, instance.unit, STATE, _state(found, instance, texts[instance.unit]), RUNNING) for instance in instances),
        )
    )


def started(plan: Plan) -> list[str]:
    """The units that the plan starts or restarts. One that only reads its files again goes on."""
    return [change.subject for change in plan.about(Kind.UNIT, STATE) if change.after == RUNNING and change.before != RELOAD]


def stopped(plan: Plan) -> list[Change]:
    """What the plan stops for good: units and processes."""
    return [change for change in (*plan.about(Kind.UNIT, STATE), *plan.about(Kind.PROCESS)) if change.after == STOPPED]
