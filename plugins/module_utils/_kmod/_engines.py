# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The locked-memory limits that the configuration of container engines sets for all containers. Pure.

Without such a setting, a container has the limit of the process that starts it. Both engines give limits in bytes, and -1 for none.
"""

from __future__ import annotations

import re
import typing as t

from .._foreign import decimal, read_json
from ._limits import UNLIMITED, Line

DOCKER_PATH = "/etc/docker/daemon.json"
# containers.conf(5): the last file that sets a list counts, for root and all users.
PODMAN_PATHS = ("/usr/share/containers/containers.conf", "/etc/containers/containers.conf", "/etc/containers/containers.conf.d/*.conf")

_LIST = re.compile(r"^[ \t]*default_ulimits[ \t]*=[ \t]*\[(?P<items>[^\]]*)\]", re.MULTILINE)
_ITEM = re.compile(r"[\"']memlock=(-?[0-9]{1,20})(?::-?[0-9]{1,20})?[\"']")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


def _kibibytes(value: int) -> str:
    return UNLIMITED if value < 0 else str(value // 1024)


def read_docker(path: str, text: str) -> list[Line]:
    """The soft limit in daemon.json: `{"default-ulimits": {"memlock": {"Name": "memlock", "Soft": 65536, "Hard": 65536}}}`."""
    try:
        soft = read_json(text)["default-ulimits"]["memlock"]["Soft"]
    except (KeyError, TypeError):
        return []
    place = next((number for number, line in enumerate(text.splitlines(), 1) if '"memlock"' in line), 1)
    return [Line(path, place, _kibibytes(soft))] if isinstance(soft, int) and not isinstance(soft, bool) else []


def read_podman(texts: t.Mapping[str, str]) -> list[Line]:
    """The soft limit in the files of containers.conf(5), by path, in reading order: `default_ulimits = ["memlock=65536:65536"]`."""
    found: list[Line] = []
    for path, text in texts.items():
        plain = _COMMENT.sub("", text)
        for match in _LIST.finditer(plain):
            item = _ITEM.search(match["items"])
            place = plain.count("\n", 0, match.start("items") + item.start()) + 1 if item else 0
            found = [Line(path, place, _kibibytes(-1 if item[1].startswith("-") else decimal(item[1], 0)))] if item else []
    return found
