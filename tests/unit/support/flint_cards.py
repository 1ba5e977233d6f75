# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards that answer like mstflint."""

from __future__ import annotations

import pathlib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

QUERY = """Image type:            FS4
FW Version:            %(version)s
%(running)sFW Release Date:       15.5.2023
Description:           UID                GuidsNumber
Base GUID:             0c42a10300000010        8
PSID:                  %(psid)s
%(original)sSecurity Attributes:   %(security)s
Default Update Method: %(method)s
"""


class Cards:
    """mstflint in front of some cards. Image files hold `PSID VERSION`; a fault is exit status 1 with its text."""

    def __init__(self, *functions: str, version: str = "16.35.2000", method: str = "fw_ctrl") -> None:
        self.flash = {pci: ["MT_1", version] for pci in functions}
        self.running = dict.fromkeys(functions, version)
        self.running_psid = dict.fromkeys(functions, "MT_1")
        self.method = method
        self.security = "N/A"
        self.faults: dict[str, str] = {}
        self.tools = ["mstflint"]
        self.calls: list[list[str]] = []
        self.burns_nothing = False
        self.unsigned = False

    def has(self, tool: str) -> bool:
        return tool in self.tools

    @property
    def burns(self) -> list[str]:
        return [argv[argv.index("-d") + 1] for argv in self.calls if argv[-1] == "burn"]

    def _query(self, psid: str, version: str, running: str, original: str = "") -> Output:
        fields = {"version": version, "psid": psid, "method": self.method, "security": self.security}
        fields["running"] = "FW Version(Running):   %s\n" % running if running != version else ""
        fields["original"] = "Orig PSID:             %s\n" % original if original else ""
        return Output(0, QUERY % fields, "")

    def _query_device(self, device: str, direct: bool) -> Output:
        psid, version = self.flash[device]
        if direct or self.method == "Legacy":
            return self._query(psid, version, self.running[device], "MT_1" if psid != "MT_1" else "")
        return self._query(self.running_psid[device], version, self.running[device])

    def reset(self) -> None:
        for device, (psid, version) in self.flash.items():
            self.running_psid[device], self.running[device] = psid, version

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        verb = "query" if "query" in argv else argv[-1]
        device = argv[argv.index("-d") + 1] if "-d" in argv else ""
        image = argv[argv.index("-i") + 1] if "-i" in argv else ""
        for key, text in self.faults.items():
            if key in (verb + " " + (device or image), verb):
                return Output(1, text, "")
        if verb == "verify":
            return Output(0, "-I- FW image verification succeeded. Image is bootable.\n", "")
        content = pathlib.Path(image).read_text(encoding="utf-8").split() if image else []
        if verb == "query":
            return self._query(content[0], content[1], content[1]) if image else self._query_device(device, "--no_fw_ctrl" in argv)
        if not self.burns_nothing:
            self.flash[device] = content
        how = "Burning FW image without signatures - OK\n" if "-allow_psid_change" in argv or self.unsigned else "Writing Boot image component - OK\n"
        return Output(0, how + "-I- To load new FW run mstfwreset or reboot machine.\n", "")

    @property
    def verified(self) -> list[str]:
        return [argv[argv.index("-d") + 1] for argv in self.calls if argv[-1] == "verify" and "-d" in argv]
