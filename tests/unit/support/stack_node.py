# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A simulated node that can have packages of three stacks: apt, the installer and the job behave like the real ones."""

from __future__ import annotations

import io
import json
import os
import pathlib
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host import _download as downloader
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import read_archive
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_run import parse_help

from support.made_bundles import make_bundle
from support.module_files import FakeModule

BUNDLE = "MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64"
OLD_BUNDLE = "MLNX_OFED_LINUX-5.8-1.0.1.1-debian12.1-x86_64"
INBOX = {"rdma-core": "44.0-2", "libibverbs1": "44.0-2", "ibverbs-providers": "44.0-2", "perftest": "4.5-1"}
MLNX = {
    "5.8-1.0.1.1": ("58mlnx43-1.58101", "5.8.OFED.5.8.1.0.1.1"),
    "23.10-0.5.5.0": ("2310mlnx47-1.2310055", "23.10.OFED.23.10.0.5.5"),
}
DOCA = {"2.9.1": "2410mlnx54-1.2410114", "3.0.0": "2501mlnx56-1.2501060"}
DEFAULTS: dict[str, t.Any] = {
    "state": "present",
    "source": "mlnx_ofed",
    "version": None,
    "bundle": None,
    "bundle_on": "node",
    "bundle_checksum": None,
    "method": "installer",
    "packages": None,
    "installer_options": [],
    "repository": None,
    "repository_key": None,
    "repository_trusted": False,
    "allow_removal": [],
    "allow_upgrade": False,
    "firmware_update": False,
    "protect_packages": True,
    "openib_conf": {},
    "ulps": [],
    "keep": [],
    "keep_purposes": [],
    "timeout": 7200,
    "poll": 20,
    "attach": "",
    "staged": "",
    "digest": "",
}


class Module(FakeModule):
    defaults = DEFAULTS


class Node:
    """Packages by name, the output of ofed_info, and the next fault."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.packages: dict[str, str] = dict(INBOX)
        self.broken: dict[str, str] = {}
        self.ofed_info = ""
        self.dependants: dict[str, str] = {}
        """Foreign packages that depend on libibverbs1."""
        self.offers: dict[str, str] = {}
        """DOCA in the repository: profile and version."""
        self.tools: tuple[str, ...] = ()
        self.listing = ""
        """Content of every initramfs."""
        self.calls: list[list[str]] = []
        self.steps: list[list[str]] = []
        self.faults: dict[str, tuple[int, str]] = {}
        """Faults by a word of the command line: exit status and output, or -9 to kill the job itself."""
        self.mirror: dict[str, str] = {}
        """Further packages of the distribution."""
        self.pulled: dict[str, str] = {}
        """Packages that any installation also installs, as dependencies."""
        self.help = ""
        """Help text of every bundle's installer."""
        self.served = b""
        """Content of every server."""
        self.asked: list[str] = []
        for path, text in {
            "etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
            "var/lib/dpkg/status": "",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        self.save()

    def save(self) -> None:
        rows = [(name, version, self.broken.get(name, "installed")) for name, version in {**self.packages, **self.dependants}.items()]
        row = "Package: %s\nStatus: install ok %s\nVersion: %s\nDepends: %s\n"
        needs = dict.fromkeys(self.dependants, "libc6 (>= 2.3), libibverbs1 (>= 28) | other")
        text = "\n".join(row % (name, state, version, needs.get(name, "libc6")) for name, version, state in rows)
        (self.root / "var/lib/dpkg/status").write_text(text, encoding="utf-8")

    def has(self, tool: str) -> bool:
        return bool(self.ofed_info) if tool == "ofed_info" else tool in ("tar", "apt-get", *self.tools)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        if argv[0] == "ofed_info":
            return Output(0, self.ofed_info + ":\n", "")
        if argv[0] == "apt-cache" and argv[1] != "madison":
            return Output(0, "".join(" %s | %s | site Packages\n" % pair for pair in self.offers.items() if pair[0] in argv), "")
        if argv[0] == "apt-cache":
            known = {**INBOX, **self.mirror}
            return Output(0, "".join(" %s | %s | mirror Packages\n" % (name, known[name]) for name in argv[2:] if name in known), "")
        if argv[0] in ("lsinitramfs", "lsinitrd"):
            return Output(0, self.listing, "")
        if argv[-1] == "--help":
            return Output(0, self.help, "")
        if argv[0] == "ip":
            return Output(0, "[]", "")
        if argv[0] == "apt-get" and argv[-1] == "update":
            return Output(0, "", "")
        if argv[0] == "apt-get" and "--simulate" in argv:
            return Output(0, self._simulated(argv), "")
        raise AssertionError(argv)

    def _simulated(self, argv: t.Sequence[str]) -> str:
        verb = "purge" if "purge" in argv else "install"
        words = list(argv[argv.index(verb) + 1 :])
        gone = set(words) if verb == "purge" else {word[:-1] for word in words if word.endswith("-")}
        lines = ["Purg %s [1]" % name for name in sorted(gone)]
        if "libibverbs1" in gone:
            lines += ["Remv %s [%s]" % pair for pair in self.dependants.items()]
        if verb == "install":
            lines += ["Inst %s (%s x [amd64])" % (name, self.offers[name]) for name in words if name in self.offers]
            lines += ["Inst %s [%s] (%s x [amd64])" % (name, self.packages.get(name, ""), version) for name, version in self.pulled.items()]
        return "\n".join(lines)

    def launch(self, run: t.Any, name: str, directory: str, *, script: str, root: str) -> None:
        """Run the job at once, instead of as a process of its own."""
        with open(os.path.join(directory, "job.json"), encoding="utf-8") as stream:
            job = json.load(stream)
        state = {"id": job["id"], "started": time.time(), "finished": 0, "rc": 0, "failed": "", "stage": "", "step": 0}
        with open(os.path.join(directory, "log"), "a", encoding="utf-8") as log:
            for number, step in enumerate(job["steps"], 1):
                if state["failed"] and not step["always"]:
                    continue
                state.update(stage=step["stage"], step=number)
                rc, text = self.perform(step["argv"], step["environment"])
                log.write(text)
                if rc == -9:
                    jobs.runner.save(os.path.join(directory, "state.json"), state)
                    return
                if rc not in step["ok"]:
                    state.update(rc=rc, failed=step["stage"])
        state["finished"] = time.time()
        jobs.runner.save(os.path.join(directory, "state.json"), state)

    def perform(self, argv: list[str], environment: t.Mapping[str, str]) -> tuple[int, str]:
        """Apply one step's effect on the packages."""
        self.steps.append(argv)
        fault = next((fault for word, fault in self.faults.items() if any(word in part for part in argv)), None)
        if fault is not None:
            return fault
        if argv[0].endswith("mlnxofedinstall"):
            self._mlnx(pathlib.Path(argv[0]).parent, argv)
        elif argv[0] == "apt-get" and "install" in argv:
            self._apt(argv[argv.index("install") + 1 :])
        elif argv[0] == "dpkg":
            self.broken.clear()
        elif argv[0] == "tar":
            found = read_archive(argv[argv.index("--file") + 1])
            make_bundle(pathlib.Path(argv[argv.index("--directory") + 1]), found.version)
        elif argv[0] in ("update-initramfs", "dracut"):
            pass
        elif argv[1].endswith("/installer_run.py") and argv[2] == "help":
            unknown = [name for name in argv[4:] if name not in parse_help(self.help)]
            return (1 if unknown else 0), "".join(name + "\n" for name in unknown)
        elif argv[1].endswith("/download.py"):
            return self._download(environment[downloader.URL], *argv[2:])
        elif argv[0] == "mv":
            os.rename(argv[-2], argv[-1])
        elif argv[0] == "grep":
            return (0 if argv[-2] == pathlib.Path(argv[-1]).read_text(encoding="utf-8").strip() else 1), ""
        elif argv[:2] == ["rm", "-f"]:
            self.ofed_info = ""
        self.save()
        return 0, ""

    def _download(self, url: str, path: str, checksum: str) -> tuple[int, str]:
        self.asked.append(url)
        answer = io.BytesIO(self.served)
        answer.status, answer.headers = 200, {}  # type: ignore[attr-defined]
        try:
            downloader.download(url, path, checksum, opener=lambda request, timeout: answer)
        except downloader.Failed as exc:
            return 1, "%s\n" % exc
        return 0, ""

    def _mlnx(self, tree: pathlib.Path, argv: list[str]) -> None:
        version = (tree / ".mlnx").read_text(encoding="utf-8").strip()
        user, scripts = MLNX[version]
        self.packages = {**dict.fromkeys(INBOX, user), "ofed-scripts": scripts, "mlnx-ofed-kernel-dkms": scripts}
        if "--force" in argv:
            self.dependants = {}
        self.ofed_info = "MLNX_OFED_LINUX-" + version

    def _apt(self, words: list[str]) -> None:
        for word in words:
            if word.endswith("-"):
                self.packages.pop(word[:-1])
                if word == "ofed-scripts-":
                    self.ofed_info = ""
            elif "=" in word:
                name, _equals, version = word.partition("=")
                self.packages[name] = version
            else:
                version = self.offers[word]
                user = DOCA.get(version.split("-")[0], "2310mlnx47-1.2310055")
                self.packages.update({**dict.fromkeys(INBOX, user), word: version, "ofed-scripts": "24.10.OFED.24.10.1.1.4"})
                self.ofed_info = "OFED-internal-23.10-0.5.5" if word.startswith("mlnx") else "OFED-internal-24.10-1.1.4"


def with_bundles(root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a node with two unpacked releases. Its jobs run at once."""
    found = Node(root)
    monkeypatch.setattr(jobs, "_launch", found.launch)
    monkeypatch.setattr(jobs, "_LOOK_EVERY", 0.01)
    make_bundle(root / BUNDLE, "23.10-0.5.5.0")
    make_bundle(root / OLD_BUNDLE, "5.8-1.0.1.1")
    return found
