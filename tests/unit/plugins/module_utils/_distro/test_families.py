# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The families of distributions: the properties of each, and that no other code names one."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._distro import _family as purposes
from ansible_collections.rdma.ofed.plugins.module_utils._distro import _registry as registry
from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._catalogue import NAMES as PROTOCOLS
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package
from ansible_collections.rdma.ofed.plugins.modules import rdma_facts
from hypothesis import given
from hypothesis import strategies as st
from support import sources

ROOT = pathlib.Path(__file__).resolve().parents[5]
DISTRO = ROOT / "plugins/module_utils/_distro"
PURPOSES = {value for name, value in vars(purposes).items() if name.isupper() and isinstance(value, str)}
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


@every_family
def test_a_family_has_packages_for_every_purpose(family: Family) -> None:
    assert set(family.packages) == PURPOSES | set(PROTOCOLS)
    assert set(family.names([purposes.REMOVABLE])) <= set(family.names([purposes.CORE, purposes.TOOLS]))
    assert not set(family.packages[purposes.OPENSM]) & set(family.names([purposes.CORE, purposes.TOOLS]))
    names = family.names([purposes.TOOLS, purposes.DIAGNOSTICS, purposes.TOOLS])
    assert sorted(set(names)) == sorted(names)


@every_family
def test_a_family_is_found_by_its_distributions(family: Family) -> None:
    assert registry.by_name(family.name) is family
    for item in family.distributions:
        assert registry.by_name(registry.family_name(item.id)) is family
        assert registry.by_name(registry.family_name("some-rebuild", "other " + item.id.upper())) is family
        assert registry.DISTRIBUTIONS[item.id] == item


def test_a_distribution_is_of_one_family() -> None:
    assert len(registry.DISTRIBUTIONS) == sum(len(family.distributions) for family in FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_what_is_of_no_family() -> None:
    assert registry.family_name("alpine") == registry.UNKNOWN == "Unknown"
    assert registry.by_name(registry.UNKNOWN) is None
    assert registry.family_name("arch") == "Arch"
    assert registry.by_name("Arch") is None
    assert registry.by_name(["Debian"]) is None


@given(st.text(), st.text())
def test_any_os_release(os_id: str, id_like: str) -> None:
    assert isinstance(registry.family_name(os_id, id_like), str)


def test_words_about_all_families() -> None:
    assert "; ".join(family.supported for family in FAMILIES) == registry.SUPPORTED
    assert registry.SUPPORTED.startswith("Debian 11 to ")
    assert registry.NAMES.startswith("Debian, RedHat") and registry.NAMES.endswith(" and %s" % FAMILIES[-1].name)
    assert registry.packages_by_family(purposes.RDMA_TOOL).startswith("iproute2 on Debian and Ubuntu, iproute on Red Hat, ")


def test_the_documentation_names_all_families() -> None:
    readme = " ".join((ROOT / "roles/ofed/README.md").read_text(encoding="utf-8").split())
    assert "Supported: %s." % registry.SUPPORTED.replace(";", ",") in readme
    returned = yaml.safe_load(rdma_facts.RETURN)["ansible_facts"]["contains"]["rdma"]["contains"]["os"]["contains"]["family"]["description"]
    assert set(re.findall(r"V\((\w+)\)", returned)) == {*(family.name for family in FAMILIES), "Arch", registry.UNKNOWN}


@pytest.mark.parametrize(
    ("name", "kernels", "others"),
    [
        ("Debian", ["linux-image-amd64", "linux-modules-6.8.0-1016-oem", "proxmox-kernel-6.8"], ["linux-base", "linux-libc-dev", "linux-firmware"]),
        ("RedHat", ["kernel", "kernel-modules-extra", "kernel-devel", "kernel-headers"], ["kernel-tools", "kernel-tools-libs", "kernel-srpm-macros"]),
        ("RedHat", ["kernel-uek-core", "kernel-64k-modules-core", "kernel-rt-devel", "kernel6.12"], ["kernelshark", "kernel-uek-tools", "kernel-doc"]),
        ("Suse", ["kernel-default", "kernel-default-devel", "kernel-64kb", "kernel-rt"], ["kernel-firmware", "kernel-firmware-mellanox", "kernel-source"]),
    ],
)
def test_packages_of_kernels(name: str, kernels: list[str], others: list[str]) -> None:
    family = registry.by_name(name)
    assert family is not None
    assert family.kernel_packages(dict.fromkeys(kernels + others, Package("1"))) == tuple(sorted(kernels))
    assert family.kernel_packages({"vmlinuz-of-the-site": Package("1")}, ["vmlinuz-of-the-site", "gone"]) == ("vmlinuz-of-the-site",)


def test_what_brings_new_kernels_is_known_by_what_it_depends_on() -> None:
    chain = {
        "linux-oem-24.04d": Package("1", depends=("linux-image-oem-24.04d", "linux-headers-oem-24.04d")),
        "linux-image-oem-24.04d": Package("1", depends=("linux-image-6.14.0-1004-oem",)),
        "linux-image-6.14.0-1004-oem": Package("1"),
        "linux-nvidia-64k": Package("1", depends=("linux-oem-24.04d",)),
        "linux-tools-generic": Package("1", depends=("linux-tools-6.8.0-31-generic",)),
        "linux-tools-6.8.0-31-generic": Package("1", depends=("linux-tools-common",)),
        "crash": Package("1", depends=("linux-image-6.14.0-1004-oem",)),
    }
    expected = ("linux-image-6.14.0-1004-oem", "linux-image-oem-24.04d", "linux-nvidia-64k", "linux-oem-24.04d")
    assert registry.by_name("Debian").kernel_packages(chain) == expected  # type: ignore[union-attr]


def _literals(path: pathlib.Path) -> set[str]:
    """Return every string in code except docstrings."""
    tree = sources.tree(path)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation}


def test_nothing_else_names_a_family_or_its_package_manager() -> None:
    """A new family takes only an entry in `_registry.py`."""
    names = {family.name for family in FAMILIES} | {family.manager.name for family in FAMILIES}
    own = {ROOT / "plugins/module_utils/_tools" / ("_%s.py" % family.manager.name) for family in FAMILIES}
    found = [path for path in sorted(ROOT.glob("plugins/**/*.py")) if path.parent != DISTRO and path not in own and _literals(path) & names]
    words = re.compile(r"(?<![\w.-])(%s)(?![\w-])" % "|".join(sorted(names)))
    for path in [*ROOT.glob("roles/*/*/*.yml"), *ROOT.glob("playbooks/**/*.yml")]:
        code = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith(("#", "- name:", "description:")))
        if path.parent.name != "meta" and words.search(code):
            found.append(path)
    assert not found


@every_family
def test_a_family_is_named_in_one_file_and_registered(family: Family) -> None:
    assert len([path for path in DISTRO.glob("*.py") if family.name in _literals(path)]) == 1
