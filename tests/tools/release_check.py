# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks the tarball as Galaxy does, what it declares for execution environments, and the workflows. Before a release, also what a tag promises."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import sys
import typing as t

import yaml
from common import BUILD, LOGS, ROOT, SetupError, main, run, say
from virtualenvs import release

WORK = BUILD / "release"
DEFINITION = """\
version: 3
images: {base_image: {name: "registry.example.org/ee-minimal:latest"}}
dependencies: {galaxy: {collections: [{name: collections/%(name)s, type: file}]}}
additional_build_files: [{src: %(path)s, dest: collections}]
"""
_COMPLAINT = re.compile(r"^(?:WARNING|ERROR|CRITICAL): .*", re.MULTILINE)


def complaints(log: str) -> list[str]:
    """Return what galaxy-importer objects to. It exits 0 for most of it."""
    return _COMPLAINT.findall(log)


def wrong_tag(tag: str, root: pathlib.Path = ROOT) -> list[str]:
    """Return why this tag can't be released from this tree."""
    version = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    releases = yaml.safe_load((root / "changelogs/changelog.yaml").read_text(encoding="utf-8"))["releases"]
    fragments = sorted(path.name for path in (root / "changelogs/fragments").glob("*.yml"))
    found = {
        "the tag is %s, and galaxy.yml has version %s: allowed is v%s" % (tag, version, version): tag != "v" + version,
        "changelogs/changelog.yaml has no version %s: run antsibull-changelog release" % version: version not in releases,
        "changes are not in the release notes yet: run antsibull-changelog release for %s" % ", ".join(fragments): bool(fragments),
    }
    return [words for words, is_wrong in found.items() if is_wrong]


def _import(programs: pathlib.Path, tarball: pathlib.Path, env: t.Mapping[str, str]) -> None:
    say("galaxy-importer")
    # It ends ansible-lint after three minutes, which a busy machine needs. `make lint` runs it with the same profile. Without the configuration of this
    # repository, ansible-lint objects to one thing, on Galaxy as a warning: that ansible-core 2.14 is supported.
    env = {**env, "GALAXY_IMPORTER_RUN_ANSIBLE_LINT": "false"}
    run([str(programs / "python"), "-m", "galaxy_importer.main", str(tarball)], cwd=WORK, env=env, log="importer")
    found = complaints((LOGS / "importer.log").read_text(encoding="utf-8"))
    if found:
        raise SetupError("galaxy-importer objects to the tarball:\n%s" % "\n".join(found))


def _builder(programs: pathlib.Path, tarball: pathlib.Path, env: t.Mapping[str, str]) -> None:
    say("ansible-builder")
    builder = str(programs / "ansible-builder")
    run([builder, "introspect", str(BUILD / "collections")], env=env, log="builder-introspect")
    definition = WORK / "execution-environment.yml"
    definition.write_text(DEFINITION % {"name": tarball.name, "path": tarball}, encoding="utf-8")
    run([builder, "create", "--file", str(definition), "--context", str(WORK / "context")], env=env, log="builder-create")


def check() -> None:
    wrong = [words for tag in sys.argv[1:] for words in wrong_tag(tag)]
    if wrong:
        raise SetupError("\n".join(wrong))
    programs = release() / "bin"
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    tarball = next((BUILD / "dist").glob("*.tar.gz"))
    env = dict(os.environ, PATH=os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)]))
    env.pop("ANSIBLE_CONFIG", None)
    _import(programs, tarball, env)
    _builder(programs, tarball, env)
    say("zizmor")
    run([str(programs / "zizmor"), "--offline", "--quiet", str(ROOT / ".github/workflows")], env=env, log="zizmor")
    say("%s may be released: %d kB" % (tarball.relative_to(ROOT), tarball.stat().st_size // 1024))


if __name__ == "__main__":
    main(check)
