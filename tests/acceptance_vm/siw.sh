#!/bin/sh
# Builds siw.ko for a kernel of Debian 12 in an empty folder, on a Debian 12 with a compiler: siw.sh 6.1.0-56-amd64
# Debian leaves the driver out of its kernels, and has its source in linux-source.
set -eu
headers=linux-headers-$1
version=$(apt-cache show "$headers" | sed -n 's/^Version: //p;T;q')
apt-get download "linux-source-6.1=$version" "$headers=$version" "linux-headers-${1%-amd64}-common=$version" "linux-kbuild-6.1=$version"
for package in linux-headers-*.deb linux-kbuild-*.deb; do
    dpkg --extract "$package" .
done
dpkg --fsys-tarfile linux-source-*.deb | tar -xO ./usr/src/linux-source-6.1.tar.xz | xz -dc | tar -x --wildcards '*/drivers/infiniband/sw/siw/*'
sed -i "s#/usr/src/#$PWD/usr/src/#g" "usr/src/$headers/Makefile"
make -C "usr/src/$headers" M="$PWD/linux-source-6.1/drivers/infiniband/sw/siw" CONFIG_RDMA_SIW=m modules
strip --strip-debug -o siw.ko linux-source-6.1/drivers/infiniband/sw/siw/siw.ko
