# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real downloads from a local server that drops connections on purpose."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import os
import pathlib
import random
import subprocess
import sys
import threading
import types
import typing as t
import urllib.request

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host import _download as downloader

CONTENT = random.Random(1).getrandbits(8 * 3_500_000).to_bytes(3_500_000, "big")
CHECKSUM = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """The behaviour of the server, and the requests it received."""

    ranges = True
    cut_after = 0
    """Bytes after which each connection is dropped; 0 for never."""
    status = 200
    told = True
    """Whether it sends the length."""
    asked: list[tuple[str, str]]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted, login = self.headers.get("Range") or "", self.headers.get("Authorization") or ""
        self.server.asked.append((wanted, login))
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        begin = int(wanted[6:-1]) if wanted and self.server.ranges else 0
        if begin >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, len(CONTENT) - 1, len(CONTENT)))
        if self.server.told:
            self.send_header("Content-Length", str(len(CONTENT) - begin))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(CONTENT[begin : begin + self.server.cut_after] if self.server.cut_after else CONTENT[begin:])

    def log_message(self, *arguments: t.Any) -> None:
        """Keep the log out of the output of the tests."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Server]:
    monkeypatch.setattr(downloader.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("no_proxy", "*")
    found = Server(("127.0.0.1", 0), Handler)
    found.asked = []
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


def bring(server: Server, path: pathlib.Path, checksum: str = CHECKSUM, login: str = "") -> None:
    url = "http://%s127.0.0.1:%d/x.tgz" % (login, server.server_address[1])
    downloader.download(url, str(path), checksum, opener=downloader._open, progress=str(path) + ".progress")


def ranges(server: Server) -> list[str]:
    return [wanted for wanted, _login in server.asked]


@pytest.mark.parametrize("told", [True, False])
def test_whole(server: Server, tmp_path: pathlib.Path, told: bool) -> None:
    server.told = told
    path = tmp_path / "files/x"
    bring(server, path)
    assert path.read_bytes() == CONTENT
    assert sorted(os.listdir(path.parent)) == ["x", "x.progress"]
    assert (path.parent / "x.progress").read_text() == "comparing the checksum"


def test_lost_connections_are_taken_up_again(server: Server, tmp_path: pathlib.Path) -> None:
    server.cut_after = 400_000
    bring(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert ranges(server)[:3] == ["", "bytes=400000-", "bytes=800000-"]
    assert len(server.asked) == 9


def test_a_server_without_ranges_begins_anew(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.part").write_bytes(b"?" * 1000)
    server.ranges = False
    bring(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert ranges(server) == ["bytes=1000-"]


def test_an_earlier_run_is_gone_on_with(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.part").write_bytes(CONTENT[:3_000_000])
    bring(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert ranges(server) == ["bytes=3000000-"]
    # The download was complete, but the power failed before the rename.
    (tmp_path / "y.part").write_bytes(CONTENT)
    bring(server, tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == CONTENT


@pytest.mark.parametrize("left", [b"?" * 1000, b"?" * 4_000_000])
def test_what_an_earlier_run_left_of_another_file(server: Server, tmp_path: pathlib.Path, left: bytes) -> None:
    (tmp_path / "x.part").write_bytes(left)
    bring(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert ranges(server) == ["bytes=%d-" % len(left), ""]


def test_another_file_is_never_there(server: Server, tmp_path: pathlib.Path) -> None:
    with pytest.raises(downloader.Failed, match="its sha256 is %s instead of %s" % (CHECKSUM[7:], "0" * 64)):
        bring(server, tmp_path / "x", "sha256:" + "0" * 64)
    assert os.listdir(tmp_path) == ["x.progress"]


@pytest.mark.parametrize(("status", "times"), [(404, 1), (401, 1), (503, 5), (429, 5)])
def test_what_the_server_refuses(server: Server, tmp_path: pathlib.Path, status: int, times: int) -> None:
    server.status = status
    with pytest.raises(downloader.Failed, match="it can't be downloaded: .*%d" % status):
        bring(server, tmp_path / "x")
    assert (len(server.asked), os.listdir(tmp_path)) == (times, [])


def test_nothing_comes_at_all(server: Server, tmp_path: pathlib.Path) -> None:
    server.cut_after = 1000
    attempts = iter(range(3))

    def flaky(request: urllib.request.Request, timeout: float) -> t.Any:
        if next(attempts, None) is None:
            raise TimeoutError("timed out")
        return downloader._open(request, timeout)

    with pytest.raises(downloader.Failed, match="it can't be downloaded: timed out"):
        downloader.download("http://127.0.0.1:%d/x" % server.server_address[1], str(tmp_path / "x"), CHECKSUM, opener=flaky)
    # The partial file stays for the next run.
    assert (tmp_path / "x.part").stat().st_size == 3000
    assert not (tmp_path / "x").exists()


def test_no_room(server: Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloader.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=2_000_000))
    with pytest.raises(downloader.Failed, match=r"3 MB are missing, and .* has room for 2 MB"):
        bring(server, tmp_path / "x")


def test_names_and_passwords(server: Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(server, tmp_path / "x", login="me:p%40ss@")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login you password secret\n", encoding="utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    bring(server, tmp_path / "y")
    assert [login for _wanted, login in server.asked] == ["Basic bWU6cEBzcw==", "Basic eW91OnNlY3JldA=="]


def test_words() -> None:
    assert downloader.words(412_300_000, 3_811_000_000) == "412 of 3811 MB, 10 %"
    assert downloader.words(412_300_000, 0) == "412 MB"


def test_environment() -> None:
    given = {"https_proxy": "http://p", "NO_PROXY": "x", "SSL_CERT_FILE": "/c", "HOME": "/h", "my_http_proxy_x": "y"}
    assert downloader.inherited(given) == (("NO_PROXY", "x"), ("SSL_CERT_FILE", "/c"), ("https_proxy", "http://p"))


@pytest.mark.parametrize("checksum", [CHECKSUM, "sha256:" + "0" * 64])
def test_as_a_script(server: Server, tmp_path: pathlib.Path, checksum: str) -> None:
    environment = {**os.environ, downloader.URL: "http://127.0.0.1:%d/x" % server.server_address[1]}
    with contextlib.suppress(KeyError):
        del environment[downloader.PROGRESS]
    argv = [sys.executable, downloader.__file__, str(tmp_path / "x"), checksum]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, (tmp_path / "x").exists()) == ((0, True) if checksum == CHECKSUM else (1, False))
    assert done.stderr.strip() == ("" if checksum == CHECKSUM else "its sha256 is %s instead of %s" % (CHECKSUM[7:], "0" * 64))
