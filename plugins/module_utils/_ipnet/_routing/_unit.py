# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit that keeps rules and routes by source address in the kernel, whatever configures the interfaces, and its script. Pure.

The kernel forgets the routes of an interface that goes down, and systemd-networkd removes the rules of others when it starts. Therefore the script
follows the kernel's messages.
"""

from __future__ import annotations

import typing as t

from ..._host._files import HEADER
from ._found import FIRST_TABLE, LAST_TABLE, SCRIPT_PATH, UNIT_PATH

if t.TYPE_CHECKING:
    from ._wanted import Source

_SCRIPT = (
    (
        "#!/bin/sh\n"
        + HEADER
        + """\
# Usage: rdma-ofed-ipoib-routes apply|follow [TABLE INTERFACE ADDRESS NETWORK]...
#        rdma-ofed-ipoib-routes remove
# Packets from ADDRESS to NETWORK leave by INTERFACE: by a rule with the priority TABLE, and a route in that table.
set -u
PATH=${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}
LC_ALL=C
export PATH LC_ALL
# Only what is missing is added, so that nothing follows from the script's own messages. An interface may vanish meanwhile.
apply() {
    while [ $# -ge 4 ]; do
        if [ -n "$(ip -4 -oneline address show dev "$2" up to "$3/32" 2>/dev/null)" ]; then
            ip -4 rule show | grep -Eq "^$1:[[:space:]]+from $3 lookup $1([[:space:]]|\\$)" ||
                ip -4 rule add priority "$1" from "$3" table "$1" 2>/dev/null
            ip -4 route show table "$1" 2>/dev/null | grep -Eq "^$4 dev $2([[:space:]]|\\$)" ||
                ip -4 route replace "$4" dev "$2" scope link table "$1" 2>/dev/null
        fi
        shift 4
    done
    return 0
}
# Whether a message is about one of the interfaces or addresses.
concerns() {
    message=$1
    shift
    while [ $# -ge 4 ]; do
        case $message in *"$2"* | *"$3"*) return 0 ;; esac
        shift 4
    done
    return 1
}
remove() {
    ip -4 rule show | while IFS=: read -r priority rule; do
        [ "$priority" -ge FIRST ] && [ "$priority" -le LAST ] || continue
        case "$rule " in *" lookup $priority "*) ;; *) continue ;; esac
        ip -4 rule delete priority "$priority" table "$priority" 2>/dev/null
        ip -4 route flush table "$priority" 2>/dev/null
    done
    return 0
}
command=$1
shift
case $command in
apply) apply "$@" ;;
remove) remove ;;
follow)
    # It listens before it looks.
    ip -4 monitor address link rule | {
        apply "$@"
        while read -r line; do
            if concerns "$line" "$@"; then
                apply "$@"
            fi
        done
    }
    ;;
esac
"""
    )
    .replace("FIRST", str(FIRST_TABLE))
    .replace("LAST", str(LAST_TABLE))
)

_UNIT = (
    HEADER
    + """\
[Unit]
Description=Routes of IPoIB interfaces in one subnet

[Service]
ExecStartPre=%(script)s apply %(sources)s
ExecStart=%(script)s follow %(sources)s
ExecStopPost=%(script)s remove
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""
)


def render(sources: t.Sequence[Source]) -> dict[str, str]:
    """The texts of unit and script, by path; "" where there are no sources."""
    words = " ".join("%d %s %s %s" % source for source in sources)
    return {SCRIPT_PATH: _SCRIPT if sources else "", UNIT_PATH: _UNIT % {"script": SCRIPT_PATH, "sources": words} if sources else ""}
