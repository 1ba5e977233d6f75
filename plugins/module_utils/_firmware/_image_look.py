# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Look at a node's adapters and at the images that are offered for them. Nothing is changed here."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Problem, RdmaError, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._hcas import is_adapter, read_hcas
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._image_plan import Adapter, Image, Source
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, Runner
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _flint as flint

_FUNCTIONS = "sys/bus/pci/devices"
_MELLANOX = "0x15b3"
_SUFFIXES = (".bin", ".mfa2", ".fw")


def tool_of(run: Runner) -> str:
    """ "" where neither tool is installed."""
    return next((tool for tool in flint.TOOLS if run.has(tool)), "")


def read_cards(root: str = "/") -> tuple[Adapter, ...]:
    """The cards in the slots, without asking their firmware. Virtual functions are no way to a card's flash."""
    hcas = read_hcas(root)
    slots: dict[str, list[str]] = {}
    for pci in entries(root, _FUNCTIONS):
        base = os.path.join(root, _FUNCTIONS, pci)
        vendor = attribute(base, "vendor")
        if vendor.lower() == _MELLANOX and is_adapter(vendor, attribute(base, "class")) and not os.path.exists(os.path.join(base, "physfn")):
            slots.setdefault(pci.rpartition(".")[0], []).append(pci)
    return tuple(Adapter(functions[0], tuple(functions), tuple(hca.name for hca in hcas if hca.pci in functions)) for _slot, functions in sorted(slots.items()))


def _ask(run: Runner, argv: t.Sequence[str], timeout: float) -> tuple[Output, str]:
    """The output with both streams in one text: errors are found on either."""
    output = run(argv, ok=None, timeout=timeout)
    return output, output.stdout + output.stderr


def query_adapter(run: Runner, tool: str, pci: str) -> flint.Query:
    output, text = _ask(run, flint.query_device(tool, pci), flint.QUERY_TIMEOUT)
    if output.rc:
        raise CommandFailed("the adapter at %s can't be queried: %s" % (pci, flint.error_of(text)), rc=output.rc, stdout=text)
    return flint.parse_query(text)


def query_adapters(run: Runner, tool: str, cards: t.Sequence[Adapter]) -> tuple[Adapter, ...]:
    """One query for each card; what is wrong with any of them is said at once."""
    found, wrong = [], []
    for card in cards:
        try:
            found.append(card._replace(query=query_adapter(run, tool, card.pci)))
        except RdmaError as exc:
            wrong.append(exc.msg)
    if wrong:
        raise CommandFailed("; ".join(wrong), errors=wrong)
    return tuple(found)


def named(card: Adapter) -> set[str]:
    """What a card is called without asking it: its functions, with and without domain, and its RDMA devices."""
    return {"all", *card.functions, *card.rdma, *(pci[5:] for pci in card.functions if pci.startswith("0000:"))}


def select(run: Runner, tool: str, cards: t.Sequence[Adapter], selectors: t.Sequence[str]) -> tuple[Adapter, ...]:
    """The cards that any selector names, queried: a PCI function, an RDMA device, a PSID or C(all).

    All cards are queried only where a selector needs that.
    """
    unknown = [one for one in selectors if one != "all" and not any(one in named(card) for card in cards)]
    if not unknown:
        cards = [card for card in cards if named(card) & set(selectors)]
    adapters = query_adapters(run, tool, cards)
    psids = {one.query.psid for one in adapters}
    problems = [
        Problem("devices", one, ", ".join(["all", *(name for card in cards for name in (*card.functions, *card.rdma)), *sorted(psids)]))
        for one in unknown
        if one not in psids
    ]
    if problems:
        raise InvalidInput(problems)
    return tuple(one for one in adapters if (named(one) | {one.query.psid}) & set(selectors))


def look_at_image(run: Runner, tool: str, path: str) -> Image:
    """An image that can't be read has a fault instead of a query."""
    if not os.path.isfile(path):
        return Image(path, fault="there is no such file on the node")
    output, text = _ask(run, flint.query_image(tool, path), flint.QUERY_TIMEOUT)
    try:
        return Image(path, fault=flint.error_of(text)) if output.rc else Image(path, flint.parse_query(text))
    except RdmaError as exc:
        return Image(path, fault=exc.msg)


def verify_image(run: Runner, tool: str, image: Image) -> Image:
    """The same image, with a fault where a checksum in it is wrong."""
    output, text = _ask(run, flint.verify_image(tool, image.path), flint.VERIFY_TIMEOUT)
    return image if flint.verified(output.rc, text) else image._replace(fault="verification failed: %s" % flint.error_of(text))


def find_images(run: Runner, tool: str, where: str | t.Mapping[str, str], psids: t.Collection[str]) -> Source:
    """A file, the image files directly in a directory, or a mapping, of which only the PSIDs of the node are looked at."""
    if not isinstance(where, str):
        return Source(by_psid={psid: look_at_image(run, tool, path) for psid, path in sorted(where.items()) if psid in psids})
    if not os.path.isdir(where):
        return Source(candidates=(look_at_image(run, tool, where),), single=True)
    files = [os.path.join(where, name) for name in entries(where) if name.lower().endswith(_SUFFIXES)]
    if not files:
        raise InvalidInput([Problem("images", where, "a directory with image files (%s)" % ", ".join(_SUFFIXES))])
    return Source(candidates=tuple(look_at_image(run, tool, path) for path in files))


def need_tool(tool: str) -> str:
    if not tool:
        raise Unsupported("neither mstflint nor flint is installed on this node; the package is called mstflint")
    return tool


__all__ = (
    "find_images",
    "look_at_image",
    "named",
    "need_tool",
    "query_adapter",
    "query_adapters",
    "read_cards",
    "select",
    "tool_of",
    "verify_image",
)
