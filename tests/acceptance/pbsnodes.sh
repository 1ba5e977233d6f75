#!/bin/sh
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stands for pbsnodes of OpenPBS: for one host, the options -H, -o, -r and -C in the order in which the hooks give them, with
# the output that its manual and its source describe. What PBS knows of a host is in files of /var/lib/pbs-standin: offline, comment,
# jobs and down. Not in it: servers, privileges, vnodes that differ, every other option.
state=/var/lib/pbs-standin
operation=$1
shift
if [ "$1" = -C ]; then
    comment=$2
    shift 2
fi
host=$1
if [ ! -d "$state/$host" ]; then
    # -H ends with 0 nevertheless.
    echo "Node: $host,  Error: Unknown node " >&2
    [ "$operation" = -H ] && exit 0
    exit 1
fi
cd "$state/$host" || exit 1
case $operation in
    -o) touch offline ;;
    -r) rm -f offline ;;
    -H)
        words=$(for word in down offline; do [ -e $word ] && printf '%s,' $word; done)
        printf '%s\n     Mom = %s\n     ntype = PBS\n     state = %s\n     pcpus = 2\n' "$host" "$host" "$(echo "${words:-free,}" | sed 's/,$//')"
        [ -s jobs ] && printf '     jobs = %s\n' "$(cat jobs)"
        printf '     resources_available.host = %s\n     resv_enable = True\n' "$host"
        [ -s comment ] && printf '     comment = %s\n' "$(cat comment)"
        echo
        ;;
    *)
        echo "usage: pbsnodes [-{o|r}][-C comment][-s server] host host ..." >&2
        exit 1
        ;;
esac
if [ -n "${comment+given}" ]; then
    printf '%.79s' "$comment" >comment
fi
exit 0
