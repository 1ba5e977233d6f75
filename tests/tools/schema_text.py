# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Formats the texts of schema.py: Python tables, module documentation, tables of variables. Pure."""

from __future__ import annotations

import json
import re
import textwrap
import typing as t

import yaml

Option = t.Mapping[str, t.Any]
Options = t.Mapping[str, Option]

_CODE_WIDTH = 160
_TEXT_WIDTH = 120
_INTRODUCTION = """\
All variables of the collection. `make schema` makes this page from the argument specifications of the roles and from
`meta/argument_specs.yml`. Where no default is shown, the description tells what applies.
"""
# Note in modules that are not part of the public interface.
_SERVES = "It serves the playbooks and roles of this collection, and its options change with those."
_MODULES = """\
# Modules

`make schema` makes this page from the documentation of the modules. `ansible-doc` shows all of it, for example `ansible-doc -t module rdma.ofed.ipoib`.

## For your playbooks

Beside these modules, there are the inventory plugin `rdma.ofed.fabric` ([fabric.md](fabric.md#leaf-by-leaf)), and the filters `rdma.ofed.designated_sm`,
`rdma.ofed.fabric_managers` and `rdma.ofed.slurm_topology`.

%s
## For the playbooks and roles of the collection

The options of these modules may change with those playbooks and roles. The same holds for the lookups `rdma.ofed.declared` and
`rdma.ofed.hosts_to_serve`, and for the filters of the fact `rdma_pending`: `rdma.ofed.merge_pending`, `rdma.ofed.activation` and
`rdma.ofed.pending_words`.

%s"""
_ORDER = ("description", "type", "elements", "required", "choices", "default")
_MARKUP = re.compile(r"\b([A-Z]{1,2})\(((?:[^()\\]|\\.|\([^()]*\))*)\)")


def python(value: t.Any, depth: int = 0, lead: int = 0) -> str:
    """Return a literal as ruff formats it. `lead` is the text before it on the first line."""
    flat = _flat(value)
    if 4 * depth + lead + len(flat) + 1 <= _CODE_WIDTH - (0 if depth else 50) or not isinstance(value, (dict, list)) or not value:
        return flat
    inside = " " * 4 * (depth + 1)
    if isinstance(value, dict):
        rows = ["%s: %s" % (_flat(key), python(item, depth + 1, len(_flat(key)) + 2)) for key, item in value.items()]
    else:
        rows = [python(item, depth + 1) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "%s\n%s%s%s" % (opening, "".join("%s%s,\n" % (inside, row) for row in rows), " " * 4 * depth, closing)


def _flat(value: t.Any) -> str:
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (_flat(key), _flat(item)) for key, item in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(_flat, value))
    return json.dumps(value) if isinstance(value, str) else repr(value)


def paragraphs(option: Option) -> list[str]:
    """Return the description as a list with one line per paragraph."""
    description = option["description"]
    return [" ".join(text.split()) for text in ([description] if isinstance(description, str) else description)]


def module_entry(name: str, variable: Option, names: t.Mapping[str, str], kept: Option | None = None, depth: int = 1) -> str:
    """Return the documentation of a module option that gets a variable.

    `names` maps variables to the options that get them. `kept` is the existing documentation of the option; if there is one, only its suboptions come from the
    variable.
    """
    shown = kept or variable
    pad = "  " * depth
    lines = ["%s%s:" % (pad, name)]
    for key in _ORDER:
        if key == "description":
            lines += _described([_renamed(text, names) for text in paragraphs(shown)], pad + "  ")
        elif shown.get(key) is not None:
            lines.append("%s  %s: %s" % (pad, key, inline(shown[key])))
    text = "\n".join(lines) + "\n"
    if "options" not in variable:
        return text
    entries = [module_entry(key, option, names, depth=depth + 2) for key, option in variable["options"].items()]
    return "%s%s  suboptions:\n%s" % (text, pad, "".join(entries))


def parse(text: str) -> t.Any:
    """Parse a safe YAML document with libyaml; Python's own parser takes ten times as long."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def inline(value: t.Any) -> str:
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=True, width=10000)
    return text.removesuffix("\n...\n").rstrip("\n").replace("'", '"')


def _described(texts: t.Sequence[str], pad: str) -> list[str]:
    one = "%sdescription: %s" % (pad, texts[0])
    if len(texts) == 1 and len(one) <= _TEXT_WIDTH and _is_plain(texts[0]):
        return [one]
    lines = [pad + "description:"]
    for text in texts:
        first = pad + "  - "
        if not _is_plain(text):
            lines.append(first + ">-")
            first = pad + "    "
        lines += textwrap.wrap(text, _TEXT_WIDTH, initial_indent=first, subsequent_indent=pad + "    ", break_long_words=False, break_on_hyphens=False)
    return lines


def _is_plain(text: str) -> bool:
    try:
        return bool(parse("- " + text) == [text])
    except yaml.YAMLError:
        return False


def _renamed(text: str, names: t.Mapping[str, str]) -> str:
    """Adapt the text of a role for a module: references to variables become references to options, or plain names."""

    def rename(match: re.Match[str]) -> str:
        kind, inside = match[1], match[2]
        head = re.match(r"[a-z_0-9]+", inside)
        if kind != "O" or "#" in inside or head is None:
            return match[0]
        return "O(%s%s)" % (names[head[0]], inside[head.end() :]) if head[0] in names else "C(%s)" % inside

    return _MARKUP.sub(rename, text)


def markdown(text: str) -> str:
    """Convert the markup of Ansible's documentation to Markdown for a table cell."""

    def word(match: re.Match[str]) -> str:
        owner, _hash, inside = match[2].replace("\\)", ")").rpartition("#")
        if match[1] == "O":
            inside = inside.rpartition(":")[2].replace("=", ": ")
        return "`%s` of `%s`" % (inside, owner) if owner else "`%s`" % inside

    return _MARKUP.sub(word, text).replace("|", "\\|")


def _kind(option: Option) -> str:
    return "%s of %s" % (option["type"], option["elements"]) if "elements" in option else str(option["type"])


def _default(option: Option) -> str:
    if option.get("required"):
        return "required"
    return "`%s`" % inline(option["default"]) if option.get("default", "") not in ("", None) else ""


def _meaning(option: Option, texts: t.Sequence[str]) -> str:
    """Return the description, with the choices that it does not name."""
    meaning = " ".join(map(markdown, texts))
    choices = ["`%s`" % choice for choice in option.get("choices", ())]
    return meaning if all(choice in meaning for choice in choices) else "%s One of %s." % (meaning, ", ".join(choices))


def _table(title: str, options: Options, cells: t.Callable[[Option], list[str]]) -> str:
    rows = ["| `%s` | %s |\n" % (name, " | ".join(cells(option))) for name, option in options.items()]
    return "| %s |\n|%s\n%s" % (title, "---|" * (title.count("|") + 1), "".join(rows))


def _nested(path: str, options: Options, title: str, cells: t.Callable[[Option], list[str]]) -> str:
    """Return the tables of nested options, at all levels."""
    text = ""
    for name, option in options.items():
        if "options" in option:
            place = path + name + ("[]" if option["type"] == "list" else "")
            text += "\n`%s`:\n\n%s" % (place, _table(title.replace("variable", "key"), option["options"], cells))
            text += _nested(place + ".", option["options"], title, cells)
    return text


def table(options: Options) -> str:
    """Return the table for a role's README, with the first paragraph of each description."""

    def cells(option: Option) -> list[str]:
        return [_kind(option), _default(option), _meaning(option, paragraphs(option)[:1])]

    title = "variable | type | default | meaning"
    return _table(title, options, cells) + _nested("", options, title, cells)


def _read_by(places: t.Sequence[str]) -> list[str]:
    """Return the line with the readers, an empty list if only the validation reads the variable."""
    return ["Read by %s." % ", ".join(places)] if places else []


def reference(owners: t.Mapping[str, Options], readers: t.Mapping[str, t.Sequence[str]]) -> str:
    """Return docs/variables.md: all variables, and the readers of site variables."""

    def cells(option: Option) -> list[str]:
        return [_kind(option), _default(option), _meaning(option, paragraphs(option))]

    title = "variable | type | default | meaning"
    text = "# Variables\n\n" + _INTRODUCTION
    for owner, options in owners.items():
        text += "\n## %s\n\n" % ("The site and its playbooks" if owner == "site" else "Role `%s`" % owner)
        if owner == "site":
            options = {name: {**option, "description": [*paragraphs(option), *_read_by(readers[name])]} for name, option in options.items()}
        text += _table(title, options, cells) + _nested("", options, title, cells)
    return text


def modules_page(modules: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return docs/modules.md, user-facing modules first."""
    tables: dict[bool, str] = {False: "", True: ""}
    for name, documented in modules.items():
        tables[_SERVES in documented.get("notes", ())] += "| `%s` | %s |\n" % (name, markdown(documented["short_description"]))
    return _MODULES % tuple("| module | what it does |\n|---|---|\n%s" % rows for rows in tables.values())
