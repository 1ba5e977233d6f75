# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What may be declared about GPUDirect RDMA, judged without changing anything. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import ALLOWED, is_boolean
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import found_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._legacy import Source
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import METHODS, VARIABLE, lasting_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import read_int

NONE = "none"
SUPPORT = ("auto", "0", "1")
# The last one that is known to work with MLNX_OFED 4.9 and before.
COMMIT = "d9a0a126bc31279e63e4b47bfb59ee767cea7aad"
SOURCE = "https://github.com/Mellanox/nv_peer_memory.git"

_COMMIT = re.compile(r"^[0-9a-f]{40}\Z")
_CHECKSUM = re.compile(r"^sha256:[0-9a-f]{64}\Z")
_URL = re.compile(r"^(https|ssh|git|file)://[^\s]+\Z")
_ARCHIVE = re.compile(r"^/\S*\.(tar|tar\.gz|tgz|tar\.xz|tar\.bz2)\Z")
_LONGEST = 86400


def _choice(name: str, value: t.Any, allowed: t.Sequence[str]) -> list[Problem]:
    return [] if isinstance(value, str) and value in allowed else [Problem(name, value, ", ".join(allowed))]


def _support(value: t.Any) -> list[Problem]:
    # YAML has numbers where the kernel has them too. True is one of these to Python.
    if isinstance(value, int) and not isinstance(value, bool) and value in (0, 1):
        return []
    return _choice("gpudirect_peerdirect_support", value, SUPPORT)


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
    found = _choice(VARIABLE, method, (NONE, *METHODS))
    found += _choice("gpudirect_state", variables.get("gpudirect_state", "present"), ("present", "absent"))
    found += _support(variables.get("gpudirect_peerdirect_support", "auto"))
    switches = {name: variables.get(name, False) for name in ("gpudirect_allow_container", "gpudirect_allow_rebuild")}
    found += [Problem(name, value, ALLOWED) for name, value in switches.items() if not is_boolean(value)]
    timeout = variables.get("gpudirect_timeout", 3600)
    seconds = read_int(timeout)
    if seconds is None or not 60 <= seconds <= _LONGEST:
        found.append(Problem("gpudirect_timeout", timeout, "seconds, 60 to %d" % _LONGEST))
    found += _source_problems(variables)
    if found or facts is None or variables.get("gpudirect_state", "present") == "absent":
        return found
    return lasting_problems(method, found_of(facts)) if "kernels" in facts else []
