# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules on disk with the versions of their symbols: those of the RDMA stack and third-party ones, DKMS, and the modprobe that shows them."""

from __future__ import annotations

import json
import os
import pathlib
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

from support.module_files import FakeModule

KERNEL = "6.1.0-50-amd64"
OLD, NEW = 0x11111111, 0x22222222
"""Builds of the stack: the CRC of each of its symbols."""


class Module(FakeModule):
    defaults: t.Mapping[str, t.Any] = {"dkms": True, "modules": [], "tasks": "", "stack": "kept", "timeout": 60, "poll": 20, "attach": ""}


class Kmod(t.NamedTuple):
    """One file of a module."""

    folder: str
    exports: t.Dict[str, int]
    needs: t.Dict[str, int]


class ModuleTree:
    """A node with one kernel. The stack has two modules, each with one symbol. Third-party modules are added by tests."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.modules: dict[str, Kmod] = {}
        self.shows_exports = True
        self.calls: list[str] = []
        self.steps: list[list[str]] = []
        self.failing: set[str] = set()
        """The sources that DKMS can't build."""
        self.sources: dict[str, dict[str, tuple[str, ...]]] = {}
        """What the modules of each source need: DKMS builds them from that."""
        self.stack(OLD)

    def stack(self, build: int, folder: str = "updates/dkms") -> None:
        """Install a build of the stack."""
        self.modules["ib_core"] = Kmod(folder, {"ib_register_client": build}, {"printk": 7})
        self.modules["rdma_cm"] = Kmod(folder, {"rdma_connect": build + 1}, {"ib_register_client": build})
        self.save()

    def exported(self, symbol: str) -> int:
        """The version of a symbol on disk."""
        return next((module.exports[symbol] for module in self.modules.values() if symbol in module.exports), 7)

    def build(self, name: str, *symbols: str, folder: str = "extra", exports: str = "") -> None:
        """Build a third-party module on what is on disk. Its exports have new versions with each build of what it needs."""
        versions = {symbol: self.exported(symbol) for symbol in ("printk", *symbols)}
        self.modules[name] = Kmod(folder, {exports: sum(versions.values()) % 0xFFFFFFFF} if exports else {}, versions)
        self.save()

    def manage(self, source: str, **modules: t.Sequence[str]) -> None:
        """Put modules under the management of DKMS and install them: the symbols that each needs; it exports one of its own name."""
        name, _slash, version = source.partition("/")
        base = self.root / "var/lib/dkms" / name
        (base / version).mkdir(parents=True, exist_ok=True)
        if not (base / version / "source").is_symlink():
            (base / version / "source").symlink_to("/usr/src/%s-%s" % (name, version))
        code = self.root / "usr/src" / ("%s-%s" % (name, version))
        code.mkdir(parents=True, exist_ok=True)
        (code / "dkms.conf").write_text("", encoding="utf-8")
        folder = base / version / KERNEL / "x86_64/module"
        folder.mkdir(parents=True, exist_ok=True)
        link = base / ("kernel-%s-x86_64" % KERNEL)
        if not link.is_symlink():
            link.symlink_to("%s/%s/x86_64" % (version, KERNEL))
        self.sources[source] = {module: tuple(symbols) for module, symbols in modules.items()}
        for module, symbols in modules.items():
            (folder / (module + ".ko")).write_text("", encoding="utf-8")
            self.build(module, *symbols, folder="updates/dkms", exports=module + "_call")

    def remove(self, source: str) -> None:
        name, _slash, _version = source.partition("/")
        link = self.root / "var/lib/dkms" / name / ("kernel-%s-x86_64" % KERNEL)
        if link.is_symlink():
            for file in (link / "module").iterdir():
                self.modules.pop(file.stem, None)
                file.unlink()
            link.unlink()
        self.save()

    def save(self) -> None:
        """Do what depmod does."""
        owners = {symbol: name for name, module in self.modules.items() for symbol in module.exports}
        lines = []
        for name, module in self.modules.items():
            needs, todo = [], list(module.needs)
            while todo:
                need = owners.get(todo.pop(0), "")
                if need and need not in needs and need != name:
                    needs.append(need)
                    todo += self.modules[need].needs
            lines.append("%s/%s.ko: %s" % (module.folder, name, " ".join("%s/%s.ko" % (self.modules[need].folder, need) for need in needs)))
        symbols = "".join("alias symbol:%s %s\n" % pair for pair in owners.items())
        base = self.root / "lib/modules" / KERNEL
        base.mkdir(parents=True, exist_ok=True)
        (base / "modules.dep").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (base / "modules.symbols").write_text("# Aliases for symbols, used by symbol_request().\n" + symbols, encoding="utf-8")

    def has(self, tool: str) -> bool:
        return tool in ("modprobe", "dkms")

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        assert argv[0] == "modprobe", argv
        module = self.modules[pathlib.Path(argv[2]).stem]
        if argv[1] == "--show-exports" and not self.shows_exports:
            return Output(1, "", "modprobe: unrecognized option '--show-exports'\n")
        table = module.needs if argv[1] == "--dump-modversions" else module.exports
        return Output(0, "".join("0x%08x\t%s\n" % (crc, symbol) for symbol, crc in table.items()), "")

    def launch(self, run: t.Any, name: str, directory: str, *, script: str, root: str) -> None:
        """Run the job of DKMS at once."""
        with open(os.path.join(directory, "job.json"), encoding="utf-8") as stream:
            job = json.load(stream)
        state = {"id": job["id"], "started": time.time(), "finished": time.time(), "rc": 0, "failed": "", "stage": "x", "step": len(job["steps"])}
        for step in job["steps"]:
            self.dkms(step["argv"])
        jobs.runner.save(os.path.join(directory, "state.json"), state)

    def dkms(self, argv: list[str]) -> None:
        self.steps.append(argv)
        source = "%s/%s" % (argv[argv.index("-m") + 1], argv[argv.index("-v") + 1])
        if argv[1] == "remove":
            self.remove(source)
        elif argv[1] == "install" and source not in self.failing:
            self.manage(source, **self.sources[source])
