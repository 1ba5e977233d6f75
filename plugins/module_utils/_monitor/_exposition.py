# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The text format of Prometheus. Pure."""

from __future__ import annotations

import typing as t

Labels = t.Tuple[t.Tuple[str, str], ...]
Samples = t.Dict[Labels, float]
"""A series each: node_exporter drops a file with two values of one."""

# Names of nodes come from the fabric and may have any character.
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Metric(t.NamedTuple):
    """A name of the format. That of a counter ends in `_total`."""

    kind: str
    """`gauge` or `counter`."""
    help: str


def labels(**values: object) -> Labels:
    return tuple((name, str(value)) for name, value in values.items())


def _value(number: float) -> str:
    return "%d" % number if number % 1 == 0 else repr(round(number, 3))


def _series(name: str, pairs: Labels, number: float) -> str:
    inside = ",".join('%s="%s"' % (label, value.translate(_ESCAPES)) for label, value in pairs)
    return "%s{%s} %s\n" % (name, inside, _value(number))


def render(metrics: t.Mapping[str, Metric], samples: t.Mapping[str, Samples]) -> str:
    """Those that have samples, in the order of `metrics`."""
    parts = []
    for name, metric in metrics.items():
        found = samples.get(name)
        if found:
            parts.append("# HELP %s %s\n# TYPE %s %s\n" % (name, metric.help, name, metric.kind))
            parts += [_series(name, pairs, number) for pairs, number in found.items()]
    return "".join(parts)
