# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From what a node has of subnet managers to what it shall have. Pure.

Nothing in a plan depends on whether a package is installed yet: so check mode, before the installation, gives the
same changes as the run.
"""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import PACKAGED, TEMPLATE, UNIT_TEXT, Instance
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan, changes_of

SERVICE = "service "
PROCESS = "process opensm "
MASKED = " masked"
ENABLED = " enabled"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _masks(found: Found, wanted: bool) -> list[Change]:
    return [Change(SERVICE + unit + MASKED, _yes(unit in found.masked), _yes(wanted)) for unit in PACKAGED]


def _stops(found: Found, keep: str = "") -> list[Change]:
    units = [Change(SERVICE + unit, "running", "stopped") for unit in found.running if unit != keep]
    return units + [Change("%s%d" % (PROCESS, pid), "running", "stopped") for pid in found.strays]


def _removals(found: Found, keep_unit: str = "", keep_files: tuple[str, ...] = ()) -> list[Change | None]:
    disabled: list[Change | None] = [Change(SERVICE + unit + ENABLED, "yes", "no") for unit in found.enabled if unit != keep_unit]
    return disabled + [file_change(path, text, "") for path, text in sorted(found.files.items()) if path not in keep_files]


def plan_resting(found: Found) -> Plan:
    """No subnet manager runs here, and none can be started by a package."""
    return Plan(changes_of(*_masks(found, True), *_stops(found), *_removals(found)))


def plan_absent(found: Found) -> Plan:
    """Nothing of ours is left. The masks go, too: what happens with the package is up to the role."""
    return Plan(changes_of(*_stops(found), *_removals(found), *_masks(found, False)))


def plan_designated(found: Found, instance: Instance) -> Plan:
    """Exactly this instance runs, and starts at boot."""
    files = [
        file_change(TEMPLATE, found.files.get(TEMPLATE, ""), UNIT_TEXT),
        file_change(instance.settings, found.files.get(instance.settings, ""), instance.settings_text()),
    ]
    running = "running"
    if instance.unit not in found.running:
        running = "stopped"
    elif any(files):
        running = "running with other settings"
    elif instance.unit in found.replaced:
        running = "running a program that was replaced"
    return Plan(
        changes_of(
            *_masks(found, True),
            *_stops(found, keep=instance.unit),
            *_removals(found, keep_unit=instance.unit, keep_files=(TEMPLATE, instance.settings)),
            *files,
            Change(SERVICE + instance.unit + ENABLED, _yes(instance.unit in found.enabled), "yes"),
            Change(SERVICE + instance.unit, running, "running"),
        )
    )


def starts(plan: Plan) -> bool:
    """Does the plan start or restart a subnet manager?"""
    return any(change.what.startswith(SERVICE) and change.after == "running" for change in plan.changes)


__all__ = ("ENABLED", "MASKED", "PROCESS", "SERVICE", "plan_absent", "plan_designated", "plan_resting", "starts")
