#!/bin/sh
# Unpacks into OUT what the emulation inside a node needs and no node may have as a package:
#   OUT/opt/lab/lib                 the management datagram libraries and their simulator client
#   OUT/usr/lib/modules/RELEASE     the RDMA part of the newest kernel package, with module dependencies
#   OUT/opt/lab/kernel              that RELEASE
#   OUT/opt/lab/share               the firmware tools' database of configuration parameters
set -eu
out=$1
work=$(mktemp -d)
cd "$work"

kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: *\(linux-image-[0-9].*\)/\1/p' | head -n 1)
release=${kernel#linux-image-}
apt-get download libibumad3 libibmad5 libumad2sim0 mstflint "$kernel"

mkdir libraries
for package in lib*.deb; do dpkg-deb -x "$package" libraries; done
mkdir -p "$out/opt/lab/lib"
find libraries -name 'lib*.so*' -exec cp -a {} "$out/opt/lab/lib/" \;

dpkg-deb -x mstflint_*.deb mstflint
install -D -m 0644 -t "$out/opt/lab/share" "$(find mstflint -name mlxconfig_host.db)"

dpkg-deb -x "$kernel"_*.deb linux
# Since Debian 13 a package names the directory behind the link /lib.
[ -e linux/lib ] || ln -s usr/lib linux/lib
python3 /src/image/kernel_subset.py "linux/lib/modules/$release" "$out/usr/lib/modules/$release"
depmod -b "$out/usr" -F linux/boot/System.map-"$release" "$release" 2>/dev/null || depmod -b "$out/usr" "$release"
echo "$release" >"$out/opt/lab/kernel"

cd /
rm -rf "$work"
