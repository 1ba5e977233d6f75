# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serialise found states between a node and the controller: named tuples as JSON values, and back. Pure.

The types of the fields determine how a value is parsed. Those of found states are evaluated only on the controller, so a node may have a
Python without `X | None`. Types that are parsed on a node, as by `read_row`, must exist in Python 3.8, such as `t.Tuple`.
Every type that a field names must be imported where its class is defined, not just for the type checker.
"""

from __future__ import annotations

import collections.abc
import enum
import functools
import types
import typing as t

T = t.TypeVar("T")

_NOTHING = type(None)
_UNIONS = (t.Union, getattr(types, "UnionType", t.Union))
_MAPPINGS = (dict, collections.abc.Mapping)
_SEQUENCES: t.Mapping[t.Any, t.Callable[[t.Iterable[t.Any]], t.Any]] = {
    tuple: tuple,
    list: list,
    frozenset: frozenset,
    set: set,
    collections.abc.Sequence: tuple,
    collections.abc.Set: frozenset,
}


def encode(value: t.Any) -> t.Any:
    """A value made of named tuples, collections and scalars, in JSON types. Raises TypeError for any other type."""
    if isinstance(value, enum.Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, collections.abc.Mapping):
        # Pairs, because the keys of JSON are strings, and those of a found state may be of other types.
        return [[encode(key), encode(item)] for key, item in value.items()]
    if isinstance(value, (frozenset, set)):
        return sorted((encode(item) for item in value), key=repr)
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    raise TypeError("a %s cannot be part of a found state" % type(value).__name__)


def as_data(value: t.Any) -> t.Any:
    """A value in the form of facts and results: named tuples as mappings and other tuples as lists, at every level."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: as_data(item) for name, item in zip(value._fields, value)}
    if isinstance(value, dict):
        return {key: as_data(item) for key, item in value.items()}
    return [as_data(item) for item in value] if isinstance(value, (tuple, list)) else value


def decode(form: type[T], data: t.Any) -> T:
    """The inverse of `encode` for the type `form`. Raises TypeError or ValueError for other data."""
    return t.cast(T, _read(form, data))


def read_row(form: type[T], row: t.Any) -> T | None:
    """The named tuple with the fields of a mapping; None for malformed data."""
    # A type that this Python does not support is our error, not one of the row.
    names = t.cast("t.Any", form)._fields
    _fields(t.cast("t.Any", form))
    try:
        return decode(form, [row[name] for name in names])
    except (KeyError, TypeError, ValueError):
        return None


@functools.lru_cache(maxsize=None)
def _fields(form: t.Any) -> tuple[t.Any, ...]:
    hints = t.get_type_hints(form)
    return tuple(hints[name] for name in form._fields)


def _read(form: t.Any, data: t.Any) -> t.Any:
    origin, arguments = t.get_origin(form), t.get_args(form)
    if form is t.Any:
        return data
    if origin in _UNIONS:
        return _read_union(arguments, data)
    if origin in _MAPPINGS:
        return {_read(arguments[0], key): _read(arguments[1], item) for key, item in data}
    if origin in _SEQUENCES and not isinstance(data, str):
        return _SEQUENCES[origin](_read_items(arguments, data))
    if isinstance(form, type) and issubclass(form, tuple) and hasattr(form, "_fields"):
        return form(*(_read(field, item) for field, item in zip(_fields(form), _of_length(data, len(_fields(form))))))
    if isinstance(form, type) and issubclass(form, enum.Enum):
        return form(data)
    # JSON does not distinguish whole numbers from others.
    if origin or not isinstance(data, (int, float) if form is float else form):
        raise TypeError("%r is no %s" % (data, form))
    return data


def _read_union(arguments: tuple[t.Any, ...], data: t.Any) -> t.Any:
    """Parse a union. At most one of its types may be other than None, because JSON could not distinguish them."""
    if data is None:
        return None
    (form,) = (argument for argument in arguments if argument is not _NOTHING)
    return _read(form, data)


def _read_items(arguments: tuple[t.Any, ...], data: t.Any) -> t.Iterable[t.Any]:
    if (len(arguments) == 2 and arguments[1] is Ellipsis) or len(arguments) == 1:
        return [_read(arguments[0], item) for item in data]
    return [_read(argument, item) for argument, item in zip(arguments, _of_length(data, len(arguments)))]


def _of_length(data: t.Any, length: int) -> t.Any:
    if len(data) != length:
        raise ValueError("%d values where %d belong" % (len(data), length))
    return data
