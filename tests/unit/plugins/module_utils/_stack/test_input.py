# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import distribution_notes, problems, served, supported
from hypothesis import given
from hypothesis import strategies as st

ROLE = pathlib.Path(__file__).resolve().parents[5] / "roles" / "ofed"
DEBIAN = {"os": {"family": "Debian", "id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"}}

TGZ = "MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz"
SUM = "sha256:" + "0" * 64
INSTALLER = {"ofed_source": "mlnx_ofed", "ofed_bundle": "/srv/" + TGZ}
REPOSITORY = {"ofed_source": "doca", "ofed_repository": "https://mirror.example.org/doca", "ofed_repository_key": "/srv/key.asc"}


@pytest.mark.parametrize(
    "variables",
    [
        INSTALLER,
        {**INSTALLER, "ofed_bundle": "https://mirror.example.org/" + TGZ, "ofed_bundle_checksum": SUM.upper().replace("SHA", "sha")},
        {**INSTALLER, "ofed_bundle": "/srv/unpacked", "ofed_version": "23.10-0.5.5.0", "ofed_bundle_on": "controller"},
        {**INSTALLER, "ofed_packages": "user-space-only", "ofed_installer_options": ["--without-dkms"], "ofed_timeout": "7200"},
        {**INSTALLER, "ofed_bundle": "/srv/x/%s" % TGZ.replace("debian12.1", "debian11.3"), "ofed_installer_options": ["--skip-distro-check"]},
        {**INSTALLER, "ofed_packages": "basic-user-only"},
        {**INSTALLER, "ofed_bundle": "/srv/ofed", "ofed_version": "4.9-7.1.0.0", "ofed_packages": "ovs-dpdk", "ofed_installer_options": ["--upstream-libs"]},
        {**INSTALLER, "ofed_installer_options": ["--of-a-later-release"]},
        {**REPOSITORY, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_packages": "basic-user-only"},
        {**REPOSITORY, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_packages": "eth-only-user-only"},
        REPOSITORY,
        {**REPOSITORY, "ofed_version": "2.9.1", "ofed_packages": "doca-roce", "ofed_method": "installer"},
        {**REPOSITORY, "ofed_repository": "/srv/mirror", "ofed_repository_key": "", "ofed_repository_trusted": "yes"},
        {**REPOSITORY, "ofed_repository_key": "-----BEGIN PGP PUBLIC KEY BLOCK-----"},
        {**REPOSITORY, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_packages": "hpc"},
        {"ofed_source": "doca", "ofed_state": "absent"},
        # Variables of other sources may stay declared.
        {**INSTALLER, "ofed_source": "inbox"},
    ],
)
def test_good_declarations_of_a_vendors_stack(variables: dict[str, t.Any]) -> None:
    assert [str(problem) for problem in problems(variables, DEBIAN)] == []
    assert [str(problem) for problem in problems(variables)] == []


def test_everything_is_said_at_once() -> None:
    assert (
        len(problems({**INSTALLER, "ofed_version": "x", "ofed_packages": "y", "ofed_installer_options": ["--kmp", "--dmks"], "ofed_timeout": 1}, DEBIAN)) == 5
    )


VARIABLES = [
    "ofed_version",
    "ofed_bundle",
    "ofed_bundle_on",
    "ofed_bundle_checksum",
    "ofed_method",
    "ofed_packages",
    "ofed_installer_options",
    "ofed_repository",
    "ofed_repository_key",
    "ofed_repository_trusted",
    "ofed_allow_removal",
    "ofed_firmware_update",
    "ofed_timeout",
]


def test_good_input_has_no_problem() -> None:
    assert not problems({"ofed_state": "present", "ofed_source": "inbox", "ofed_tools": False, "ofed_extra_packages": ["mstflint"]}, DEBIAN)
    assert not problems({})


@pytest.mark.parametrize(
    ("os_id", "version", "known"),
    [
        ("debian", "10", False),
        ("debian", "11", True),
        ("debian", "13", True),
        ("debian", "", False),
        ("ubuntu", "18.04", False),
        ("ubuntu", "20.04", True),
        ("ubuntu", "24.04", True),
        ("ubuntu", "26.04", True),
        ("ubuntu", "26.10", False),
        ("ol", "8.10", True),
        ("centos", "10", True),
        ("sles", "16.0", True),
        ("sle_hpc", "15.5", True),
        ("openeuler", "24.03", False),
        ("rocky", "9.4", True),
        ("rhel", "10.1", True),
        ("rhel", "7.9", False),
        ("sles", "15.6", True),
        ("opensuse-tumbleweed", "20260101", False),
        ("arch", "", False),
    ],
)
def test_distributions(os_id: str, version: str, known: bool) -> None:
    assert supported({"id": os_id, "version": version}) is known


def test_an_unsupported_distribution_is_named_with_what_is_supported() -> None:
    found = problems({}, {"os": {"family": "Arch", "id": "arch", "version": "", "name": "Arch Linux"}})
    assert [word in str(found[0]) for word in ("Arch Linux", "Debian 11 to 13", "ofed_source")] == [True] * 3


@pytest.mark.parametrize(
    ("family", "os_id", "version", "expected"),
    [
        ("RedHat", "fedora", "42", True),
        ("RedHat", "openEuler", "24.03", True),
        ("RedHat", "centos", "7", False),
        ("RedHat", "circle", "9", True),
        ("RedHat", "rhel", "7.9", False),
        ("Suse", "opensuse-leap", "16.0", True),
        ("Suse", "sle_hpc", "12.5", False),
        ("Suse", "opensuse-tumbleweed", "20260101", True),
        ("Debian", "some-rebuild", "", True),
        ("Debian", "debian", "10", False),
        ("Debian", "debian", "14", True),
        ("Debian", "debian", "", True),
        ("Arch", "arch", "", False),
        ("Unknown", "plan9", "4", False),
    ],
)
def test_a_distribution_of_a_known_family_is_served_with_its_own_stack(family: str, os_id: str, version: str, expected: bool) -> None:
    facts = {"os": {"family": family, "id": os_id, "version": version, "name": "Some"}}
    assert served({"id": os_id, "version": version, "family": family}) is expected
    assert bool(problems({}, facts)) is not expected
    assert bool(distribution_notes({}, facts)) is expected
    # Vendor stacks exist for the listed systems.
    (problem,) = [problem for problem in problems(REPOSITORY, facts) if problem.variable == "ofed_source"]
    assert (problem.allowed == "inbox") is expected
    assert distribution_notes(REPOSITORY, facts) == []


@pytest.mark.parametrize(("family", "os_id", "version"), [("RedHat", "centos", "9"), ("Suse", "opensuse-leap", "15.5")])
def test_a_stack_of_a_vendor_is_for_what_the_vendor_makes_it_for(family: str, os_id: str, version: str) -> None:
    facts = {"os": {"family": family, "id": os_id, "version": version, "name": "Some"}}
    assert problems({}, facts) == [] and distribution_notes({}, facts) == []
    (problem,) = [problem for problem in problems(REPOSITORY, facts) if problem.variable == "ofed_source"]
    assert problem.allowed == "inbox"
    assert not [problem for problem in problems({**REPOSITORY, "ofed_state": "absent"}, facts) if problem.variable == "ofed_source"]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ofed_state": "latest"}, "ofed_state is 'latest'; allowed: present, absent"),
        ({"ofed_source": "nvidia"}, "allowed: inbox, mlnx_ofed, doca"),
        ({"ofed_source": ["inbox"]}, "allowed: inbox"),
        ({"ofed_version": "44.0"}, "no version with ofed_source: inbox"),
        ({"ofed_timeout": 5}, "ofed_timeout is 5; allowed: seconds, 60 to 86400"),
        ({"ofed_timeout": True}, "seconds"),
        ({"ofed_allow_removal": "libpcap0.8"}, "a list of package names"),
        ({"ofed_allow_removal": ["-y"]}, "ofed_allow_removal[0] is '-y'"),
        ({"ofed_firmware_update": "maybe"}, "true or false"),
        ({**INSTALLER, "ofed_bundle": "bundle.tgz", "ofed_version": "5.8-1.0.1.1"}, "ofed_bundle is 'bundle.tgz'"),
        ({**INSTALLER, "ofed_bundle": "https://x.example.org/%s" % TGZ}, "ofed_bundle_checksum is not set"),
        ({**INSTALLER, "ofed_bundle": "https://x.example.org/folder", "ofed_version": "5.8-1.0.1.1", "ofed_bundle_checksum": SUM}, "ends in .tgz"),
        ({**INSTALLER, "ofed_bundle_checksum": "md5:1"}, "sha256: and 64 hexadecimal digits"),
        ({**INSTALLER, "ofed_bundle": "/srv/ofed", "ofed_version": "5.8-1.0.1.1", "ofed_bundle_checksum": SUM}, "no checksum for a folder"),
        ({**INSTALLER, "ofed_bundle_on": "mirror"}, "node, controller"),
        ({**INSTALLER, "ofed_version": "23.10"}, "ofed_version is '23.10'; allowed: a release of MLNX_OFED"),
        ({**INSTALLER, "ofed_version": "5.8-1.0.1.1"}, "that is the release in the name of ofed_bundle"),
        ({**INSTALLER, "ofed_bundle": "/srv/ofed.tgz"}, "the name of ofed_bundle does not contain it"),
        ({**INSTALLER, "ofed_bundle": "/srv/%s" % TGZ.replace("debian12.1", "ubuntu22.04")}, "made for ubuntu22.04, and the node is debian12"),
        ({**INSTALLER, "ofed_packages": "everything"}, "ofed_packages is 'everything'; allowed: all, basic"),
        ({**INSTALLER, "ofed_packages": "kernel-only-user-only"}, "such as basic-user-only"),
        ({**INSTALLER, "ofed_packages": "basic-user-only", "ofed_ulps": ["srp"]}, "basic-user-only is without ib_srp"),
        ({**REPOSITORY, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_packages": "eth-only"}, "eth-only-user-only"),
        ({**INSTALLER, "ofed_installer_options": ["--kmp"]}, "for rpm packages only"),
        ({**INSTALLER, "ofed_installer_options": "--dkms"}, "a list of options"),
        ({**INSTALLER, "ofed_method": "rpm"}, "installer, repository"),
        ({**REPOSITORY, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_packages": "hypervisor"}, "ofed_packages is 'hypervisor'"),
        ({**REPOSITORY, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_installer_options": ["--dkms"]}, "no installer runs then"),
        ({**REPOSITORY, "ofed_repository": "mirror"}, "the URL of a repository"),
        ({**REPOSITORY, "ofed_repository_key": ""}, "without a key, anyone on the network path could install packages"),
        ({**REPOSITORY, "ofed_repository_key": "http://mirror.example.org/key.asc"}, "over http, anyone on the network path could substitute the key"),
        ({**REPOSITORY, "ofed_repository_key": "abc"}, "-----BEGIN PGP PUBLIC KEY BLOCK-----"),
        ({**REPOSITORY, "ofed_repository_trusted": "perhaps"}, "true or false"),
        ({**REPOSITORY, "ofed_version": "two"}, "such as 2.9.1"),
        ({**REPOSITORY, "ofed_packages": "hpc"}, "doca-ofed, doca-all"),
        ({**REPOSITORY, "ofed_bundle": "/srv/x.tgz"}, "no bundle with ofed_source: doca"),
        ({**REPOSITORY, "ofed_installer_options": ["--dkms"]}, "no options with ofed_source: doca"),
        ({"ofed_tools": "some"}, "true or false"),
        ({"ofed_extra_packages": "mstflint"}, "a list"),
        ({"ofed_extra_packages": ["ok", "-y"]}, "ofed_extra_packages[1] is '-y'"),
    ],
)
def test_each_problem_names_variable_value_and_what_is_allowed(variables: dict[str, t.Any], words: str) -> None:
    found = problems(variables, DEBIAN)
    assert len(found) == 1
    assert words in str(found[0])


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@given(JSON, JSON, JSON)
def test_no_type_raises(source: t.Any, extra: t.Any, facts: t.Any) -> None:
    problems({"ofed_source": source, "ofed_state": extra, "ofed_extra_packages": extra, "ofed_tools": source}, {"os": facts})


@given(st.sampled_from(["mlnx_ofed", "doca", "inbox"]), st.dictionaries(st.sampled_from(VARIABLES), JSON | st.sampled_from(["repository", TGZ, "/a"])), JSON)
def test_no_type_of_a_vendors_variable_raises(source: str, variables: dict[str, t.Any], system: t.Any) -> None:
    problems({"ofed_source": source, **variables}, {"os": system, "machine": system})


def test_nothing_is_wrong_with_the_defaults_of_the_role() -> None:
    # Where the role validates its own variables, they are checked as well.
    defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text(encoding="utf-8"))
    assert problems(defaults, {"os": {"id": "debian", "version": "12", "name": "Debian 12"}}) == []
    assert problems({**defaults, "ofed_state": "absent"}) == []
    assert problems({**defaults, "ofed_source": "mlnx_ofed", "ofed_bundle": "/srv/" + TGZ}, {"os": {"id": "debian", "version": "12"}}) == []


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ofed_reload": "maybe"}, "ofed_reload is 'maybe'; allowed: never, if_idle, reboot, force"),
        ({"ofed_reload": ["force"]}, "ofed_reload"),
        ({"ofed_rebuild_tasks": "hooks/rebuild.yml"}, "ofed_rebuild_tasks is 'hooks/rebuild.yml'; allowed: the absolute path"),
        ({"ofed_kernel_policy": True}, "ofed_kernel_policy is True; allowed: build, pin, refuse"),
        ({"ofed_cut_ssh_connection": "perhaps"}, "ofed_cut_ssh_connection"),
        ({"ofed_openib_conf": {"IPOIB_LOAD": "no"}}, "nothing with ofed_source: inbox"),
        ({"ofed_source": "doca", "ofed_state": "absent", "ofed_openib_conf": {"X": 1}}, "ofed_openib_conf.X"),
        ({"ofed_source": "doca", "ofed_state": "absent", "ofed_openib_conf": {"E_IPOIB_LOAD": True}}, ""),
        ({"ofed_reload": "force", "ofed_kernel_policy": "pin", "ofed_cut_ssh_connection": True, "ofed_openib_conf": {}}, ""),
    ],
)
def test_the_driver_in_the_kernel(variables: dict[str, t.Any], words: str) -> None:
    found = [str(problem) for problem in problems(variables)]
    assert bool(found) is bool(words)
    assert all(words in text for text in found)
