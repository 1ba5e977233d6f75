# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for findings, for people. Pure. Nothing parses these texts."""

from __future__ import annotations

import typing as t

from .. import _finding, _words
from .._accepted import words as accepted_words
from .._finding import Code, Form, Topic
from .._opensm._words import FORMS as OPENSM_FORMS
from .._performance._words import FORMS as PERFORMANCE_FORMS
from .._plan import Kind

if t.TYPE_CHECKING:
    from .._finding import Finding

_OBJECTS: t.Mapping[t.Any, str] = {
    Topic.PORT: "port {subject}",
    Topic.PORTS: "InfiniBand ports",
    Topic.ADAPTER: "PCI Express link of adapter {subject}",
    Topic.ADAPTERS: "firmware of the adapters",
    Topic.INTERRUPTS: "interrupts of adapter {subject}",
    Topic.SETTING: "setting {subject}",
    Topic.SUBNET_MANAGER: "subnet manager of fabric {subject}",
    Topic.OPENSM: "opensm",
    Topic.PARTITION: "P_Key table of {subject}",
    Topic.IPOIB: "IPoIB",
    Topic.LIMIT: "locked memory of a {subject}",
    Topic.DAEMON: "daemon {subject}",
    Topic.GPU_MEMORY: "GPU memory",
    Kind.INTERFACE: "interface {subject}",
    Kind.MODULE: "kernel module {subject}",
    Kind.FIRMWARE_PARAMETER: "adapter {subject}",
}

# "" for aspects that need no name.
_ASPECTS: t.Mapping[tuple[t.Any, str], str] = {
    (Topic.PORT, "link_layer"): "link layer",
    (Topic.PORT, "sm_lid"): "SM LID",
    (Topic.DAEMON, "memlock"): "locked memory",
    (Topic.DAEMON, "nofile"): "open files",
    (Topic.LIMIT, "nofile"): "",
    (Topic.OPENSM, "state"): "",
    (Topic.SUBNET_MANAGER, "routing_engine"): "routing engine",
    (Topic.OPENSM, "enabled"): "at boot",
    (Kind.INTERFACE, "device"): "",
    (Kind.INTERFACE, "state"): "",
}

_VALUES: t.Mapping[str, str] = {
    _finding.DECLARED: "as declared",
    _finding.OTHER: "other content",
    _finding.DESIGNATED: "the designated host",
    _finding.ANY: "any host",
}


_MASTER = "one master on {wanted}"
_MIXED, _ALIKE = "large packets between these hosts get lost", "declare one mode and one mtu for all hosts of the subnet in ipoib_interfaces"
FORMS: t.Mapping[Code, Form] = {
    Code.DIFFERS: Form(next_step="{next}"),
    Code.NO_PORT: Form("no such port", next_step="ports of this node: {detail}; correct rdma_ports, or see 'lspci -d 15b3:' for the card"),
    Code.NO_RAIL: Form("no such adapter", next_step="see 'rdma link' and 'lspci -d 15b3:' for the card; if it has moved, correct rdma_rails"),
    Code.LINK_DOWN: Form(next_step="look at the cable and the switch port: 'iblinkinfo' on another node shows its side{detail}"),
    Code.TOO_FEW_PORTS: Form(next_step="look at the cables and the switch ports of the others: {detail}"),
    Code.PORT_NOT_CONFIGURED: Form(cause="no subnet manager has configured the port yet", next_step="see 'sminfo', and opensm on the designated host"),
    Code.NO_SM_LID: Form("0", "the LID of the subnet manager", "no subnet manager has registered with the port", "see opensm on the designated host"),
    Code.NO_MASTER: Form(expected=_MASTER, next_step="{detail}"),
    Code.NOT_MASTER: Form(
        "{found} in state {detail}", _MASTER, "it is taking over, or has lost the master", "check again, then see journalctl -u 'rdma-opensm@*' on its host"
    ),
    Code.UNNAMED_MASTER: Form(
        "the master is {found}, whose node does not report its name", _MASTER, "the fabric is slow or loses packets", "see ibqueryerrors, and 'sminfo -t 10000'"
    ),
    Code.OTHER_MASTER: Form(
        "the master is {found}",
        _MASTER,
        "another opensm or a managed switch; or the designated host under a name that node_check_designated_names lacks",
        "see 'saquery SMIR'",
    ),
    Code.SEVERAL_MASTERS: Form("{detail} masters: {found}", _MASTER, next_step="'saquery SMIR' lists them: stop those that are not on the designated host"),
    Code.FAILED_OVER: Form(
        "the master is {found}, which stands by for it",
        _MASTER,
        "opensm of the designated host has ended, or its host or link is down",
        "see opensm on {wanted}: once it runs there again, it takes the fabric back",
    ),
    Code.SPLIT_FABRIC: Form(
        "the master is {found}",
        "{wanted}, the master of most hosts",
        "the fabric is split",
        "'iblinkinfo' on both sides shows the links that are down between them",
    ),
    Code.MASTER_UNKNOWN: Form("not known", _MASTER, next_step="{detail}"),
    Code.NO_MANAGEMENT: Form(
        "not known",
        _MASTER,
        "port {detail} is that of a virtual function, which may send no management datagrams",
        "declare node_check_subnet_manager: false for such hosts",
    ),
    Code.NO_INFINIBAND: Form(
        "no InfiniBand port",
        "an InfiniBand port",
        "all ports of this host are of another link layer",
        "declare node_check_subnet_manager: false for a host that is in no fabric; otherwise see LINK_TYPE in mlxconfig",
    ),
    Code.UNCHECKED: Form(next_step="correct it, then check again"),
    Code.OPENSM_DESIGNATED: Form(next_step="this is the designated host: run rdma.ofed.site for it"),
    Code.OPENSM_ENDED: Form(
        cause="it has ended; one that keeps ending is not restarted, so that a standby remains master", next_step="see journalctl -u 'rdma-opensm@*'"
    ),
    Code.OPENSM_STOPPED: Form(cause="it was stopped, and did not fail", next_step="'systemctl start rdma-opensm@{detail}', or run rdma.ofed.site"),
    Code.OPENSM_STANDBY: Form(next_step="this host stands by for the designated host {detail}: run rdma.ofed.site for it"),
    Code.OPENSM_SURPLUS: Form(next_step="{detail}rdma.ofed.site stops it here"),
    Code.NO_INTERFACE: Form(next_step="{detail}"),
    Code.NO_LEASE: Form(
        "none",
        "an address",
        cause="no DHCP server answers on this network, or it knows no address for the client identifier of the node",
        next_step="see 'networkctl status {subject}' and the log of the server",
    ),
    Code.NO_CARRIER: Form(
        cause="the port has no P_Key {detail}, or the partition has no broadcast group",
        next_step="see opensm_partitions, then run rdma.ofed.site --tags opensm",
    ),
    Code.REFUSED: Form("not possible", "as declared", next_step="{detail}"),
    Code.MTU_CLAMPED: Form(
        cause="the broadcast group of the partition allows {found}",
        next_step="give the partition mtu: {detail} in opensm_partitions, or where others manage the fabric",
    ),
    Code.MTU_MIXED: Form(expected="{wanted}, as most hosts of {detail}", cause=_MIXED, next_step=_ALIKE),
    Code.MODE_MIXED: Form(expected="{wanted}, as most hosts of {detail}", cause=_MIXED, next_step=_ALIKE),
    Code.DUPLICATE_ADDRESS: Form("{found} on {detail}, too", "an address of its own", next_step="change or remove one of them: see ipoib_interfaces of both"),
    Code.FIREWALL_DROPS: Form(
        "{found}, where {detail} drops what no rule accepts",
        "traffic that is accepted",
        "{detail} runs on this node",
        "declare ipoib_network_firewall: trusted, add rules to {detail}, or accept it in rdma_accepted",
    ),
    Code.PENDING: Form(
        "{found} in effect",
        "{wanted}",
        "it is set, and needs {detail}",
        "run rdma.ofed.reboot with rdma_allow_reload or rdma_allow_reboot, or reboot the node",
    ),
    Code.LOW_LIMIT: Form(next_step="{detail}"),
    Code.DAEMON_LIMIT: Form(cause="it passes its limit on to what it starts", next_step="{detail}"),
    Code.GPU_OUT_OF_REACH: Form("out of reach", "within reach of the adapters ({wanted})", next_step="{detail}"),
    Code.OTHER_STACK: Form(next_step="rdma.ofed.site installs it where no stack is in use, and rdma.ofed.upgrade replaces one that is"),
    Code.HALF_STACK: Form(cause="its installation did not finish", next_step="rdma.ofed.upgrade installs it again"),
    Code.LINK_DIAGNOSIS: Form(
        expected="a link that the firmware does not object to", next_step="clean and reseat the cable; if that does not help, replace it"
    ),
    Code.CABLE_UNDECLARED: Form(expected="a cable of the site", next_step="replace the cable, or add its part number to node_check_cable_part_numbers"),
    Code.CABLE_FOR_ETHERNET: Form(
        expected="a cable for InfiniBand", next_step="replace the cable, or declare all cables of the site in node_check_cable_part_numbers"
    ),
    Code.CABLE_SLOW: Form(expected="a cable for the speed of the port", next_step="replace the cable with a faster one, or declare node_check_min_speed"),
    Code.LINK_DEGRADED: Form(
        expected="the speed that port and cable can do",
        next_step="clean and reseat the cable, and see the switch port in 'iblinkinfo'; node_check_min_speed declares a slower fabric",
    ),
    Code.BIT_ERRORS: Form(
        expected="a link with fewer bit errors",
        cause="a dirty or loose connector, or a cable that is damaged or too long",
        next_step="clean the connectors and reseat the cable; if that does not help, replace it",
    ),
    Code.LINK_UNREAD: Form(
        "none: {found}",
        "a link that mlxlink or mstlink can read",
        next_step="old or emulated firmware can't be queried; node_check_cables: false excludes the links and cables of a host",
    ),
    Code.FIRMWARE_PENDING: Form(
        cause="it is burned or set, and becomes effective with the next start of the adapter",
        next_step="run rdma.ofed.firmware with rdma_allow_reset or rdma_allow_reboot, or reboot the node",
    ),
    Code.PCIE_DEGRADED: Form(
        cause="the link was trained with less than card and slot can do",
        next_step='reseat the card and its riser, and see the slot in the firmware setup, or accept it with node_check_pcie_accepted: ["{subject}"]',
    ),
    **OPENSM_FORMS,
    **PERFORMANCE_FORMS,
    Code.GPU_NOT_REGISTERED: Form(expected="{wanted} registered with the RDMA stack", cause="the module is loaded", next_step="see the kernel log"),
}


# How to restore the declared state, by kind. For other kinds that roles change, run the playbook of all roles.
_SITE = "run rdma.ofed.site"
_RUN_IPOIB = "run rdma.ofed.site --tags ipoib"
_NEXT: t.Mapping[t.Any, str] = {
    **dict.fromkeys((Kind.FIRMWARE, Kind.FIRMWARE_PARAMETER), "run rdma.ofed.firmware"),
    Kind.INTERFACE: _RUN_IPOIB,
    Kind.RDMA_DEVICE: "udev names it at the next boot: run rdma.ofed.site, then rdma.ofed.reboot",
    Topic.PORT: "see mlxconfig for LINK_TYPE",
}
_ABSENT: t.Mapping[str, str] = {
    _finding.ABSENT_DRIVER: "ib_ipoib is not loaded: run rdma.ofed.site --tags kernel_modules,ipoib",
    _finding.ABSENT_PORT: "this node has no InfiniBand port: see 'rdma link' and 'lspci -d 15b3:'",
    _finding.ABSENT_PARENT: "its parent is absent, too",
    _finding.ABSENT_CHILD: "nothing has created this P_Key child: " + _RUN_IPOIB,
    _finding.ABSENT_NAME: "no interface of this node has that name: see 'ip -br link', or " + _RUN_IPOIB,
}
_SPARE = "; where it is meant to have no link, declare the others in rdma_ports, or their number in node_check_port_count"
# Without and with the line of another setting.
_LIMITS = (
    "run rdma.ofed.site; where it has nothing to do, 'systemctl daemon-reexec', and see pam_limits in /etc/pam.d/su",
    "{detail} sets it: remove the line, or declare kernel_modules_{resource}: keep",
)


def subject(finding: Finding) -> str:
    """The object of a finding: `port mlx5_0/1`, `interface ib0`."""
    if finding.kind == Topic.OPENSM and finding.subject:
        return "opensm of fabric %s" % finding.subject
    if finding.kind == Topic.LIMIT and finding.aspect:
        return "open files of a %s" % finding.subject
    form = _OBJECTS.get(finding.kind)
    return form.format(subject=finding.subject) if form else _words.subject(finding._replace(aspect=""))


def _aspect(finding: Finding) -> str:
    own = _ASPECTS.get((finding.kind, finding.aspect))
    return _words.aspect(finding) if own is None else own


def _said(finding: Finding) -> Form:
    """The filled-in form of a finding."""
    fields = {"wanted": finding.wanted, "found": finding.found, "detail": finding.detail}
    words = {name: _VALUES.get(text) or _words.value(finding, text) for name, text in fields.items()}
    words.update(subject=finding.subject, next=_NEXT.get(finding.kind, _SITE if isinstance(finding.kind, Kind) else ""))
    if finding.aspect == _finding.MANAGER:
        # Where the state in the kernel is right, a run has nothing to change.
        words["next"] = finding.detail
    if finding.code == Code.LINK_DOWN:
        words["detail"] = _SPARE if finding.detail == _finding.UNDECLARED else ""
    if finding.code == Code.OPENSM_SURPLUS:
        words["detail"] = "the designated host is %s: " % finding.detail if finding.detail else ""
    if finding.code == Code.NO_INTERFACE:
        words["detail"] = _ABSENT.get(finding.detail, "")
    if finding.code == Code.CPU_GOVERNOR:
        words["detail"] = "; TuneD has set its profile %s" % words["detail"] if finding.detail else ""
    if finding.code == Code.LOW_LIMIT:
        words["detail"] = _LIMITS[bool(finding.detail)].format(resource=finding.aspect or "memlock", **fields)
    return FORMS[finding.code].filled(words)


def result(finding: Finding) -> dict[str, str]:
    """The finding in the shape of an entry of `deviations`: first the fields that decisions use, then the words."""
    said = _said(finding)
    return {
        "severity": finding.severity.value,
        "code": finding.code.value,
        "kind": finding.kind.value,
        "subject": finding.subject,
        "aspect": finding.aspect,
        "object": " ".join(part for part in (subject(finding), _aspect(finding)) if part),
        **said._asdict(),
    }


def _hint(*parts: t.Any) -> str:
    return ": ".join(str(part) for part in parts if part)


def line_of(deviation: t.Mapping[str, t.Any]) -> str:
    """An entry of `deviations` in one line."""
    hint = _hint(deviation.get("cause"), deviation.get("next_step"))
    line = "%s: wanted %s, found %s" % tuple(deviation.get(key, "") for key in ("object", "expected", "found"))
    return "%s (%s)" % (line, hint) if hint else line


class Line(t.NamedTuple):
    """All deviations of one object of a host."""

    text: str
    """`interface ib0 mode: wanted datagram, found connected; mtu: wanted 2044, found 65520 (HINT)`."""
    shape: tuple[tuple[str, str, str], ...]
    """The codes, kinds and aspects. Lines of one shape differ only in objects and values."""


def by_object(deviations: t.Iterable[t.Mapping[str, t.Any]]) -> list[Line]:
    """One line per object. `deviations`: the entries that `result` returns."""
    objects: dict[tuple[t.Any, t.Any], list[t.Mapping[str, t.Any]]] = {}
    for each in deviations:
        objects.setdefault((each.get("kind"), each.get("subject")), []).append(each)
    return [Line(_line(group), tuple((str(each.get("code")), str(each.get("kind")), str(each.get("aspect"))) for each in group)) for group in objects.values()]


def lines(findings: t.Iterable[Finding]) -> list[str]:
    """One line per object, with all findings about it."""
    return [line.text for line in by_object(map(result, findings))]


def _line(group: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    if group[0].get("code") == Code.UNCHECKED.value:
        return str(group[0]["found"])
    named = _common([str(each.get("object")) for each in group])
    text, hints = named, []
    for position, each in enumerate(group):
        aspect = str(each.get("object"))[len(named) :].strip()
        text += "%s%s wanted %s, found %s" % (
            ";" if position else "",
            " %s:" % aspect if aspect else ("" if position else ":"),
            each.get("expected"),
            each.get("found"),
        )
        hints.append(_hint(each.get("cause"), each.get("next_step")))
    noted = [accepted_words(each["accepted"]) for each in group if each.get("accepted")]
    hint = "; ".join(filter(None, dict.fromkeys(hints)))
    return "".join([text, " (%s)" % hint if hint else "", *(" [%s]" % note for note in dict.fromkeys(noted))])


def _common(objects: t.Sequence[str]) -> str:
    """The words that all objects start with, which is the object without its aspects; the whole text of a single object."""
    if len(objects) == 1:
        return objects[0]
    parts = [text.split(" ") for text in objects]
    same = 0
    while all(len(part) > same and part[same] == parts[0][same] for part in parts):
        same += 1
    return " ".join(parts[0][:same])
