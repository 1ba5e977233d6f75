# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate declared firmware images. Pure."""

from __future__ import annotations

import re
import typing as t

from ..._errors import Problem, label
from .._devices import SELECTORS, selection_problems

_VERSION = re.compile(r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}\Z")
_PSID = re.compile(r"^[A-Za-z0-9_.-]{1,16}\Z")
_LOCATION = ("path", "url", "checksum")
_URL = re.compile(r"^https?://[!-.0-~]+/[!-~]+\Z")
# A file name contains neither NUL nor a lone surrogate.
_PATH = re.compile(r"^/[^\0\ud800-\udfff]*\Z")
_CHECKSUM = re.compile(r"^(sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})\Z")
_CHECKSUMS = "sha256: or sha512: and hexadecimal digits"


def _is(form: re.Pattern[str], value: t.Any) -> bool:
    return isinstance(value, str) and form.match(value) is not None


def _location_problems(name: str, value: t.Any) -> list[Problem]:
    """Problems of a location: a path, or a mapping of path or url, and checksum."""
    if not isinstance(value, t.Mapping):
        return [] if _is(_PATH, value) else [Problem(name, value, "the absolute path of an image on the node, or a mapping of path or url, and checksum")]
    path, url, checksum = (value.get(key) for key in _LOCATION)
    problems = [Problem("%s.%s" % (name, label(key)), value[key], ", ".join(_LOCATION), "no such option") for key in value if key not in _LOCATION]
    if (path is None) == (url is None):
        problems.append(Problem(name, dict(value), "either path or url"))
    if path is not None and not _is(_PATH, path):
        problems.append(Problem(name + ".path", path, "an absolute path on the node"))
    if url is not None and not _is(_URL, url):
        problems.append(Problem(name + ".url", url, "an address that begins with https:// or http://"))
    if checksum is None and url is not None:
        problems.append(Problem(name + ".checksum", None, _CHECKSUMS, "images from a network are burned only if their checksum is verified"))
    if checksum is not None and not _is(_CHECKSUM, checksum):
        problems.append(Problem(name + ".checksum", checksum, _CHECKSUMS))
    return problems


def _version_problems(name: str, value: t.Any) -> list[Problem]:
    hint = "" if isinstance(value, str) else "put it in quotes"
    return [] if _is(_VERSION, value) else [Problem(name, value, "a version such as '16.35.3006'", hint)]


def _by_psid(name: str, value: t.Mapping[t.Any, t.Any], judge: t.Callable[[str, t.Any], list[Problem]]) -> list[Problem]:
    """Problems of a mapping from PSIDs to values that `judge` checks."""
    problems = [Problem(name, psid, "a PSID such as MT_0000000008") for psid in value if not _is(_PSID, psid)]
    return problems + [problem for psid, item in value.items() for problem in judge("%s[%s]" % (name, label(psid)), item)]


def _device_problems(name: str, entries: t.Any) -> list[Problem]:
    if not isinstance(entries, (list, tuple)):
        return [Problem(name, entries, "a list of mappings, each with a selector: all, %s" % ", ".join(SELECTORS))]
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        where = "%s[%d]" % (name, index)
        if isinstance(entry, t.Mapping):
            problems += selection_problems(where, {key: value for key, value in entry.items() if value is not None})
        else:
            problems.append(Problem(where, entry, "a mapping with a selector: all, %s" % ", ".join(SELECTORS)))
    return problems


def image_problems(variables: t.Mapping[str, t.Any], prefix: str = "") -> list[Problem]:
    """Problems of the image options. `variables`: the options of the module mstflint; `prefix`: precedes their names where a role passes them."""
    images, versions, devices = (variables.get(prefix + name) for name in ("images", "versions", "devices"))
    problems: list[Problem] = []
    if isinstance(images, t.Mapping):
        problems += _by_psid(prefix + "images", images, _location_problems)
    elif images is not None and not _is(_PATH, images):
        problems.append(Problem(prefix + "images", images, "the absolute path of an image or of a directory, or a mapping of PSIDs to images"))
    if isinstance(versions, t.Mapping):
        problems += _by_psid(prefix + "versions", versions, _version_problems)
    elif versions is not None:
        problems.append(Problem(prefix + "versions", versions, "a mapping of PSIDs to versions"))
    if devices is not None:
        problems += _device_problems(prefix + "devices", devices)
    if variables.get(prefix + "state") == "present" and not images and not versions:
        problems.append(Problem(prefix + "images", images, "where the images are, at least for one PSID, or versions, for state=present"))
    return problems
