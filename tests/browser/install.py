# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Installs Debian's Chromium if no Chromium or Chrome is found."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from browser import program
from common import apt_install, main


def install() -> None:
    if program() is None:
        apt_install("chromium")


if __name__ == "__main__":
    main(install)
