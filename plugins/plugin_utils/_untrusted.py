# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text from nodes and from the fabric is data: ansible-core must not evaluate it as a template, where `lookup('pipe', ...)` runs a command on the controller.

Since 2.19, ansible-core evaluates only text that is marked as trusted, and no text from a plugin is. Before, it evaluates every text that is not
marked as unsafe, and the mark is lost as soon as Python derives another text.
"""

from __future__ import annotations

import typing as t

_mark: t.Callable[[t.Any], t.Any] | None = None
try:
    # Exists since 2.19, where templates are marked instead of data.
    from ansible.template import trust_as_template as _marks_trust  # noqa: F401
except ImportError:
    from ansible.utils.unsafe_proxy import wrap_var

    _mark = wrap_var


def untrusted(value: t.Any) -> t.Any:
    """The same value, marked so that no part of it is evaluated as a template; named tuples become lists."""
    return value if _mark is None else _marked(value, _mark)


def _marked(value: t.Any, mark: t.Callable[[t.Any], t.Any]) -> t.Any:
    if isinstance(value, t.Mapping):
        return {_marked(key, mark): _marked(item, mark) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_marked(item, mark) for item in value]
    return mark(value) if isinstance(value, (str, bytes)) else value


def distrust_result(context: t.Any) -> None:
    """Prevent the result of the context's template from being evaluated as a template.

    Up to 2.18, lists and mappings are converted to text and parsed again before they become a variable, which loses the marks of their texts. ansible-core then
    marks the whole result if a variable of the template was marked. It doesn't notice a variable that is read through `hostvars`.
    """
    if hasattr(context, "unsafe"):
        context.unsafe = True
