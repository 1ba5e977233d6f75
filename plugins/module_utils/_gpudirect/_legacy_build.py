# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds and installs the packages of nv_peer_mem, as steps of a job. Started as a script of its own, without Ansible.

`python nv_peer_mem_build.py check ARCHIVE sha256:DIGITS`, `build PACKAGING SOURCE WORK KERNEL`, `install PACKAGING WORK STAMP TEXT OPTION...`. The
build runs the source's own `build_module.sh`, which leaves a source package in /tmp and says so.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import typing as t

_BLOCK = 1 << 20
# build_module.sh of releases such as 1.0 writes options of tar behind the names, where GNU tar of today refuses to pack anything.
_TAR = """\
#!/bin/bash
options=() others=()
for word; do
    case $word in
    --exclude=*) options+=("$word") ;;
    *) others+=("$word") ;;
    esac
done
exec {tar} "${{others[@]:0:2}}" "${{options[@]}}" "${{others[@]:2}}"
"""
_BUILT = re.compile(r"^Built: (/\S+)$", re.MULTILINE)


class Failed(Exception):
    """In words."""


def check(path: str, checksum: str) -> None:
    """Raises Failed where the file has another checksum."""
    total = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            total.update(block)
    if "sha256:" + total.hexdigest() != checksum:
        raise Failed("the checksum of %s is sha256:%s instead of %s" % (path, total.hexdigest(), checksum))


def _say(text: str) -> None:
    """A line of the job's log, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _run(argv: t.Sequence[str], directory: str, environment: t.Mapping[str, str] | None = None) -> str:
    """Run, show all output, and return it; raises Failed."""
    # The log has the names of the steps; this tells what is within one.
    _say("+ %s" % " ".join(argv))
    done = subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, check=False)
    output = done.stdout.decode("utf-8", "replace")
    _say(output)
    if done.returncode:
        raise Failed("%s failed with exit status %d" % (argv[0], done.returncode))
    return output


def _with_tar(work: str) -> dict[str, str]:
    """The environment, with a tar that sorts its words first."""
    folder = os.path.join(work, "bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "tar")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(_TAR.format(tar=shutil.which("tar") or "/bin/tar"))
    os.chmod(path, 0o755)
    return {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", os.defpath)}


def packages(packaging: str, work: str) -> list[str]:
    """What was built, in the order of installation: the module of DKMS after what it belongs to."""
    pattern = "*.deb" if packaging == "deb" else "RPMS/*/*.rpm"
    found = sorted(glob.glob(os.path.join(work, "out", pattern)), key=lambda path: ("-dkms_" in path, path))
    return [path for path in found if "-debuginfo-" not in path and "-debugsource-" not in path]


def build(packaging: str, tree: str, work: str, *, kernel: str) -> None:
    """Leaves the packages in `out` below the work folder."""
    out = os.path.join(work, "out")
    os.makedirs(out, exist_ok=True)
    built = _BUILT.search(_run(["bash", "./build_module.sh"], tree, _with_tar(work)))
    if not built:
        raise Failed("build_module.sh did not say what it built")
    moved = shutil.move(built[1], os.path.join(out, os.path.basename(built[1])))
    if packaging == "deb":
        _run(["tar", "--extract", "--file", moved], out)
        (folder,) = [path for path in glob.glob(os.path.join(out, "*")) if os.path.isdir(path)]
        _run(["dpkg-buildpackage", "-us", "-uc", "-b"], folder)
    else:
        _run(["rpmbuild", "--rebuild", "--define", "_topdir %s" % out, "--define", "KVERSION %s" % kernel, moved], out)
    if not packages(packaging, work):
        raise Failed("no package was built")


def _write(path: str, text: str) -> None:
    """Beside the target and over it, so that it is whole or not there."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.chmod(temporary, 0o644)
    os.rename(temporary, path)


def install(packaging: str, work: str, stamp: str, *, text: str, options: t.Sequence[str] = ()) -> None:
    """Also in place of the same version, which another commit can have. `text` goes to the file `stamp`, as the last thing."""
    found = packages(packaging, work)
    if packaging == "deb":
        _run(["dpkg", "--install", *found], work)
    else:
        _run(["rpm", "--upgrade", "--hash", "--replacepkgs", "--oldpackage", *options, *found], work)
    # The run that waits for the job may be gone by now, and only this file tells that the package is ours.
    _write(stamp, text)


def main() -> None:
    command, arguments = sys.argv[1], sys.argv[2:]
    try:
        if command == "check":
            check(*arguments)
        elif command == "build":
            packaging, tree, work, kernel = arguments
            build(packaging, tree, work, kernel=kernel)
        else:
            packaging, work, stamp, text, *options = arguments
            install(packaging, work, stamp, text=text, options=options)
    except (Failed, OSError) as exc:
        raise SystemExit(str(exc)) from None


if __name__ == "__main__":
    main()
