# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Updates the libraries of the HTML page to the versions in tests/tools/web/package-lock.json, whose hashes npm verifies.

They are combined into one ASCII file, and their licences into another. For a new version, run `npm install --package-lock-only
--omit-lockfile-registry-resolved NAME@VERSION` in that directory, then `make web`.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile

from common import ROOT, SetupError, main, say

PINS = ROOT / "tests/tools/web"
TARGET = ROOT / "plugins/plugin_utils/_report"
# In order of dependency.
SCRIPTS = (
    *("d3-dispatch", "d3-timer", "d3-color", "d3-ease", "d3-interpolate", "d3-selection", "d3-transition", "d3-drag", "d3-zoom"),
    "@tanstack/table-core",
)
PLACES = {"@tanstack/table-core": "build/umd/index.production.js"}


def script(folder: pathlib.Path, name: str) -> str:
    path = folder / PLACES.get(name, "dist/%s.min.js" % name)
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("//# sourceMappingURL")]
    text = "\n".join(lines).strip("\n")
    if "</script" in text.lower() or "<!--" in text:
        raise SetupError("%s can't be part of a page: it has the end of a script in it" % name)
    # Non-ASCII letters occur only in strings and expressions, where an escape is equivalent.
    units = "".join(letter if ord(letter) < 128 else "".join("\\u%04x" % int(unit) for unit in _units(letter)) for letter in text)
    return units + "\n"


def _units(letter: str) -> list[int]:
    """Return the UTF-16 escapes of a letter, as in JavaScript."""
    data = letter.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def renew() -> None:
    if not shutil.which("npm"):
        raise SetupError("npm is not installed: it comes with Node.js")
    locked = json.loads((PINS / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    scripts: list[str] = []
    # Licence texts, each with the libraries that use it.
    licences: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in ("package.json", "package-lock.json"):
            shutil.copy2(PINS / name, folder)
        say("npm ci")
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True)
        for name in SCRIPTS:
            where, pin = folder / "node_modules" / name, locked["node_modules/" + name]
            scripts.append("/* %s %s, %s: see vendor.txt */\n%s" % (name, pin["version"], pin["license"], script(where, name)))
            licence = (where / "LICENSE").read_text(encoding="utf-8").strip()
            licences[licence] = licences.get(licence, "") + "%s %s\n%s\n" % (name, pin["version"], pin["integrity"])
    code = "".join(scripts)
    (TARGET / "vendor.js").write_text(code, encoding="ascii")
    head = "The libraries in vendor.js, with the hashes of their packages, by licence. sha256 of vendor.js:\n%s\n" % hashlib.sha256(code.encode()).hexdigest()
    parts = [head, *("%s\n%s\n" % (libraries, licence) for licence, libraries in licences.items())]
    (TARGET / "vendor.txt").write_text(("\n" + "-" * 72 + "\n\n").join(parts), encoding="ascii")
    say("%d libraries, %d kB" % (len(scripts), (TARGET / "vendor.js").stat().st_size // 1000))


if __name__ == "__main__":
    main(renew)
