# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Third-party modules through an upgrade of a vendor's stack: real depmod and modprobe, with modules that contain the versions of their symbols and no code."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
import records
from cluster import Cluster, Run
from common import ROOT
from proofs import LOOK_ALIKE

NODE = "node2"
VERSION, OTHER = "23.10-0.5.5.0", "24.10-0.7.0.0"
CONSENT = {"rdma_allow_upgrade": True}
TOY = "python3 /srv/toy_module.py"
DKMS_CONF = """PACKAGE_NAME=toydkms
PACKAGE_VERSION=1.0
MAKE[0]="%s ./toydkms.ko $kernelver ib_core"
BUILT_MODULE_NAME[0]=toydkms
DEST_MODULE_LOCATION[0]=/updates/dkms
AUTOINSTALL=no
"""
HOOK = """
- name: Build the toy
  ansible.builtin.command: "%s /lib/modules/{{ item.kernel }}/{{ item.path }} {{ item.kernel }} %s"
  loop: "{{ ofed_rebuild_modules }}"
  changed_when: false
- name: Run depmod
  ansible.builtin.command: depmod
  changed_when: false
"""


def site(lab: Cluster, variables: t.Mapping[str, t.Any], *arguments: str, fails: bool = False) -> Run:
    run = lab.play("site", "--limit", NODE, "--tags", "ofed", "-e", json.dumps(variables), *arguments)
    assert (run.status != 0) is fails, run.output
    return run


def shell(lab: Cluster, script: str) -> str:
    done = lab.shell(NODE, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def stacks(lab: Cluster, tmp_path: pathlib.Path) -> collections.abc.Iterator[dict[str, dict[str, t.Any]]]:
    """Yield the variables that declare each of two releases. The first is installed, with three third-party modules, of which two are built on it."""
    subprocess.run([sys.executable, str(ROOT / "tests/lab/stacks/build.py"), "--into", str(tmp_path)], check=True, timeout=1800)
    bundles = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["bundles"]
    shell(lab, "mkdir /srv/stacks")
    names = [pathlib.Path(bundles[version]["archive"]).name for version in (VERSION, OTHER)]
    for path in (*(tmp_path / name for name in (*names, "distribution")), ROOT / "tests/acceptance/toy_module.py"):
        target = "/srv/" if path.suffix == ".py" else "/srv/stacks/"
        subprocess.run(["docker", "cp", str(path), "%s-%s:%s" % (lab.lab[-1], NODE, target)], check=True, timeout=300)
    shell(lab, "echo 'deb [trusted=yes] file:/srv/stacks/distribution ./' >/etc/apt/sources.list.d/standin.list && apt-get update -q")
    declared = {
        version: {"ofed_source": "mlnx_ofed", "ofed_version": version, "ofed_packages": "basic", "ofed_bundle": "/srv/stacks/" + name, **CONSENT}
        for version, name in zip((VERSION, OTHER), names)
    }
    site(lab, declared[VERSION])
    conf = DKMS_CONF % TOY
    shell(
        lab,
        "set -e; k=$(uname -r); %s /lib/modules/$k/extra/toylnd.ko $k ib_core; %s /lib/modules/$k/extra/toyplain.ko $k; mkdir -p /usr/src/toydkms-1.0; "
        "cat >/usr/src/toydkms-1.0/dkms.conf <<'END'\n%sEND\ndkms install -m toydkms -v 1.0 -k $k; depmod" % (TOY, TOY, conf),
    )
    yield declared
    lab.shell(NODE, "dkms remove -m toydkms -v 1.0 --all; rm -rf /usr/src/toydkms-1.0 /lib/modules/*/extra/toy* /srv/toy_module.py; depmod")
    site(lab, CONSENT)
    lab.shell(NODE, "rm -rf /srv/stacks /etc/apt/sources.list.d/standin.list; apt-get update -q")


@pytest.mark.proves("third_party", debian12=LOOK_ALIKE)
def test_what_was_built_on_the_stack_is_named_before_an_upgrade_and_rebuilt(lab: Cluster, stacks: dict[str, dict[str, t.Any]], tmp_path: pathlib.Path) -> None:
    before = shell(lab, "cksum /lib/modules/*/extra/toyplain.ko")
    missing = site(lab, {**stacks[OTHER], "ofed_rebuild_tasks": str(tmp_path / "none.yml")}, fails=True)
    assert "ofed_rebuild_tasks is '%s'" % (tmp_path / "none.yml") in missing.output and "there is no such file" in missing.output, missing.output
    hook = tmp_path / "rebuild.yml"
    hook.write_text(HOOK % (TOY, "ib_core"), encoding="utf-8")
    declared = {**stacks[OTHER], "ofed_rebuild_tasks": str(hook)}
    predicted = site(lab, declared, "--check", "--diff")
    words = str(records.changes(predicted.events)) + predicted.output
    assert "rebuilt by %s" % hook in words and "rebuilt by dkms install -m toydkms -v 1.0 -k" in words, words
    assert "toylnd" in words and "toyplain" not in words, words
    # Tasks that do not help end the run before the driver is touched, with the name of the module.
    useless = tmp_path / "useless.yml"
    useless.write_text(HOOK % ("true", ""), encoding="utf-8")
    failed = site(lab, {**declared, "ofed_rebuild_tasks": str(useless)}, fails=True)
    assert "toylnd.ko does not fit the stack on disk" in failed.output and "ib_core_standin" in failed.output, failed.output
    # The next run finds by the record what is left.
    done = site(lab, declared)
    assert "rebuilt by %s" % hook in str(records.changes(done.events)) + done.output
    assert shell(lab, "cksum /lib/modules/*/extra/toyplain.ko") == before
    assert shell(lab, "ls /var/lib/rdma.ofed").count("third_party.json") == 0
    for check in (["--check"], []):
        assert records.changes(site(lab, declared, *check).events) == {}


@pytest.mark.long
@pytest.mark.proves("third_party", debian12=LOOK_ALIKE)
def test_without_tasks_what_dkms_does_not_manage_is_pending_and_check_mode_predicts_it(lab: Cluster, stacks: dict[str, dict[str, t.Any]]) -> None:
    predicted = site(lab, stacks[OTHER], "--check", "--diff")
    done = site(lab, stacks[OTHER])
    assert records.differences(predicted.events, done.events) == []
    for run in (predicted, done):
        assert "toylnd" in run.output and "ofed_rebuild_tasks" in run.output and "toyplain" not in run.output, run.output
    # A site that rebuilds it by hand is left alone.
    shell(lab, "set -e; k=$(uname -r); %s /lib/modules/$k/extra/toylnd.ko $k ib_core; depmod" % TOY)
    again = site(lab, stacks[OTHER])
    assert "toylnd" not in again.output and records.changes(again.events) == {}, again.output
    # The way back to the distribution: its ib_core lacks the symbol.
    gone = site(lab, CONSENT)
    assert "toylnd" in gone.output, gone.output
