# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turn values of Ansible variables into plain Python values. Pure."""

from __future__ import annotations

import typing as t


def plain(value: t.Any) -> t.Any:
    """The same value in base types of Python.

    ansible-core 2.19 returns tagged subclasses and lazy containers, 2.18 text types of its own, and for encrypted values in a file
    a type that is no text. Pure code gets none of them.
    Other types, such as a date from YAML, are returned unchanged, for the validation to report.
    """
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bool):  # an int too, but nothing can be derived from it
        return value
    for base in (int, float, str):
        if isinstance(value, base):
            return base(value)
    # The attribute by which ansible-core up to 2.18 itself recognises a value with the tag !vault.
    return str(value) if getattr(value, "__ENCRYPTED__", False) else value
