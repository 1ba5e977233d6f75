#!/bin/sh
# Makes the debootstrap result a server: package sources as Debian's installer leaves them, the distribution's kernel,
# ssh. No package of RDMA: that is the roles' work.
set -eu

mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' /etc/apt/sources.list | head -n 1)
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
cat >/etc/apt/sources.list <<SOURCES
deb $mirror $suite main
deb $mirror $suite-updates main
deb ${mirror%/*}/debian-security $suite-security main
SOURCES
# The disks of a lab need not survive the crash of its host. The lists stay, for check mode on a fresh node.
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/lab
apt-get update
apt-get --yes upgrade

# Only what the machine needs to find its disk: unpacking an initramfs with every driver takes longer than the rest of the boot.
mkdir -p /etc/initramfs-tools/conf.d
echo MODULES=list >/etc/initramfs-tools/conf.d/lab
apt-get install --yes --no-install-recommends initramfs-tools
printf 'virtio_pci\nvirtio_blk\next4\n' >>/etc/initramfs-tools/modules
apt-get install --yes --no-install-recommends linux-image-amd64 openssh-server openssh-sftp-server iputils-ping pciutils

# The boot loader. It gets onto the disk when there is one (boot-loader.sh), and knows from then on where an upgrade of
# its package belongs.
echo 'grub-pc grub-pc/install_devices_empty boolean true' | debconf-set-selections
apt-get install --yes --no-install-recommends grub-pc
printf 'grub-pc grub-pc/%s\n' 'install_devices_empty boolean false' 'install_devices multiselect /dev/vda' | debconf-set-selections
apt-get clean

# Timers that would hold apt's lock or load the machine in the middle of a test, consoles that nobody looks at, and what
# takes its time at each boot without any use here.
for unit in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer dpkg-db-backup.timer \
    getty@tty1.service getty-static.service serial-getty@ttyS0.service systemd-timesyncd.service \
    modprobe@dm_mod.service modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service modprobe@loop.service \
    dev-mqueue.mount sys-fs-fuse-connections.mount sys-kernel-tracing.mount proc-sys-fs-binfmt_misc.automount \
    systemd-binfmt.service systemd-network-generator.service systemd-pstore.service systemd-random-seed.service \
    systemd-update-utmp.service systemd-update-utmp-runlevel.service; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done
# The journal of the boot before, for those who look why a reboot went wrong.
mkdir -p /var/log/journal
echo '/dev/vda1 / ext4 errors=remount-ro 0 0' >/etc/fstab
: >/etc/machine-id
