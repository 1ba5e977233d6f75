# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connected mode at boot where the back-end can't set it: a script, a unit and a udev rule. Pure.

The rule acts first: a back-end configures an interface once udev has it in its database, and a bond accepts a port
only if the port can have the bond's MTU. Therefore the rule runs the script with PROGRAM, before that; RUN would be too late (observed:
a port refused by its bond). The unit serves interfaces that udev does not report, as in containers.
"""

from __future__ import annotations

import re
import typing as t

from .._foreign import decimal
from .._host._files import HEADER
from ._wanted import Interface, is_name

UNIT = "rdma-ofed-ipoib-mode.service"
UNIT_PATH = "/etc/systemd/system/" + UNIT
SCRIPT_PATH = "/usr/local/libexec/rdma-ofed-ipoib-mode"
RULE_PATH = "/etc/udev/rules.d/90-rdma-ofed-ipoib-mode.rules"
PATHS = (SCRIPT_PATH, UNIT_PATH, RULE_PATH)

_SCRIPT = (
    "#!/bin/sh\n"
    + HEADER
    + """\
# Usage: rdma-ofed-ipoib-mode [--only INTERFACE INDEX] INTERFACE=MTU ...
# Puts IPoIB interfaces into connected mode as they appear, and sets their MTU. Waits 30 s for all of them together;
# with --only, for udev, looks at that one alone, which has this index and may have another name yet, and waits 3 s.
set -u
# udev sets none.
PATH=${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}
status=0
tries=30
pause=1
index=
if [ "${1-}" = --only ]; then
    # The driver adds the file of the mode after it has announced the interface.
    pause=0.1
    only=$2
    index=$3
    shift 3
    for entry; do
        shift
        [ "${entry%%=*}" != "$only" ] || set -- "$@" "$entry"
    done
fi
# The name that the interface to be called $1 has now.
current() {
    if [ -z "$index" ]; then
        echo "$1"
        return
    fi
    for folder in /sys/class/net/*; do
        [ "$(cat "$folder/ifindex" 2>/dev/null)" != "$index" ] || echo "${folder##*/}"
    done
}
waiting="$*"
while [ -n "$waiting" ]; do
    rest=
    for entry in $waiting; do
        name=$(current "${entry%%=*}")
        mtu=${entry#*=}
        if [ -z "$name" ] || [ ! -e "/sys/class/net/$name/mode" ]; then
            rest="$rest $entry"
            continue
        fi
        # The mode first: it raises the MTU to the maximum and bounds what can be asked for. The kernel wants the newline.
        if [ "$(cat "/sys/class/net/$name/mode")" != connected ]; then
            echo connected > "/sys/class/net/$name/mode" || status=1
        fi
        if [ "$(cat "/sys/class/net/$name/mtu")" != "$mtu" ]; then
            ip link set dev "$name" mtu "$mtu" || status=1
        fi
    done
    waiting=$rest
    [ -n "$waiting" ] || break
    tries=$((tries - 1))
    if [ "$tries" -le 0 ]; then
        echo "no such IPoIB interface:$waiting" >&2
        exit 1
    fi
    sleep "$pause"
done
exit "$status"
"""
)

_UNIT = (
    HEADER
    + """\
[Unit]
Description=Connected mode of IPoIB interfaces
After=systemd-modules-load.service
Before=network-online.target

[Service]
Type=oneshot
ExecStart=%s %s

[Install]
WantedBy=multi-user.target
"""
)

# Also for a driver that is reloaded later: it creates new interfaces in datagram mode.
_RULE = HEADER + 'ACTION=="add", SUBSYSTEM=="net", ATTR{type}=="32", PROGRAM=="%s --only $name $env{IFINDEX} %s"\n'


def render(interfaces: t.Sequence[Interface]) -> dict[str, str]:
    """The three files by path; empty where no interface needs them."""
    connected = [interface for interface in interfaces if interface.mode == "connected" and not interface.is_child and interface.bond is None]
    if not connected:
        return {}
    arguments = " ".join("%s=%d" % (interface.name, interface.mtu) for interface in connected)
    return {SCRIPT_PATH: _SCRIPT, UNIT_PATH: _UNIT % (SCRIPT_PATH, arguments), RULE_PATH: _RULE % (SCRIPT_PATH, arguments)}


def recorded_mtus(files: t.Mapping[str, str]) -> dict[str, int]:
    """The interfaces of our unit with their MTUs."""
    line = re.search(r"^ExecStart=%s (.*)$" % re.escape(SCRIPT_PATH), files.get(UNIT_PATH, ""), re.MULTILINE)
    return {name: decimal(mtu, 0) for name, _sign, mtu in (word.partition("=") for word in line.group(1).split()) if is_name(name)} if line else {}
