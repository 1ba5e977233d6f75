#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stand-in for mlnxofedinstall of MLNX_OFED on Debian: same options, order of steps, output, logs and exit codes.

Faults are given as KEY=VALUE,KEY in the environment variable OFED_STANDIN, or in the files /etc/ofed-standin and .faults (beside this program): `space` exits
with 28; `exit=STATUS` exits with that status before any change; `device` finds an unsupported card; `slow=SECONDS` waits before each package;
`slow-build=SECONDS` waits before each build of modules, `build` makes it fail; `fail=PACKAGE` and `hang=PACKAGE` affect that package's post-installation;
`firmware=STATUS` is the exit status of the firmware updater (2, 171, 173, 28); `strict-uninstall` makes the uninstaller exit with 174 also for packages that
depend on a listed one.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

BUNDLE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BUNDLE / ".standin"))
sys.dont_write_bytecode = True

from standin import finish, host, options, remove, selection

PACKAGE = "MLNX_OFED_LINUX"
NAME = "mlnxofedinstall"
PROBE = ("mlx5_ib", "mlx5_core")


def text(name: str) -> str:
    path = BUNDLE / name
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def end(message: str, status: int, colour: str = host.RED) -> t.NoReturn:
    print(colour + message + host.RESET, flush=True)
    sys.exit(status)


class Installer:
    """One run of the installer."""

    def __init__(self, given: options.Options, faults: dict[str, str]) -> None:
        self.given = given
        self.faults = faults
        self.version = text(".mlnx") or text("mlnx")
        self.catalogue = json.loads((BUNDLE / ".standin/catalogue.json").read_text(encoding="utf-8"))
        self.debs = BUNDLE / "DEBS"
        self.tmpdir = given.values.get("tmpdir", "/tmp").rstrip("/") or "/tmp"
        self.kernel = given.values.get("kernel", os.uname().release)
        self.sources = pathlib.Path(given.values.get("kernel_sources", "/lib/modules/%s/build" % self.kernel))
        if "kernel" in given.values and "kernel_sources" not in given.values and not self.sources.is_dir():
            end("Provide path to the kernel sources for %s kernel." % self.kernel, host.ERROR)
        quiet = given.has("-q")
        verbose = max([0, *(len(flag) - 1 for flag in given.given if re.fullmatch("-v+", flag))])
        self.node = host.Host(PACKAGE, self.tmpdir, quiet, 0 if quiet else verbose)
        self.force = given.has("--force")
        self.dkms = self._dkms()
        self.distro = given.values.get("distro", host.distribution()).lower()

    def _prebuilt(self) -> bool:
        """Return whether the bundle has modules for this kernel."""
        return any("kver.%s_" % self.kernel in deb.name for deb in self.debs.glob("mlnx-ofed-kernel-modules_*.deb"))

    def _dkms(self) -> bool:
        if self.given.has("--force-dkms"):
            return True
        if self.given.has("--without-dkms", "--add-kernel-support", "--add-kernel-support-build-only"):
            return False
        if not self.given.has("--dkms") and self._prebuilt():
            return False
        scripts = self.sources / "scripts"
        if not scripts.is_dir():
            return True
        if self.node.run("dpkg -S %s" % scripts.resolve()):
            self.node.say("DKMS is not supported for kernels which were not installed as DEB.", self.node.verbose > 1)
            return False
        return True

    def check(self) -> None:
        if not re.search("debian|ubuntu", self.distro):
            self.node.say("Current operation system is not supported (%s)!" % self.distro, True, host.RED)
            sys.exit(host.ERROR)
        arch = text(".arch")
        if arch and arch != os.uname().machine:
            self.node.say("Error: The current %s is intended for a %s architecture" % (PACKAGE, arch), True, host.RED)
            sys.exit(host.PREREQUISITE)
        meant = text("distro")
        if not self.given.has("--skip-distro-check") and meant not in ("skip-distro-check", self.distro):
            self.node.say("Error: The current %s is intended for %s" % (PACKAGE, meant), True, host.RED)
            sys.exit(host.PREREQUISITE)
        if "device" in self.faults and not self.given.has("--skip-unsupported-devices-check", "--without-fw-update"):
            self.node.say("Error: an unsupported device was found. See --skip-unsupported-devices-check", True, host.RED)
            sys.exit(host.ERROR)
        if "exit" in self.faults:
            self.node.say("Error: ended with %s, as it was told to" % self.faults["exit"], True, host.RED)
            sys.exit(int(self.faults["exit"]))

    def add_kernel_support(self) -> None:
        """Build another bundle and run its installer. Any failure there is exit status 1 here."""
        work = "%s/%s-%s-%s" % (self.tmpdir, PACKAGE, self.version, self.kernel)
        name = "%s-%s-%s-ext" % (PACKAGE, self.version, self.distro)
        only = self.given.has("--add-kernel-support-build-only")
        argv = [str(BUNDLE / "mlnx_add_kernel_support.sh"), "-m", str(BUNDLE), "-k", self.kernel, "-s", str(self.sources), "--make-tgz"]
        argv += ["--name", name, "--yes", "--distro", self.distro, *(["--skip-repo"] if self.given.has("--skip-repo") else [])]
        status = subprocess.run(argv, env={**os.environ, "TMP": work}, check=False).returncode
        if status == 30:
            self.node.say("Kernel %s is already supported." % self.kernel, only or self.node.verbose > 1)
            if only:
                sys.exit(0)
            remove.old_packages(self.node, PACKAGE, self.catalogue, self.force)
            return
        if status:
            self.node.say("Failed to build %s for %s" % (PACKAGE, self.kernel), True, host.RED)
            sys.exit(host.ERROR)
        if only:
            self.node.say("New image ready at: %s/%s.tgz" % (work, name))
            sys.exit(0)
        remove.old_packages(self.node, PACKAGE, self.catalogue, self.force)
        self.node.say("Installing %s/%s" % (work, name), True, host.GREEN)
        self.node.run("rm -rf %s/%s; cd %s && tar xzf %s.tgz" % (work, name, work, name))
        again = ["%s/%s/%s" % (work, name, NAME), "--force", "--without-dkms", *self.given.saved]
        self.node.say(" ".join(again))
        if subprocess.run(again, check=False).returncode:
            self.node.say("Failed to install %s for %s" % (name, self.kernel), True, host.RED)
            sys.exit(host.ERROR)
        sys.exit(0)

    def select(self) -> list[str]:
        config = self.given.values.get("config")
        if config is not None and not pathlib.Path(config).is_file():
            end("Can't open %s: No such file or directory" % config, 2)
        content = pathlib.Path(config).read_text(encoding="utf-8") if config is not None else None
        names, unknown = selection.wanted(self.given, self.catalogue, content)
        for name in unknown:
            self.node.say("Unsupported package: %s" % name, not self.node.quiet, host.YELLOW)
        chosen = selection.ordered(names, self.catalogue, self.given.has("--user-space-only"))
        if not chosen:
            self.node.say("0 packages selected. Exiting...", True, host.RED)
            sys.exit(host.ERROR)
        return chosen

    def confirm(self, chosen: list[str]) -> None:
        names = "\n".join(selection.kernel_name(name, self.dkms) for name in chosen)
        self.node.say("\nBelow is the list of %s packages that you have chosen\n%s\n" % (PACKAGE, names), not self.node.quiet)
        if not self.node.quiet:
            print("This program will install the %s package on your machine." % PACKAGE)
            print("Note that all other Mellanox, OEM, OFED, RDMA or Distribution IB packages will be removed.")
            print("Those packages are removed due to conflicts with %s, do not reinstall them.\n" % PACKAGE, flush=True)
        if not self.force and not self.node.quiet:
            print("Do you want to continue?[y/N]:", end="", flush=True)
            # One raw character, empty at the end of the input.
            answer = sys.stdin.read(1)
            print(answer + "\n", flush=True)
            if answer not in ("y", "Y"):
                sys.exit(host.ERROR)

    def requirements(self, chosen: list[str]) -> None:
        if self.given.has("--without-depcheck"):
            return
        only = self.given.has("--check-deps-only")
        self.node.say("Checking SW Requirements...", not self.node.quiet)
        needed = list(self.catalogue["required"])
        for name in chosen:
            entry = self.catalogue["packages"][name]
            needed += entry["distro"] if self.dkms or not name.endswith("-dkms") else []
        missing = [name for name in dict.fromkeys(needed) if not host.installed(name)]
        kernel = any(self.catalogue["packages"][name]["mode"] == "kernel" for name in chosen)
        if self.dkms and kernel and not self.given.has("--user-space-only") and not (self.sources / "scripts").is_dir():
            missing.append("linux-headers-" + self.kernel)
        if missing:
            self.node.say("One or more required packages for installing %s are missing." % PACKAGE, True, host.RED)
            if only:
                self.node.say("Run:\napt-get install " + " ".join(missing))
                sys.exit(host.PREREQUISITE)
            self.node.say("Attempting to install the following missing packages:\n" + " ".join(missing), True, host.RED)
            self.node.run("apt-get update")
            self.node.must("apt-get install -y " + " ".join(missing))
        if only:
            self.node.say("All required packages are installed, the system is ready for %s installation." % PACKAGE)
            sys.exit(0)

    def deb(self, name: str) -> pathlib.Path:
        real = selection.kernel_name(name, self.dkms)
        pattern = "%s_*kver.%s_*.deb" % (real, self.kernel) if real.endswith("-modules") else "%s_*.deb" % real
        found = sorted(self.debs.glob(pattern))
        if not found:
            self.node.say("Error: DEB for %s was not created !" % real, True, host.RED)
            sys.exit(host.ERROR)
        return found[0]

    def install(self, chosen: list[str]) -> None:
        self.node.say("Installing new packages", not self.node.quiet)
        flags = ["--force-confmiss", *self.given.values.get("dpkg_options", "").split(",")]
        for name in chosen:
            deb = self.deb(name)
            real = selection.kernel_name(name, self.dkms)
            self.node.say("Installing %s-%s..." % (real, self.catalogue["packages"][name]["version"]), not self.node.quiet)
            self.node.pause(self.faults.get("slow", ""))
            force = ["--force-confnew"] if real.startswith(("mlnx-ofed-kernel", "libvma")) else []
            self.node.install(real, " ".join(["/usr/bin/dpkg -i", *force, *filter(None, flags), str(deb)]), self.given.hooks)
            if real in ("mlnx-ofed-kernel-dkms", "mlnx-ofed-kernel-modules"):
                self.verify(real)

    def verify(self, name: str) -> None:
        """Check that the modules exist and are not those of the kernel package."""
        self.node.run("/sbin/depmod %s" % self.kernel)
        for module in PROBE:
            file = host.output("/sbin/modinfo -k %s -F filename %s" % (self.kernel, module)).strip()
            if file and "/kernel/drivers/" not in file:
                continue
            self.node.say("\nError: %s installation failed!" % name, True, host.RED)
            log = self.node.logs / (name + ".debinstall.log")
            self.node.collect(log)
            self.node.say("See:\n\t%s" % log, True, host.RED)
            for made in pathlib.Path("/var/lib/dkms").glob("mlnx-ofed-kernel/*/build/make.log"):
                copy = self.node.logs / (name + ".make.log")
                copy.write_bytes(made.read_bytes())
                self.node.say("\t%s" % copy, True, host.RED)
            self.node.say("Removing newly installed packages...\n", True, host.RED)
            self.node.must("/usr/sbin/ofed_uninstall.sh --force --keep-mft")
            sys.exit(host.ERROR)

    def packages(self) -> None:
        if self.given.has("--add-kernel-support", "--add-kernel-support-build-only") and not self.given.has("-p", "--print-available"):
            self.add_kernel_support()
        kernel = not self.given.has("--user-space-only", "-p", "--print-available", "--check-deps-only")
        if not self.dkms and kernel and not self._prebuilt():
            lines = (
                "DKMS is disabled for %s kernel, %s does not have non-DKMS driver packages available for this kernel." % (self.kernel, PACKAGE),
                "You can run mlnx_add_kernel_support.sh in order to to generate an %s package with drivers for this kernel." % PACKAGE,
                "Or, you can provide '--add-kernel-support' flag to generate an %s package and automatically start the installation." % PACKAGE,
            )
            for line in lines:
                self.node.say(line, True, host.RED)
            sys.exit(host.ERROR)
        chosen = self.select()
        if self.given.has("-p", "--print-available"):
            config = pathlib.Path(self.tmpdir, "ofed-%s.conf" % self.given.group)
            config.write_text("".join(selection.kernel_name(name, self.dkms) + "=y\n" for name in chosen), encoding="utf-8")
            print("\nMLNX_OFED packages: " + " ".join(chosen))
            end("\nCreated %s" % config, 0, host.GREEN)
        print("Logs dir: %s\nGeneral log file: %s" % (self.node.logs, self.node.general), file=sys.stderr, flush=True)
        if "space" in self.faults:
            self.node.say("Error: Not enough free space in %s." % self.tmpdir, True, host.RED)
            sys.exit(host.NO_SPACE)
        if not self.given.has("--check-deps-only"):
            self.confirm(chosen)
        self.requirements(chosen)
        self.node.run("dpkg --configure -a --force-all")
        self.node.run("apt-get install -f -y")
        remove.old_packages(self.node, PACKAGE, self.catalogue, self.force)
        self.install(chosen)

    def run(self) -> int:
        self.check()
        only = self.given.has("--fw-update-only")
        if not only:
            self.packages()
        result = finish.firmware(self.node, self.given, self.debs, self.tmpdir)
        if only:
            return result
        finish.settings(self.node, self.given, PACKAGE, self.version)
        self.node.say("Installation passed successfully", not self.node.quiet, host.GREEN)
        if not self.given.has("--user-space-only"):
            self.node.say("To load the new driver, run:\n/etc/init.d/openibd restart", not self.node.quiet, host.GREEN)
        return 0


def main(argv: list[str]) -> int:
    os.environ.update(LANG="C", LC_ALL="C")
    if not (BUNDLE / ".mlnx").is_file() and not (BUNDLE / "mlnx").is_file():
        end(".mlnx file not found. Cannot continue...", host.PREREQUISITE)
    try:
        given = options.parse(argv)
    except options.UnknownOption as exc:
        print("%s\nUnsupported installation option: '%s'%s" % (host.RED, exc, host.RESET))
        print("To see list of supported options, run: %s --help" % sys.argv[0])
        return host.INVALID
    if given.has("-h", "--help"):
        print(options.usage(sys.argv[0], os.uname().release, "/tmp"))
        return 0
    if os.getuid() and not given.has("--add-kernel-support-build-only", "-p", "--print-available"):
        end("Only root can run %s" % sys.argv[0], host.PREREQUISITE)
    installer = Installer(given, host.faults(BUNDLE))
    if given.has("--print-distro", "--script-version"):
        print(installer.distro if given.has("--print-distro") else installer.version)
        return 0
    return installer.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
