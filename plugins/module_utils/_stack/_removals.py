# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What goes along with the packages of a plan, asked of the package manager before anything is changed."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import failure
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _doca_plan as doca
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _mlnx_plan as mlnx
from ansible_collections.rdma.ofed.plugins.module_utils._stack._apt_preview import preview
from ansible_collections.rdma.ofed.plugins.module_utils._stack._dependants import foreign, refuse
from ansible_collections.rdma.ofed.plugins.module_utils._stack._draft import Draft, Found, Wanted, package_change
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import taken_by_installer
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _apt as apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _rpm as rpm

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def _removed(run: Runner, argv: t.Sequence[str]) -> dict[str, str]:
    """What a simulation says would go, with versions where it tells them."""
    output = run(argv, ok=None, timeout=300)
    if argv[0] == "rpm":
        return dict.fromkeys(rpm.parse_rpm_test(output.stderr), "")
    if output.rc:
        raise failure(argv, output)
    return dict(apt.parse_simulation(output.stdout).removed)


def _look_ahead(run: Runner, wanted: Wanted, found: Found, draft: Draft, root: str) -> dict[str, str]:
    """Everything that would go, by asking the package manager; it changes nothing."""
    removed: dict[str, str] = {}
    if packages.lost(found.packages):
        gone = {*draft.removes, *(taken_by_installer(found.packages) if draft.replaced else ())}
        removed = dict.fromkeys(packages.dependent(found.packages, gone), "")
    else:
        for argv in draft.simulate:
            removed.update(_removed(run, argv))
    if wanted.state == "present" and wanted.repository is not None and draft.steps and found.manager.simulates:
        files = {change.subject: change.after for change in draft.changes if change.is_about(Kind.FILE)}
        files = {**found.files, **files}
        name = doca.profile_of(wanted) if wanted.source == "doca" else mlnx.metapackage(wanted.packages)
        # With a former stack that goes first, or with packages to be mended, it is not known what apt will do then.
        argv = () if draft.simulate or packages.broken(found.packages) else draft.steps[-1].argv
        offered, seen = preview(run, files, name, argv, wanted.repository.address, root)
        if wanted.version and not any(packages.version_fits(wanted.version, version) for version in offered):
            text = "ofed_repository: %s offers %s %s, and %s is wanted. Nothing was changed"
            raise Refused(text % (wanted.repository.address, name, ", ".join(offered), wanted.version))
        removed.update(seen.removed)
    return removed


def dependants(run: Runner, wanted: Wanted, found: Found, draft: Draft, root: str) -> list[Change]:
    """The foreign packages that go and may go; those that may not end the run."""
    removed = _look_ahead(run, wanted, found, draft, root)
    versions = {name: package.version for name, package in found.packages.items()}
    names = foreign(removed, versions, draft.removes, found.stack.ofed_version, draft.replaced)
    what = "the stack is removed" if wanted.state == "absent" else "%s is installed" % (wanted.source + " " + wanted.version).strip()
    refuse(names, wanted.allow_removal, what)
    return [package_change(name, versions.get(name) or removed[name] or "installed", "") for name in names]
