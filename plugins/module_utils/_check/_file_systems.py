# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""File systems, storage sessions and foreign modules that use the RDMA stack of a node: those that existed before maintenance and are missing after it.

The list stays on the node until all of it is back: a run that resumes a failed one requires what was there before the first.
"""

from __future__ import annotations

import json
import os
import platform
import typing as t

from .._facts._kernels import module_files
from .._facts._modules import PEERS, in_stack, parse_proc_modules, read_loaded
from .._facts._netdevs import seen_netdevs
from .._facts._sockets import Table, parse_route4, parse_route6
from .._facts._storage import parse_hosts, parse_mounts, read_sessions
from .._facts._sysfs import attribute
from .._facts._usage import mount_users, session_users
from .._foreign import read_table
from .._host._files import apply_file, file_change, read_text, under
from .._host._turn import look_until

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._facts._storage import Mount
    from .._host._run import Runner

RECORD = "/var/lib/rdma.ofed/storage.json"
PAUSE_SECONDS = 5.0
# Out-of-tree modules that use the stack without a symbol dependency on ib_core, or through another module.
_KNOWN = frozenset(["ko2iblnd", "kkfilnd", "lnet", "lustre", "ptlrpc", "beegfs", "mmfs26", "mmfslinux", "nvidia_fs", "wekafsio"])
_OF_KERNEL = "kernel/"

Users = t.Mapping[str, str]
"""Detail by name: `mount /scratch` -> `lustre from 10.1.0.9@o2ib:/scratch`."""


def lasting_mounts(mounts: t.Sequence[Mount]) -> tuple[Mount, ...]:
    """The mounts that persist. Mounts below an automounter come and go on demand and are left out."""
    automatic = [mount.target.rstrip("/") for mount in mounts if mount.type == "autofs"]
    return tuple(mount for mount in mounts if not any(mount.target == top or mount.target.startswith(top + "/") for top in automatic))


def foreign_modules(loaded: t.Iterable[str], related: t.Iterable[str], paths: t.Mapping[str, str]) -> list[str]:
    """The loaded modules that use the stack and belong neither to the kernel nor to the stack."""
    users = {name for name in related if not in_stack(name) and name not in PEERS and not paths.get(name, "").startswith(_OF_KERNEL)}
    return sorted(users | (_KNOWN & set(loaded)))


def read_users(run: Runner, root: str = "/", release: str = "") -> dict[str, str]:
    """What uses the stack now and has to be there again after maintenance."""
    netdevs = seen_netdevs(run, root)
    ways = Table(parse_route4(attribute(root, "proc/net/route")) + parse_route6(attribute(root, "proc/net/ipv6_route")))
    hosts = parse_hosts(attribute(root, "etc/hosts"))
    mounts = lasting_mounts(parse_mounts(attribute(root, "proc/mounts")))
    found = {"mount %s" % user.name: user.detail for user in mount_users(mounts, ways, netdevs, hosts=hosts)}
    # The number of a session changes with each boot, so it is not part of the name.
    for user in session_users(read_sessions(root, hosts), ways, netdevs):
        found["session %s" % user.detail] = "a storage session"
    files = module_files(read_text(under(root, os.path.join("lib/modules", release or platform.release(), "modules.dep"))))
    loaded = [module.name for module in parse_proc_modules(attribute(root, "proc/modules"))]
    for name in foreign_modules(loaded, [module.name for module in read_loaded(root)], files):
        found["module %s" % name] = "a module that is not part of the kernel"
    return found


def read_record(text: str) -> dict[str, str]:
    """The recorded users; empty where there is no readable record."""
    return {str(name): str(detail) for name, detail in read_table(text).items()}


def missing(before: Users, now: Users) -> list[dict[str, str]]:
    """The users that are missing, sorted by name."""
    return [{"name": name, "detail": detail} for name, detail in sorted(before.items()) if name not in now]


def _write(module: AnsibleModule, users: Users, root: str) -> None:
    path = under(root, RECORD)
    text = json.dumps(users, indent=1, sort_keys=True) + "\n" if users else ""
    change = file_change(path, read_text(path), text)
    if change is not None and not module.check_mode:
        apply_file(module, change, mode=0o600)


def remember(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Record the present users, and keep those of an earlier run that have not come back yet."""
    users = {**read_record(read_text(under(root, RECORD))), **read_users(run, root)}
    _write(module, users, root)
    return {"users": sorted(users), "missing": []}


def compare(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """The users still missing after the time to wait. If none is missing, the record is removed."""
    before = read_record(read_text(under(root, RECORD)))
    now = look_until(
        lambda: read_users(run, root) if before else {}, lambda found: not missing(before, found), patience=module.params["wait"], pause=PAUSE_SECONDS
    )
    left = missing(before, now)
    if not left:
        _write(module, {}, root)
    return {"users": sorted(now), "missing": left}
