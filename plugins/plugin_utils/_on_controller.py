# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Action plugins that run on the controller only: nothing is sent to a node, and nothing is changed."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.plugin_utils import _shared

_shared.load_filters()


class ControllerAction(ActionBase):
    """Validates the arguments and answers in place of a module."""

    _requires_connection = False
    _supports_check_mode = True

    options: t.Mapping[str, t.Any]
    """The argument specification."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(self.options)
        try:
            answer = self.answer(arguments, task_vars or {})
        except RdmaError as exc:
            answer = {"failed": True, "msg": exc.msg}
        result.update(changed=False, **answer)
        return result

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of the task. An RdmaError makes it fail."""
        raise NotImplementedError
