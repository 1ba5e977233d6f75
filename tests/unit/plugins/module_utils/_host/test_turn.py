# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting until another process has finished, and the code of the collection that waits this way."""

from __future__ import annotations

import contextlib
import fcntl
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host import _turn
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import card_locks
from ansible_collections.rdma.ofed.plugins.module_utils._host._turn import comes, locks
from ansible_collections.rdma.ofed.plugins.module_utils._packages._converge import forbidden
from ansible_collections.rdma.ofed.plugins.module_utils._packages._obstacles import wait_for_turn


class Clock:
    """Advances only during sleeps, and may run an action then."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []
        self.at_pause: t.Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.at_pause()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(_turn, "time", made)
    return made


def test_it_looks_once_without_patience_and_once_more_after_the_last_pause(clock: Clock) -> None:
    answers = iter([False, False, True, False, True])
    assert not comes(lambda: next(answers), 0, 5)
    assert clock.pauses == []
    assert comes(lambda: next(answers), 5, 5)
    assert clock.pauses == [5]
    assert not comes(lambda: next(answers), 0, 5)
    assert comes(lambda: next(answers), 0, 5)
    assert clock.pauses == [5]


def test_a_file_is_locked_for_one_at_a_time(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb") as one, open(path, "rb") as other:
        assert locks(one) and not locks(other)
        fcntl.flock(one, fcntl.LOCK_UN)
        assert locks(other) and not locks(one)


def test_a_card_is_waited_for_and_its_new_user_named(tmp_path: pathlib.Path, clock: Clock) -> None:
    root, card = str(tmp_path), ("0000:03:00.0",)
    with contextlib.ExitStack() as held:
        held.enter_context(card_locks(card, 0, root))
        with pytest.raises(Refused, match="is in use by process"), card_locks(card, 2, root):
            pass
        assert sum(clock.pauses) == 2
        clock.at_pause = held.close
        with card_locks(card, 2, root):
            assert (tmp_path / "run/rdma-ofed/lock/0000:03:00").read_text().strip().isdigit()
    assert sum(clock.pauses) == 2.5


def test_another_installation_of_the_collection_is_waited_for_and_named(tmp_path: pathlib.Path, clock: Clock) -> None:
    root = str(tmp_path)
    with forbidden(root):
        before = (tmp_path / "usr/sbin/policy-rc.d").read_text()
        with pytest.raises(Refused, match="another run of this collection has been installing packages on this node for 7200 s"), forbidden(root):
            pass
        assert sum(clock.pauses) == 7200
        # Nothing of the first one was changed.
        assert (tmp_path / "usr/sbin/policy-rc.d").read_text() == before
    with forbidden(root):
        pass
    assert sum(clock.pauses) == 7200


def test_whether_another_process_had_the_packages_is_said(tmp_path: pathlib.Path, clock: Clock) -> None:
    debian, redhat = by_name("Debian"), by_name("RedHat")
    assert debian and redhat
    assert wait_for_turn(debian.manager, 3, str(tmp_path)) is False
    noted = tmp_path / "var/cache/dnf/download_lock.pid"
    noted.parent.mkdir(parents=True)
    noted.write_text("4711\n")
    (tmp_path / "proc/4711").mkdir(parents=True)
    with pytest.raises(Refused, match=r"process 4711 has held the lock /var/cache/dnf/download_lock\.pid for more than 3 s\. Nothing was changed"):
        wait_for_turn(redhat.manager, 3, str(tmp_path))
    assert sum(clock.pauses) == 3
    clock.at_pause = noted.unlink
    assert wait_for_turn(redhat.manager, 3, str(tmp_path)) is True
    assert sum(clock.pauses) == 4
