# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What counts as a boolean, for the variables of all roles alike. Pure."""

from __future__ import annotations

import typing as t

# What both the filter `bool` and options of type `bool` of ansible-core take, in any case of letters.
WORDS = ("true", "false", "yes", "no", "on", "off", "1", "0")
ALLOWED = "true or false"


def is_boolean(value: t.Any) -> bool:
    """Whether Ansible takes this for a boolean. What comes from `-e name=value` is a string."""
    if isinstance(value, (bool, int)):
        return value in (0, 1)
    return isinstance(value, str) and value.lower() in WORDS


def is_true(value: t.Any) -> bool:
    """Whether a boolean as Ansible takes it is true. What is no boolean counts as false, and is a problem of its own."""
    return is_boolean(value) and str(value).lower() in WORDS[::2]
