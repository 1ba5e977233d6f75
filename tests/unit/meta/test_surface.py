# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All documents agree on the public interface and on what only the playbooks use."""

from __future__ import annotations

import importlib
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
NOTE = "It serves the playbooks and roles of this collection, and its options change with those."


def test_modules_that_serve_the_playbooks_say_so() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"Some modules serve the playbooks, and their options change with those: ((?:`\w+`,? )+)", text.replace("\n", " "))
    names = [path.stem for path in (ROOT / "plugins/modules").glob("[!_]*.py")]
    documentation = {name: importlib.import_module("ansible_collections.rdma.ofed.plugins.modules." + name).DOCUMENTATION for name in names}
    assert sorted(re.findall(r"\w+", listed)) == sorted(name for name, text in documentation.items() if NOTE in yaml.safe_load(text).get("notes", ()))


def test_the_filters_for_users_exist() -> None:
    (listed,) = re.findall(r"and the filters ((?:`\w+`(?:, | and )?)+)", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
    assert all((ROOT / "plugins/filter" / (name + ".py")).is_file() for name in re.findall(r"\w+", listed) if name != "and")
