# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the installer of a bundle tells about its options. Also a step of a job, where it runs as a script without Ansible.

`python _installer_help.py INSTALLER OPTION...` prints those of the options that the help of the installer does not have, one
a line, and ends with 1 if there are any.
"""

from __future__ import annotations

import re
import subprocess
import sys
import typing as t

# `    -k|--kernel <version>`, `    --kernel-extra-args '<args>'`, `    --all        Install all available packages`
_ROW = re.compile(r"^ {2,8}(-[^\s<]*[^\s<-])(?: (?P<value>'?<[^>]*>'?))?(?:\s|\Z)")
_SECONDS = 60


def parse_help(text: str) -> dict[str, str]:
    """Options -> what stands after them, "" where the help does not tell that. Those with the name of a package in them are left out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _ROW.match(line)
        if match:
            found.update((name, (match["value"] or "").strip("'<>")) for name in match[1].split("|") if name.startswith("-"))
    return found


def main(argv: t.Sequence[str]) -> int:
    installer, *options = argv
    try:
        done = subprocess.run([installer, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_SECONDS, check=False)
    except OSError:
        # The step that installs tells what is wrong with it.
        return 0
    told = parse_help(done.stdout.decode("utf-8", "replace"))
    unknown = [name for name in options if name not in told]
    sys.stdout.write("".join(name + "\n" for name in unknown))
    return 1 if unknown else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
