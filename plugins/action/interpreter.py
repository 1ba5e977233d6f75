# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find, or install, a Python for modules without running a module. The module of the same name has the documentation."""

from __future__ import annotations

import shlex
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.release import __version__

from ..module_utils._concern import IMAGE
from ..module_utils._foreign import is_true
from ..module_utils._host._run import Output
from ..module_utils._schema._interpreter import OPTIONS
from ..module_utils._site import _interpreter
from ..module_utils._site._ends import generic
from ..module_utils._site._interpreter import Probed
from ..module_utils._site._leaving import WHOLE, left_out
from ..module_utils._site._machines import machine_marks
from ..plugin_utils._actions import ValidatedAction, host_of, value_of
from ..plugin_utils._pythons import DISCOVERED, declared_python

if t.TYPE_CHECKING:
    from ..module_utils._distro._family import Family

_NO_FAMILY = "%s: no Python package is known for the distribution %s; install Python %d.%d or later manually"
_NO_ROOT = "%s: installing Python requires root; run it with -b (become)"


class _Shell:
    """A Runner that uses the connection of a task. The caller judges every exit status."""

    def __init__(self, run: t.Callable[[t.Sequence[str]], Output]) -> None:
        self._run = run

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = None, timeout: float = 60) -> Output:
        return self._run(argv)

    def has(self, tool: str) -> bool:
        return not self._run(("sh", "-c", 'command -v "$0"', tool)).rc


_IMAGE = (
    "it is the tree of an image (rdma_image), whose adapters and fabric would be those of the host that builds it: run this playbook on the nodes that boot "
    "the image, and keep images in an inventory of their own"
)
_STEP = "check whether it is on, and whether the controller reaches it, for example with 'ansible HOST -m ping'"


class ActionModule(ValidatedAction):
    """Runs one shell command if there is nothing to install."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        if not arguments["keep_failure"]:
            return self._answer(arguments, task_vars)
        if arguments["running"] and is_true(value_of(IMAGE, task_vars, self._templar)):
            return {"answers": True, "declared": "", "interpreter": "", "version": "", "left_out": left_out({WHOLE: [_IMAGE]})}
        try:
            result = self._answer(arguments, task_vars)
        except AnsibleConnectionFailure as exc:
            names = [host_of(task_vars), str(task_vars.get("ansible_host") or "")]
            result = {"answers": False, "wrong": ["unreachable: %s. Next: %s" % (generic(str(exc), names).rstrip("."), _STEP)]}
        wrong = result.pop("wrong")
        return {**result, "left_out": left_out({WHOLE: wrong})}

    def _answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        declared = declared_python(self._templar, task_vars)
        oldest = _interpreter.oldest_for(__version__)
        found, silent = self._look(declared)
        result: dict[str, t.Any] = {"declared": declared, "interpreter": "", "version": "", "wrong": [], "answers": not silent}
        if silent:
            result.update(wrong=[silent], **({"failed": True, "msg": silent} if arguments["install"] else {}))
            return result
        if arguments["install"] and not _interpreter.choose(found.pythons, oldest=oldest):
            failure, package = self._install(found, host=host_of(task_vars), oldest=oldest)
            if failure:
                result.update(failed=True, msg=failure)
                return result
            result.update(changed=True, package=package)
            if self._task.check_mode:
                return result
            found, _silent = self._look(declared)
        # Several names may lead to the controller itself.
        result["machine"] = machine_marks(found.identity, None) if self._connection.transport != "local" else []
        chosen = _interpreter.choose(found.pythons, "" if arguments["install"] else declared, oldest)
        wrong = _interpreter.refusal(found.pythons, declared, oldest)
        result["wrong"] = [wrong] if wrong else []
        if chosen:
            result.update(interpreter=chosen.path, version=".".join(map(str, chosen.version)))
        if chosen is None and arguments["install"]:
            result.update(failed=True, msg=wrong)
        elif chosen and not declared:
            result["ansible_facts"] = {DISCOVERED: chosen.path}
        return result

    def _look(self, declared: str) -> tuple[Probed, str]:
        """What the node has, and why nothing is known about it; "" where the script ran."""
        output = self._run(("sh", "-c", _interpreter.script(declared)))
        found = _interpreter.parse(output.stdout)
        return found, "" if found.ran else _interpreter.silence(output.stderr + "\n" + output.stdout, bool(self._play_context.become))

    def _run(self, argv: t.Sequence[str]) -> Output:
        answer = self._low_level_execute_command("LC_ALL=C " + " ".join(map(shlex.quote, argv)))
        return Output(answer["rc"], answer["stdout"], answer["stderr"])

    def _offered(self, family: Family) -> list[str]:
        """The packages with a Python that the node's repositories offer."""
        return [name for name in family.interpreters if not family.manager.unavailable(_Shell(self._run), [name])]

    def _install(self, found: Probed, *, host: str, oldest: _interpreter.Version) -> tuple[str, str]:
        """Install the first available package, except in check mode. Returns why that is impossible, and the package."""
        family = found.family()
        if family is None:
            return _NO_FAMILY % (host, found.os.get("PRETTY_NAME", "which has no os-release"), *oldest[:2]), ""
        if not found.root:
            return _NO_ROOT % host, ""
        manager = family.manager
        names = self._offered(family)
        if not names and manager.lists_age and not self._task.check_mode:
            self._run(manager.update)
            names = self._offered(family)
        if not names:
            return "%s: %s has none of the packages %s; look at its repositories" % (host, manager.name, ", ".join(family.interpreters)), ""
        if not self._task.check_mode:
            output = self._run((*manager.add, names[0]))
            if output.rc:
                said = (output.stderr or output.stdout).strip().splitlines()[-3:]
                return "%s: %s can't install %s: %s" % (host, manager.name, names[0], " ".join(said)), ""
        return "", names[0]
