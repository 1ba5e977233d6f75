# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate what is declared about the RDMA stack and its upper-layer protocols for a distribution, and tell whether a node already has it. Pure."""

from __future__ import annotations

import re
import typing as t

from .._distro._registry import DISTRIBUTIONS, SUPPORTED, WITH_BUNDLES, by_name, due
from .._distro._registry import names_of as package_names
from .._errors import Problem
from .._foreign import decimal, is_true, part, release
from .._protocols._catalogue import PROTOCOLS, Protocol
from .._protocols._input import VARIABLE, name_problems, ulp_problems
from .._schema._ofed import VARIABLES
from .._schema._values import timeout_problems, value_problems
from .._tools._openibd import conf_problems, value_text
from ._adapters import adapter_problems
from ._installer_options import names_of, user_only
from ._package_names import PACKAGE_NAME
from ._vendors import Platform, mlnx_version, package_problems, platform_of, source_problems, vendor_problems

if t.TYPE_CHECKING:
    from .._distro._family import Family

_PACKAGE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9+._:~=-]*$")
# The installer's sets with the user space of the stack, and those with the modules of SRP and iSER.
_WITH_USER_SPACE = ("all", "basic", "bluefield", "guest", "hpc", "hypervisor", "vma", "vma-vpi", "xlio")
_WITH_MODULES = ("all", "basic", "guest", "hpc", "hypervisor", "kernel-only", "vma", "vma-vpi")
# The first release whose installer offers NFS over RDMA.
_NFSRDMA_SINCE = (4, 9)


def _version(text: str) -> tuple[int, ...]:
    return tuple(decimal(number, 0) for number in re.findall(r"[0-9]+", text))


def supported(system: t.Mapping[str, t.Any]) -> bool:
    """Whether the role knows the packages of this distribution. `system`: the fact `os`."""
    known, version = DISTRIBUTIONS.get(str(system.get("id", ""))), _version(str(system.get("version", "")))
    return known is not None and bool(version) and _version(known.first) <= version < _version(known.after)


def served(system: t.Mapping[str, t.Any]) -> bool:
    """Whether the role treats an untested distribution or release as one of its family, with the distribution's own stack.

    Releases older than the known ones are not served. Releases without a number, such as Debian testing, are.
    """
    known, version = DISTRIBUTIONS.get(str(system.get("id", ""))), _version(str(system.get("version", "")))
    return by_name(system.get("family")) is not None and (known is None or not version or _version(known.first) <= version)


def _os_name(found: t.Mapping[str, t.Any]) -> str:
    return "%s (ID=%s, VERSION_ID=%s)" % (found.get("name") or "an unknown distribution", found.get("id", ""), found.get("version", ""))


def _unserved(source: t.Any, found: t.Mapping[str, t.Any]) -> Problem:
    return Problem("ofed_source", source, "a distribution whose packages are known: %s" % SUPPORTED, "the node runs %s" % _os_name(found))


def unknown_distribution(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    """The problem of a node with an unknown family or a release that is too old: the collection does not support it, whatever is declared."""
    found = part(facts, "os")
    return [_unserved(variables.get("ofed_source", "inbox"), found)] if found and not supported(found) and not served(found) else []


def _os_problems(source: t.Any, facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    found = part(facts, "os")
    if not found or (source == "inbox" and (supported(found) or served(found))):
        return []
    if supported(found) and DISTRIBUTIONS[str(found["id"])].bundle:
        return []
    if served(found):
        return [Problem("ofed_source", source, "inbox", "the node runs %s; stacks of vendors are for %s" % (_os_name(found), WITH_BUNDLES))]
    return [_unserved(source, found)]


def distribution_notes(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[str]:
    """A warning about a distribution that is served but was never tested."""
    found = part(facts, "os")
    if variables.get("ofed_source", "inbox") != "inbox" or supported(found) or not served(found):
        return []
    return ["%s was not tested. It gets the packages of the family %s. Listed are %s" % (_os_name(found), found.get("family"), SUPPORTED)]


def _lacking(protocol: Protocol, *, chosen: str, family: Family, options: t.Collection[str]) -> list[str]:
    """The vendor's packages that the set lacks and no option adds."""
    needed: list[str] = []
    if (user_only(chosen) or chosen) not in _WITH_USER_SPACE:
        needed += protocol.stack_packages[family.name]
    if protocol.kernel and not protocol.option and chosen not in _WITH_MODULES:
        needed.append(protocol.kernel + ("-dkms" if family.by_dkms else ""))
    return [name for name in needed if "--with-" + name not in options]


def _excluded(protocol: Protocol, options: t.Collection[str]) -> list[str]:
    """The options that remove a package of the protocol from the set."""
    names = [name for packages in protocol.stack_packages.values() for name in packages]
    names += [protocol.kernel + suffix for suffix in ("", "-dkms", "-modules")] if protocol.kernel else []
    return sorted({"--without-" + name for name in names} & set(options))


def _installer_problems(protocol: Protocol, variables: t.Mapping[str, t.Any], family: Family | None) -> list[Problem]:
    declared = variables.get("ofed_installer_options") or ()
    words = [option for option in declared if isinstance(option, str)] if isinstance(declared, (list, tuple)) else []
    options = names_of(words)
    version = mlnx_version(variables)
    if protocol.name == "nfsrdma" and version and release(version) < _NFSRDMA_SINCE:
        return [Problem(VARIABLE, protocol.name, "with MLNX_OFED 4.9 and later", "%s has no NFS over RDMA; mount with proto=tcp over IPoIB" % version)]
    excluded = _excluded(protocol, options) + (["--without-nfsrdma"] if protocol.name == "nfsrdma" and "--without-nfsrdma" in options else [])
    if excluded:
        return [Problem(VARIABLE, protocol.name, "without %s in ofed_installer_options" % ", ".join(excluded), "the two contradict each other")]
    if protocol.option and protocol.option not in options:
        hint = "without it, the installer replaces %s with an empty module; if the stack is already installed, it is installed again"
        return [Problem(VARIABLE, protocol.name, "with ofed_installer_options: [%s]" % protocol.option, hint % ", ".join(protocol.modules))]
    chosen = variables.get("ofed_packages") or "all"
    lacking = _lacking(protocol, chosen=chosen, family=family, options=options) if isinstance(chosen, str) and family else []
    allowed = "%s with ofed_installer_options: [%s]" % (protocol.name, ", ".join("--with-" + name for name in lacking))
    return [Problem(VARIABLE, protocol.name, allowed, "the set %s is without them" % chosen)] if lacking else []


def _protocol_problems(protocol: Protocol, variables: t.Mapping[str, t.Any], platform: Platform) -> list[Problem]:
    source = str(variables["ofed_source"])
    if not protocol.kernel and protocol.modules:
        hint = "%s does not support it, and the kernel's own module does not match the vendor's driver; ofed_source: inbox supports it"
        return [Problem(VARIABLE, protocol.name, "protocols of the stack", hint % source)]
    chosen = variables.get("ofed_packages")
    if isinstance(chosen, str) and user_only(chosen) and protocol.modules:
        return [Problem(VARIABLE, protocol.name, "a set of packages with kernel modules", "%s is without %s" % (chosen, ", ".join(protocol.modules)))]
    if source == "mlnx_ofed" and variables.get("ofed_method", "installer") == "installer":
        return _installer_problems(protocol, variables, platform.family)
    return []


def _conf_problems(protocol: Protocol, variables: t.Mapping[str, t.Any]) -> list[Problem]:
    conf = variables.get("ofed_openib_conf")
    if not isinstance(conf, dict):
        return []
    return [
        Problem("ofed_openib_conf.%s" % key, conf[key], value, "%s is in ofed_ulps" % protocol.name)
        for key, value in protocol.conf.items()
        if key in conf and value_text(conf[key]) != value
    ]


def vendor_ulp_problems(variables: t.Mapping[str, t.Any], platform: Platform) -> list[Problem]:
    """Problems of the declared protocols where a vendor's stack is to be installed."""
    value = variables.get(VARIABLE) or ()
    if name_problems(value):
        return []
    protocols = [PROTOCOLS[name] for name in value]
    return [problem for protocol in protocols for problem in (*_protocol_problems(protocol, variables, platform), *_conf_problems(protocol, variables))]


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """All problems of the variables of the role ofed and, with facts, of the distribution."""
    found = value_problems(VARIABLES, variables)
    extra = variables.get("ofed_extra_packages", [])
    found += package_problems("ofed_extra_packages", extra, form=_PACKAGE, allowed="the name of a package of the distribution")
    if variables.get("ofed_allow_removal") is not None:
        found += package_problems("ofed_allow_removal", variables["ofed_allow_removal"], form=PACKAGE_NAME, allowed="the name of a package")
    tasks = variables.get("ofed_rebuild_tasks")
    if isinstance(tasks, str) and tasks and not tasks.startswith("/"):
        # A relative path would be resolved in the folders of the collection.
        found.append(Problem("ofed_rebuild_tasks", tasks, "the absolute path of a file of tasks on the controller"))
    found += timeout_problems("ofed_timeout", variables.get("ofed_timeout", 7200))
    source, conf = variables.get("ofed_source", "inbox"), variables.get("ofed_openib_conf")
    if conf and source == "inbox":
        found.append(Problem("ofed_openib_conf", conf, "nothing with ofed_source: inbox", "the distribution's stack has no openibd"))
    else:
        found += conf_problems("ofed_openib_conf", conf)
    found += ulp_problems(variables, facts)
    if source == "inbox" and variables.get("ofed_version"):
        hint = "the distribution has one version; list packages with their versions in ofed_extra_packages"
        found.append(Problem("ofed_version", variables["ofed_version"], "no version with ofed_source: inbox", hint))
    # What is to be removed is found on the node and need not be declared.
    if source in ("mlnx_ofed", "doca") and variables.get("ofed_state", "present") != "absent":
        platform = platform_of(facts)
        found += vendor_problems(variables, platform) + source_problems(variables, facts) + vendor_ulp_problems(variables, platform)
        found += adapter_problems(variables, facts)
    # A vendor's stack can be removed on any distribution.
    return found + _os_problems("inbox" if variables.get("ofed_state") == "absent" else source, facts)


def settled(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any], installed: t.Mapping[str, str] | None) -> bool:
    """Whether the role ofed certainly has nothing to do on a node: it has its distribution's stack, as declared, and nothing from a vendor.

    `variables`: those of the host, already validated. `facts`: its `rdma` facts. `installed`: the packages that the look found, with versions.
    """
    wanted = {**{name: entry["default"] for name, entry in VARIABLES.items()}, **variables}
    stack, machine = facts.get("stack") or {}, facts.get("machine") or {}
    family = by_name((facts.get("os") or {}).get("family"))
    if family is None or (wanted["ofed_state"], wanted["ofed_source"], stack.get("kind")) != ("present", "inbox", "inbox"):
        return False
    if stack.get("protected") or stack.get("ulps") or stack.get("third_party") or wanted["ofed_ulps"] or part(facts, "kernels").get("dkms_order_due"):
        return False
    if machine.get("kind") != "container" and any(module.get("differs") for module in facts.get("modules") or ()):
        return False
    purposes = ["core", "tools"] if is_true(wanted["ofed_tools"]) else ["core"]
    return not due(package_names(family, purposes, wanted["ofed_extra_packages"]), "present", installed)
