# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Control files of Debian packages: pure text. A field is a name and a value with its continuation lines."""

from __future__ import annotations

import re
import typing as t

Fields = t.Dict[str, str]
_RELATION = re.compile(r"^\s*([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\(([^)]*)\))?")
RELATIONS = ("Pre-Depends", "Depends", "Recommends", "Suggests", "Breaks", "Conflicts", "Replaces", "Provides")


def parse(text: str) -> Fields:
    """Return the fields of one paragraph in their order."""
    fields: Fields = {}
    name = ""
    for line in text.splitlines():
        if line[:1] in (" ", "\t") and name:
            fields[name] += "\n" + line
        elif ":" in line:
            name, _colon, value = line.partition(":")
            fields[name] = value.strip()
    return fields


def render(fields: t.Mapping[str, str]) -> str:
    return "".join("%s: %s\n" % (name, value) for name, value in fields.items() if value)


def relations(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def names(value: str) -> list[str]:
    """Return the package names of a relation field, the first of each set of alternatives."""
    found = [_RELATION.match(part) for part in relations(value)]
    return [match.group(1) for match in found if match]


def revised(fields: t.Mapping[str, str], versions: t.Mapping[str, str], renamed: t.Mapping[str, str]) -> Fields:
    """Convert a distribution's paragraph to the vendor's: versions, and relations among the vendor's own packages.

    An exact relation gets the vendor's version. A lower bound stays, because the vendor's versions are all higher. An upper bound is dropped.
    """
    result = dict(fields)
    package = fields["Package"]
    result["Package"] = renamed.get(package, package)
    result["Version"] = versions[result["Package"]]
    result.pop("Source", None)
    for field in RELATIONS:
        kept: list[str] = []
        for part in relations(fields.get(field, "")):
            match = _RELATION.match(part)
            name = renamed.get(match.group(1), match.group(1)) if match else ""
            if name in versions and match:
                bound = match.group(2) or ""
                if bound.startswith("<"):
                    continue
                part = "%s (= %s)" % (name, versions[name]) if bound.startswith("=") else name + (" (%s)" % bound if bound and name == match.group(1) else "")
                if name == result["Package"]:
                    continue
            if part not in kept:
                kept.append(part)
        result[field] = ", ".join(kept)
    return {name: value for name, value in result.items() if value}
