# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What may be declared about GPUDirect RDMA, judged without changing anything. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import found_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._legacy import Source
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import VARIABLE, lasting_problems
from ansible_collections.rdma.ofed.plugins.module_utils._schema._gpudirect import VARIABLES
from ansible_collections.rdma.ofed.plugins.module_utils._schema._values import value_problems
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import timeout_problems

NONE = "none"
# The last one that is known to work with MLNX_OFED 4.9 and before.
COMMIT: str = VARIABLES["gpudirect_commit"]["default"]
SOURCE: str = VARIABLES["gpudirect_source"]["default"]

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
        found.append(
            Problem("gpudirect_source", source, "the URL of a git repository, or the absolute path of a .tar, .tar.gz, .tar.xz or .tar.bz2 on the node")
        )
    if not isinstance(commit, str) or not _COMMIT.match(commit):
        found.append(Problem("gpudirect_commit", commit, "a whole commit of 40 hexadecimal digits", "a branch or tag may be another source tomorrow"))
    if not isinstance(checksum, str) or not (checksum == "" or _CHECKSUM.match(checksum)):
        found.append(Problem("gpudirect_checksum", checksum, "sha256: and 64 hexadecimal digits, in lower case"))
    elif not found and Source(source).is_archive and not checksum:
        found.append(
            Problem("gpudirect_checksum", checksum, "sha256: and 64 hexadecimal digits", "%s is an archive, which a commit does not identify" % source)
        )
    return found


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Everything that is wrong with the variables of the role gpudirect; with `facts`, also what the node can't do at all.

    What another role may change before its turn comes, such as the RDMA stack, is judged by the module.
    """
    method = variables.get(VARIABLE, NONE)
    found = value_problems(VARIABLES, variables)
    found += timeout_problems("gpudirect_timeout", variables.get("gpudirect_timeout", 3600))
    found += _source_problems(variables)
    if found or facts is None or variables.get("gpudirect_state", "present") == "absent":
        return found
    return lasting_problems(method, found_of(facts)) if "kernels" in facts else []
