# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Common parts of all pages: one file each, with a policy that prevents the browser from loading anything."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import pathlib
import re
import typing as t

HERE = pathlib.Path(__file__).parent
# The browser itself refuses to load anything, to run other scripts than these, and to turn text into HTML.
_POLICY = "default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
_DOCUMENT = """\
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
%(body)s</body>
</html>
"""
_PARAGRAPH = re.compile(r"^### ([a-z_]+)\n\n(.*?)(?=\n\n#|\Z)", re.MULTILINE | re.DOTALL)


@functools.lru_cache(maxsize=None)
def style() -> str:
    return (HERE / "page.css").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=None)
def explanations() -> str:
    """The documentation page of the findings; "" in a collection that was installed without it."""
    path = HERE.parents[2] / "docs/findings.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def explanations_of(page: str) -> dict[str, str]:
    """The paragraph of each code."""
    return {code: " ".join(words.split()) for code, words in _PARAGRAPH.findall(page)}


def _hashes(texts: t.Iterable[str]) -> str:
    digests = (hashlib.sha256(text.encode("utf-8")).digest() for text in texts)
    return " ".join("'sha256-%s'" % base64.b64encode(digest).decode("ascii") for digest in digests) or "'none'"


def document(title: str, body: str, scripts: t.Sequence[str] = ()) -> str:
    """An HTML document. `body` is HTML; `scripts` run in it."""
    return _DOCUMENT % {"policy": _POLICY % (_hashes([style()]), _hashes(scripts)), "title": html.escape(title), "style": style(), "body": body}
