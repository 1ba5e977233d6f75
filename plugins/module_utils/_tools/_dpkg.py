# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""dpkg: its database and its command lines. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package

STATUS = "var/lib/dpkg/status"
# A name, at the beginning or after a comma or a bar: libc6 (>= 2.34), libssl3 | libssl1.1
_DEPENDENCY = re.compile(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)")
_PREVENTED = re.compile(r"prevent removal of ([^\s:]+)")


def parse_dpkg_database(text: str, names: t.Collection[str] | None = None, remnants: bool = False) -> dict[str, Package]:
    """The database -> the packages that are there, wholly or in part. A second architecture is `name:arch`.

    With `names` only these are read, which is much faster; with `remnants` also those of which only configuration is left.
    """
    gone = ("not-installed",) if remnants else ("not-installed", "config-files")
    found: dict[str, Package] = {}
    for paragraph in text.split("\n\n"):
        first, _newline, rest = paragraph.lstrip("\n").partition("\n")
        if names is not None and first.startswith("Package: ") and first[9:].strip() not in names:
            continue
        fields = dict(line.split(": ", 1) for line in [first, *rest.split("\n")] if ": " in line and not line.startswith(" "))
        status = fields.get("Status", "").split()
        name = fields.get("Package", "").strip()
        if not name or not status or status[-1] in gone or (names is not None and name not in names):
            continue
        needed = tuple(_DEPENDENCY.findall("%s, %s" % (fields.get("Pre-Depends", ""), fields.get("Depends", ""))))
        found["%s:%s" % (name, fields.get("Architecture", "")) if name in found else name] = Package(
            fields.get("Version", ""), status[-1], needed, "reinstreq" in status, status[0] == "hold"
        )
    return found


def parse_prevented(stderr: str) -> set[str]:
    """`dpkg --simulate --remove` -> the packages that something else needs."""
    return set(_PREVENTED.findall(stderr))


def drop_argv(names: t.Sequence[str]) -> tuple[str, ...]:
    """Remove packages whose files were only half replaced; what needs them waits for the installation that follows."""
    return ("dpkg", "--remove", "--force-remove-reinstreq", "--force-depends", *names)
