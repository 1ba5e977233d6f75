# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse opensm.conf, tell what a change of it requires, and show it without its secrets. Pure."""

from __future__ import annotations

import os
import typing as t

from .._codes import is_secret
from .._foreign import integer
from .._plan import Change, Kind, Plan
from ._options import HIDDEN, split

CONF = "opensm.conf"
# Keys adopted from the subnet manager that ours replaced.
ADOPTED = "adopted.conf"
# The names of the keys that the inventory declared in the last run, so that a later run can tell which of them are gone.
DECLARED = "declared-keys"

# What a running opensm needs to apply its files: nothing, SIGHUP to reread them, or a restart.
RUNNING, RELOAD, RESTART = "running", "reload", "restart"
_ORDER = (RUNNING, RELOAD, RESTART)

# Keys that opensm applies when it rereads the file: at SIGHUP, and at every heavy sweep for any other reason. They are the keys
# with can_update in the table opt_tbl of osm_subnet.c (opensm 3.3.24, https://github.com/linux-rdma/opensm). All other keys,
# including those of a vendor's opensm, are read at start-up only.
_LIVE_TEXT = """
accum_log_file babbling_port_policy congestion_control connect_roots consolidate_ipv6_snm_req disable_multicast
do_mesh_analysis drop_event_subscriptions enable_quirks exit_on_fatal fdr10 force_heavy_sweep force_link_speed
force_link_speed_ext force_link_width force_log_flush fsync_high_avail_files head_of_queue_lifetime
honor_guid2lid_file ignore_other_sm ipoib_mcgroup_creation_validation keep_pkey_indexes lash_start_vl
leaf_head_of_queue_lifetime leaf_vl_stall_count local_phy_errors_threshold log_flags log_max_size log_prefix m_key
m_key_lease_period m_key_lookup m_key_protection_level max_msg_fifo_timeout max_op_vls max_rate_enum
max_smps_timeout max_wire_smps max_wire_smps2 mcgroup_join_validation no_clients_rereg no_partition_enforcement
nue_max_num_vls overrun_errors_threshold packet_life_time part_enforce polling_retry_number
port_profile_switch_nodes port_shifting qos quasi_ftree_indexing reassign_lids sa_db_dump sa_key scatter_ports
sm_assigned_guid sm_inactive sm_key sm_priority sm_sl sminfo_polling_timeout subnet_timeout
suppress_sl2vl_mad_status_errors sweep_interval sweep_on_trap torus_config use_mfttop use_optimized_slvl
use_original_extended_sa_rates_only vl_stall_count
cc_sw_cong_setting_control_map cc_sw_cong_setting_victim_mask cc_sw_cong_setting_credit_mask
cc_sw_cong_setting_threshold cc_sw_cong_setting_packet_size cc_sw_cong_setting_credit_starvation_threshold
cc_sw_cong_setting_credit_starvation_return_delay cc_sw_cong_setting_marking_rate cc_ca_cong_setting_port_control
cc_ca_cong_setting_control_map cc_ca_cong_setting_ccti_timer cc_ca_cong_setting_ccti_increase
cc_ca_cong_setting_trigger_threshold cc_ca_cong_setting_ccti_min cc_cct
"""
_QOS = ["qos_%s%s" % (ports, name) for ports in ("", "ca_", "sw0_", "swe_", "rtr_") for name in ("max_vls", "high_limit", "vlarb_high", "vlarb_low", "sl2vl")]
LIVE = frozenset([*_LIVE_TEXT.split(), *_QOS])


def parse_conf(text: str) -> dict[str, str]:
    """The keys with their values as written. Of duplicate keys the last one counts."""
    return dict(filter(None, map(split, text.splitlines())))


def with_key(text: str, key: str, value: t.Any) -> str:
    """The text with a new value for one key. A missing key is appended."""
    lines = text.splitlines(keepends=True)
    hits = [index for index, line in enumerate(lines) if line.split()[:1] == [key]]
    for index in hits:
        lines[index] = "%s %s\n" % (key, value)
    return "".join(lines) + ("" if hits else "%s %s\n" % (key, value))


def _normal(value: str) -> str:
    """Normalise a number: 0x0a, 0x0A and 10 are the same to opensm."""
    found = integer(value)
    return value if found is None else str(found)


def same(one: t.Sequence[str], other: t.Sequence[str]) -> bool:
    """Whether opensm treats both as the same values of a key."""
    return [_normal(text).lower() for text in one] == [_normal(text).lower() for text in other]


def values(text: str) -> dict[str, tuple[str, ...]]:
    """The values of each key. A key has several values only if it occurs several times."""
    found: dict[str, list[str]] = {}
    for key, value in filter(None, map(split, text.splitlines())):
        found.setdefault(key, []).append(_normal(value))
    return {key: tuple(texts) for key, texts in found.items()}


def changed_keys(old: str, new: str) -> list[str]:
    """The keys that were added, removed or changed, sorted. Comments and spelling do not count."""
    before, after = values(old), values(new)
    return sorted(key for key in {**before, **after} if before.get(key) != after.get(key))


def effect(old: str, new: str) -> str:
    """The state of an opensm that runs with the text `old`, with regard to the text `new`: RUNNING, RELOAD or RESTART.

    An opensm that found no file at start-up does not look for one later. A removed key keeps its value until the process ends.
    """
    keys = changed_keys(old, new)
    if not keys:
        return RUNNING
    after = values(new)
    return RELOAD if old and all(key in LIVE and key in after for key in keys) else RESTART


def strongest(effects: t.Iterable[str]) -> str:
    """The state with regard to several files: the strongest of their effects."""
    return max(effects, key=_ORDER.index, default=RUNNING)


def redact(old: str, new: str) -> tuple[str, str]:
    """Both texts for a diff, with secrets hidden. A changed secret still shows as a change."""
    changed = frozenset(changed_keys(old, new))

    def hide(text: str, mark: bool) -> str:
        lines = []
        for line in text.splitlines(keepends=True):
            key, _value = split(line) or ("", "")
            differs = mark and key in changed
            lines.append("%s %s\n" % (key, "(hidden, another one)" if differs else HIDDEN) if is_secret(key) else line)
        return "".join(lines)

    return hide(old, False), hide(new, bool(old))


def of_interest(old: str, new: str, declared: t.Collection[str]) -> tuple[str, str]:
    """Both texts for a diff, reduced to the keys that are declared or that change. The template may have 900 lines."""
    keys = {*declared, *(changed_keys(old, new) if old and new else ())}

    def shown(text: str) -> str:
        pairs = ((split(line), line) for line in text.splitlines(keepends=True))
        return "".join(line for pair, line in pairs if pair is not None and pair[0] in keys)

    return shown(old), shown(new)


# The keys that identify a configuration that is removed. All its other keys are defaults of the installed opensm.
_TELLING = ("guid", "subnet_prefix", "sm_priority", "log_file", "routing_engine", "qos", "sm_key")


def without_secrets(plan: Plan, declared: t.Mapping[str, t.Collection[str]]) -> Plan:
    """The plan without secrets, for display. `declared`: by file, the keys that are not the package's defaults.

    Of a configuration that is removed, the keys shown are _TELLING and those that the files beside it name.
    """
    going: dict[str, set[str]] = {}
    for change in plan.about(Kind.FILE):
        folder, name = os.path.split(change.subject)
        if name in (ADOPTED, DECLARED):
            going.setdefault(os.path.join(folder, CONF), set()).update(key for key, _value in filter(None, map(split, change.before.splitlines())))

    def shown(change: Change) -> Change:
        if change.kind != Kind.FILE or os.path.basename(change.subject) not in (CONF, ADOPTED):
            return change
        before, after = redact(change.before, change.after)
        if change.subject in declared:
            before, after = of_interest(before, after, declared[change.subject])
        elif os.path.basename(change.subject) == CONF and before != HIDDEN:
            before, after = of_interest(before, after, {*_TELLING, *going.get(change.subject, ())})
        return change._replace(before=before, after=after)

    return Plan(tuple(map(shown, plan.changes)))
