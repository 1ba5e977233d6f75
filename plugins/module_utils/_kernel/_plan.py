# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What each policy does so that the kernel that boots next has the modules of the vendor's driver. Pure."""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _build as building
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._build import KernelPlan
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._found import Found, has_driver, lacking
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Place


def _pin(found: Found) -> KernelPlan:
    wrong = lacking(found)
    if wrong:
        raise Refused("%s, and holding kernels back does not help now: %s" % (wrong, building.ways_out(found)))
    loose = [name for name in found.kernel_packages if name not in found.held]
    if not loose or not has_driver(found):
        return KernelPlan()
    if not found.can_lock:
        package = found.distribution.manager.lock_package
        raise Unsupported("kernels can't be held without the plugin versionlock of dnf and its list: install %s, and leave it turned on" % package)
    changes = tuple(Change(Kind.PACKAGE, name, "hold", "free", "held") for name in loose)
    return KernelPlan(Plan(changes), (Step("holding the kernels", (*found.distribution.manager.hold, *loose)),))


def plan(policy: str, found: Found, *, has_bundle: bool = False, place: Place | None = None) -> KernelPlan:
    """What the policy requires. Raises Refused where that is not possible. `place` is where the bundle is, or will be."""
    if policy == "build":
        return building.build(found, has_bundle, place or Place(""))
    if policy == "pin":
        return _pin(found)
    wrong = lacking(found)
    if wrong:
        raise Refused("%s: %s" % (wrong, building.ways_out(found)))
    return KernelPlan()
