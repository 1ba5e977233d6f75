# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check that the node's kernel supports the declared state, before any change. Pure."""

from __future__ import annotations

import re
import typing as t

from .._distro._family import EXTRA_MODULES
from .._distro._registry import packages_by_family
from .._errors import Problem, Unsupported
from .._facts._rails import VARIABLE as RAILS
from .._foreign import decimal, integer
from ._config import NAMING_PATH, UNMANAGED, naming_text
from ._limits import KEEP, NOFILE
from ._names import nearest
from ._plan import kernel_names, unloaded
from ._takeover import naming_of, takeover
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ._found import Found

# Hardening guides disable modules with these commands; hooks of packages that do run modprobe are not affected.
_DISABLED = re.compile(r"^(?:/usr)?(?:/bin/)?(?:true|false)\b")

IN_CONTAINER = (
    "this is a container: its host's kernel owns the modules. Run the role on the host, or, for an image that will boot "
    "its own kernel, set kernel_modules_load_now: false (option load_now)"
)

# The types of include/linux/moduleparam.h. kernel/params.c parses them: numbers with kstrtol() and base 0, booleans with kstrtobool(), which
# looks at one letter, or at two after an `o`. A module with an invalid value is not loaded at all, at the latest at the next boot.

# Number of bits, and whether the type is signed. long is that of a 64-bit kernel.
_INTEGERS = {
    "byte": (8, False),
    "short": (16, True),
    "ushort": (16, False),
    "int": (32, True),
    "uint": (32, False),
    "hexint": (32, False),
    "long": (64, True),
    "ulong": (64, False),
    "ullong": (64, False),
}
_BOOLEANS = ("bool", "invbool", "bint")
_BOOLEAN = re.compile(r"^(?:[01]|y|yes|n|no|on|off)$", re.IGNORECASE)
_ARRAY = "array of "


def _similar(names: t.Sequence[str], otherwise: str) -> str:
    return "did you mean %s?" % " or ".join(names) if names else otherwise


def need_modules(wanted: Wanted, found: Found) -> None:
    """Raise Unsupported where modules are to be loaded now and the module files of the running kernel are missing."""
    if found.catalogue or not unloaded(wanted, found):
        return
    if found.container:
        raise Unsupported("kernel modules can't be loaded: /lib/modules/%s is missing, and %s" % (found.release, IN_CONTAINER))
    raise Unsupported(
        "kernel modules can't be loaded: kernel %s is running, but /lib/modules/%s is missing. Installed: %s. Boot into an installed kernel, or install the "
        "packages of the running one" % (found.release, found.release, ", ".join(found.installed) or "none")
    )


def _unknown(variable: str, name: str, value: t.Any, *, wanted: Wanted, found: Found) -> Problem | None:
    if not found.catalogue or found.catalogue.resolve(name) or name in found.loaded:
        return None
    otherwise = "it may be in another package (%s); Debian's cloud kernels have no InfiniBand" % packages_by_family(EXTRA_MODULES)
    kernels = found.release if wanted.load_now else ", ".join(found.installed)
    return Problem(variable, value, "a module of kernel %s" % kernels, _similar(found.catalogue.nearest(name), otherwise))


def _switched_off(module: str, name: str, found: Found) -> Problem | None:
    for directive in found.directives:
        if directive.module not in (module, name):
            continue
        if directive.kind == "blacklist" or (directive.kind == "install" and _DISABLED.match(directive.rest)):
            line = ("%s %s %s" % (directive.kind, directive.module, directive.rest)).strip()
            return Problem("kernel_modules_load", name, "a module that is not disabled", "%s line %d says: %s" % (directive.path, directive.line, line))
    return None


def allowed(kind: str, value: str) -> str:
    """The values that the kernel accepts for a parameter of that type; "" where `value` is valid, or where the type is unknown."""
    if kind.startswith(_ARRAY):
        element = kind[len(_ARRAY) :]
        # The kernel has no nested arrays.
        wrong = [] if element.startswith(_ARRAY) else [words for words in (allowed(element, part) for part in value.split(",")) if words]
        return "a list separated by commas, without blanks, each entry %s" % wrong[0] if wrong else ""
    if kind in _BOOLEANS:
        return "" if _BOOLEAN.match(value) else "1 or 0, y or n, on or off"
    if kind not in _INTEGERS:
        return ""
    bits, signed = _INTEGERS[kind]
    least, largest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    found = integer(value)
    if found is None or not least <= found <= largest or (value.startswith("-") and not signed):
        return "a number from %d to %d" % (least, largest)
    return ""


def _option_problems(module: str, wanted: Wanted, found: Found) -> list[Problem]:
    variable = "kernel_modules_options.%s" % module
    unknown = _unknown(variable, module, dict(wanted.options[module]), wanted=wanted, found=found)
    if unknown:
        return [unknown]
    target = found.catalogue.resolve(module) or module
    if target in found.catalogue.builtin:
        line = " ".join("%s.%s=%s" % (target, name, value) for name, value in sorted(wanted.options[module].items()))
        hint = "it is built into the kernel, which ignores modprobe.d for it: put %s on the kernel command line" % line
        return [Problem(variable, dict(wanted.options[module]), "a loadable module", hint)]
    if target not in found.parameters:
        return []
    known = found.parameters[target]
    problems = []
    for name, value in sorted(wanted.options[module].items()):
        where = "%s.%s" % (variable, name)
        if name not in known:
            hint = _similar(nearest(name, known), "known: %s" % (", ".join(sorted(known)) or "none"))
            problems.append(Problem(where, value, "a parameter of %s" % target, hint))
        elif allowed(known[name], value):
            hint = "modinfo gives its type as %s; with any other value the kernel does not load %s" % (known[name], target)
            problems.append(Problem(where, value, allowed(known[name], value), hint))
    return problems


def _no_builder(wanted: Wanted, found: Found) -> list[Problem]:
    drivers = sorted(wanted.initramfs_drivers)
    if drivers and not found.dracut and not found.initramfs_tools:
        return [Problem("kernel_modules_initramfs_drivers", drivers, "nothing", "this node has neither dracut nor initramfs-tools to build an initramfs with")]
    if "ib_ipoib" in drivers and found.dracut and not found.dracut_network:
        return [Problem("kernel_modules_initramfs_drivers", drivers, "drivers without ib_ipoib", "for IPoIB, install the package dracut-network first")]
    if wanted.initramfs_cmdline and not found.dracut:
        hint = "only dracut can put it into an initramfs; configure it in the boot loader"
        return [Problem("kernel_modules_initramfs_cmdline", list(wanted.initramfs_cmdline), "nothing", hint)]
    return []


def _naming_of_others(wanted: Wanted, found: Found) -> Problem | None:
    taken = takeover(wanted, found)
    naming = naming_of(wanted, found)
    after = naming_text(taken.after.text(NAMING_PATH), naming)
    if set(map(str.strip, naming.rules.splitlines())) <= set(map(str.strip, after.splitlines())):
        return None
    why = "".join(
        ", and kernel_modules_adopt leaves line %d, because %s" % (line, reason) for (path, line), reason in taken.left.items() if path == NAMING_PATH
    )
    advice = "remove the file first" if wanted.adopt else "replace the rule with kernel_modules_adopt: true, or remove the file first"
    hint = "%s belongs to others and has another rule%s: %s" % (NAMING_PATH, why, advice)
    if wanted.rails:
        return Problem(RAILS, [rail.name for rail in wanted.rails], "nothing", hint)
    return Problem("kernel_modules_device_names", wanted.device_names, UNMANAGED, hint)


def _no_fixed_names(wanted: Wanted, found: Found) -> list[Problem]:
    if not wanted.rails or found.renames is not False:
        return []
    hint = "rdma_rename of this node has no NAME_FIXED, which rdma-core has since release 34: install a later one, or a stack of the vendor with it"
    return [Problem(RAILS, [rail.name for rail in wanted.rails], "nothing", hint)]


def _too_many_files(wanted: Wanted, found: Found) -> list[Problem]:
    if wanted.nofile == KEEP or not found.may_raise or decimal(wanted.nofile, 0) <= (found.most_files or NOFILE.most):
        return []
    hint = "it is more than fs.nr_open, so no session could start: raise that with sysctl, now and at boot, or declare less"
    return [Problem(NOFILE.variable, wanted.nofile, "at most %d on this node" % found.most_files, hint)]


def lasting(wanted: Wanted, found: Found) -> list[Problem]:
    """Problems that an installation of the stack can't fix. It may change modules and their parameters, so problems of those are left out."""
    naming = [_naming_of_others(wanted, found)] if naming_of(wanted, found) else []
    switched_off = (_switched_off(module, name, found) for module, name in kernel_names(wanted, found).items())
    kept = [*_no_builder(wanted, found), *_no_fixed_names(wanted, found), *_too_many_files(wanted, found)]
    return [*kept, *(problem for problem in (*naming, *switched_off) if problem)]


def check(wanted: Wanted, found: Found) -> list[Problem]:
    """Everything declared that this node does not support."""
    problems: list[Problem | None] = []
    if wanted.mechanism == "rdma-core" and not found.rdma_core:
        problems.append(Problem("kernel_modules_mechanism", "rdma-core", "auto, modules-load.d", "the package rdma-core is not installed on this node"))
    problems.extend(_unknown("kernel_modules_load", name, name, wanted=wanted, found=found) for name in sorted(wanted.load))
    problems.extend(_unknown("kernel_modules_initramfs_drivers", name, name, wanted=wanted, found=found) for name in sorted(wanted.initramfs_drivers))
    problems.extend(lasting(wanted, found))
    for module in sorted(wanted.options):
        problems.extend(_option_problems(module, wanted, found))
    return [problem for problem in problems if problem]
