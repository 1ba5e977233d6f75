# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates the source of the stand-in for nv_peer_mem, as an archive and as a git repository with two commits: sources.py INTO."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import typing as t

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "tests/lab/gpu/nv_peer_memory"
ARCHIVE = "nv_peer_memory-1.0-8.tar.gz"
REPOSITORY = "nv_peer_memory.git"
_WHO = {"GIT_%s_%s" % (who, what): value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "lab"), ("EMAIL", "lab@example.invalid"))}
_WHEN = {"GIT_AUTHOR_DATE": "2018-09-06T12:00:00Z", "GIT_COMMITTER_DATE": "2018-09-06T12:00:00Z", "GIT_CONFIG_GLOBAL": os.devnull}


def _run(*argv: str, cwd: pathlib.Path) -> str:
    return subprocess.run(argv, cwd=cwd, env={**os.environ, **_WHO, **_WHEN}, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.strip()


def _commit(tree: pathlib.Path, words: str) -> str:
    _run("git", "add", "--all", cwd=tree)
    _run("git", "commit", "--quiet", "--message", words, cwd=tree)
    return _run("git", "rev-parse", "HEAD", cwd=tree)


def make(into: pathlib.Path) -> dict[str, t.Any]:
    """Create the sources. Returns names, checksum and commits for the manifest."""
    shutil.rmtree(into, ignore_errors=True)
    tree = into / "nv_peer_memory-1.0-8"
    shutil.copytree(SOURCE, tree)
    _run("tar", "--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--mtime=@1536235200", "--file", ARCHIVE, tree.name, cwd=into)
    _run("git", "init", "--quiet", "--initial-branch=master", cwd=tree)
    commits = [_commit(tree, "the first")]
    module = tree / "nv_peer_mem.c"
    module.write_text(module.read_text(encoding="utf-8").replace("stand-in for nv_peer_mem", "the second stand-in for nv_peer_mem"), encoding="utf-8")
    commits.append(_commit(tree, "the second"))
    _run("git", "clone", "--quiet", "--bare", tree.name, REPOSITORY, cwd=into)
    shutil.rmtree(tree)
    return {"archive": ARCHIVE, "checksum": "sha256:" + hashlib.sha256((into / ARCHIVE).read_bytes()).hexdigest(), "repository": REPOSITORY, "commits": commits}


if __name__ == "__main__":
    made = make(pathlib.Path(sys.argv[1]))
    pathlib.Path(sys.argv[1], "manifest.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
