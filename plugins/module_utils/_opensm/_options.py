# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set keys of opensm.conf on top of the template that the installed opensm writes. Pure.

The template is authoritative: builds differ in their keys (a vendor's build has more), their defaults and their routing engines. It also
shows what each key accepts: the default value shows the type, the comment the choices. Nothing is taken from
another version.
"""

from __future__ import annotations

import re
import typing as t

from .._codes import NUMBER, is_secret, number
from .._errors import Problem, label, nearest, require_none
from .._foreign import BOOLEAN, is_boolean, is_true
from .._host._files import HEADER

# How opensm writes a string that is not set.
UNSET = "(null)"
HIDDEN = "(hidden)"
# The variables that hold secrets.
SECRET = frozenset(("opensm_sm_key", "opensm_secret_options"))

# Keys that have an option of the module and a variable of the role of their own.
FIRST_CLASS = ("routing_engine", "qos", "sm_key", "log_max_size", "log_flags")

# Words in the names of keys that hold a secret, and the exceptions: keys with such a name and no secret.
_SECRET_WORDS = re.compile("key|seed|pass|secret|token")
_PLAIN = ("m_key_lease_period", "m_key_lookup", "m_key_protection_level")

# opensm reads a line into a buffer of this size, including its end; the remainder would become a line of its own.
_LINE = 1022

# The kinds that the default value alone reveals.
_FORMS: t.Mapping[str, str] = {
    "boolean": "TRUE|FALSE",
    "hex": "0x[0-9a-fA-F]+",
    "number": "[0-9]+",
    "signed": "-[0-9]+",
    "pair": "[0-9]{1,5} [0-9]{1,5}",
    "ratio": "[0-9]{1,5}:[0-9]{1,5}",
}

# In comments of the template: "[off|local|loopback]", "Values are both, out, in and off", "Supported engines: minhop, updn".
_BRACKETS = re.compile(r"\[([A-Za-z]\w*(?:\|\w+)+)\]")
_VALUES = re.compile(r"Values are ([a-z]+(?:, [a-z]+)* and [a-z]+)(?: |\Z)")
_ENGINES = re.compile(r"Supported engines: ([\w-]+ *(?:, *[\w-]+ *)*)")
# A vendor's list: "dfsssp (EXPERIMENTAL), ar_updn (AR)".
_REMARK = re.compile(r"\([A-Z]+\)")

# Choices that opensm accepts and its template does not list.
_MORE_CHOICES = {"routing_engine": ("no_fallback",)}

# Ranges narrower than the type allows. Outside of them opensm falls back to its default and continues (osm_subn_verify_config).
_RANGES: t.Mapping[str, tuple[tuple[int, int], ...]] = {
    "console_port": ((1, 65535),),
    "fdr10": ((0, 2),),
    "force_link_speed": ((0, 7), (15, 15)),
    "force_link_speed_ext": ((0, 7), (30, 31)),
    "force_link_width": ((0, 31), (255, 255)),
    "lash_start_vl": ((0, 15),),
    "lmc": ((0, 7),),
    "m_key_lease_period": ((0, 65535),),
    "m_key_protection_level": ((0, 3),),
    "max_op_vls": ((0, 5),),
    "max_reverse_hops": ((0, 65535),),
    "max_wire_smps": ((0, 0x7FFFFFFF),),
    "max_wire_smps2": ((0, 0x7FFFFFFF),),
    "nue_max_num_vls": ((0, 15),),
    "perfmgr_max_outstanding_queries": ((1, 0xFFFFFFFF),),
    "perfmgr_sweep_time_s": ((1, 65535),),
    "sm_priority": ((0, 15),),
    "sm_sl": ((0, 15),),
    "subnet_timeout": ((0, 31),),
}


class Option(t.NamedTuple):
    """One key of the template."""

    key: str
    default: str
    kind: str
    """`boolean`, `hex`, `number`, `signed`, `pair`, `ratio`, `choice`, `choices` or `text`."""
    choices: tuple[str, ...] = ()

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The ranges of a number: what the field of opensm holds, as far as the template shows."""
        if self.key in _RANGES:
            return _RANGES[self.key]
        if self.kind == "signed":
            return ((-0x80000000, 0x7FFFFFFF),)
        digits = len(self.default) - 2 if self.kind == "hex" else 8
        return ((0, 16 ** (digits if digits > 1 else 8) - 1),)


def looks_secret(key: t.Any) -> bool:
    """Whether to hide the value of a key. Unknown keys, such as a misspelled key or one of another build, are judged by their name."""
    text = str(key).lower()
    return is_secret(key) or (text not in _PLAIN and _SECRET_WORDS.search(text.replace("pkey", "")) is not None)


def variable_of(key: t.Any) -> str:
    """The variable of the role opensm that sets a key; for messages."""
    if key in FIRST_CLASS:
        return "opensm_%s" % key
    return "%s.%s" % ("opensm_secret_options" if is_secret(key) else "opensm_options", label(key))


def split(line: str) -> tuple[str, str] | None:
    """Key and value of a line as opensm reads it; None for a comment or an empty line. A `#` anywhere ends the line."""
    words = line.split("#", 1)[0].split(None, 1)
    if not words:
        return None
    value = words[1].strip() if len(words) == 2 else ""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return words[0], value


def _kind(key: str, value: str, comment: str) -> tuple[str, tuple[str, ...]]:
    """Kind and choices, from the default value and the comment above the key."""
    for kind, form in _FORMS.items():
        if re.fullmatch(form, value):
            return kind, ()
    engines = _ENGINES.search(_REMARK.sub("", comment))
    if engines:
        return "choices", tuple(engine.strip() for engine in engines.group(1).split(",")) + _MORE_CHOICES.get(key, ())
    listed = _BRACKETS.search(comment) or _VALUES.search(comment)
    choices = tuple(re.split(r"\||, | and ", listed.group(1))) if listed else ()
    return ("choice", choices) if value in choices else ("text", ())


def parse_template(text: str) -> dict[str, Option]:
    """The keys of a template, in its order. The comment of a key is the block of lines directly above it."""
    options: dict[str, Option] = {}
    comment: list[str] = []
    for line in text.splitlines():
        found = split(line)
        if found is None:
            if line.startswith("#"):
                comment.append(line.strip("# \t"))
            else:
                comment = []
            continue
        key, value = found
        options[key] = Option(key, value, *_kind(key, value, " ".join(comment)))
        comment = []
    return options


def _is_line(value: t.Any, key: str) -> bool:
    """Whether opensm reads this value back unchanged."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return False
    text = str(value)
    if not is_plain(text) or split("%s %s" % (key, text)) != (key, text):
        return False
    # opensm counts bytes, not characters.
    return len(("%s %s" % (key, text)).encode("utf-8")) <= _LINE


def is_plain(text: str) -> bool:
    """Whether a text is one printable line without a comment. Surrogates, which encode no character, are not printable."""
    return bool(text) and text.isprintable() and "#" not in text


def words(value: t.Any) -> list[t.Any]:
    """The items of a list, or the words of a text, separated by commas or whitespace."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return [word for word in re.split(r"[,\s]+", value) if word] if isinstance(value, str) else [value]


def _unset(value: t.Any, option: Option) -> bool:
    """Whether the value unsets an optional key. For other keys opensm would take `(null)` as the value, or crash."""
    return value in (None, "", UNSET) and option.default == UNSET and option.kind in ("text", "choices")


def _inwords(option: Option) -> str:
    kind = option.kind
    if kind in ("hex", "number", "signed"):
        form = "0x%x" if kind == "hex" else "%d"
        parts = [form % low if low == high else "%s to %s" % (form % low, form % high) for low, high in option.ranges]
        return "a number, %s" % " or ".join(parts)
    return {
        "boolean": BOOLEAN,
        "pair": 'a service level and a value, such as "3 10", or a list of them',
        "ratio": "two numbers with a colon, such as 0:0",
        "choice": ", ".join(option.choices),
        "choices": "one or more of %s, in the order to try them" % ", ".join(option.choices),
        "text": "a text of one line, without # and without blanks at its ends",
    }[kind]


def _texts(option: Option, value: t.Any) -> list[str] | None:
    """The value as opensm reads it, one string per line; None for a value that the key does not accept. Only a pair can have several lines."""
    kind = option.kind
    if _unset(value, option):
        return [UNSET]
    if kind == "boolean":
        return ["TRUE" if is_true(value) else "FALSE"] if is_boolean(value) else None
    if kind in ("hex", "number", "signed"):
        given = number(value, "-?(?:%s)" % NUMBER if kind == "signed" else NUMBER)
        if given is None or not any(low <= given <= high for low, high in option.ranges):
            return None
        return ["0x%0*x" % (len(option.default) - 2, given) if kind == "hex" else "%d" % given]
    if kind in ("pair", "ratio"):
        items = list(value) if kind == "pair" and isinstance(value, (list, tuple)) else [value]
        return items if items and all(isinstance(item, str) and re.fullmatch(_FORMS[kind], item) for item in items) else None
    if kind == "choice":
        # YAML reads a bare `off` as a boolean.
        word = {False: "off", True: "on"}[value] if isinstance(value, bool) else value
        return [word] if word in option.choices else None
    if kind == "choices":
        chosen = words(value)
        good = bool(chosen) and all(word in option.choices for word in chosen) and len(set(chosen)) == len(chosen)
        return [",".join(chosen)] if good else None
    return [str(value)] if _is_line(value, option.key) else None


def problems(declared: t.Mapping[t.Any, t.Any], options: t.Mapping[str, Option]) -> list[Problem]:
    """Problems of the declared values, by key."""
    found = []
    for key, value in declared.items():
        name = variable_of(key)
        shown = HIDDEN if looks_secret(key) and value is not None else value
        if key not in options:
            known = nearest(key, options) or "one of the %d keys that this opensm knows" % len(options)
            found.append(Problem(name, shown, known, "the opensm on this host has no such key: opensm -F /dev/null -c FILE writes all that it has"))
        elif _texts(options[key], value) is None:
            found.append(Problem(name, shown, _inwords(options[key]), "this opensm has %s" % options[key].default if not is_secret(key) else ""))
    return found


def _untyped(value: t.Any) -> str:
    """A value as opensm reads it, as far as that can be told without a template."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def render(template: str, declared: t.Mapping[str, t.Any]) -> str:
    """The template with the declared keys set in place and all else unchanged; without a template, the declared keys alone.

    Raises InvalidInput for keys and values that the template does not allow.
    """
    if not template:
        return HEADER + "".join("%s %s\n" % (key, _untyped(value)) for key, value in declared.items())
    options = parse_template(template)
    require_none(problems(declared, options))
    lines: list[str] = []
    done: set[str] = set()
    for line in template.splitlines():
        found = split(line)
        if found is None or found[0] not in declared:
            lines.append(line)
        elif found[0] not in done:
            done.add(found[0])
            lines += ["%s %s" % (found[0], text) for text in _texts(options[found[0]], declared[found[0]]) or ()]
    return HEADER + "\n".join(lines) + "\n"
