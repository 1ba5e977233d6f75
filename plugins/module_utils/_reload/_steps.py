# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a reload of the driver. Pure."""

from __future__ import annotations

import typing as t

from .._facts._modules import PEERS
from .._host._step import Step
from .._tools._openibd import value_of
from ._found import Found
from ._plan import CACHE, OPENIBD, unloading
from ._wanted import Wanted

ALIASES = "/etc/modprobe.d/ib_ipoib.conf"
_STOPPING = "unloading "
_SWITCHED = {
    "UMAD_LOAD": "ib_umad",
    "UVERBS_LOAD": "ib_uverbs",
    "IPOIB_LOAD": "ib_ipoib",
    "RDMA_CM_LOAD": "rdma_cm",
    "RDMA_UCM_LOAD": "rdma_ucm",
    "SRP_LOAD": "ib_srp",
}
# The modules that openibd unloads itself. It stops at other modules that depend on these.
_BY_OPENIBD_TEXT = """
eth_ipoib ib_cm ib_core ib_ipoib ib_iser ib_mad ib_sdp ib_srp ib_srp_target ib_ucm ib_umad ib_uverbs iw_cm mlx4_core mlx4_en mlx4_ib mlx5_core mlx5_ib
mlx_compat mlxfw rdma_cm rdma_rxe rdma_ucm rds rds_rdma rds_tcp
"""
_BY_OPENIBD = frozenset(_BY_OPENIBD_TEXT.split())

# Arguments: the names that must be loaded, all names in the order of unloading, then the files in the order of loading.
_PUT_BACK = """
needed=$1; names=$2; shift 2; whole=yes
for name in $needed; do [ -d /sys/module/$name ] || whole=no; done
[ $whole = no ] || exit 0
for name in $names; do [ ! -d /sys/module/$name ] || rmmod $name; done
for file; do insmod "$file"; done
"""


def loaded_again(found: Found) -> tuple[str, ...]:
    """The modules to load after the driver was unloaded: the former ones that exist, and those that rdma-core loads."""
    order = tuple(reversed(unloading(found.modules)[0]))
    off = {module for key, module in _SWITCHED.items() if found.openibd and value_of(found.conf, key) == "no"}
    names = [*order, *(() if found.openibd else found.listed)]
    known = found.available or frozenset(names)
    return tuple(dict.fromkeys(name for name in names if name in known and name not in off and name not in found.unfit))


def _unload(name: str, found: Found, timeout: float) -> Step:
    # modprobe needs the file, and the former vendor's mlx_compat no longer has one. With a GPU memory module it would also unload the
    # GPU's driver, if that is idle.
    argv = ("modprobe", "-r", name) if name in found.available and name not in PEERS else ("rmmod", name)
    return Step(_STOPPING + name, argv, timeout=timeout)


def _back(found: Found, former: t.Mapping[str, str], timeout: float) -> Step:
    """Restore the former driver if a part of the new one was refused. Loaded modules of the new one do not fit and are unloaded first.

    A module that openib.conf switches off was not refused: it is not wanted.
    """
    order = [name for name in unloading(found.modules)[0] if name in former]
    needed = [name for name in loaded_again(found) if name in former]
    argv = ("sh", "-c", _PUT_BACK, "sh", " ".join(needed), " ".join(order), *(former[name] for name in reversed(order)))
    return Step("loading the former driver, because the new one was refused", argv, ok=tuple(range(256)), always=True, timeout=timeout)


def steps(found: Found, wanted: Wanted, timeout: float, *, former: t.Mapping[str, str] | None = None) -> tuple[Step, ...]:
    """Unload, load, and repair what a failure in between would leave.

    `former`: the files of the loaded modules, if all still exist.

    After a failed stop, openibd's start would repeat the stop and load nothing. Therefore it is skipped then, and modprobe
    loads the former modules.
    """
    order = unloading(found.modules)[0]
    again = loaded_again(found)
    caching = set(CACHE) & set(found.services)
    found_steps = [Step("stopping the cache of addresses", ("systemctl", "stop", *CACHE), ok=tuple(range(256)), timeout=timeout)] if caching else []
    if found.openibd:
        found_steps += [_unload(name, found, timeout) for name in order if name not in _BY_OPENIBD]
        stop = "force-stop" if wanted.policy == "force" else "stop"
        found_steps += [
            Step(_STOPPING + "the driver with openibd", (OPENIBD, stop), timeout=timeout),
            # Exit statuses 2 and 3 mean that a module was skipped, which may not exist on this node.
            Step("loading the driver with openibd", (OPENIBD, "start"), ok=(0, 2, 3), timeout=timeout),
        ]
        if found.aliases:
            found_steps.append(Step("restoring the aliases of IPoIB", ("sed", "-i", "s/^#\\(alias netdev-ib.*\\)/\\1/", ALIASES), always=True))
    else:
        found_steps += [_unload(name, found, timeout) for name in order]
    if again:
        found_steps.append(Step("loading the former modules again", ("modprobe", "-a", *again), ok=(0, 1), always=True, timeout=timeout))
    if former:
        found_steps.append(_back(found, former, timeout))
    if found.services:
        found_steps.append(Step("starting the former services again", ("systemctl", "start", *found.services), ok=tuple(range(256)), always=True))
    if found.gpudirect:
        # The unit stays active all the time, unless openibd is a unit as well, so a start would load nothing.
        found_steps.append(Step("loading the module for GPU memory", ("systemctl", "restart", found.gpudirect), ok=tuple(range(256)), always=True))
    return tuple(found_steps)
