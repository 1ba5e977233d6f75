# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for what opensm made of its files, for people. Pure. Nothing parses these texts."""

from __future__ import annotations

import typing as t

from .._finding import Code, Form, Topic

if t.TYPE_CHECKING:
    from .._finding import Finding

_LOG = "see /var/log/opensm/{subject}/opensm.log"
FORMS: t.Mapping[Code, Form] = {
    Code.ROUTING_FALLBACK: Form(
        cause="opensm says: {detail}",
        next_step="declare an engine that fits the fabric in opensm_routing_engine, such as updn or minhop, or correct the topology",
    ),
    Code.PARTITIONS_REFUSED: Form(
        "refused by opensm",
        "partitions.conf in effect",
        "opensm says: {detail}",
        "correct opensm_partitions, or adopted-partitions.conf in /etc/rdma-ofed/opensm/{subject}, and run rdma.ofed.site --tags opensm",
    ),
    Code.OPENSM_OBJECTS: Form(
        "errors in its files",
        "all of them in effect",
        "opensm says: {detail}",
        "correct the variable of the file (opensm_root_guids, opensm_qos_policy, opensm_options), and run rdma.ofed.site --tags opensm",
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
    Code.MEMBERSHIP_DIFFERS: Form(
        cause="opensm_partitions of fabric {detail} declares it, and the subnet manager may know a former port GUID of this node",
        next_step="run rdma.ofed.site; with --limit, for this node and the group opensm",
    ),
}


def filled(finding: Finding) -> Form:
    """The filled-in form of a finding of FORMS."""
    fields = {"wanted": finding.wanted, "found": finding.found, "detail": finding.detail, "subject": finding.subject}
    return FORMS[finding.code].filled(fields)


def _object(finding: Finding) -> str:
    if finding.kind == Topic.PARTITION:
        return "P_Key table of %s" % finding.subject
    return "subnet manager of fabric %s: %s" % (finding.subject, finding.aspect.replace("_", " "))


def sentence(finding: Finding) -> str:
    """A finding of FORMS in one line."""
    said = filled(finding)
    hint = ": ".join(filter(None, (said.cause, said.next_step)))
    return "%s: wanted %s, found %s (%s)" % (_object(finding), said.expected, said.found, hint)


def row(finding: Finding) -> dict[str, str]:
    """A finding of FORMS in the shape of an entry of `deviations`."""
    fields = {"severity": finding.severity.value, "code": finding.code.value, "kind": finding.kind.value, "subject": finding.subject}
    return {**fields, "aspect": finding.aspect, "object": _object(finding), **filled(finding)._asdict()}
