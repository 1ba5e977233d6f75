# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node with adapters in its sysfs, and stand-ins for mlxconfig and mstconfig that answer for them."""

from __future__ import annotations

import json
import pathlib
import threading
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

TYPES = {"0x1017": "ConnectX5", "0x101b": "ConnectX6"}


class Parameter:
    """A parameter of a card; `names` maps the numbers of an enumeration to names, values are numbers."""

    def __init__(self, value: int, default: int = 0, names: t.Mapping[int, str] | None = None, **more: t.Any) -> None:
        self.default = default
        self.current: int = value
        self.next: int = value
        self.names = names
        self.limit: int = more.get("limit", 2**32)
        self.bits: int = more.get("bits", 32)
        self.read_only: bool = more.get("read_only", False)
        self.needs: str = more.get("needs", "")
        """Another parameter, which must be nonzero for this one to exist."""
        self.array: str = more.get("array", "")

    def shown(self, value: int) -> str:
        return "%s(%d)" % (self.names[value], value) if self.names else str(value)

    def parse(self, text: str) -> int | None:
        if self.names:
            by_name = {name.lower(): number for number, name in self.names.items()}
            number = int(text, 0) if text[0].isdigit() else by_name.get(text.lower(), -1)
            return number if number in self.names else None
        try:
            return int(text, 0)
        except ValueError:
            return None


LINK = {1: "IB", 2: "ETH"}
FLAG = {0: "False", 1: "True"}


def parameters() -> dict[str, Parameter]:
    return {
        "LINK_TYPE_P1": Parameter(1, 1, LINK),
        "LINK_TYPE_P2": Parameter(1, 1, LINK),
        "SRIOV_EN": Parameter(1, 0, FLAG),
        "NUM_OF_VFS": Parameter(8, 0, limit=127, bits=16),
        "BOOT_PKEY": Parameter(0, 0, bits=16),
        "ADVANCED_PCI_SETTINGS": Parameter(0, 0, FLAG),
        "MAX_ACC_OUT_READ": Parameter(0, 0, needs="ADVANCED_PCI_SETTINGS"),
        "SAFE_MODE_ENABLE": Parameter(1, 1, FLAG, read_only=True),
        **{"HOST_CHAINING_DESCRIPTORS[%d]" % index: Parameter(3, 3, array="Array[0..7]") for index in range(8)},
    }


CONFS = """List of configurations the device 0000:03:00.0 may support:
\t\tPARAMETERS:
                    LINK_TYPE_P1=<ETH|IB>                   Select the link type
                                                            0x1: IB - Infiniband
                                                            0x2: ETH - Ethernet
                    LINK_TYPE_P2=<ETH|IB>
                    SRIOV_EN=<False|True>                   SR-IOV
                    NUM_OF_VFS=<NUM>                        How many
                    BOOT_PKEY=<NUM>                         Partition
                    BOOT_RETRY_CNT1=<NONE|_1|UNLIMITED>     Retries
                    MAX_ACC_OUT_READ=<NUM>                  How many
                    INTERNAL_CPU_MODEL=<EMBEDDED_CPU|SEPARATED_HOST>Model
"""


class Card:
    """The card in one slot."""

    def __init__(self, pci: str) -> None:
        self.pci = pci
        self.parameters = parameters()
        self.refusals: list[str] = []
        """Errors for the next accesses, one each."""
        self.dry_refusals: list[str] = []
        """The same for dry runs only."""
        self.fail_after = -1
        """Number of parameters that a set writes before it fails."""
        self.knows_states = True

    def visible(self) -> dict[str, Parameter]:
        return {name: one for name, one in self.parameters.items() if not one.needs or self.parameters[one.needs].next}

    def restart(self) -> None:
        for one in self.parameters.values():
            one.current = one.next

    def value(self, name: str) -> str:
        return self.parameters[name].shown(self.parameters[name].next)


class Node:
    """A root directory with PCI functions, the tools, and the part of AnsibleModule that the code uses."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.check_mode = False
        self.params: dict[str, t.Any] = {}
        self.cards: dict[str, Card] = {}
        self.tools = {"mstconfig"}
        self.blind: set[str] = set()
        """Programs that do not know the cards."""
        self.clash: frozenset[str] = frozenset({"no such parameter"})
        """Parameters that cannot be set together."""
        self.calls: list[list[str]] = []
        self.environ: dict[str, str] = {}
        self.links: dict[str, dict[str, t.Any]] = {}
        """Output of `ip` about interfaces."""
        self.routes: list[dict[str, t.Any]] = []
        """Output of `ip route get`."""
        self._lock = threading.Lock()

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def add(self, pci: str, rdma: str, device: str = "0x1017", psid: str = "MT_0000000008", image: str = "") -> Card:
        """Add a PCI function with a driver; the first function of a slot brings the card."""
        base = "sys/bus/pci/devices/%s/" % pci
        for name, text in (("vendor", "0x15b3"), ("device", device), ("class", "0x020700")):
            self.write(base + name, text + "\n")
        self.write(base + "net/net_%s/mtu" % rdma, "1500\n")
        hca = "sys/class/infiniband/%s/" % rdma
        tail = "%02d" % len(list((self.root / "sys/class/infiniband").glob("*"))) if (self.root / "sys/class/infiniband").exists() else "00"
        self.write(hca + "board_id", psid + "\n")
        self.write(hca + "node_guid", "0c42:a103:0000:00%s\n" % tail)
        self.write(hca + "sys_image_guid", (image or "0c42:a103:0001:00%s" % tail) + "\n")
        self.write(hca + "ports/1/gids/0", "fe80:0000:0000:0000:0c42:a103:0002:00%s\n" % tail)
        (self.root / hca / "device").symlink_to(self.root / base)
        return self.cards.setdefault(pci, next((card for card in self.cards.values() if card.pci[:-1] == pci[:-1]), Card(pci)))

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        with self._lock:
            self.calls.append(list(argv))
            return self._answer(list(argv))

    def _answer(self, argv: list[str]) -> Output:
        tool, words = argv[0], argv[1:]
        if tool == "ip":
            rows = self.routes if "route" in argv else [{"ifname": name, **link} for name, link in self.links.items()]
            return Output(0, json.dumps(rows), "")
        options: dict[str, str] = {}
        while words[0].startswith("-"):
            option = words.pop(0)
            options[option] = words.pop(0) if option in ("-d", "-f") else ""
        card = self.cards[options["-d"]]
        if tool in self.blind:
            return Output(3, "-E- Unsupported device\n", "")
        if words[0] != "show_confs" and card.refusals:
            return Output(3, "-E- %s\n" % card.refusals.pop(0), "")
        if words[0] == "set" and "-y" not in options and card.dry_refusals:
            return Output(3, "-E- %s\n" % card.dry_refusals.pop(0), "")
        verb = {"query": self._query, "set": self._set, "backup": self._backup, "show_confs": self._confs}[words[0]]
        return verb(card, words[1:], options)

    def _confs(self, card: Card, words: list[str], options: dict[str, str]) -> Output:
        return Output(0, CONFS, "")

    def _backup(self, card: Card, words: list[str], options: dict[str, str]) -> Output:
        if all(one.next == one.default for one in card.parameters.values()):
            return Output(3, "Collecting...\n-E- NV data area may be empty, nothing to backup.\n", "")
        pathlib.Path(options["-f"]).write_text("MLNX_RAW_TLV_FILE\n", encoding="utf-8")
        return Output(0, "Collecting...\nSaving output...\nDone!\n", "")

    def _query(self, card: Card, words: list[str], options: dict[str, str]) -> Output:
        visible = card.visible()
        rows: dict[str, tuple[str, str, str, bool]] = {}
        wanted: list[str] = []
        for word in words:
            name, _bracket, index = word.partition("[")
            first, _dots, last = index.rstrip("]").partition("..")
            wanted += ["%s[%d]" % (name, at) for at in range(int(first), int(last) + 1)] if last else [word]
        for name in wanted or visible:
            one = visible.get(name) or visible.get(name + "[0]")
            if one is None:
                known = name in CONFS or name in card.parameters
                return Output(3, "-E- The Device doesn't support %s parameter\n" % name if known else "-E- Unknown Parameter: %s\n" % name, "")
            if one.array and (not wanted or "[" not in name):
                rows[name.partition("[")[0]] = (one.array, one.array, one.array, False)
            else:
                rows[name] = (one.shown(one.default), one.shown(one.current), one.shown(one.next), one.read_only)
        if wanted and any(row[-1] for row in rows.values()):
            # mstconfig 4.31: one such parameter marks all parameters that were queried by name.
            rows = {name: (*row[:-1], True) for name, row in rows.items()}
        header = "Default         Current         Next Boot" if card.knows_states else "Next Boot"
        text = "\nDevice #1:\n----------\n\nDevice:         %s\n\nConfigurations:            %s\n" % (card.pci, header)
        for name, row in rows.items():
            text += " %s       %-36s%s\n" % ("RO" if row[-1] else "  ", name, "".join("%-16s" % value for value in row[0 if card.knows_states else 2 : 3]))
        return Output(0, text, "")

    def _set(self, card: Card, words: list[str], options: dict[str, str]) -> Output:
        text = "\nDevice #1:\n----------\n\nDevice:         %s\n\nConfigurations:             Next Boot       New\n" % card.pci
        writes: dict[str, int] = {}
        for word in words:
            name, _sign, value = word.partition("=")
            one = card.visible().get(name)
            if one is None or one.read_only:
                return Output(3, text + "-E- The Device doesn't support %s parameter\n" % name, "")
            number = one.parse(value)
            if number is None:
                return Output(3, text + ("-E- Unknown value %s\n" % value if one.names else "-E- Cannot parse the value\n"), "")
            if number >> one.bits:
                return Output(3, text + "-E- The value %s is not valid,  as its size is %d bits\n" % (value, one.bits), "")
            writes[name] = number
        if self.clash <= set(writes):
            return Output(3, text + "-E- These do not go together\n", "")
        for name, number in writes.items():
            one = card.parameters[name]
            text += "         %-36s%-16s%-16s\n" % (name, one.shown(one.next), one.shown(number))
        text += "\n Apply new Configuration? (y/n) [n] : "
        if "-y" not in options:
            return Output(2, text + "-E- Aborted by user.\n", "")
        for name, number in writes.items():
            if number > card.parameters[name].limit:
                said = "-E- Parameter %s' value is larger than maximum allowed %d\n" % (name, card.parameters[name].limit)
                return Output(3, text + "y\nApplying... Failed!\n" + said, "")
        for name, number in writes.items():
            if card.fail_after == 0:
                return Output(3, text + "y\nApplying... Failed!\n-E- Failed to set settings The erase count exceeds its limit\n", "")
            card.fail_after -= 1
            card.parameters[name].next = number
        return Output(0, text + "y\nApplying... Done!\n-I- Please reboot machine to load new configurations.\n", "")
