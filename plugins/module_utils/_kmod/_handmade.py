# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at what others have configured for the modules of the stack, whichever they are. Read-only."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from .._facts._modules import PEERS, in_stack
from .._host._files import read_text, under
from . import _config as config
from ._found import Found, Seen, narrowed
from ._names import canonical

_INITRAMFS_TOOLS = "/etc/initramfs-tools/modules"
_DRACUT = "etc/dracut.conf.d/*.conf"
_DRIVERS = re.compile(r"""^\s*(?:force|add)_drivers\s*\+?=\s*["']?([^"'#]*)""")


class SeenOfStack(t.NamedTuple):
    """What the look reports for a discovery."""

    seen: Seen = Seen()
    early: tuple[config.Entry, ...] = ()
    """The drivers of the stack that foreign files add to the initramfs."""


def is_ours(module: str) -> bool:
    """Whether the module belongs to the stack, or connects it with GPUs."""
    return in_stack(module) or module in PEERS


def parse_dracut(path: str, text: str) -> list[config.Entry]:
    """The drivers that a file of dracut adds to the images."""
    matches = ((number, _DRIVERS.match(line)) for number, line in enumerate(text.splitlines(), 1))
    return [config.Entry(canonical(name), path, number) for number, match in matches if match for name in match[1].split()]


def read_early(root: str) -> tuple[config.Entry, ...]:
    """The drivers of the stack that foreign files add to the initramfs."""
    found = config.parse_list(_INITRAMFS_TOOLS, read_text(under(root, _INITRAMFS_TOOLS)))
    for path in sorted(glob.glob(under(root, _DRACUT))):
        name = "/" + os.path.relpath(path, root)
        if name != config.DRACUT_PATH:
            found += parse_dracut(name, read_text(path))
    return tuple(entry for entry in found if is_ours(entry.name))


class Reader(t.NamedTuple):
    """Reads the parameters of modules."""

    live: t.Callable[[str], dict[str, str]]
    """The values of a loaded module."""
    known: t.Callable[[str], t.Optional[t.Dict[str, str]]]
    """The types of those that a module has; None if unknown."""


def seen_of_stack(found: Found, reader: Reader, *, root: str, usual: t.Iterable[str]) -> SeenOfStack:
    """What a look has found of the modules of the stack. `usual`: further modules."""
    configured = frozenset(directive.module for directive in found.directives if is_ours(directive.module))
    configured |= frozenset(config.parse_options(found.text(config.OPTIONS_PATH)))
    listed = {entry.name for entry in found.entries if is_ours(entry.name)}
    names = frozenset({*usual, *configured, *listed, *(name for name in found.loaded if is_ours(name))})
    live = {module: reader.live(module) for module in configured if module in found.loaded}
    known = {module: reader.known(module) for module in configured if module in found.catalogue.loadable}
    parameters = {module: {**dict.fromkeys(live.get(module, ()), ""), **types} for module, types in known.items() if types is not None}
    kept = narrowed(found._replace(live=live, parameters=parameters), names)
    kept = kept._replace(entries=tuple(entry for entry in kept.entries if is_ours(entry.name)))
    return SeenOfStack(Seen(names, configured, kept), read_early(root))
