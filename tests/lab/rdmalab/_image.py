# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The images of the lab. A tag is a hash of the image's sources, so an existing image is up to date."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import typing as t

from ._docker import docker, stream
from ._engine import install
from ._say import LabError, say
from ._settings import LAB, Settings

PACKAGES = ("systemd", "systemd-sysv", "dbus", "python3", "python3-apt", "iproute2", "kmod", "procps", "udev", "ca-certificates", "ifupdown")
REPOSITORY = "rdmalab"
CONTEXT = ("image", "simulator", "node", "cxemu", "python")
LOCK = os.path.join(tempfile.gettempdir(), "rdmalab-%d.lock" % os.getuid())
STEP = re.compile(r"^Step \d+/\d+ : RUN : ([^;]+);")


class Images(t.NamedTuple):
    nodes: t.Mapping[str, str]
    """One per suite."""
    simulator: str


def digest(texts: t.Iterable[bytes]) -> str:
    """Return twelve hex digits. The boundaries between the texts are part of the hash."""
    total = hashlib.sha256()
    for text in texts:
        total.update(b"%d:" % len(text) + text)
    return total.hexdigest()[:12]


def base_tag(settings: Settings) -> str:
    parts = (settings.suite, settings.mirror, ",".join(PACKAGES))
    return "%s/base:%s-%s" % (REPOSITORY, settings.suite, digest(part.encode() for part in parts))


def tags(settings: Settings, suites: t.Iterable[str] = (), root: pathlib.Path = LAB) -> Images:
    """Return the tags for the current sources: nodes of these suites, or of the default suite."""
    sources = sorted(path for part in CONTEXT for path in (root / part).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    texts = [text for path in sources for text in (str(path.relative_to(root)).encode(), path.read_bytes())]

    def tag(target: str, suite: str) -> str:
        return "%s/%s:%s-%s" % (REPOSITORY, target, suite, digest([base_tag(settings._replace(suite=suite)).encode(), *texts]))

    return Images({suite: tag("node", suite) for suite in dict.fromkeys(suites) or (settings.suite,)}, tag("simulator", settings.suite))


def exists(tag: str) -> bool:
    return bool(docker("image", "ls", "--quiet", tag).strip())


def ensure_images(settings: Settings, suites: t.Iterable[str] = ()) -> Images:
    """Build missing images. A second lab that needs the same ones waits for the first."""
    images = tags(settings, suites)
    wanted = [*(("node", suite, tag) for suite, tag in images.nodes.items()), ("simulator", settings.suite, images.simulator)]
    missing = [row for row in wanted if not exists(row[2])]
    if missing:
        with open(LOCK, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for target, suite, tag in [row for row in missing if not exists(row[2])]:
                ensure_base(settings._replace(suite=suite))
                _build(settings._replace(suite=suite), target, tag)
    return images


def ensure_base(settings: Settings) -> str:
    """Return the tag of the plain Debian below all other images. Builds it if it is missing."""
    if not exists(base_tag(settings)):
        _debootstrap(settings)
    return base_tag(settings)


def kernel(image: str) -> str:
    """Return the release of the kernel whose modules are in the image."""
    return docker("run", "--rm", "--network=none", "--entrypoint=cat", image, "/opt/lab/kernel").strip()


def remove_images() -> list[str]:
    """Remove the images that no container uses. Returns their tags."""
    gone = []
    for tag in docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").split():
        if tag.startswith(REPOSITORY + "/"):
            docker("image", "rm", tag, check=False)
            if not exists(tag):
                gone.append(tag)
    docker("image", "prune", "--force", "--filter", "label=rdmalab", check=False, timeout=600)
    return gone


def _debootstrap(settings: Settings) -> None:
    install("debootstrap")
    say("building the base image: debootstrap %s (about a minute, once)" % settings.suite)
    with tempfile.TemporaryDirectory(prefix="rdmalab-") as scratch:
        argv = [
            "debootstrap",
            "--variant=minbase",
            "--include=" + ",".join(PACKAGES),
            settings.suite,
            scratch + "/root",
            *([settings.mirror] if settings.mirror else []),
        ]
        steps = {"Retrieving InRelease": "reading package lists", "Extracting": "unpacking", "Configuring": "configuring"}
        last: list[str] = []
        try:
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except OSError as exc:
            raise LabError("debootstrap cannot be started: %s" % exc) from exc
        assert process.stdout is not None
        for line in process.stdout:
            last = [*last, line.rstrip()][-10:]
            for word in [word for word in steps if word in line]:
                say("  debootstrap: %s" % steps.pop(word))
        if process.wait():
            raise LabError(
                "debootstrap could not make a Debian %s from %s. It said last:\n  %s"
                % (settings.suite, settings.mirror or "its default mirror", "\n  ".join(last))
            )
        say("  importing it into Docker")
        with subprocess.Popen(["tar", "-C", scratch + "/root", "-c", "."], stdout=subprocess.PIPE) as tar:
            assert tar.stdout is not None
            docker("import", "--change", "LABEL rdmalab=base", "-", base_tag(settings), stdin=tar.stdout, timeout=600)


def _build(settings: Settings, target: str, tag: str) -> None:
    say("building the %s image, Debian %s" % (target, settings.suite))
    given = {"--build-arg": "BASE=" + base_tag(settings), "--file": str(LAB / "image" / "Dockerfile"), "--label": "rdmalab=" + target}
    build(*(word for pair in given.items() for word in pair), "--target", target, "--tag", tag)


def build(*arguments: str) -> None:
    """Build an image from the lab's files. The classic builder sometimes fails beside other labs; the second try uses its cache and is short."""
    try:
        _try_build(arguments)
    except LabError as exc:
        say("%s\n  once more" % exc)
        _try_build(arguments)


def _try_build(arguments: t.Sequence[str]) -> None:
    step = None
    for line in stream("build", *arguments, str(LAB)):
        if step and "Using cache" not in line:
            say("  " + step[1])
        step = STEP.match(line)
