#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for ofed_info of ofed-scripts. The installer of a bundle rewrites the two answers and the headline (the lines
# that begin with "if" and contain exit, and those that begin with OFED); packages from a repository leave it like this.
if [ "X$1" == "X-s" ]; then echo OFED-internal-@INTERNAL@:; exit 0; fi
if [ "X$1" == "X-n" ]; then echo @INTERNAL@; exit 0; fi
if [ "X$1" != "X-l" ] && [ "X$1" != "X" ]; then
    printf 'Usage: %s [options]\n\nOptions:\n' "$0"
    printf '    -s       Show package name and version number.\n    -n       Show numerical version number only.\n'
    printf '    -l       List installed packages details (Default option).\n'
    exit 1
fi

cat << EOF_LIST
OFED-internal-@INTERNAL@:

@SOURCES@
EOF_LIST

echo
echo "Installed Packages:"
echo "-------------------"
dpkg -l 2>/dev/null | awk '/^[rhi][iU]/ {print $2}' | sed -e 's/:.*//' | grep -wE "^(@NAMES@)$" | while read -r name; do
    dpkg -l "$name" | tail -n 1
done
