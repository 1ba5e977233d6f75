# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tap device in the shape of an IPoIB interface: link type 32 and a settable carrier.

The kernel gives a tap of this type no hardware address. The 20 bytes therefore exist in the lab's sysfs only, the preload library adds them to link messages,
and this module creates the link-local address that IPv6 would derive from them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import subprocess
import typing as t

_TUNSETIFF, _TUNSETPERSIST, _TUNSETLINK, _TUNSETCARRIER = 0x400454CA, 0x400454CB, 0x400454CD, 0x400454E2
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_SIOCGIFMTU, _SIOCSIFMTU = 0x8921, 0x8922
_SIOCGIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8913, 0x1, 0x40
_RTM_NEWADDR, _NLM_F_REQUEST, _NLM_F_CREATE, _IFA_F_PERMANENT, _RT_SCOPE_LINK = 20, 0x1, 0x400, 0x80, 253
_CLONE_NEWNET = 0x40000000
INFINIBAND = 32


@contextlib.contextmanager
def _another_network_namespace() -> t.Iterator[None]:
    """Run the body in a network namespace of its own, invisible to the node's network stack."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network namespace to make a tap in")
        try:
            yield
        finally:
            if libc.setns(home, _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "no way back from a network namespace")
    finally:
        os.close(home)


def _attach(name: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return fd


def _make(name: str) -> None:
    """Create a persistent tap of link type 32 and move it into the node's namespace.

    A tap starts as Ethernet, and systemd-networkd reads the type of a link only once: it would run LLDP on it.
    """
    with _another_network_namespace():
        fd = _attach(name)
        try:
            fcntl.ioctl(fd, _TUNSETLINK, INFINIBAND)
            fcntl.ioctl(fd, _TUNSETPERSIST, 1)
        finally:
            os.close(fd)
        subprocess.run(["ip", "link", "set", "dev", name, "netns", "1"], check=True)


class Tap:
    """One interface, held open: a tap has a carrier only while a process holds it."""

    def __init__(self, name: str) -> None:
        """Create the interface, or adopt the one that a previous agent created."""
        self.name = name
        self.carrier: bool | None = None
        self._control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if name not in (present for _index, present in socket.if_nameindex()):
            _make(name)
        self._fd = _attach(name)

    def set_carrier(self, on: bool) -> None:
        """Set the carrier when it changes. An interface that is down has no carrier to set (EINVAL)."""
        if on == self.carrier:
            return
        fcntl.ioctl(self._fd, _TUNSETCARRIER, struct.pack("i", on))
        self.carrier = on

    @property
    def mtu(self) -> int:
        answer = fcntl.ioctl(self._control, _SIOCGIFMTU, struct.pack("16s24x", self.name.encode()))
        return int(struct.unpack_from("i", answer, 16)[0])

    def set_mtu(self, mtu: int) -> None:
        fcntl.ioctl(self._control, _SIOCSIFMTU, struct.pack("16si20x", self.name.encode(), mtu))

    @property
    def running(self) -> bool:
        """Return whether the interface is up and has a carrier."""
        answer = fcntl.ioctl(self._control, _SIOCGIFFLAGS, struct.pack("16s24x", self.name.encode()))
        flags = int(struct.unpack_from("H", answer, 16)[0])
        return flags & _IFF_UP != 0 and flags & _IFF_RUNNING != 0

    def drain(self) -> None:
        """Discard what the node sends; there is no peer."""
        while True:
            try:
                os.read(self._fd, 65536)
            except OSError as exc:
                if exc.errno == errno.EINTR:
                    continue
                return

    def remove(self) -> None:
        fcntl.ioctl(self._fd, _TUNSETPERSIST, 0)
        self.close()

    def close(self) -> None:
        os.close(self._fd)
        self._control.close()


def link_local_address(address: bytes) -> bytes:
    """Return the address that the kernel derives from an InfiniBand port GUID (addrconf_ifid_infiniband)."""
    return b"\xfe\x80" + bytes(6) + bytes([address[12] | 2]) + address[13:20]


def add_link_local(index: int, address: bytes) -> None:
    """Add the address that IPv6 itself adds to an interface whose hardware address it knows. index: interface index."""
    local = link_local_address(address)
    attributes = b"".join(struct.pack("HH", 20, kind) + local for kind in (1, 2))  # IFA_ADDRESS, IFA_LOCAL
    body = struct.pack("BBBBI", socket.AF_INET6, 64, _IFA_F_PERMANENT, _RT_SCOPE_LINK, index) + attributes
    request = struct.pack("IHHII", 16 + len(body), _RTM_NEWADDR, _NLM_F_REQUEST | _NLM_F_CREATE, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as line:
        line.send(request)
