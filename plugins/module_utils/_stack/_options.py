# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From the options of the module to the wanted stack. The key of a repository is read or downloaded."""

from __future__ import annotations

import typing as t

from ansible.module_utils.urls import open_url
from ansible_collections.rdma.ofed.plugins.module_utils._distro._packages import names_of
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._catalogue import vendor_packages
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import distro_to_tell
from ansible_collections.rdma.ofed.plugins.module_utils._stack._states import Found, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import mlnx_version
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Repository, is_key

Parameters = t.Mapping[str, t.Any]

# Options of the module that are no variables of the role.
_INTERNAL = ("allow_upgrade", "attach", "digest", "keep", "keep_purposes", "poll", "staged")
_MOST_KEY = 1 << 20


def role_variables(parameters: Parameters) -> dict[str, t.Any]:
    """The options under the names of the role's variables; what was left out is left out."""
    return {"ofed_" + name: value for name, value in parameters.items() if name not in _INTERNAL and value is not None}


def repository_key(parameters: Parameters, found: Found, root: str) -> str:
    """The repository's key itself, wherever it comes from; "" where none is declared."""
    declared = parameters["repository_key"] or ""
    if not declared or declared.startswith("-----"):
        return declared.strip() + "\n" if declared else ""
    kept = next((text for path, text in found.files.items() if "key" in path.lower() and text), "")
    if declared.startswith("/"):
        text = read_text(root.rstrip("/") + declared)
    elif kept and found.record.get("repository_key") == declared:
        # It is here since the last run: a run that changes nothing needs no network.
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
    """The declared stack, with what the options leave out."""
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
        distro = distro_to_tell(parameters["bundle"] or "", os_id=found.os.id, os_version=found.os.version, options=wanted.installer_options)
        wanted = wanted._replace(version=mlnx_version(role_variables(parameters)), distro=distro)
    if state == "absent":
        return wanted
    if by_repository:
        # The metapackages of MLNX_OFED have the version of the release, whichever set they are of.
        pins = (wanted.metapackage,) if is_doca else ("mlnx-ofed-*",) if wanted.version else ()
        key = repository_key(parameters, found, root)
        wanted = wanted._replace(repository=Repository(parameters["repository"], key, pins, wanted.version))
    return wanted._replace(also=vendor_packages(parameters["ulps"] or (), found.os.family, source=source, method=wanted.method, version=wanted.version))
