# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the node: packages, their stack, and leftovers of earlier runs; and read what the options of the module want there.

The key of a repository is read or downloaded.
"""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.urls import open_url

from .._distro._registry import FAMILIES, SUPPORTED, by_name, names_of
from .._errors import CommandFailed, InvalidInput, Problem, Unsupported
from .._facts._machine import read_os
from .._facts._stack import read_selection, read_stack
from .._host._files import read_text, under
from .._host._job import State, read_job
from .._host._private import private_files
from .._protocols._catalogue import vendor_packages
from .._reload._look import look as look_at_driver
from .._reload._plan import real_users
from .._tools._packages import Repository, is_key
from ._bundle import distro_to_tell
from ._bundle_place import DOWNLOAD_STAGE, UNPACK_STAGE
from ._found import Found
from ._package_names import KNOWN, distribution_versions
from ._vendors import mlnx_version
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from .._host._run import Runner

Parameters = t.Mapping[str, t.Any]

JOB = "driver-stack"
# In these stages, either nothing of the system has been changed yet or everything has.
_HARMLESS_STAGES = ("", DOWNLOAD_STAGE, UNPACK_STAGE, "checking the bundle", "checking the options", "reading the package lists", "cleaning up")
# With these exit codes the installer stops before it changes anything.
_HARMLESS_CODES = (22, 172, 174)
# Options of the module that are no variables of the role.
_INTERNAL = ("allow_upgrade", "attach", "digest", "keep", "keep_purposes", "poll", "staged")
_MOST_KEY = 1 << 20


def interruption(job: State | None) -> str:
    """How the last job was interrupted and left something half done, in words; "" where it was not."""
    if job is None or job.running or job.stage in _HARMLESS_STAGES:
        return ""
    if job.interrupted:
        return "interrupted while %s" % job.stage
    if job.failed and job.failed not in _HARMLESS_STAGES and job.rc not in _HARMLESS_CODES:
        return "failed while %s" % job.failed
    return ""


def look(run: Runner, root: str = "/") -> Found:
    """The node. Takes two or three short processes, and one more where vendor packages are installed."""
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
        protection=read_text(under(root, family.manager.protection_path)) if family.manager.protection_path else "",
        can_protect=family.manager.can_lock(root),
        folders=family.manager.repository_folders(root),
        files={path: read_text(under(root, path)) for path in family.manager.files_of(None)},
    )


def with_alternatives(run: Runner, wanted: Wanted, found: Found, *, root: str = "/") -> Found:
    """Add the packages that can replace those of the present stack.

    These are the distribution's replacements for the vendor's packages and, with dnf or zypper, the replacements for both in the site's
    repository. apt finds the latter itself.
    """
    address = wanted.repository.address if wanted.repository is not None and not found.manager.simulates else ""
    names = sorted({*found.vendors, *(KNOWN & set(found.packages) if address else ())})
    if not names:
        return found
    with private_files(found.manager.preview_files(address), root):
        offers = found.manager.offers(run, names, address, lifted=found.protected, folders=found.folders)
    if address:
        return found._replace(alternatives={name: versions[0] for name, versions in offers.items() if versions})
    return found._replace(alternatives=distribution_versions(offers, found.stack.ofed_version))


def with_users(run: Runner, found: Found, root: str = "/") -> Found:
    """Add the users of RDMA on the node."""
    return found._replace(users=real_users(look_at_driver(run, release=os.uname().release, environ=os.environ, root=root)))


def role_variables(parameters: Parameters) -> dict[str, t.Any]:
    """The options under the names of the role's variables. Unset options are left out."""
    return {"ofed_" + name: value for name, value in parameters.items() if name not in _INTERNAL and value is not None}


def repository_key(parameters: Parameters, found: Found, root: str) -> str:
    """The repository's key, wherever it comes from; "" where none is declared."""
    declared = parameters["repository_key"] or ""
    if not declared or declared.startswith("-----"):
        return declared.strip() + "\n" if declared else ""
    kept = next((text for path, text in found.files.items() if "key" in path.lower() and text), "")
    if declared.startswith("/"):
        text = read_text(under(root, declared))
    elif kept and found.record.get("repository_key") == declared:
        # Kept since the last run: a run that changes nothing needs no network.
        text = kept
    else:
        try:
            text = open_url(declared, timeout=60).read(_MOST_KEY).decode("utf-8", "surrogateescape")
        except (OSError, ValueError) as exc:
            raise CommandFailed("ofed_repository_key: %s can't be downloaded: %s. Nothing was changed" % (declared, exc)) from exc
    if not is_key(text):
        raise InvalidInput([Problem("ofed_repository_key", declared, "a file on the node with a public PGP key", "there is none, or it is something else")])
    return text


def wanted_of(parameters: Parameters, found: Found, root: str = "/") -> Wanted:
    """The declared stack, with defaults for unset options."""
    source, state = parameters["source"], parameters["state"]
    is_doca = source == "doca"
    by_repository = is_doca or parameters["method"] == "repository"
    wanted = Wanted(
        state=state,
        source=source,
        version=parameters["version"] or "",
        method="repository" if by_repository else "installer",
        packages=parameters["packages"] or ("doca-ofed" if is_doca else "all"),
        installer_options=tuple(parameters["installer_options"] or ()),
        allow_upgrade=parameters["allow_upgrade"],
        allow_removal=tuple(parameters["allow_removal"] or ()),
        firmware_update=parameters["firmware_update"],
        protect=parameters["protect_packages"],
        keep=tuple(names_of(by_name(found.os.family) or FAMILIES[0], parameters["keep_purposes"] or (), parameters["keep"] or ())),
    )
    if not by_repository:
        distro = distro_to_tell(parameters["bundle"] or "", found.os, wanted.installer_options)
        wanted = wanted._replace(version=mlnx_version(role_variables(parameters)), distro=distro)
    if state == "absent":
        return wanted
    if by_repository and parameters["repository"]:
        # All metapackages of MLNX_OFED, whatever their set, have the version of the release.
        pins = (wanted.metapackage,) if is_doca else ("mlnx-ofed-*",) if wanted.version else ()
        key = repository_key(parameters, found, root)
        wanted = wanted._replace(repository=Repository(parameters["repository"], key, pins, wanted.version))
    return wanted._replace(also=vendor_packages(parameters["ulps"] or (), found.os.family, source=source, method=wanted.method, version=wanted.version))
