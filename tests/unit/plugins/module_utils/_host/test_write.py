# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Obstacles that another user of a node could put in root's way."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import stat
import subprocess
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import write_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import LOCK_DIRECTORY, card_locks
from ansible_collections.rdma.ofed.plugins.module_utils._host._write import leftovers, open_folder, open_regular, replace_file
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _look as _monitor_look


@pytest.fixture
def shared(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a world-writable directory."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def secret(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "secret"
    path.write_text("of root\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def is_whole(secret: pathlib.Path) -> bool:
    return secret.read_text(encoding="utf-8") == "of root\n" and stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.parametrize("trap", ["file", ".file.rdma-ofed", "file.new", ".file.0123456789abcdef.rdma-ofed"])
def test_a_link_in_the_way_leads_nowhere(shared: pathlib.Path, secret: pathlib.Path, trap: str) -> None:
    (shared / trap).symlink_to(secret)
    write_text(str(shared / "file"), "new\n")
    assert is_whole(secret)
    assert (shared / "file").read_text(encoding="utf-8") == "new\n" and not (shared / "file").is_symlink()


def test_the_name_of_the_new_file_is_another_one_each_time(shared: pathlib.Path) -> None:
    seen: list[str] = []

    def install(path: str) -> None:
        seen.append(path)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
        os.rename(path, str(shared / "file"))

    for _time in range(2):
        replace_file(str(shared / "file"), b"x", 0o640, install=install)
    assert len(set(seen)) == 2 and all(leftovers(str(shared / "file")).match(os.path.basename(path)) for path in seen)


def test_a_folder_that_somebody_has_replaced_by_a_link_is_refused(shared: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "etc"
    target.mkdir()
    (shared / "metrics").symlink_to(target)
    with pytest.raises(OSError, match="not followed"):
        write_text(str(shared / "metrics/rdma.prom"), "x\n")
    assert list(target.iterdir()) == []


def test_a_link_that_root_has_made_is_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "data/inner").mkdir(parents=True)
    (tmp_path / "one").symlink_to("data")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    write_text(str(tmp_path / "two/inner/file"), "x\n")
    assert (tmp_path / "data/inner/file").read_text(encoding="utf-8") == "x\n"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match=r"round|not followed"):
        open_folder(str(tmp_path / "round"))


def test_what_a_dead_writer_has_left_goes_and_that_of_a_living_one_stays(tmp_path: pathlib.Path) -> None:
    dead, living = (tmp_path / (".file.%s.rdma-ofed" % (digit * 16)) for digit in "01")
    other = tmp_path / ".other.0000000000000000.rdma-ofed"
    for path in (dead, living, other):
        path.touch()
    with living.open("r", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_text(str(tmp_path / "file"), "x\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([living.name, other.name, "file"])


def test_a_write_that_fails_leaves_nothing(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").mkdir()
    (tmp_path / "file/inner").touch()
    with pytest.raises(OSError, match=r"[Dd]irectory"):
        write_text(str(tmp_path / "file"), "x\n")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_fifo_blocks_nobody(shared: pathlib.Path, secret: pathlib.Path) -> None:
    os.mkfifo(shared / "log")
    (shared / "link").symlink_to(secret)
    (shared / "folder").mkdir()
    for name in ("log", "link", "folder", "none"):
        with pytest.raises(OSError, match=r".*"):
            open_regular(str(shared / name))
        assert _job.read_end(str(shared / name), 100) == ""
        assert _monitor_look._first_line(str(shared / name)) == ""
    (shared / "plain").write_text("text\n", encoding="utf-8")
    assert _job.read_end(str(shared / "plain"), 100) == "text\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_log_of_another_user_is_not_read(shared: pathlib.Path) -> None:
    (shared / "log").write_text("Installing evil\n", encoding="utf-8")
    os.chown(shared / "log", 65534, 65534)
    assert _job.read_end(str(shared / "log"), 100) == ""
    assert open_regular(str(shared / "log")).read() == b"Installing evil\n"


@pytest.mark.parametrize("link", ["folder", "file"])
def test_a_lock_of_the_former_place_leads_nowhere(tmp_path: pathlib.Path, secret: pathlib.Path, link: str) -> None:
    former = tmp_path / "run/lock"
    former.mkdir(parents=True)
    former.chmod(0o777)
    if link == "folder":
        (former / "rdma.ofed").symlink_to(tmp_path)
        secret.rename(tmp_path / "0000:03:00")
        secret = tmp_path / "0000:03:00"
    else:
        (former / "rdma.ofed").mkdir()
        (former / "rdma.ofed/0000:03:00").symlink_to(secret)
    with card_locks(("0000:03:00.0",), 0, str(tmp_path)):
        pass
    assert is_whole(secret)
    assert stat.S_IMODE((tmp_path / LOCK_DIRECTORY).stat().st_mode) == 0o700


def test_a_program_of_an_earlier_release_that_writes_is_waited_for(tmp_path: pathlib.Path) -> None:
    former = tmp_path / "run/lock/rdma.ofed"
    former.mkdir(parents=True, mode=0o700)
    with (former / "0000:03:00").open("w+", encoding="utf-8") as stream:
        stream.write("4711\n")
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="process 4711"), card_locks(("0000:03:00.0",), 0, str(tmp_path)):
            pass


def test_a_lock_that_others_may_replace_is_none(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / LOCK_DIRECTORY
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.raises(Unsupported, match="others may write"), card_locks(("0000:03:00.0",), 0, str(tmp_path)):
        pass


def test_two_writers_at_once(tmp_path: pathlib.Path) -> None:
    """Neither mistakes the other's new file for a leftover."""
    program = "import sys; sys.path[:0] = %r; import conftest; from ansible_collections.rdma.ofed.plugins.module_utils._host._files import write_text\n" % [
        str(pathlib.Path(__file__).resolve().parents[3])
    ]
    program += "for number in range(200): write_text(%r, '%%d' %% number)" % str(tmp_path / "file")
    writers = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) for _writer in range(2)]
    said: list[t.Any] = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], said
    assert json.loads((tmp_path / "file").read_text(encoding="utf-8")) == 199
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_new_file_that_another_writer_holds_is_left_to_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one has opened it as a leftover, has locked it, and is about to remove it."""
    real, held = fcntl.flock, []

    def flock(handle: int, operation: int) -> None:
        if not held:
            held.extend(path.open("rb") for path in tmp_path.iterdir())
            real(held[0], fcntl.LOCK_EX)
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    write_text(str(tmp_path / "file"), "text")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"
    assert not os.path.samestat(os.fstat(held[0].fileno()), (tmp_path / "file").stat())
    held[0].close()
