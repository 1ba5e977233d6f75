# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the monitor of a node."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._host._files import read_text, under
from .._host._units import Unit, show_units
from .._host._write import open_regular
from . import _settings as places
from ._files import FILES, TIMER_PATH, beginning, is_ours
from ._found import Found, Installed

if t.TYPE_CHECKING:
    from .._host._node import Node
    from .._host._run import Runner

_LONGEST_LINE = 1000
# The files that have values of the declaration.
_TELLING = (places.SAMPLE_CONF, places.HEALTH_CONF, TIMER_PATH)


def _first_line(path: str) -> str:
    """The first line of a file that may be long; "" where the file is missing."""
    with contextlib.suppress(OSError), open_regular(path) as stream:
        return stream.readline(_LONGEST_LINE).decode("utf-8", "replace")
    return ""


def look(run: Runner, textfile: str, *, systemd: bool, root: str = "/") -> Found:
    """The state of the node. `textfile`: the declared path; that of an earlier run is in its settings."""
    texts = {path: read_text(under(root, path)) for path in FILES}
    settings = places.parse_sample_settings(texts[places.SAMPLE_CONF]) if is_ours(texts[places.SAMPLE_CONF]) else None
    before = settings.textfile if settings else ""
    written = {path: _first_line(under(root, path)) for path in (textfile, before) if path}
    left = {path: line for path, line in written.items() if is_ours(line)}
    for path in (places.STATES, places.DRAINED):
        if os.path.exists(under(root, path)):
            left[path] = read_text(under(root, path)) or "\n"
    timer = show_units(run, [places.TIMER])[places.TIMER] if systemd else Unit(places.TIMER)
    return Found({path: text for path, text in texts.items() if text}, left, timer)


def seen(node: Node, _hints: t.Mapping[str, t.Any]) -> Installed:
    """The look of the concern, for a discovery: what the files say of the declaration."""
    texts = {path: read_text(under(node.root, path)) for path in FILES}
    return Installed({path: text if path in _TELLING else beginning(text) for path, text in texts.items() if text})
