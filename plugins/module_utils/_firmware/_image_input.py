# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Is what the user says about firmware images meant well? Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem

_VERSION = re.compile(r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}\Z")
_PSID = re.compile(r"^[A-Za-z0-9_.-]{1,16}\Z")


def _is_path(value: t.Any) -> bool:
    return isinstance(value, str) and value.startswith("/") and "\0" not in value


def _is_psid(value: t.Any) -> bool:
    return isinstance(value, str) and _PSID.match(value) is not None


def _images(name: str, value: t.Any) -> list[Problem]:
    if value is None:
        return []
    if not isinstance(value, t.Mapping):
        return [] if _is_path(value) else [Problem(name, value, "the absolute path of an image or of a directory, or a mapping of PSIDs to images")]
    problems = [] if value else [Problem(name, {}, "at least one PSID with its image")]
    for psid, path in value.items():
        if not _is_psid(psid):
            problems.append(Problem(name, psid, "a PSID such as MT_0000000008"))
        if not _is_path(path):
            problems.append(Problem("%s[%s]" % (name, psid), path, "the absolute path of an image on the node"))
    return problems


def _versions(name: str, value: t.Any) -> list[Problem]:
    if value is None:
        return []
    if not isinstance(value, t.Mapping):
        return [Problem(name, value, "a mapping of PSIDs to versions")]
    problems = [Problem(name, psid, "a PSID such as MT_0000000008") for psid in value if not _is_psid(psid)]
    for psid, version in value.items():
        if not (isinstance(version, str) and _VERSION.match(version)):
            hint = "" if isinstance(version, str) else "put it in quotes"
            problems.append(Problem("%s[%s]" % (name, psid), version, "a version such as '16.35.3006'", hint))
    return problems


def image_problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None, prefix: str = "") -> list[Problem]:
    """C(variables) holds the options of the module mstflint, their names behind a prefix where a role passes its own."""
    images = variables.get(prefix + "images")
    problems = _images(prefix + "images", images) + _versions(prefix + "versions", variables.get(prefix + "versions"))
    devices = variables.get(prefix + "devices")
    if devices is not None and not (isinstance(devices, (list, tuple)) and devices and all(isinstance(one, str) and one for one in devices)):
        problems.append(Problem(prefix + "devices", devices, "a list of PCI addresses, RDMA devices, PSIDs, or 'all'"))
    if variables.get(prefix + "state") == "present" and images is None:
        problems.append(Problem(prefix + "images", None, "where the images are, for state=present"))
    return problems


__all__ = ("image_problems",)
