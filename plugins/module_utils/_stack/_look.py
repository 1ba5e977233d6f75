# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What is on the node: packages, their stack, and what an earlier run left."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import SUPPORTED, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, read_job
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle_place import DOWNLOAD_STAGE
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import distribution_versions
from ansible_collections.rdma.ofed.plugins.module_utils._stack._states import UNINSTALLER, Found
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _apt as apt

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

JOB = "driver-stack"
RECORD = "var/lib/rdma.ofed/stack.json"
# In these, nothing of the system has been changed yet, or all has been.
_HARMLESS_STAGES = ("", DOWNLOAD_STAGE, "unpacking the bundle", "checking the bundle", "reading the package lists", "cleaning up")
# The installer looks at these before it changes anything.
_HARMLESS_CODES = (22, 172, 174)


def interruption(job: State | None) -> str:
    """How the last job ended before its time and left something half done, in words; "" where it did not."""
    if job is None or job.running or job.stage in _HARMLESS_STAGES:
        return ""
    if job.interrupted:
        return "interrupted while %s" % job.stage
    if job.failed and job.failed not in _HARMLESS_STAGES and job.rc not in _HARMLESS_CODES:
        return "failed while %s" % job.failed
    return ""


def read_record(root: str = "/") -> dict[str, t.Any]:
    """The selection of the last run that succeeded; empty where there was none."""
    try:
        found = json.loads(read_text(os.path.join(root, RECORD)) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def look(run: Runner, root: str = "/") -> Found:
    """The node. Two or three short processes, and one more where there are packages of a vendor."""
    system = read_os(root)
    family = by_name(system.family)
    if family is None:
        raise Unsupported("%s is not supported; supported: %s" % (system.name or "this distribution", SUPPORTED))
    stack = read_stack(run, root)
    return Found(
        os=system,
        stack=stack,
        packages=family.manager.database(run, root),
        record=read_record(root),
        interrupted=interruption(read_job(JOB, root)),
        files={path: read_text(root.rstrip("/") + path) for path in family.manager.repository_files},
        uninstaller=os.path.isfile(root.rstrip("/") + UNINSTALLER),
    )


def with_alternatives(run: Runner, found: Found) -> Found:
    """What the distribution has in place of the vendor's packages, from the package lists that are on the node."""
    names = found.vendors
    if not found.manager.simulates or not names:
        return found
    offers = apt.parse_madison(run(["apt-cache", "madison", *names], ok=None, timeout=120).stdout)
    return found._replace(alternatives=distribution_versions(offers, found.stack.ofed_version))
