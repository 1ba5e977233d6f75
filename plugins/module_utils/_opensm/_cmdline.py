# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The command line of opensm in terms of the keys of opensm.conf. Pure.

opensm reads its file first, and then its arguments, which win. The options are those of `opensm --help` (3.3.24).
"""

from __future__ import annotations

import getopt
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import HIDDEN, looks_secret

# The name under which arguments that are not understood are a setting of their own.
UNKNOWN = "command_line"

# Options with a value: letter ("" for none), long name, key.
_VALUES: tuple[tuple[str, str, str], ...] = (
    ("F", "config", "config"),
    ("g", "guid", "guid"),
    ("l", "lmc", "lmc"),
    ("p", "priority", "sm_priority"),
    ("", "subnet_prefix", "subnet_prefix"),
    ("k", "smkey", "sm_key"),
    ("R", "routing_engine", "routing_engine"),
    ("", "lash_start_vl", "lash_start_vl"),
    ("", "sm_sl", "sm_sl"),
    ("", "nue_max_num_vls", "nue_max_num_vls"),
    ("M", "lid_matrix_file", "lid_matrix_dump_file"),
    ("U", "lfts_file", "lfts_file"),
    ("S", "sadb_file", "sa_db_file"),
    ("a", "root_guid_file", "root_guid_file"),
    ("u", "cn_guid_file", "cn_guid_file"),
    ("G", "io_guid_file", "io_guid_file"),
    ("", "scatter-ports", "scatter_ports"),
    ("H", "max_reverse_hops", "max_reverse_hops"),
    ("m", "ids_guid_file", "ids_guid_file"),
    ("X", "guid_routing_order_file", "guid_routing_order_file"),
    ("", "torus_config", "torus_config"),
    ("s", "sweep", "sweep_interval"),
    ("t", "timeout", "transaction_timeout"),
    ("", "retries", "transaction_retries"),
    ("n", "maxsmps", "max_wire_smps"),
    ("q", "console", "console"),
    ("C", "console-port", "console_port"),
    ("i", "ignore_guids", "port_prof_ignore_file"),
    ("w", "hop_weights_file", "hop_weights_file"),
    ("O", "port_search_ordering_file", "port_search_ordering_file"),
    ("", "dimn_ports_file", "port_search_ordering_file"),
    ("", "dump_files_dir", "dump_files_dir"),
    ("f", "log_file", "log_file"),
    ("L", "log_limit", "log_max_size"),
    ("D", "D", "log_flags"),
    ("P", "Pconfig", "partition_config_file"),
    ("Z", "part_enforce", "part_enforce"),
    ("Y", "qos_policy_file", "qos_policy_file"),
    ("", "cc_key", "cc_key"),
    ("", "perfmgr_sweep_time_s", "perfmgr_sweep_time_s"),
    ("", "prefix_routes_file", "prefix_routes_file"),
    ("", "log_prefix", "log_prefix"),
    ("c", "create-config", ""),
    ("d", "debug", ""),
)
# Options without: letter, long name, key and its value. Without a key they change how opensm runs, and not the fabric.
_FLAGS: tuple[tuple[str, str, str, str], ...] = (
    ("r", "reassign_lids", "reassign_lids", "TRUE"),
    ("", "do_mesh_analysis", "do_mesh_analysis", "TRUE"),
    ("z", "connect_roots", "connect_roots", "TRUE"),
    ("A", "ucast_cache", "use_ucast_cache", "TRUE"),
    ("", "port-shifting", "port_shifting", "TRUE"),
    ("x", "honor_guid2lid", "honor_guid2lid_file", "TRUE"),
    ("e", "erase_log_file", "accum_log_file", "FALSE"),
    ("N", "no_part_enforce", "part_enforce", "off"),
    ("W", "allow_both_pkeys", "allow_both_pkeys", "TRUE"),
    ("Q", "qos", "qos", "TRUE"),
    ("", "congestion_control", "congestion_control", "TRUE"),
    ("y", "stay_on_fatal", "exit_on_fatal", "FALSE"),
    ("I", "inactive", "sm_inactive", "TRUE"),
    ("", "perfmgr", "perfmgr", "TRUE"),
    ("", "consolidate_ipv6_snm_req", "consolidate_ipv6_snm_req", "TRUE"),
    ("", "guid_routing_order_no_scatter", "guid_routing_order_no_scatter", "TRUE"),
    ("B", "daemon", "", ""),
    ("o", "once", "", ""),
    ("v", "verbose", "log_flags", "0x07"),
    ("V", "V", "log_flags", "0xff"),
    ("h", "help", "", ""),
    ("", "version", "", ""),
)
CONFIG = "config"
_SECRET_LETTERS = "".join(letter for letter, _name, key in _VALUES if looks_secret(key))


def _is_secret(name: str) -> bool:
    """Whether a long option takes a secret. opensm takes the beginning of a name for it."""
    return looks_secret(name) or any(known.startswith(name) for _letter, known, key in _VALUES if looks_secret(key))


def _shown(arguments: t.Sequence[str]) -> str:
    """Arguments as they may be shown: without values of secrets, and without words that follow no option."""
    words = []
    named = False
    for word in arguments:
        name, sign, _value = word.partition("=")
        secret = re.match("-[^-]*?[%s]" % _SECRET_LETTERS, word)
        if word.startswith("--"):
            hides = _is_secret(name[2:])
            words.append("%s=%s" % (name, HIDDEN) if sign and hides else word)
            named = not sign and not hides
        elif secret:
            words.append(secret.group() + (HIDDEN if secret.group() != word else ""))
            named = False
        else:
            words.append(word if named or word.startswith("-") else HIDDEN)
            named = word.startswith("-")
    return " ".join(words)


def keys_of(arguments: t.Sequence[str]) -> dict[str, str]:
    """The keys that the arguments set; CONFIG for the file that they name. What can't be read is one setting, UNKNOWN."""
    letters = "".join("%s:" % row[0] for row in _VALUES if row[0]) + "".join(row[0] for row in _FLAGS)
    long = ["%s=" % row[1] for row in _VALUES if row[1]] + [row[1] for row in _FLAGS if row[1]]
    try:
        pairs, rest = getopt.gnu_getopt(list(arguments), letters, long)
    except getopt.GetoptError:
        return {UNKNOWN: _shown(arguments)}
    keys: dict[str, str] = {}
    for letter, name, key in _VALUES:
        keys.update({"-" + letter: key, "--" + name: key})
    fixed: dict[str, tuple[str, str]] = {}
    for letter, name, key, value in _FLAGS:
        fixed.update({"-" + letter: (key, value), "--" + name: (key, value)})
    found: dict[str, str] = {UNKNOWN: _shown(rest)} if rest else {}
    for option, value in pairs:
        key, text = fixed[option] if option in fixed else (keys[option], value)
        if key:
            found[key] = text
    return found
