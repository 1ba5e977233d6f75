# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that fail in different ways. A stopped container only makes Ansible's connection fail, so these hosts are reached by SSH."""

from __future__ import annotations

import contextlib
import copy
import pathlib
import socket
import tempfile
import typing as t

import yaml

REFUSED = "refused"
"""Nothing listens on the SSH port."""
SILENT = "silent"
"""The connection is accepted, but no data arrives."""
UNROUTED = "unrouted"
"""The address has no route."""
ENDLESS = "endless"
"""SSH works, but no command ends."""
COMMANDLESS = "commandless"
"""SSH works, but no command can start."""
KINDS = (REFUSED, SILENT, UNROUTED, ENDLESS, COMMANDLESS)

UNREACHABLE = (REFUSED, SILENT, UNROUTED)
"""Those that Ansible itself reports as unreachable."""

PATIENCE = 2
"""Seconds that SSH waits for the first data of a host."""

# Not a host address: TCP has no route to a multicast group.
_NO_ROUTE = "224.0.0.1"
_LOOPBACK = "127.0.0.1"
# Ansible runs the client with -o ControlPersist to test for that option. The loop ends with the run that started it.
_CLIENTS = {
    ENDLESS: '[ "$1 $2" = "-o ControlPersist" ] && exit 255\nwhile kill -0 "$PPID" 2>/dev/null; do sleep 1; done\n',
    COMMANDLESS: '[ "$1 $2" = "-o ControlPersist" ] && exit 255\necho "bash: fork: retry: Resource temporarily unavailable" >&2\nexit 254\n',
}


class Ward:
    """Makes hosts of an inventory sick while it is open.

    with Ward() as ward:
        inventory = ward.inventory(cluster.inventory, {"node2": sick.SILENT})
    """

    def __enter__(self) -> Ward:
        self._stack = contextlib.ExitStack()
        self._folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="ward-")))
        self._ports: dict[str, int] = {}
        return self

    def __exit__(self, *_args: object) -> None:
        self._stack.close()

    def variables(self, kind: str) -> dict[str, t.Any]:
        """Return the connection variables of such a host."""
        if kind not in KINDS:
            raise ValueError("no illness: %s; known: %s" % (kind, ", ".join(KINDS)))
        found = {
            "ansible_connection": "ssh",
            "ansible_host": _NO_ROUTE if kind == UNROUTED else _LOOPBACK,
            "ansible_port": self._port(kind) if kind in (REFUSED, SILENT) else 22,
            "ansible_ssh_timeout": PATIENCE,
            "ansible_ssh_args": "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes",
        }
        if kind == ENDLESS:
            # This host times out at once. The time limit of healthy hosts stays, so load on the machine does not matter.
            found["rdma_look_timeout"] = 1
        return {**found, "ansible_ssh_executable": str(self._client(kind))} if kind in _CLIENTS else found

    def inventory(self, inventory: pathlib.Path | dict[str, t.Any], illnesses: t.Mapping[str, str]) -> pathlib.Path:
        """Return a copy of an inventory in which these hosts are sick."""
        whole = copy.deepcopy(inventory) if isinstance(inventory, dict) else yaml.safe_load(inventory.read_text(encoding="utf-8"))
        hosts = whole["all"]["children"]["rdma"]["hosts"]
        for host, kind in illnesses.items():
            hosts[host] = {**(hosts[host] or {}), **self.variables(kind)}
        path = self._folder / ("inventory-%d.yml" % sum(1 for _ in self._folder.iterdir()))
        path.write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")
        return path

    def _port(self, kind: str) -> int:
        """Return a local port on which nothing listens, or on which only the kernel accepts connections."""
        if kind not in self._ports:
            door = self._stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            door.bind((_LOOPBACK, 0))
            if kind == SILENT:
                door.listen(socket.SOMAXCONN)
            self._ports[kind] = door.getsockname()[1]
        return self._ports[kind]

    def _client(self, kind: str) -> pathlib.Path:
        """Return a program to use as ssh. Its output is that of the sick host."""
        path = self._folder / ("ssh-" + kind)
        if not path.exists():
            path.write_text("#!/bin/sh\n" + _CLIENTS[kind], encoding="utf-8")
            path.chmod(0o755)
        return path
