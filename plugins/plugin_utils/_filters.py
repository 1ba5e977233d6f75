# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Common parts of all filters."""

from __future__ import annotations

import functools
import typing as t

from ansible.errors import AnsibleFilterError
from jinja2 import pass_context
from jinja2.runtime import Context

from ..module_utils._errors import RdmaError
from ..module_utils._foreign import shown, shown_lines
from ._untrusted import distrust_result


def module_of(function: t.Callable[..., t.Any]) -> type:
    """The class by which ansible-core finds the filter in a file. The filter has the name of the function, and reports errors as ansible-core does."""

    @pass_context
    @functools.wraps(function)
    def reporting(*arguments: t.Any, **options: t.Any) -> t.Any:
        if arguments and isinstance(arguments[0], Context):
            distrust_result(arguments[0])
            arguments = arguments[1:]
        try:
            return function(*arguments, **options)
        except RdmaError as exc:
            raise AnsibleFilterError(shown_lines(exc.msg)) from exc
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as exc:
            # Checking each argument would take time for every host and task; the documentation describes the arguments.
            text = "one of the arguments of rdma.ofed.%s has an invalid form (%s: %s). Next: ansible-doc -t filter rdma.ofed.%s"
            name = function.__name__
            raise AnsibleFilterError(text % (name, type(exc).__name__, shown(str(exc)), name)) from exc

    return type("FilterModule", (), {"filters": lambda _self: {function.__name__: reporting}})
