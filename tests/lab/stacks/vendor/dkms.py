#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stand-in for dkms 3.0 in containers without a compiler: same commands, tree, output and exit codes; kmodfile creates the modules that MAKE[0] did not.

It sources dkms.conf with bash, as dkms does, with STANDIN_DKMS=1 in the environment, and runs MAKE[0] there.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, "/usr/lib/dkms")
sys.dont_write_bytecode = True

import kmodfile

TREE = pathlib.Path("/var/lib/dkms")
ARCH = "x86_64"


def fail(status: int, *lines: str) -> int:
    print("Error! " + "\n".join(lines), file=sys.stderr, flush=True)
    return status


class Source:
    """One version of a set of modules."""

    def __init__(self, name: str, version: str) -> None:
        self.name, self.version = name, version
        self.folder = TREE / name / version
        self.code = pathlib.Path("/usr/src/%s-%s" % (name, version))

    def conf(self, expression: str, kernel: str) -> list[str]:
        script = '. ./dkms.conf; printf "%%s\\n" %s' % expression
        environment = {**os.environ, "STANDIN_DKMS": "1", "kernelver": kernel, "kernel_source_dir": "/lib/modules/%s/build" % kernel}
        done = subprocess.run(["bash", "-c", script], cwd=self.code, env=environment, stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().split("\n")[:-1]

    def built(self, kernel: str) -> pathlib.Path:
        return self.folder / kernel / ARCH / "module"

    def link(self, kernel: str) -> pathlib.Path:
        return TREE / self.name / ("kernel-%s-%s" % (kernel, ARCH))

    def kernels(self) -> list[str]:
        return sorted(path.parents[1].name for path in self.folder.glob("*/%s/module" % ARCH))

    def add(self) -> int:
        if (self.folder / "source").is_symlink():
            return fail(3, "DKMS tree already contains: %s/%s" % (self.name, self.version), "You cannot add the same module/version combo more than once.")
        if not (self.code / "dkms.conf").is_file():
            return fail(2, "Could not find module source directory.", "Directory: %s does not exist." % self.code)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "source").symlink_to(self.code)
        print("Creating symlink %s/source -> %s" % (self.folder, self.code), flush=True)
        return 0

    def build(self, kernel: str) -> int:
        if self.built(kernel).is_dir():
            return 0
        sources = "/lib/modules/%s/build" % kernel
        if not pathlib.Path(sources, "scripts").is_dir():
            return fail(
                21,
                "Your kernel headers for kernel %s cannot be found at %s or /lib/modules/%s/source." % (kernel, sources, kernel),
                "Please install the linux-headers-%s package or use the --kernelsourcedir option to tell DKMS where it's located." % kernel,
            )
        work = self.folder / "build"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        print("\nBuilding module:\nCleaning build area...", flush=True)
        make = self.conf('"${MAKE[0]}"', kernel)[0]
        with (work / "make.log").open("wb") as log:
            log.write(("DKMS make.log for %s-%s for kernel %s (%s)\n" % (self.name, self.version, kernel, ARCH)).encode())
            log.flush()
            status = subprocess.run(
                ["bash", "-c", make], cwd=self.code, env={**os.environ, "STANDIN_DKMS": "1"}, stdout=log, stderr=log, check=False
            ).returncode
        if status:
            return fail(
                10,
                "Bad return status for module build on kernel: %s (%s)" % (kernel, ARCH),
                "Consult %s/make.log for more information." % work,
            )
        self.built(kernel).mkdir(parents=True)
        (self.built(kernel).parent / "log").mkdir()
        for module in self.conf('"${BUILT_MODULE_NAME[@]}"', kernel):
            made = self.code / (module + ".ko")
            if made.is_file():
                image = made.read_bytes()
                made.unlink()
            else:
                image = kmodfile.image(module, kernel, self.conf('"$STANDIN_VERSION"', kernel)[0], kmodfile.inbox_module(kernel, module))
            (self.built(kernel) / (module + ".ko")).write_bytes(image)
        (work / "make.log").rename(self.built(kernel).parent / "log/make.log")
        shutil.rmtree(work)
        return 0

    def install(self, kernel: str) -> int:
        if not self.folder.is_dir() and (status := self.add()):
            return status
        if status := self.build(kernel):
            return status
        target = pathlib.Path("/lib/modules", kernel, "updates/dkms")
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(self.built(kernel).iterdir()):
            print("\n%s:\nRunning module version sanity check.\n - Installation\n   - Installing to %s/" % (file.name, target), flush=True)
            shutil.copy(file, target)
        if not self.link(kernel).is_symlink():
            self.link(kernel).symlink_to("%s/%s/%s" % (self.version, kernel, ARCH))
        subprocess.run(["/sbin/depmod", "-a", kernel], check=False)
        print("depmod...", flush=True)
        return 0

    def uninstall(self, kernel: str) -> None:
        if self.link(kernel).is_symlink() and os.readlink(self.link(kernel)).startswith(self.version + "/"):
            for file in self.built(kernel).iterdir():
                pathlib.Path("/lib/modules", kernel, "updates/dkms", file.name).unlink(missing_ok=True)
            self.link(kernel).unlink()
            subprocess.run(["/sbin/depmod", "-a", kernel], check=False)

    def remove(self, kernels: list[str]) -> int:
        if not self.folder.is_dir():
            return fail(3, "There is no instance of %s %s in the DKMS tree." % (self.name, self.version))
        for kernel in kernels or self.kernels():
            print("Deleting module %s-%s for kernel %s" % (self.name, self.version, kernel), flush=True)
            self.uninstall(kernel)
            shutil.rmtree(self.folder / kernel, ignore_errors=True)
        if not kernels or not self.kernels():
            shutil.rmtree(self.folder)
            if not any(path.is_dir() for path in (TREE / self.name).iterdir()):
                shutil.rmtree(TREE / self.name)
        return 0

    def status(self, only: list[str]) -> list[str]:
        head = "%s/%s" % (self.name, self.version)
        kernels = [kernel for kernel in self.kernels() if not only or kernel in only]
        state = {True: "installed", False: "built"}
        return ["%s, %s, %s: %s" % (head, kernel, ARCH, state[self.link(kernel).is_symlink()]) for kernel in kernels] or [head + ": added"]


def sources() -> list[Source]:
    return [Source(path.parents[1].name, path.parent.name) for path in sorted(TREE.glob("*/*/source"))]


def options(argv: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    names = {"-m": "m", "-v": "v", "-k": "k", "--kernelver": "k", "-a": "a", "--arch": "a"}
    found: dict[str, list[str]] = {"m": [], "v": [], "k": [], "a": []}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in names and rest:
            found[names[word]] += [item.partition("/")[0] for item in rest.pop(0).split(",")]
        elif not word.startswith("-"):
            words.append(word)
    if words and "/" in words[0]:
        found["m"], found["v"] = [words[0].partition("/")[0]], [words[0].partition("/")[2]]
    return found, words


def main(argv: list[str]) -> int:
    action = argv[0] if argv else ""
    found, _words = options(argv[1:])
    kernels = found["k"] or [os.uname().release]
    if action == "status":
        chosen = [source for source in sources() if source.name in (found["m"] or [source.name]) and source.version in (found["v"] or [source.version])]
        lines = [line for source in chosen for line in source.status(found["k"])]
        print("".join(line + "\n" for line in lines), end="")
        return 0
    if action == "autoinstall":
        return max([0, *(source.install(kernel) and 11 for source in sources() for kernel in kernels)])
    if action == "--version":
        print("dkms-3.0.10")
        return 0
    if not found["m"] or not found["v"]:
        return fail(1, "Arguments <module> and <module-version> are not specified.")
    source = Source(found["m"][0], found["v"][0])
    if action == "add":
        return source.add()
    if action == "remove":
        return source.remove([] if "--all" in argv else found["k"])
    if action in ("build", "install"):
        return max([0, *((source.build if action == "build" else source.install)(kernel) for kernel in kernels)])
    if action == "uninstall":
        for kernel in kernels:
            source.uninstall(kernel)
        return 0
    return fail(1, "Unknown action specified: '%s'" % action)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
