# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What a run needs from elsewhere: the key of a repository, and the bundle."""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.urls import open_url
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _bundle_place as places
from ansible_collections.rdma.ofed.plugins.module_utils._stack._draft import Found, Place
from ansible_collections.rdma.ofed.plugins.module_utils._tools._repository import is_key

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

    Parameters = t.Mapping[str, t.Any]

_MOST_KEY = 1 << 20


def repository_key(parameters: Parameters, found: Found, root: str) -> str:
    """The repository's key itself, wherever it comes from; "" where none is declared."""
    declared = parameters["repository_key"] or ""
    if not declared or declared.startswith("-----"):
        return declared.strip() + "\n" if declared else ""
    if declared.startswith("/"):
        text = read_text(root.rstrip("/") + declared)
    elif found.record.get("repository_key") == declared and any(found.files.get(path) for path in found.files if "key" in path.lower()):
        # It is here since the last run: no network for a run that changes nothing.
        text = next(found.files[path] for path in found.files if "key" in path.lower() and found.files.get(path))
    else:
        try:
            text = open_url(declared, timeout=60).read(_MOST_KEY).decode("utf-8", "surrogateescape")
        except (OSError, ValueError) as exc:
            raise CommandFailed("ofed_repository_key: %s can't be downloaded: %s. Nothing was changed" % (declared, exc)) from exc
    if not is_key(text):
        raise InvalidInput([Problem("ofed_repository_key", declared, "a file on the node with a public PGP key", "there is none, or it is something else")])
    return text


def bundle(module: AnsibleModule, run: Runner, version: str, root: str) -> tuple[Place, dict[str, str]]:
    """Where the bundle is, and, where the action plugin has to give something first, what: a part of the result.

    C(bundle_needed) is C(checksum) or C(transfer). The release and the kind of processor let it look into the file before
    that is sent, and in check mode instead.
    """
    parameters = module.params
    source = places.Source(parameters["bundle"], parameters["digest"] or parameters["bundle_checksum"] or "", parameters["bundle_on"])
    if parameters["staged"]:
        places.accept(source, parameters["staged"], root)
    arch = os.uname().machine
    place = places.place_of(run, source, version, arch, root)
    if place is not None:
        return place, {}
    return Place("/BUNDLE"), {"bundle_needed": "transfer" if source.checksum else "checksum", "bundle_release": version, "bundle_architecture": arch}
