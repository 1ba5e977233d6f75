# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`modinfo`: what a module says about itself and its parameters. Grammar from kmod, `modinfo.c`.

`ofed_info`: the release of MLNX_OFED, or of the OFED drivers in DOCA-OFED.
"""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from .._host._run import Runner

_PARAMETER = re.compile(r"^([A-Za-z0-9_]+):(.*)$")
_TYPE = re.compile(r"\(([a-z0-9 ]+)\)\s*$")

# The tarball installer writes the first spelling; packages from a repository and DOCA keep the second.
INTERNAL = "OFED-internal"
_RELEASE = re.compile(r"^\s*(MLNX_OFED_LINUX|OFED-internal|MLNX_EN|mlnx-en)-(\d+(?:\.\d+)+(?:-\d+(?:\.\d+)*)*)")


def module_of(path: str) -> str:
    """The module in a file, in the kernel's spelling."""
    return path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def parse_modinfo(stdout: str) -> dict[str, dict[str, str]]:
    """Parse `modinfo NAME ...`: the fields of each module; of a repeated field, the first value.

    Each module's block starts with the path of its file. With `-F FIELD` a module without that field would print
    nothing at all, so that the lines of several modules could not be told apart.
    """
    found: dict[str, dict[str, str]] = {}
    for path, fields in parse_files(stdout).items():
        name = module_of(path)
        found[name] = {**fields, **found.get(name, {})}
    return found


def parse_files(stdout: str) -> dict[str, dict[str, str]]:
    """Parse `modinfo PATH ...`: the fields by file path. Several files may contain a module of the same name."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in stdout.splitlines():
        key, colon, value = line.partition(":")
        if key == "filename":
            fields = found.setdefault(value.strip(), {})
        if colon and found:
            fields.setdefault(key, value.strip())
    return found


def parse_parameters(stdout: str) -> dict[str, str]:
    """Parse `modinfo -p NAME`: type by parameter, from `NAME:description (type)`, whose description may contain line breaks.

    The type is "" for a parameter that is shown without one: the module parses it itself.
    """
    lines: dict[str, str] = {}
    name = ""
    for line in stdout.splitlines():
        match = _PARAMETER.match(line)
        name = match.group(1) if match else name
        lines[name] = line
    lines.pop("", None)
    kinds = {name: _TYPE.search(last) for name, last in lines.items()}
    return {name: kind.group(1) if kind else "" for name, kind in kinds.items()}


def parse_ofed_info(text: str) -> tuple[str, str]:
    """Parse `ofed_info -s`: spelling and version, `("OFED-internal", "23.07-0.5.0")`; two empty texts for anything else."""
    match = _RELEASE.match(text)
    return (match.group(1), match.group(2)) if match else ("", "")


def read_ofed_info(run: Runner) -> tuple[str, str]:
    """Spelling and version of the installed release; two empty texts without the tool."""
    return parse_ofed_info(run(["ofed_info", "-s"], ok=None, timeout=10).stdout) if run.has("ofed_info") else ("", "")
