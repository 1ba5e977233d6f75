# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why nvidia_peermem or nv_peer_mem could not be loaded: derive cause and next step from the messages of modprobe and the kernel. Pure."""

from __future__ import annotations

import re
import typing as t

_MOST_LINES = 4


class Symptom(t.NamedTuple):
    """The sign of a cause, and the next step."""

    pattern: t.Pattern[str]
    meaning: str
    next_step: str


_AGAIN = "rebuild nv_peer_mem (gpudirect_state: absent, then present)"

# The first match counts: messages of the kernel precede those that modprobe prints for several causes.
SYMPTOMS = (
    Symptom(
        re.compile(r"Key was rejected by service|Required key not available|unavailable key"),
        "Secure Boot refuses it: it is not signed with a key that this machine trusts",
        "enrol the key that DKMS signs with (mokutil --import), or sign the module",
    ),
    Symptom(
        re.compile(r"nv_peer_mem: disagrees about version of symbol nvidia_p2p_"),
        "it was built for a different GPU driver than the loaded one: the build uses the one that is installed for the kernel",
        "reboot if the installed GPU driver is not the loaded one; otherwise " + _AGAIN,
    ),
    Symptom(
        re.compile(r"nv_peer_mem: disagrees about version of symbol"),
        "it was built against a different build of the RDMA stack than the loaded one",
        "load the installed stack (driver_reload), or " + _AGAIN,
    ),
    Symptom(
        re.compile(r"disagrees about version of symbol"),
        "the GPU driver was built against a different build of the RDMA stack than the loaded one",
        "rebuild the GPU driver (gpudirect_allow_rebuild: true), or load the installed stack (driver_reload)",
    ),
    Symptom(
        re.compile(r"Unknown symbol"),
        "the loaded ib_core has no peer memory: it is the kernel's own",
        "build the stack for this kernel (ofed_kernel_policy: build), or load the installed one (driver_reload)",
    ),
    Symptom(re.compile(r"No such device"), "NVIDIA's driver found no GPU that it can drive", "see its messages in the kernel log, and nvidia-smi"),
    Symptom(
        re.compile(r"not found in directory"),
        "the running kernel has no such module",
        "build the GPU driver for this kernel, or boot the one that it was built for",
    ),
    Symptom(
        re.compile(r"Invalid argument"),
        "the GPU driver was built without peer memory, before the RDMA stack was installed; or peerdirect_support has a value that the stack does not know",
        "rebuild the GPU driver (gpudirect_allow_rebuild: true); with MLNX_OFED 4.9, gpudirect_peerdirect_support: 1",
    ),
)


def related(log: str, module: str) -> tuple[str, ...]:
    """The last lines of the kernel log about the module, without their timestamps."""
    names = (module, module.replace("_", "-"), "nvidia:", "NVRM")
    lines = [re.sub(r"^\[[^\]]*\]\s*", "", line).strip() for line in log.splitlines() if any(name in line for name in names)]
    return tuple(lines[-_MOST_LINES:])


def explain(module: str, said: str, log: str) -> str:
    """The failure in words."""
    lines = related(log, module)
    text = "\n".join([said, *lines])
    symptom = next((symptom for symptom in SYMPTOMS if symptom.pattern.search(text)), None)
    quoted = " | ".join([" ".join(said.split()), *lines])
    if symptom is None:
        return "%s could not be loaded: %s" % (module, quoted)
    return "%s could not be loaded: %s. Next step: %s. The message was: %s" % (module, symptom.meaning, symptom.next_step, quoted)
