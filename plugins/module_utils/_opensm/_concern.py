# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the rest of the collection may ask of this concern. Pure.

A host that runs subnet managers has to ask the live fabric, so the module always runs there. Of all others, a look tells whether
there is anything to do.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import without_secrets
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import read_wanted

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan

# Of the options that the wanted state of a host without a subnet manager is made of.
_DEFAULTS: t.Mapping[str, t.Any] = {"state": "present", "instances": None, "wait_timeout": 60}


def result(planned: Plan, *, reasons: t.Sequence[str] = (), fabrics: t.Sequence[t.Mapping[str, t.Any]] = ()) -> dict[str, t.Any]:
    """The result of the module. It shows no secrets."""
    return {**without_secrets(planned).result(reasons=reasons), "fabrics": list(fabrics)}


def unchanged(options: t.Mapping[str, t.Any], found: Found) -> dict[str, t.Any] | None:
    """The complete result of the module with these options; None where the module has to run on the host.

    It need not where no instance is wanted and nothing has to change. `found` may be `Found.public()`.
    """
    given = {**_DEFAULTS, **options}
    if given["state"] != "absent" and (given["state"], given["instances"]) != ("present", []):
        return None
    try:
        wanted = read_wanted(given)
    except RdmaError:
        # The module reports it.
        return None
    planned = plan(wanted, found)
    return None if planned or found.unmaskable else result(planned)
