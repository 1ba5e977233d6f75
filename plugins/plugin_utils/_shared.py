# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What the workers of a run share.

ansible-core imports an action plugin before it forks a worker for each host. What that import has loaded, no worker loads again.
"""

from __future__ import annotations

import contextlib

from ansible.plugins.loader import filter_loader


def load_filters() -> None:
    """Load the filters of the collection. To look up one of them, ansible-core loads all, which takes half of the time of a skipped task."""
    # A worker that does not find them here says what is wrong.
    with contextlib.suppress(Exception):
        filter_loader.get("rdma.ofed.of_this_run")
