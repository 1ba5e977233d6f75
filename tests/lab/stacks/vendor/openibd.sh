#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for /etc/init.d/openibd of mlnx-ofed-kernel-utils: what it loads, unloads and refuses, in its order and its words.
### BEGIN INIT INFO
# Provides:       openibd
# Required-Start: $local_fs
# Required-Stop: opensmd
# X-Start-Before: networking
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Description:    Activates/Deactivates InfiniBand Driver to start at boot time.
### END INIT INFO
CONFIG=${OPENIBD_CONFIG:-/etc/infiniband/openib.conf}
ALIASES=/etc/modprobe.d/ib_ipoib.conf
BOOTID=/var/run/openibd.bootid
export LANG=C
[ -f "$CONFIG" ] || { echo No InfiniBand configuration found; exit 0; }
# shellcheck disable=SC1090
. "$CONFIG"

log_msg() { logger -i "openibd: $*" 2>/dev/null; }
cleanup() { rm -f /var/run/mlx_os_booting; }
echo_success() { echo "$* [  OK  ]"; }
echo_failure() { echo "$* [FAILED]"; return 1; }
is_module() { grep -q "^$1 " /proc/modules; }
loaded() { awk '{print $1}' /proc/modules; }
# As an exit status, so modulo 256: 0 is not in use.
is_ref() { local count; count=$(cat "/sys/module/$1/refcnt" 2>/dev/null); return "$((${count:-0} % 256))"; }

auto=0
boot=${2##*=}
if [ -n "$boot" ]; then
    last=$(cat $BOOTID 2>/dev/null)
    echo "$boot" >$BOOTID
    if [ "$last" = manual ]; then
        log_msg "first manual run after installation"
    elif [ -z "$last" ] || [ "$last" != "$boot" ]; then
        auto=1
    fi
fi
RUNMODE=manual
if [ "$2" = auto ] || [ $auto -eq 1 ]; then RUNMODE=auto; else ONBOOT=yes; fi
log_msg "running in $RUNMODE mode"
ALLOW_STOP=${ALLOW_STOP:-yes}
[ "$FORCE_MODE" = yes ] && FORCE=1 || FORCE=0
[ "$ONBOOT" = yes ] || { log_msg "running in auto mode and ONBOOT=no --> exiting"; cleanup; exit 0; }

UNLOAD_MODULES="mlx5_ib mlx5_core eth_ipoib ib_ipoib rds_rdma rds_tcp rds ib_ucm ib_srp_target ib_srp ib_iser ib_sdp rdma_ucm rdma_cm iw_cm ib_cm"
UNLOAD_MODULES="$UNLOAD_MODULES ib_uverbs ib_umad ib_mad ib_core rdma_rxe mlxfw"
STATUS_MODULES="rdma_ucm ib_srp rdma_cm ib_ipoib mlx4_core mlx4_ib mlx5_core mlx5_ib ib_uverbs ib_umad ib_cm ib_core mlxfw"
RESULT=0
RETRIES=100

load_module() {
    local module=$1 file
    file=$(/sbin/modinfo -F filename "$module" 2>/dev/null)
    if [ -z "$file" ]; then
        echo_failure "Module $module does not exist, skipping..."
        RESULT=2
        return 0
    fi
    if [ $FORCE -eq 0 ] && ! /sbin/modinfo -F depends "$module" | grep -q mlx_compat && [ "$module" != mlx_compat ] && ! echo "$file" | grep -q updates/dkms; then
        echo_failure "Module $module does not belong to MLNX_OFED, skipping..."
        RESULT=3
        return 0
    fi
    /sbin/modprobe "$module" >/dev/null 2>&1
}

# A loaded module that is another one than the installed, or has another parameter than modprobe.d says, makes start stop first.
stale() {
    local module live disk line key value
    for module in $(loaded | grep -E '^mlx|^ib_ipoib|^ib_srp|^ib_iser|^ib_uverbs|^iw_cm|^ib_core|^ib_cm|^rdma_ucm|^ib_umad|^rdma_cm|^rdma_rxe'); do
        live=$(cat "/sys/module/$module/srcversion" 2>/dev/null)
        disk=$(/sbin/modinfo -F srcversion "$module" 2>/dev/null)
        if [ "$live" != "$disk" ]; then
            log_msg "start(): Detected loaded old version of module '$module', calling stop..."
            return 0
        fi
    done
    while read -r line; do
        read -r _ module line <<<"$line"
        is_module "$module" || continue
        for key in $line; do
            value=$(cat "/sys/module/$module/parameters/${key%%=*}" 2>/dev/null)
            if [ "$value" != "${key#*=}" ]; then
                log_msg "start(): Detected '$module' loaded with '${key%%=*}=$value' instead of '$key' as configured under /etc/modprobe.d/, calling stop..."
                return 0
            fi
        done
    done < <(grep -rhE '^ *options +[a-z0-9_]*mlx' /etc/modprobe.d/*.conf 2>/dev/null | sort -u)
    return 1
}

start() {
    local module failed=0
    stale && stop
    if [ "$MLX5_LOAD" = yes ]; then
        for module in mlx5_core mlx5_ib; do load_module $module || failed=1; done
        [ $failed -eq 0 ] || echo_failure "Loading Mellanox MLX5 HCA driver: "
    fi
    [ "$UMAD_LOAD" != yes ] || load_module ib_umad || failed=1
    [ "$UVERBS_LOAD" != yes ] || load_module ib_uverbs || failed=1
    [ "$IPOIB_LOAD" != yes ] || load_module ib_ipoib || failed=1
    [ "$RDMA_CM_LOAD" != yes ] || load_module rdma_cm || failed=1
    [ "$RDMA_UCM_LOAD" != yes ] || load_module rdma_ucm || failed=1
    [ "$SRP_LOAD" != yes ] || load_module ib_srp || failed=1
    if ! loaded | grep -qE '^mlx[45]_core$'; then
        echo "No HCA kernel modules loaded"
        failed=1
    fi
    if [ $failed -ne 0 ]; then
        echo_failure "Loading HCA driver and Access Layer: "
        cleanup
        exit 1
    fi
    echo_success "Loading HCA driver and Access Layer: "
    sed -i -e 's/^#\(alias netdev-ib.*\)/\1/' $ALIASES 2>/dev/null
    [ "${POST_START_DELAY:-0}" -gt 0 ] && sleep "$POST_START_DELAY"
    cleanup
    return 0
}

rm_mod() {
    local said
    if ! said=$(/sbin/rmmod "$1" 2>&1); then
        echo_failure "Unloading $1"
        echo "$said"
        cleanup
        exit 1
    fi
}

# With all that holds it, as far as that is in the list, the run is forced, or the machine boots.
unload() {
    local module=$1 user
    is_module "$module" || return 0
    /sbin/modprobe -r "$module" >/dev/null 2>&1 && return 0
    for user in $(ls "/sys/module/$module/holders" 2>/dev/null) $(awk -v name="$module" '$1 == name {gsub(",", " ", $4); print $4}' /proc/modules); do
        [ "$user" != - ] || continue
        if ! echo "$UNLOAD_MODULES" | grep -q "$user" && [ $FORCE -eq 0 ] && [ $RUNMODE != auto ]; then
            rm_mod "$module"
        else
            unload "$user"
        fi
    done
    is_module "$module" || return 0
    case $RUNMODE$module in automlx*)
        if [ $RETRIES -gt 0 ]; then
            RETRIES=$((RETRIES - 1))
            sleep 1
            unload "$module"
            return
        fi ;;
    esac
    rm_mod "$module"
}

refusals() {
    local refused=0 blocking="" name entries
    if grep -q ko2iblnd /proc/modules; then
        echo "Please stop Lustre services before unloading the Infiniband stack."
        refused=1
    fi
    # They are stopped even if the answer is no in the end.
    for name in ibacm srp_daemon; do
        if systemctl is-active --quiet $name 2>/dev/null; then systemctl stop $name; fi
    done
    # A substring: opensm is also in opensmtpd.
    for name in opensm osmtest ibbs ibns ibacm; do
        if pgrep $name >/dev/null 2>&1; then
            echo "Please stop \"$name\" and all applications running over InfiniBand."
            refused=1
        fi
    done
    if [ -d /dev/infiniband ]; then
        entries=$(lsof +c 0 -a +d /dev/infiniband 2>/dev/null | awk '$1 != "COMMAND" {print $1 " " $2 " " $3 " " $NF}' | sort -u)
    fi
    if [ -n "$entries" ]; then
        refused=1
        printf '\nPlease stop the following applications still using Infiniband devices:\n'
        echo "$entries" | while read -r app pid owner device; do echo "$app($pid) user $owner is using device ${device##*/}"; done
        echo
    fi
    if pidof iscsid >/dev/null 2>&1 && iscsiadm -m session 2>&1 | grep -q '^iser'; then
        echo "Please logout from all open-iscsi over iSER sessions"
        refused=1
    fi
    for name in ib_isert nvme_rdma nvmet_rdma rpcrdma xprtrdma ib_srpt; do
        is_module $name || continue
        is_ref $name && continue
        refused=1
        blocking="$blocking $name"
        case $name in
        ib_isert) echo "Please close all isert sessions and unload 'ib_isert' module." ;;
        nvme_rdma) echo "Please close all nvme sessions and unload 'nvme_rdma' module." ;;
        nvmet_rdma) echo "Please close all nvmet sessions and unload 'nvmet_rdma' module." ;;
        *) echo "Please make sure module '$name' is not in use and unload it." ;;
        esac
    done
    if [ $refused -ne 0 ]; then
        printf '\nError: Cannot unload the Infiniband driver stack due to the above issue(s)!\n'
        [ -z "$blocking" ] || printf '\nTo unload the blocking modules, you can run:\n# modprobe -rv %s\n' "$blocking"
        printf '\nOnce the above issue(s) resolved, run:\n# %s %s\n' "$0" "$ORIGINAL"
        cleanup
        exit 1
    fi
}

stop() {
    local module bond port
    [ $RUNMODE = auto ] || refusals
    for bond in $(cat /sys/class/net/bonding_masters 2>/dev/null); do
        [ "$(cat "/sys/class/net/$bond/type")" = 32 ] || continue
        for port in $(cat "/sys/class/net/$bond/bonding/slaves"); do echo "-$port" >"/sys/class/net/$bond/bonding/slaves"; done
        echo "-$bond" >/sys/class/net/bonding_masters
    done
    sed -i -e 's/^alias netdev-ib.*/#&/' $ALIASES 2>/dev/null
    for module in $UNLOAD_MODULES; do unload "$module"; done
    unload mlx_compat
    echo_success "Unloading HCA driver: "
    sleep 1
}

status() {
    local result=0 module
    if is_module mlx4_core || is_module mlx5_core; then
        printf '\n  HCA driver loaded\n\n'
    else
        printf '\nHCA driver is not loaded\n\n'
        result=1
    fi
    if is_module ib_ipoib; then
        printf 'Configured IPoIB devices:\n%s\n\n' "$(cd /sys/class/net && echo ib*)"
    fi
    printf 'The following OFED modules are loaded:\n\n'
    for module in $STATUS_MODULES; do is_module "$module" && echo "  $module"; done
    echo
    return $result
}

hook() { [ ! -x "/etc/infiniband/$1-hook.sh" ] || "/etc/infiniband/$1-hook.sh"; }

ORIGINAL=$1
ACTION=$1
case $ACTION in force-*) FORCE=1; ACTION=${ACTION#force-} ;; esac
case $ACTION in
start) hook pre-start; start; RC=$?; hook post-start ;;
stop)
    if [ $FORCE -eq 0 ] && [ "$ALLOW_STOP" != yes ]; then
        echo "ERROR: Option 'stop' is disabled!"
        echo "Either use 'force-stop', or enable 'stop' by setting 'ALLOW_STOP=yes' in your $CONFIG file"
        exit 1
    fi
    hook pre-stop; stop; RC=$?; hook post-stop
    ;;
restart) hook pre-stop; stop; RC=$?; hook post-stop; hook pre-start; start; RC=$((RC + $?)); hook post-start ;;
status) status; RC=$? ;;
*)
    printf '\nUsage: %s {start|force-start|stop|force-stop|restart|force-restart|status}\n\n' "$(basename "$0")"
    cleanup
    exit 1
    ;;
esac
[ $RC -ne 0 ] || RC=$RESULT
cleanup
exit $RC
