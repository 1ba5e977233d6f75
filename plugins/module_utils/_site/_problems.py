# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the variables of one host for all concerns. Pure."""

from __future__ import annotations

import re
import typing as t

from .. import _accepted
from .._check._input import port_problems
from .._check._words import FORMS as NODE_FORMS
from .._concern import IMAGE, Subject
from .._concerns._registry import CONCERNS, SITE, TABLES
from .._errors import Problem
from .._fabric._words import COUNTER_FORMS
from .._fabric._words import FORMS as FABRIC_FORMS
from .._facts import _rails as rails
from .._foreign import decimal, is_true, part
from .._schema._values import value_problems
from ._names import misspelt, own_problems, unknown

if t.TYPE_CHECKING:
    from collections.abc import Mapping

# A number with more digits is no number of hosts, and Python refuses to parse very long ones.
_BATCH = re.compile(r"^([0-9]{1,9})(%?)\Z")
# The codes of findings that are about hosts of the inventory only. Others may be about a switch, which the inventory does not have.
_OF_HOSTS = frozenset(code.value for code in NODE_FORMS if code not in FABRIC_FORMS and code not in COUNTER_FORMS)


def _is_batch(value: t.Any) -> bool:
    """Whether it is a percentage or a number of hosts. Values from the command line are text."""
    if isinstance(value, str):
        match = _BATCH.match(value)
        return match is not None and 1 <= decimal(match[1], 0) <= (100 if match[2] else 10**9)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def serial_problems(variables: Mapping[str, t.Any]) -> list[Problem]:
    """Problems of `serial` values that Ansible would reject only in the middle of a run, or never."""
    value = variables.get("rdma_serial", 1)
    batches = value if isinstance(value, (list, tuple)) else [value]
    if batches and all(_is_batch(batch) for batch in batches):
        return []
    return [Problem("rdma_serial", value, "a number of hosts from 1 on, a percentage from 1% to 100%, or a list of these")]


def _site_problems(variables: Mapping[str, t.Any]) -> list[Problem]:
    """Problems of site variables, including consents: a value that is no boolean must not count as consent."""
    accepted = _accepted.problems("rdma_accepted", variables["rdma_accepted"]) if "rdma_accepted" in variables else []
    return [*value_problems(TABLES[SITE], variables), *accepted]


def host_notes(subject: Subject) -> list[str]:
    """What is unusual about the host, in words."""
    if part(subject.facts or {}, "machine").get("kind") != "chroot" or is_true(subject.variables.get(IMAGE)):
        return []
    return ["%s is a chroot, whose kernel and adapters are those of another system: if it is the tree of an image, set rdma_image: true" % subject.host]


def site_notes(subject: Subject) -> list[str]:
    """What may be wrong with the variables of the site, in words. It is read from one host: a list of all hosts is searched."""
    return _accepted.gone("rdma_accepted", subject.variables.get("rdma_accepted"), subject.groups.get("all", ()), codes=_OF_HOSTS)


def playbook_problems(variables: Mapping[str, t.Any], playbook: str) -> list[Problem]:
    """Problems of the variables of a playbook that uses no role."""
    found = {problem.variable: problem for problem in (*misspelt(variables, playbook + "_"), *unknown(variables))}
    return [*found.values(), *_site_problems(variables)]


def host_problems(subject: Subject, parts: Mapping[str, t.Any]) -> list[Problem]:
    """Problems of a host's variables, on their own and, with `rdma` facts, on that host. `parts`: the results of the surveys."""
    variables, facts = subject.variables, subject.facts
    found = [*own_problems(variables), *unknown(variables)]
    if "rdma_ports" in variables:
        found += port_problems("rdma_ports", variables["rdma_ports"], facts, declared=variables.get(rails.VARIABLE))
    found += rails.problems(variables.get(rails.VARIABLE))
    for name, concern in CONCERNS.items():
        found += concern.problems(subject._replace(part=parts.get(name)))
    found += [*serial_problems(variables), *_site_problems(variables)]
    # Several concerns read a variable such as fabric: report each problem once.
    return list({str(problem): problem for problem in found}.values())


def node_problems(subject: Subject, parts: Mapping[str, t.Any]) -> dict[str, list[Problem]]:
    """Problems that concern only the node, by role. Its variables are valid on their own."""
    bare = _driver_comes(subject.facts or {})
    judging = {name: concern for name, concern in CONCERNS.items() if not concern.reports and not (bare and concern.of_ports)}
    found = {name: list(concern.problems(subject._replace(part=parts.get(name)))) for name, concern in judging.items()}
    return {role: problems for role, problems in found.items() if problems}


def _driver_comes(facts: Mapping[str, t.Any]) -> bool:
    """Whether a node has no port because its driver is yet to be installed or loaded: a bare node, or an image build."""
    if facts.get("ports"):
        return False
    bare = (facts.get("stack") or {}).get("kind") == "none" or (facts.get("machine") or {}).get("kind") in ("chroot", "container")
    return bare or bool(facts.get("adapters"))
