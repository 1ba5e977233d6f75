# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import importlib
import itertools
import pathlib
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

FOLDER = pathlib.Path(__file__).resolve().parents[4] / "plugins/filter"
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
VALUES: tuple[t.Any, ...] = (None, True, -1, 1.5, "", "x", "9" * 5000, [], [None], [{}], {}, {"a": 1}, {1: {}}, {"ib": {"fabric": 1, "tests": 1}}, object())


def filter_of(name: str) -> t.Callable[..., t.Any]:
    found: t.Callable[..., t.Any] = importlib.import_module("ansible_collections.rdma.ofed.plugins.filter." + name).FilterModule().filters()[name]
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_no_argument_is_an_error_of_python(name: str, count: int) -> None:
    call = filter_of(name)
    for values in itertools.islice(itertools.product(VALUES, repeat=count), 0, None, 7 if count > 2 else 1):
        with contextlib.suppress(AnsibleFilterError):
            call(*values)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("slurm_topology", ['{"version": 1, "nodes": [], "links": []}', 7], "hosts is 7; allowed: a list"),
        ("slurm_topology", ['{"version": 1, "nodes": [], "links": []}', ["x,y;z[1-99]"]], "without lists and ranges"),
        ("slurm_topology", ['{"version": 1, "nodes": [], "links": []}', None, "a b"], "root is 'a b'"),
        ("designated_sm", [1, 2], r"one of the arguments of rdma.ofed.designated_sm .* ansible-doc -t filter rdma.ofed.designated_sm"),
    ],
)
def test_errors_say_what_is_allowed(name: str, arguments: t.Sequence[t.Any], words: str) -> None:
    with pytest.raises(AnsibleFilterError, match=words):
        filter_of(name)(*arguments)
