# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""The network stacks: what planning needs of each, whichever release of it a node has. Pure."""

from __future__ import annotations

import functools
import posixpath
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _bonds, _ifcfg, _ifupdown, _netplan, _networkd, _networkmanager, _wicked
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFCFG, IFUPDOWN, NETPLAN, NETWORKD, NETWORKMANAGER, WICKED
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Record, Target

# Stacks that, when they let go of an interface, take everything off it: done before another one has it.
STRIPPING = (NETWORKMANAGER, NETPLAN, IFCFG, WICKED)

Files = t.Mapping[str, str]
Targets = t.Sequence[Target]


class Variant(t.NamedTuple):
    """What is different from node to node about its network stacks."""

    renderer: str = _netplan.NETWORKD
    """Of netplan."""
    infiniband_mode: bool = True
    """Does netplan know C(infiniband-mode)?"""
    nm: tuple[int, int] | None = None
    """The release of NetworkManager; None where it does not run."""


class Stack(t.NamedTuple):
    """A network stack. A new one is a module of its own with these functions, and an applier (_apply_*.py)."""

    name: str
    render: t.Callable[[Targets], dict[str, str]]
    """The files, whole, by path."""
    records: t.Callable[[Files], dict[str, Record]]
    """What the files of this collection say, by interface."""
    conflicts: t.Callable[[str, Files], tuple[str, ...]]
    """The files of others that configure an interface."""
    is_ours: t.Callable[[str, str], bool]
    boots: t.Callable[[Targets], tuple[Target, ...]]
    """The interfaces whose mode at boot is the business of _boot.py."""
    faults: t.Callable[[Targets], tuple[str, ...]]
    """What it can't do with these interfaces, in words."""
    remarks: t.Callable[[Targets], tuple[str, ...]]


# What these read they want hidden from others. networkd, which runs as a user of its own, must be able to read the rest.
_HIDDEN = {_netplan.DIRECTORY: _netplan.MODE, _networkmanager.DIRECTORY: _networkmanager.MODE}


def file_mode(path: str) -> int:
    """The permissions of a file of ours."""
    return _HIDDEN.get(posixpath.dirname(path), 0o644)


def _none(targets: Targets) -> tuple[t.Any, ...]:
    return ()


def _nm_faults(targets: Targets) -> tuple[str, ...]:
    return tuple(str(problem) for problem in _networkmanager.problems(targets))


def _netplan_stack(variant: Variant) -> Stack:
    def faults(targets: Targets) -> tuple[str, ...]:
        return tuple(str(problem) for problem in _netplan.problems(targets, variant.renderer, variant.infiniband_mode))

    return Stack(
        NETPLAN,
        functools.partial(_netplan.render, renderer=variant.renderer, infiniband_mode=variant.infiniband_mode),
        _netplan.records,
        _netplan.conflicts,
        _netplan.is_ours,
        functools.partial(_netplan.boot_targets, renderer=variant.renderer),
        faults,
        _none,
    )


def stack_of(name: str, variant: Variant) -> Stack:
    """The stack of a name of C(_backend.SUPPORTED)."""
    if name == NETPLAN:
        return _netplan_stack(variant)
    if name == IFCFG:
        read_by_nm = variant.nm is not None
        return Stack(
            IFCFG,
            functools.partial(_levelled_ifcfg, nm=read_by_nm),
            _ifcfg.records,
            _ifcfg.conflicts,
            _ifcfg.is_ours,
            _none,
            functools.partial(_ifcfg.refused, nm=variant.nm),
            functools.partial(_ifcfg.remarks, nm=read_by_nm),
        )
    return _PLAIN[name]


def _levelled_ifcfg(targets: Targets, nm: bool) -> dict[str, str]:
    return _ifcfg.render(_bonds.levelled(targets), nm)


def _levelled_wicked(targets: Targets) -> dict[str, str]:
    return _wicked.render(_bonds.levelled(targets))


_PLAIN: dict[str, Stack] = {
    NETWORKD: Stack(NETWORKD, _networkd.render, _networkd.records, _networkd.conflicts, _networkd.is_ours, _bonds.levelled, _none, _none),
    IFUPDOWN: Stack(IFUPDOWN, _ifupdown.render, _ifupdown.records, _ifupdown.conflicts, _ifupdown.is_ours, _none, _none, _none),
    NETWORKMANAGER: Stack(
        NETWORKMANAGER,
        _networkmanager.render,
        _networkmanager.records,
        _networkmanager.conflicts,
        _networkmanager.is_ours,
        _none,
        _nm_faults,
        _none,
    ),
    WICKED: Stack(WICKED, _levelled_wicked, _wicked.records, _wicked.conflicts, _wicked.is_ours, _none, _wicked.refused, _none),
}


def every(variant: Variant) -> tuple[Stack, ...]:
    """All stacks, for what earlier runs on any of them left behind."""
    return tuple(stack_of(name, variant) for name in (NETWORKD, IFUPDOWN, NETPLAN, NETWORKMANAGER, IFCFG, WICKED))


def handed_over(name: str, files: Files, variant: Variant) -> frozenset[str]:
    """The interfaces that a stripping stack has so far, and C(name) shall have now."""
    return frozenset(other for stack in every(variant) if stack.name in STRIPPING and stack.name != name for other in stack.records(files))


def rivals(name: str, in_use: t.Collection[str]) -> tuple[str, ...]:
    """The stacks whose foreign files matter beside C(name). netplan looks into those of its renderers itself."""
    covered = (NETWORKD, NETWORKMANAGER) if name == NETPLAN else ()
    return tuple(sorted({name} | {other for other in in_use if other not in covered}))
