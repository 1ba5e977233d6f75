# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Read what subnet managers of others go by on this node: their command lines, and the files that these name. Changes nothing."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._cmdline import CONFIG, keys_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import is_guid, normal_guid
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import CONF, same, values
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Predecessor
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import UNSET

# Where builds of opensm look for their files: Debian's and the vendor's, and that of Red Hat and SUSE. The template names the right one.
FOLDERS = ("/etc/opensm", "/etc/rdma")
_PARTITIONS = "partitions.conf"
# Where package managers put files of administrators that they take away.
_SAVED = (".rpmsave", ".rpmorig", ".dpkg-old")


def _folders(template: str) -> tuple[str, ...]:
    named = values(template).get("partition_config_file", ())
    # A build that was replaced had its files elsewhere.
    return tuple(dict.fromkeys([*(os.path.dirname(path) for path in named), *FOLDERS]))


def _content(root: str, path: str) -> str:
    return read_text(os.path.join(root, path.lstrip("/"))) if os.path.isfile(os.path.join(root, path.lstrip("/"))) else ""


def _first(root: str, paths: t.Sequence[str]) -> str:
    """The first of the paths that has a file, else the first."""
    return next((path for path in paths if _content(root, path)), paths[0])


def _predecessor(root: str, name: str, *, arguments: t.Mapping[str, str], folder: str, template: str, saved: t.Sequence[str]) -> Predecessor:
    """`saved`: the ends of the names that the files may have, by preference."""

    def choose(paths: t.Sequence[str]) -> str:
        return _first(root, [path + end for end in saved for path in paths])

    conf = choose(
        [os.path.normpath(os.path.join(folder, arguments[CONFIG]))] if CONFIG in arguments else ["%s/%s" % (place, CONF) for place in _folders(template)]
    )
    keys = {**values(_content(root, conf)), **{key: (value,) for key, value in arguments.items() if key != CONFIG}}
    named = keys.get("partition_config_file", (UNSET,))[-1]
    default = ["%s/%s" % (place, _PARTITIONS) for place in _folders(template)]
    partitions = choose([os.path.normpath(os.path.join(folder, named))] if named not in (UNSET, "") else default)
    guid = keys.get("guid", ("",))[-1]
    digits = decimal(guid)
    guid = guid if digits is None else hex(digits)
    defaults = values(template)
    return Predecessor(
        source=", ".join(filter(None, [name, conf])),
        keys={key: own for key, own in keys.items() if not same(own, defaults.get(key, ()))},
        partitions=_content(root, partitions),
        partitions_source=partitions,
        guid=normal_guid(guid) if is_guid(guid) else "",
        runs=name != "",
    )


def of_process(root: str, pid: int, template: str) -> Predecessor:
    """The settings of an opensm that runs."""
    place = os.path.join(root, "proc/%d" % pid)
    arguments = keys_of(attribute(place, "cmdline").rstrip("\0").split("\0")[1:])
    try:
        folder = os.readlink(os.path.join(place, "cwd"))
    except OSError:
        folder = "/"
    return _predecessor(root, "process %d" % pid, arguments=arguments, folder=folder, template=template, saved=("", *_SAVED))


def of_files(root: str, template: str) -> list[Predecessor]:
    """The settings that the installed opensm would start with, after those that one before it did: a package may have put its own files there."""
    return [_predecessor(root, "", arguments={}, folder="/", template=template, saved=[end]) for end in (*reversed(_SAVED), "")]
