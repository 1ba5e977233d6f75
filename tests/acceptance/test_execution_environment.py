# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An execution environment, built by ansible-builder from the tarball alone, runs the site, with the user and the folder that AWX gives to a job.

The base image stands for one of a registry: the lab's Debian with pip, and with the packages of Python that pip would fetch there. The lab adds what reaches
its nodes, which are containers: the program docker, its socket, and the connection plugin.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml
from cluster import BIN, Cluster
from common import BUILD, ROOT
from proofs import REAL
from virtualenvs import release

PREFIX = "rdma-environment"
BASE, IMAGE = "rdma-environment-base", "rdma-environment"
FROM_PIP = ("ansible-core", "ansible-runner", "bindep", "packaging", "pyyaml", "dumb-init==1.2.5")
"""What the build of ansible-builder installs."""
CONTAINERFILE = """\
FROM %s
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip python3-venv && rm -rf /var/lib/apt/lists/*
COPY wheels /wheels
RUN printf '[global]\\nno-index = true\\nfind-links = /wheels\\n' > /etc/pip.conf
"""


def _docker(*argv: str, folder: pathlib.Path = ROOT) -> str:
    env = {**os.environ, "DOCKER_BUILDKIT": "0"}
    done = subprocess.run(["docker", *argv], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, "%s\n%s%s" % (" ".join(argv), done.stdout[-4000:], done.stderr[-4000:])
    return done.stdout


def _base(folder: pathlib.Path) -> None:
    """Build the base image. The packages are those of the Python in this image, which is that of .venv."""
    (node,) = _docker("image", "ls", "--quiet", "--filter", "reference=rdmalab/base:bookworm-*").split()[:1]
    folder.mkdir()
    installed = (
        subprocess.run([BIN / "ansible", "--version"], capture_output=True, encoding="utf-8", check=True).stdout.partition("[core ")[2].partition("]")[0]
    )
    wanted = [package + ("==" + installed if package == "ansible-core" else "") for package in FROM_PIP]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", folder / "wheels", *wanted], check=True)
    (folder / "Dockerfile").write_text(CONTAINERFILE % node, encoding="utf-8")
    _docker("build", "--tag", BASE, ".", folder=folder)


def _environment(folder: pathlib.Path) -> None:
    """Build the environment, from the definition in docs/large_sites.md with another base image."""
    folder.mkdir()
    tarball = next((BUILD / "dist").glob("*.tar.gz"))
    text = (ROOT / "docs/large_sites.md").read_text(encoding="utf-8").partition("# execution-environment.yml")[2].partition("```")[0].partition("\n")[2]
    definition = yaml.safe_load("\n".join(line.removeprefix("  ") for line in text.splitlines()))
    definition["images"]["base_image"]["name"] = BASE + ":latest"
    definition["dependencies"].update(ansible_core={"package_pip": "ansible-core"}, ansible_runner={"package_pip": "ansible-runner"})
    definition["options"] = {"skip_pip_install": True, "package_manager_path": "/usr/bin/apt-get"}
    definition["build_arg_defaults"] = {"PKGMGR_PRESERVE_CACHE": "always"}
    shutil.copy(tarball, folder)
    (folder / "execution-environment.yml").write_text(yaml.safe_dump(definition), encoding="utf-8")
    subprocess.run([release() / "bin/ansible-builder", "create", "--context", "context", "--output-filename", "Dockerfile"], cwd=folder, check=True)
    _docker("build", "--tag", IMAGE, ".", folder=folder / "context")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Cluster]:
    cluster = Cluster(PREFIX)
    folder = tmp_path_factory.mktemp("environment")
    try:
        cluster.command("up", "--topology", "3-nodes")
        _base(folder / "base")
        _environment(folder / "environment")
        yield cluster
    finally:
        cluster.command("down")
        subprocess.run(["docker", "image", "rm", "--force", IMAGE, BASE], capture_output=True, check=False)


def _job(lab: Cluster, playbook: str, *options: str) -> str:
    """Run a playbook as a job of AWX does: as user 1000 in group 0, with a folder for the project."""
    project = lab.inventory.parent / "project"
    project.mkdir(exist_ok=True)
    shutil.copy(lab.inventory, project / "inventory.yml")
    connection = next(ROOT.glob(".venv/lib/python3*/site-packages/ansible_collections/community"))
    mounts = {
        project: "/runner/project",
        connection.resolve(): "/usr/share/ansible/collections/ansible_collections/community:ro",
        pathlib.Path(shutil.which("docker") or "/usr/bin/docker").resolve(): "/usr/local/bin/docker:ro",
        pathlib.Path("/var/run/docker.sock").resolve(): "/var/run/docker.sock",
    }
    volumes = [word for path, place in mounts.items() for word in ("--volume", "%s:%s" % (path, place))]
    group = os.stat("/var/run/docker.sock").st_gid
    argv = ["run", "--rm", "--network", "none", "--user", "1000:0", "--group-add", str(group), "--workdir", "/runner/project", *volumes, IMAGE]
    return _docker(*argv, "ansible-playbook", "-i", "inventory.yml", "rdma.ofed." + playbook, *options)


@pytest.mark.long
@pytest.mark.proves("environments", debian12=REAL)
def test_an_execution_environment_runs_the_site(lab: Cluster) -> None:
    assert "rdma.ofed" in _docker("run", "--rm", "--network", "none", IMAGE, "ansible-galaxy", "collection", "list")
    assert "Summary: 3 of 3 hosts done" in _job(lab, "site")
    assert "changed=0" in _job(lab, "site") and "BAD" not in _job(lab, "verify")
