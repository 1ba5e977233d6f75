# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""netplan: what it has generated from its files about an interface. Without PyYAML, its own files are not parsed. Pure."""

from __future__ import annotations

import typing as t

from .._parsed import Parsed
from . import _networkd_reader, _networkmanager_reader
from ._networkd import is_of


def parse(name: str, paths: t.Sequence[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface, as netplan hands them to the service that it generates files for.

    `paths`: its own files, and those for that service, which are also found by the name of the interface.
    """
    generated = [path for path in files if path.startswith("/run/") and path not in paths]
    networks = [path for path in generated if path.endswith(".network") and is_of(name, path)]
    profiles = [path for path in generated if path.rpartition("/")[2].startswith("netplan-") and path.endswith("-%s.nmconnection" % name)]
    networks += [path for path in paths if path.endswith(".network")]
    profiles += [path for path in paths if path.endswith(".nmconnection")]
    first = _networkd_reader.parse(name, networks, files)
    return first if networks or not profiles else _networkmanager_reader.parse(name, profiles, files)
