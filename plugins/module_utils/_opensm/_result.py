# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of the module. Pure."""

from __future__ import annotations

import typing as t

from . import _words
from ._conf import CONF, without_secrets
from ._found import PACKAGE

if t.TYPE_CHECKING:
    from .._finding import Finding
    from .._plan import Plan
    from ._unit import Instance


def result(
    planned: Plan,
    *,
    reasons: t.Sequence[str] = (),
    fabrics: t.Sequence[t.Mapping[str, t.Any]] = (),
    recorded: t.Collection[str] = (),
    instances: t.Sequence[Instance] = (),
    deviations: t.Sequence[Finding] = (),
) -> dict[str, t.Any]:
    """The result of the module, without secrets; opensm.conf is reduced to what is declared or changes. `recorded`: the record of the role.

    `deviations`: where the subnet managers did not apply their files as declared.
    """
    declared = {instance.path(CONF): tuple(instance.values()) for instance in instances}
    return {
        **without_secrets(planned, declared).result(reasons=[*reasons, *map(_words.sentence, deviations)]),
        "package_recorded": PACKAGE in recorded,
        "fabrics": list(fabrics),
        "deviations": list(map(_words.row, deviations)),
    }
