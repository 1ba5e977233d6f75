# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The syntax trees of the sources, each parsed once for all tests. The trees are shared, so tests must not change them."""

from __future__ import annotations

import ast
import functools
import pathlib


@functools.lru_cache(maxsize=None)
def tree(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
