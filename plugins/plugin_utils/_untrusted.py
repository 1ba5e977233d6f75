# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text of nodes and of the fabric is data: no ansible-core may take it for a template, in which `lookup('pipe', ...)` runs a command on the controller.

From 2.19 on, ansible-core runs as a template only what comes marked as trusted, and nothing made by a plugin is. Before, every text was one that is not
marked as unsafe; a mark is lost as soon as Python makes another text of it.
"""

from __future__ import annotations

import typing as t

_mark: t.Callable[[t.Any], t.Any] | None = None
try:
    # Only since 2.19, where what is to be a template is marked, and not what is none.
    from ansible.template import trust_as_template as _marks_trust  # noqa: F401
except ImportError:
    from ansible.utils.unsafe_proxy import wrap_var

    _mark = wrap_var


def untrusted(value: t.Any) -> t.Any:
    """The same value, of which nothing is taken for a template; named tuples become lists."""
    return value if _mark is None else _marked(value, _mark)


def _marked(value: t.Any, mark: t.Callable[[t.Any], t.Any]) -> t.Any:
    if isinstance(value, t.Mapping):
        return {_marked(key, mark): _marked(item, mark) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_marked(item, mark) for item in value]
    return mark(value) if isinstance(value, (str, bytes)) else value


def distrust_result(context: t.Any) -> None:
    """Whatever the template of this context makes is no template itself.

    Up to 2.18, lists and mappings are written as text and read again before they become a variable, which loses the marks of their texts. ansible-core then
    marks all of the result where a variable of the template was marked. It doesn't notice one that is reached through `hostvars`.
    """
    if hasattr(context, "unsafe"):
        context.unsafe = True
