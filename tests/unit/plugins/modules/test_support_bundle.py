# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import tarfile
import tempfile
import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._registry import BACKENDS
from ansible_collections.rdma.ofed.plugins.module_utils._support import _collect, _items
from ansible_collections.rdma.ofed.plugins.plugin_utils._support_join import join

SECRET = "0x5ec2e75ec2e75ec2"


class Tools:
    """A node with some tools, one of which never ends."""

    def __init__(self, *tools: str) -> None:
        self.tools = tools
        self.started: list[str] = []

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.started.append(" ".join(argv))
        if argv[0] == "ibqueryerrors":
            raise CommandFailed("ibqueryerrors did not end within %g s" % timeout)
        if argv[0] == "ibdiagnet":
            pathlib.Path(argv[-1], "ibdiagnet2.log").write_text("-I- no errors\n", encoding="utf-8")
        return Output(3, "the output of %s\n" % argv[0], "a complaint\n" if argv[0] == "ibstat" else "")


@pytest.fixture
def root(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    # The task that requested the bundle removes its directory.
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    files = {
        "etc/os-release": "ID=debian\n",
        "etc/rdma-ofed/opensm/ib/opensm.conf": "sm_key %s\n" % SECRET,
        "etc/netplan/50-ib.yaml": "password: hunter2\nkey: Swordfish\n",
        "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "7\n",
        "sys/bus/pci/devices/0000:03:00.0/vendor": "0x15b3\n",
        "sys/bus/pci/devices/0000:03:00.1/vendor": "0x15b3\n",
        "sys/bus/pci/devices/0000:04:00.0/vendor": "0x8086\n",
        "var/log/opensm.log": "SUBNET UP\n",
    }
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "root"


def bundle(root: pathlib.Path, tools: Tools, *, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    module = types.SimpleNamespace(params={"fabric": False, "logs": False, "secrets": [], **options}, check_mode=check)
    return _collect.collect(t.cast(t.Any, module), tools, str(root))


def content(path: str) -> dict[str, str]:
    with tarfile.open(path) as archive:
        return {member.name: (archive.extractfile(member) or pytest.fail()).read().decode() for member in archive}


def test_a_node(root: pathlib.Path) -> None:
    tools = Tools("uname", "ibstat", "mstflint", "iblinkinfo")
    result = bundle(root, tools, secrets=["swordfish"])
    path = pathlib.Path(result["path"])
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert result["folder"] == str(path.parent) and result["size"] == path.stat().st_size
    files = content(result["path"])
    assert files["hca/ibstat.txt"] == "the output of ibstat\n\n--- standard error\na complaint\n"
    assert files["system/files/etc/os-release"] == "ID=debian\n"
    assert files["hca/counters.txt"] == "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error: 7\n"
    assert "mstflint -d 0000:03:00.0 query full" in tools.started and not [line for line in tools.started if "03:00.1" in line or "04:00.0" in line]
    assert not [line for line in tools.started if "iblinkinfo" in line] and not [name for name in files if "opensm.log" in name]
    assert not [name for name, text in files.items() if any(secret in text.lower() for secret in (SECRET[2:], "hunter2", "swordfish"))]
    manifest = {row["name"]: row for row in json.loads(files["manifest.json"])["items"]}
    assert manifest["hca/ibstat.txt"]["status"] == 3
    assert (manifest["hca/lspci.txt"]["state"], manifest["hca/lspci.txt"]["why"]) == ("missing", "lspci is not installed")
    assert manifest["rdma-ofed/files/etc/rdma-ofed/opensm/ib/opensm.conf"]["removed"] == 1
    assert result["collected"] == len(files) - 1 and result["incomplete"] == []


def test_a_fabric_and_a_tool_that_does_not_end(root: pathlib.Path) -> None:
    result = bundle(root, Tools("ibnetdiscover", "ibqueryerrors", "ibdiagnet"), fabric=True)
    files = content(result["path"])
    assert files["fabric/ibnetdiscover.txt"] and files["subnet-manager/files/var/log/opensm.log"] == "SUBNET UP\n"
    assert files["fabric/ibdiagnet/files/ibdiagnet2.log"] == "-I- no errors\n"
    assert result["incomplete"] == [{"name": "fabric/ibqueryerrors.txt", "state": "failed", "why": "ibqueryerrors did not end within 300 s"}]


def test_of_long_texts_the_end_is_kept(root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_collect, "MOST", 100)
    (root / "var/log/opensm.log").write_text("x" * 1000 + "the end", encoding="utf-8")
    files = content(bundle(root, Tools(), logs=True)["path"])
    assert len(files["subnet-manager/files/var/log/opensm.log"]) == 100 and files["subnet-manager/files/var/log/opensm.log"].endswith("the end")
    monkeypatch.setattr(_collect, "ALL", 50)
    assert "left_out" in {each["state"] for each in bundle(root, Tools(), logs=True)["incomplete"]}


def test_check_mode_collects_nothing(root: pathlib.Path) -> None:
    tools = Tools("uname")
    assert bundle(root, tools, check=True)["path"] == "" and tools.started == []


def test_one_archive_of_many(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    parts = {
        "node1": bundle(root, Tools("uname"))["path"],
        "node2": str(tmp_path / "damaged"),
        "node3": bundle(root, Tools("ibqueryerrors"), fabric=True)["path"],
    }
    pathlib.Path(parts["node2"]).write_bytes(b"what")
    whole = tmp_path / "whole.tar.gz"
    join(str(whole), "support", parts=parts, missing=["node4"])
    assert whole.stat().st_mode & 0o777 == 0o600
    files = content(str(whole))
    assert files["support/node1/system/uname.txt"] == "the output of uname\n"
    lines = files["support/README.txt"].splitlines()
    assert [line.partition(":")[0] for line in lines[-4:]] == ["node1", "node2", "node3", "node4"]
    assert "damaged" in lines[-3] and "ibqueryerrors did not end" in lines[-2] and "unreachable" in lines[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged", "root", "temporary", "whole.tar.gz"]


def test_names_in_a_part_stay_below_its_folder(tmp_path: pathlib.Path) -> None:
    part = tmp_path / "part.tar.gz"
    with tarfile.open(part, "w:gz") as archive:
        for name in ("/etc/passwd", "../up", "a/../../up", "./good"):
            archive.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/shadow"
        archive.addfile(link)
    join(str(tmp_path / "whole.tar.gz"), "support", parts={"node1": str(part)}, missing=[])
    assert sorted(content(str(tmp_path / "whole.tar.gz"))) == ["support/README.txt", "support/node1/good", "support/summary.json"]


def test_the_files_of_every_network_backend_are_collected() -> None:
    collected = {pattern for item in _items.NODE if isinstance(item, _items.Files) for pattern in item.patterns}
    assert {pattern for backend in BACKENDS for pattern in backend.patterns} <= collected


def test_the_fabric_is_asked_through_the_port_that_is_in_it() -> None:
    items = _items.of_fabric("mlx5_2", 1)
    assert all(isinstance(item, _items.Command) and item.argv[1:5] == ("-C", "mlx5_2", "-P", "1") for item in items) and len(items) == 7
    assert [item.argv for item in _items.of_fabric("", 0) if isinstance(item, _items.Command)][:2] == [("ibnetdiscover",), ("iblinkinfo", "--line")]


def test_a_bundle_names_a_port_of_infiniband(tmp_path: pathlib.Path) -> None:
    for device, layer in (("mlx5_0", "Ethernet"), ("mlx5_1", "InfiniBand")):
        port = tmp_path / "sys/class/infiniband" / device / "ports/1"
        port.mkdir(parents=True)
        (port / "link_layer").write_text(layer + "\n", encoding="utf-8")
    assert _collect.items_for(fabric=True, logs=False, root=str(tmp_path))[-7:] == list(_items.of_fabric("mlx5_1", 1))
