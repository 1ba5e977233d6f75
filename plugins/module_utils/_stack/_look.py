# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What is on the node: packages, their stack, and what an earlier run left."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import SUPPORTED, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import read_selection, read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, read_job
from ansible_collections.rdma.ofed.plugins.module_utils._reload._look import look as look_at_driver
from ansible_collections.rdma.ofed.plugins.module_utils._reload._plan import real_users
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle_place import DOWNLOAD_STAGE, UNPACK_STAGE
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import KNOWN, distribution_versions
from ansible_collections.rdma.ofed.plugins.module_utils._stack._states import Found, Wanted

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

JOB = "driver-stack"
# In these, nothing of the system has been changed yet, or all has been.
_HARMLESS_STAGES = ("", DOWNLOAD_STAGE, UNPACK_STAGE, "checking the bundle", "checking the options", "reading the package lists", "cleaning up")
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


def look(run: Runner, root: str = "/") -> Found:
    """The node. Two or three short processes, and one more where there are packages of a vendor."""
    system = read_os(root)
    family = by_name(system.family)
    if family is None:
        raise Unsupported("%s is not supported; supported: %s" % (system.name or "this distribution", SUPPORTED))
    stack, job = read_stack(run, root), read_job(JOB, root)
    return Found(
        os=system,
        stack=stack,
        packages=family.manager.database(run, root),
        record=read_selection(root),
        interrupted=interruption(job),
        begun=job.memo.get("wanted", {}) if job is not None else {},
        protection=read_text(root.rstrip("/") + family.manager.protection_path) if family.manager.protection_path else "",
        can_protect=family.manager.can_lock(root),
        files={path: read_text(root.rstrip("/") + path) for path in family.manager.repository_files},
    )


def with_alternatives(run: Runner, wanted: Wanted, found: Found) -> Found:
    """What can stand in for the packages of the stack that is there.

    That is what the distribution has in place of the vendor's, and with dnf or zypper what the site's repository has in place of
    both: apt finds that out by itself.
    """
    address = wanted.repository.address if wanted.repository is not None and not found.manager.simulates else ""
    names = sorted({*found.vendors, *(KNOWN & set(found.packages) if address else ())})
    if not names:
        return found
    offers = found.manager.offers(run, names, address, lifted=found.protected)
    if address:
        return found._replace(alternatives={name: versions[0] for name, versions in offers.items() if versions})
    return found._replace(alternatives=distribution_versions(offers, found.stack.ofed_version))


def with_users(run: Runner, found: Found, root: str = "/") -> Found:
    """Who uses RDMA on the node."""
    return found._replace(users=real_users(look_at_driver(run, release=os.uname().release, environ=os.environ, root=root)))
