# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Packages that are not part of a stack, and would go with it. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import REPLACED, is_library, is_vendors


def foreign(removed: t.Iterable[str], versions: t.Mapping[str, str], expected: t.Collection[str], release: str = "", replaced: bool = False) -> list[str]:
    """Those of the C(removed) packages that nobody spoke of.

    C(expected) are the packages that go by the plan. The installer removes more by their names: with C(replaced) these
    are part of the stack as well, and come back with it. So are its libraries in the distribution's cut: whatever needs
    one of them goes with it, and is named for itself.
    """
    return sorted(
        name
        for name in set(removed)
        if name not in expected and not is_vendors(name, versions.get(name, ""), release) and not is_library(name) and not (replaced and name in REPLACED)
    )


def refuse(names: t.Sequence[str], allowed: t.Collection[str], what: str) -> None:
    """Refuse where one of the foreign packages is not allowed to go. C(what) is going to be done: C(MLNX_OFED is installed)."""
    kept = [name for name in names if name not in allowed]
    if kept:
        raise Refused(
            "nothing was changed: %d package%s no part of the RDMA stack and would be removed when %s: %s. "
            "Remove them yourself, or name them in ofed_allow_removal: they go, and are not installed again"
            % (len(kept), " is" if len(kept) == 1 else "s are", what, ", ".join(kept)),
            dependants=kept,
        )
