# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rest of the collection may ask of this concern. Pure.

A host that runs subnet managers has to ask the live fabric, so the module always runs there. Of all others, a look tells whether
there is anything to do. Where a refusal depends on the fabric, `asks` says so, and the module runs in check mode before the first change, too.
"""

from __future__ import annotations

import typing as t
from types import MappingProxyType

from .._errors import RdmaError, Refused
from .._foreign import is_true
from . import _words
from ._conf import CONF, without_secrets
from ._found import PACKAGE, Found
from ._master import Known
from ._placement import RESTING, Place
from ._places import fabric_of, unit_name
from ._plan import plan, require_consent
from ._predecessor import inherit
from ._unit import Instance
from ._wanted import Wanted, read_wanted

if t.TYPE_CHECKING:
    from .._finding import Finding
    from .._plan import Plan


def result(
    planned: Plan,
    *,
    reasons: t.Sequence[str] = (),
    fabrics: t.Sequence[t.Mapping[str, t.Any]] = (),
    recorded: t.Collection[str] = (),
    instances: t.Sequence[Instance] = (),
    deviations: t.Sequence[Finding] = (),
) -> dict[str, t.Any]:
    """The result of the module. It shows no secrets, and of opensm.conf what is declared or changes. `recorded`: what the role is on record for.

    `deviations`: what the subnet managers made of their files, and not as declared.
    """
    declared = {instance.path(CONF): tuple(instance.values()) for instance in instances}
    return {
        **without_secrets(planned, declared).result(reasons=[*reasons, *map(_words.sentence, deviations)]),
        "package_recorded": PACKAGE in recorded,
        "fabrics": list(fabrics),
        "deviations": list(map(_words.row, deviations)),
    }


def foreseen(
    found: Found,
    variables: t.Mapping[str, t.Any],
    *,
    manages: t.Collection[str],
    declared: t.Callable[[], t.Mapping[str, t.Any]],
    guids: t.Mapping[str, t.Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """What the module would refuse on a host, as far as a look tells, in words. `found` may be `Found.public()`.

    `variables` are those of the host, without problems; `manages` the fabrics whose subnet manager it runs; `declared` gives what `declared_for` returns;
    `guids` are those of the ports of the host by fabric, where it has several.
    """
    if variables.get("opensm_state", "present") != "present" or not (found.predecessors or found.fabrics or found.unmaskable):
        return []

    site = declared()

    def instance(fabric: str) -> Instance:
        elsewhere = frozenset(guid for other, own in guids.items() if other != fabric for guid in own)
        port = next(iter(guids.get(fabric, ())), "")
        return Instance(fabric, port, 0, partitions=site["partitions"].get(fabric, ""), known=Known(elsewhere=elsewhere))

    wanted = Wanted(
        tuple(map(instance, manages)),
        declared=frozenset(site["keys"]),
        partitions="\n".join(site["partitions"].values()),
        give_up=frozenset(variables.get("opensm_give_up") or ()),
        adopt=is_true(variables.get("opensm_adopt")),
        allow_removal=is_true(variables.get("rdma_allow_removal")),
    )
    refused = []
    for check in (found.require_maskable, lambda: require_consent(inherit(wanted, found), found)):
        try:
            check()
        except Refused as exc:
            refused.append(exc.msg)
    return refused


def asks(found: Found, variables: t.Mapping[str, t.Any], *, host: str, places: t.Sequence[Place]) -> bool:
    """Whether the live fabric decides about a refusal, so that it is asked before the first change: a subnet manager of the host starts, or the only
    one of the site ends. `found` may be `Found.public()`.
    """
    state = variables.get("opensm_state", "present")
    if state == "present":
        units = [unit_name(place.fabric) for place in places if place.role != RESTING]
        return any(unit not in found.running or unit in found.replaced for unit in units)
    # One that another host of the inventory is designated for gets its successor in this run.
    followed = any(place.designated not in ("", host) for place in places)
    return state == "absent" and not followed and not is_true(variables.get("rdma_allow_removal")) and any(map(fabric_of, found.running))


def unchanged(options: t.Mapping[str, t.Any], found: Found) -> dict[str, t.Any] | None:
    """The complete result of the module with these options; None where the module has to run on the host.

    It need not where no instance is wanted and nothing has to change. `found` may be `Found.public()`.
    """
    if options["state"] != "absent" and (options["state"], options["instances"]) != ("present", []):
        return None
    try:
        wanted = read_wanted(options)
    except RdmaError:
        # The module reports it.
        return None
    planned = plan(wanted, found)
    if planned or (wanted.present and found.unmaskable):
        return None
    return result(planned, reasons=found.left_alone if wanted.present else (), recorded=found.recorded)
