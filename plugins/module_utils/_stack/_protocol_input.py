# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which upper-layer protocols a vendor's stack has, as far as the declaration tells. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._catalogue import PROTOCOLS, Protocol
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._input import VARIABLE, name_problems
from ansible_collections.rdma.ofed.plugins.module_utils._reload._openibd import value_text
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import release
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import names_of, user_only
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import mlnx_version

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Family

# The installer's sets with the user space of the stack, and those with the modules of SRP and iSER.
_WITH_USER_SPACE = ("all", "basic", "bluefield", "guest", "hpc", "hypervisor", "vma", "vma-vpi", "xlio")
_WITH_MODULES = ("all", "basic", "guest", "hpc", "hypervisor", "kernel-only", "vma", "vma-vpi")
# The first release whose installer offers NFS over RDMA.
_NFSRDMA_SINCE = (4, 9)


def _with(protocol: Protocol, names: t.Iterable[str]) -> str:
    return "%s with ofed_installer_options: [%s]" % (protocol.name, ", ".join("--with-" + name for name in names))


def _lacking(protocol: Protocol, *, chosen: str, family: Family, options: t.Collection[str]) -> list[str]:
    """The packages of the vendor that the set is without, unless an option adds them."""
    needed: list[str] = []
    if (user_only(chosen) or chosen) not in _WITH_USER_SPACE:
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
    version = mlnx_version(variables)
    if protocol.name == "nfsrdma" and version and release(version) < _NFSRDMA_SINCE:
        return [Problem(VARIABLE, protocol.name, "with MLNX_OFED 4.9 and later", "%s has no NFS over RDMA; mount with proto=tcp over IPoIB" % version)]
    excluded = _excluded(protocol, options) + (["--without-nfsrdma"] if protocol.name == "nfsrdma" and "--without-nfsrdma" in options else [])
    if excluded:
        return [Problem(VARIABLE, protocol.name, "without %s in ofed_installer_options" % ", ".join(excluded), "the two contradict each other")]
    if protocol.option and protocol.option not in options:
        hint = "without it the installer puts an empty module in the place of %s; where the stack is installed already, it is installed again"
        return [Problem(VARIABLE, protocol.name, "with ofed_installer_options: [%s]" % protocol.option, hint % ", ".join(protocol.modules))]
    chosen = variables.get("ofed_packages") or "all"
    lacking = _lacking(protocol, chosen=chosen, family=family, options=options) if isinstance(chosen, str) and family else []
    return [Problem(VARIABLE, protocol.name, _with(protocol, lacking), "the set %s is without them" % chosen)] if lacking else []


def _protocol_problems(protocol: Protocol, variables: Mapping[str, t.Any], family: str) -> list[Problem]:
    source = str(variables["ofed_source"])
    if not protocol.kernel and protocol.modules:
        hint = "%s does not support it, and the kernel's own module does not fit the vendor's driver; with ofed_source: inbox it can be had"
        return [Problem(VARIABLE, protocol.name, "protocols of the stack", hint % source)]
    chosen = variables.get("ofed_packages")
    if isinstance(chosen, str) and user_only(chosen) and protocol.modules:
        return [Problem(VARIABLE, protocol.name, "a set of packages with kernel modules", "%s is without %s" % (chosen, ", ".join(protocol.modules)))]
    if source == "mlnx_ofed" and variables.get("ofed_method", "installer") == "installer":
        return _installer_problems(protocol, variables, by_name(family))
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


def vendor_ulp_problems(variables: Mapping[str, t.Any], family: str) -> list[Problem]:
    """What is wrong with the declared protocols, where a vendor's stack shall be installed. `family` is "" where the node is not known."""
    value = variables.get(VARIABLE) or ()
    if name_problems(value):
        return []
    protocols = [PROTOCOLS[name] for name in value]
    return [problem for protocol in protocols for problem in (*_protocol_problems(protocol, variables, family), *_conf_problems(protocol, variables))]
