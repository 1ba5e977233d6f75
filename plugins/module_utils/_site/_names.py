# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The variables that the collection knows, and the one that a misspelt name may mean. Pure."""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem

# The argument specifications of the roles say the same; a unit test compares. Reading them for every host would cost
# more than all the rest of the validation.
KNOWN: t.Mapping[str, frozenset[str]] = {
    "ofed_": frozenset(
        (
            "allow_removal",
            "bundle",
            "bundle_checksum",
            "bundle_on",
            "cut_ssh_connection",
            "extra_packages",
            "firmware_update",
            "installer_options",
            "kernel_policy",
            "method",
            "openib_conf",
            "packages",
            "reload",
            "repository",
            "repository_key",
            "repository_trusted",
            "source",
            "state",
            "timeout",
            "tools",
            "ulps",
            "version",
        )
    ),
    "kernel_modules_": frozenset(
        ("state", "load", "options", "initramfs", "initramfs_drivers", "initramfs_cmdline", "mechanism", "load_now", "backup", "assume_rdma_core")
    ),
    "ipoib_": frozenset(("state", "interfaces", "backend", "backup", "rollback_timeout")),
    "opensm_": frozenset(
        (
            "state",
            "rank",
            "standby",
            "fabrics",
            "port",
            "port_guid",
            "priority",
            "wait_timeout",
            "allow_foreign_master",
            "log_file",
            "log_flags",
            "log_max_size",
            "node_guids",
            "node_names",
            "options",
            "partitions",
            "port_guids",
            "qos",
            "qos_policy",
            "root_guids",
            "routing_engine",
            "secret_options",
            "sm_key",
        )
    ),
    "fabric_check_": frozenset(
        (
            "ports",
            "interfaces",
            "modules",
            "fabric",
            "fabric_ports",
            "standby",
            "subnet_manager",
            "designated",
            "designated_host",
            "designated_names",
            "designated_guids",
            "gpudirect",
            "wait",
            "fail",
        )
    ),
    "hca_firmware_": frozenset(
        ("devices", "images", "versions", "allow_downgrade", "config", "missing", "backup", "install_tools", "allow_container", "reset_timeout")
    ),
    "gpudirect_": frozenset(("state", "method", "peerdirect_support", "allow_container", "allow_rebuild", "source", "commit", "checksum", "timeout")),
    "soft_rdma_": frozenset(("state", "links")),
    "node_service_": frozenset(("batch", "purpose", "when")),
    "rdma_": frozenset(
        (
            "allow_container",
            "allow_reboot",
            "allow_reload",
            "allow_reset",
            "drain_tasks",
            "fabrics",
            "hosts",
            "pbs_comment",
            "pbs_host",
            "pbs_node",
            "pbs_timeout",
            "pending",
            "ports",
            "reboot_firmware",
            "reboot_timeout",
            "remove",
            "serial",
            "settle_timeout",
            "slurm_host",
            "slurm_node",
            "slurm_reason",
            "slurm_timeout",
            "undrain_tasks",
            "upgrade_groups",
            "verify",
        )
    ),
}
# Of the whole site, without a prefix.
PLAIN = frozenset(("fabric",))

# A name made longer or shorter by a letter or two; C(ipoib_interfaces_common), a variable of the user's own, is further away.
_ALIKE = 0.8
# Two slips in one name are rarer than a name of the user's own.
_VERY_ALIKE = 0.9
_ABBREVIATION = 3


def known_names() -> frozenset[str]:
    """Every variable of the collection, by its whole name."""
    return frozenset(prefix + rest for prefix, names in KNOWN.items() for rest in names) | PLAIN


def _one_slip(found: str, known: str) -> bool:
    """Do they differ by one letter that is wrong, missing or too much, or by two neighbours that changed places?"""
    while found and known and found[0] == known[0]:
        found, known = found[1:], known[1:]
    while found and known and found[-1] == known[-1]:
        found, known = found[:-1], known[:-1]
    return max(len(found), len(known)) == 1 or (len(found) == 2 and found == known[::-1])


def _behind_near_prefix(name: str) -> str:
    """The variable that is meant where the slip is in the prefix itself, such as C(ipoip_interfaces)."""
    for prefix, names in KNOWN.items():
        # Nearly all names of a site end here: this runs on each of them, for each host. A digit is meant: ipoib2_interfaces.
        if name[0] != prefix[0] or any(letter.isdigit() for letter in name[: len(prefix) + 1]):
            continue
        for length in (len(prefix) - 1, len(prefix), len(prefix) + 1):
            head, rest = name[:length], name[length:]
            if rest and _one_slip(head, prefix):
                near = difflib.get_close_matches(rest, sorted(names), n=1, cutoff=_VERY_ALIKE)
                if near:
                    return prefix + near[0]
    return ""


def meant(name: str) -> str:
    """The variable that C(name) is a misspelling of; "" where it is right, or nobody's business.

    Prefix and rest are compared apart: any two names of a role look alike otherwise.
    """
    if not name or name in PLAIN:
        return ""
    for plain_name in PLAIN:
        # A letter more is a word of its own: "fabrics".
        if len(name) == len(plain_name) and _one_slip(name, plain_name):
            return plain_name
    for prefix, names in KNOWN.items():
        if not name.startswith(prefix):
            continue
        rest = name[len(prefix) :]
        if rest in names:
            return ""
        near = difflib.get_close_matches(rest, sorted(names), n=1, cutoff=_ALIKE)
        near = near or [known for known in sorted(names) if len(rest) >= _ABBREVIATION and known.startswith(rest)]
        return prefix + near[0] if near else ""
    return _behind_near_prefix(name)


def misspelt(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """The variables whose names are nearly those of the collection. Others with the same prefix belong to the user."""
    return [Problem(name, value, meant(name), "no variable of this collection has that name") for name, value in sorted(variables.items()) if meant(name)]
