# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts around the decision: files, symptoms, the source of nv_peer_mem, and the plan."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import PEER_MEMORY, Family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import DEBIAN, FAMILIES, RED_HAT, SUSE
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import OPTIONS_PATH, STAMP_PATH, UNIT, UNIT_PATH, Device, Gpu, Path, Peer, PeerMemory
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu_driver import Driver
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _apply, _legacy, _legacy_build, _plan, _symptoms
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import Method
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._source import Source, tools
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from ansible_collections.rdma.ofed.plugins.module_utils._tools._apt import parse_dpkg_database
from hypothesis import given
from hypothesis import strategies as st

KERNEL = "6.1.0-50-amd64"
COMMIT = "d9a0a126bc31279e63e4b47bfb59ee767cea7aad"
INVALID = "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument\n"
UNKNOWN = "modprobe: ERROR: could not insert 'nvidia_peermem': Unknown symbol in module, or unknown parameter (see dmesg)\n"


def test_the_unit_follows_openibd(tmp_path: pathlib.Path) -> None:
    text = _plan.UNIT_TEXT.format(file="nvidia_current_peermem")
    lines = text.splitlines()
    assert "PartOf=openibd.service" in lines
    assert "ExecStart=/usr/bin/env modprobe nvidia_current_peermem" in lines
    assert next(line for line in lines if line.startswith("After=")).split()[-1] == "openibd.service"
    assert next(line for line in lines if line.startswith("WantedBy=")).split()[-1] == "openibd.service"
    if shutil.which("systemd-analyze"):
        path = tmp_path / UNIT
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", str(path)], check=False, capture_output=True, text=True)
        assert UNIT not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("declared", "ofed", "support"),
    [("auto", "23.10-0.5.5.0", ""), ("auto", "4.9-2.2.4.0", "1"), ("auto", "", ""), ("0", "4.9-2.2.4.0", "0"), ("1", "23.10", "1")],
)
def test_the_legacy_interface_is_for_legacy_releases(declared: str, ofed: str, support: str) -> None:
    assert _plan.support_of(declared, ofed) == support
    assert _plan.options_text("nvidia_peermem", support).endswith("peerdirect_support=%s\n" % support if support else "")
    assert bool(_plan.options_text("nvidia_peermem", support)) == bool(support)


@pytest.mark.parametrize(
    ("said", "log", "meaning"),
    [
        (INVALID, "", "built without peer memory"),
        (
            INVALID,
            "[  12.1] nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client\n",
            "the GPU driver was built against a different build",
        ),
        (UNKNOWN, "[  12.1] nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -2)\n", "the loaded ib_core has no peer memory"),
        (
            "modprobe: ERROR: could not insert 'nvidia_peermem': Key was rejected by service\n",
            "[ 1.0] Loading of module with unavailable key\n",
            "Secure Boot refuses it",
        ),
        ("modprobe: ERROR: could not insert 'nvidia_peermem': Required key not available\n", "", "Secure Boot refuses it"),
        ("modprobe: ERROR: could not insert 'nvidia': No such device\n", "[ 2.0] NVRM: No NVIDIA GPU found.\n", "found no GPU"),
        ("modprobe: FATAL: Module nvidia_peermem not found in directory /lib/modules/6.1.0\n", "", "has no such module"),
        ("modprobe: ERROR: could not insert 'nvidia_peermem': Cannot allocate memory\n", "", ""),
    ],
)
def test_symptoms_are_told_apart(said: str, log: str, meaning: str) -> None:
    text = _symptoms.explain("nvidia_peermem", said, log)
    assert " ".join(said.split()) in text
    known = [symptom.meaning for symptom in _symptoms.SYMPTOMS if "%s. Next step: %s" % (symptom.meaning, symptom.next_step) in text]
    assert len(known) == (1 if meaning else 0)
    assert meaning in "".join(known)


@pytest.mark.parametrize(
    ("symbol", "meaning", "step"),
    [
        ("nvidia_p2p_get_pages", "built for a different GPU driver", "reboot if the installed GPU driver"),
        ("ib_register_peer_memory_client", "it was built against a different build", "driver_reload"),
    ],
)
def test_what_nv_peer_mem_disagrees_with(symbol: str, meaning: str, step: str) -> None:
    """A build of the GPU driver would not help it."""
    said = INVALID.replace("nvidia_peermem", "nv_peer_mem")
    log = "[  12.1] nv_peer_mem: disagrees about version of symbol %s\n[  12.1] nv_peer_mem: Unknown symbol %s (err -22)\n" % (symbol, symbol)
    text = _symptoms.explain("nv_peer_mem", said, log)
    assert meaning in text
    assert step in text
    assert "gpudirect_allow_rebuild" not in text


def test_the_log_of_other_modules_says_nothing() -> None:
    assert _symptoms.explain("nvidia_peermem", INVALID, "[ 3.0] ib_srp: Unknown symbol x\n") == _symptoms.explain("nvidia_peermem", INVALID, "")


def test_dkms_builds_anew_what_it_has_built() -> None:
    steps = _apply.rebuild_steps("nvidia/535.104.05", KERNEL, False)
    assert [step.argv[:2] for step in steps] == [("dkms", "remove"), ("dkms", "add"), ("dkms", "install"), ("rm", "-rf")]
    assert steps[-2].argv[2:] == ("-m", "nvidia", "-v", "535.104.05", "-k", KERNEL)
    assert steps[-2].ok == (0,)
    assert steps[-1].always


def test_what_is_built_goes_after_a_build_aside_has_ended_well() -> None:
    steps = _apply.rebuild_steps("nvidia/535.104.05", KERNEL, True)
    before = steps[: [step.argv[:2] for step in steps].index(("dkms", "remove"))]
    assert before[-1].argv == ("dkms", "build", "--dkmstree", _apply.TRIAL, "-m", "nvidia", "-v", "535.104.05", "-k", KERNEL)
    assert all(step.ok == (0,) for step in before)
    assert all(_apply.TRIAL in step.argv for step in before)
    assert steps[len(before) :] == _apply.rebuild_steps("nvidia/535.104.05", KERNEL, False)


STAMP = _legacy.Stamp(COMMIT, KERNEL, "4.9-2.2.4.0", "460.91.03")


@pytest.mark.parametrize(
    ("found", "there", "why"),
    [
        (STAMP, True, ""),
        (_legacy.Stamp(), True, "not built yet"),
        (STAMP, False, "missing for kernel " + KERNEL),
        (STAMP._replace(kernel="6.1.0-49-amd64"), True, "built for kernel 6.1.0-49-amd64"),
        (STAMP._replace(driver="460.32.03"), True, "built for GPU driver 460.32.03"),
        (STAMP._replace(driver=""), True, ""),
        (STAMP._replace(ofed="4.9-1", source="a" * 40), True, "built for source %s, OFED 4.9-1" % ("a" * 40)),
    ],
)
def test_when_it_is_built_again(found: _legacy.Stamp, there: bool, why: str) -> None:
    assert _legacy.why_build(found, STAMP, there) == why


def test_symbol_versions_tell_more_than_releases() -> None:
    assert _legacy.why_build(STAMP, STAMP, True, other_build=True) == "built on another build of the stack"
    assert _legacy.why_build(STAMP._replace(driver=""), STAMP, True, other_build=True) == "built on another build of the stack"
    assert _legacy.why_build(STAMP._replace(ofed="5.0"), STAMP, True, other_build=True) == "built for OFED 5.0"


@given(st.builds(_legacy.Stamp, st.text(), st.text(), st.text(), st.text()))
def test_the_stamp_survives_its_file(stamp: _legacy.Stamp) -> None:
    assert _legacy.parse_stamp(_legacy.stamp_text(stamp)) == stamp


@given(st.text())
def test_a_stamp_of_anything(text: str) -> None:
    assert isinstance(_legacy.parse_stamp(text), _legacy.Stamp)


def test_steps_for_a_repository_and_for_an_archive() -> None:
    git = _legacy.steps(
        DEBIAN,
        Source("https://example.org/nv.git", COMMIT),
        STAMP,
        install=("apt-get", "-y", "install", "git"),
        network={"https_proxy": "http://proxy:3128"},
    )
    assert [step.argv[0] for step in git[:4]] == ["rm", "mkdir", "apt-get", "git"]
    assert git[4].argv[-1] == COMMIT
    assert dict(git[3].environment) == {"https_proxy": "http://proxy:3128", "GIT_TERMINAL_PROMPT": "0"}
    assert git[-1].always
    assert git[-2].argv[-2:] == (STAMP_PATH, _legacy.stamp_text(STAMP)), "the job itself remembers what it installed"
    archive = _legacy.steps(RED_HAT, Source("/srv/nv.tar.gz", COMMIT, "sha256:" + "0" * 64), STAMP, install=(), network={})
    assert [step.stage for step in archive[2:6]] == ["comparing the checksum", "unpacking the source", _legacy.BUILDING, _legacy.INSTALLING]
    assert "git" in tools(SUSE, Source("https://x")) and "git" not in tools(SUSE, Source("/x"))
    assert Source("/srv/nv.tar.gz", COMMIT, "sha256:1").identity == "sha256:1"


DPKG = """\
Package: nvidia-peer-memory
Status: install ok half-configured
Version: 1.2-0
Description: kernel module
 Status: not-installed

Package: nvidia-peer-memory-dkms
Status: %s
Version: 1.2-0

Package: nvidia-driver
Status: install ok installed
"""


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("install ok installed", ("nvidia-peer-memory-dkms", "nvidia-peer-memory")),
        ("deinstall ok config-files", ("nvidia-peer-memory-dkms", "nvidia-peer-memory")),
        ("purge ok not-installed", ("nvidia-peer-memory",)),
    ],
)
def test_the_packages_that_are_there(status: str, names: tuple[str, ...]) -> None:
    found = parse_dpkg_database(DPKG % status, DEBIAN.packages[PEER_MEMORY], remnants=True)
    assert tuple(name for name in DEBIAN.packages[PEER_MEMORY] if name in found) == names
    assert (
        *DEBIAN.manager.erase,
        "nvidia-peer-memory",
    ) == ("dpkg", "--purge", "nvidia-peer-memory")
    assert (
        *SUSE.manager.erase,
        "nvidia_peer_memory",
    ) == ("rpm", "--erase", "nvidia_peer_memory")


def programs(folder: pathlib.Path, **scripts: str) -> None:
    for name, text in scripts.items():
        path = folder / name.replace("_", "-")
        path.write_text("#!/bin/bash\nset -e\n" + text, encoding="utf-8")
        path.chmod(0o755)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_build_takes_what_the_source_says_it_built(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, family: Family) -> None:
    """The stand-in programs create the same files as the real ones and record their calls."""
    tree, work, bins = tmp_path / "source", tmp_path / "work", tmp_path / "bin"
    for folder in (tree, work, bins, tmp_path / "made/nvidia-peer-memory-1.0"):
        folder.mkdir(parents=True)
    built = tmp_path / ("nvidia-peer-memory_1.0.orig.tar.gz" if family.manager.packaging == "deb" else "nvidia_peer_memory-1.0-8.src.rpm")
    # As in 1.0: options after the names.
    packed = "cd %s && tar czf %s nvidia-peer-memory-1.0 --exclude=.* --exclude=build_release.sh || exit 1\n" % (tmp_path / "made", built)
    make = packed if family.manager.packaging == "deb" else "touch %s\n" % built
    (tree / "build_module.sh").write_text("%secho\necho Built: %s\n" % (make, built), encoding="utf-8")
    log = tmp_path / "calls"
    programs(
        bins,
        dpkg_buildpackage="echo buildpackage $* >>%s; touch ../nvidia-peer-memory-dkms_1.0-8_all.deb ../nvidia-peer-memory_1.0-8_all.deb\n" % log,
        rpmbuild='echo rpmbuild $* >>%s; mkdir -p "${3#_topdir }/RPMS/x86_64"; touch "${3#_topdir }/RPMS/x86_64/nvidia_peer_memory-1.0-8.x86_64.rpm"\n' % log,
        dpkg="echo dpkg $* >>%s\n" % log,
        rpm="echo rpm $* >>%s\n" % log,
    )
    monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % bins)
    _legacy_build.build(family.manager.packaging, str(tree), str(work), kernel=KERNEL)
    assert not built.exists(), "what it leaves in /tmp is taken away"
    stamp = tmp_path / "stamp.json"
    _legacy_build.install(family.manager.packaging, str(work), str(stamp), text=_legacy.stamp_text(STAMP), options=family.peer_memory_options)
    assert _legacy.parse_stamp(stamp.read_text(encoding="utf-8")) == STAMP
    assert (stamp.stat().st_mode & 0o777, sorted(tmp_path.glob("stamp*"))) == (0o644, [stamp])
    first, second = log.read_text(encoding="utf-8").splitlines()
    if family.manager.packaging == "deb":
        assert first == "buildpackage -us -uc -b"
        assert [name.rpartition("/")[2] for name in second.split()[2:]] == ["nvidia-peer-memory_1.0-8_all.deb", "nvidia-peer-memory-dkms_1.0-8_all.deb"]
    else:
        assert "--define KVERSION %s" % KERNEL in first
        assert ("--nodeps" in second) == (family == SUSE)


def test_a_build_that_fails_says_where(tmp_path: pathlib.Path) -> None:
    (tmp_path / "build_module.sh").write_text("echo no compiler; exit 3\n", encoding="utf-8")
    with pytest.raises(_legacy_build.Failed, match="exit status 3"):
        _legacy_build.build("deb", str(tmp_path), str(tmp_path / "work"), kernel=KERNEL)
    (tmp_path / "build_module.sh").write_text("exit 0\n", encoding="utf-8")
    with pytest.raises(_legacy_build.Failed, match="did not report"):
        _legacy_build.build("deb", str(tmp_path), str(tmp_path / "work"), kernel=KERNEL)


def test_an_installation_that_fails_is_not_remembered(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(tmp_path, rpm="exit 1\n")
    monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % tmp_path)
    with pytest.raises(_legacy_build.Failed, match="rpm failed"):
        _legacy_build.install("rpm", str(tmp_path), str(tmp_path / "stamp.json"), text="{}")
    assert not (tmp_path / "stamp.json").exists()


def test_the_checksum_of_an_archive(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nv.tar.gz"
    path.write_bytes(b"source")
    _legacy_build.check(str(path), "sha256:" + hashlib.sha256(b"source").hexdigest())
    with pytest.raises(_legacy_build.Failed, match="instead of"):
        _legacy_build.check(str(path), "sha256:" + "0" * 64)


PEER = Peer("nvidia_peermem", "nvidia_peermem", linked=True)
GPU = Gpu(
    devices=(Device("0000:1a:00.0", driver="nvidia"),),
    driver=Driver("535.104.05", "open", True, "nvidia/535.104.05"),
    peers=(PEER, Peer("nv_peer_mem")),
    peer_memory=PeerMemory("ib_core", "ib_core", True),
)
BARE = Found(gpu=GPU, kernel=KERNEL, stack="mlnx_ofed", ofed_version="23.10-0.5.5.0")
PEERMEM = Method("nvidia_peermem", "")
WANTED = Wanted(source=Source("https://example.org/nv.git", COMMIT))


def words(found: Found, method: Method = PEERMEM, wanted: Wanted = WANTED) -> list[str]:
    return [change.words() for change in _plan.plan(found, wanted, method).changes]


def late(found: Found, wanted: Wanted, method: Method) -> list[str]:
    return [entry.words() for entry in _plan.pending(found, wanted, method)]


def made(found: Found = BARE, support: str = "") -> Found:
    """Return the node after a run."""
    peer = PEER._replace(loaded=True, peerdirect_support=support or "0")
    files = {UNIT_PATH: _plan.UNIT_TEXT.format(file="nvidia_peermem"), OPTIONS_PATH: _plan.options_text("nvidia_peermem", support)}
    unit = Unit(UNIT, load="loaded", active="active", enabled="enabled")
    return found._replace(gpu=found.gpu._replace(peers=(peer, Peer("nv_peer_mem"))), files=files, unit=unit)


def test_nothing_is_kept_for_the_boot_that_was_not_loaded_before() -> None:
    assert words(BARE) == [
        "module nvidia_peermem: not loaded -> loaded",
        "create file " + UNIT_PATH,
        "service rdma-ofed-gpudirect.service enabled: no -> yes",
        "service rdma-ofed-gpudirect.service: inactive -> active",
    ]
    assert words(made()) == []
    assert words(BARE, PEERMEM._replace(rebuild=True))[0] == "kernel %s GPU driver: not built on the stack -> built on it" % KERNEL


def test_what_the_loaded_stack_has_not_waits_for_the_one_on_disk() -> None:
    found = BARE._replace(gpu=GPU._replace(peer_memory=PeerMemory("ib_core", "", True)))
    assert words(found) == ["create file " + UNIT_PATH, "service rdma-ofed-gpudirect.service enabled: no -> yes"]
    assert late(found, WANTED, PEERMEM) == ["module nvidia_peermem: not loaded -> loaded (needs driver_reload)"]
    unloaded = BARE._replace(gpu=GPU._replace(peer_memory=PeerMemory("ib_core", "", False)))
    assert "module nvidia_peermem: not loaded -> loaded" in words(unloaded)
    assert late(unloaded, WANTED, PEERMEM) == []


def test_the_parameter_of_a_loaded_module() -> None:
    legacy = made()._replace(ofed_version="4.9-2.2.4.0")
    assert words(legacy) == ["create file " + OPTIONS_PATH, "module option nvidia_peermem peerdirect_support: 0 -> 1"]
    assert words(made(legacy, "1")) == []
    peer = legacy.gpu.peer("nvidia_peermem")._replace(users=3)
    used = legacy._replace(gpu=legacy.gpu._replace(peers=(peer,)))
    assert words(used) == ["create file " + OPTIONS_PATH]
    assert "needs reboot; in use by 3" in late(used, WANTED, PEERMEM)[0]


@pytest.mark.parametrize("name", ["", "dmabuf"])
def test_what_is_not_needed_goes(name: str) -> None:
    method = Method(name, "")
    assert words(BARE, method) == []
    assert words(made(support="1"), method) == [
        "module nvidia_peermem: loaded -> not loaded",
        "service rdma-ofed-gpudirect.service enabled: yes -> no",
        "remove file " + UNIT_PATH,
        "remove file " + OPTIONS_PATH,
    ]
    # Loaded by other software, which keeps it; in use, it goes with the next boot.
    loaded = GPU._replace(peers=(PEER._replace(loaded=True),))
    assert words(BARE._replace(gpu=loaded), method) == []
    used = made()._replace(gpu=GPU._replace(peers=(PEER._replace(loaded=True, users=1),)))
    assert "module nvidia_peermem: loaded -> not loaded" not in words(used, method)
    assert late(used, WANTED, method) == ["module nvidia_peermem: loaded -> not loaded (needs reboot; in use by 1 registrations)"]
    assert late(BARE._replace(gpu=used.gpu), WANTED, method) == [], "not ours"
    assert late(used, WANTED, PEERMEM) == []


LEGACY = Method("nv_peer_mem", "")


def with_legacy(found: Found = BARE, wanted: Wanted = WANTED) -> Found:
    peer = Peer("nv_peer_mem", "nv_peer_mem", linked=True, loaded=True)
    files = {STAMP_PATH: _legacy.stamp_text(_plan.wanted_stamp(found, wanted))}
    return found._replace(gpu=found.gpu._replace(peers=(PEER, peer)), files=files, service_enabled=True, packages=DEBIAN.packages[PEER_MEMORY])


def test_nv_peer_mem_is_not_built_before_the_stack_is_loaded() -> None:
    waiting = BARE._replace(gpu=GPU._replace(peer_memory=PeerMemory("ib_core", "", True)))
    assert words(waiting, LEGACY) == []
    assert late(waiting, WANTED, LEGACY) == ["module nv_peer_mem: not loaded -> loaded (needs driver_reload)"]
    # Leftovers of another method are never pending.
    both = made()._replace(gpu=made().gpu._replace(peer_memory=waiting.gpu.peer_memory))
    assert words(both, LEGACY)[0] == "module nvidia_peermem: loaded -> not loaded"


def test_nv_peer_mem() -> None:
    first = words(BARE, LEGACY)
    assert [line.partition(":")[0] for line in first] == [
        "package nv_peer_mem",
        "create file " + STAMP_PATH,
        "service nv_peer_mem enabled",
        "module nv_peer_mem",
    ]
    assert words(with_legacy(), LEGACY) == []
    changed = WANTED._replace(source=WANTED.source._replace(commit="a" * 40))
    assert words(with_legacy(), LEGACY, changed)[0].startswith("package nv_peer_mem: built for source %s -> built from aaaa" % COMMIT)
    assert words(with_legacy(), Method("", "")) == ["package nv_peer_mem: installed -> not installed", "remove file " + STAMP_PATH]
    # The package was removed by hand, which leaves the module in the kernel.
    removed = with_legacy()._replace(packages=())
    assert words(removed, Method("", "")) == ["module nv_peer_mem: loaded -> not loaded", "remove file " + STAMP_PATH]
    unloaded = removed._replace(gpu=GPU)
    assert words(unloaded, Method("", "")) == ["remove file " + STAMP_PATH]
    # An earlier release of the collection did not record the GPU driver.
    old = '{"kernel": "%s", "ofed": "23.10-0.5.5.0", "source": "%s"}\n' % (KERNEL, COMMIT)
    unknown = with_legacy()._replace(files={STAMP_PATH: old})
    assert words(unknown, LEGACY) == []
    other = unknown.gpu.peer("nv_peer_mem")._replace(other_build=True)
    rebuilt = words(unknown._replace(gpu=unknown.gpu._replace(peers=(PEER, other))), LEGACY)
    assert rebuilt[0].startswith("package nv_peer_mem: built on another build of the stack -> built from ")
    assert rebuilt[1:] == ["edit file " + STAMP_PATH]
    upgraded = with_legacy()._replace(gpu=with_legacy().gpu._replace(driver=Driver("460.91.03")))
    assert words(upgraded, LEGACY)[0].startswith("package nv_peer_mem: built for GPU driver 535.104.05 -> ")
    # Its successor replaces it.
    assert words(with_legacy())[0] == "package nv_peer_mem: installed -> not installed"


FOUND = st.builds(
    lambda base, waits, users, support: base._replace(
        gpu=base.gpu._replace(
            peer_memory=PeerMemory("ib_core", "" if waits else "ib_core", True),
            peers=tuple(peer._replace(users=users) if peer.loaded else peer for peer in base.gpu.peers),
        ),
        ofed_version=support,
    ),
    st.sampled_from([BARE, made(), made(support="1"), with_legacy()]),
    st.booleans(),
    st.integers(0, 2),
    st.sampled_from(["", "4.9-2.2.4.0", "23.10-0.5.5.0"]),
)


@given(FOUND, st.sampled_from(["", "nvidia_peermem", "dmabuf", "nv_peer_mem"]), st.sampled_from(["auto", "0", "1"]), st.booleans())
def test_plans_change_something_and_never_unload_what_is_in_use(found: Found, method: str, support: str, rebuild: bool) -> None:
    todo = _plan.plan(found, WANTED._replace(support=support), Method(method, "", (), rebuild))
    for change in todo.changes:
        assert change.before != change.after
        assert not (change.is_about(Kind.MODULE, "nvidia_peermem") and change.after == _plan.UNLOADED and found.gpu.peer("nvidia_peermem").users)
    assert [change.key() for change in todo.changes] == list(dict.fromkeys(change.key() for change in todo.changes))


def test_what_the_build_takes_is_named() -> None:
    first = words(BARE._replace(missing_tools=("debhelper", "dpkg-dev")), LEGACY)[0]
    assert first.endswith("for kernel %s, for which debhelper, dpkg-dev are installed" % KERNEL)


@pytest.mark.parametrize(("ofed", "said"), [("4.9-2.2.4.0", False), ("5.0-2.1.8.0", False), ("5.1", True), ("23.10-0.5.5.0", True), ("", False)])
def test_an_old_source_on_a_new_stack(ofed: str, said: bool) -> None:
    found = BARE._replace(ofed_version=ofed)
    hints = _plan.old_commit(found, WANTED, _plan.plan(found, WANTED, LEGACY))
    assert bool(hints) == said
    assert not said or "and this node has %s, which needs 1.2 or later" % ofed in hints[0]
    newer = WANTED._replace(source=WANTED.source._replace(commit="a" * 40))
    assert _plan.old_commit(found, newer, _plan.plan(found, newer, LEGACY)) == []
    there = with_legacy()
    assert _plan.old_commit(there, WANTED, _plan.plan(there, WANTED, LEGACY)) == [], "it works there"


def test_hints() -> None:
    assert _plan.hints(GPU) == []
    far = GPU._replace(topology=(Path("0000:1a:00.0", "mlx5_0", "SYS"),))
    assert "between processors" in _plan.hints(far)[0]
    redirected = GPU._replace(topology=(Path("0000:1a:00.0", "mlx5_0", "PIX", ("0000:19:00.0",)), Path("0000:1a:00.0", "mlx5_1", "SYS")))
    (hint,) = _plan.hints(redirected)
    assert "ACS" in hint and "0000:19:00.0" in hint


def test_the_unit_of_the_job_is_not_that_of_the_module() -> None:
    """systemd-run refuses the name of an existing unit."""
    assert "rdma-ofed-%s.service" % _apply.JOB != UNIT
