#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for mlnx_add_kernel_support.sh: makes a bundle with modules for one kernel from another bundle. 30: it has them already.
usage() { echo "Usage: $(basename "$0") -m|--mlnx_ofed <path to MLNX_OFED directory> [--make-iso|--make-tgz] [-k kernel] [-s sources] [-n name] [-y]"; }

[ "$(id -u)" -eq 0 ] || { echo "You must be root to run $(basename "$0")"; exit 1; }
[ $# -gt 0 ] || { usage; exit 1; }
kernel=$(uname -r)
yes=0
while [ $# -gt 0 ]; do
    case "$1" in
    -m | --mlnx_ofed) bundle=$2; shift ;;
    -k | --kernel) kernel=$2; shift ;;
    -s | --kernel-sources) sources=$2; shift ;;
    -n | --name) name=$2; shift ;;
    -t | --tmpdir) TMP=$2; shift ;;
    --distro | --ofed-sources) shift ;;
    -y | --yes) yes=1 ;;
    --make-tgz | --make-iso | --force | --skip-repo | -v | --verbose | --without-*) ;;
    *) usage; exit 1 ;;
    esac
    shift
done
TMP=${TMP:-/tmp}
sources=${sources:-/lib/modules/$kernel/build}
faults=",$OFED_STANDIN,$([ -r /etc/ofed-standin ] && tr '\n' ',' </etc/ofed-standin),"
error() { echo "ERROR: $*"; exit 1; }

[ -f "$bundle/.mlnx" ] || error "no MLNX_OFED in '$bundle'"
version=$(cat "$bundle/.mlnx")
name=${name:-MLNX_OFED_LINUX-$version-$(cat "$bundle/distro")-ext}
if ls "$bundle"/DEBS/mlnx-ofed-kernel-modules_*kver."$kernel"_*.deb >/dev/null 2>&1; then
    echo "Required kernel ($kernel) is already supported by MLNX_OFED_LINUX"
    exit 30
fi
if [ "$yes" -eq 0 ]; then
    printf 'Note: This program will create MLNX_OFED_LINUX TGZ for %s under %s directory.\nDo you want to continue?[y/N]:' "$kernel" "$TMP"
    read -r -n 1 answer
    [ "$answer" = y ] || [ "$answer" = Y ] || exit 1
fi
work=$(mktemp -d "/tmp/mlnx_iso.XXXXXX_logs")
log=$work/mlnx_ofed_iso.$$.log
echo "See log file $log"
echo "Checking if all needed packages are installed..."
[ -d "$sources/scripts" ] || error "Kernel sources of $kernel are not at $sources: install linux-headers-$kernel"
echo "Building MLNX_OFED_LINUX DEBS. Please wait..."
case "$faults" in *,build,*) echo "make: *** [Makefile:42: modules] Error 2" >"$log"; error "Failed executing \"MLNX_OFED_SRC-$version/install.pl\"
ERROR: See $log" ;; esac
slow=$(echo "$faults" | sed -n 's/.*,slow=\([0-9.]*\),.*/\1/p')
[ -z "$slow" ] || sleep "$slow"
mkdir -p "$TMP/$name" || exit 1
cp -a "$bundle/." "$TMP/$name/"
python3 "$bundle/.standin/kernel_debs.py" "$kernel" "$TMP/$name/DEBS" >>"$log" 2>&1 || error "See $log"
echo "Creating metadata-rpms for $kernel ..."
tar -C "$TMP" -czf "$TMP/$name.tgz" "$name" || exit 1
rm -rf "${TMP:?}/$name"
echo "Created $TMP/$name.tgz"
