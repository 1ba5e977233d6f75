# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds the documentation site from the Markdown of this repository and the documentation of the plugins: `make docs`.

The pages keep their places relative to each other, so their links are the same on a forge and in the site.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import typing as t

import site_links
import yaml
from common import BUILD, ROOT, SetupError, main, run, say
from virtualenvs import docs

CONFIGURATION = ROOT / "docs/site"
BUILT = BUILD / "docs"
SOURCE = BUILT / "source"
HTML = BUILT / "html"
INDEX = ROOT / "docs/README.md"
HOME = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PLUGINS = "collections"
"""The folder of the generated pages of plugins and roles in the site."""

PICTURES = (".png", ".svg")

_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)#]+)")
# A forge shows a path best; in the site, an empty text stands for the title of the page or section.
_PATH_AS_TEXT = re.compile(r"(?<!!)\[(?:(?:docs/)?\w+\.md|roles/\w+)\](?=\((?!https?:)[^)]*\.md(?:#[^)]*)?\))")


def repository() -> str:
    return str(yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["repository"])


def pages() -> list[pathlib.Path]:
    """Return the Markdown pages of the site, the home page aside."""
    return [CONTRIBUTING, *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("roles/*/README.md"))]


def sections(index: str) -> dict[str, list[str]]:
    """Return the pages that the index of the documentation links, by section. A page is in the first section that links it."""
    found: dict[str, list[str]] = {}
    for part in index.split("\n## ")[1:]:
        title, _newline, body = part.partition("\n")
        links = (os.path.normpath("docs/" + target) for target in _LINK.findall(body))
        known = {page for listed in found.values() for page in listed}
        found[title] = [page for page in dict.fromkeys(links) if page not in known]
    return {title: listed for title, listed in found.items() if listed}


def _tree(caption: str, entries: t.Iterable[str], depth: int = 1) -> str:
    return "```{toctree}\n:hidden:\n:caption: %s\n:maxdepth: %d\n\n%s\n```\n" % (caption, depth, "\n".join(entries))


def trees(index: str) -> str:
    """Return the navigation of the site: that of the index, then what is made or is not shipped."""
    listed = sections(index)
    text = "".join(_tree(title, [page.removesuffix(".md") for page in found]) for title, found in listed.items())
    made = ["All pages <docs/README>", "Modules, plugins and roles <%s/index>" % PLUGINS]
    return text + _tree("Plugins and the project", [*made, "CHANGELOG", "CONTRIBUTING", "Source code <%s>" % repository()])


def retarget(text: str, page: pathlib.Path, blob: str) -> str:
    """Return the text of a page with links that fit the site: the README is its home page, and files that are no pages are on the forge."""
    kept = {HOME: SOURCE / "index.md", **{each: SOURCE / each.relative_to(ROOT) for each in pages()}}

    def target(match: re.Match[str]) -> str:
        place = pathlib.Path(os.path.normpath(page.parent / match[0]))
        if place == HOME:
            return os.path.relpath(ROOT / "index.md", page.parent)
        return match[0] if place in kept or place.suffix in PICTURES else "%s/%s" % (blob, place.relative_to(ROOT))

    return _LINK.sub(target, _PATH_AS_TEXT.sub("[]", text))


def lay_out() -> None:
    """Write the sources of the site, except the pages of plugins."""
    shutil.rmtree(BUILT, ignore_errors=True)
    blob = repository() + "/blob/main"
    for page in pages():
        place = SOURCE / page.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(retarget(page.read_text(encoding="utf-8"), page, blob), encoding="utf-8")
    home = retarget(HOME.read_text(encoding="utf-8"), HOME, blob)
    (SOURCE / "index.md").write_text("%s\n%s" % (home, trees(INDEX.read_text(encoding="utf-8"))), encoding="utf-8")
    for path in (ROOT / "CHANGELOG.rst", *(path for path in ROOT.glob("docs/*") if path.suffix in PICTURES)):
        shutil.copy2(path, SOURCE / path.relative_to(ROOT))


def build() -> None:
    programs = docs() / "bin"
    lay_out()
    say("the documentation of plugins and roles")
    path = os.pathsep.join([str(ROOT / ".venv/bin"), os.environ.get("PATH", os.defpath)])
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(BUILD / "collections"), PATH=path)
    plugins = SOURCE / PLUGINS
    plugins.mkdir()
    arguments = ("collection", "--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(plugins), "rdma.ofed")
    run([str(programs / "antsibull-docs"), *arguments], env=env, log="docs-plugins")
    say("the site")
    # One process: what it saves with two is lost on merging.
    sphinx = ("-b", "html", "-W", "--keep-going", "-n", "-q", "-c", str(CONFIGURATION), "-d", str(BUILT / "doctrees"), str(SOURCE), str(HTML))
    run([str(programs / "sphinx-build"), *sphinx], env=env)
    wrong = site_links.wrong(HTML)
    if wrong:
        raise SetupError("links of the site that lead nowhere, or to the network for what a page needs:\n%s" % "\n".join(wrong))
    say("the site is in %s" % (HTML / "index.html").relative_to(ROOT))


if __name__ == "__main__":
    main(build)
