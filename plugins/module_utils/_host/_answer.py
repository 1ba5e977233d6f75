# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""How a module ends."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def answer(module: AnsibleModule, work: t.Callable[[], t.Mapping[str, t.Any]]) -> None:
    """Does the work and ends the module: with its result, or with the error of ours that it raised and the details of that."""
    try:
        result = work()
    except RdmaError as exc:
        module.fail_json(msg=exc.msg, **exc.details)
    module.exit_json(**result)
