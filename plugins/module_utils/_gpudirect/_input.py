# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate what is declared about GPUDirect RDMA, and refuse what a host can't do, whatever else the run changes. Pure."""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem
from .._facts._gpu import STAMP_PATH
from .._foreign import is_true
from .._schema._gpudirect import VARIABLES
from .._schema._values import timeout_problems, value_problems
from ._found import LEGACY, PEERMEM, found_of
from ._method import VARIABLE, lasting_problems, masks
from ._source import Source

NONE = "none"
# The last commit that is known to work with MLNX_OFED 4.9 and earlier.
COMMIT: str = VARIABLES["gpudirect_commit"]["default"]
SOURCE: str = VARIABLES["gpudirect_source"]["default"]

# The kind of the node, and its registrations of GPU memory.
ENCLOSED = (
    "this is a %s, and the modules belong to the kernel of its host; run the role there "
    "(allow_container: true, or rdma_allow_container: true for the roles, overrides this)"
)
IN_USE = (
    "nv_peer_mem is in use by %d registrations of GPU memory, so it can't be unloaded, and nothing was changed: "
    "end the processes that use GPUs over RDMA, and run this again"
)

_COMMIT = re.compile(r"^[0-9a-f]{40}\Z")
_CHECKSUM = re.compile(r"^sha256:[0-9a-f]{64}\Z")
_URL = re.compile(r"^(https|ssh|git|file)://[^\s]+\Z")
_ARCHIVE = re.compile(r"^/\S*\.(tar|tar\.gz|tgz|tar\.xz|tar\.bz2)\Z")


def _source_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    source = variables.get("gpudirect_source", SOURCE)
    commit = variables.get("gpudirect_commit", COMMIT)
    checksum = variables.get("gpudirect_checksum", "")
    found = []
    if not isinstance(source, str) or not (_URL.match(source) or _ARCHIVE.match(source)):
        allowed = "the URL of a git repository, or the absolute path of a .tar, .tar.gz, .tar.xz or .tar.bz2 on the node"
        found.append(Problem("gpudirect_source", source, allowed))
    if not isinstance(commit, str) or not _COMMIT.match(commit):
        found.append(Problem("gpudirect_commit", commit, "a whole commit of 40 hexadecimal digits", "a branch or tag may point to another source tomorrow"))
    if not isinstance(checksum, str) or not (checksum == "" or _CHECKSUM.match(checksum)):
        found.append(Problem("gpudirect_checksum", checksum, "sha256: and 64 hexadecimal digits, in lower case"))
    elif not found and Source(source).is_archive and not checksum:
        hint = "%s is an archive, which has no commit" % source
        found.append(Problem("gpudirect_checksum", checksum, "sha256: and 64 hexadecimal digits", hint))
    return found


def assumed(outcome: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The options of the module for a stack that is yet to be installed, from what the role ofed has published about it."""
    if not outcome.get("stack_replaced"):
        return {}
    source = outcome.get("source")
    on_disk, loaded = ("removed", "unloaded") if source in (None, "", "inbox") else ("installed", "loaded")
    version = str(outcome.get("version") or "") if source == "mlnx_ofed" else ""
    return {"assume_stack": on_disk if outcome.get("driver_waits") else loaded, "assume_ofed_version": version}


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """All problems of the variables of the role gpudirect; with `facts`, also what the node can't do at all.

    What another role may change beforehand, such as the RDMA stack, is judged by the module.
    """
    method = variables.get(VARIABLE, NONE)
    found = value_problems(VARIABLES, variables)
    found += timeout_problems("gpudirect_timeout", variables.get("gpudirect_timeout", 3600))
    found += _source_problems(variables)
    if found or facts is None or variables.get("gpudirect_state", "present") == "absent":
        return found
    return lasting_problems(method, found_of(facts)) if "kernels" in facts else []


def foreseen(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any]) -> list[str]:
    """What the module would certainly refuse on a host, whatever other roles change beforehand, in words.

    `variables`: those of the host, already validated. The module itself chooses the method for `auto`, and decides about an existing set-up.
    """
    gpu, kind = facts.get("gpu") or {}, str((facts.get("machine") or {}).get("kind", ""))
    managed = gpu.get("managed") or ()
    if variables.get("gpudirect_state", "present") == "absent":
        users = sum(peer.get("users") or 0 for peer in gpu.get("peers") or () if peer.get("name") == LEGACY)
        return [IN_USE % users] if users and STAMP_PATH in managed else []
    method = str(variables.get(VARIABLE))
    if method == PEERMEM and gpu.get("devices") and not managed and kind in ("container", "chroot") and not is_true(variables.get("rdma_allow_container")):
        return [ENCLOSED % kind]
    return ["%s, and nothing was changed: %s" % (mask.cause, mask.next_step) for mask in masks(method, found_of(facts))]
