# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate what is declared about MLNX_OFED and DOCA-OFED. Pure."""

from __future__ import annotations

import re
import typing as t

from .._distro._family import Family
from .._distro._registry import by_name
from .._errors import Problem, Unshown
from .._facts._machine import OperatingSystem
from .._facts._stack import DOCA as PROFILES
from .._facts._stack import Stack
from .._foreign import is_boolean, is_true, part
from .._schema._ofed import VARIABLES
from .._tools._packages import is_private, without_secrets
from ._bundle import VERSION_WORDS, is_version, misfit, parse_name
from ._installer_options import SETS, USER_ONLY_WORDS, Installer, user_only
from ._wanted import Wanted

_ABSOLUTE = re.compile(r"^/[^\0\n\ud800-\udfff]*\Z")
_URL = re.compile(r"^https?://[!-.0-~]+/[!-~]+\Z")
_SITE = re.compile(r"^https?://[!-~]+\Z")
_CHECKSUM = re.compile(r"^sha256:[0-9a-fA-F]{64}\Z")
_DOCA_VERSION = re.compile(r"^[0-9]+(\.[0-9]+)+(-[0-9.]+)?\Z")
_ARMOUR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
# The package sets of an MLNX_OFED repository. DEB systems lack guest and hypervisor. Sets have a user-space part;
# of eth-only, there is no other part.
_SETS_TEXT = "all basic bluefield dpdk eth-only-user-only guest hpc hypervisor kernel-only user-space-only vma vma-eth vma-vpi"
_RPM_ONLY = ("guest", "hypervisor")


def _text(variables: t.Mapping[str, t.Any], name: str) -> str:
    value = variables.get(name)
    return value if isinstance(value, str) else ""


def _is_empty(value: t.Any) -> bool:
    return value is None or (isinstance(value, (str, list, tuple)) and not value)


def _useless(variables: t.Mapping[str, t.Any], name: str, allowed: str, *, hint: str) -> list[Problem]:
    """The problem of a variable that has to be empty here."""
    value = variables.get(name)
    return [] if _is_empty(value) else [Problem(name, value, allowed, hint)]


class Platform(t.NamedTuple):
    """What the facts of a node tell about its platform; empty without facts."""

    system: OperatingSystem = OperatingSystem()
    arch: str = ""

    @property
    def family(self) -> Family | None:
        return by_name(self.system.family)

    @property
    def packaging(self) -> str:
        """`deb`, `rpm`, or "" where the node is unknown."""
        return self.family.manager.packaging if self.family else ""


UNKNOWN = Platform()


def platform_of(facts: t.Mapping[str, t.Any] | None) -> Platform:
    system = part(facts, "os")
    known = OperatingSystem(*(str(system.get(key, "")) for key in ("family", "id", "version")))
    return Platform(known, str(part(facts, "machine").get("architecture", "")))


def mlnx_version(variables: t.Mapping[str, t.Any]) -> str:
    """The wanted release: the declared one, or that in the name of the bundle; "" where neither is valid."""
    version = _text(variables, "ofed_version") or parse_name(_text(variables, "ofed_bundle")).version
    return version if is_version(version) else ""


def wanted_stack(variables: t.Mapping[str, t.Any]) -> Wanted:
    """Source and release of the declared stack, for comparisons only."""
    source = str(variables["ofed_source"])
    version = mlnx_version(variables) if source == "mlnx_ofed" else str(variables.get("ofed_version") or "") if source == "doca" else ""
    return Wanted(source=source, version=version)


def bundle_problems(variables: t.Mapping[str, t.Any], platform: Platform = UNKNOWN) -> list[Problem]:
    """Problems of the location of a bundle and of its checksum."""
    value, checksum = variables.get("ofed_bundle"), variables.get("ofed_bundle_checksum")
    where = "the absolute path of an unpacked bundle, a .tgz or an .iso, or a URL of one of the latter"
    if not isinstance(value, str) or not value:
        return [Problem("ofed_bundle", value, where, "the installer needs a bundle; with ofed_method: repository it comes from ofed_repository")]
    found: list[Problem] = []
    named = parse_name(value)
    is_url = _URL.match(value) is not None
    if not is_url and not _ABSOLUTE.match(value):
        found.append(Problem("ofed_bundle", value, where))
    elif is_url and named.form == "directory":
        found.append(Problem("ofed_bundle", value, "a URL that ends in .tgz, .tar.gz or .iso"))
    good = isinstance(checksum, str) and _CHECKSUM.match(checksum) is not None
    if not _is_empty(checksum) and not good:
        found.append(Problem("ofed_bundle_checksum", checksum, "sha256: and 64 hexadecimal digits"))
    elif _is_empty(checksum) and is_url:
        found.append(Problem("ofed_bundle_checksum", None, "sha256: and 64 hexadecimal digits", "downloads are not unpacked without a checksum"))
    elif good and named.form == "directory" and not is_url:
        found.append(Problem("ofed_bundle_checksum", checksum, "no checksum for a folder", "only files have one"))
    version = variables.get("ofed_version")
    if isinstance(version, str) and is_version(version) and named.version and named.version != version:
        found.append(Problem("ofed_version", version, named.version, "that is the release in the name of ofed_bundle"))
    return found + _misfit_problems(variables, platform)


def _misfit_problems(variables: t.Mapping[str, t.Any], platform: Platform) -> list[Problem]:
    """The problem of a bundle that, by its name, is for another distribution or architecture."""
    options = variables.get("ofed_installer_options") or []
    if not isinstance(options, (list, tuple)):
        return []
    words = [option for option in options if isinstance(option, str)]
    bundle = variables["ofed_bundle"]
    why = misfit(parse_name(bundle), platform.system, platform.arch, options=words)
    return [Problem("ofed_bundle", bundle, "a bundle for this node", why)] if why else []


def _repository_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    found: list[Problem] = []
    address, key, trusted = (variables.get("ofed_repository"), variables.get("ofed_repository_key"), variables.get("ofed_repository_trusted", False))
    if not isinstance(address, str) or not (_SITE.match(address) or _ABSOLUTE.match(address)):
        value = Unshown(without_secrets(repr(address))) if isinstance(address, str) and is_private(address) else address
        found.append(Problem("ofed_repository", None if _is_empty(address) else value, "the URL of a repository, or the absolute path of one on the node"))
    if not is_boolean(trusted):
        return found
    is_trusted = is_true(trusted)
    if _is_empty(key) and not is_trusted:
        hint = "without a key, anyone on the network path could install packages; ofed_repository_trusted: true accepts that risk"
        found.append(Problem("ofed_repository_key", None, "a URL, the absolute path of a file on the node, or the key itself", hint))
    elif not _is_empty(key) and not (isinstance(key, str) and (_URL.match(key) or _ABSOLUTE.match(key) or _ARMOUR in key)):
        found.append(Problem("ofed_repository_key", key, "a URL, the absolute path of a file on the node, or the key itself, which begins with %s" % _ARMOUR))
    elif isinstance(key, str) and key.startswith("http:"):
        allowed = "a URL with https, the absolute path of a file on the node, or the key itself"
        found.append(
            Problem("ofed_repository_key", key, allowed, "over http, anyone on the network path could substitute the key, and packages signed with it")
        )
    return found


def _set_problems(variables: t.Mapping[str, t.Any], *, source: str, method: str, family: str) -> list[Problem]:
    value = variables.get("ofed_packages")
    if _is_empty(value):
        return []
    if source == "doca":
        return [] if value in list(PROFILES) else [Problem("ofed_packages", value, ", ".join(PROFILES))]
    # The installer may have sets that the tables list only for other releases: the bundle is queried later.
    in_repository = [name for name in _SETS_TEXT.split() if family != "deb" or name not in _RPM_ONLY]
    allowed, known = (in_repository, ()) if method == "repository" else (Installer(mlnx_version(variables)).sets(), SETS)
    chosen = (value if value in allowed else user_only(value) or value) if isinstance(value, str) else ""
    return [] if chosen in allowed or chosen in known else [Problem("ofed_packages", value, ", ".join(allowed), "or %s" % USER_ONLY_WORDS)]


def _mlnx_problems(variables: t.Mapping[str, t.Any], platform: Platform, method: str) -> list[Problem]:
    found: list[Problem] = []
    version = variables.get("ofed_version")
    if not _is_empty(version) and not (isinstance(version, str) and is_version(version)):
        found.append(Problem("ofed_version", version, VERSION_WORDS))
    options = variables.get("ofed_installer_options")
    firmware = is_true(variables.get("ofed_firmware_update"))
    if method == "installer":
        # Where none is declared, `source_problems` tells whether the node needs one.
        found += [] if _is_empty(variables.get("ofed_bundle")) else bundle_problems(variables, platform)
        if _is_empty(version) and isinstance(variables.get("ofed_bundle"), str) and variables["ofed_bundle"] and not mlnx_version(variables):
            found.append(Problem("ofed_version", None, VERSION_WORDS, "the name of ofed_bundle does not contain it"))
        if options is not None:
            installer = Installer(mlnx_version(variables), platform.packaging)
            found += installer.problems("ofed_installer_options", options, firmware_update=firmware, ask=True)
        return found
    found += _useless(variables, "ofed_installer_options", "no options with ofed_method: repository", hint="no installer runs then")
    return found if _is_empty(variables.get("ofed_repository")) else found + _repository_problems(variables)


def package_problems(variable: str, names: t.Any, *, form: t.Pattern[str], allowed: str) -> list[Problem]:
    """Problems of a list of packages, each of which has to match `form`."""
    if not isinstance(names, (list, tuple)):
        return [Problem(variable, names, "a list of package names")]
    wrong = [(index, name) for index, name in enumerate(names) if not isinstance(name, str) or not form.match(name)]
    return [Problem("%s[%d]" % (variable, index), name, allowed) for index, name in wrong]


def vendor_problems(variables: t.Mapping[str, t.Any], platform: Platform) -> list[Problem]:
    """Problems of the variables of a vendor's stack that is to be installed."""
    source = variables["ofed_source"]
    found: list[Problem] = []
    if source == "mlnx_ofed":
        method = variables.get("ofed_method", VARIABLES["ofed_method"]["default"])
        if not isinstance(method, str) or method not in VARIABLES["ofed_method"]["choices"]:
            return []
        found += _mlnx_problems(variables, platform, method)
    else:
        method = "repository"
        version = variables.get("ofed_version")
        if not _is_empty(version) and not (isinstance(version, str) and _DOCA_VERSION.match(version)):
            found.append(Problem("ofed_version", version, "a version of DOCA, such as 2.9.1"))
        found += [] if _is_empty(variables.get("ofed_repository")) else _repository_problems(variables)
        found += _useless(variables, "ofed_bundle", "no bundle with ofed_source: doca", hint="it comes from ofed_repository")
        found += _useless(variables, "ofed_installer_options", "no options with ofed_source: doca", hint="no installer runs then")
    return found + _set_problems(variables, source=source, method=method, family=platform.packaging)


def missing_source(variables: t.Mapping[str, t.Any], why: str) -> list[Problem]:
    """The problems of a node that needs packages and has no declared source of them. `why`: what they are needed for."""
    if variables["ofed_source"] == "mlnx_ofed" and variables.get("ofed_method", VARIABLES["ofed_method"]["default"]) == "installer":
        found = bundle_problems(variables) if _is_empty(variables.get("ofed_bundle")) else []
    else:
        found = _repository_problems(variables) if _is_empty(variables.get("ofed_repository")) else []
    return [problem._replace(hint="; ".join(filter(None, (why, problem.hint)))) for problem in found]


def source_problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    """The problems of a missing source on a node that lacks the declared release. Where it is installed, packages may never be needed again.

    Without facts, it is not known whether a source is needed.
    """
    stack = part(facts, "stack")
    if not stack:
        return []
    found = Stack(str(stack.get("kind") or ""), str(stack.get("version") or ""), complete=stack.get("complete", True) is True)
    wanted = wanted_stack(variables)
    # The installer has to know the release, a repository offers the newest.
    known = wanted.version or wanted.source == "doca" or variables.get("ofed_method") == "repository"
    if known and found.complete and wanted.fits(found):
        return []
    return missing_source(variables, "%s is declared, and the node has %s" % (wanted.words, found.words or "no RDMA stack"))
