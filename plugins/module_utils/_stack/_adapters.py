# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The adapters for which the releases of the vendor have no driver. Pure.

The release notes of MLNX_OFED name ConnectX-3, ConnectX-3 Pro and Connect-IB as not supported since 5.1. The installer looks for such cards only where it may
update firmware, and the packages of DOCA-OFED don't look.
"""

from __future__ import annotations

import typing as t

from .._errors import Problem
from .._facts._models import model_of
from .._foreign import decimal, part, release
from ._bundle import same_version
from ._installer_options import user_only
from ._vendors import mlnx_version

_DROPPED_IN = (5, 1)
_DROPPED = {"ConnectX3": "ConnectX-3", "ConnectX3Pro": "ConnectX-3 Pro", "ConnectIB": "Connect-IB"}


def _dropped(facts: t.Mapping[str, t.Any]) -> list[str]:
    """The adapters without a driver in new releases that have an InfiniBand link, in words."""
    linked = {port.get("device") for port in facts.get("ports") or () if port.get("link_layer") == "InfiniBand" and port.get("state") != "DOWN"}
    models = {str(hca.get("name")): model_of(decimal(str(hca.get("type") or "")[2:], 0)) for hca in facts.get("hcas") or ()}
    return ["%s (%s)" % (name, _DROPPED[model]) for name, model in sorted(models.items()) if model in _DROPPED and name in linked]


def adapter_problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    """The problem of a release of MLNX_OFED or DOCA-OFED that would leave an adapter with a link without its driver."""
    source, stack = variables.get("ofed_source"), part(facts, "stack")
    version = mlnx_version(variables) if source == "mlnx_ofed" else str(variables.get("ofed_version") or "")
    # What works with an installed release goes on working.
    if stack.get("kind") == source and (not version or same_version(version, str(stack.get("version") or ""))):
        return []
    if source == "mlnx_ofed" and (release(version) < _DROPPED_IN or user_only(str(variables.get("ofed_packages") or ""))):
        return []
    dropped = _dropped(facts or {})
    if not dropped:
        return []
    variable, value = ("ofed_version", version) if source == "mlnx_ofed" else ("ofed_source", source)
    hint = "this node has %s, which would lose its driver: declare ofed_source: inbox for it" % ", ".join(dropped)
    return [Problem(variable, value, "a release of MLNX_OFED before 5.1, or ofed_source: inbox", hint)]
