# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process that has loaded Ansible and this collection, and turns into an Ansible run for each request: a line of JSON with `Request`.

A short run spends most of its time on loading the same files, both in the run and in the process that Ansible forks for each task of each host.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import traceback
import typing as t
import warnings

from ansible import constants
from ansible.cli.inventory import InventoryCLI
from ansible.cli.playbook import PlaybookCLI
from ansible.plugins import loader

PROGRAMS = {"playbook": PlaybookCLI, "inventory": InventoryCLI}
MODULES = "ansiballz_cache"


class Request(t.NamedTuple):
    """One run."""

    program: str
    arguments: t.List[str]
    folder: str
    environ: t.Dict[str, str]
    output: str
    errors: str
    seconds: int


def preload() -> None:
    """Load what every run needs, and the plugins of the collection."""
    if hasattr(loader, "init_plugin_loader"):
        loader.init_plugin_loader()
        # Each run would try to do the same.
        warnings.filterwarnings("ignore", message="AnsibleCollectionFinder has already been configured")
    own = os.path.join(os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)[0], "ansible_collections/rdma/ofed/plugins")
    for kind in ("action", "filter", "lookup"):
        # 1.0.0 has no lookups.
        for name in os.listdir(os.path.join(own, kind)) if os.path.isdir(os.path.join(own, kind)) else ():
            # An ansible-core too old for a plugin refuses it in the run as well.
            with contextlib.suppress(Exception):
                getattr(loader, kind + "_loader").get("rdma.ofed." + name[: -len(".py")])
    # Not those of kind vars: ansible-core makes objects of them when it first lists them, and would then read no group_vars and host_vars.
    for kind in ("action", "become", "cache", "callback", "connection", "filter", "inventory", "shell", "strategy", "test"):
        list(getattr(loader, kind + "_loader").all(class_only=True))
    for name in os.environ.get("RDMA_CONNECTIONS", "").split():
        loader.connection_loader.get(name, class_only=True)
    # Garbage collection would copy the memory that the runs share.
    gc.collect()
    gc.freeze()


def become(request: Request) -> t.NoReturn:
    """Become the run and skip Python's exit handlers: they would clean up what all runs share."""
    signal.alarm(request.seconds)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environ)
    # Both may go to the same file.
    written = os.O_WRONLY | os.O_APPEND
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, request.output, written), (2, request.errors, written)):
        os.dup2(os.open(path, flags), number)
    # The collection identifies a run by this directory. All runs share the modules in their transferred form.
    shared = str(constants.DEFAULT_LOCAL_TMP)
    constants.DEFAULT_LOCAL_TMP = tempfile.mkdtemp(dir=os.path.dirname(shared))
    os.makedirs(os.path.join(shared, MODULES), exist_ok=True)
    os.symlink(os.path.join(shared, MODULES), os.path.join(constants.DEFAULT_LOCAL_TMP, MODULES))
    sys.argv = ["ansible-" + request.program, *request.arguments]
    status: t.Any = 1
    try:
        PROGRAMS[request.program].cli_executor(sys.argv)
        status = 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


def serve() -> None:
    preload()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become(Request(**json.loads(line)))
        status = os.waitpid(pid, 0)[1]
        os.write(1, b"%d\n" % (os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)))


if __name__ == "__main__":
    serve()
