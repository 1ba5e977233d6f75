#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for ibdev2netdev of mlnx-tools: "mlx5_0 port 1 ==> ib0 (Up)". 255 without a driver.
[ -d /sys/class/infiniband ] || { echo "ERROR: no InfiniBand devices"; exit 255; }
for device in $(ls /sys/class/infiniband); do
    for port in $(ls "/sys/class/infiniband/$device/ports"); do
        read -r _ _ _ _ high1 high2 low1 low2 < <(sed 's/:/ /g' "/sys/class/infiniband/$device/ports/$port/gids/0" 2>/dev/null)
        for netdev in $(ls /sys/class/net); do
            address=$(tr -d : <"/sys/class/net/$netdev/address")
            case $address in *"$high1$high2$low1$low2")
                case $(cat "/sys/class/net/$netdev/operstate") in up) state=Up ;; *) state=Down ;; esac
                echo "$device port $port ==> $netdev ($state)"
                ;;
            esac
        done
    done
done
