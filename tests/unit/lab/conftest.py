# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the lab's own package importable, which is not part of the collection."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import types

import pytest

LAB = pathlib.Path(__file__).resolve().parents[2] / "lab"


def load(name: str, path: pathlib.Path) -> types.ModuleType:
    """Import a file under a name of its own: the node's package is called rdmalab as well."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)] if path.name == "__init__.py" else None)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


load("labctl", LAB / "rdmalab" / "__init__.py")
load("lab_kernel_subset", LAB / "image" / "kernel_subset.py")
sys.path += [str(LAB / "simulator"), str(LAB / "stacks"), str(LAB / "stacks/vendor")]
load("lab_gateway", LAB / "simulator" / "gateway.py")
load("lab_fabricd", LAB / "vm" / "node/usr/lib/rdmalab/fabricd.py")


@pytest.fixture(autouse=True)
def no_question_to_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the query for this machine's mirror: no test depends on it, and apt answers slowly."""
    from labctl import _settings

    monkeypatch.setattr(_settings, "_machine_mirror", lambda: "")
