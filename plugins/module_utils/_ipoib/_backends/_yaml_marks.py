# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML files with the lines of each key, to take keys out of them and leave every other byte in place. Pure.

The packages of tools with such files depend on PyYAML, but another Python than that of the distribution may lack it.
"""

from __future__ import annotations

import re
import typing as t

try:
    import yaml
except ImportError:
    HAS_YAML = False
else:
    HAS_YAML = True

SCALAR, SEQUENCE, MAPPING = "scalar", "sequence", "mapping"
# Line ends that PyYAML counts and other readers do not, a byte order mark, which shifts columns, and tabs, which mean something else to each reader.
_REFUSED = frozenset("\t\r\x85\u2028\u2029\ufeff")

_DEEPEST = 20


class Item(t.NamedTuple):
    """One key of a mapping, with its value."""

    tag: str
    """The type of the key."""
    value: Node
    first: int
    """The line of the key, counted from 0."""
    last: int
    """The last line of the value."""
    alone: bool
    """Whether nothing but blanks precedes the key on its line."""


class Node(t.NamedTuple):
    """One value."""

    kind: str
    tag: str
    text: str = ""
    """Of a scalar."""
    elements: tuple[Node, ...] = ()
    items: t.Mapping[str, Item] = {}
    block: bool = False
    """Whether a collection is in block style, with one key or element per line."""

    def get(self, key: str) -> Node | None:
        return self.items[key].value if key in self.items else None

    def at(self, key: str) -> str:
        """The text of a scalar value; "" without the key."""
        return self.items[key].value.text if key in self.items else ""

    def content(self) -> t.Any:
        """What it says, whatever the style."""
        return (self.kind, self.tag, self.text, [each.content() for each in self.elements], {key: item_content(item) for key, item in self.items.items()})

    def without(self, path: t.Sequence[str]) -> Node:
        """The mapping without the key that a path leads to."""
        key, rest = path[0], path[1:]
        items = dict(self.items)
        if rest:
            items[key] = items[key]._replace(value=items[key].value.without(rest))
        else:
            del items[key]
        return self._replace(items=items)


def item_content(item: Item) -> t.Any:
    return item.tag, item.value.content()


def read(text: str) -> Node | None:
    """The only document of a text. None for what is no YAML, and for what other parsers may read differently: anchors, merge keys, tags and repeated keys."""
    if not HAS_YAML or _REFUSED.intersection(text) or _is_deep(text):
        return None
    try:
        plain = all(map(_is_plain, yaml.parse(text, Loader=yaml.SafeLoader)))
        node = yaml.compose(text, Loader=yaml.SafeLoader) if plain else None
        return _node(node, text.split("\n")) if node is not None else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _is_deep(text: str) -> bool:
    """Whether brackets are nested so deeply that PyYAML would take long, or reach the limit of recursion."""
    depth = 0
    for mark in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if mark in "[{" else max(0, depth - 1)
        if depth > _DEEPEST:
            return True
    return False


def _is_plain(event: yaml.Event) -> bool:
    if isinstance(event, yaml.DocumentStartEvent):
        return not event.version and not event.tags
    return getattr(event, "anchor", None) is None and getattr(event, "tag", None) is None


def _node(node: yaml.Node, lines: t.Sequence[str]) -> Node:
    """Raises ValueError for keys that are no scalars, are repeated, or merge."""
    if isinstance(node, yaml.ScalarNode):
        return Node(SCALAR, node.tag, node.value)
    if isinstance(node, yaml.SequenceNode):
        return Node(SEQUENCE, node.tag, elements=tuple(_node(each, lines) for each in node.value), block=not node.flow_style)
    if not isinstance(node, yaml.MappingNode):
        raise ValueError
    items: dict[str, Item] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in items or key.tag == "tag:yaml.org,2002:merge":
            raise ValueError
        first = key.start_mark.line
        alone = not lines[first][: key.start_mark.column].strip(" ")
        items[key.value] = Item(key.tag, _node(value, lines), first, _last(value, lines), alone)
    return Node(MAPPING, node.tag, items=items, block=not node.flow_style)


def _last(node: yaml.Node, lines: t.Sequence[str]) -> int:
    """The last line of a value. The end mark of a block is that of what follows it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last(last[1] if isinstance(node, yaml.MappingNode) else last, lines)
    line: int = node.end_mark.line
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        while line > node.start_mark.line and ((node.end_mark.line == line and not node.end_mark.column) or not lines[line].strip()):
            line -= 1
    return line


def cut(text: str, items: t.Iterable[Item]) -> str:
    """The text without the lines of keys."""
    gone = {number for item in items for number in range(item.first, item.last + 1)}
    return "".join(line for number, line in enumerate(text.splitlines(keepends=True)) if number not in gone)
