# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What opensm made of its files, in words, for people. Pure. Nothing reads these texts back."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code, Form

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._finding import Finding

_LOG = "see /var/log/opensm/{subject}/opensm.log"
FORMS: t.Mapping[Code, Form] = {
    Code.ROUTING_FALLBACK: Form(
        cause="opensm says: {detail}",
        next_step="declare an engine that fits the fabric in opensm_routing_engine, such as updn or minhop, or mend the topology",
    ),
    Code.PARTITIONS_REFUSED: Form(
        "refused by opensm",
        "partitions.conf in effect",
        "opensm says: {detail}",
        "mend opensm_partitions, or adopted-partitions.conf in /etc/rdma-ofed/opensm/{subject}, and run rdma.ofed.site --tags opensm",
    ),
    Code.OPENSM_OBJECTS: Form(
        "errors in its files",
        "all of them in effect",
        "opensm says: {detail}",
        "mend the variable of the file (opensm_root_guids, opensm_qos_policy, opensm_options), and run rdma.ofed.site --tags opensm",
    ),
    Code.OPENSM_UNBOUND: Form(
        "not bound",
        "bound to its port",
        "opensm says: {detail}",
        "'pgrep -ax opensm' shows whether another one has the port, and 'ibstat -p' whether the port is there; " + _LOG,
    ),
    Code.OPENSM_RESTARTS: Form("started {found} times by itself", "one that stays", "{detail}", "see journalctl -u rdma-opensm@{subject}, and " + _LOG[4:]),
    Code.PKEY_DIFFERS: Form(
        cause="by partitions.conf of fabric {detail} it is {wanted}",
        next_step="wait for the next sweep of opensm, or 'systemctl reload rdma-opensm@{detail}' on the host of the master; then see its log",
    ),
}


def filled(finding: Finding) -> Form:
    """The words of a finding of FORMS."""
    fields = {"wanted": finding.wanted, "found": finding.found, "detail": finding.detail, "subject": finding.subject}
    return FORMS[finding.code].filled(fields)
