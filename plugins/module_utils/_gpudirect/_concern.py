# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the rest of the collection may ask of this concern. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import is_true
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import STAMP_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import LEGACY, PEERMEM, found_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import VARIABLE, Obstacle, masks

_ENCLOSED = "this is a %s: the modules belong to the kernel of its host; run the role there (allow_container: true, of the roles %s: true, overrides this)"
_CONSENT = "rdma_allow_container"
_IN_USE = (
    "nv_peer_mem is in use by %d registrations of GPU memory, so it can't be unloaded, and nothing was changed: "
    "end the processes that use GPUs over RDMA, and run this again"
)


def words_of_enclosure(kind: str) -> str:
    """Why nothing is changed in a `container` or `chroot`."""
    return _ENCLOSED % (kind, _CONSENT)


def words_of_mask(unit: str) -> str:
    """Why a masked unit is not enabled."""
    return "the unit %s is masked, so systemd would not start it, and nothing was changed: systemctl unmask %s" % (unit, unit)


def _words_of(obstacle: Obstacle) -> str:
    return "%s, and nothing was changed: %s" % (obstacle.cause, obstacle.next_step)


def words_of_use(registrations: int) -> str:
    """Why nv_peer_mem is not unloaded."""
    return _IN_USE % registrations


def foreseen(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any]) -> list[str]:
    """What the module would refuse on a host for certain, whatever other roles change before its turn, in words.

    `variables` are those of the host, without problems. Which method V(auto) chooses, and what becomes of a set-up that is there, are for the module.
    """
    gpu, kind = facts.get("gpu") or {}, str((facts.get("machine") or {}).get("kind", ""))
    managed = gpu.get("managed") or ()
    if variables.get("gpudirect_state", "present") == "absent":
        users = sum(peer.get("users") or 0 for peer in gpu.get("peers") or () if peer.get("name") == LEGACY)
        return [words_of_use(users)] if users and STAMP_PATH in managed else []
    method = str(variables.get(VARIABLE))
    if method == PEERMEM and gpu.get("devices") and not managed and kind in ("container", "chroot") and not is_true(variables.get(_CONSENT)):
        return [words_of_enclosure(kind)]
    return [_words_of(obstacle) for obstacle in masks(method, found_of(facts))]
