# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of this concern to the rest of the collection. Pure.

On a host that runs subnet managers the module always runs, because it has to query the live fabric. On all other hosts a look tells whether
anything has to change. Where a refusal depends on the fabric, `asks` returns True and the module also runs in check mode before the first change.
"""

from __future__ import annotations

import typing as t
from types import MappingProxyType

from .._concern import FABRIC, Concern, Subject
from .._errors import Problem, RdmaError, Refused
from .._foreign import is_true
from .._plain import plain
from .._schema._opensm import OPTIONS, VARIABLES
from ._data import declared_for
from ._discovery import DISCOVERY
from ._fabrics import fabrics_of
from ._found import Found
from ._input import problems
from ._master import Known
from ._options import SECRET
from ._partitions._input import port_guids
from ._placement import GROUP, MASTER, RESTING, Place
from ._places import fabric_of, unit_name
from ._plan import plan, require_consent
from ._predecessor import inherit
from ._result import result
from ._survey import Placement, survey
from ._unit import Instance
from ._wanted import Wanted, read_wanted


def foreseen(
    found: Found,
    variables: t.Mapping[str, t.Any],
    *,
    manages: t.Collection[str],
    declared: t.Callable[[], t.Mapping[str, t.Any]],
    guids: t.Mapping[str, t.Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """What the module would refuse on a host, in words, as far as a look can tell. `found` may be `Found.public()`.

    `variables`: the variables of the host, already validated. `manages`: the fabrics whose subnet manager this host runs. `declared`: returns the
    result of `declared_for`. `guids`: the host's port GUIDs by fabric, for a host on several fabrics.
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
    """Whether a refusal depends on the live fabric, so that the fabric is queried before the first change: either a subnet manager of the host is
    about to start, or the only subnet manager of the site is about to stop. `found` may be `Found.public()`.
    """
    state = variables.get("opensm_state", "present")
    if state == "present":
        units = [unit_name(place.fabric) for place in places if place.role != RESTING]
        return any(unit not in found.running or unit in found.replaced for unit in units)
    # If another host of the inventory is designated for the fabric, its subnet manager takes over in this run.
    followed = any(place.designated not in ("", host) for place in places)
    return state == "absent" and not followed and not is_true(variables.get("rdma_allow_removal")) and any(map(fabric_of, found.running))


def unchanged(options: t.Mapping[str, t.Any], found: Found) -> dict[str, t.Any] | None:
    """The complete result of the module with these options; None where the module has to run on the host.

    The module need not run where no instance is wanted and nothing has to change. `found` may be `Found.public()`.
    """
    if options["state"] != "absent" and (options["state"], options["instances"]) != ("present", []):
        return None
    try:
        wanted = read_wanted(options)
    except RdmaError:
        # The module reports the error.
        return None
    planned = plan(wanted, found)
    if planned or (wanted.present and found.unmaskable):
        return None
    return result(planned, reasons=found.left_alone if wanted.present else (), recorded=found.recorded)


def _problems(subject: Subject) -> list[Problem]:
    # A host needs an InfiniBand port only if it manages a fabric.
    return problems(subject.variables, subject.facts, subject.part.part != RESTING)


def _refusals(subject: Subject) -> list[str]:
    place: Placement = subject.part
    return foreseen(
        subject.found,
        subject.variables,
        manages=[each.fabric for each in place.places if each.role != RESTING],
        # The designated host carries the declarations of a fabric.
        declared=lambda: plain(declared_for(subject.host, subject.hostvars, place.election.designated)),
        guids={each.fabric: port_guids({}, subject.facts, each.ports) for each in place.places if each.ports},
    )


def _published(subject: Subject) -> dict[str, t.Any]:
    place: Placement = subject.part
    fabrics = {each.fabric for each in place.places}
    return {
        "fabric": place.first.fabric,
        "designated_host": place.first.designated,
        "designated": place.part == MASTER,
        "opensm": place.part,
        "opensm_standby": is_true(subject.variables.get("opensm_standby", False)),
        # In takeover order.
        "managers": {fabric: list(hosts) for fabric, hosts in place.election.positions.items() if fabric in fabrics},
        "designated_hosts": {each.fabric: each.designated for each in place.places if each.designated},
    }


def _foreseen(subject: Subject) -> dict[str, bool]:
    known = subject.found is not None
    return {"ask_fabric": known and asks(subject.found, subject.variables, host=subject.host, places=subject.part.places)}


def _settled(subject: Subject) -> bool:
    found: Found | None = subject.found
    place: Placement = subject.part
    variables = subject.variables
    state = variables.get("opensm_state", "present")
    if state != "present" or place.part != RESTING or found is None:
        return bool(state == "unmanaged")
    # Where something of a subnet manager is there, what the site declares for its fabrics decides.
    if found.predecessors or found.fabrics or found.unmaskable or found.left_alone:
        return False
    return not plan(Wanted((), give_up=frozenset(variables.get("opensm_give_up") or ()), adopt=is_true(variables.get("opensm_adopt"))), found)


def _lacks(subject: Subject) -> str:
    runs = subject.host in subject.groups.get(GROUP, ())
    return FABRIC if runs and subject.variables.get("opensm_state", "present") == "present" else ""


CONCERN = Concern(
    "opensm",
    VARIABLES,
    needs=("ofed", "kernel_modules"),
    problems=_problems,
    of_ports=True,
    lacks=_lacks,
    secrets=SECRET,
    networks=lambda subject: sorted(fabrics_of(subject.variables)),
    survey=survey,
    published=_published,
    hints=lambda subject: {"manages": subject.host in subject.groups.get(GROUP, ())},
    seen=Found,
    refusals=_refusals,
    foreseen=_foreseen,
    options=OPTIONS,
    elsewhere={"restore": "rdma_restore", "image": "rdma_image"},
    unchanged=unchanged,
    discovery=DISCOVERY,
    settled=_settled,
)
