# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Snapshots of virtual machines: which machines they belong to, and the requests to QEMU."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import threading
import typing as t

import pytest
from conftest import LAB
from labctl import _creation, _kinds, _monitor, _qemu, _seed, _settings, _snapshots, _topology, _vmimage
from labctl._say import LabError

TEXT = (LAB / "topologies" / "machines.topo").read_text(encoding="utf-8")
TOPOLOGY = _topology.parse(TEXT)


@pytest.fixture
def lab(tmp_path: pathlib.Path) -> _settings.Settings:
    environment = {"RDMALAB_STATE": str(tmp_path / "state"), "RDMALAB_CACHE": str(tmp_path / "cache"), "RDMALAB_MIRROR": "http://deb.example/debian"}
    return _settings.settings("x", environment)


@pytest.fixture
def base(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(b"one")
    return path


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_creation, "_qemu_version", lambda: "QEMU 7.2.22")


def drafts(lab: _settings.Settings, base: pathlib.Path, text: str = TEXT, names: str = "kernel") -> list[_creation.Draft]:
    topology = _topology.parse(text)
    return [_creation.draft(lab, topology, node, base=base, names=names) for node in topology.nodes]


def origins(lab: _settings.Settings, base: pathlib.Path, text: str = TEXT, names: str = "kernel") -> list[str]:
    return [draft.machine.origin for draft in drafts(lab, base, text, names)]


def test_labs_from_the_same_sources_share_snapshots(lab: _settings.Settings, base: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = lab._replace(prefix="y", state=tmp_path / "elsewhere")
    assert origins(lab, base) == origins(other, base)
    assert drafts(lab, base)[0].machine.wire != drafts(other, base)[0].machine.wire


def test_every_machine_has_an_origin_of_its_own(lab: _settings.Settings, base: pathlib.Path) -> None:
    assert len(set(origins(lab, base))) == len(TOPOLOGY.nodes)


def other_image(base: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the image as if it was rebuilt under the same name."""
    os.utime(base, ns=(1, 1))


def other_qemu(base: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_creation, "_qemu_version", lambda: "QEMU 10.0.2")


def other_hardware(base: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_qemu, "MEMORY", 2048)


def other_accelerator(base: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_ACCELERATOR", "kvm")


@pytest.mark.parametrize("change", [other_image, other_qemu, other_hardware, other_accelerator])
def test_a_changed_input_leads_to_other_snapshots(
    lab: _settings.Settings, base: pathlib.Path, monkeypatch: pytest.MonkeyPatch, change: t.Callable[[pathlib.Path, pytest.MonkeyPatch], None]
) -> None:
    before = origins(lab, base)
    change(base, monkeypatch)
    assert not set(origins(lab, base)) & set(before)


def test_the_fabric_and_the_names_of_interfaces_are_inputs(lab: _settings.Settings, base: pathlib.Path) -> None:
    before = origins(lab, base)
    assert origins(lab, base, TEXT.replace("0x1017", "0x1013")) != before
    assert origins(lab, base, names="predictable") != before


def test_the_first_snapshot_that_there_is_of_such_machines_is_taken(lab: _settings.Settings, base: pathlib.Path) -> None:
    made = origins(lab, base)
    assert _snapshots.find(lab, ["tools", "booted"], made) is None
    for name in ("booted", "tools"):
        folder = lab.cache / _snapshots.key(name, made)
        folder.mkdir(parents=True)
        (folder / "key").write_text("secret")
        assert _snapshots.find(lab, ["tools", "booted"], made) == folder
    assert _snapshots.find(lab, ["tools", "booted"], made[::-1]) is None


def test_a_name_is_a_part_of_a_path(lab: _settings.Settings) -> None:
    with pytest.raises(LabError, match=r"'\.\./x' is no name for a snapshot"):
        _snapshots.find(lab, ["../x"], [])


def test_what_no_machine_has_open_is_removed_with_the_images(lab: _settings.Settings) -> None:
    for name, file in (("bookworm-networkd-1", "disk.raw"), ("bookworm-networkd-2", "disk.raw"), ("snapshot-booted-1", "key"), ("snapshot-booted-2", "key")):
        (lab.cache / name).mkdir(parents=True)
        (lab.cache / name / file).touch()
    (lab.cache / "lock").touch()
    with (lab.cache / "bookworm-networkd-1/disk.raw").open(), (lab.cache / "snapshot-booted-2/key").open():
        assert _vmimage.remove_disks(lab) == ["bookworm-networkd-2", "snapshot-booted-1"]
    assert _vmimage.remove_disks(lab) == ["bookworm-networkd-1", "snapshot-booted-2"]


def test_containers_have_no_snapshots(lab: _settings.Settings) -> None:
    with pytest.raises(LabError, match="--kind vm"):
        _kinds.Containers().save(lab, "booted")
    with pytest.raises(LabError, match="--kind vm"):
        _kinds.kind(lab, "container", snapshots=["booted"])
    with pytest.raises(LabError, match="--kind vm"):
        _kinds.kind(lab, keep="booted")


def test_a_machine_that_shall_be_resumed_waits_for_its_state(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def run(argv: list[str], **how: t.Any) -> subprocess.CompletedProcess[str]:
        started.append(argv)
        assert how["cwd"] == tmp_path
        return subprocess.CompletedProcess(argv, 0)

    monkeypatch.setattr(subprocess, "run", run)
    _qemu.save(tmp_path, _qemu.Machine("node1", 2222, 1, "239.255.1.2:20000", 1, "tcg", "0123456789ab"))
    _qemu.start(tmp_path)
    _qemu.start(tmp_path, asleep=True)
    assert started[1] == [*started[0], "-S", "-incoming", "defer"]


class Qemu(threading.Thread):
    """The QEMU end of a monitor, which answers each request with the next of these lines."""

    def __init__(self, folder: pathlib.Path, *answers: t.Any) -> None:
        super().__init__(daemon=True)
        self.answers = [{"return": {}}, *answers]
        self.asked: list[t.Any] = []
        self.files: list[str] = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(folder / _monitor.SOCKET))
        self.server.listen()
        self.start()

    def run(self) -> None:
        connection = self.server.accept()[0]
        connection.sendall(b'{"QMP": {}}\n')
        for answer in self.answers:
            data, handles, _flags, _address = socket.recv_fds(connection, 65536, 1)
            self.asked.append(json.loads(data))
            for handle in handles:
                self.files.append(os.readlink("/proc/self/fd/%d" % handle))
                os.close(handle)
            lines = answer if isinstance(answer, list) else [answer]
            connection.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        connection.close()


def test_a_state_is_read_from_the_file_that_goes_with_the_request(tmp_path: pathlib.Path) -> None:
    (tmp_path / "state").write_bytes(b"memory")
    event = {"event": "MIGRATION", "data": {}}
    qemu = Qemu(tmp_path, {"return": {}}, [event, {"return": {}}], {"return": {"status": "active"}}, {"return": {"status": "completed"}})
    with _monitor.Monitor(tmp_path) as monitor:
        monitor.read_state(tmp_path / "state")
    assert qemu.files == [str(tmp_path / "state")]
    asked = [request["execute"] for request in qemu.asked]
    assert asked == ["qmp_capabilities", "getfd", "migrate-incoming", "query-migrate", "query-migrate"]


def test_what_qemu_refuses_is_an_error_of_the_lab(tmp_path: pathlib.Path) -> None:
    Qemu(tmp_path, {"error": {"class": "GenericError", "desc": "not now"}})
    with _monitor.Monitor(tmp_path) as monitor, pytest.raises(LabError, match="refuses 'stop': not now"):
        monitor.ask("stop")


def test_a_state_that_can_not_be_moved_is_an_error(tmp_path: pathlib.Path) -> None:
    Qemu(tmp_path, {"return": {}}, {"return": {}}, {"return": {}}, {"return": {"status": "failed"}})
    with _monitor.Monitor(tmp_path) as monitor, pytest.raises(LabError, match="QEMU says 'failed'"):
        monitor.write_state(tmp_path / "state")


def test_a_machine_that_ends_meanwhile_is_an_error(tmp_path: pathlib.Path) -> None:
    Qemu(tmp_path)
    with _monitor.Monitor(tmp_path) as monitor, pytest.raises(LabError, match=r"(ended before it answered|does not answer) 'stop'"):
        monitor.ask("stop")


def test_a_monitor_in_a_deep_folder_is_reached(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path.joinpath(*["folder-with-a-long-name"] * 6)
    deep.mkdir(parents=True)
    short = pathlib.Path("/proc/self/fd/%d" % os.open(deep, os.O_RDONLY))
    Qemu(short)
    with _monitor.Monitor(deep):
        pass


def test_a_machine_that_does_not_run_has_no_monitor(tmp_path: pathlib.Path) -> None:
    with pytest.raises(LabError, match="Is it running"):
        _monitor.Monitor(tmp_path)


def test_the_identity_of_a_lab_is_no_part_of_an_origin() -> None:
    assert not set(_seed.identity("key", "place")) & set(_seed.seed(TOPOLOGY, TOPOLOGY.nodes[0], "kernel"))
