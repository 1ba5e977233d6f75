# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes C(ansible_collections.rdma.ofed) importable from a checkout at any path, for plain pytest."""

from __future__ import annotations

import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _package(name: str, path: list[str]) -> None:
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__path__ = path
        sys.modules[name] = module


_package("ansible_collections", [])
_package("ansible_collections.rdma", [])
_package("ansible_collections.rdma.ofed", [str(ROOT)])
