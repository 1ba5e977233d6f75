# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module driver_stack, transfer a bundle from the controller if the node needs one, and show the progress of the job.

The documentation is in the module of the same name.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display

from ..module_utils._errors import RdmaError
from ..module_utils._foreign import shown
from ..module_utils._host._download import digest_of
from ..module_utils._host._job import progress
from ..module_utils._stack._bundle import Needed, check_here
from ..module_utils._stack._bundle_place import OTHER_FILE
from ..plugin_utils._actions import CollectionAction, host_of

_INTERNAL = ("attach", "digest", "staged")
# The keys with which the module requests a bundle that is not on the node.
_NEEDED = ("bundle_needed", "bundle_release", "bundle_architecture")
# A node that installs network drivers may be unreachable for some minutes.
_PATIENCE_SECONDS = 600.0
_PAUSE_SECONDS = 10.0


def sha256(path: str) -> str:
    """The digest of a file, in the form in which it is declared."""
    return "sha256:" + digest_of(path, "sha256")


def _wrong(path: str, *, digest: str, declared: str, answer: t.Mapping[str, t.Any]) -> str:
    """Why a bundle on the controller is not the expected one; "" where it is."""
    if not os.path.exists(path):
        words = "ofed_bundle: there is no file %s on the controller. Put it there, or set ofed_bundle_on: node if it is on the nodes. Nothing was changed"
        return words % path
    if declared != digest:
        words = "ofed_bundle: %s on the controller is not the declared file: its checksum is %s instead of %s. %s"
        return words % (path, digest or "that of no file", declared, OTHER_FILE)
    try:
        check_here(path, Needed(str(answer.get("bundle_release", "")), str(answer.get("bundle_architecture", ""))), " on the controller")
    except RdmaError as exc:
        return exc.msg
    return ""


def _packed(path: str, folder: str) -> str:
    """Pack a folder into an archive. Returns its path."""
    archive = os.path.join(folder, "bundle.tar")
    with tarfile.open(archive, "w") as stream:
        stream.add(path, arcname="bundle")
    return archive


class ActionModule(CollectionAction):
    """Executes the module once where there is nothing to do; otherwise again for each look at the progress."""

    module = "driver_stack"

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        arguments = {name: value for name, value in self._task.args.items() if name not in _INTERNAL}
        answer = self._execute(self.module, arguments, task_vars)
        if answer.get("bundle_needed"):
            answer = self._bring(arguments, answer, task_vars)
        return self._wait(arguments, answer, task_vars)

    def _bring(self, arguments: dict[str, t.Any], answer: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Give the module the checksum of the bundle and, unless the node has it, the file. In check mode, only inspect the bundle."""
        path = str(arguments["bundle"])
        digest = sha256(path) if os.path.isfile(path) else ""
        wrong = _wrong(path, digest=digest, declared=str(arguments.get("bundle_checksum") or digest).lower(), answer=answer)
        if wrong:
            return {"failed": True, "msg": wrong}
        if self._task.check_mode:
            return {name: value for name, value in answer.items() if name not in _NEEDED}
        with tempfile.TemporaryDirectory() as folder:
            if not digest:
                path = _packed(path, folder)
                digest = sha256(path)
            answer = self._execute(self.module, {**arguments, "digest": digest}, task_vars)
            if not answer.get("bundle_needed"):
                return answer
            if self._connection._shell.tmpdir is None:
                self._make_tmp_path()
            staged = self._connection._shell.join_path(self._connection._shell.tmpdir, "bundle")
            Display().display("%s: transferring the bundle, %d MB" % (host_of(task_vars), os.path.getsize(path) // 1000000))
            self._transfer_file(path, staged)
            return self._execute(self.module, {**arguments, "digest": digest, "staged": staged}, task_vars)

    def _wait(self, arguments: dict[str, t.Any], answer: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Poll until the job has ended. The job does not need the connection, so losing it is no failure."""
        host = host_of(task_vars)
        lost = 0.0
        while not answer.get("failed") and answer.get("job", {}).get("running"):
            job = answer["job"]
            Display().display(shown(progress(host, job)))
            try:
                answer = self._execute(self.module, {**arguments, "attach": job["id"]}, task_vars)
                unreachable = answer.get("unreachable")
            except AnsibleConnectionFailure:
                unreachable = True
            if not unreachable:
                lost = 0.0
                continue
            lost = lost or time.monotonic()
            if time.monotonic() - lost > _PATIENCE_SECONDS:
                words = "the node can't be reached. The job continues there, and the next run waits for it. Its log is %s"
                return {"failed": True, "msg": words % job["log"], "job": job}
            answer = {"job": job}
            Display().display("%s: the node can't be reached; the job continues" % host)
            time.sleep(_PAUSE_SECONDS)
            self._connection.reset()
        return answer
