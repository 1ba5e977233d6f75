# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build and install the packages of nv_peer_mem, as steps of a job. Runs as a script of its own, without Ansible.

`python nv_peer_mem_build.py check ARCHIVE sha256:DIGITS`, `build PACKAGING SOURCE WORK KERNEL`, `install PACKAGING WORK STAMP TEXT OPTION...`. The
build runs the source's own `build_module.sh`, which leaves a source package in /tmp and prints its path.
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

# Without Ansible, there is no run_command.
# pylint: disable=ansible-bad-function

_BLOCK = 1 << 20
# build_module.sh of releases such as 1.0 puts options of tar after the names, where current GNU tar refuses to pack anything.
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
    """A step has failed. The message says why, in words."""


def check(path: str, checksum: str) -> None:
    """Verify the checksum of a file. Raises Failed where it differs."""
    total = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            total.update(block)
    if "sha256:" + total.hexdigest() != checksum:
        raise Failed("the checksum of %s is sha256:%s instead of %s" % (path, total.hexdigest(), checksum))


def _say(text: str) -> None:
    """Write a line to the log of the job, unbuffered."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _run(argv: t.Sequence[str], directory: str, environment: t.Mapping[str, str] | None = None) -> str:
    """Run a command, print its output and return it. Raises Failed."""
    # The log contains the names of the steps; this shows the commands within a step.
    _say("+ %s" % " ".join(argv))
    done = subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, check=False)
    output = done.stdout.decode("utf-8", "replace")
    _say(output)
    if done.returncode:
        raise Failed("%s failed with exit status %d" % (argv[0], done.returncode))
    return output


def _with_tar(work: str) -> dict[str, str]:
    """The environment, with a tar that moves its options to the front."""
    folder = os.path.join(work, "bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "tar")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(_TAR.format(tar=shutil.which("tar") or "/bin/tar"))
    os.chmod(path, 0o755)
    return {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", os.defpath)}


def packages(packaging: str, work: str) -> list[str]:
    """The built packages, in the order of installation: the DKMS package follows the one that it belongs to."""
    pattern = "*.deb" if packaging == "deb" else "RPMS/*/*.rpm"
    found = sorted(glob.glob(os.path.join(work, "out", pattern)), key=lambda path: ("-dkms_" in path, path))
    return [path for path in found if "-debuginfo-" not in path and "-debugsource-" not in path]


def build(packaging: str, tree: str, work: str, *, kernel: str) -> None:
    """Build the packages and leave them in `out` below the work folder."""
    out = os.path.join(work, "out")
    os.makedirs(out, exist_ok=True)
    built = _BUILT.search(_run(["bash", "./build_module.sh"], tree, _with_tar(work)))
    if not built:
        raise Failed("build_module.sh did not report what it built")
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
    """Write beside the target and rename, so that the file is complete or missing."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.chmod(temporary, 0o644)
    os.rename(temporary, path)


def install(packaging: str, work: str, stamp: str, *, text: str, options: t.Sequence[str] = ()) -> None:
    """Install the packages, also over the same version, which another commit can have. Finally write `text` to the file `stamp`."""
    found = packages(packaging, work)
    if packaging == "deb":
        _run(["dpkg", "--install", *found], work)
    else:
        _run(["rpm", "--upgrade", "--hash", "--replacepkgs", "--oldpackage", *options, *found], work)
    # The run that waits for the job may have ended, and only this file tells that the package is ours.
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
