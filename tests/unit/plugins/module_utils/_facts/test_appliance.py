# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _appliance, _stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._appliance import Appliance, appliance_of, read_appliance
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import JOBS
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import JOB
from hypothesis import given
from hypothesis import strategies as st

DGX = """DGX_NAME="DGX Server"
DGX_PRETTY_NAME="NVIDIA DGX Server"
DGX_SWBUILD_DATE="2021-08-18-20-11-12"
DGX_SWBUILD_VERSION="5.1.0"
DGX_PLATFORM="DGX Server for DGX A100"
DGX_SERIAL_NUMBER="1570000000000"
"""
UPDATED = DGX + '\nDGX_OTA_VERSION="5.2.0"\nDGX_OTA_DATE="Thu 24 Mar 2022 01:43:22 PM PDT"\n'
TAG = "sys/class/dmi/id/chassis_asset_tag"


def node(root: pathlib.Path, **files: str) -> str:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return str(root)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({"etc/dgx-release": DGX}, Appliance("NVIDIA DGX Server", "5.1.0", "/etc/dgx-release")),
        ({"etc/dgx-release": UPDATED}, Appliance("NVIDIA DGX Server", "5.2.0", "/etc/dgx-release")),
        ({"etc/dgx-release": "DGX_PRETTY_NAME='{{ x }}'\nDGX_OTA_VERSION='a\x1b[1m'"}, Appliance("DGX OS", "", "/etc/dgx-release")),
        (
            {"opt/azurehpc/component_versions.txt": '{"OFED": "25.10", "ImageVersion": "24.04.2026072901"}'},
            Appliance("HPC image of Azure", "24.04.2026072901", "/opt/azurehpc/component_versions.txt"),
        ),
        ({"opt/azurehpc/component_versions.txt": '{"OFED": 1'}, Appliance("HPC image of Azure", "", "/opt/azurehpc/component_versions.txt")),
        ({"opt/oci-hpc/oci-cn-auth/x": "", TAG: "OracleCloud.com\n"}, Appliance("HPC image of Oracle Cloud", "", "/opt/oci-hpc")),
        ({"opt/oci-hpc/oci-cn-auth/x": "", TAG: "Default string\n"}, None),
        ({TAG: "OracleCloud.com\n"}, None),
    ],
)
def test_images(tmp_path: pathlib.Path, files: dict[str, str], found: Appliance | None) -> None:
    assert read_appliance(node(tmp_path, **files)) == found


def test_the_serial_number_stays_on_the_node(tmp_path: pathlib.Path) -> None:
    assert "1570000000000" not in repr(read_appliance(node(tmp_path, **{"etc/dgx-release": UPDATED})))


@given(st.text())
def test_any_text(text: str) -> None:
    for found in (*_appliance.parse_dgx_release(text), _appliance.parse_azure_components(text)):
        assert found == "" or found.isprintable()


def test_the_fact_is_read_again() -> None:
    found = _stack.Stack("doca", "2.9.1", appliance=Appliance("NVIDIA DGX Server", "5.2.0", "/etc/dgx-release"))
    assert appliance_of(as_data(found)) == appliance_of(found._asdict()) == found.appliance
    assert appliance_of(as_data(_stack.Stack("doca"))) is None


def test_the_folder_of_the_job_is_that_of_the_module() -> None:
    assert "%s/%s" % (JOBS, JOB) == _stack.JOB
