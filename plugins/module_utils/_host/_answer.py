# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The entry and exit of every module."""

from __future__ import annotations

import copy
import os
import platform
import traceback
import typing as t

from ansible.module_utils.basic import AnsibleModule

from .._errors import RdmaError, Refused
from .._foreign import shown_lines
from ._image import opened
from ._node import Node
from ._run import ModuleRunner

_BUG = (
    "this is a bug in the module, not an error in the input: %s: %s (%s). The node may have been partly changed; the next run continues from there. "
    "Please report it with this message, the output of the run with -vvv, and the versions of ansible-core and of the collection rdma.ofed"
)


def require_root() -> None:
    """Raise Refused unless the user is root. Without this check, other users would fail halfway, at the first write."""
    uid = os.geteuid()
    if uid != 0:
        raise Refused(
            "this requires root, but the task runs with user ID %d. Set become: true (ansible-playbook -b); nothing was changed" % uid, root_required=True
        )


def answer(
    options: t.Mapping[str, t.Any],
    work: t.Callable[[AnsibleModule, ModuleRunner], t.Mapping[str, t.Any]],
    *,
    root: bool = False,
    **settings: t.Any,
) -> None:
    """Run the module that takes `options`. It exits with the result of `work`, with the RdmaError that `work` raised, or with a request to report the fault.

    With `root`, other users are refused at once. `settings`: further arguments of AnsibleModule. A result without `changed` means that nothing was changed.
    """
    # Ansible fills in defaults in place, and those of a constant are shared by all its readers.
    module = AnsibleModule(argument_spec=copy.deepcopy(dict(options)), supports_check_mode=True, **settings)
    try:
        if root:
            require_root()
        result = work(module, ModuleRunner(module))
    except RdmaError as exc:
        refused = {"refused": True} if isinstance(exc, Refused) else {}
        module.fail_json(msg=shown_lines(exc.msg), **refused, **exc.details)
    except Exception as exc:
        module.fail_json(msg=_BUG % (type(exc).__name__, exc, _place(exc)), exception=traceback.format_exc())
    module.exit_json(**{"changed": False, **result})


def answer_on_node(options: t.Mapping[str, t.Any], work: t.Callable[[AnsibleModule, Node], t.Mapping[str, t.Any]], **settings: t.Any) -> None:
    """As `answer`, for a module that also works on the tree of an image, with the option `image`: `work` gets the node, or this tree as one."""

    def placed(module: AnsibleModule, run: ModuleRunner) -> t.Mapping[str, t.Any]:
        if not module.params.get("image"):
            return work(module, Node(run, platform.release(), os.environ))
        with opened(run, module.tmpdir) as node:
            return work(module, node)

    answer(options, placed, **settings)


def _place(exc: BaseException) -> str:
    """The place where the exception was raised: `_plan.py, line 12, in plan`."""
    frame = traceback.extract_tb(exc.__traceback__)[-1]
    return "%s, line %s, in %s" % (os.path.basename(frame.filename), frame.lineno, frame.name)
