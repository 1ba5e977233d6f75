# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What may be declared about the RDMA stack, and on which distributions."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import DISTRIBUTIONS, SUPPORTED, WITH_BUNDLES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._input import part, ulp_problems
from ansible_collections.rdma.ofed.plugins.module_utils._reload._openibd import conf_problems
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ofed import VARIABLES
from ansible_collections.rdma.ofed.plugins.module_utils._schema._values import value_problems
from ansible_collections.rdma.ofed.plugins.module_utils._stack._protocol_input import vendor_ulp_problems
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import common_problems, package_problems, vendor_problems

if t.TYPE_CHECKING:
    from collections.abc import Mapping


_PACKAGE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9+._:~=-]*$")


def _version(text: str) -> tuple[int, ...]:
    return tuple(decimal(number, 0) for number in re.findall(r"[0-9]+", text))


def supported(system: Mapping[str, t.Any]) -> bool:
    """Whether the role knows the packages of this distribution. `system` is the fact `os`."""
    known, version = DISTRIBUTIONS.get(str(system.get("id", ""))), _version(str(system.get("version", "")))
    return known is not None and bool(version) and _version(known.first) <= version < _version(known.after)


def served(system: Mapping[str, t.Any]) -> bool:
    """Whether the role takes an untested distribution or release for one of its family, with the stack of the distribution.

    Releases older than those that are known are not served. Releases without a number, such as the testing release of Debian, are.
    """
    known, version = DISTRIBUTIONS.get(str(system.get("id", ""))), _version(str(system.get("version", "")))
    return by_name(system.get("family")) is not None and (known is None or not version or _version(known.first) <= version)


def _os_name(found: Mapping[str, t.Any]) -> str:
    return "%s (ID=%s, VERSION_ID=%s)" % (found.get("name") or "an unknown distribution", found.get("id", ""), found.get("version", ""))


def _unserved(source: t.Any, found: Mapping[str, t.Any]) -> Problem:
    return Problem("ofed_source", source, "a distribution whose packages are known: %s" % SUPPORTED, "the node runs %s" % _os_name(found))


def unknown_distribution(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None) -> list[Problem]:
    """That the node runs a distribution of no known family, or a release that is too old: nothing of the collection is for it, whatever is declared."""
    found = part(facts, "os")
    return [_unserved(variables.get("ofed_source", "inbox"), found)] if found and not supported(found) and not served(found) else []


def _os_problems(source: t.Any, facts: Mapping[str, t.Any] | None) -> list[Problem]:
    found = part(facts, "os")
    if not found or (source == "inbox" and (supported(found) or served(found))):
        return []
    if supported(found) and DISTRIBUTIONS[str(found["id"])].bundle:
        return []
    if served(found):
        return [Problem("ofed_source", source, "inbox", "the node runs %s; stacks of vendors are for %s" % (_os_name(found), WITH_BUNDLES))]
    return [_unserved(source, found)]


def distribution_notes(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None) -> list[str]:
    """A warning about a distribution that is served and was never tested."""
    found = part(facts, "os")
    if variables.get("ofed_source", "inbox") != "inbox" or supported(found) or not served(found):
        return []
    return ["%s was not tested. It gets the packages of the family %s. Listed are %s" % (_os_name(found), found.get("family"), SUPPORTED)]


def _driver_problems(variables: Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the variables about the driver in the kernel."""
    conf = variables.get("ofed_openib_conf")
    if conf and variables.get("ofed_source", "inbox") == "inbox":
        return [Problem("ofed_openib_conf", conf, "nothing with ofed_source: inbox", "the distribution's stack has no openibd")]
    return conf_problems("ofed_openib_conf", conf)


def problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Everything that is wrong with the variables of the role ofed, and with the distribution if the facts are there."""
    found = value_problems(VARIABLES, variables)
    extra = variables.get("ofed_extra_packages", [])
    found += package_problems("ofed_extra_packages", extra, form=_PACKAGE, allowed="the name of a package of the distribution")
    found += common_problems(variables)
    found += _driver_problems(variables)
    found += ulp_problems(variables, facts)
    source = variables.get("ofed_source", "inbox")
    if source == "inbox" and variables.get("ofed_version"):
        hint = "the distribution has one version; name packages with their versions in ofed_extra_packages"
        found.append(Problem("ofed_version", variables["ofed_version"], "no version with ofed_source: inbox", hint))
    # What is removed is found on the node: nothing has to be declared for it.
    if source in ("mlnx_ofed", "doca") and variables.get("ofed_state", "present") != "absent":
        found += vendor_problems(variables, facts) + vendor_ulp_problems(variables, str(part(facts, "os").get("family", "")))
    # A stack of a vendor that is there can go on any of them.
    return found + _os_problems("inbox" if variables.get("ofed_state") == "absent" else source, facts)
