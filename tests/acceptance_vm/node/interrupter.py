# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs on a node: executes the module ipoib repeatedly and kills it at a given step.

Python reports to an audit hook, in advance, every file that is opened for writing, moved, removed or given permissions, and every command. The module is the
shipped one and needs no changes for this.

A request is a line of JSON on standard input, the answer a line on standard output. The request is an execution, see `execute`, or {"look": true}, or
{"timers": true}.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import typing as t

from ansible.module_utils import basic
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _apply
from ansible_collections.rdma.ofed.plugins.modules import ipoib

# A network stack takes longer on an emulated processor than on a real one.
_apply.SETTLE_TIMEOUT = 90.0

# Read-only commands: a kill before one is equivalent to a kill after the preceding step.
LOOKS = re.compile(
    r"ip (-\S+ )*\w+$|ip .*(show|get)\b|systemctl (show|is-)|nmcli (-|--(get|terse|fields|version))|netplan (info|get)|dpkg|rpm|ofed_info|modinfo"
)
# Paths that are not on a disk or do not belong to the module.
IGNORED = ("/dev/", "/proc/", "/tmp/")
# Preparations of the next step: a new file before it is moved into place.
HIDDEN = re.compile(r"(write|chmod|remove|link) .*/\.[^/]*(/[^/]*)?$|mkdir |rmdir ")

# Directories where a network stack, systemd and udev read or keep data about interfaces.
FOLDERS = (
    "/etc/netplan",
    "/etc/network",
    "/etc/NetworkManager",
    "/etc/systemd",
    "/etc/udev",
    "/run/NetworkManager/system-connections",
    "/run/network",
    "/run/systemd/network",
    "/usr/local/libexec",
)


class Steps:
    """An audit hook that records the steps of this process and kills it before step number `kill_at`."""

    def __init__(self, log: t.IO[str], kill_at: int, fine: bool) -> None:
        self._log = log
        self._kill_at = kill_at
        self._fine = fine
        self._count = 0

    def __call__(self, event: str, arguments: tuple[t.Any, ...]) -> None:
        name = step_name(event, arguments)
        if not name or (not self._fine and HIDDEN.match(name)):
            return
        self._count += 1
        self._log.write("%.2f %s\n" % (time.monotonic(), name))
        self._log.flush()
        if self._count == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def step_name(event: str, arguments: tuple[t.Any, ...]) -> str:
    """Return a description of the next step, "" for one that changes nothing."""
    if event == "subprocess.Popen":
        argv = [os.fsdecode(word) for word in arguments[1]]
        if argv[0] == "timeout":
            argv = argv[3:]
        text = " ".join([os.path.basename(argv[0]), *argv[1:]])
        return "" if LOOKS.match(text) else "run " + text
    if event == "open":
        path, _mode, flags = arguments
        return _named("write", path) if flags & (os.O_WRONLY | os.O_RDWR) else ""
    if event == "os.rename":
        return _named("move to", arguments[1])
    if event in ("os.link", "os.symlink"):
        return _named(event[3:], arguments[1])
    if event == "os.mkdir" and os.path.isdir(arguments[0]):
        return ""
    if event in ("os.remove", "os.rmdir", "os.mkdir", "os.chmod"):
        return _named(event[3:], arguments[0])
    return ""


def _named(verb: str, path: t.Any) -> str:
    if isinstance(path, int):
        return ""
    text = os.path.abspath(os.fsdecode(path))
    return "" if text.startswith(IGNORED) else "%s %s" % (verb, text)


def execute(options: dict[str, t.Any], kill_at: int = 0, fine: bool = False, within: int = 0, delay: float = 0, connection: str = "") -> dict[str, t.Any]:
    """Execute the module once, in a forked process that need not import everything again.

    It is killed before step `kill_at`, or, together with the command that it started, `delay` seconds after step `within` began. With `connection` (sshd's
    SSH_CONNECTION), it acts as if it was run over that connection.
    """
    with tempfile.NamedTemporaryFile("w+") as log, tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            if connection:
                os.environ["SSH_CONNECTION"] = connection
            _module(options, Steps(log, kill_at, fine), output)
        if within:
            _kill_within(pid, pathlib.Path(log.name), within, delay)
        _pid, status = os.waitpid(pid, 0)
        end = time.monotonic()
        lines = pathlib.Path(log.name).read_text(encoding="utf-8").splitlines()
        output.seek(0)
        text = output.read().strip()
    times = [float(line.split(" ", 1)[0]) for line in lines] + [end]
    return {
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
        "steps": [line.split(" ", 1)[1] for line in lines],
        "durations": [round(after - before, 2) for before, after in zip(times, times[1:])],
        "result": json.loads(text) if text.startswith("{") else {"failed": True, "msg": text},
        "seconds": round(end - start, 2),
    }


def _module(options: dict[str, t.Any], steps: Steps, output: t.IO[str]) -> t.NoReturn:
    os.setsid()
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()
    if hasattr(basic, "_ANSIBLE_PROFILE"):
        basic._ANSIBLE_PROFILE = "legacy"
    sys.addaudithook(steps)
    status = 0
    try:
        ipoib.main()
    except SystemExit as exc:
        status = int(exc.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _kill_within(pid: int, log: pathlib.Path, step: int, delay: float) -> None:
    """Kill the module and everything that it has started: they are one session."""
    while len(log.read_text(encoding="utf-8").splitlines()) < step:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.01)
    time.sleep(delay)
    for other in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            if os.getsid(other) == pid:
                os.kill(other, signal.SIGKILL)
        except ProcessLookupError:
            continue


def said(*argv: str) -> str:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False).stdout


def snapshot() -> dict[str, t.Any]:
    """Return everything that a run may leave behind: interfaces, routes, files with their permissions, the state of the stack."""
    links = [_link(row) for row in json.loads(said("ip", "-details", "-json", "address", "show") or "[]") if row["ifname"] not in ("lo", "eth0")]
    routes = [line for family in ("-4", "-6") for line in said("ip", family, "route", "show").splitlines() if "eth0" not in line]
    return {
        "links": {link.pop("name"): link for link in links},
        # NetworkManager derives the metric from the interface index, which changes whenever the interface is created.
        "routes": sorted(re.sub(r"( linkdown| metric \d+)", "", line).strip() for line in routes if not line.startswith("fe80::")),
        "files": {path: _file(path) for folder in FOLDERS for path in sorted(_paths(folder))},
        "stack": sorted(map(_held, said("nmcli", "-t", "-f", "DEVICE,STATE,CONNECTION", "device").splitlines())) if os.path.exists("/usr/bin/nmcli") else [],
    }


def _held(line: str) -> str:
    """Return the state of an interface in NetworkManager. For one that is down without a connection, `disconnected` or `unavailable` depends on when
    NetworkManager last looked; the link itself shows whether it is down.
    """
    return re.sub(r":(disconnected|unavailable):$", ":without connection:", line)


def _link(row: dict[str, t.Any]) -> dict[str, t.Any]:
    info = row.get("linkinfo", {})
    data = info.get("info_data", {})
    return {
        "name": row["ifname"],
        "kind": info.get("info_kind", ""),
        "up": "UP" in row["flags"],
        "mtu": row["mtu"],
        "master": row.get("master", ""),
        "options": {key: data[key] for key in ("mode", "pkey", "miimon", "primary", "fail_over_mac") if key in data},
        "addresses": sorted("%s/%d" % (item["local"], item["prefixlen"]) for item in row["addr_info"] if item["scope"] != "link"),
    }


def _paths(folder: str) -> list[str]:
    """Return paths without those that contain process IDs: killed scripts of ifupdown leave them."""
    return [os.path.join(above, name) for above, _folders, files in os.walk(folder) for name in files if not name.endswith(".pid")]


def _file(path: str) -> list[str]:
    """Return permissions and text. Lines that ifupdown records in the order of its actions are sorted."""
    try:
        if os.path.islink(path):
            return ["link", os.readlink(path)]
        lines = pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        return ["%o" % stat.S_IMODE(os.stat(path).st_mode), *(sorted(lines) if path.endswith("ifstate") else lines)]
    except FileNotFoundError:
        return ["gone"]


def management() -> dict[str, t.Any]:
    """Return the interface of the connection, and which of its parts have disappeared since the start, according to `ip monitor`."""
    (row,) = json.loads(said("ip", "-json", "address", "show", "dev", "eth0"))
    with open("/run/interrupter.monitor", encoding="utf-8") as stream:
        gone = [line.strip() for line in stream if "Deleted" in line and "eth0" in line and " inet " in line]
    return {
        "index": row["ifindex"],
        "addresses": sorted(item["local"] for item in row["addr_info"] if item["scope"] == "global"),
        "route": said("ip", "-4", "route", "show", "default").split()[:5],
        "gone": gone,
    }


def main() -> None:
    with open("/run/interrupter.monitor", "wb") as record:
        monitor = subprocess.Popen(["ip", "-oneline", "monitor", "link", "address", "route"], stdin=subprocess.DEVNULL, stdout=record)
    try:
        for line in sys.stdin:
            request = json.loads(line)
            if "look" in request:
                answer: t.Any = {"snapshot": snapshot(), "management": management()}
            elif "timers" in request:
                answer = re.findall(r"rdma-ofed\S+", said("systemctl", "list-units", "--no-legend", "--plain", "rdma-ofed-ipoib-rollback.*"))
            else:
                answer = execute(**request)
            print(json.dumps(answer), flush=True)
    finally:
        monitor.terminate()
        monitor.wait()


if __name__ == "__main__":
    main()
