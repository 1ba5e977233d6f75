# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images whose makers provide the RDMA stack: DGX OS, and the HPC images of Azure and of Oracle Cloud.

DGX OS has /etc/dgx-release. Azure's images list their components in a file (https://github.com/Azure/azhpc-images, `write_component_version`). Those of
Oracle have a folder (https://github.com/oracle-quickstart/oci-hpc-images), and firmware tables that name the cloud.
"""

from __future__ import annotations

import re
import typing as t

from .._foreign import read_table
from ._machine import parse_os_release
from ._sysfs import attribute, entries

_DGX = "etc/dgx-release"
_AZURE = "opt/azurehpc/component_versions.txt"
_ORACLE = "opt/oci-hpc"
_ORACLE_TAG = "OracleCloud.com"
# Longer or stranger texts are no names or releases. They end up in messages.
_TEXT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9 ._+~()-]{0,63}\Z")


class Appliance(t.NamedTuple):
    """An image whose maker provides the RDMA stack."""

    name: str
    """`NVIDIA DGX Server`."""
    release: str = ""
    """The release of the image; "" where it does not tell."""
    marker: str = ""
    """The path that tells: `/etc/dgx-release`."""

    @property
    def words(self) -> str:
        """`NVIDIA DGX Server 5.2.0 (/etc/dgx-release)`."""
        return "%s (%s)" % (("%s %s" % (self.name, self.release)).strip(), self.marker)


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) and _TEXT.match(value) else ""


def parse_dgx_release(text: str) -> tuple[str, str]:
    """Name and release of DGX OS. The serial number in the file is not kept."""
    values = parse_os_release(text)
    # The second is the release that was installed, the first that of the last update.
    return _text(values.get("DGX_PRETTY_NAME")) or "DGX OS", _text(values.get("DGX_OTA_VERSION")) or _text(values.get("DGX_SWBUILD_VERSION"))


def parse_azure_components(text: str) -> str:
    """The release of an HPC image of Azure; "" for the older ones, which list their components alone."""
    return _text(read_table(text).get("ImageVersion"))


def read_appliance(root: str = "/") -> Appliance | None:
    """The image, where it is one of those. On other nodes, this takes three file names that do not exist."""
    released = attribute(root, _DGX)
    if released:
        return Appliance(*parse_dgx_release(released), "/" + _DGX)
    components = attribute(root, _AZURE)
    if components:
        return Appliance("HPC image of Azure", parse_azure_components(components), "/" + _AZURE)
    # The site may have made a folder of this name elsewhere.
    if entries(root, _ORACLE) and attribute(root, "sys/class/dmi/id/chassis_asset_tag") == _ORACLE_TAG:
        return Appliance("HPC image of Oracle Cloud", "", "/" + _ORACLE)
    return None


def appliance_of(stack: t.Mapping[str, t.Any]) -> Appliance | None:
    """The image that owns the stack, from the fact `stack`."""
    found = stack.get("appliance")
    if isinstance(found, Appliance):
        return found
    return Appliance(*(str(found.get(name) or "") for name in Appliance._fields)) if isinstance(found, dict) else None
