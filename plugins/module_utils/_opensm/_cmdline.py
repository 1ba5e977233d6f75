# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Translate the command line of opensm into keys of opensm.conf. Pure.

opensm reads its configuration file first and its arguments second; the arguments win. The options are those of `opensm --help` (3.3.24).
"""

from __future__ import annotations

import getopt
import re
import typing as t

from ._options import HIDDEN, looks_secret

# The pseudo key that stands for all arguments that could not be parsed.
UNKNOWN = "command_line"


class _Option(t.NamedTuple):
    """One option of the command line."""

    letter: str
    """One letter; "" for none."""
    name: str
    key: str
    """The key of opensm.conf; "" for an option that changes how opensm runs and not the fabric."""
    value: str | None
    """The value that the option sets; None for an option that takes an argument."""


def _options(text: str, value: str | None = None) -> list[_Option]:
    """Parse words of the form `letter/name=key`. Without `=`, the key is the name."""
    found = []
    for word in text.split():
        names, sign, key = word.partition("=")
        letter, _slash, name = names.rpartition("/")
        found.append(_Option(letter, name, key if sign else name, value))
    return found


_VALUES = """
F/config g/guid l/lmc p/priority=sm_priority subnet_prefix k/smkey=sm_key R/routing_engine lash_start_vl sm_sl
nue_max_num_vls M/lid_matrix_file=lid_matrix_dump_file U/lfts_file S/sadb_file=sa_db_file a/root_guid_file
u/cn_guid_file G/io_guid_file scatter-ports=scatter_ports H/max_reverse_hops m/ids_guid_file X/guid_routing_order_file
torus_config s/sweep=sweep_interval t/timeout=transaction_timeout retries=transaction_retries n/maxsmps=max_wire_smps
q/console C/console-port=console_port i/ignore_guids=port_prof_ignore_file w/hop_weights_file
O/port_search_ordering_file dimn_ports_file=port_search_ordering_file dump_files_dir f/log_file
L/log_limit=log_max_size D/D=log_flags P/Pconfig=partition_config_file Z/part_enforce Y/qos_policy_file cc_key
perfmgr_sweep_time_s prefix_routes_file log_prefix c/create-config= d/debug=
"""
_SWITCHES = """
r/reassign_lids do_mesh_analysis z/connect_roots A/ucast_cache=use_ucast_cache port-shifting=port_shifting
x/honor_guid2lid=honor_guid2lid_file W/allow_both_pkeys Q/qos congestion_control I/inactive=sm_inactive perfmgr
consolidate_ipv6_snm_req guid_routing_order_no_scatter
"""
_OPTIONS = (
    *_options(_VALUES),
    *_options(_SWITCHES, "TRUE"),
    *_options("e/erase_log_file=accum_log_file y/stay_on_fatal=exit_on_fatal", "FALSE"),
    *_options("N/no_part_enforce=part_enforce", "off"),
    *_options("v/verbose=log_flags", "0x07"),
    *_options("V/V=log_flags", "0xff"),
    *_options("B/daemon= o/once= h/help= version=", ""),
)
CONFIG = "config"
_SECRETS = [option for option in _OPTIONS if looks_secret(option.key)]
_SECRET_LETTERS = "".join(option.letter for option in _SECRETS)


def _is_secret(name: str) -> bool:
    """Whether a long option takes a secret. opensm accepts abbreviated option names, so prefixes match, too."""
    return looks_secret(name) or any(option.name.startswith(name) for option in _SECRETS)


def _shown(arguments: t.Sequence[str]) -> str:
    """The arguments for display: without the values of secret options and without words that follow no option."""
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
    """The keys that the arguments set. CONFIG holds the configuration file they name; UNKNOWN stands for arguments that can't be parsed."""
    letters = "".join(option.letter + ":" * (option.value is None) for option in _OPTIONS if option.letter)
    long = [option.name + "=" * (option.value is None) for option in _OPTIONS]
    try:
        pairs, rest = getopt.gnu_getopt(list(arguments), letters, long)
    except getopt.GetoptError:
        return {UNKNOWN: _shown(arguments)}
    found: dict[str, str] = {UNKNOWN: _shown(rest)} if rest else {}
    known = {name: option for option in _OPTIONS for name in ("-" + option.letter, "--" + option.name)}
    for name, argument in pairs:
        option = known[name]
        if option.key:
            found[option.key] = argument if option.value is None else option.value
    return found
