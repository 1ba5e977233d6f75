# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The archives of support_bundle from all hosts, as one."""

from __future__ import annotations

import os
import shutil
import time
import typing as t

from ...module_utils._errors import RdmaError
from .._actions import show
from .._support_join import join


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    parts = arguments["parts"]
    hosts = [str(host) for host in task_vars["ansible_play_hosts_all"]]
    if predicted or not parts:
        return {"path": "", "missing": []}
    there = {host: os.path.join(parts, host, "support.tar.gz") for host in hosts}
    missing = [host for host, path in there.items() if not os.path.isfile(path)]
    name = "rdma-support-" + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = os.path.join(os.path.expanduser(arguments["dest"]), name + ".tar.gz")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        join(path, name, parts={host: part for host, part in there.items() if host not in missing}, missing=missing)
    except OSError as exc:
        words = "%s can't be written: %s. Next: set support_bundle_dir to a folder that you can write to"
        raise RdmaError(words % (path, exc.strerror or exc)) from exc
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    size = os.path.getsize(path) / 1e6
    without = ", without %s" % ", ".join(missing) if missing else ""
    show("Support bundle: %s (%.1f MB, %d hosts%s)" % (path, size, len(hosts) - len(missing), without))
    return {"path": path, "missing": missing}
