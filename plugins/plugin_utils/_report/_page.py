# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTML page of a fabric: one file that needs no network. Pure but for reading the files beside this one."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import pathlib
import typing as t

from ansible_collections.rdma.ofed.plugins.plugin_utils._report._content import Report, content_of

_HERE = pathlib.Path(__file__).parent
# The browser itself refuses to load anything, to run a script that is not one of these two, and to make HTML of a text.
_POLICY = (
    "default-src 'none'; style-src '%s'; script-src '%s' '%s'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%(policy)s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%(title)s</title>
<style>%(style)s</style>
</head>
<body>
<noscript>This page needs JavaScript. The same findings are in the JSON file beside it.</noscript>
<script type="application/json" id="data">%(data)s</script>
<script>%(vendor)s</script>
<script>%(script)s</script>
</body>
</html>
"""


class Assets(t.NamedTuple):
    style: str
    vendor: str
    """The libraries, made by `make web`."""
    script: str


@functools.lru_cache(maxsize=None)
def assets() -> Assets:
    return Assets(*((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "vendor.js", "page.js")))


@functools.lru_cache(maxsize=None)
def explanations() -> str:
    """The page of the documentation; "" in a collection that was installed without it."""
    path = _HERE.parents[2] / "docs/findings.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def embedded(content: t.Any) -> str:
    """JSON in ASCII that no text in it can end: neither the element nor a string of the script."""
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page(report: Report) -> str:
    parts = assets()
    return _PAGE % {
        "policy": _POLICY % tuple(map(_hash, parts)),
        "title": html.escape("Fabric %s" % report.name),
        "style": parts.style,
        "data": embedded(content_of(report)),
        "vendor": parts.vendor,
        "script": parts.script,
    }
