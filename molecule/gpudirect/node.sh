#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# node.sh deb|rpm, on a node: a GPU with a driver from before nvidia_peermem, and a stack with peer memory, as MLNX_OFED 4.9 is one.
# The modules are compiled for the node's kernel, for what nv_peer_mem is linked with has to be there. With rpm, the node becomes a
# look-alike: os-release of Rocky Linux, a database of RPM packages, and Debian's rpm, rpmbuild, compiler and headers.
set -eu
here=$(dirname "$0")
kernel=$(uname -r)
modules=/lib/modules/$kernel/updates
export DEBIAN_FRONTEND=noninteractive

tools=(gcc libc6-dev make "linux-headers-$kernel")
case $1 in
deb) tools+=(dkms) ;;
rpm) tools+=(rpm bzip2 git) ;;
esac
apt-get install --yes --no-install-recommends "${tools[@]}" >/dev/null 2>&1

# build FOLDER: its module, into the node. What it may use of those before it is in the file symbols.
build() {
    make --silent -C "/lib/modules/$kernel/build" M="$here/gpu/$1" KBUILD_EXTRA_SYMBOLS="$here/symbols" modules 2>/dev/null
    cat "$here/gpu/$1/Module.symvers" >>"$here/symbols"
    cp "$here/gpu/$1"/*.ko "$modules"
}

mkdir -p "$modules" /usr/src/ofa_kernel/default "$here/gpu/users"
touch "$here/symbols"
sed -i s/535.104.05/460.106.00/ "$here/gpu/nvidia/standin.h"
echo 'obj-m := nvidia.o' >"$here/gpu/nvidia/Makefile"
# Those who hold NVIDIA's driver and ib_core on a node that works. Without them, modprobe -r of nv_peer_mem takes both along.
echo 'obj-m := users.o' >"$here/gpu/users/Makefile"
cat >"$here/gpu/users/users.c" <<'USERS'
#include <linux/module.h>
int nvidia_p2p_get_pages(void);
void *ib_register_peer_memory_client(const char *name, const char *version);
extern void *const standin_uses[];
void *const standin_uses[] = { nvidia_p2p_get_pages, ib_register_peer_memory_client };
MODULE_LICENSE("GPL");
USERS
for folder in nvidia peer_memory users; do build $folder; done
cp "$here/gpu/peer_memory/Module.symvers" /usr/src/ofa_kernel/default
depmod
echo 'softdep ib_core post: ib_peer_mem' >/etc/modprobe.d/ib_peer_mem.conf
sh "$here/gpu/add-gpu.sh"
modprobe users

# package NAME VERSION: an empty one, of which the version counts.
if [ "$1" = deb ]; then
    cat >/usr/local/bin/package <<'PACKAGE'
#!/bin/sh
set -eu
scratch=$(mktemp -d)
mkdir "$scratch/DEBIAN"
printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: lab <lab@example.invalid>\nDescription: stand-in\n' "$1" "$2" >"$scratch/DEBIAN/control"
dpkg-deb --build "$scratch" /tmp/package.deb && dpkg --install /tmp/package.deb
rm -r "$scratch" /tmp/package.deb
PACKAGE
    chmod +x /usr/local/bin/package
    package mlnx-ofed-kernel-dkms 4.9-OFED.4.9.4.1.7.1
    exit
fi

mkdir -p /etc/rpm /var/lib/rpm
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros
cat >/usr/local/bin/package <<'PACKAGE'
#!/bin/sh
set -eu
cat >/tmp/package.spec <<SPEC
Name: $1
Version: $2
Release: 1
Summary: stand-in
License: GPL
Provides: ${3:-$1}
%description
Stand-in.
%files
SPEC
rpmbuild -bb --define '_topdir /tmp/package' /tmp/package.spec && rpm --upgrade /tmp/package/RPMS/*/*.rpm
rm -r /tmp/package /tmp/package.spec
PACKAGE
cat >/sbin/chkconfig <<'CHKCONFIG'
#!/bin/sh
# As far as the package asks for it.
case $1 in
--add) exec update-rc.d "$2" defaults ;;
--del) exec update-rc.d -f "$2" remove ;;
esac
CHKCONFIG
chmod +x /usr/local/bin/package /sbin/chkconfig
rm -f /etc/debian_version /etc/os-release
printf 'NAME="Rocky Linux"\nVERSION="9.4"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4"\n' >/etc/os-release
echo 'Rocky Linux release 9.4' >/etc/redhat-release
# What the packages of this node ask the database for, and its files are Debian's.
package base 9.4 'gcc, kernel-headers, /bin/sh, /bin/bash, /usr/bin/bash' >/dev/null 2>&1
package mlnx-ofa_kernel 4.9 >/dev/null 2>&1
