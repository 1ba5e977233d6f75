# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every example of docs/network_boot.md, applied to an emulated card by the real tool."""

from __future__ import annotations

import collections.abc
import re
import typing as t

import pytest
import records
import yaml
from cluster import Cluster
from common import ROOT
from proofs import LOOK_ALIKE

NODE, ADAPTER = "node2", "03:00.0"
EXAMPLES = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/network_boot.md").read_text("utf-8"), re.M | re.S)]
SECOND, SHOWN = "once more", "the tool shows"
# The node is a container; its adapter is emulated.
ROLE = {"rdma_allow_container": True, "hca_firmware_install_tools": False}


def title(example: dict[str, t.Any]) -> str:
    entry = example["hca_firmware_config"][0]
    return "-".join(entry.get("names") or entry["parameters"])


@pytest.fixture(scope="module")
def card(lab: Cluster) -> collections.abc.Iterator[Cluster]:
    """Yield a node with the tool, and a card that differs from its defaults in the parameters of the examples."""
    different = "BOOT_PKEY=1 BOOT_VLAN_EN=1 BOOT_RETRY_CNT=UNLIMITED IP_VER=IPv6 LEGACY_BOOT_PROTOCOL=ISCSI LINK_TYPE_P1=ETH UEFI_HII_EN=0"
    install = "DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends mstflint pciutils"
    done = lab.shell(NODE, "%s >/dev/null && mstconfig -y -d %s set %s" % (install, ADAPTER, different))
    assert done.returncode == 0, done.stdout + done.stderr
    yield lab
    lab.shell(NODE, "mstconfig -y -d %s reset; apt-get purge -qq -y mstflint pciutils >/dev/null" % ADAPTER)


def values(output: str) -> dict[str, tuple[set[str], set[str]]]:
    """Return default and next value of each parameter in all spellings: "PXE(1)" is pxe and 1."""
    rows = re.findall(r"^\*?\s+([A-Z]\w+)\s+(\S+)\s+\S+\s+(\S+)\s*$", output, re.M)
    return {name: (set(re.findall(r"\w+", default.lower())), set(re.findall(r"\w+", following.lower()))) for name, default, following in rows}


class Done(t.NamedTuple):
    """Results of two runs with an example, and the tool's output afterwards."""

    first: list[records.Event]
    second: list[records.Event]
    shown: str


@pytest.fixture(scope="module")
def done(card: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Run all examples, one after the other in one playbook."""
    steps: list[dict[str, t.Any]] = []
    for example in EXAMPLES:
        role = {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware"}, "vars": {**example, **ROLE}}
        query = {"ansible.builtin.command": {"argv": ["mstconfig", "-d", ADAPTER, "-e", "query"]}, "register": "query", "changed_when": False}
        steps += [role, {"ansible.builtin.debug": {"msg": SECOND}}, role, query, {"ansible.builtin.debug": {"msg": SHOWN + "{{ query.stdout }}"}}]
    playbook = tmp_path_factory.mktemp("boot") / "examples.yml"
    playbook.write_text(yaml.safe_dump([{"hosts": NODE, "gather_facts": False, "tasks": steps}]), encoding="utf-8")
    run = card.play(str(playbook))
    assert run.status == 0, run.output
    found, events = {}, run.events
    for example in EXAMPLES:
        first, second = _until(events, SECOND), _until(events, SHOWN)
        found[title(example)] = Done(events[:first], events[first:second], str(events[second]["msg"]))
        events = events[second + 1 :]
    return found


def _until(events: list[records.Event], words: str) -> int:
    return next(number for number, event in enumerate(events) if str(event.get("msg")).startswith(words))


def test_the_document_has_its_examples() -> None:
    assert len(EXAMPLES) >= 7
    assert all(set(example) == {"hca_firmware_config"} for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=title)
@pytest.mark.proves("parameters", debian12=LOOK_ALIKE)
def test_example_is_set_for_the_next_boot_and_then_unchanged(done: dict[str, Done], example: dict[str, t.Any]) -> None:
    runs = done[title(example)]
    assert records.changes(runs.first)
    assert records.changes(runs.second) == {}
    found = values(runs.shown)
    entry = example["hca_firmware_config"][0]
    for name, value in entry.get("parameters", {}).items():
        assert str(value).lower() in found[name][1], (name, found[name])
    for name in entry.get("names", ()):
        assert found[name][0] == found[name][1], (name, found[name])
