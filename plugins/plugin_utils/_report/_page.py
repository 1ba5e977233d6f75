# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTML page of a fabric: one file that needs no network. Pure except for reading the files in this directory."""

from __future__ import annotations

import functools
import json
import typing as t

from ._content import Report, content_of
from ._document import HERE, document

_BODY = """\
<noscript>This page needs JavaScript. The same findings are in the JSON file beside it.</noscript>
<script type="application/json" id="data">%(data)s</script>
<script>%(vendor)s</script>
<script>%(script)s</script>
"""


class Assets(t.NamedTuple):
    vendor: str
    """The libraries, created by `make web`."""
    script: str


@functools.lru_cache(maxsize=None)
def assets() -> Assets:
    return Assets(*((HERE / name).read_text(encoding="utf-8") for name in ("vendor.js", "page.js")))


def embedded(content: t.Any) -> str:
    """JSON in ASCII in which no text can end the element or a string of the script."""
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page(report: Report) -> str:
    parts = assets()
    body = _BODY % {"data": embedded(content_of(report)), "vendor": parts.vendor, "script": parts.script}
    return document("Fabric %s" % report.name, body, parts)
