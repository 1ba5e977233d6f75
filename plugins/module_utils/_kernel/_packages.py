# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build module packages for one kernel with DOCA's tool, select packages from a build, and install them. A script without Ansible.

`doca TOOL KERNEL WORK` builds a package and records in WORK where its repository is.
`install TREE PACKAGING KERNEL WORK NAME...` installs those of the packages NAME... that are for the kernel: from the archive
that mlnx_add_kernel_support.sh left in WORK, else from that repository, else from the folder TREE.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import subprocess
import sys
import typing as t

# Without Ansible, there is no run_command.
# pylint: disable=ansible-bad-function

ARCHIVE = "bundle.tgz"
MADE = "repository"
_BUILT = re.compile(r"[Bb]uilt single package:\s*(/\S+)")
_SCRATCH = "/tmp/DOCA.*/doca-kernel-repo-*"
# Without one of these, the other packages are useless.
DRIVERS = ("kmod-mlnx-ofa_kernel", "mlnx-ofa_kernel-kmp-default", "mlnx-ofa_kernel-modules", "mlnx-ofed-kernel-modules")


class Failed(Exception):
    """A step has failed. The message says why, in words."""


def _parts(packaging: str, path: str) -> tuple[str, str]:
    """Split `NAME_VERSION_ARCH.deb` or `NAME-VERSION-RELEASE.ARCH.rpm` into name, and version with release."""
    file = os.path.basename(path)
    if packaging == "deb":
        name, _line, version = file[: -len(".deb")].rpartition("_")[0].partition("_")
        return name, version
    words = file[: -len(".rpm")].rpartition(".")[0].rsplit("-", 2)
    return (words[0], "-".join(words[1:])) if len(words) == 3 else ("", "")


def matching(packaging: str, kernel: str, *, names: t.Collection[str], paths: t.Iterable[str]) -> dict[str, str]:
    """The file of each package that is for the kernel. Packages for several kernels name none."""
    # An RPM version contains no dash, and a Debian version no underscore.
    wanted = "kver." + (kernel.replace("_", "-") if packaging == "deb" else kernel.replace("-", "_"))
    suffix = "." + packaging
    found: dict[str, str] = {}
    for path in sorted(path for path in paths if path.endswith(suffix) and ".src." not in path):
        name, version = _parts(packaging, path)
        if name not in names:
            continue
        if ("kver." not in version and packaging != "deb") or version.endswith(wanted) or re.search(re.escape(wanted) + r"[_.]", version):
            found[name] = path
    return found


def install_argvs(packaging: str, files: t.Sequence[str]) -> list[tuple[str, ...]]:
    """The commands that install them. RPM installs packages for several kernels side by side, like kernels themselves."""
    if packaging == "deb":
        return [("dpkg", "--install", "--force-confold", *files)]
    one = [path for path in files if "kver." in os.path.basename(path)]
    many = [path for path in files if path not in one]
    both = [("--install", one), ("--upgrade", many)]
    return [("rpm", verb, "--oldpackage", "--replacepkgs", "--nosignature", *some) for verb, some in both if some]


def _check_owner(path: str) -> None:
    """Refuse packages that another user than root could have written: root installs them, and they have no signature.

    A user who can write to a folder can replace its content, except files of others in a folder with the sticky bit.
    """
    place = os.path.abspath(path)
    while True:
        found = os.lstat(place)
        is_shared = bool(found.st_mode & 0o022) and (place == path or not found.st_mode & stat.S_ISVTX)
        if found.st_uid not in (0, os.geteuid()) or is_shared or stat.S_ISLNK(found.st_mode):
            raise Failed("%s is not installed: others than root could have put it there (%s)" % (path, place))
        if place == os.path.dirname(place):
            return
        place = os.path.dirname(place)


def built_package(output: str, before: t.Collection[str], now: t.Collection[str]) -> str:
    """The package that DOCA's tool has built. Its folder has a random name, and earlier packages may exist beside it."""
    named = _BUILT.findall(output)
    if named:
        return str(named[-1])
    fresh = sorted(set(now) - set(before))
    if len(fresh) != 1:
        raise Failed("the tool does not report what it has built: %s" % (", ".join(fresh) or "there is no new %s" % _SCRATCH))
    return fresh[0]


def _say(text: str) -> None:
    """Write a line to the log of the job, unbuffered."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _run(argv: t.Sequence[str]) -> None:
    _say("$ " + " ".join(argv))
    status = subprocess.run(argv, check=False).returncode
    if status:
        raise Failed("%s ended with exit status %d" % (argv[0], status))


def build_doca(tool: str, kernel: str, work: str) -> None:
    """Run the tool with its output in the log, and record where its result is."""
    before = glob.glob(_SCRATCH)
    process = subprocess.Popen([tool, "-k", kernel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        _say(line.rstrip("\n"))
    status = process.wait()
    if status:
        raise Failed("%s ended with exit status %d" % (tool, status))
    with open(os.path.join(work, MADE), "w", encoding="utf-8") as stream:
        stream.write(built_package("".join(lines), before, glob.glob(_SCRATCH)))


def _in_package(packaging: str, path: str) -> list[str]:
    """Install a repository that is a package. Returns its files."""
    if packaging == "deb":
        _run(["dpkg", "--install", path])
        name = subprocess.run(["dpkg-deb", "--field", path, "Package"], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.strip()
        listing = ["dpkg", "--listfiles", name]
    else:
        # It was built on this node and is not signed.
        _run(["rpm", "--upgrade", "--oldpackage", "--replacepkgs", "--nosignature", path])
        listing = ["rpm", "--query", "--list", "--package", "--nosignature", path]
    return subprocess.run(listing, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.splitlines()


def _below(folder: str) -> list[str]:
    return [os.path.join(place, file) for place, _folders, files in os.walk(folder) for file in files]


def candidates(tree: str, packaging: str, work: str) -> list[str]:
    """The files to choose from."""
    archive, made = os.path.join(work, ARCHIVE), os.path.join(work, MADE)
    if os.path.exists(archive):
        folder = os.path.join(work, "unpacked")
        os.makedirs(folder, exist_ok=True)
        _run(["tar", "--extract", "--file", archive, "--directory", folder, "--no-same-owner"])
        return _below(folder)
    if os.path.exists(made):
        with open(made, encoding="utf-8") as stream:
            package = stream.read().strip()
        _check_owner(package)
        return _in_package(packaging, package)
    return _below(tree)


def install(tree: str, *, packaging: str, kernel: str, work: str, names: t.Sequence[str]) -> None:
    """Install the packages for the kernel."""
    paths = candidates(tree, packaging, work)
    files = matching(packaging, kernel, names=names, paths=paths)
    if not any(name in files for name in DRIVERS):
        # The builder may create another kind of package than the installed one: one per kernel, or one for several.
        files.update(matching(packaging, kernel, names=DRIVERS, paths=paths))
    if not any(name in files for name in DRIVERS):
        wanted = ", ".join(name for name in names if name in DRIVERS)
        raise Failed("among what was built, there is no package %s for kernel %s" % (wanted, kernel))
    for name in names:
        if name not in files:
            _say("there is no %s for kernel %s" % (name, kernel))
    for argv in install_argvs(packaging, [files[name] for name in sorted(files)]):
        _run(argv)
    _run(["depmod", "-a", kernel])


def main() -> None:
    verb, *words = sys.argv[1:]
    try:
        if verb == "doca":
            build_doca(*words)
        else:
            tree, packaging, kernel, work, *names = words
            install(tree, packaging=packaging, kernel=kernel, work=work, names=names)
    except (Failed, OSError, subprocess.CalledProcessError) as exc:
        raise SystemExit(str(exc)) from None


if __name__ == "__main__":
    main()
