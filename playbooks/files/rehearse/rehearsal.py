# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in the container of a rehearsal: carries out the plan on standard input, and prints what happened as JSON in one line.

The plan is made on the controller, and the result is judged there. This knows the simulator and the programs in the container, and nothing of inventories.
It needs the standard library only, and ends by itself: each wait has a limit.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import types
import typing as t

ROOT = "/tmp/rehearsal"
PRELOAD = ("/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib*/umad2sim/libumad2sim.so")
# Logs beyond this are cut at their beginning.
MOST = 512 * 1024
SHOWN = 10
POLL_SECONDS = 0.5
QUERY_SECONDS = 600
STOP_SECONDS = 20
LOOK_SECONDS = 0.1
# The result of a step that had nothing to do.
IDLE = "idle"
_READY = b"sim> "
# The protocol of ibsim (ibsim.h): a control datagram has magic, client, type, length and data. A management datagram has 32 bytes of addressing, with a
# status in bytes 16 to 19, before the 256 bytes of the MAD.
OUTSIDE, INSIDE = "relay", "sim"
MAGIC = 0xDEADBEEF
# The number of this program among the clients. Others have that of their process.
CLIENT = 1 << 23
PKEY_TABLE = 0x16
CONNECT, DISCONNECT = 1, 2
CONTROL_HEAD = 16
# Methods that expect an answer: Get, Set, Trap, Report, GetTable, GetTraceTable, GetMulti, Delete.
ASKING = (0x01, 0x02, 0x05, 0x06, 0x12, 0x13, 0x14, 0x15)
TRAP_REPRESS = 0x07
RESPONSE = 0x80
TIMED_OUT = struct.pack(">I", 110)
ANSWER_SECONDS = 3.0
START_SECONDS = 10
_SWITCH = re.compile(r"Unicast lids .* guid 0x([0-9a-f]{16}) ")
_ROUTE = re.compile(r"0x([0-9a-f]{4}) ([0-9]{3}) ")
_NODE = re.compile(r'(?:Ca|Switch)\t[0-9]+ "[HS]-([0-9a-f]{16})"')
_END = re.compile(r'\[([0-9]+)\](?:\(([0-9a-f]+)\))?\s*"[HS]-([0-9a-f]{16})"\[[0-9]+\][^#]*# (?:lid ([0-9]+) )?')
_MASTER = re.compile(r"sm lid \d+ sm guid 0x([0-9a-f]+), activity count \d+ priority (\d+) state (\d+)")
_STATE = re.compile(r"Entering ([A-Z]+) state")


class End(t.NamedTuple):
    """A port of an adapter with a link."""

    guid: str
    node: str
    switch: str
    lid: int


def discovered(text: str) -> t.Tuple[t.List[End], t.Dict[t.Tuple[str, int], str]]:
    """The output of `ibnetdiscover`: the ends of adapters, and the node behind each port. GUIDs are 16 digits."""
    ends, cables = [], {}
    node = ""
    for line in text.splitlines():
        head = _NODE.match(line)
        if head:
            node = head[1]
        end = _END.match(line) if node and not head else None
        if end:
            cables[node, int(end[1])] = end[3]
            if end[2] and end[4]:
                ends.append(End(end[2].zfill(16), node, end[3], int(end[4])))
    return ends, cables


def parse_tables(lines: t.Iterable[str]) -> t.Dict[str, t.Dict[int, int]]:
    """The output of `dump_fts`: by switch, the port for each LID."""
    tables: t.Dict[str, t.Dict[int, int]] = {}
    table: t.Dict[int, int] = {}
    for line in lines:
        head = _SWITCH.match(line)
        if head:
            table = tables.setdefault(head[1], {})
            continue
        route = _ROUTE.match(line)
        if route:
            table[int(route[1], 16)] = int(route[2])
    return tables


def reached(routes: t.Mapping[str, int], cables: t.Mapping[t.Tuple[str, int], str], target: str) -> t.Dict[str, bool]:
    """Whether the routes lead from each switch to a destination. `routes`: the port by switch. Linear in the number of switches."""
    found: t.Dict[str, bool] = {}
    for start in routes:
        path: t.Dict[str, None] = {}
        node = start
        # A loop comes back to a switch of this path.
        while node in routes and node not in found and node not in path:
            path[node] = None
            node = cables.get((node, routes[node]), "")
        arrives = node == target or found.get(node, False)
        found.update(dict.fromkeys(path, arrives))
    return found


def unroutable(
    tables: t.Mapping[str, t.Mapping[int, int]], cables: t.Mapping[t.Tuple[str, int], str], ends: t.Iterable[End]
) -> t.Tuple[int, int, t.List[t.Tuple[str, str]]]:
    """The number of pairs of ports of adapters, how many of them have no route, and the first of those as source and destination."""
    behind: t.Dict[str, t.List[End]] = {}
    for end in ends:
        behind.setdefault(end.switch, []).append(end)
    pairs = lost = 0
    shown: t.List[t.Tuple[str, str]] = []
    for target in (end for own in behind.values() for end in own):
        good = reached({switch: table[target.lid] for switch, table in tables.items() if target.lid in table}, cables, target.node)
        for switch, own in behind.items():
            sources = [end for end in own if end.node != target.node]
            pairs += len(sources)
            # Two adapters that are cabled to each other need no switch.
            if not good.get(switch, False) and switch != target.node:
                lost += len(sources)
                shown += [(source.guid, target.guid) for source in sources[: SHOWN - len(shown)]]
    return pairs, lost, shown


class Session:
    """A program on the simulated fabric: the sockets to it and to the simulator."""

    def __init__(self, client: int) -> None:
        self.client = client
        self.asked: t.Dict[bytes, t.Tuple[float, bytes]] = {}
        """Its unanswered requests, each with its deadline."""
        self.back = bound(INSIDE, "in%d" % client)
        self.front: t.Any = None

    def join(self, number: int) -> None:
        """Connect both ways, once the simulator has given the program a number."""
        self.front = bound(OUTSIDE, "out%d" % number)
        self.front.connect(address(OUTSIDE, "in%d" % self.client))
        self.back.connect(address(INSIDE, "out%d" % number))

    def close(self) -> None:
        for side in filter(None, (self.front, self.back)):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()


def address(name: str, part: str) -> bytes:
    """An address of ibsim: in the abstract namespace, with a zero at its end."""
    return b"\0%s:%s\0" % (name.encode(), part.encode())


def bound(name: str, part: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(address(name, part))
    return made


def transaction(packet: bytes) -> bytes:
    """The common key of a request and its answer: the class, and the transaction without the bytes that ibsim overwrites."""
    return packet[33:34] + packet[42:48]


class Relay:
    """Stands between the programs and the simulator, and speaks the protocol of ibsim on both sides.

    A request without an answer gets a time-out, as from the kernel of a host, and the answer to a trap, which ibsim drops, is delivered. Without these, a
    subnet manager would wait forever. Each direction has a thread, so a full queue of one can't stop the other.
    """

    def __init__(self) -> None:
        self.sessions: t.Dict[int, Session] = {}
        self.lock = threading.Lock()
        self.control, self.simulator = bound(OUTSIDE, "ctl"), bound(INSIDE, "ctl0")

    def start(self) -> None:
        """Connect to the simulator, which opens its sockets a moment after its console, and serve the programs."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.simulator.connect(address(INSIDE, "ctl"))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        for work in (self.answer, self.expire):
            threading.Thread(target=work, daemon=True).start()

    def answer(self) -> None:
        """Pass control requests on, one at a time."""
        while True:
            packet, sender = self.control.recvfrom(512)
            number, kind = struct.unpack_from("=II", packet, 4)
            with contextlib.suppress(OSError):
                reply = self.connect(packet) if kind == CONNECT else self.ask(packet)
                if kind == DISCONNECT:
                    self.forget(number)
                self.control.sendto(reply, sender)

    def ask(self, packet: bytes) -> bytes:
        self.simulator.send(packet)
        return self.simulator.recv(512)

    def connect(self, packet: bytes) -> bytes:
        session = Session(struct.unpack_from("=I", packet, CONTROL_HEAD)[0])
        reply = self.ask(packet)
        if struct.unpack_from("=I", reply, 8)[0] != CONNECT:
            session.close()
            return reply
        number = struct.unpack_from("=I", reply, CONTROL_HEAD)[0]
        self.forget(number)
        session.join(number)
        with self.lock:
            self.sessions[number] = session
        for work in (self.inward, self.outward):
            threading.Thread(target=work, args=(session,), daemon=True).start()
        return reply

    def forget(self, number: int) -> None:
        with self.lock:
            session = self.sessions.pop(number, None)
        if session is not None:
            session.close()

    def inward(self, session: Session) -> None:
        """Pass the datagrams of a program on to the simulator."""
        with contextlib.suppress(OSError):
            while True:
                packet = session.front.recv(1024)
                if len(packet) <= 48:
                    return
                if packet[35] == TRAP_REPRESS:
                    self.repress(packet)
                    continue
                if packet[35] in ASKING:
                    with self.lock:
                        session.asked[transaction(packet)] = (time.monotonic() + ANSWER_SECONDS, packet)
                session.back.send(packet)

    def outward(self, session: Session) -> None:
        """Pass the datagrams of the simulator on to a program."""
        with contextlib.suppress(OSError):
            while True:
                packet = session.back.recv(1024)
                if len(packet) <= 48:
                    return
                if packet[35] & RESPONSE or packet[16:20] == TIMED_OUT:
                    with self.lock:
                        session.asked.pop(transaction(packet), None)
                session.front.send(packet)

    def repress(self, packet: bytes) -> None:
        with self.lock:
            waiting = [session for session in self.sessions.values() if session.asked.pop(transaction(packet), None)]
        for session in waiting:
            with contextlib.suppress(OSError):
                session.front.send(packet)

    def expire(self) -> None:
        while True:
            time.sleep(ANSWER_SECONDS / 4)
            now = time.monotonic()
            with self.lock:
                late = [(session, key, packet) for session in self.sessions.values() for key, (end, packet) in session.asked.items() if end < now]
                for session, key, _packet in late:
                    del session.asked[key]
            for session, _key, packet in late:
                with contextlib.suppress(OSError):
                    session.front.send(packet[:16] + TIMED_OUT + packet[20:])


class Client:
    """Asks ports for their tables of P_Keys, one datagram for each block. The record of all tables needs RMPP, which the simulated programs lack."""

    def __init__(self, node: str) -> None:
        self.transaction = 0
        self.data, control = bound(OUTSIDE, "in%d" % CLIENT), bound(OUTSIDE, "ctl%d" % CLIENT)
        control.connect(address(OUTSIDE, "ctl"))
        info = struct.pack("=III32s", CLIENT, 0, 0, node.encode())
        control.send(struct.pack("=IIII64s", MAGIC, 0, CONNECT, len(info), info))
        self.number = struct.unpack_from("=I", control.recv(512), CONTROL_HEAD)[0]
        self.data.connect(address(OUTSIDE, "out%d" % self.number))
        self.data.settimeout(2 * ANSWER_SECONDS)
        self.control = control

    def block(self, lid: int, block: int) -> t.List[int]:
        """The P_Keys in one block of a table; none where the port does not answer."""
        self.transaction += 1
        mad = struct.pack(">BBBBHHQHHI", 1, 0x01, 1, 0x01, 0, 0, self.transaction, PKEY_TABLE, 0, block).ljust(256, b"\0")
        # ibsim takes the LID as 16 bits in network order, and fills in that of the sender.
        self.data.send(struct.pack(">H2x16x4xQ", lid, 256) + mad)
        try:
            packet = self.data.recv(1024)
        except socket.timeout:
            return []
        if packet[16:20] == TIMED_OUT or packet[36:38] != b"\0\0":
            return []
        return [pkey for pkey in struct.unpack_from(">32H", packet, 32 + 64) if pkey & 0x7FFF]

    def close(self) -> None:
        self.control.send(struct.pack("=IIII64s", MAGIC, self.number, DISCONNECT, 0, b""))
        self.control.recv(512)
        for side in (self.control, self.data):
            side.close()


class Lab:
    """The simulator, and the subnet managers on it."""

    def __init__(self, plan: t.Dict[str, t.Any]) -> None:
        self.plan = plan
        self.running: t.Dict[str, t.Any] = {}
        self.marks: t.Dict[str, int] = {}
        """How long the log of each manager was when it was last started or told to reread its files."""
        self.seen: t.List[t.Dict[str, t.Any]] = []
        self.events: t.List[t.Dict[str, t.Any]] = []
        self.ended: t.Dict[str, int] = {}
        self.simulator: t.Any = None
        self.preload = next((path for pattern in PRELOAD for path in glob.glob(pattern)), "")
        self.over = threading.Event()
        self.relay = Relay()

    def place(self, node: str) -> t.Dict[str, str]:
        """The environment of a program that is attached to a node."""
        return {**os.environ, "LC_ALL": "C", "TZ": "UTC", "LD_PRELOAD": self.preload, "SIM_HOST": node, "IBSIM_SOCKNAME": OUTSIDE}

    def simulate(self) -> None:
        if not self.preload:
            raise RuntimeError("the image has no libumad2sim.so of ibsim")
        with open(ROOT + "/fabric.topo", "w", encoding="ascii", errors="replace") as stream:
            stream.write(self.plan["topology"])
        with open(ROOT + "/ibsim.err", "wb") as errors:
            self.simulator = subprocess.Popen(
                ["ibsim", "-s", *self.plan["limits"], ROOT + "/fabric.topo"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                cwd=ROOT,
            )
        said = b""
        while not said.endswith(_READY):
            chunk = os.read(self.simulator.stdout.fileno(), 65536)
            if not chunk:
                raise RuntimeError("the simulator did not start: %s" % self.complaints())
            said += chunk
        self.relay.start()
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self) -> None:
        """Read what the console prints, so that the simulator never waits for it."""
        while os.read(self.simulator.stdout.fileno(), 65536):
            pass

    def complaints(self) -> str:
        with open(ROOT + "/ibsim.err", encoding="utf-8", errors="replace") as stream:
            return stream.read()[-2000:]

    def query(self, *argv: str, timeout: float = QUERY_SECONDS) -> str:
        """The output of a program of infiniband-diags at the node that observes; "" where it takes too long."""
        node = self.place(self.plan["observer"])
        try:
            done = subprocess.run(argv, env=node, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return ""
        return str(done.stdout, "utf-8", "replace")

    def observe(self) -> None:
        """Remember whenever the observing node sees another master, or another state of it."""
        last: t.Any = None
        while not self.over.is_set():
            now, match = time.time(), _MASTER.search(self.query("sminfo", timeout=20))
            found = {"guid": match[1].zfill(16), "priority": int(match[2]), "state": int(match[3])} if match else {"guid": "", "priority": 0, "state": 0}
            if found != last:
                self.seen.append({"time": now, **found})
            last = found
            self.over.wait(POLL_SECONDS)

    def folder(self, name: str) -> str:
        return os.path.join(ROOT, name)

    def log(self, name: str) -> str:
        return os.path.join(self.folder(name), "opensm.log")

    def said(self, name: str, since: int = 0) -> str:
        """The log of a manager from a byte on."""
        try:
            with open(self.log(name), "rb") as stream:
                stream.seek(since)
                return stream.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def state(self, name: str) -> str:
        """The state that a manager has logged last."""
        return str((_STATE.findall(self.said(name)) or [""])[-1])

    def step(self, step: t.Dict[str, t.Any]) -> None:
        begin = time.time()
        met = getattr(self, step["verb"])(**{key: value for key, value in step.items() if key != "verb"})
        done = {"time": begin, "seconds": time.time() - begin, "manager": step["manager"], "verb": step["verb"], "met": met is not False}
        self.events += [] if met == IDLE else [done]

    def write(self, manager: str, files: t.Dict[str, str]) -> None:
        """Write files; an empty one must not exist."""
        os.makedirs(self.folder(manager), exist_ok=True)
        for name, text in files.items():
            path = os.path.join(self.folder(manager), name)
            if text:
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(path)

    def mark(self, name: str) -> None:
        path = self.log(name)
        self.marks[name] = os.path.getsize(path) if os.path.exists(path) else 0

    def start(self, manager: str) -> None:
        folder = self.folder(manager)
        self.mark(manager)
        environment = {**self.place(self.plan["managers"][manager]), "OSM_CACHE_DIR": folder, "OSM_TMP_DIR": folder}
        with open(folder + "/output", "ab") as output:
            self.running[manager] = subprocess.Popen(
                ["opensm", "--config", folder + "/opensm.conf"], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def reload(self, manager: str) -> None:
        self.mark(manager)
        self.running[manager].send_signal(signal.SIGHUP)

    def stop(self, manager: str) -> None:
        process = self.running.pop(manager)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def comes(self, manager: str, patience: float, holds: t.Callable[[], bool]) -> bool:
        """Wait until something holds; False where it does not within the time, or the manager ends."""
        end = time.monotonic() + patience
        while not holds():
            process = self.running.get(manager)
            if process is not None and process.poll() is not None:
                self.ended[manager] = process.poll()
                return False
            if time.monotonic() > end:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def join(self, manager: str, patience: float) -> bool:
        """Wait until a manager that was started has decided what it is."""
        return self.comes(manager, patience, lambda: _STATE.findall(self.said(manager, self.marks[manager]))[-1:] in (["MASTER"], ["STANDBY"]))

    def hand_over(self, manager: str, files: t.Dict[str, str], patience: float) -> t.Union[bool, str]:
        """Let a standby take over from a manager that is master. `files` give it the lowest priority."""
        if self.state(manager) != "MASTER":
            return IDLE
        self.write(manager, files)
        self.reload(manager)
        return self.comes(manager, patience, lambda: self.state(manager) == "STANDBY")

    def settle(self, manager: str, patience: float) -> bool:
        """Wait until a manager is master, and has brought the subnet up since it became that, and since it read its files."""

        def up() -> bool:
            said = self.said(manager, self.marks.get(manager, 0))
            return self.state(manager) == "MASTER" and "SUBNET UP" in said[max(0, said.rfind("Entering ")) :]

        return self.comes(manager, patience, up)

    def picture(self) -> t.Dict[str, t.Any]:
        """The state of the fabric: LIDs and P_Keys of the ports of adapters, and what the routes leave out."""
        ends, cables = discovered(self.query("ibnetdiscover", "--node-name-map", "/dev/null"))
        tables = parse_tables(self.query("dump_fts", "-a").splitlines())
        pairs, lost, shown = unroutable(tables, cables, ends)
        return {
            "lids": {end.guid: end.lid for end in ends},
            "pkeys": self.pkeys(ends),
            "switches": len(tables),
            "pairs": pairs,
            "lost": lost,
            "examples": shown,
        }

    def pkeys(self, ends: t.Iterable[End]) -> t.Dict[str, t.List[int]]:
        """The P_Keys of the ports that the plan names."""
        lids = {end.guid: end.lid for end in ends}
        asked = [guid for guid in self.plan["members"] if lids.get(guid)]
        if not asked:
            return {}
        client = Client(self.plan["observer"])
        found = {guid: [pkey for block in range(self.plan["blocks"]) for pkey in client.block(lids[guid], block)] for guid in asked}
        client.close()
        return found

    def close(self) -> None:
        self.over.set()
        for name in list(self.running):
            self.stop(name)
        if self.simulator is not None:
            self.simulator.kill()


def rehearse(plan: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    """Carry out the plan. All processes are ended, whatever happens."""
    os.makedirs(ROOT, exist_ok=True)
    lab = Lab(plan)
    phases = []
    try:
        lab.simulate()
        observer = threading.Thread(target=lab.observe, daemon=True)
        observer.start()
        for phase in plan["phases"]:
            lab.events = []
            begin = time.time()
            for step in phase["steps"]:
                lab.step(step)
            end = time.time()
            phases.append({"name": phase["name"], "begin": begin, "end": end, "events": lab.events, "picture": lab.picture()})
        lab.over.set()
        observer.join(2 * POLL_SECONDS)
        lab.ended.update({name: process.poll() for name, process in lab.running.items() if process.poll() is not None})
        logs = {name: lab.said(name)[-MOST:] for name in plan["managers"]}
        return {"phases": phases, "seen": lab.seen, "ended": lab.ended, "logs": logs, "simulator": lab.complaints()}
    finally:
        lab.close()


def interrupted(number: int, frame: t.Optional[types.FrameType]) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    try:
        answer = rehearse(json.load(sys.stdin))
    except (OSError, RuntimeError) as exc:
        answer = {"failed": str(exc)}
    # A text that begins like JSON would become a mapping in templates of older ansible-core.
    print("answer: " + json.dumps(answer))
