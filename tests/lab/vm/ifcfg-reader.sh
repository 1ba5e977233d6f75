#!/bin/sh
# Builds NetworkManager with its plugin ifcfg-rh: ifcfg-reader.sh FOLDER. The daemon exports what the plugins need that it was built with, so
# Debian's is replaced by one of the same source, version and options (debian/rules), but for the plugin, and for what only documents or binds.
set -eu
export DEBIAN_FRONTEND=noninteractive
out=$1

sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/sources.list
apt-get update
apt-get install --yes --no-install-recommends dpkg-dev
apt-get build-dep --yes --no-install-recommends network-manager
mkdir /src
cd /src
apt-get -o APT::Sandbox::User=root source network-manager
cd network-manager-*/
version=$(dpkg-parsechangelog -S Version)
libraries=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
./configure --quiet --prefix=/usr --sysconfdir=/etc --localstatedir=/var --runstatedir=/run "--libdir=$libraries" --libexecdir=/usr/lib/NetworkManager \
    --with-crypto=gnutls --with-session-tracking=systemd --with-suspend-resume=systemd --with-modem-manager-1 --with-selinux --with-libaudit \
    --with-iwd --enable-polkit --enable-ppp --enable-concheck --enable-teamdctl --enable-json-validation --enable-bluez5-dun --disable-ovs \
    --without-dhcpcanon --without-nm-cloud-setup --without-nmtui --without-nmcli --disable-introspection --disable-gtk-doc --disable-vala \
    --disable-more-warnings --disable-tests --enable-ifcfg-rh
plugin=src/core/settings/plugins/ifcfg-rh/libnm-settings-plugin-ifcfg-rh
make "-j$(nproc)" src/core/NetworkManager "$plugin.la"
install -D -m 0644 "$(dirname "$plugin")/.libs/$(basename "$plugin").so" "$out$libraries/NetworkManager/${version%-*}/$(basename "$plugin").so"
install -D -m 0755 --strip src/core/NetworkManager "$out/usr/sbin/NetworkManager"
