# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the helper module beside the tests importable, and takes the clock out of property tests."""

from __future__ import annotations

import pathlib
import sys

from hypothesis import settings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# A busy machine is no property of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
