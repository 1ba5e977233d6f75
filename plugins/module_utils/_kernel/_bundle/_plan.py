# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that build a bundle. Pure."""

from __future__ import annotations

from ..._host._step import Step, script_argv
from ..._stack._bundle import Place
from ..._stack._plan import checking
from .._found import Found
from .._plan import BUILDING, installing, prerequisites, support_argv
from ._wanted import Wanted

WORK = "/var/lib/rdma.ofed/kernel-bundle"
_KEEPING = "keeping the bundle"


def steps(wanted: Wanted, found: Found, place: Place) -> tuple[Step, ...]:
    """The steps of the job. The bundle gets its final name when it is complete."""
    archive = "%s/%s.tgz" % (WORK, wanted.name)
    argv = support_argv(place.tree, wanted.kernel, work=WORK, name=wanted.name, kmp=wanted.kmp, distro=wanted.distro if wanted.tell_distro else "")
    if not found.distribution.manager.simulates:
        # For RPM, the script names the distribution packages that it lacks.
        argv = script_argv("installer_run.py", "run", *found.distribution.manager.add, "--", *argv)
    return (
        *place.unpack,
        checking(wanted.version, place),
        *installing(found, prerequisites(found, wanted.kernel)),
        Step(BUILDING + wanted.kernel, argv, directory=place.tree),
        # Readable for all users of the node: it contains nothing secret.
        Step(_KEEPING, ("chmod", "0644", "--", archive)),
        Step(_KEEPING, ("mv", "--no-target-directory", "--", archive, wanted.path)),
        *place.clean,
        Step("cleaning up", ("rm", "-rf", "--", WORK), always=True),
    )
