# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""nv_peer_mem, from before NVIDIA's driver had nvidia_peermem: which source to build, how, and when to rebuild. Pure.

Its repository creates a source package with `build_module.sh`, which rpmbuild or dpkg-buildpackage turns into packages. These
contain the module, an init script and its configuration. Names are those of its spec file and debian/control.
"""

from __future__ import annotations

import json
import typing as t

from .._facts._gpu import STAMP_PATH
from .._foreign import read_table
from .._host._step import Step, script_argv
from ._found import LEGACY
from ._source import Source

if t.TYPE_CHECKING:
    from .._distro._family import Family

SCRIPT = "nv_peer_mem_build.py"
WORK = "/var/lib/rdma.ofed/" + LEGACY
BUILDING = "building nv_peer_mem"
INSTALLING = "installing nv_peer_mem"
_GIT = {"GIT_TERMINAL_PROMPT": "0"}


class Stamp(t.NamedTuple):
    """What the installed package was built from, and for which system."""

    source: str = ""
    kernel: str = ""
    ofed: str = ""
    driver: str = ""
    """The GPU driver, whose symbol versions the build contains; "" in files of earlier releases of this collection."""


def parse_stamp(text: str) -> Stamp:
    """Parse the file's content. Malformed content counts as empty."""
    try:
        found = read_table(text)
        return Stamp(str(found["source"]), str(found["kernel"]), str(found["ofed"]), str(found.get("driver", "")))
    except KeyError:
        return Stamp()


def stamp_text(stamp: Stamp) -> str:
    return json.dumps(stamp._asdict(), indent=1, sort_keys=True) + "\n"


def why_build(found: Stamp, wanted: Stamp, is_there: bool, *, other_build: bool = False) -> str:
    """Why the package has to be built, in words; "" where the installed one is right."""
    if not found.source:
        return "not built yet"
    if not is_there:
        return "missing for kernel %s" % wanted.kernel
    if not found.driver:
        # There is no sign that it does not fit.
        wanted = wanted._replace(driver="")
    names = {"source": "source", "kernel": "kernel", "ofed": "OFED", "driver": "GPU driver"}
    changed = ["%s %s" % (names[key], getattr(found, key) or "none") for key in wanted._fields if getattr(found, key) != getattr(wanted, key)]
    if not changed and other_build:
        return "built on another build of the stack"
    return "built for %s" % ", ".join(changed) if changed else ""


def steps(family: Family, source: Source, stamp: Stamp, *, install: t.Sequence[str], network: t.Mapping[str, str]) -> tuple[Step, ...]:
    """The steps of the job. `install`: the command that installs missing programs. `network`: the proxy settings for git."""
    first: tuple[Step, ...] = (Step("installing the build dependencies", tuple(install)),) if install else ()
    tree = WORK + "/source"
    clean = Step("cleaning up", ("rm", "-rf", "--", WORK), always=True)
    if source.is_archive:
        first = (Step("comparing the checksum", script_argv(SCRIPT, "check", source.place, source.checksum)), *first)
        fetch: tuple[Step, ...] = (Step("unpacking the source", ("tar", "--extract", "--file", source.place, "--directory", tree, "--strip-components", "1")),)
    else:
        environment = tuple({**network, **_GIT}.items())
        fetch = (
            Step("fetching the source", ("git", "clone", "--quiet", "--no-checkout", "--", source.place, tree), environment=environment),
            Step("taking commit %s" % source.commit[:12], ("git", "-C", tree, "checkout", "--quiet", "--detach", source.commit), environment=environment),
        )
    build = Step(BUILDING, script_argv(SCRIPT, "build", family.manager.packaging, tree, WORK, stamp.kernel), directory=tree)
    return (
        Step("making room", ("rm", "-rf", "--", WORK)),
        Step("making a folder", ("mkdir", "-p", "-m", "0700", "--", tree)),
        *first,
        *fetch,
        build,
        Step(INSTALLING, script_argv(SCRIPT, "install", family.manager.packaging, WORK, STAMP_PATH, stamp_text(stamp), *family.peer_memory_options)),
        clean,
    )
