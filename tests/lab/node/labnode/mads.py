# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which program receives the management requests of a port. Pure.

The kernel passes each request to one program: a method of a class and version belongs to the first program that registers it. Therefore a second subnet manager
on a port exits. Programs that only send requests register no methods.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Hashable
from typing import NamedTuple


class Claim(NamedTuple):
    """Methods (one bit each) of one management class in one version, on one port."""

    port: str
    management_class: int
    version: int
    methods: int

    def meets(self, other: Claim) -> bool:
        return self[:3] == other[:3] and bool(self.methods & other.methods)


class Receivers:
    """The claims of running programs, by holder."""

    def __init__(self) -> None:
        self._claims: dict[Hashable, Claim] = {}

    def register(self, holder: Hashable, text: str) -> None:
        """Register "PORT CLASS VERSION METHODS", METHODS in hexadecimal digits. Raises EINVAL, like the kernel, if another holder has one of the methods."""
        port, management_class, version, methods = text.split()
        claim = Claim(port, int(management_class), int(version), int(methods, 16))
        if any(claim.meets(other) for other in self._claims.values()):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._claims[holder] = claim

    def release(self, holder: Hashable) -> None:
        self._claims.pop(holder, None)
