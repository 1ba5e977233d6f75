# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbooks of the collection as data."""

from __future__ import annotations

import pathlib
import typing as t

import yaml


def plays_of(path: pathlib.Path) -> list[dict[str, t.Any]]:
    """The plays of a playbook, with those of playbooks that it imports in their places."""
    plays = []
    for play in yaml.safe_load(path.read_text(encoding="utf-8")):
        imported = play.get("ansible.builtin.import_playbook")
        plays += plays_of(path.parent / imported) if imported else [play]
    return plays
