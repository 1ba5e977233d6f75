# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Loads the filters of the collection once, before Ansible forks a process for each task of each host, which would each load all of them."""

from __future__ import annotations

import typing as t

from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader

DOCUMENTATION = """
name: filters_first
type: aggregate
short_description: Loads the filters of the collection once
description: [For test runs on many hosts.]
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "filters_first"
    CALLBACK_NEEDS_ENABLED = False

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        filter_loader.get("rdma.ofed.merge_pending")
