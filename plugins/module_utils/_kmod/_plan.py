# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the changes for the declared modules, now and at boot. Pure."""

from __future__ import annotations

import typing as t

from .._facts._portname import is_persistent
from .._foreign import integer
from .._host._files import file_change
from .._plan import Change, Kind, Pending, Plan, changes_of
from . import _config as config
from . import _limits as limits
from ._saved import LEDGER
from ._takeover import OF_IMAGES, Part, Takeover, effective, naming_of, takeover
from ._ulimits import limit_changes, limit_of_unit, low_containers, restart_changes
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from .._facts._railrule import Rail
    from .._host._initramfs import Image
    from ._found import Device, Found

NOT_LOADED, LOADED = "not loaded", "loaded"


def kernel_names(wanted: Wanted, found: Found) -> dict[str, str]:
    """The modules that the declared names stand for, each with the name to write. Two names can mean one module."""
    names: dict[str, str] = {}
    for name in sorted(wanted.load):
        names.setdefault(found.catalogue.resolve(name) or name, name)
    return names


def persisted_by(module: str, found: Found) -> str:
    """What else loads a module at boot: `FILE line N`, `udev`, `kernel` for a built-in one, or ""."""
    if module in found.catalogue.builtin:
        return "kernel"
    for entry in found.entries:
        if (found.catalogue.resolve(entry.name) or entry.name) == module:
            return "%s line %d" % (entry.path, entry.line)
    return "udev" if module in found.catalogue.by_device else ""


def is_loaded(module: str, found: Found) -> bool:
    return module in found.loaded or module in found.catalogue.builtin


def unloaded(wanted: Wanted, found: Found) -> list[str]:
    """The declared modules that are to be loaded now."""
    return [module for module in sorted(kernel_names(wanted, found)) if wanted.load_now and not is_loaded(module, found)]


class Options(t.NamedTuple):
    """How options change."""

    changed: frozenset[str] = frozenset()
    """The modules that get other options."""
    moved: t.Mapping[str, frozenset[str]] = {}
    """The modules whose options only move from one file to another, with the files that had them."""
    before: t.Mapping[str, t.Mapping[str, str]] = {}
    after: t.Mapping[str, t.Mapping[str, str]] = {}
    """The options that count for the modules of `changed` and `moved`: where files of others change, all of them, otherwise ours."""


def options_of(wanted: Wanted, found: Found) -> Options:
    """Compare our options with the declared ones and, where files of others change, all options before and after that.

    An initramfs has its own copy of modprobe.d: initramfs-tools and, in host-only images, dracut copy the whole folder, and dracut puts our file into
    every image. So an image is out of date where the options that count have changed. Where they have only moved, it still has the same values in the
    files that it was built with, unless it lacks those files, as other images of dracut do.
    """
    ours = config.parse_options(found.text(config.OPTIONS_PATH))
    own = {module for module in {*ours, *wanted.options} if ours.get(module, {}) != wanted.options.get(module, {})}
    goal = takeover(wanted, found).after
    was = effective(found.directives, found.text(config.OPTIONS_PATH))
    will = effective(goal.directives, config.options_text(wanted.options))
    touched = {module for module in {*was, *will} if _lines(found, module) != _lines(goal, module)}
    before, after = ({module: {name: value for name, (value, _path) in each.get(module, {}).items()} for module in touched} for each in (was, will))
    moved = {module: frozenset(path for _value, path in was.get(module, {}).values()) for module in touched if before[module] == after[module]}
    return Options(
        frozenset((own | touched).difference(moved)),
        moved,
        {**{module: ours.get(module, {}) for module in own}, **before},
        {**{module: wanted.options.get(module, {}) for module in own}, **after},
    )


def _lines(found: Found, module: str) -> list[str]:
    """The foreign options of a module."""
    return [directive.rest for directive in found.directives if directive.kind == "options" and directive.module == module]


def changed_options(wanted: Wanted, found: Found) -> frozenset[str]:
    """The modules that get other options."""
    return options_of(wanted, found).changed


def _file(path: str, found: Found, text: str) -> Change | None:
    return file_change(path, found.text(path), text)


def _dracut_text(wanted: Wanted, options: bool) -> str:
    return config.dracut_text(options, wanted.initramfs_drivers, wanted.initramfs_cmdline)


def naming_change(wanted: Wanted, found: Found) -> Change | None:
    return _file(config.NAMING_PATH, found, config.naming_text(found.text(config.NAMING_PATH), naming_of(wanted, found)))


def is_of(device: Device, rail: Rail) -> bool:
    return rail.pci == device.pci if rail.pci else rail.guid in device.guids


def rail_of(device: Device, rails: t.Iterable[Rail]) -> str:
    """The name that a device has from the rails; "" for none. Of two rails that are one adapter, udev applies the last rule."""
    names = [rail.name for rail in sorted(rails) if is_of(device, rail)]
    return names[-1] if names else ""


def misnamed(wanted: Wanted, found: Found) -> tuple[Change, ...]:
    """The RDMA devices whose names do not follow the declared policy. They are renamed at the next boot."""
    rails = {device.name: rail_of(device, wanted.rails) for device in found.adapters}
    names = {name: rail for name, rail in rails.items() if rail and rail != name}
    if wanted.device_names != config.UNMANAGED:
        others = (name for name in found.devices if not rails.get(name))
        names.update((name, wanted.device_names) for name in others if is_persistent(name) != (wanted.device_names == "persistent"))
    return tuple(Change(Kind.RDMA_DEVICE, name, "name", name, names[name], needs="reboot") for name in found.devices if name in names)


def drivers_changed(wanted: Wanted, found: Found) -> bool:
    """Whether the images are to contain other drivers or arguments than our files list now."""
    after = _dracut_text(wanted, False) if found.dracut else config.hook_text(wanted.initramfs_drivers)
    return _driver_lines(found.text(config.DRACUT_PATH) + found.text(config.HOOK_PATH)) != _driver_lines(after)


def rule_changed(wanted: Wanted, found: Found) -> bool:
    """Whether the images are to contain another rule for device names: dracut adds the RDMA rules to them."""
    after = config.naming_text(takeover(wanted, found).after.text(config.NAMING_PATH), naming_of(wanted, found))
    return found.dracut and found.text(config.NAMING_PATH) != after


def stale_words(wanted: Wanted, found: Found) -> str:
    """What is outdated in the images, in words."""
    if rule_changed(wanted, found):
        return "holds another rule for the names of devices"
    return "holds other drivers or arguments" if drivers_changed(wanted, found) else "holds a module with other options"


def _driver_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("force_drivers", "force_load", "kernel_cmdline"))]


def plan(wanted: Wanted, found: Found, images: t.Iterable[Image] = ()) -> Plan:
    """The changes, in the order in which they are made. `images`: those to be rebuilt.

    Options come first: a module that is loaded now must get them. The images follow directly, so that a later failure
    can't leave them outdated.
    """
    taken = takeover(wanted, found)
    names = kernel_names(wanted, found)
    missing = [name for module, name in names.items() if not persisted_by(module, taken.after)]
    uses_rdma_core = wanted.mechanism == "rdma-core" or (wanted.mechanism == "auto" and found.rdma_core)
    in_lists, elsewhere = (missing, []) if uses_rdma_core else ([], missing)
    stale = dict.fromkeys([*(image.path for image in images), *found.stale])
    return Plan(
        changes_of(
            # Without an image builder, drivers have no place, and `check` has refused them.
            _file(config.DRACUT_PATH, found, _dracut_text(wanted, bool(wanted.options)) if found.dracut else ""),
            _file(config.HOOK_PATH, found, config.hook_text(wanted.initramfs_drivers) if found.initramfs_tools else ""),
            _file(config.OPTIONS_PATH, found, config.options_text(wanted.options)),
            naming_change(wanted, taken.after),
            # Files of others change once ours exist, so a run that ends in between loses no setting.
            *_of_others(taken, *OF_IMAGES),
            *(Change(Kind.INITRAMFS, path, "", stale_words(wanted, found), "rebuilt") for path in stale),
            _file(config.RDMA_PATH, found, config.with_block(found.text(config.RDMA_PATH), in_lists)),
            _file(config.LOAD_PATH, found, config.load_text(elsewhere)),
            *_of_others(taken, Part.MODULES),
            *limit_changes(wanted, taken.after),
            *_of_others(taken, Part.SESSIONS, Part.SERVICES),
            file_change(LEDGER.path, *taken.record(found)),
            *(Change(Kind.MODULE, module, "", NOT_LOADED, LOADED) for module in unloaded(wanted, found)),
            # A daemon that does not come back is no reason to leave a node without its modules.
            *restart_changes(wanted, taken.after),
        )
    )


def _of_others(taken: Takeover, *parts: Part) -> list[Change | None]:
    return [file_change(file.path, file.before, file.after) for file in taken.files if file.part in parts]


def _low(limit: limits.Limit, taken: Takeover) -> list[limits.Line]:
    units = (limit_of_unit(unit, taken.after, limit) for unit in taken.after.unit_limits)
    lines = [line for lines in (taken.after.session_limits, taken.after.service_limits) for line in limits.others(lines, limit)]
    return [*lines, *filter(None, units)]


def lower_limits(wanted: Wanted, found: Found) -> list[str]:
    """Limits that others have set below the declared ones."""
    taken = takeover(wanted, found)
    words = "%s line %d limits %s to %s, and %s is declared: %s, or declare %s: keep"
    result = []
    for limit in wanted.limits:
        rows = [(line, _remedy(wanted, taken, line[:2])) for line in _low(limit, taken)]
        rows += [(line, "change or remove the line") for line in low_containers(found, limit)]
        result += [words % (line.path, line.line, limit.of.words, line.value, limit.value, advice, limit.of.variable) for line, advice in rows]
    return result


def warnings(wanted: Wanted, found: Found) -> list[str]:
    """Declared settings that have no effect, or another effect, because of foreign files, and what was not taken over or not given back."""
    taken = takeover(wanted, found)
    named = {line[:2] for limit in wanted.limits for line in _low(limit, taken)} | {each.directive[3:] for each in _contradictions(wanted, taken)}
    # Lines that do no harm now. Those outside /etc are not of the site.
    staying = [
        "kernel_modules_adopt leaves %s line %d, because %s" % (path, line, why)
        for (path, line), why in sorted(taken.left.items())
        if path.startswith("/etc/") and (path, line) not in named
    ]
    words = "%s has changed since settings were taken out of it, so it stays; what it was before is in %s"
    changed = [words % (path, found.saved[path].copy) for path in taken.changed]
    return [*conflicts(wanted, found), *without_effect(wanted, found), *lower_limits(wanted, found), *staying, *changed]


def _remedy(wanted: Wanted, taken: Takeover, place: tuple[str, int], *, joint: str = "") -> str:
    """What can be done about a line of others, up to its removal. `joint`: the word before that."""
    if not wanted.adopt:
        return "take it over with kernel_modules_adopt: true, %sremove the line" % joint
    why = taken.left.get(place)
    return "kernel_modules_adopt leaves it, because %s; remove the line" % why if why else "remove the line"


def same_value(declared: str, live: str) -> bool:
    """Whether the kernel treats both values as equal. It shows booleans as Y and N, and numbers in decimal."""
    return declared == live or _normal(declared) == _normal(live)


def _normal(text: str) -> int | str:
    booleans = {"y": 1, "yes": 1, "on": 1, "n": 0, "no": 0, "off": 0}
    low = text.strip().lower()
    value = booleans.get(low, integer(low))
    return low if value is None else value


def pending(wanted: Wanted, found: Found) -> tuple[Pending, ...]:
    """What is on disk after this run and takes effect after a reload or a reboot: options of loaded modules, and device names."""
    options = options_of(wanted, found)
    ours = config.parse_options(found.text(config.OPTIONS_PATH))
    waiting = [Pending(change) for change in misnamed(wanted, found)]
    for module in sorted({*wanted.options, *options.changed} & set(found.loaded)):
        needs = "reboot" if found.loaded[module] else "driver_reload"
        live = found.live.get(module, {})
        declared = wanted.options.get(module, {})
        former = options.before.get(module, ours.get(module, {}))
        coming = options.after.get(module, declared)
        late: dict[str, tuple[str, str]] = {}
        for name, value in sorted(coming.items()):
            # What others set, and go on to set, is theirs.
            if name not in declared and former.get(name) == value:
                continue
            if not same_value(value, live[name]) if name in live else former.get(name) != value:
                late[name] = (live.get(name, "unknown"), value)
        for name, value in sorted(former.items()):
            # The kernel's own default is recorded nowhere, so this is reported only once, when the option is removed.
            if name not in coming and module in options.changed and same_value(value, live.get(name, value)):
                late[name] = (value, "the driver's default")
        waiting += [Pending(Change(Kind.PARAMETER, module, name, *values, needs=needs)) for name, values in late.items()]
    return tuple(waiting)


class _Contradiction(t.NamedTuple):
    """A parameter that others set to another value than the declared one."""

    directive: config.Directive
    name: str
    value: str


def _contradictions(wanted: Wanted, taken: Takeover) -> list[_Contradiction]:
    rows = [directive for directive in taken.after.directives if directive.kind == "options"]
    return [
        _Contradiction(directive, name, value)
        for directive in rows
        for name, value in config.parse_assignments(directive.rest).items()
        if name in wanted.options.get(directive.module, {}) and not same_value(wanted.options[directive.module][name], value.strip('"'))
    ]


def conflicts(wanted: Wanted, found: Found) -> list[str]:
    """Foreign options lines that set a declared parameter to another value: the order of file names decides which one wins."""
    taken = takeover(wanted, found)
    return [
        "%s line %d sets %s %s=%s, but %s is declared, and modprobe reads both: %s"
        % (
            *each.directive[3:],
            each.directive.module,
            each.name,
            each.value,
            wanted.options[each.directive.module][each.name],
            _remedy(wanted, taken, each.directive[3:], joint="or "),
        )
        for each in _contradictions(wanted, taken)
    ]


def without_effect(wanted: Wanted, found: Found) -> list[str]:
    """Options of modules that nothing loads, such as mlx4 options on an mlx5 node: the kernel ignores them silently."""
    if not wanted.load_now:
        return []
    names = kernel_names(wanted, found)
    listed = {entry.name for entry in found.entries}
    return [
        "options of %s have no effect now: the module is neither loaded nor declared in load" % module
        for module in sorted(wanted.options)
        if not is_loaded(module, found) and module not in names and module not in listed
    ]
