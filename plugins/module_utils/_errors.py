# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The exceptions of the collection; a module's main() turns them into fail_json."""

from __future__ import annotations

import difflib
import typing as t


class Unshown(str):
    """A placeholder in messages for a value that must not be shown. It is not quoted."""

    def __repr__(self) -> str:
        return str(self)


class Problem(t.NamedTuple):
    """One problem of the input, worded so that its author can correct it."""

    variable: str
    """The place in the input, as a path: `ipoib_interfaces[0].mtu`."""
    value: t.Any
    """The value found."""
    allowed: str
    """The allowed values."""
    hint: str = ""
    """The reason and the next step, where these are not obvious."""

    def __str__(self) -> str:
        text = "%s is %s; allowed: %s" % (self.variable, describe(self.value), self.allowed)
        return "%s (%s)" % (text, self.hint) if self.hint else text


def describe(value: t.Any) -> str:
    """A value in the form in which the user recognises it in an inventory."""
    if value is None:
        return "not set"
    # Values from ansible-core 2.19 are tagged subclasses, whose repr is that of the base type.
    try:
        return repr(value)
    except (ValueError, RecursionError):
        # A number with thousands of digits, or thousands of nested levels.
        return "too much to show"


def label(key: t.Any) -> str:
    """A mapping key, which may be of any type in YAML, as a part of a path."""
    return key if isinstance(key, str) else describe(key)


def nearest(name: t.Any, known: t.Iterable[str]) -> str:
    """The known name that was most likely meant; "" where none is similar."""
    near = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    return near[0] if near else ""


def did_you_mean(name: t.Any, known: t.Iterable[str]) -> str:
    """A hint for an unknown name; "" where no known name is similar."""
    near = nearest(name, known)
    return "did you mean %s?" % near if near else ""


def unknown_keys(path: str, entry: t.Mapping[t.Any, t.Any], keys: t.Sequence[str]) -> list[Problem]:
    """Problems of the keys of an entry that are not in `keys`."""
    allowed = "one of the keys " + ", ".join(keys)
    hints = {key: did_you_mean(key, keys) for key in entry if key not in keys}
    return [Problem("%s.%s" % (path, label(key)), entry[key], allowed, "there is no such key" + (hint and "; " + hint)) for key, hint in hints.items()]


class RdmaError(Exception):
    """A failure that the user can act on: `msg` says what was attempted and what to do, `details` go to fail_json."""

    def __init__(self, msg: str, **details: t.Any) -> None:
        super().__init__(msg)
        self.msg = msg
        self.details = details


class InvalidInput(RdmaError):
    """The declared state is invalid. Raised before any change; contains all problems, not just the first."""

    def __init__(self, problems: t.Sequence[Problem]) -> None:
        lines = [str(problem) for problem in problems]
        super().__init__("; ".join(lines), problems=lines)
        self.problems = tuple(problems)


def require_none(problems: t.Sequence[Problem]) -> None:
    """Raise InvalidInput where there are any problems."""
    if problems:
        raise InvalidInput(problems)


class Refused(RdmaError):
    """Possible, but dangerous: `msg` says what, why and how to override."""


class Unsupported(RdmaError):
    """The platform does not support it."""


class Impossible(RdmaError):
    """A tool reports that it can't do what is wanted."""


class CommandFailed(RdmaError):
    """A tool ended with an unexpected exit status."""


class UnexpectedOutput(RdmaError):
    """A tool printed something that its parser does not know; `msg` quotes the line."""


class Undecided(Exception):
    """A condensed state does not contain enough information. The module on the node has to decide."""
