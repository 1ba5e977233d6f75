# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is taken out of the files of others, and what is given back. Pure.

Declared options, modules, limits and the rule for device names are taken out. What can't be taken out stays, and is named with the reason.
"""

from __future__ import annotations

import enum
import posixpath
import typing as t

from .._host._saved import Saved, settled, text_of
from . import _config as config
from . import _limits as limits
from ._edits import Edit, with_rule, without_lines, without_modules, without_options
from ._saved import LEDGER

if t.TYPE_CHECKING:
    from ._found import Found, Other
    from ._wanted import Wanted

_RULES = "rdma_rename"


class Part(enum.Enum):
    """What a file is about."""

    OPTIONS = "options"
    RULE = "rule"
    MODULES = "modules"
    SESSIONS = "sessions"
    SERVICES = "services"


# The parts that images contain.
OF_IMAGES = (Part.OPTIONS, Part.RULE)


class File(t.NamedTuple):
    """A file of others that changes."""

    path: str
    before: str
    after: str
    part: Part


class Takeover(t.NamedTuple):
    """What changes in the files of others."""

    after: Found
    """The state of the node after that. Lines have the numbers that they had before."""
    adopted: tuple[File, ...] = ()
    restored: tuple[File, ...] = ()
    left: t.Mapping[tuple[str, int], str] = {}
    """By path and line: why a setting stays that was to be taken over."""
    changed: tuple[str, ...] = ()
    """The files that are not restored, because they have changed since."""

    @property
    def files(self) -> tuple[File, ...]:
        return (*self.adopted, *self.restored)

    def record(self, found: Found) -> tuple[str, str]:
        """The text of the record before and after that."""
        return text_of(found.saved), text_of(settled(found.saved, [file.path for file in self.restored]))


def naming_of(wanted: Wanted, found: Found) -> config.Naming:
    """How the devices of this node are to be named."""
    return config.Naming(wanted.device_names, wanted.rails, found.stack_naming)


def part_of(path: str) -> Part:
    """What a file is about, by its path."""
    if path == config.NAMING_PATH:
        return Part.RULE
    if "/security/" in path:
        return Part.SESSIONS
    if "/systemd/" in path:
        return Part.SERVICES
    return Part.OPTIONS if posixpath.basename(posixpath.dirname(path)) == "modprobe.d" else Part.MODULES


def takeover(wanted: Wanted, found: Found) -> Takeover:
    """Take what is declared out of the files of others, or give them back."""
    if wanted.restore:
        return _restored(found)
    if not wanted.adopt or not found.others:
        return Takeover(found)
    edits = {**_edits(wanted, found, found.others), **_limits(wanted, found, found.others)}
    left: dict[tuple[str, int], str] = {}
    done: dict[str, Edit] = {}
    for path, edit in sorted(edits.items()):
        other = found.others[path]
        why = other.obstacle or ("" if edit.text else other.needed)
        left.update({(path, line): reason for line, reason in {**edit.left, **dict.fromkeys(edit.taken if why else (), why)}.items()})
        if edit.taken and not why:
            done[path] = edit
    files = {found.others[path].path: File(found.others[path].path, found.others[path].text, edit.text, part_of(path)) for path, edit in done.items()}
    return Takeover(_after(found, done), tuple(files.values()), left=left)


def _edits(wanted: Wanted, found: Found, others: t.Mapping[str, Other]) -> dict[str, Edit]:
    """By path: the files for modprobe, the lists of modules, and the rule."""
    catalogue = found.catalogue
    modules = {catalogue.resolve(name) or name for name in wanted.load}
    edits = {}
    for path, other in others.items():
        part = part_of(path)
        if part is Part.OPTIONS:
            edits[path] = without_options(other.text, wanted.options)
        elif part is Part.MODULES:
            edits[path] = without_modules(other.text, lambda name: (catalogue.resolve(name) or name) in modules)
        elif part is Part.RULE and naming_of(wanted, found):
            edits[path] = _with_names(other.text, naming_of(wanted, found))
    return edits


def _with_names(text: str, naming: config.Naming) -> Edit:
    """A file of udev with the rules for the names of devices. Those of rails, which change with the adapters, are in a file of the collection."""
    edit = with_rule(text, naming.rules, _RULES)
    return edit._replace(text=config.naming_text("", naming)) if naming.rails and edit.taken else edit


def _limits(wanted: Wanted, found: Found, others: t.Mapping[str, Other]) -> dict[str, Edit]:
    """By path: the files with limits. Of lower ones that count, each may hide another one."""
    low: set[limits.Line] = set()
    for limit in wanted.limits if found.may_raise else ():
        of_units = (limits.counting(lines, limit.resource) for lines in found.unit_limits.values())
        for lines in (found.session_limits, found.service_limits, *of_units):
            low.update(_low(lines, limit, others))
    edits: dict[str, Edit] = {}
    for path in sorted({line.path for line in low}):
        own = [line for line in low if line.path == path]
        edit = without_lines(others[path].text, [line.line for line in own if _is_read(line)])
        unread = {line.line: "its value is neither a number nor unlimited" for line in own if not _is_read(line)}
        edits[path] = edit._replace(left={**edit.left, **unread})
    return edits


def _is_read(line: limits.Line) -> bool:
    return line.value == limits.UNLIMITED or limits.is_limit(line.value)


def _low(lines: t.Sequence[limits.Line], limit: limits.Limit, others: t.Mapping[str, Other]) -> set[limits.Line]:
    """The lines that are lower than declared and count, also once those that can be taken out are."""
    gone: set[limits.Line] = set()
    while True:
        low = [line for line in limits.others([line for line in lines if line not in gone], limit) if line.path in others]
        free = [line for line in low if _is_read(line) and not others[line.path].obstacle]
        gone.update(free)
        if not free:
            return gone.union(low)


def _after(found: Found, edits: t.Mapping[str, Edit]) -> Found:
    """The state without what was taken out."""
    rest = {(path, line): words for path, edit in edits.items() for line, words in edit.taken.items()}
    directives = (each._replace(rest=rest.get((each.path, each.line), each.rest)) for each in found.directives)
    rule = {path: edit.text for path, edit in edits.items() if path == config.NAMING_PATH}
    return found._replace(
        files={**found.files, **rule},
        directives=tuple(each for each in directives if rest.get((each.path, each.line)) != ""),
        entries=tuple(each for each in found.entries if (each.path, each.line) not in rest),
        session_limits=tuple(each for each in found.session_limits if (each.path, each.line) not in rest),
        service_limits=tuple(each for each in found.service_limits if (each.path, each.line) not in rest),
        unit_limits={unit: tuple(each for each in lines if (each.path, each.line) not in rest) for unit, lines in found.unit_limits.items()},
    )


def _restored(found: Found) -> Takeover:
    """Give back the files that are as they were left. Those that an interrupted run has restored are in the result, too."""
    back: dict[str, Saved] = LEDGER.returning(found.saved, found.files)
    files = tuple(File(path, found.text(path), saved.text, part_of(path)) for path, saved in sorted(back.items()))
    options = {file.path: file.after for file in files if file.part is Part.OPTIONS}
    directives = [each for each in found.directives if each.path not in options]
    directives += [each for path, text in options.items() for each in config.parse_modprobe(path, text)]
    after = found._replace(files={**found.files, **{file.path: file.after for file in files}}, directives=tuple(directives))
    return Takeover(after, restored=files, changed=tuple(sorted(set(found.saved) - set(back))))


def effective(directives: t.Iterable[config.Directive], ours: str) -> dict[str, dict[str, tuple[str, str]]]:
    """The options that modprobe passes on, by module and parameter: value, and the path of the file that sets it. `ours`: the text of our file.

    modprobe reads the files in the order of their names, and the kernel takes the last value.
    """
    own = config.parse_options(ours)
    merged: dict[str, dict[str, tuple[str, str]]] = {}
    everything = [*directives, *config.parse_modprobe(config.OPTIONS_PATH, ours)]
    for directive in sorted(everything, key=lambda each: posixpath.basename(each.path)):
        if directive.kind == "options":
            for name, value in config.parse_assignments(directive.rest).items():
                plain = value.strip('"')
                is_ours = own.get(directive.module, {}).get(name) == plain
                merged.setdefault(directive.module, {})[name] = (plain, config.OPTIONS_PATH if is_ours else directive.path)
    return merged
