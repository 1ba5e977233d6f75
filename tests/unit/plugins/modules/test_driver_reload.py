# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole module on a simulated node, whose kernel loads and unloads modules like a real one."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time
import types
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _usage
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connections import SshPath
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module as LoadedModule
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._reload import _converge, _look, _plan, _steps
from ansible_collections.rdma.ofed.plugins.module_utils._reload._found import Found
from ansible_collections.rdma.ofed.plugins.modules import driver_reload
from hypothesis import given
from hypothesis import strategies as st
from support import signing
from support.module_files import FakeModule
from support.module_results import pending_words

RELEASE = "6.1.0-50-amd64"
# Dependencies of each module, as in modules.dep.
NEEDS = {
    "mlx5_core": ("mlx_compat",),
    "ib_core": ("mlx_compat",),
    "ib_uverbs": ("ib_core", "mlx_compat"),
    "ib_umad": ("ib_core", "mlx_compat"),
    "mlx5_ib": ("ib_uverbs", "ib_core", "mlx5_core", "mlx_compat"),
    "ib_ipoib": ("ib_core", "mlx_compat"),
    "nvidia_peermem": ("ib_core",),
    "mlx_compat": (),
    "nvme_core": ("mlx_compat",),
    "beegfs": ("ib_core",),
    "rpcrdma": ("ib_core",),
    "irdma": ("ib_uverbs", "ib_core"),
}
LOADED = ("mlx_compat", "ib_core", "ib_uverbs", "ib_umad", "mlx5_core", "mlx5_ib", "ib_ipoib")
DEFAULTS: dict[str, t.Any] = {
    "policy": "if_idle",
    "because": [],
    "cut_ssh_connection": False,
    "allow_reload": True,
    "allow_container": True,
    "timeout": 1,
    "assume_changed": False,
}


class Module(FakeModule):
    defaults = DEFAULTS


class Node:
    """A node: module builds in the kernel and on disk."""

    def __init__(self, root: pathlib.Path, loaded: t.Sequence[str] = LOADED, openibd: bool = False) -> None:
        self.root = root
        self.disk = dict.fromkeys(NEEDS, "new")
        self.kernel = dict.fromkeys(loaded, "old")
        self.of_kernel: set[str] = set()
        """Modules whose kernel's own build is on disk. It does not load with another core."""
        self.held: dict[str, int] = {}
        self.steps: list[list[str]] = []
        self.users: tuple[User, ...] = ()
        self.ssh = SshPath()
        self.foreign: dict[str, tuple[str, ...]] = {}
        self.active: tuple[str, ...] = ()
        if openibd:
            self.write("etc/init.d/openibd", "#!/bin/bash\n")
            self.write("etc/infiniband/openib.conf", "ONBOOT=yes\nIPOIB_LOAD=yes\n")
            self.write("etc/modprobe.d/ib_ipoib.conf", "alias netdev-ib* ib_ipoib\n")
        self.save()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def needs(self, name: str) -> tuple[str, ...]:
        return tuple(need for need in NEEDS.get(name, ()) if need in self.disk or need in self.kernel)

    def users_of(self, name: str) -> list[str]:
        return [*(user for user in self.kernel if name in self.needs(user)), *self.foreign.get(name, ())]

    def save(self) -> None:
        rows = []
        for name, build in self.kernel.items():
            users = self.users_of(name)
            rows.append("%s 1000 %d %s Live 0x0\n" % (name, len(users) + self.held.get(name, 0), "".join(user + "," for user in users) or "-"))
            self.write("sys/module/%s/srcversion" % name, build + "\n")
        self.write("proc/modules", "".join(rows))
        self.write("proc/sys/kernel/random/boot_id", "boot-1\n")
        folders = {name: "kernel" if name in self.of_kernel else "updates/dkms" for name in self.disk}
        lines = ["%s/%s.ko: %s\n" % (folder, name, self.below(name, folders)) for name, folder in folders.items()]
        self.write("lib/modules/%s/modules.dep" % RELEASE, "".join(lines))

    def below(self, name: str, folders: t.Mapping[str, str]) -> str:
        return " ".join("%s/%s.ko" % (folders[need], need) for need in NEEDS[name] if need in folders) if self.of_kernel else ""

    def has(self, tool: str) -> bool:
        return tool in ("modinfo", "modprobe")

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "systemctl":
            return Output(0, "\n\n".join("Id=%s\nLoadState=loaded\nActiveState=active" % name for name in self.active), "")
        assert argv[0] == "modinfo"
        if argv[1].startswith("/"):
            builds = {path: "old" if "/kernel/" in path else "new" for path in argv[1:]}
            return Output(0, "".join("filename:       %s\nsrcversion:     %s\n" % build for build in builds.items()), "")
        known = [name for name in argv[1:] if name in self.disk]
        text = "".join("filename:       /lib/modules/x/updates/dkms/%s.ko\nsrcversion:     %s\n" % (name, self.disk[name]) for name in known)
        return Output(0 if len(known) == len(argv) - 1 else 1, text, "")

    def unload(self, name: str) -> tuple[int, str]:
        if name not in self.kernel:
            return 0, ""
        if self.users_of(name) or self.held.get(name):
            return 1, "modprobe: FATAL: Module %s is in use.\n" % name
        del self.kernel[name]
        (self.root / "sys/module" / name / "srcversion").unlink()
        (self.root / "sys/module" / name).rmdir()
        return 0, ""

    def load(self, name: str) -> None:
        if name in self.of_kernel and "ib_core" not in self.of_kernel:
            return
        for need in self.needs(name):
            self.load(need)
        if name in self.disk:
            self.kernel.setdefault(name, self.disk[name])

    def openibd(self, action: str) -> tuple[int, str]:
        if action == "start":
            conf = (self.root / "etc/infiniband/openib.conf").read_text(encoding="utf-8")
            for name in ("mlx5_core", "mlx5_ib", "ib_umad", "ib_uverbs", "ib_ipoib"):
                if "%s_LOAD=no" % name[3:].upper() not in conf:
                    self.load(name)
            return 2, "Loading HCA driver and Access Layer:  [  OK  ]\n"
        for name in ("mlx5_ib", "mlx5_core", "ib_ipoib", "ib_uverbs", "ib_umad", "ib_core", "mlx_compat"):
            rc, text = self.unload(name)
            if rc:
                return 1, "Unloading %s [FAILED]\n%s" % (name, text)
        return 0, ""

    def perform(self, argv: list[str]) -> tuple[int, str]:
        self.steps.append(argv)
        if argv[:2] == ["modprobe", "-r"]:
            assert argv[2] in self.disk
            return self.unload(argv[2])
        if argv[0] == "rmmod":
            return self.unload(argv[1])
        if argv[0] == "sh":
            self.put_back(argv[4].split(), argv[5].split(), argv[6:])
        if argv[:2] == ["modprobe", "-a"]:
            for name in argv[2:]:
                self.load(name)
        if argv[:2] == ["systemctl", "stop"]:
            self.held = {}
        if argv[0] == "/etc/init.d/openibd":
            return self.openibd(argv[1].replace("force-", ""))
        return 0, ""

    def put_back(self, needed: list[str], names: list[str], files: list[str]) -> None:
        """Do what the shell script does; the script itself has a test of its own."""
        if all(name in self.kernel for name in needed):
            return
        self.save()
        for name in names:
            self.unload(name)
        for file in files:
            self.kernel.setdefault(os.path.basename(file)[:-3], "old")

    def launch(self, run: t.Any, name: str, directory: str, *, script: str, root: str) -> None:
        with open(os.path.join(directory, "job.json"), encoding="utf-8") as stream:
            job = json.load(stream)
        state = {"id": job["id"], "started": time.time(), "finished": 0, "rc": 0, "failed": "", "stage": "", "step": 0}
        with open(os.path.join(directory, "log"), "a", encoding="utf-8") as log:
            for number, step in enumerate(job["steps"], 1):
                if state["failed"] and not step["always"]:
                    continue
                state.update(stage=step["stage"], step=number)
                rc, text = self.perform(step["argv"])
                log.write("==> %s\n%s" % (step["stage"], text))
                if rc not in step["ok"]:
                    state.update(rc=rc, failed=step["stage"])
        state["finished"] = time.time()
        jobs.runner.save(os.path.join(directory, "state.json"), state)
        self.save()


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return prepared(Node(tmp_path), monkeypatch)


@pytest.fixture
def vendors(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return prepared(Node(tmp_path, openibd=True), monkeypatch)


def prepared(found: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(jobs, "_launch", found.launch)
    real = _usage.read_usage
    monkeypatch.setattr(_look, "read_usage", lambda root, netdevs, ssh: tuple(sorted({*found.users, *real(root, netdevs, ssh)})))
    monkeypatch.setattr(_look, "read_ssh", lambda *_arguments, **_named: found.ssh)
    return found


def ask(node: Node, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    node.save()
    module: t.Any = Module(check, **params)
    return _converge.converge(module, node, release=RELEASE, environ={}, root=str(node.root), pid=1)


def converge(node: Node, **params: t.Any) -> dict[str, t.Any]:
    """Check that check mode and the run agree, and that a second run changes nothing."""
    before = dict(node.kernel)
    foretold = ask(node, True, **params)
    assert node.kernel == before
    answer = ask(node, **params)
    for key in ("changes", "changed", "pending", "reboot_required"):
        assert answer[key] == foretold[key]
    if not params.get("because"):
        again = ask(node, **params)
        assert again["changes"] == []
        assert again["pending"] == answer["pending"]
    return answer


CHANGE = "driver: as loaded -> as installed"


def test_the_former_driver_comes_back_where_the_new_one_is_refused(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own modules stay on disk beside the vendor's."""
    for name in LOADED:
        node.write("lib/modules/%s/kernel/drivers/%s.ko" % (RELEASE, name), "")
    before, real = dict(node.kernel), node.load
    monkeypatch.setattr(node, "load", lambda name: None if name.startswith("mlx5") else real(name))
    with pytest.raises(CommandFailed, match="is still not the build on disk"):
        ask(node)
    assert node.kernel == before


def test_a_module_that_is_switched_off_is_not_taken_for_refused(vendors: Node) -> None:
    """It was loaded with the former driver, and openib.conf excludes it from the new one."""
    for name in LOADED:
        vendors.write("lib/modules/%s/kernel/drivers/%s.ko" % (RELEASE, name), "")
    vendors.write("etc/infiniband/openib.conf", "ONBOOT=yes\nIPOIB_LOAD=yes\nUMAD_LOAD=no\n")
    assert "ib_umad" in vendors.kernel
    assert ask(vendors)["changed"]
    assert set(vendors.kernel.values()) == {"new"} and "ib_umad" not in vendors.kernel


def test_half_of_the_former_driver_is_not_put_back(node: Node) -> None:
    for name in LOADED[1:]:
        node.write("lib/modules/%s/kernel/drivers/%s.ko" % (RELEASE, name), "")
    assert ask(node)["changed"]
    assert not any(argv[0] == "sh" for argv in node.steps)


def test_the_script_that_puts_the_former_driver_back(tmp_path: pathlib.Path) -> None:
    """A shell runs it on a kernel made of directories: one module of the new driver was loaded, the other refused."""
    sys_module, tools = tmp_path / "sys", tmp_path / "bin"
    (sys_module / "ib_core").mkdir(parents=True)
    (sys_module / "ib_core/new").touch()
    tools.mkdir()
    for tool, text in (("rmmod", 'rm -r %s/"$1"'), ("insmod", 'name=${1##*/}; mkdir %s/"${name%%%%.ko}"')):
        (tools / tool).write_text("#!/bin/sh\n%s\n" % (text % sys_module), encoding="utf-8")
        (tools / tool).chmod(0o755)
    script = _steps._PUT_BACK.replace("/sys/module", str(sys_module))
    argv = ["sh", "-c", script, "sh", "ib_core mlx5_core", "mlx5_core ib_core", "/lib/ib_core.ko", "/lib/mlx5_core.ko"]
    for _again in range(2):
        subprocess.run(argv, check=True, env={"PATH": "%s:%s" % (tools, os.environ["PATH"])})
        assert sorted(path.name for path in sys_module.iterdir()) == ["ib_core", "mlx5_core"]
        assert not (sys_module / "ib_core/new").exists()


@pytest.fixture(scope="session", name="signer")
def key_of_dkms(tmp_path_factory: pytest.TempPathFactory) -> signing.Signer:
    return signing.make_signer(tmp_path_factory.mktemp("keys"), "DKMS module signing key")


def demand_signatures(node: Node, module: bytes, keys: str) -> None:
    node.write("sys/module/module/parameters/sig_enforce", "Y\n")
    node.write("proc/keys", keys)
    for name in node.disk:
        path = node.root / ("lib/modules/%s/updates/dkms/%s.ko" % (RELEASE, name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(module)


@pytest.mark.parametrize("policy", ["if_idle", "force", "reboot", "never"])
def test_a_driver_whose_signature_is_not_trusted_replaces_none(node: Node, signer: signing.Signer, policy: str) -> None:
    """Signed with a key that is not enrolled: the kernel would refuse it, even after a reboot."""
    before = dict(node.kernel)
    for module in (signer.sign("-nocerts"), signing.UNSIGNED):
        demand_signatures(node, module, "")
        for check in (True, False):
            with pytest.raises(Refused, match="mokutil --import"):
                ask(node, check, policy=policy)
    assert node.kernel == before and node.steps == []


def test_a_driver_whose_signature_is_trusted_is_loaded(node: Node, signer: signing.Signer) -> None:
    demand_signatures(node, signer.sign("-nocerts"), signer.listed())
    assert converge(node)["changed"]
    assert set(node.kernel.values()) == {"new"}


@pytest.mark.parametrize("openibd", [False, True])
def test_what_the_kernel_does_not_load_is_no_success(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, openibd: bool) -> None:
    """modprobe's exit status is that of its last module only, and openibd's is meaningless."""
    node = prepared(Node(tmp_path, openibd=openibd), monkeypatch)
    real = node.load
    monkeypatch.setattr(node, "load", lambda name: None if name in ("mlx5_core", "mlx5_ib") else real(name))
    for words in ("modprobe printed nothing", "FATAL: no such device"):
        node.kernel = dict.fromkeys(LOADED, "old")
        monkeypatch.setattr(_converge, "_last_words", lambda root, words=words: [] if words == "modprobe printed nothing" else [words])
        with pytest.raises(CommandFailed, match="did not load mlx5_core, mlx5_ib: %s. All output" % words) as caught:
            ask(node)
        assert caught.value.details["reboot_required"] is True and caught.value.details["changed"] is True


def test_the_same_build_stays(node: Node) -> None:
    node.disk = dict.fromkeys(NEEDS, "old")
    answer = converge(node)
    assert (answer["changes"], answer["waits"]) == ([], False)
    assert node.steps == []


def test_nothing_loaded(node: Node) -> None:
    node.kernel = {}
    assert converge(node, policy="force", because=["x"])["changes"] == []


def test_with_modprobe(node: Node) -> None:
    node.write("etc/rdma/modules/rdma.conf", "# comment\nib_umad\nrdma_ucm\n")
    assert converge(node)["changes"] == [CHANGE]
    assert node.kernel == dict.fromkeys(LOADED, "new")
    assert [argv[2] for argv in node.steps if argv[1] == "-r"][-1] == "mlx_compat"
    assert all(argv[0] == "modprobe" for argv in node.steps)


def test_back_to_a_stack_without_mlx_compat(node: Node) -> None:
    del node.disk["mlx_compat"]
    assert converge(node)["changes"] == [CHANGE]
    assert ["rmmod", "mlx_compat"] in node.steps
    assert node.kernel == dict.fromkeys([name for name in LOADED if name != "mlx_compat"], "new")


def test_a_driver_that_is_for_the_next_kernel_waits_for_it(node: Node) -> None:
    node.disk.pop("mlx_compat")
    node.write("boot/grub/grub.cfg", "menuentry 'Linux' {\n\tlinux\t/boot/vmlinuz-6.9 root=/dev/vda1\n}\n")
    node.write("lib/modules/6.9/modules.dep", "updates/dkms/ib_core.ko: updates/dkms/mlx_compat.ko\n")
    inbox = "".join("kernel/drivers/%s.ko:\n" % name for name in node.disk)
    node.save = lambda: node.write("lib/modules/%s/modules.dep" % RELEASE, inbox)  # type: ignore[method-assign]
    Node.save(node)
    answer = converge(node)
    assert answer["reboot_required"] is True
    assert answer["reasons"] == ["the installed driver is for kernel 6.9, which boots next, and not for the running one"]
    assert node.steps == []
    # Without such a kernel, it is the return to the distribution's driver.
    node.write("lib/modules/6.9/modules.dep", inbox)
    assert ask(node, check=True)["changes"] == [CHANGE]


def test_with_openibd(vendors: Node) -> None:
    assert converge(vendors)["changes"] == [CHANGE]
    assert [argv[1] for argv in vendors.steps if "openibd" in argv[0]] == ["stop", "start"]
    assert vendors.steps[2][0] == "sed"
    assert vendors.kernel == dict.fromkeys(LOADED, "new")


def test_what_openibd_shall_not_load_stays_away(vendors: Node) -> None:
    vendors.write("etc/infiniband/openib.conf", "ONBOOT=yes\nIPOIB_LOAD=no\n")
    converge(vendors)
    assert "ib_ipoib" not in vendors.steps[-1]


def test_what_openibd_does_not_know_goes_first(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, (*LOADED, "rpcrdma"), openibd=True), monkeypatch)
    assert converge(node)["changes"] == [CHANGE]
    assert node.steps[0] == ["modprobe", "-r", "rpcrdma"]
    assert node.kernel["rpcrdma"] == "new"


@pytest.mark.parametrize("openibd", [False, True])
def test_the_cache_of_addresses_pauses(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, openibd: bool) -> None:
    """Only its socket holds ib_core, and the kernel starts it at the first packet."""
    node = prepared(Node(tmp_path, LOADED, openibd), monkeypatch)
    node.write("run/systemd/system/README", "")
    node.active, node.held = ("ibacm.service", "ibacm.socket"), {"ib_core": 1}
    node.users = (User("process", "ibacm", "pid 7 has umad0 open"),)
    assert converge(node)["users"] == []
    assert node.kernel == dict.fromkeys(LOADED, "new")
    assert node.steps[0] == ["systemctl", "stop", "ibacm.socket", "ibacm.service"]
    assert node.steps[-1] == ["systemctl", "start", "ibacm.socket", "ibacm.service"]


def test_a_cache_that_somebody_started_by_hand_is_a_user(node: Node) -> None:
    node.users = (User("process", "ibacm", "pid 7 has umad0 open"),)
    assert [user["name"] for user in converge(node)["users"]] == ["ibacm"]


@pytest.mark.parametrize("openibd", [False, True])
def test_gpu_memory_is_no_user_and_comes_back(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, openibd: bool) -> None:
    node = prepared(Node(tmp_path, (*LOADED, "nvidia_peermem"), openibd), monkeypatch)
    assert converge(node)["changes"] == [CHANGE]
    # modprobe -r would also unload the GPU driver.
    assert node.steps[0] == ["rmmod", "nvidia_peermem"]
    assert node.kernel["nvidia_peermem"] == "new"


def test_gpu_memory_that_does_not_come_back_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, (*LOADED, "nvidia_peermem")), monkeypatch)
    load = node.load
    monkeypatch.setattr(node, "load", lambda name: None if name == "nvidia_peermem" else load(name))
    result = converge(node)
    assert result["changes"] == [CHANGE]
    assert "nvidia_peermem was loaded before" in result["reasons"][-1]


def test_what_loads_gpu_memory_at_boot_starts_with_the_new_driver(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the former driver, it could not."""
    node = prepared(Node(tmp_path), monkeypatch)
    node.write("etc/systemd/system/rdma-ofed-gpudirect.service", "[Unit]\n")
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert converge(node)["changes"] == [CHANGE]
    assert node.steps[-1] == ["systemctl", "restart", "rdma-ofed-gpudirect.service"]


def test_gpu_memory_in_use(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, (*LOADED, "nvidia_peermem")), monkeypatch)
    node.held = {"nvidia_peermem": 2}
    assert "; module nvidia_peermem (" in pending_words(converge(node))[0]
    assert node.steps == []


USERS = (
    User("mount", "/scratch", "nfs4 over RDMA from 10.0.0.9:/scratch"),
    User("process", "mpi", "pid 12 has uverbs0 open"),
    User("sm", "opensm", "pid 13"),
    User("ulp", "nvme1", "NVMe over RDMA"),
)


@pytest.mark.parametrize("user", USERS, ids=lambda user: user.kind)
def test_a_user_keeps_the_driver(vendors: Node, user: User) -> None:
    vendors.users = (user,)
    answer = converge(vendors)
    assert pending_words(answer) == ["%s (needs driver_reload; %s)" % (CHANGE, answer["reasons"][0])]
    assert answer["waits"] is True
    assert answer["reboot_required"] is False
    assert user.name in answer["reasons"][0]
    assert answer["users"][0]["way_out"]
    assert vendors.steps == []
    assert converge(vendors, policy="force")["changes"] == [CHANGE]
    assert vendors.steps[0][1] == "force-stop"


def test_module_of_others(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, (*LOADED, "beegfs")), monkeypatch)
    assert "; module beegfs (" in pending_words(converge(node))[0]
    assert converge(node, policy="force")["changes"] == [CHANGE]
    assert node.kernel["beegfs"] == "new"


def test_a_driver_of_another_name_is_no_user(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, (*LOADED, "beegfs")), monkeypatch)
    driver = tmp_path / "sys/class/infiniband/x_0/device/driver"
    driver.mkdir(parents=True)
    (driver / "module").symlink_to("../../../../../module/beegfs")
    assert converge(node)["changes"] == [CHANGE]


def test_virtual_functions(node: Node) -> None:
    pci = "0000:03:00.0"
    node.write("sys/bus/pci/drivers/mlx5_core/%s/x" % pci, "")
    node.write("sys/bus/pci/devices/%s/sriov_numvfs" % pci, "4\n")
    assert "4 virtual functions of " + pci in pending_words(converge(node))[0]


def test_the_connection(node: Node) -> None:
    node.ssh = SshPath("10.0.0.9", "ib0", "mlx5_0/1", ("mlx5_0/1",), True)
    assert "; ssh ib0 (" in pending_words(converge(node))[0]
    for check in (True, False):
        with pytest.raises(Refused, match="cut_ssh_connection"):
            ask(node, check, policy="force")
    assert converge(node, policy="force", cut_ssh_connection=True)["changes"] == [CHANGE]


def test_a_connection_by_an_unknown_way_counts(node: Node) -> None:
    node.ssh = SshPath("10.0.0.9")
    assert converge(node)["pending"]


@pytest.mark.parametrize("kind", ["root", "usr", "overlay", "swap"])
def test_root_and_swap_over_the_adapter(node: Node, kind: str) -> None:
    target = {"root": "/", "usr": "/usr", "overlay": "/run/lower", "swap": "/scratch"}[kind]
    node.users = (User("root" if kind == "root" else "mount", target, "nfs"),)
    if kind == "overlay":
        node.write("proc/mounts", "overlay / overlay rw 0 0\n")
    if kind == "swap":
        node.write("proc/swaps", "Filename Type Size Used Priority\n/scratch/swap file 1 0 -2\n")
    answer = converge(node)
    assert answer["reboot_required"] is True
    assert "reboot the node" in answer["reasons"][0]
    with pytest.raises(Refused, match="reboot the node"):
        ask(node, policy="force", cut_ssh_connection=True)
    assert node.steps == []


def test_the_site_forbids_it(vendors: Node) -> None:
    vendors.write("etc/infiniband/openib.conf", "ALLOW_STOP=no\n")
    assert converge(vendors)["reboot_required"] is True
    with pytest.raises(Refused, match="ALLOW_STOP"):
        ask(vendors, policy="force")


def test_policies_that_unload_nothing(node: Node) -> None:
    assert pending_words(converge(node, policy="never")) == [CHANGE + " (needs driver_reload)"]
    answer = converge(node, policy="reboot")
    assert pending_words(answer) == [CHANGE + " (needs reboot; the policy is reboot)"]
    assert (answer["reboot_required"], answer["waits"]) == (True, True)
    assert node.steps == []


@pytest.mark.parametrize("policy", ["if_idle", "force"])
@pytest.mark.parametrize("check", [False, True])
def test_nothing_is_unloaded_without_consent(node: Node, policy: str, check: bool) -> None:
    answer = ask(node, check=check, policy=policy, allow_reload=False, because=["an option was changed"])
    (entry,) = answer["pending"]
    assert (answer["changed"], entry["needs"], answer["waits"]) == (False, "driver_reload", True)
    assert "rdma_allow_reload" in answer["reasons"][0]
    assert node.steps == []
    assert ask(node, policy=policy, allow_reload=True)["changed"]


def test_what_only_a_reboot_loads_needs_no_consent(node: Node) -> None:
    assert converge(node, policy="reboot", allow_reload=False)["reboot_required"] is True


def test_modules_that_stay_need_a_reboot(node: Node) -> None:
    node.foreign = {"mlx_compat": ("nvme_core",)}
    answer = converge(node)
    assert answer["reboot_required"] is True
    assert answer["reasons"] == ["mlx_compat is held by nvme_core"]
    node.foreign = {"ib_core": ("[permanent]",)}
    assert ask(node, policy="force")["reasons"][0] == "ib_core can't be unloaded from this kernel"


def test_modules_that_are_gone_need_a_reboot(node: Node) -> None:
    del node.disk["mlx5_core"]
    answer = converge(node)
    assert answer["reboot_required"] is True
    assert "mlx5_core" in answer["reasons"][0]


def test_container(node: Node) -> None:
    assert converge(node, allow_container=False)["changes"] in ([], [CHANGE])
    node.write("run/systemd/container", "docker\n")
    node.kernel = dict.fromkeys(LOADED, "old")
    result = converge(node, allow_container=False)
    assert "container" in result["reasons"][0]
    # The pending driver is the host's.
    assert (result["changes"], result["pending"], result["waits"]) == ([], [], True)
    with pytest.raises(Refused, match="container"):
        ask(node, policy="force", allow_container=False)
    # Without consent to a reload, nothing is refused.
    assert ask(node, policy="force", allow_container=False, allow_reload=False)["pending"] == []


@pytest.mark.parametrize("openibd", [False, True])
def test_a_failed_stop_is_put_right_and_not_repeated(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, openibd: bool) -> None:
    node = prepared(Node(tmp_path, openibd=openibd), monkeypatch)
    node.held = {"ib_umad": 1}
    answer = ask(node)
    assert answer["changed"] is True
    assert answer["reboot_required"] is True
    assert pending_words(answer) == ["%s (needs reboot; %s)" % (CHANGE, answer["reasons"][0])]
    assert "ib_umad is in use" in answer["reasons"][0]
    assert "ib_umad has 1 users" in answer["reasons"][0]
    assert openibd or node.steps[0] == ["modprobe", "-r", "ib_umad"]
    assert set(node.kernel) == set(LOADED)
    assert not [argv for argv in node.steps if argv[-1] == "start"]
    tried = len(node.steps)
    assert "force tries again" in ask(node)["reasons"][0]
    assert len(node.steps) == tried
    node.held = {}
    assert ask(node, policy="force")["changes"] == [CHANGE]


def test_a_driver_that_does_not_come_back(vendors: Node) -> None:
    vendors.held = {"ib_umad": 1}
    vendors.load = lambda name: None  # type: ignore[method-assign, assignment]
    with pytest.raises(CommandFailed, match="could not be reloaded: reboot the node") as caught:
        ask(vendors)
    assert caught.value.details["reboot_required"] is True and caught.value.details["changed"] is True


def test_still_another_build(node: Node) -> None:
    # As when the image from which the node booted contains it, and udev is faster.
    node.load = lambda name: node.kernel.setdefault(name, "old") and None  # type: ignore[method-assign, assignment, func-returns-value]
    with pytest.raises(CommandFailed, match="still not the build on disk") as caught:
        ask(node)
    assert caught.value.details["changed"] is True and caught.value.details["job"]["id"]


def test_because(node: Node) -> None:
    node.disk = dict.fromkeys(NEEDS, "old")
    assert converge(node, because=["options"])["changes"] == [CHANGE]


def test_check_mode_of_a_run_that_installs(node: Node) -> None:
    node.disk = dict.fromkeys(NEEDS, "old")
    assert ask(node, True, assume_changed=True)["changes"] == [CHANGE]
    assert ask(node, False, assume_changed=True)["changes"] == []


@given(st.permutations(sorted(LOADED)), st.sets(st.sampled_from(LOADED)))
def test_unloading_takes_users_first(order: list[str], held: set[str]) -> None:
    modules = [_plan.Module(name, 0, tuple([user for user in LOADED if name in NEEDS[user]] + (["stranger"] if name in held else []))) for name in order]
    names, stuck = _plan.unloading(modules)
    for index, name in enumerate(names):
        assert all(user in names[:index] for user in LOADED if name in NEEDS[user])
    assert set(stuck) == held
    assert not held & set(names)


@pytest.mark.parametrize("openibd", [False, True])
@pytest.mark.parametrize("name", ["irdma", "rpcrdma", "beegfs"])
def test_what_the_new_core_does_not_take_is_named_before_anything_is_unloaded(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str, openibd: bool
) -> None:
    node = prepared(Node(tmp_path, loaded=(*LOADED, name), openibd=openibd), monkeypatch)
    node.of_kernel = {name}
    node.save()
    for check in (True, False):
        result = ask(node, check)
        assert node.steps == [] and not result["changed"] and result["waits"]
        assert {"kind": "unfit", "name": name} in [{key: user[key] for key in ("kind", "name")} for user in result["users"]]
        assert any(why.startswith("unfit %s (a module of the kernel, which can't be loaded with the installed driver): " % name) for why in result["reasons"])
    # Without that module, the same driver is loaded.
    assert set(node.kernel) == {*LOADED, name}
    done = ask(node, policy="force")
    assert done["changed"] and name not in node.kernel and set(node.kernel.values()) == {"new"}
    assert any(reason.startswith(name + " was loaded before") and "remains unloaded" in reason for reason in done["reasons"])


def test_a_module_that_the_new_stack_brings_fits(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, loaded=(*LOADED, "irdma")), monkeypatch)
    # Only an unloaded module of the kernel's own depends on the core.
    node.of_kernel = {"rpcrdma"}
    node.save()
    assert ask(node)["changed"] and node.kernel["irdma"] == "new"


def test_the_kernels_own_modules_fit_the_kernels_own_core(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, loaded=(*LOADED, "irdma")), monkeypatch)
    node.of_kernel = set(NEEDS)
    node.save()
    assert ask(node)["changed"] and node.kernel["irdma"] == "new"


def test_the_same_build_keeps_a_module_that_is_loaded_with_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module loaded with the core that is on disk fits it, wherever its file is."""
    node = prepared(Node(tmp_path, loaded=(*LOADED, "irdma")), monkeypatch)
    node.of_kernel = {"irdma"}
    node.kernel = dict.fromkeys(node.kernel, "new")
    node.save()
    assert "unfit" not in {user["kind"] for user in ask(node, True, because=["options"])["users"]}


@pytest.mark.parametrize("sign", ["mount", "var", "ready"])
def test_the_driver_of_a_container_is_left_alone(node: Node, sign: str) -> None:
    del node.disk["mlx_compat"]
    node.save()
    if sign == "ready":
        node.write("run/mellanox/drivers/.driver-ready", "")
    else:
        node.write("proc/mounts", "overlay %s/run/mellanox/drivers overlay rw 0 0\n" % ("/var" if sign == "var" else ""))
    result = ask(node)
    assert not result["changed"] and result["waits"] and result["pending"] == [] and node.steps == []
    assert "came from a container, which shows its files in /run/mellanox/drivers" in result["reasons"][0]
    with pytest.raises(Refused, match="came from a container"):
        ask(node, policy="force")
    assert node.steps == []


def test_the_folder_of_a_container_alone_says_nothing_of_the_driver(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The container is gone, and its driver with it: the kernel's own is loaded."""
    node = prepared(Node(tmp_path, loaded=[name for name in LOADED if name != "mlx_compat"]), monkeypatch)
    node.write("run/mellanox/drivers/.driver-ready", "")
    assert ask(node)["changed"]


def test_only_modules_for_gpu_memory_are_told_as_not_come_back() -> None:
    loaded = [LoadedModule(name) for name in ("mlx_compat", "ib_core", "nv_peer_mem", "nvidia_peermem")]
    now = [module for module in loaded if module.name not in ("mlx_compat", "nv_peer_mem")]
    before = Found(modules=tuple(loaded))
    assert _plan.not_again(before, Found(modules=tuple(now))) == ("nv_peer_mem",)
    assert _plan.not_again(before, before) == ()


def test_an_attempt_is_known_by_boot_and_installed_builds() -> None:
    found = Found(modules=(LoadedModule("ib_core", srcversion_disk="B"), LoadedModule("ib_umad")))
    known = _plan.signature(found, "boot-1")
    assert _plan.signature(found._replace(modules=(LoadedModule("ib_core", srcversion_loaded="A", srcversion_disk="B"),)), "boot-1") == known
    for other in (_plan.signature(found, "boot-2"), _plan.signature(Found(modules=(LoadedModule("ib_core", srcversion_disk="C"),)), "boot-1")):
        assert other != known


def test_main(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_reload, "converge", lambda *_arguments, **_named: {"changed": False, "changes": []})
    with patch_module_args({}), pytest.raises(SystemExit):
        driver_reload.main()
    assert json.loads(capsys.readouterr().out)["changes"] == []


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", []),
        ("==> unload ib_umad\n\n", []),
        ("==> unload\n one\n\ntwo\n==> load\nthree\n", ["one | two | three"]),
        ("chatter\nmodprobe: FATAL: Module ib_umad is in use.\nmore\n", ["modprobe: FATAL: Module ib_umad is in use."]),
        ("Failed a\nplease b\nERROR c\nin use d\nrest\n", ["Failed a | please b | ERROR c | in use d"]),
    ],
)
def test_the_words_that_tell_why_are_told(monkeypatch: pytest.MonkeyPatch, log: str, words: list[str]) -> None:
    monkeypatch.setattr(jobs, "read_log", lambda name, root: log)
    found = _converge._last_words("/")
    assert found == ([" | ".join(words[0].split(" | ")[-_converge._LINES :])] if words else [])


def test_a_reload_that_still_runs_is_waited_for_and_no_other_begun(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    state = jobs.State("1", True, "unload", 1, 3, 5.0, False, 0, "", "/log", {})
    waited: list[float] = []

    def wait(_name: str, seconds: float, _root: str) -> jobs.State:
        waited.append(seconds)
        return state

    monkeypatch.setattr(jobs, "read_job", lambda name, root: state)
    monkeypatch.setattr(jobs, "wait", wait)
    assert ask(node, True)["changed"] and waited == [], "check mode waits for nothing"
    with pytest.raises(CommandFailed, match=r"still being reloaded after 31 s \(unload\); the log is /log") as caught:
        ask(node)
    assert waited == [31] and node.steps == [] and caught.value.details["job"]["running"] is True
    begun: list[str] = []
    monkeypatch.setattr(jobs, "start", lambda run, name, steps, **more: begun.append(name))
    monkeypatch.setattr(jobs, "read_job", lambda name, root: state._replace(running=False, finished=True))
    with pytest.raises(CommandFailed, match="still being reloaded"):
        ask(node)
    assert waited == [31, 31] and len(begun) == 1, "that one has ended: the wait is for the job of this run"


def test_an_attempt_that_failed_is_not_repeated_with_the_same_builds_before_a_boot(node: Node) -> None:
    node.held = {"ib_umad": 1}
    ask(node)
    node.held, tried = {}, len(node.steps)
    assert ask(node)["changes"] == [] and len(node.steps) == tried
    node.disk["mlx5_core"] = "newer"
    assert ask(node)["changes"] == [CHANGE]


def test_the_modules_in_the_result_are_those_of_the_stack(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, loaded=(*LOADED, "beegfs")), monkeypatch)
    answer = ask(node, True)
    assert sorted(module["name"] for module in answer["modules"]) == sorted(LOADED) and "job" not in answer


def test_what_holds_the_driver_is_of_the_stack_and_in_use(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = prepared(Node(tmp_path, loaded=(*LOADED, "dummy")), monkeypatch)
    node.held = {"ib_umad": 2, "dummy": 1}
    reason = ask(node, policy="force")["reasons"][0]
    assert "ib_umad has 2 users" in reason and "dummy has" not in reason and "mlx5_core has" not in reason


def test_what_only_openibd_starts_stops_with_openibd_alone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(_look, "systemd_runs", lambda root: True)
    monkeypatch.setattr(_look, "show_units", lambda run, names: asked.append(names) or {})
    for openibd in (False, True):
        _look._services(t.cast(t.Any, None), openibd, str(tmp_path))
    assert asked == [tuple(_look.CACHE), tuple(dict.fromkeys((*_look.CACHE, *_look.SERVICES)))]
    monkeypatch.setattr(_look, "systemd_runs", lambda root: False)
    assert _look._services(t.cast(t.Any, None), True, str(tmp_path)) == () and len(asked) == 2


def test_what_only_looks_like_the_root_file_system_is_a_user(node: Node) -> None:
    """Another overlay, a disk below root, a swap partition, and a process in place of a mount."""
    node.write("proc/mounts", "/dev/vda1 / ext4 rw 0 0\noverlay /var/lib/containers overlay rw 0 0\n")
    node.write("proc/swaps", "Filename Type Size Used Priority\n/dev/vda2 partition 1 0 -2\n")
    for user in (User("mount", "/scratch", "nfs"), User("mount", "/dev", "nfs"), User("process", "/", "")):
        node.users = (user,)
        assert user in look_at(node).users


@pytest.mark.parametrize(("script", "settings"), [(False, True), (True, False), (True, True)])
def test_openibd_is_there_with_its_script_and_its_settings(node: Node, script: bool, settings: bool) -> None:
    for there, name in ((script, "etc/init.d/openibd"), (settings, "etc/infiniband/openib.conf")):
        if there:
            node.write(name, "UMAD_LOAD=no\n")
    node.write("etc/modprobe.d/ib_ipoib.conf", "")
    found = look_at(node)
    both = script and settings
    assert (found.openibd, found.conf, found.aliases) == (both, "UMAD_LOAD=no\n" if both else "", both)
    if both:
        (node.root / "etc/modprobe.d/ib_ipoib.conf").unlink()
        assert not look_at(node).aliases


@pytest.mark.parametrize(("kind", "enclosed"), [("host", ""), ("vm", ""), ("container", "container"), ("chroot", "chroot")])
def test_a_host_and_a_virtual_machine_are_not_enclosed(node: Node, monkeypatch: pytest.MonkeyPatch, kind: str, enclosed: str) -> None:
    monkeypatch.setattr(_look, "read_machine", lambda root: types.SimpleNamespace(kind=kind))
    assert look_at(node).enclosed == enclosed


def test_what_gives_gpu_memory_needs_systemd(node: Node) -> None:
    node.write(_look.UNIT_PATH[1:], "[Unit]\n")
    assert look_at(node).gpudirect == ""
    (node.root / "run/systemd/system").mkdir(parents=True)
    assert look_at(node).gpudirect == os.path.basename(_look.UNIT_PATH)


def test_an_attempt_that_ended_well_or_with_other_builds_is_none_that_failed(node: Node) -> None:
    node.held = {"ib_umad": 1}
    ask(node)
    assert "failed; the log is" in look_at(node).failed_before
    node.write("proc/sys/kernel/random/boot_id", "boot-2\n")
    assert _look.look(node, release=RELEASE, environ={}, root=str(node.root), pid=1).failed_before == ""
    node.held = {}
    ask(node, policy="force")
    assert look_at(node).failed_before == ""


def test_the_modules_of_the_stack_alone_are_put_back(tmp_path: pathlib.Path) -> None:
    """Only files of loaded modules from the same build are put back."""
    node = Node(tmp_path, loaded=("ib_core", "beegfs"))
    for name in ("kernel/ib_core.ko", "kernel/ib_core.txt", "updates/dkms/ib_core.ko", "kernel/ib_umad.ko"):
        node.write("lib/modules/%s/%s" % (RELEASE, name), "")
    asked: list[t.Sequence[str]] = []

    def run(argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        asked.append(argv)
        return node(argv, ok, timeout)

    top = str(tmp_path / "lib/modules" / RELEASE)
    modules = tuple(LoadedModule(name, srcversion_loaded="old") for name in ("ib_core", "beegfs"))
    found = _look.former_files(modules, t.cast(t.Any, run), release=RELEASE, root=str(tmp_path))
    assert found == {"ib_core": top + "/kernel/ib_core.ko"}
    assert asked == [["modinfo", top + "/kernel/ib_core.ko", top + "/updates/dkms/ib_core.ko"]]


@pytest.mark.parametrize(
    ("following", "stacks", "loaded", "meant_for"),
    [
        ("6.9", {"6.9": "ofed", RELEASE: "inbox"}, "mlx_compat", "6.9"),
        # The running kernel has the modules too, or the next one has none, or the next one is the running one.
        ("6.9", {"6.9": "ofed", RELEASE: "ofed"}, "mlx_compat", ""),
        ("6.9", {"6.9": "inbox", RELEASE: "inbox"}, "mlx_compat", ""),
        (RELEASE, {"6.9": "ofed", RELEASE: "ofed"}, "mlx_compat", ""),
        # The kernel's own modules are loaded: none was replaced.
        ("6.9", {"6.9": "ofed", RELEASE: "inbox"}, "ib_core", ""),
    ],
)
def test_modules_that_were_made_for_the_next_kernel(
    monkeypatch: pytest.MonkeyPatch, following: str, stacks: dict[str, str], loaded: str, meant_for: str
) -> None:
    kernels = [types.SimpleNamespace(release=release, stack=stack) for release, stack in stacks.items()]
    monkeypatch.setattr(_look, "read_kernels", lambda root, release: kernels)
    monkeypatch.setattr(_look, "read_next_boot", lambda root: types.SimpleNamespace(release=following))
    assert _look._meant_for((LoadedModule(loaded),), RELEASE, "/") == meant_for


def look_at(node: Node) -> Found:
    node.save()
    return _look.look(node, release=RELEASE, environ={}, root=str(node.root), pid=1)
