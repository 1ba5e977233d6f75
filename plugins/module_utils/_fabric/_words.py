# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What is missing in the data of a fabric, in words for people. Pure. Nothing reads these texts back."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import DIAGNOSTICS
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import packages_by_family
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._gap import Code

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._gap import Gap

_WORDS: t.Mapping[Code, str] = {
    Code.NO_PORT: "this host has no InfiniBand port to ask through",
    Code.NO_LINK: "this host does not see the fabric: its port {examples}. Look at its cable, or ask through another host or port",
    Code.UNREAD_LINKS: "bit errors are not known of ports that their hosts could not read: {examples}",
    Code.NO_SUCH_PORT: "no port of the named nodes that is in the fabric has one of these numbers: {examples}",
    Code.SILENT_SWITCHES: "the firmware of {total} switches is not known, as they do not answer {tool}, which works with NVIDIA switches only: {examples}",
    Code.NOT_INSTALLED: "{tool} is not installed: it comes with the package {packages}",
    Code.FAILED: "{tool} failed: {examples}",
    Code.INCOMPLETE: "{tool} complained, and what it listed may be incomplete: {examples}",
    Code.UNREAD: "{total} lines of {tool} could not be read, the first: {examples}",
    Code.NO_SUBNET_MANAGER: "no subnet manager answers: subnet managers, partitions and multicast groups are not known",
    Code.NOT_IN_TOPOLOGY: "{tool} lists ports of nodes that ibnetdiscover did not find, so the fabric may have changed in between: {examples}",
    Code.NO_SUCH_NODE: "the fabric has no such node: {examples}",
    Code.NAME_MAP: "{total} lines of the map of node names could not be read, for which the diagnostics drop the whole file: {examples}",
    Code.UNFINISHED: "{tool} ended before it had read the counters, as it does where no subnet manager answers",
    Code.NO_LID: "{total} ports have no LID, by which their counters are read; a subnet manager assigns one: {examples}",
    Code.BROKEN_SAMPLE: "the file of the last sample could not be read, so nothing is compared; it is written again: {examples}",
    Code.CLOCK: "the last sample is from the future, so nothing is compared: the clock of this host was set back",
}


def words(gap: Gap) -> str:
    text = _WORDS[gap.code]
    return text.format(tool=gap.tool, total=gap.total, examples="; ".join(gap.examples), packages=packages_by_family(DIAGNOSTICS))
