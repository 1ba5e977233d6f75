# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module on a node made of files: what it reads, starts and leaves behind."""

from __future__ import annotations

import hashlib
import json
import pathlib
import shutil
import typing as t

import pytest

pytest.importorskip("ansible", reason="the module itself needs ansible-core")

import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import (
    OPTIONS_PATH,
    STAMP_PATH,
    SYMBOL,
    UNIT,
    UNIT_PATH,
    read_gpu,
    read_managed,
    read_masked,
)
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _apply, _converge
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._concern import idle
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import UNIT_OF
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data
from ansible_collections.rdma.ofed.plugins.module_utils._tools._apt import Apt
from ansible_collections.rdma.ofed.plugins.modules import gpudirect
from support.module_files import FileNode
from support.module_results import pending_words

RELEASE = "6.1.0-50-amd64"
NVRM = "NVRM version: NVIDIA UNIX %s  %s  Thu Oct 10 12:15:00 UTC 2024\n"
OPEN, CLOSED = "Open Kernel Module for x86_64", "x86_64 Kernel Module"
DPKG = "Package: mlnx-ofed-kernel-dkms\nStatus: install ok installed\nVersion: %s\n\n"
LEGACY = "Package: nvidia-peer-memory\nStatus: install ok installed\nVersion: 1.0-8\n\nPackage: nvidia-peer-memory-dkms\nStatus: install ok installed\n\n"
DEFAULTS: dict[str, t.Any] = {
    "method": "auto",
    "state": "present",
    "peerdirect_support": "auto",
    "allow_rebuild": False,
    "allow_container": False,
    "source": "https://example.org/nv_peer_memory.git",
    "commit": "d9a0a126bc31279e63e4b47bfb59ee767cea7aad",
    "checksum": "",
    "timeout": 60,
    "assume_stack": "found",
    "assume_ofed_version": "",
    "stack_outcome": {},
}


class Node(FileNode):
    """A root directory with a GPU, minimal kmod, DKMS and systemd, and the part of AnsibleModule that the code uses."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        self.loaded: dict[str, int] = {"nvidia": 0, "ib_core": 0}
        self.files: dict[str, tuple[str, ...]] = {"nvidia": (), "nvidia-uvm": ("nvidia",), "nvidia-peermem": ("nvidia", "ib_core"), "ib_core": ()}
        self.offers = {"disk": True, "loaded": True}
        self.enabled: set[str] = set()
        self.active: set[str] = set()
        self.masked: set[str] = set()
        self.log = "[    1.0] nvidia_peermem: Unknown symbol of yesterday\n"
        self.refusal = ("", "")
        self.builds = True
        self.built_as = "nvidia-peermem"
        self.undoes = False
        self.ubuntu = False
        self.rpms: list[str] | None = None
        self.built_on_a_stack = False
        self.numbers = {"stack": "0x1", "driver": "0x1"}
        pci = "sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0"
        for name, value in (("vendor", "0x10de"), ("class", "0x030200"), ("device", "0x2330"), ("numa_node", "0")):
            self.write("%s/%s" % (pci, name), value + "\n")
        (root / "sys/bus/pci/devices").mkdir(parents=True)
        (root / "sys/bus/pci/devices/0000:18:00.0").symlink_to(root / pci)
        self.driver("535.104.05")
        self.write("etc/os-release", 'ID=debian\nVERSION_ID="12"\n')
        self.stack("23.10.0.5.5.0-1")
        (root / "proc/1").mkdir(parents=True)
        (root / "proc/1/root").symlink_to(root)
        self.save()

    def driver(self, version: str, flavour: str = OPEN) -> None:
        self.write("proc/driver/nvidia/version", NVRM % (flavour, version))
        shutil.rmtree(str(self.root / "var/lib/dkms/nvidia"), ignore_errors=True)
        self.write("var/lib/dkms/nvidia/%s/source" % version, "")

    def stack(self, version: str) -> None:
        self.ofed = version
        self.save()

    def save(self) -> None:
        """Write what the kernel and depmod show."""
        rows = []
        for name, users in self.loaded.items():
            above = [other for other in self.loaded if name in self.files.get(other.replace("_peermem", "-peermem"), ())]
            rows.append("%s 1000 %d %s Live 0x0\n" % (name, users + len(above), "".join(user + "," for user in above) or "-"))
        self.write("proc/modules", "".join(rows))
        symbol = "0000000000000000 T %s\t[ib_core]\n" % SYMBOL if self.offers["loaded"] and "ib_core" in self.loaded else ""
        self.write("proc/kallsyms", "0000000000000000 T startup\n" + symbol)
        # An RPM system has a dpkg without packages.
        debian = "" if self.rpms is not None else (DPKG % self.ofed if self.ofed else "") + (LEGACY if "nv_peer_mem" in self.files else "")
        self.write("var/lib/dpkg/status", debian)
        base = "lib/modules/%s/" % RELEASE
        paths = {name: "updates/dkms/%s.ko" % name for name in self.files}
        self.write(base + "modules.dep", "".join("%s: %s\n" % (paths[name], " ".join(paths[need] for need in needs)) for name, needs in self.files.items()))
        self.write("usr/src/ofa_kernel/default/Module.symvers", "%s\t%s\tib_core\tEXPORT_SYMBOL\t\n" % (self.numbers["stack"], SYMBOL))
        self.write(base + "modules.symbols", "alias symbol:%s ib_core\n" % SYMBOL if self.offers["disk"] else "")

    def has(self, tool: str) -> bool:
        if tool in ("rpm", "rpmbuild"):
            return self.rpms is not None
        return tool in ("make", "systemctl", "modprobe", "rmmod", "dmesg", "modinfo", "git", "gcc", "dkms", "bzip2", "dh", "dh_dkms")

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        if list(argv[:2]) == ["modprobe", "--dump-modversions"]:
            needs = self.files[argv[2].rpartition("/")[2][: -len(".ko")]]
            return Output(0, "%s\t%s\n" % (self.numbers["driver"], SYMBOL) if self.built_on_a_stack or "ib_core" in needs else "", "")
        if list(argv[:2]) == ["modprobe", "--show-exports"]:
            return Output(0, "0x5\tib_query_port\n0x1\t%s\n" % SYMBOL if self.ubuntu else "0x5\tib_query_port\n", "")
        if argv[0] == "modprobe":
            if self.refusal[0]:
                self.log += self.refusal[1]
                return Output(1, "", "modprobe: ERROR: could not insert '%s': %s\n" % (argv[1], self.refusal[0]))
            self.loaded.setdefault(argv[1], 0)
        if argv[0] == "rmmod":
            del self.loaded[argv[1]]
        if argv[0] == "dmesg":
            return Output(0, self.log, "")
        if argv[0] == "rpm" and argv[1] == "-q":
            return Output(1, "".join("%s\t1.2-0\n" % name if name in (self.rpms or ()) else "package %s is not installed\n" % name for name in argv[4:]), "")
        if argv[0] == "rpm":
            missing = [name for name in argv[2:] if name not in (self.rpms or ())]
            assert not missing, "error: package %s is not installed" % missing
            self.rpms = []
        if argv[0] in ("dpkg", "rpm"):
            self.files.pop("nv_peer_mem")
            for path in self.root.glob("etc/rc*.d/*nv_peer_mem"):
                path.unlink()
        self.save()
        return self._systemctl(argv) if argv[0] == "systemctl" else Output(0, "", "")

    def _systemctl(self, argv: t.Sequence[str]) -> Output:
        if argv[1] == "enable":
            self.enabled.add(argv[2])
            if argv[2] == "nv_peer_mem":
                self.write("etc/rc3.d/S02nv_peer_mem", "")
        elif argv[1] == "disable":
            self.enabled.discard(argv[2])
        elif argv[1] == "start":
            self.active.add(argv[2])
        elif argv[1] == "stop":
            self.active.discard(argv[2])
        elif argv[1] == "show":
            form = "Id=%s\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\n"
            names = argv[argv.index("--") + 1 :]
            return Output(
                0,
                "\n".join(form % (name, *self.states(name)) for name in names),
                "",
            )
        return Output(0, "", "")

    def states(self, name: str) -> tuple[str, str, str]:
        if name in self.masked:
            return "masked", "inactive", "masked-runtime"
        return "loaded", "active" if name in self.active else "inactive", "enabled" if name in self.enabled else "disabled"

    def job(self, run: t.Any, name: str, steps: t.Sequence[jobs.Step], *, timeout: float, memo: t.Any, root: str, scripts: t.Any) -> None:
        """Apply the effects of a job's steps."""
        for step in steps:
            self.calls.append(" ".join(step.argv))
            if step.argv[:2] == ("dkms", "install") and self.builds:
                self.files["nvidia"] = ()
                self.files[self.built_as] = ("nvidia", "ib_core")
                self.numbers["driver"] = self.numbers["stack"]
            if "install" in step.argv and "nv_peer_mem_build.py" in " ".join(step.argv):
                self.files["nv_peer_mem"] = ("nvidia", "ib_core")
                self.write(*step.argv[-2:])
                self.rpms = None if self.rpms is None else ["nvidia_peer_memory"]
                if self.undoes:
                    self.loaded.pop("nv_peer_mem")
                    (self.root / "etc/rc3.d/S02nv_peer_mem").unlink()
        self.save()

    def run(self, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
        self.calls.clear()
        self.check_mode = check
        self.params = {**DEFAULTS, **params}
        module: t.Any = self
        return _converge.converge(module, self, RELEASE, root=str(self.root))

    def changing(self) -> list[str]:
        """Return the commands that change something."""
        return [call for call in self.calls if not call.startswith(("systemctl show", "dmesg", "modinfo", "modprobe --", "rpm -q"))]


@pytest.fixture(name="node")
def gpu_node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node(tmp_path)

    def ended(name: str, seconds: float, root: str) -> jobs.State:
        return jobs.State("1", False, "", 1, 1, 1, True, 0, "", "/log", {})

    monkeypatch.setattr(jobs, "start", node.job)
    monkeypatch.setattr(jobs, "wait", ended)
    return node


def test_check_mode_predicts_the_run_and_the_second_run_does_nothing(node: Node) -> None:
    predicted = node.run(check=True)
    assert node.changing() == []
    assert not (node.root / UNIT_PATH[1:]).exists()
    done = node.run()
    assert done["changes"] == predicted["changes"]
    assert (done["method"], done["loaded"], done["pending"]) == ("nvidia_peermem", ["nvidia_peermem"], [])
    assert "ib_core of the installed stack offers peer memory" in done["why"]
    assert node.enabled == node.active == {UNIT}
    # It is configured for the boot once it is loaded, not before.
    assert node.calls.index("modprobe nvidia_peermem") < node.calls.index("systemctl enable " + UNIT)
    again = node.run()
    assert not again["changed"]
    assert node.changing() == []


def test_a_node_without_gpu_is_left_alone(node: Node) -> None:
    (node.root / "sys/bus/pci/devices/0000:18:00.0").unlink()
    for check in (True, False):
        result = node.run(check, method="nvidia_peermem")
        assert not result["changed"]
        assert result["reasons"] == ["there is no NVIDIA GPU in this node, so nothing is done about GPUDirect RDMA"]
        assert node.calls == []
        assert idle(node.params, {"gpu": as_data(read_gpu(node, RELEASE, str(node.root)))}) == result


def test_where_nothing_is_to_be_removed_the_facts_give_the_result_of_the_module(node: Node) -> None:
    result = node.run(state="absent")
    assert idle(node.params, {"gpu": as_data(read_gpu(node, RELEASE, str(node.root)))}) == result
    # Other software loads the module, and a GPU may be far from all adapters.
    node.loaded["nvidia_peermem"] = 0
    node.save()
    far = node.root / "sys/class/infiniband/mlx5_0"
    far.mkdir(parents=True)
    card = node.root / "sys/devices/pci0000:80/0000:80:00.0/0000:81:00.0"
    card.mkdir(parents=True)
    (card / "numa_node").write_text("1\n", encoding="utf-8")
    (node.root / "sys/bus/pci/devices/0000:81:00.0").symlink_to(card)
    (far / "device").symlink_to(card)
    result = node.run(state="absent")
    assert result["loaded"] == ["nvidia_peermem"]
    assert [hint for hint in result["hints"] if "between processors" in hint]
    assert idle(node.params, {"gpu": as_data(read_gpu(node, RELEASE, str(node.root)))}) == result
    node.run()
    assert idle({**node.params, "state": "absent"}, {"gpu": as_data(read_gpu(node, RELEASE, str(node.root)))}) is None


@pytest.mark.parametrize("gpu", [None, "text", [], {}, {"devices": None, "managed": "x"}, {"devices": 1, "managed": {}}])
def test_facts_of_another_form_send_the_module_to_the_node(node: Node, gpu: t.Any) -> None:
    node.run()
    for state in ("present", "absent"):
        assert idle({**node.params, "state": state}, {"gpu": gpu}) is None


def test_rows_of_another_form_are_none(node: Node) -> None:
    node.run()
    odd = {
        "managed": [],
        "devices": [1, {}],
        "topology": [1, {"gpu": 1}, {"gpu": "a", "hca": "b", "path": "SYS", "acs": 1}],
        "peers": [None, {"name": "a", "loaded": True}],
    }
    found = idle({**node.params, "state": "absent"}, {"gpu": odd})
    assert found is not None and (found["hints"], found["loaded"]) == ([], ["a"])


def test_absent_takes_all_of_ours_away_and_nothing_of_others(node: Node) -> None:
    assert not node.run(state="absent")["changed"]
    node.run(peerdirect_support="1")
    assert (node.root / OPTIONS_PATH[1:]).exists()
    predicted = node.run(check=True, state="absent")
    gone = node.run(state="absent")
    assert gone["changes"] == predicted["changes"]
    assert "nvidia_peermem" not in node.loaded
    assert "nvidia" in node.loaded
    assert (node.enabled, node.active) == (set(), set())
    assert not any((node.root / path[1:]).exists() for path in (UNIT_PATH, OPTIONS_PATH))
    assert not node.run(state="absent")["changed"]


def test_absent_leaves_what_is_in_use_loaded(node: Node) -> None:
    node.run()
    node.loaded["nvidia_peermem"] = 2
    node.save()
    gone = node.run(state="absent")
    assert pending_words(gone) == ["module nvidia_peermem: loaded -> not loaded (needs reboot; in use by 2 registrations)"]
    assert gone["reboot_required"]
    assert "nvidia_peermem" in node.loaded
    assert node.active == {UNIT}, "its end would unload the module"


def test_a_stack_that_is_not_loaded_yet_leaves_it_pending(node: Node) -> None:
    node.offers["loaded"] = False
    node.save()
    result = node.run()
    assert pending_words(result) == ["module nvidia_peermem: not loaded -> loaded (needs driver_reload)"]
    assert "driver_reload" in result["reasons"][0]
    assert "modprobe nvidia_peermem" not in node.calls
    assert (node.enabled, node.active) == ({UNIT}, set())
    again = node.run()
    assert (again["changed"], again["pending"]) == (False, result["pending"])


def test_a_driver_from_before_the_stack_is_built_anew_if_that_is_allowed(node: Node) -> None:
    node.files["nvidia-peermem"] = ()
    node.save()
    with pytest.raises(InvalidInput, match="gpudirect_allow_rebuild: true"):
        node.run(method="nvidia_peermem")
    assert node.changing() == []
    predicted = node.run(check=True, method="nvidia_peermem", allow_rebuild=True)
    done = node.run(method="nvidia_peermem", allow_rebuild=True)
    assert done["changes"] == predicted["changes"]
    built, removed = (next(number for number, call in enumerate(node.calls) if call.startswith("dkms " + word)) for word in ("build", "remove"))
    assert built < removed, "nothing goes before it can be built"
    assert "dkms install -m nvidia -v 535.104.05 -k " + RELEASE in node.calls
    assert done["loaded"] == ["nvidia_peermem"]
    assert not node.run(method="nvidia_peermem", allow_rebuild=True)["changed"]


def test_an_upgrade_of_the_stack_needs_a_build_of_the_driver(node: Node) -> None:
    node.run(method="nvidia_peermem")
    node.numbers["stack"] = "0x2"
    # The driver reload could not load it.
    del node.loaded["nvidia_peermem"]
    node.save()
    with pytest.raises(InvalidInput, match="another build of the stack"):
        node.run(method="nvidia_peermem")
    predicted = node.run(check=True, method="nvidia_peermem", allow_rebuild=True)
    assert node.changing() == []
    assert node.run(method="nvidia_peermem", allow_rebuild=True)["changes"] == predicted["changes"]
    assert "nvidia_peermem" in node.loaded
    assert not node.run(method="nvidia_peermem", allow_rebuild=True)["changed"]


def test_a_driver_that_stays_without_the_stack_is_not_kept_for_the_boot(node: Node) -> None:
    node.files["nvidia-peermem"] = ()
    node.builds = False
    node.save()
    with pytest.raises(CommandFailed, match=r"Module\.symvers"):
        node.run(method="nvidia_peermem", allow_rebuild=True)
    assert not (node.root / UNIT_PATH[1:]).exists()


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_build_of_the_driver_that_was_broken_off_is_resumed(node: Node, forgotten: bool) -> None:
    """The modules are gone, which the loaded driver hides."""
    for name in [name for name in node.files if name.startswith("nvidia")]:
        del node.files[name]
    node.save()
    if forgotten:
        shutil.rmtree(str(node.root / "var/lib/dkms/nvidia"))
        node.write("usr/src/nvidia-535.104.05/dkms.conf", "")
    for method in ("auto", "dmabuf"):
        with pytest.raises(InvalidInput, match=r"not installed for kernel .*dkms install nvidia/535\.104\.05"):
            node.run(method=method)
    assert node.changing() == []
    predicted = node.run(check=True, allow_rebuild=True)
    done = node.run(allow_rebuild=True)
    assert done["changes"] == predicted["changes"]
    assert done["changes"][0] == "kernel %s GPU driver: not installed -> built on the stack" % RELEASE
    assert (done["method"], done["loaded"]) == ("nvidia_peermem", ["nvidia_peermem"])
    assert not node.run(allow_rebuild=True)["changed"]


def test_a_module_that_has_another_name_than_foreseen(node: Node) -> None:
    """Debian's is called nvidia-current-peermem, which shows only after the build."""
    for name in [name for name in node.files if name.startswith("nvidia")]:
        del node.files[name]
    node.save()
    node.built_as = "nvidia-current-peermem"
    node.run(allow_rebuild=True)
    assert "modprobe nvidia_current_peermem" in (node.root / UNIT_PATH[1:]).read_text(encoding="utf-8")
    assert not node.run(allow_rebuild=True)["changed"]


@pytest.mark.parametrize(
    ("words", "log", "meaning"),
    [
        ("Key was rejected by service", "", "Secure Boot"),
        (
            "Invalid argument",
            "[ 9.0] nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client\n",
            "a different build of the RDMA stack",
        ),
        ("Invalid argument", "", "before the RDMA stack was installed"),
    ],
)
def test_what_modprobe_says_is_explained(node: Node, words: str, log: str, meaning: str) -> None:
    node.refusal = (words, log)
    with pytest.raises(CommandFailed, match="Next step") as failure:
        node.run()
    assert meaning in failure.value.msg
    assert "yesterday" not in failure.value.msg
    assert node.enabled == set()


def test_inbox_with_open_modules_is_dmabuf_which_sets_nothing(node: Node) -> None:
    node.offers.update(disk=False, loaded=False)
    node.stack("")
    node.save()
    result = node.run()
    assert (result["method"], result["changed"]) == ("dmabuf", False)
    assert "not nvidia_peermem, as the inbox stack has no peer memory" in result["why"]
    assert node.changing() == []
    node.driver("535.104.05", CLOSED)
    with pytest.raises(InvalidInput, match="proprietary kernel modules"):
        node.run(method="dmabuf")


def test_check_mode_before_the_stack_is_there_says_what_the_run_would(node: Node) -> None:
    """The run installs the stack first; the driver was built before it."""
    node.offers.update(disk=False, loaded=False)
    node.files["nvidia-peermem"] = ()
    node.stack("")
    node.save()
    with pytest.raises(InvalidInput, match="built before the stack"):
        node.run(check=True, method="nvidia_peermem", assume_stack="loaded")
    predicted = node.run(check=True, method="nvidia_peermem", assume_stack="loaded", allow_rebuild=True)
    node.offers.update(disk=True, loaded=True)
    node.stack("23.10.0.5.5.0-1")
    node.save()
    assert node.run(method="nvidia_peermem", assume_stack="loaded", allow_rebuild=True)["changes"] == predicted["changes"]


@pytest.mark.parametrize("loads", [False, True])
def test_check_mode_knows_a_driver_that_waits_for_a_stack(node: Node, loads: bool) -> None:
    """It was built on a stack that is gone or not installed yet, so depmod does not show its dependencies."""
    node.offers.update(disk=False, loaded=False)
    node.files["nvidia-peermem"] = ("nvidia",)
    node.built_on_a_stack = True
    node.stack("")
    node.save()
    predicted = node.run(check=True, assume_stack="loaded" if loads else "installed")
    node.offers.update(disk=True, loaded=loads)
    node.files["nvidia-peermem"] = ("nvidia", "ib_core")
    node.stack("23.10.0.5.5.0-1")
    node.save()
    done = node.run()
    assert (done["method"], done["changes"], done["pending"]) == ("nvidia_peermem", predicted["changes"], predicted["pending"])
    assert bool(done["loaded"]) == loads
    gone = node.run(check=True, assume_stack="unloaded" if loads else "removed")
    if loads:
        node.run()
        del node.loaded["nvidia_peermem"]
    node.offers.update(disk=False, loaded=False)
    node.files["nvidia-peermem"] = ("nvidia",)
    node.stack("")
    node.save()
    removed = node.run()
    assert (removed["method"], removed["changes"]) == ("dmabuf", gone["changes"])
    assert removed["changes"][-1] == "remove file " + UNIT_PATH


def test_check_mode_knows_the_release_that_will_be_there(node: Node) -> None:
    """MLNX_OFED up to 4.9 uses a parameter, and the record shows for which stack nv_peer_mem was built."""
    node.offers.update(disk=False, loaded=False)
    node.files["nvidia-peermem"] = ("nvidia",)
    node.built_on_a_stack = True
    node.stack("")
    node.save()
    predicted = node.run(check=True, assume_stack="loaded", assume_ofed_version="4.9-2.2.4.0")
    assert "create file " + OPTIONS_PATH in predicted["changes"]
    node.offers.update(disk=True, loaded=True)
    node.files["nvidia-peermem"] = ("nvidia", "ib_core")
    node.stack("4.9-OFED.4.9.2.2.4.1")
    node.save()
    assert node.run()["changes"] == predicted["changes"]
    # To a release without the parameter, and to the distribution's stack.
    upgraded = node.run(check=True, assume_stack="loaded", assume_ofed_version="23.10-0.5.5.0")
    assert upgraded["changes"] == ["remove file " + OPTIONS_PATH]
    assert "remove file " + OPTIONS_PATH in node.run(check=True, assume_stack="unloaded")["changes"]


@pytest.mark.parametrize("ubuntu", [False, True])
def test_check_mode_knows_a_kernel_with_peer_memory_of_its_own(node: Node, ubuntu: bool) -> None:
    """This is the state after the vendor's stack is removed."""
    node.run()
    node.ubuntu = ubuntu
    node.write("lib/modules/%s/kernel/drivers/infiniband/core/ib_core.ko.zst" % RELEASE, "")
    predicted = node.run(check=True, assume_stack="unloaded")
    assert predicted["method"] == ("nvidia_peermem" if ubuntu else "dmabuf")
    # driver_reload has unloaded it, and its unit with it.
    del node.loaded["nvidia_peermem"]
    node.active.clear()
    node.offers.update(disk=ubuntu, loaded=ubuntu)
    node.files["nvidia-peermem"] = ("nvidia", "ib_core") if ubuntu else ("nvidia",)
    node.stack("")
    node.save()
    shutil.rmtree(str(node.root / "usr/src/ofa_kernel"))
    done = node.run()
    assert done["method"] == predicted["method"]
    # In check mode, the unit is in its original state.
    assert [change for change in done["changes"] if "service" not in change] == [change for change in predicted["changes"] if "service" not in change]


def test_nv_peer_mem_is_built_once_and_again_for_another_commit(node: Node) -> None:
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    predicted = node.run(check=True)
    done = node.run()
    assert (done["method"], done["changes"]) == ("nv_peer_mem", predicted["changes"])
    stamp = json.loads((node.root / STAMP_PATH[1:]).read_text(encoding="utf-8"))
    assert stamp["source"] == DEFAULTS["commit"]
    assert " ".join((*Apt.add, "build-essential", "dpkg-dev")) in node.calls
    assert done["loaded"] == ["nv_peer_mem"]
    assert not node.run()["changed"]
    assert node.changing() == []
    other = node.run(commit="a" * 40)
    assert other["changes"][0].startswith("package nv_peer_mem: built for source %s" % DEFAULTS["commit"])
    gone = node.run(state="absent")
    assert gone["changes"] == ["package nv_peer_mem: installed -> not installed", "remove file " + STAMP_PATH]
    assert "dpkg --purge nvidia-peer-memory-dkms nvidia-peer-memory" in node.calls
    assert node.run(state="absent")["changes"] == []


def test_nv_peer_mem_in_use_does_not_go(node: Node) -> None:
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    node.run()
    node.loaded["nv_peer_mem"] = 3
    node.driver("535.104.05")
    node.files["nvidia-peermem"] = ("nvidia", "ib_core")
    node.save()
    for wanted in ({"method": "auto"}, {"method": "dmabuf"}, {"state": "absent"}):
        for check in (True, False):
            with pytest.raises(Refused, match=r"in use by 3 registrations .* end the processes"):
                node.run(check, **wanted)
            assert node.changing() == []
    assert (node.root / STAMP_PATH[1:]).exists()
    node.loaded["nv_peer_mem"] = 0
    node.save()
    assert node.run()["loaded"] == ["nvidia_peermem"]


def mask(node: Node, unit: str, *, empty: bool = False) -> pathlib.Path:
    link = node.root / "etc/systemd/system" / unit
    link.parent.mkdir(parents=True, exist_ok=True)
    if empty:
        link.touch()
    else:
        link.symlink_to("/dev/null")
    assert (read_managed(str(node.root)), read_masked(str(node.root))) == ((), (unit,))
    return link


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("method", ["nvidia_peermem", "nv_peer_mem"])
def test_a_masked_unit_is_refused_by_name(node: Node, method: str, empty: bool) -> None:
    if method == "nv_peer_mem":
        node.driver("460.91.03", CLOSED)
        del node.files["nvidia-peermem"]
        node.save()
    unit = UNIT_OF[method]
    link = mask(node, unit, empty=empty)
    for check in (True, False):
        with pytest.raises(InvalidInput, match="systemctl unmask " + unit):
            node.run(check, method=method)
        assert node.changing() == []
    assert not node.run(state="absent")["changed"]
    assert link.exists() or link.is_symlink(), "the administrator's mask stays"


def test_a_mask_until_the_next_boot_hides_no_unit_of_ours(node: Node) -> None:
    """systemd gives /etc precedence over /run."""
    link = node.root / "run/systemd/system" / UNIT
    link.symlink_to("/dev/null")
    assert read_masked(str(node.root)) == ()
    assert node.run()["method"] == "nvidia_peermem"
    # It masks the unit of a package, as systemd reports.
    node.masked.add("nv_peer_mem.service")
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    with pytest.raises(Refused, match=r"systemctl unmask nv_peer_mem\.service"):
        node.run()
    assert node.changing() == []


def test_auto_uses_what_needs_no_masked_unit(node: Node) -> None:
    link = mask(node, UNIT)
    done = node.run()
    assert (done["method"], done["changed"]) == ("dmabuf", False)
    assert "not nvidia_peermem, as the unit %s is masked" % UNIT in done["why"]
    assert link.is_symlink()
    # The proprietary modules allow no other method.
    node.driver("535.104.05", CLOSED)
    with pytest.raises(InvalidInput, match="the open kernel modules") as refused:
        node.run()
    assert "systemctl unmask " + UNIT in str(refused.value)


def test_nv_peer_mem_waits_for_the_stack_to_be_loaded(node: Node) -> None:
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.offers["loaded"] = False
    node.save()
    for check in (True, False):
        result = node.run(check)
        assert (result["changes"], pending_words(result)) == ([], ["module nv_peer_mem: not loaded -> loaded (needs driver_reload)"])
        assert "The next run then builds and loads nv_peer_mem" in result["reasons"][0]
    assert node.changing() == []
    node.offers["loaded"] = True
    node.save()
    assert node.run()["loaded"] == ["nv_peer_mem"]


def test_a_package_that_somebody_else_removed(node: Node) -> None:
    """On a family whose rpm refuses to remove a package that is not installed."""
    node.rpms = []
    node.write("etc/os-release", 'ID=rocky\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n')
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    assert node.run()["loaded"] == ["nv_peer_mem"]
    del node.files["nv_peer_mem"], node.loaded["nv_peer_mem"]
    node.rpms = []
    node.save()
    again = node.run(check=True)
    assert again["changes"][0].startswith("package nv_peer_mem: missing for kernel")
    predicted = node.run(check=True, state="absent")
    gone = node.run(state="absent")
    assert gone["changes"] == predicted["changes"] == ["remove file " + STAMP_PATH]
    assert node.changing() == []
    node.run()
    assert node.run(state="absent")["changes"] == ["package nv_peer_mem: installed -> not installed", "remove file " + STAMP_PATH]
    assert "rpm --erase nvidia_peer_memory" in node.calls


def test_what_a_job_has_installed_is_ours_whoever_waited_for_it(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    predicted = node.run(check=True)

    def lost(*arguments: t.Any) -> jobs.State:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "wait", lost)
        with pytest.raises(KeyboardInterrupt):
            node.run()
    left = node.run(check=True)
    assert left["changes"] == [change for change in predicted["changes"] if "package" not in change and "file" not in change]
    assert node.run(state="absent", check=True)["changes"][0] == "package nv_peer_mem: installed -> not installed"
    assert node.run()["loaded"] == ["nv_peer_mem"]
    assert not any("build" in call for call in node.changing())


def test_an_archive_has_to_be_the_one_that_is_meant(node: Node) -> None:
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    archive = {"source": "/srv/nv_peer_memory.tar.gz", "checksum": "sha256:" + hashlib.sha256(b"source").hexdigest()}
    for check in (True, False):
        with pytest.raises(InvalidInput, match=r"gpudirect_source is '/srv/nv_peer_memory.tar.gz'.*No such file"):
            node.run(check, **archive)
    node.write("srv/nv_peer_memory.tar.gz", "another")
    with pytest.raises(InvalidInput, match="Nothing was unpacked"):
        node.run(**archive)
    assert node.changing() == []
    node.write("srv/nv_peer_memory.tar.gz", "source")
    assert node.run(**archive)["changed"]
    # A finished build no longer needs its source.
    (node.root / "srv/nv_peer_memory.tar.gz").unlink()
    assert not node.run(**archive)["changed"]


def test_what_the_scripts_of_the_old_package_undo_is_done_again(node: Node) -> None:
    node.driver("460.91.03", CLOSED)
    del node.files["nvidia-peermem"]
    node.save()
    node.run()
    node.undoes = True
    predicted = node.run(check=True, commit="a" * 40)
    done = node.run(commit="a" * 40)
    assert done["changes"] == predicted["changes"]
    assert len(done["changes"]) == 2, "the package, and what it was built from"
    assert done["loaded"] == ["nv_peer_mem"]
    assert "systemctl enable nv_peer_mem" in node.calls


def test_where_systemd_or_the_kernel_is_not_ours(node: Node) -> None:
    (node.root / "run/systemd/system").rmdir()
    with pytest.raises(Unsupported, match="systemd does not run"):
        node.run()
    node.write("run/systemd/container", "docker\n")
    with pytest.raises(Unsupported, match="this is a container"):
        node.run()
    node.write("run/systemd/system/x", "")
    assert node.run(allow_container=True)["changed"]


def test_a_job_that_fails_is_quoted(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(failed: str, finished: bool = True, running: bool = False) -> t.Callable[..., jobs.State]:
        return lambda *arguments: jobs.State("1", running, "building", 1, 1, 1, finished, 10, failed, "/log", {})

    node.write("var/lib/rdma.ofed/jobs/gpudirect-build/log", "==> building\nError! Bad return status\n")
    monkeypatch.setattr(jobs, "wait", state("building"))
    with pytest.raises(CommandFailed, match="Bad return status"):
        _apply._work(node, (), timeout=60, root=str(node.root))
    monkeypatch.setattr(jobs, "wait", state("", finished=False))
    with pytest.raises(CommandFailed, match="was interrupted"):
        _apply._work(node, (), timeout=60, root=str(node.root))
    monkeypatch.setattr(jobs, "wait", state("", finished=False, running=True))
    with pytest.raises(CommandFailed, match="the next run waits"):
        _apply._work(node, (), timeout=60, root=str(node.root))
    monkeypatch.undo()
    with pytest.raises(CommandFailed, match="disappeared"):
        _apply.await_job(0, str(node.root))


def test_wrong_input_reaches_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    with patch_module_args({"commit": "master"}), pytest.raises(SystemExit):
        gpudirect.main()
    result = json.loads(capsys.readouterr().out)
    assert result["failed"]
    assert "gpudirect_commit is 'master'" in result["msg"]


def test_documentation_and_arguments_agree(node: Node) -> None:
    options = yaml.safe_load(gpudirect.DOCUMENTATION)["options"]
    assert set(options) == set(DEFAULTS)
    assert set(yaml.safe_load(gpudirect.RETURN)) | {"changed", "diff"} == set(node.run(check=True))
