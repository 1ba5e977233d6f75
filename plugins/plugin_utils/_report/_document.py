# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all pages have in common: one file, with a policy that lets the browser load nothing."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import pathlib
import re
import typing as t

HERE = pathlib.Path(__file__).parent
# The browser itself refuses to load anything, to run a script that is not one of these, and to make HTML of a text.
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
    """The page of the documentation; "" in a collection that was installed without it."""
    path = HERE.parents[2] / "docs/findings.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def explanations_of(page: str) -> dict[str, str]:
    """The paragraph of each code."""
    return {code: " ".join(words.split()) for code, words in _PARAGRAPH.findall(page)}


def _hashes(texts: t.Iterable[str]) -> str:
    digests = (hashlib.sha256(text.encode("utf-8")).digest() for text in texts)
    return " ".join("'sha256-%s'" % base64.b64encode(digest).decode("ascii") for digest in digests) or "'none'"


def document(title: str, body: str, scripts: t.Sequence[str] = ()) -> str:
    """`body` is HTML, and `scripts` are those that run in it."""
    return _DOCUMENT % {"policy": _POLICY % (_hashes([style()]), _hashes(scripts)), "title": html.escape(title), "style": style(), "body": body}
