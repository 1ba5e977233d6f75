# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limits that the configuration of container engines sets for all containers. Pure.

Without such a setting, a container has the limit of the process that starts it. Both engines give limits in units of the kernel, and -1 for none.
"""

from __future__ import annotations

import re
import typing as t

from .._foreign import decimal, read_json
from ._limits import RESOURCES, UNLIMITED, Line, Resource

DOCKER_PATH = "/etc/docker/daemon.json"
# containers.conf(5): the last file that sets a list counts, for root and all users.
PODMAN_PATHS = ("/usr/share/containers/containers.conf", "/etc/containers/containers.conf", "/etc/containers/containers.conf.d/*.conf")

_LIST = re.compile(r"^[ \t]*default_ulimits[ \t]*=[ \t]*\[(?P<items>[^\]]*)\]", re.MULTILINE)
_ITEM = re.compile(r"[\"'](?P<name>[a-z]+)=(?P<soft>-?[0-9]{1,20})(?::-?[0-9]{1,20})?[\"']")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


def _number(value: int, resource: Resource) -> str:
    return UNLIMITED if value < 0 else str(value // resource.unit)


def read_docker(path: str, text: str) -> list[Line]:
    """The soft limits in daemon.json: `{"default-ulimits": {"memlock": {"Name": "memlock", "Soft": 65536, "Hard": 65536}}}`."""
    found = []
    for name, resource in RESOURCES.items():
        try:
            soft = read_json(text)["default-ulimits"][name]["Soft"]
        except (KeyError, TypeError):
            continue
        place = next((number for number, line in enumerate(text.splitlines(), 1) if '"%s"' % name in line), 1)
        if isinstance(soft, int) and not isinstance(soft, bool):
            found.append(Line(path, place, _number(soft, resource), resource=name))
    return found


def read_podman(texts: t.Mapping[str, str]) -> list[Line]:
    """The soft limits in the files of containers.conf(5), by path, in reading order: `default_ulimits = ["memlock=65536:65536"]`."""
    found: list[Line] = []
    for path, text in texts.items():
        plain = _COMMENT.sub("", text)
        for match in _LIST.finditer(plain):
            found = []
            for item in _ITEM.finditer(match["items"]):
                resource = RESOURCES.get(item["name"])
                place = plain.count("\n", 0, match.start("items") + item.start()) + 1
                if resource is not None and resource.name not in {line.resource for line in found}:
                    soft = -1 if item["soft"].startswith("-") else decimal(item["soft"], 0)
                    found.append(Line(path, place, _number(soft, resource), resource=resource.name))
    return found
