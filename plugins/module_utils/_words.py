# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for changes, pending work and long lists. Pure. These texts are for display: decisions use the fields of a change."""

from __future__ import annotations

import typing as t

from ._foreign import shown

if t.TYPE_CHECKING:
    import enum


class Thing(t.Protocol):
    """A property of an object on the node."""

    @property
    def kind(self) -> enum.Enum: ...
    @property
    def subject(self) -> str: ...
    @property
    def aspect(self) -> str: ...


# By kind: the name of the object, with its subject and aspect. Objects of other kinds are shown as subject and aspect.
_SUBJECTS: t.Mapping[str, str] = {
    "file": "file {subject}",
    "unit": "service {subject} {aspect}",
    "partition": "partition {subject} of fabric {aspect}",
    "broadcast_group": "broadcast group of partition {subject} {aspect}",
    "process": "process {aspect} {subject}",
    "rdma_device": "RDMA device {subject} {aspect}",
    "rdma_link": "link {subject} {aspect}",
    "module": "module {subject} {aspect}",
    "parameter": "module option {subject} {aspect}",
    "initramfs": "initramfs {subject}",
    "package": "package {subject} {aspect}",
    "stack": "stack {subject} {aspect}",
    "protection": "protected packages",
    "driver": "driver {subject} {aspect}",
    "kernel": "kernel {subject} {aspect}",
    "protocol": "upper-layer protocol {subject} {aspect}",
    "openib_conf": "openib.conf {subject}",
    "firmware": "adapter {subject} {aspect}",
    "sysctl": "sysctl {subject}",
    "firewall": "firewall {subject} {aspect}",
}

# Aspects with a more readable name; "" for those that need none.
_ASPECTS: t.Mapping[tuple[str, str], str] = {
    ("unit", "state"): "",
    ("unit", "memlock"): "restart for locked memory",
    ("unit", "nofile"): "restart for open files",
    ("package", "hold"): "",
    ("package", "state"): "",
    ("unit", "generated_files"): "generated files",
    ("interface", "state"): "link",
    ("interface", "bonding_mode"): "bonding mode",
    ("kernel", "running"): "",
    ("kernel", "gpu_driver"): "GPU driver",
    ("stack", "installer_options"): "installer options",
    ("firewall", "permanent_zone"): "zone at boot",
    ("firewall", "rule"): "rule of ufw",
    ("firmware", "version"): "firmware",
    ("firmware", "psid"): "PSID",
    ("firmware", "running_version"): "running firmware",
    ("firmware", "running_psid"): "running PSID",
}

# Words for values that are tokens, by kind and aspect.
_VALUES: t.Mapping[tuple[str, str], t.Mapping[str, str]] = {
    ("rdma_device", "name"): {"kernel": "a name of its driver", "persistent": "a name by its place"},
    ("unit", "state"): {
        "reload": "running, files to be read again",
        "restart": "running with other settings",
        "replaced": "running a program that was replaced",
    },
}


def subject(item: Thing) -> str:
    """The object of a change: `file /etc/modprobe.d/rdma-ofed.conf`, `ib0 mtu`, `service opensm.service enabled`."""
    form = _SUBJECTS.get(item.kind.value, "{subject} {aspect}")
    return shown(" ".join(form.format(subject=item.subject, aspect=aspect(item)).split()))


def aspect(item: Thing) -> str:
    """The property of the subject: `mtu`; "" where that needs no name."""
    return _ASPECTS.get((item.kind.value, item.aspect), item.aspect)


def value(item: Thing, text: str) -> str:
    """A value before or after a change."""
    return shown(_VALUES.get((item.kind.value, item.aspect), {}).get(text, text)) or "none"


def change(item: Thing, before: str, after: str) -> str:
    """A change in one line. For a file, whose content has many lines, the kind of change."""
    if item.kind.value == "file":
        return "%s %s" % ("create" if not before else "edit" if after else "remove", subject(item))
    return "%s: %s -> %s" % (subject(item), value(item, before), value(item, after))


def pending(changed: str, needs: str, why: t.Iterable[str]) -> str:
    """Pending work in one line: `module option ib_ipoib send_queue_size: 128 -> 512 (needs driver_reload; in use by ib0)`."""
    return "%s (%s)" % (changed, "; ".join(["needs %s" % needs, *map(shown, why)]))


def some(items: t.Sequence[t.Any], most: int) -> str:
    """The first of many items: `node1, node2 and 7 more`."""
    return ", ".join(shown(str(item)) for item in items[:most]) + (" and %d more" % (len(items) - most) if len(items) > most else "")


def columns(table: t.Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table whose first row contains the titles."""
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def finding_lines(findings: t.Sequence[t.Mapping[str, t.Any]]) -> list[str]:
    """A table of findings, then each next step once."""
    titles = ("severity", "code", "object", "test", "found", "expected")
    lines = ["", *columns([titles, *(tuple(each[title] for title in titles) for each in findings)]), "", "Next steps:"]
    return [*lines, *dict.fromkeys("  %s: %s (%s)" % (each["code"], each["next_step"], each["cause"]) for each in findings)]
