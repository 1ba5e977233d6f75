# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the kernel modules of a host by declarations. Pure."""

from __future__ import annotations

import posixpath
import typing as t

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Value, together
from .._distro._registry import by_name
from .._errors import Problem
from .._facts._port_rows import fabric_ports
from .._facts._railrule import FIXED
from .._foreign import decimal, part
from . import _config as config
from . import _limits as limits
from . import _plan as planner
from ._check import check
from ._found import Found, Seen
from ._handmade import SeenOfStack
from ._input import problems, value_text
from ._wanted import USUAL, Wanted

# Files of rdma-core and of vendors, whose lines are part of the installation.
_OF_PACKAGES = ("mlnx.conf", "mlx4.conf", "truescale.conf")
_DRIVER = "force_load "
_FORCED = 'force_drivers+=" '
_CMDLINE = 'kernel_cmdline+=" '
_RULE = "rdma_rename"
_UMAD = "ib_umad"
_MEMLOCK = limits.MEMLOCK.name
_ADOPT = "kernel_modules_adopt: true takes over what files of others have of it"


def _obstacle(wanted: Wanted, found: Found) -> str:
    """Why a run would refuse to set this up on the node; "" where it would not."""
    return "; ".join(map(str, check(wanted, found)))


def _of_package(found: Found, facts: t.Mapping[str, t.Any]) -> frozenset[str]:
    """The modules that rdma-core's lists have as they are installed."""
    family = by_name(part(facts, "os").get("family")) if found.rdma_core else None
    return frozenset(entry.name for text in config.default_lists(family).values() for entry in config.parse_list("", text)) if family else frozenset()


def _load(found: Found, facts: t.Mapping[str, t.Any]) -> Reading:
    """The modules that are loaded and listed. What is listed alone stays so: declaring it would load it."""
    packaged = _of_package(found, facts)
    there = [name for name in USUAL if planner.is_loaded(name, found) or name in found.ours]
    listed = {entry.name: "%s line %d" % (entry.path, entry.line) for entry in found.entries if entry.name not in packaged and entry.name not in USUAL}
    idle = {name: where for name, where in listed.items() if not planner.is_loaded(found.catalogue.resolve(name) or name, found)}
    left = [Left("%s, which %s lists" % (name, where), "it is not loaded now, and a declared module would be") for name, where in sorted(idle.items())]
    own = {name: where for name, where in listed.items() if name not in idle}
    own.update({name: "a list of this collection" for name in found.ours if name not in USUAL})
    refused = {name: _obstacle(Wanted(load=frozenset([name])), found) for name in (*there, *own)}
    left += [Left("loaded module %s" % name, "a run would refuse it: %s" % why) for name, why in refused.items() if why]
    there, own = [name for name in there if not refused[name]], {name: where for name, where in own.items() if not refused[name]}
    loaded = "loaded: %s" % ", ".join(there) if there else "none of %s is loaded" % ", ".join(USUAL)
    foreign = [_ADOPT] if any(entry.path.startswith("/etc/modules-load.d/") and entry.name in (*there, *own) for entry in found.entries) else []
    source = "; ".join([loaded, *("%s in %s" % (name, own[name]) for name in sorted(own)), *foreign])
    if _UMAD not in there and fabric_ports(facts):
        left.append(Left("%s, without which no subnet manager can be queried" % _UMAD, "it is not loaded: verify fails here until kernel_modules_load has it"))
    values = [Value("kernel_modules_load", [*there, *sorted(own)], source)]
    if found.text(config.LOAD_PATH) and found.rdma_core:
        values.append(Value("kernel_modules_mechanism", "modules-load.d", config.LOAD_PATH))
    return Reading(values, left)


def _typed(text: str) -> t.Any:
    number = decimal(text)
    return number if number is not None and str(number) == text else text


class _Options(t.NamedTuple):
    values: dict[str, dict[str, t.Any]]
    sources: list[str]
    left: list[Left]


def _foreign_options(found: Found) -> _Options:
    read = _Options({}, [], [])
    for directive in found.directives:
        where = "%s line %d" % (directive.path, directive.line)
        if not directive.path.startswith("/etc/"):
            continue
        if directive.kind != "options":
            if posixpath.basename(directive.path) in _OF_PACKAGES:
                continue
            said = "%s %s %s" % (directive.kind, directive.module, directive.rest)
            read.left.append(Left("%s: %s" % (where, said.strip()), "the collection declares options only; the line stays and keeps its effect"))
            continue
        good = {}
        for name, written in config.parse_assignments(directive.rest).items():
            value = _typed(written.strip('"'))
            wrong: list[Problem] = problems({"kernel_modules_options": {directive.module: {name: value}}})
            why = "allowed: %s" % wrong[0].allowed if wrong else _obstacle(Wanted(options={directive.module: {name: value_text(value)}}), found)
            if why:
                why = "no declaration can have it (%s); the line stays and keeps its effect" % why
                read.left.append(Left("%s: option %s of %s" % (where, name, directive.module), why))
            else:
                good[name] = value
        if good:
            read.values.setdefault(directive.module, {}).update(good)
            read.sources.append(where)
    return read


def _options(found: Found) -> Reading:
    read = _foreign_options(found)
    own = config.parse_options(found.text(config.OPTIONS_PATH))
    for module, parameters in own.items():
        read.values.setdefault(module, {}).update({name: _typed(value) for name, value in parameters.items()})
    sources = [*([config.OPTIONS_PATH] if own else []), *dict.fromkeys(read.sources)]
    source = "; ".join([", ".join(sources), *([_ADOPT] if read.sources else [])])
    values = [Value("kernel_modules_options", {module: dict(sorted(read.values[module].items())) for module in sorted(read.values)}, source)]
    late = [
        "%s runs with %s=%s, and the files say %s: the next load of the driver changes it" % (module, name, found.live[module][name], value)
        for module, parameters in sorted(read.values.items())
        for name, value in sorted(parameters.items())
        if name in found.live.get(module, {}) and not planner.same_value(str(value), found.live[module][name])
    ]
    return Reading(values if read.values else [], read.left, late)


def _words_after(text: str, start: str) -> list[str]:
    return [word for line in text.splitlines() if line.startswith(start) for word in line[len(start) :].rstrip('" ').split()]


def _initramfs(found: Found, early: t.Sequence[config.Entry]) -> Reading:
    dracut = found.text(config.DRACUT_PATH)
    own = {*_words_after(dracut, _FORCED), *_words_after(found.text(config.HOOK_PATH), _DRIVER)}
    listed = {entry.name: "%s line %d" % (entry.path, entry.line) for entry in early}
    drivers = sorted({*own, *listed})
    sources = [*(path for path in (config.DRACUT_PATH, config.HOOK_PATH) if own and found.text(path)), *dict.fromkeys(listed.values())]
    cmdline = _words_after(dracut, _CMDLINE)
    values = [Value("kernel_modules_initramfs_cmdline", cmdline, config.DRACUT_PATH)] if cmdline else []
    refused = _obstacle(Wanted(initramfs_drivers=frozenset(drivers)), found)
    if refused:
        return Reading(values, [Left("drivers of the initramfs (%s)" % ", ".join(drivers), "a run would refuse them: %s" % refused)])
    return Reading([*values, *([Value("kernel_modules_initramfs_drivers", drivers, ", ".join(sources))] if drivers else [])])


def _own_limit(found: Found, resource: str = _MEMLOCK) -> str:
    """The limit in our files; "" for none."""
    lines = [*limits.read_sessions("", found.text(limits.SESSIONS_PATH)), *limits.read_services("", found.text(limits.SERVICES_PATH))]
    return next((line.value for line in limits.lines_of(lines, resource)), "")


def _open_files(found: Found) -> Reading:
    """The limit of open files that the collection has set. All others stay as they are."""
    own = _own_limit(found, limits.NOFILE.name)
    paths = ", ".join(path for path in limits.PATHS if found.text(path))
    return Reading([Value(limits.NOFILE.variable, _typed(own), paths)] if own else [])


def _limits(seen: Seen) -> Reading:
    found = seen.found
    sessions, services = (limits.effective(limits.lines_of(each, _MEMLOCK)) for each in (found.session_limits, found.service_limits))
    lines = [*sessions, *services]
    own = _own_limit(found)
    if own:
        return Reading([Value("kernel_modules_memlock", _typed(own), ", ".join(path for path in limits.PATHS if found.text(path)))])
    low = {kind: value for kind, value in seen.limits.get(_MEMLOCK, {}).items() if value != limits.UNLIMITED}
    dangers = [
        "memory locked by a %s is limited to %s KiB: programs that register more than that with an adapter fail. "
        "Declare kernel_modules_memlock: unlimited%s" % (kind, value, ", and kernel_modules_adopt: true, because files set lower limits" if lines else "")
        for kind, value in sorted(low.items())
        if found.may_raise
    ]
    dangers += [
        "%s passes a limit of %s KiB of locked memory on to what it starts" % (daemon.unit, daemon.value)
        for daemon in found.daemons or ()
        if daemon.resource == _MEMLOCK and daemon.value != limits.UNLIMITED
    ]
    named = sorted({line.value for line in lines})
    both = bool(sessions) and bool(services)
    source = ", ".join("%s line %d" % (line.path, line.line) for line in lines) or "no file sets a limit for all sessions and services"
    if both and len(named) == 1 and limits.is_limit(named[0]):
        return Reading([Value("kernel_modules_memlock", _typed(named[0]), source)], (), dangers)
    left = [Left("limits of locked memory: %s" % source, "they differ for sessions and services; they stay as they are")] if lines else []
    return Reading([Value("kernel_modules_memlock", limits.KEEP, source)], left, dangers)


def _device_names(found: Found) -> Reading:
    rule = found.text(config.NAMING_PATH)
    if _RULE not in rule:
        left = [Left(config.NAMING_PATH, "it has no rule that names devices by kernel or by address; it stays as it is")] if rule else []
        return Reading((), left)
    if FIXED in rule:
        return Reading((), [Left(config.NAMING_PATH, "it gives devices names of their own; declare them in rdma_rails")])
    policy = "kernel" if "NAME_KERNEL" in rule else "persistent"
    misnamed = planner.misnamed(Wanted(device_names=policy), found)
    if misnamed:
        words = "%s names devices by the policy %s, and %s has another name: the next boot renames it"
        return Reading((), (), [words % (posixpath.basename(config.NAMING_PATH), policy, ", ".join(change.subject for change in misnamed))])
    return Reading([Value("kernel_modules_device_names", policy, config.NAMING_PATH)])


def read(subject: Subject) -> Reading:
    """The declarations of one host."""
    of_stack: SeenOfStack = subject.found
    seen = of_stack.seen
    found = seen.found
    parts = [
        _load(found, subject.facts or {}),
        _options(found),
        _initramfs(found, of_stack.early),
        _limits(seen),
        _open_files(found),
        _device_names(found),
    ]
    return together(parts)


DISCOVERY = Discovery(read, hints={"names": list(USUAL), "options": [], "of_stack": True}, seen=SeenOfStack)
