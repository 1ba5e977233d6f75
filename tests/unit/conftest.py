# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes `ansible_collections.rdma.ofed` importable from a checkout at any path, with plain pytest, on every supported Python."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pathlib
import sys
import types
import typing as t
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _package(name: str, path: list[str]) -> None:
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__path__ = path
        sys.modules[name] = module


_package("ansible_collections", [])
_package("ansible_collections.rdma", [])
_package("ansible_collections.rdma.ofed", [str(ROOT)])
# ansible-core 2.14 registers its collection finder on import, and asks for the meta/runtime.yml of collections.
vars(sys.modules["ansible_collections.rdma.ofed"])["_collection_meta"] = {}


# All runs use the same examples, so that load on a machine causes no failure. The other Pythons run fewer examples: few of them show differences between
# Pythons.
EXAMPLES = 50 if sys.version_info[:2] == (3, 11) else 15
UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, max_examples=EXAMPLES, suppress_health_check=UNHURRIED)
settings.load_profile("repeatable")

PLAYBOOKS = pathlib.Path(__file__).parent / "playbooks"

# Tests of controller code need an ansible-core that requires Python 3.9; the tools of this repository require Python 3.11.
collect_ignore = [
    *([] if sys.version_info >= (3, 11) else ["lab", "meta"]),
    *(
        []
        if sys.version_info >= (3, 9)
        else [
            "plugins/action",
            "plugins/filter",
            "plugins/lookup",
            "plugins/inventory/test_hostile_names.py",
            "plugins/module_utils/_monitor/test_discovery.py",
            "plugins/modules/test_ipoib_discovered.py",
            "plugins/plugin_utils/_discovery/test_round_trip.py",
            *("playbooks/" + path.name for path in PLAYBOOKS.glob("test_*.py") if path.name != "test_controller.py"),
        ]
    ),
]


@contextlib.contextmanager
def _patch_module_args(args: t.Optional[t.Dict[str, t.Any]] = None) -> t.Iterator[None]:
    from ansible.module_utils import basic

    with mock.patch.object(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": args or {}}).encode()):
        yield


if importlib.util.find_spec("ansible.module_utils.testing") is None:
    # The newest ansible-core for the oldest Python lacks this helper.
    _testing = types.ModuleType("ansible.module_utils.testing")
    vars(_testing)["patch_module_args"] = _patch_module_args
    sys.modules[_testing.__name__] = _testing


class Wording(str):
    """A text for people. Code of the collection may display it; a decision based on it fails the test."""

    def _refuse(self) -> None:
        caller = sys._getframe(2).f_code.co_filename
        assert not caller.startswith(str(ROOT / "plugins")), "%s decides on the wording %r" % (caller, str.__str__(self))


def _guarded(name: str) -> t.Any:
    original = getattr(str, name)

    def method(self: Wording, *args: t.Any) -> t.Any:
        self._refuse()
        return original(self, *args)

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem"):
    setattr(Wording, "__%s__" % _name, _guarded("__%s__" % _name))
for _name in ("startswith", "endswith", "split", "rsplit", "partition", "rpartition", "find", "index", "count", "replace", "strip"):
    setattr(Wording, _name, _guarded(_name))
setattr(Wording, "__hash__", str.__hash__)  # noqa: B010


@pytest.fixture(scope="session", autouse=True)
def _words_decide_nothing() -> None:
    """Make every wording of a change one on which the collection must not decide."""
    from ansible_collections.rdma.ofed.plugins.module_utils import _words

    def marked(function: t.Callable[..., str]) -> t.Callable[..., str]:
        return lambda *args, **named: Wording(function(*args, **named))

    for name in ("subject", "change", "pending"):
        setattr(_words, name, marked(getattr(_words, name)))
