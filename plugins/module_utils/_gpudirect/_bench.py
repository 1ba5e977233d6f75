# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A measurement between the GPU memory of two hosts with ib_write_bw of perftest: its endpoints and its result. Pure.

The `--help` of perftest lists its GPU options only if it was built with CUDA, and the option for DMA-BUF only if it was built with DMA-BUF.
"""

from __future__ import annotations

import typing as t

from .._facts._portname import full_address
from .._hosts import natural
from ._found import found_of
from ._method import DMABUF, obstacles

_DISTANCES = ("PIX", "PXB", "PHB", "NODE", "SYS")
_BUILD = "install the package of MLNX_OFED or DOCA-OFED that has it, or build perftest with CUDA (configure CUDA_H_PATH=...)"


class Endpoint(t.NamedTuple):
    """One of the two hosts. `problems` says in words why it can't take part."""

    problems: tuple[str, ...] = ()
    device: str = ""
    port: int = 0
    gpu: str = ""
    path: str = ""
    """The connection between GPU and adapter, in the notation of nvidia-smi."""
    way: str = ""
    """`nvidia_peermem`, `nv_peer_mem` or `dmabuf`."""
    options: tuple[str, ...] = ()
    """The options with which ib_write_bw uses the memory of the GPU."""


def _ports(facts: t.Mapping[str, t.Any], device: str) -> list[t.Mapping[str, t.Any]]:
    """The ports that carry traffic; if a device is named, by name or PCI address, only its ports."""
    names = (device, full_address(device))
    active = [port for port in facts.get("ports") or () if port.get("state") == "ACTIVE"]
    return [port for port in active if (port.get("device") in names or port.get("pci") in names if device else not port.get("apart"))]


def _rank(path: str) -> int:
    return _DISTANCES.index(path) if path in _DISTANCES else len(_DISTANCES)


def _way(gpu: t.Mapping[str, t.Any], wanted: str) -> str:
    loaded = [str(peer["name"]) for peer in gpu.get("peers") or () if peer.get("loaded")]
    return DMABUF if wanted == DMABUF or not loaded else loaded[0]


def _lacks(help_text: str, way: str) -> list[str]:
    """What perftest lacks for this way."""
    if not help_text.strip():
        return ["ib_write_bw is not installed; install perftest with CUDA: that of MLNX_OFED or DOCA-OFED, or your own build"]
    if "--use_cuda=" not in help_text:
        return ["ib_write_bw was built without CUDA, so it can't reach GPU memory (no --use_cuda in its --help); %s" % _BUILD]
    if way == DMABUF and "--use_cuda_dmabuf" not in help_text:
        return ["ib_write_bw does not support DMA-BUF (no --use_cuda_dmabuf in its --help), and no module for GPU memory is loaded; %s" % _BUILD]
    return []


def endpoint(facts: t.Mapping[str, t.Any], help_text: str, *, number: int = 0, device: str = "", way: str = "auto") -> Endpoint:
    """A host, from its `rdma` facts and its output of `ib_write_bw --help`. `number`: the index of the GPU in PCI bus order.

    Without `device`, the adapter closest to the GPU is used.
    """
    gpu = facts.get("gpu") or {}
    devices = sorted(str(row["pci"]) for row in gpu.get("devices") or ())
    problems = []
    if not devices:
        problems.append("there is no NVIDIA GPU; name another host in gpudirect_test_hosts")
    elif number >= len(devices):
        problems.append("gpudirect_test_gpu is %d; allowed: 0 to %d, for the GPUs %s" % (number, len(devices) - 1, ", ".join(devices)))
    elif not (gpu.get("driver") or {}).get("loaded"):
        problems.append("NVIDIA's driver is not loaded; load it, or see what the role gpudirect reports")
    ports = _ports(facts, device)
    if not ports:
        what = "of gpudirect_test_device %s " % device if device else ""
        problems.append("no port %sis ACTIVE; see rdma.ofed.verify" % what)
    chosen = _way(gpu, way)
    if chosen == DMABUF and not problems:
        problems += ["%s: %s; %s" % (obstacle.method, obstacle.cause, obstacle.next_step) for obstacle in obstacles(DMABUF, found_of(facts))]
    problems += _lacks(help_text, chosen)
    if problems:
        return Endpoint(tuple(problems))
    paths = {str(path["hca"]): str(path["path"]) for path in gpu.get("topology") or () if path["gpu"] == devices[number]}
    port = min(ports, key=lambda port: (_rank(paths.get(str(port["device"]), "")), natural(str(port["name"]))))
    nearest = str(port["device"])
    options = ("--use_cuda=%d" % number, *(("--use_cuda_dmabuf",) if chosen == DMABUF else ()))
    return Endpoint((), nearest, int(port["port"]), devices[number], paths.get(nearest, ""), chosen, options)


def table(rows: t.Sequence[tuple[str, Endpoint]], gbps: float, size: int) -> list[str]:
    """Both ends, and the throughput between them."""
    head = ("end", "host", "GPU", "adapter", "path", "by way of")
    body = [(end, host, one.gpu, "%s/%d" % (one.device, one.port), one.path or "-", one.way) for end, (host, one) in zip(("writes", "is written to"), rows)]
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in (head, tuple("-" * width for width in widths), *body)]
    return [*lines, "%.2f Gb/s on average, in writes of %d bytes" % (gbps, size)]
