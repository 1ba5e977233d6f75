# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The password of a repository is on no command line, which every user of the node can read; it is in files of root while a tool needs it."""

from __future__ import annotations

import errno
import os
import pathlib
import signal
import stat
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._host import _private
from ansible_collections.rdma.ofed.plugins.module_utils._host._private import FOLDER, private_files, remove_left
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _foreseen
from ansible_collections.rdma.ofed.plugins.module_utils._stack._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import with_alternatives
from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._tools._dnf import Dnf
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package, Repository
from ansible_collections.rdma.ofed.plugins.module_utils._tools._zypper import Zypper

ROCKY = OperatingSystem("RedHat", "rocky", "9.3", "Rocky Linux 9.3")
SLES = OperatingSystem("Suse", "sles", "15.5", "SLES 15 SP5")
ADDRESS = "https://me:s3cr%40t@mirror.example.org/x"
WANTED = Wanted(source="doca", version="2.9.1", method="repository", repository=Repository(ADDRESS, ""))
SECRETS = ("s3cr", "me:")


class Asked:
    """Records each command line and the file contents readable only by root at that time."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.argv: list[str] = []
        self.files: dict[str, str] = {}
        self.modes: set[int] = set()

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.argv.append(" ".join(argv))
        for path in self.root.glob("run/rdma-ofed/preview/*"):
            self.files["/" + str(path.relative_to(self.root))] = path.read_text(encoding="utf-8")
            self.modes |= {stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)}
        return Output(0, "", "")


def found_of(system: OperatingSystem) -> Found:
    return Found(os=system, stack=Stack("inbox"), packages={"rdma-core": Package("1-1")})


@pytest.mark.parametrize("system", [ROCKY, SLES], ids=["dnf", "zypper"])
def test_the_password_is_in_files_of_root_while_the_tool_runs(tmp_path: pathlib.Path, system: OperatingSystem) -> None:
    run, found = Asked(tmp_path), found_of(system)
    with_alternatives(run, WANTED, found, root=str(tmp_path))
    todo = plan(WANTED, found)
    _foreseen.dependants(run, WANTED, found, todo=todo, root=str(tmp_path))
    assert len(run.argv) >= 2
    for argv in run.argv:
        assert not [secret for secret in SECRETS if secret in argv], argv
        assert "/run/rdma-ofed/preview" in argv
    texts = list(run.files.values())
    assert len(texts) == 1 and "password=s3cr@t\n" in texts[0]
    assert run.modes == {0o600, 0o700}
    assert not os.path.exists(tmp_path / "run/rdma-ofed/preview")


@pytest.mark.parametrize("manager", [Dnf(), Zypper()], ids=lambda manager: manager.name)
def test_without_a_user_nothing_is_written(manager: t.Any) -> None:
    assert manager.preview_files("https://mirror.example.org/x") == manager.preview_files("/srv/x") == manager.preview_files("") == {}


def test_what_the_tools_are_told() -> None:
    """dnf 4.14 and zypper 1.14.42 accept these from a server that requires user and password."""
    words = Dnf().preview_argv(("dnf", "--assumeyes", "install", "x"), ADDRESS)
    assert words == (
        "dnf",
        "--assumeno",
        "--disablerepo=rdma-ofed*",
        "--setopt=reposdir=/etc/yum.repos.d,/etc/yum/repos.d,/etc/distro.repos.d,/run/rdma-ofed/preview",
        "--enablerepo=rdma-ofed-preview",
        "install",
        "x",
    )
    assert Dnf().preview_files(ADDRESS) == {
        "/run/rdma-ofed/preview/rdma-ofed-preview.repo": "[rdma-ofed-preview]\nname=RDMA stack of the site\nbaseurl=https://mirror.example.org/x\nenabled=1\n"
        "gpgcheck=0\nusername=me\npassword=s3cr@t\npriority=10\n"
    }
    site = Dnf().preview_argv(("dnf", "--assumeyes", "install", "x"), ADDRESS, folders=("/srv/repos", "/opt/repos"))
    assert "--setopt=reposdir=/srv/repos,/opt/repos,/run/rdma-ofed/preview" in site
    words = Zypper().preview_argv(("zypper", "--non-interactive", "install", "x"), ADDRESS)
    assert "https://mirror.example.org/x?credentials=/run/rdma-ofed/preview/credentials" in words
    assert Zypper().preview_files(ADDRESS) == {"/run/rdma-ofed/preview/credentials": "username=me\npassword=s3cr@t\n"}


def test_the_files_go_when_the_tool_fails(tmp_path: pathlib.Path) -> None:
    with pytest.raises(CommandFailed), private_files({"/run/rdma-ofed/preview/x": "s3cr@t"}, str(tmp_path)):
        assert (tmp_path / "run/rdma-ofed/preview/x").is_file()
        raise CommandFailed("no")
    assert not (tmp_path / "run/rdma-ofed/preview").exists()


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("", ()),
        ("reposdir=\n", ()),
        ("reposdir=/srv/repos\n", ("/srv/repos",)),
        ("reposdir = /srv/repos, /opt/repos,\n", ("/srv/repos", "/opt/repos")),
        ("reposdir=/srv/repos\n  /opt/repos\nkeepcache=1\n", ("/srv/repos", "/opt/repos")),
    ],
)
def test_the_preview_keeps_the_folders_of_the_site(tmp_path: pathlib.Path, line: str, folders: tuple[str, ...]) -> None:
    path = tmp_path / "etc/dnf/dnf.conf"
    path.parent.mkdir(parents=True)
    path.write_text("[main]\ngpgcheck=1\n" + line, encoding="utf-8")
    assert Dnf().repository_folders(str(tmp_path)) == folders
    assert Zypper().repository_folders(str(tmp_path)) == ()
    run, found = Asked(tmp_path), found_of(ROCKY)._replace(folders=folders)
    with_alternatives(run, WANTED, found, root=str(tmp_path))
    _foreseen.dependants(run, WANTED, found, todo=plan(WANTED, found), root=str(tmp_path))
    first = ",".join(folders or ("/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d"))
    assert len(run.argv) >= 2
    assert not [argv for argv in run.argv if "reposdir=%s,/run/rdma-ofed/preview" % first not in argv]


def killed_within(root: pathlib.Path) -> None:
    """Another process has the file and dies as with SIGKILL."""
    pid = os.fork()
    if not pid:
        with private_files({FOLDER + "/x": "s3cr@t"}, str(root)):
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert (root / "run/rdma-ofed/preview/x").is_file()


def test_what_a_killed_run_has_left_goes_with_the_next_one(tmp_path: pathlib.Path) -> None:
    remove_left(str(tmp_path))
    assert not (tmp_path / "run").exists()
    killed_within(tmp_path)
    remove_left(str(tmp_path))
    assert not (tmp_path / "run/rdma-ofed/preview").exists()
    killed_within(tmp_path)
    with private_files({FOLDER + "/y": "other"}, str(tmp_path)):
        assert os.listdir(tmp_path / "run/rdma-ofed/preview") == ["y"]
        # The file of an active run stays.
        remove_left(str(tmp_path))
        assert os.listdir(tmp_path / "run/rdma-ofed/preview") == ["y"]
    assert not (tmp_path / "run/rdma-ofed/preview").exists()


@pytest.mark.parametrize(
    ("number", "uid", "hint"), [(errno.EACCES, 1000, True), (errno.EPERM, 1000, True), (errno.EACCES, 0, False), (errno.ENOSPC, 1000, False)]
)
def test_root_is_the_next_step_where_rights_are_missing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, number: int, uid: int, hint: bool) -> None:
    def refuse(*_args: t.Any) -> t.NoReturn:
        raise OSError(number, os.strerror(number), "x")

    monkeypatch.setattr(_private, "write_text", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(_private, "lock_file", lambda folder, name: (tmp_path / "lock").open("w+", encoding="utf-8"))
    with pytest.raises(Unsupported, match="can't be written") as raised, private_files({FOLDER + "/x": ""}, str(tmp_path)):
        pass
    assert raised.value.msg.endswith("Run the task as root.") is hint
    assert os.strerror(number) in raised.value.msg
