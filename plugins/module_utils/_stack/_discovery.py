# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the RDMA stack of a host by declarations. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Value
from .._distro._registry import by_name
from .._facts._appliance import appliance_of
from .._facts._stack import DOCA as PROFILES
from .._facts._stack import DOCA_PARTS, ubuntus_doca
from .._foreign import part, rows_of
from .._protocols._catalogue import PROTOCOLS

_SOURCE = "the node does not tell where it was installed from. It stays as it is; before packages are to be added, repaired or replaced, set %s"
_BUNDLE = "ofed_bundle, or ofed_method: repository with ofed_repository"
_REPOSITORY = "ofed_repository and ofed_repository_key"
_OWNED = "the image owns it. It stays as it is, and the role ofed refuses to change it, unless rdma_allow_upgrade is true for the host"
_NO_PROFILE = "none of %s is installed, and a run of rdma.ofed.site installs %s from ofed_repository"


def _installed(look: t.Any) -> frozenset[str]:
    """The names in the look at packages, which are pairs."""
    pairs = look if isinstance(look, list) else []
    return frozenset(str(pair[0]) for pair in pairs if isinstance(pair, (list, tuple)) and pair)


def _packages(subject: Subject) -> Reading:
    """What of the distribution's stack is not installed: a run would install it."""
    installed = _installed(subject.recall("packages"))
    family = by_name(part(subject.facts, "os").get("family"))
    if family is None or not installed:
        return Reading()
    missing = {purpose: [name for name in family.names([purpose]) if name not in installed] for purpose in ("core", "tools")}
    values = [Value("ofed_tools", False, "not installed: %s" % ", ".join(missing["tools"]))] if missing["tools"] else []
    left = [Left("a stack without %s" % ", ".join(missing["core"]), "a run of rdma.ofed.site installs what is missing")] if missing["core"] else []
    return Reading(values, left)


def _profile(subject: Subject, evidence: str) -> Reading:
    """The profile of DOCA, where it is not the one that is the default."""
    installed = _installed(subject.recall("packages"))
    profile = next((name for name in PROFILES if name in installed), "")
    if profile:
        return Reading([Value("ofed_packages", profile, evidence)] if profile != PROFILES[0] else [])
    if not installed or all(name in installed for name in DOCA_PARTS) or ubuntus_doca(installed)[0]:
        return Reading()
    return Reading([], [Left("a DOCA-OFED without a profile", _NO_PROFILE % (", ".join(PROFILES), PROFILES[0]))])


def _listed(value: t.Any) -> t.Sequence[t.Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _protocols(subject: Subject, ulps: t.Collection[str]) -> list[Left]:
    """Upper-layer protocols that others have set up. Lists of rdma-core load some of their modules on all nodes."""
    family = by_name(part(subject.facts, "os").get("family"))
    usual = (*family.rdma_modules, *family.infiniband_modules) if family else ()
    loaded = {str(row.get("name")) for row in rows_of(subject.facts, "modules")}
    why = "the collection has not set it up: declare it in ofed_ulps, or leave it as it is"
    found = [(protocol.name, [module for module in protocol.modules if module in loaded and module not in usual]) for protocol in PROTOCOLS.values()]
    return [Left("protocol %s (module %s is loaded)" % (name, modules[0]), why) for name, modules in found if modules and name not in ulps]


def read(subject: Subject) -> Reading:
    """The declarations of one host."""
    stack = part(subject.facts, "stack")
    kind, version, evidence = (str(stack.get(name) or "") for name in ("kind", "version", "evidence"))
    values: list[Value] = []
    left: list[Left] = []
    dangers: list[str] = []
    owner = appliance_of(stack)
    if owner is not None:
        left.append(Left(("%s %s of %s" % (kind, version, owner.words)), _OWNED))
    if kind == "none":
        left.append(Left("the RDMA stack", "there is none, and a run of rdma.ofed.site installs that of the distribution"))
    elif kind == "inbox":
        packages = _packages(subject)
        values += packages.values
        left += packages.left
    elif kind:
        values.append(Value("ofed_source", kind, evidence))
        values += [Value("ofed_version", version, evidence)] if version else []
        left += [] if owner else [Left("source of %s %s" % (kind, version), _SOURCE % (_REPOSITORY if kind == "doca" else _BUNDLE))]
    if kind == "doca":
        profile = _profile(subject, evidence)
        values += profile.values
        left += profile.left if owner is None else ()
    ulps = [name for name in PROTOCOLS if name in _listed(stack.get("ulps"))]
    values += [Value("ofed_ulps", ulps, "the record of the last run")] if ulps else []
    left += _protocols(subject, ulps)
    if kind and not stack.get("complete", True):
        dangers.append("the installation of %s %s was not completed" % (kind, version))
    loaded = stack.get("loaded")
    if kind not in ("", "none") and loaded and loaded != ("inbox" if kind == "inbox" else "ofed"):
        dangers.append(
            "the stack is %s, and the loaded drivers are %s: a reload or reboot is due" % (kind, "the distribution's" if loaded == "inbox" else "of OFED")
        )
    return Reading(values, left, dangers)


DISCOVERY = Discovery(read)
