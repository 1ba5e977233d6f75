# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reading
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES
from ansible_collections.rdma.ofed.plugins.module_utils._stack._discovery import read


def reading(packages: t.Mapping[str, str] | None = None, **stack: t.Any) -> Reading:
    facts = {"os": {"family": "Debian"}, "stack": stack}
    return read(Subject("node1", facts=facts, recall=lambda name: list((packages or {}).items()) if name == "packages" else None))


def values(found: Reading) -> dict[str, t.Any]:
    return {value.variable: value.value for value in found.values}


def test_no_stack_at_all() -> None:
    assert "there is none" in reading(kind="none").left[0].why
    assert reading() == Reading([], [], [])


def test_the_stack_of_the_distribution_and_its_tools() -> None:
    (family,) = (each for each in FAMILIES if each.name == "Debian")
    core = dict.fromkeys(family.names(["core"]), "1")
    assert values(reading({**core, **dict.fromkeys(family.names(["tools"]), "1")}, kind="inbox", loaded="inbox")) == {}
    assert values(reading(core, kind="inbox")) == {"ofed_tools": False}
    assert "installs what is missing" in reading({"rdma-core": "1"}, kind="inbox").left[0].why


@pytest.mark.parametrize(("kind", "version"), [("mlnx_ofed", "23.10-0.5.5.0"), ("doca", "2.9.1")])
def test_a_stack_of_a_vendor(kind: str, version: str) -> None:
    found = reading(kind=kind, version=version, evidence="ofed_info", ulps=["srp"], loaded="ofed")
    assert values(found) == {"ofed_source": kind, "ofed_version": version, "ofed_ulps": ["srp"]}
    assert "does not tell where it was installed from. It stays as it is; before packages are" in found.left[0].why
    assert list(found.dangers) == []


def test_the_stack_of_an_image() -> None:
    found = reading(kind="doca", version="2.9.1", appliance={"name": "DGX OS", "release": "7.1.0", "marker": "/etc/dgx-release"})
    assert values(found) == {"ofed_source": "doca", "ofed_version": "2.9.1"}
    (left,) = found.left
    assert left.what == "doca 2.9.1 of DGX OS 7.1.0 (/etc/dgx-release)"
    assert "refuses to change it, unless rdma_allow_upgrade is true for the host" in left.why


def test_what_is_half_done() -> None:
    assert list(reading(kind="mlnx_ofed", version="1", complete=False, loaded="inbox").dangers) == [
        "the installation of mlnx_ofed 1 was not completed",
        "the stack is mlnx_ofed, and the loaded drivers are the distribution's: a reload or reboot is due",
    ]


def test_protocols_that_others_have_set_up() -> None:
    modules = [{"name": name} for name in ("ib_srp", "nvme_rdma", "ib_iser")]
    found = read(Subject("node1", facts={"os": {"family": "Debian"}, "stack": {"kind": "inbox", "ulps": ["srp"]}, "modules": modules}))
    # rdma-core of Debian loads that of iSER everywhere.
    assert [left.what for left in found.left] == ["protocol nvmf (module nvme_rdma is loaded)"]


def test_a_profile_of_doca() -> None:
    def of(*names: str) -> Reading:
        return reading(dict.fromkeys(names, "2.9.1"), kind="doca", version="2.9.1", evidence="package %s 2.9.1" % names[0])

    assert "ofed_packages" not in values(of("doca-ofed", "doca-all"))
    assert values(of("doca-networking"))["ofed_packages"] == "doca-networking"
    # The two parts of the default profile, and Ubuntu's own packages, stand for it.
    for names in (("doca-ofed-userspace", "doca-kernel"), ("doca-ofed-userspace-3.4",)):
        found = of(*names)
        assert "ofed_packages" not in values(found) and len(found.left) == 1
    assert "installs doca-ofed from ofed_repository" in of("doca-host").left[1].why
