# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What may be declared about upper-layer protocols, and which stack has which of them. Pure."""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import EXTRA_MODULES
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name, packages_by_family
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import is_version, parse_name, release
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import names_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._openibd import value_text
from ansible_collections.rdma.ofed.plugins.module_utils._stack._ulps import ALIASES, GONE, NAMES, PROTOCOLS, TARGETS, VENDORS, Protocol

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Family

VARIABLE = "ofed_ulps"
# The installer's sets with the user space of the stack, and those with the modules of SRP and iSER.
_WITH_USER_SPACE = ("all", "basic", "bluefield", "guest", "hpc", "hypervisor", "user-space-only", "vma", "vma-vpi", "xlio")
_WITH_MODULES = ("all", "basic", "guest", "hpc", "hypervisor", "kernel-only", "vma", "vma-vpi")
# The first release whose installer offers NFS over RDMA.
_NFSRDMA_SINCE = (5, 0)


def _part(facts: Mapping[str, t.Any] | None, name: str) -> Mapping[str, t.Any]:
    found = facts.get(name) if isinstance(facts, dict) else None
    return found if isinstance(found, dict) else {}


def _name_problem(where: str, name: t.Any) -> Problem | None:
    if isinstance(name, str) and name in NAMES:
        return None
    allowed = ", ".join(NAMES)
    if not isinstance(name, str):
        return Problem(where, name, allowed)
    low = name.lower()
    if low in GONE:
        return Problem(where, name, allowed, GONE[low])
    if low in TARGETS:
        return Problem(
            where,
            name,
            allowed,
            "these are the initiators; what serves storage to others is configured by itself, and its module is loaded with kernel_modules_load",
        )
    near = [ALIASES[low]] if low in ALIASES else difflib.get_close_matches(low, NAMES, 1, 0.6)
    return Problem(where, name, allowed, "did you mean %s?" % near[0] if near else "")


def _name_problems(value: t.Any) -> list[Problem]:
    if not isinstance(value, (list, tuple)):
        return [Problem(VARIABLE, value, "a list of names out of %s" % ", ".join(NAMES))]
    found = [_name_problem("%s[%d]" % (VARIABLE, index), name) for index, name in enumerate(value)]
    twice = [index for index, name in enumerate(value) if name in value[:index]]
    found += [Problem("%s[%d]" % (VARIABLE, index), value[index], "each name once") for index in twice]
    return [problem for problem in found if problem]


def _inbox_problems(protocol: Protocol, facts: Mapping[str, t.Any] | None) -> list[Problem]:
    """Does the running kernel have the modules? What the facts don't tell is judged on the node."""
    kernels = _part(facts, "kernels").get("installed")
    running = [kernel for kernel in kernels if isinstance(kernel, dict) and kernel.get("running")] if isinstance(kernels, list) else []
    known = running[0].get("modules") if running else None
    lacking = [module for module in protocol.modules if isinstance(known, dict) and known.get(module) is False]
    if not lacking:
        return []
    hint = "kernel %s is without %s; a kernel or a package of its modules that has it must be there first (%s); or take %s out of ofed_ulps"
    words = hint % (running[0].get("release", ""), ", ".join(lacking), packages_by_family(EXTRA_MODULES), protocol.name)
    return [Problem(VARIABLE, protocol.name, "protocols that the running kernel has modules for", words)]


def _with(protocol: Protocol, names: t.Iterable[str]) -> str:
    return "%s with ofed_installer_options: [%s]" % (protocol.name, ", ".join("--with-" + name for name in names))


def _lacking(protocol: Protocol, chosen: str, family: Family, options: t.Collection[str]) -> list[str]:
    """The packages of the vendor that the set is without, unless an option adds them."""
    needed: list[str] = []
    if chosen not in _WITH_USER_SPACE:
        needed += protocol.stack_packages[family.name]
    if protocol.kernel and not protocol.option and chosen not in _WITH_MODULES:
        needed.append(protocol.kernel + ("-dkms" if family.by_dkms else ""))
    return [name for name in needed if "--with-" + name not in options]


def _excluded(protocol: Protocol, options: t.Collection[str]) -> list[str]:
    """The options that take a package of the protocol out of the set."""
    names = [name for packages in protocol.stack_packages.values() for name in packages]
    names += [protocol.kernel + suffix for suffix in ("", "-dkms", "-modules")] if protocol.kernel else []
    return sorted({"--without-" + name for name in names} & set(options))


def _installer_problems(protocol: Protocol, variables: Mapping[str, t.Any], family: Family | None) -> list[Problem]:
    declared = variables.get("ofed_installer_options") or ()
    words = [option for option in declared if isinstance(option, str)] if isinstance(declared, (list, tuple)) else []
    options = names_of(words)
    version = variables.get("ofed_version") or parse_name(str(variables.get("ofed_bundle") or "")).version
    if protocol.name == "nfsrdma" and isinstance(version, str) and is_version(version) and release(version) < _NFSRDMA_SINCE:
        return [Problem(VARIABLE, protocol.name, "with MLNX_OFED 5.0 and later", "%s has no NFS over RDMA; mount with proto=tcp over IPoIB" % version)]
    excluded = _excluded(protocol, options) + (["--without-nfsrdma"] if protocol.name == "nfsrdma" and "--without-nfsrdma" in options else [])
    if excluded:
        return [Problem(VARIABLE, protocol.name, "without %s in ofed_installer_options" % ", ".join(excluded), "the two contradict each other")]
    if protocol.option and protocol.option not in options:
        hint = "without it the installer puts an empty module in the place of %s; where the stack is installed already, it is installed anew"
        return [Problem(VARIABLE, protocol.name, "with ofed_installer_options: [%s]" % protocol.option, hint % ", ".join(protocol.modules))]
    chosen = variables.get("ofed_packages") or "all"
    lacking = _lacking(protocol, chosen, family, options) if isinstance(chosen, str) and family else []
    return [Problem(VARIABLE, protocol.name, _with(protocol, lacking), "the set %s is without them" % chosen)] if lacking else []


def _vendor_problems(protocol: Protocol, variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None) -> list[Problem]:
    source = str(variables["ofed_source"])
    if not protocol.kernel and protocol.modules:
        hint = "%s does not support it, and the kernel's own module does not fit the vendor's driver; with ofed_source: inbox it can be had"
        return [Problem(VARIABLE, protocol.name, "protocols of the stack", hint % source)]
    options = variables.get("ofed_installer_options")
    only_user_space = variables.get("ofed_packages") == "user-space-only" or (isinstance(options, (list, tuple)) and "--user-space-only" in options)
    if only_user_space and protocol.modules:
        return [Problem(VARIABLE, protocol.name, "a set of packages with kernel modules", "user-space-only is without %s" % ", ".join(protocol.modules))]
    if source == "mlnx_ofed" and variables.get("ofed_method", "installer") == "installer":
        return _installer_problems(protocol, variables, by_name(_part(facts, "os").get("family")))
    return []


def _conf_problems(protocol: Protocol, variables: Mapping[str, t.Any]) -> list[Problem]:
    conf = variables.get("ofed_openib_conf")
    if not isinstance(conf, dict):
        return []
    return [
        Problem("ofed_openib_conf.%s" % key, conf[key], value, "%s is in ofed_ulps" % protocol.name)
        for key, value in protocol.conf.items()
        if key in conf and value_text(conf[key]) != value
    ]


def ulp_problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Everything that is wrong with the declared protocols."""
    value = variables.get(VARIABLE)
    if value is None:
        return []
    found = _name_problems(value)
    if found or not value or variables.get("ofed_state", "present") == "absent":
        return found
    if _part(facts, "machine").get("systemd") is False:
        found.append(Problem(VARIABLE, list(value), "nothing on a node without systemd", "their services are units of systemd"))
    source = variables.get("ofed_source", "inbox")
    for name in value:
        if source == "inbox":
            found += _inbox_problems(PROTOCOLS[name], facts)
        elif isinstance(source, str) and source in VENDORS:
            found += _vendor_problems(PROTOCOLS[name], variables, facts) + _conf_problems(PROTOCOLS[name], variables)
    return found
