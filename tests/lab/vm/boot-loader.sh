#!/bin/sh
# Makes the image bootable: the files of GRUB, its menu, and the UUID that the root will have. rdmalab/_disk.py puts the first two files
# before the partition. grub-install and update-grub would need the disk, and half a minute of processor time in an emulated machine.
# In the nodes they are as Debian has them: the package of a further kernel makes a menu of its own.
set -eu

uuid=$(cat /proc/sys/kernel/random/uuid)
mkdir -p /etc/lab /boot/grub/i386-pc /dev/disk/by-uuid
echo "$uuid" >/etc/lab/root-uuid
: >"/dev/disk/by-uuid/$uuid"
cp /usr/lib/grub/i386-pc/*.mod /usr/lib/grub/i386-pc/*.lst /usr/lib/grub/i386-pc/boot.img /boot/grub/i386-pc/
grub-mkimage --format=i386-pc --prefix='(,msdos1)/boot/grub' --output=/boot/grub/i386-pc/core.img biosdisk part_msdos ext2
grub-editenv /boot/grub/grubenv create

mv /usr/sbin/grub-probe /usr/sbin/grub-probe.real
cat >/usr/sbin/grub-probe <<PROBE
#!/bin/sh
case " \$* " in
*=device\ *) echo /dev/vda1 ;;
*=fs_uuid\ *) echo $uuid ;;
*=fs\ *) echo ext2 ;;
*=partmap\ *) echo msdos ;;
*=hints_string\ *) echo --hint-bios=hd0,msdos1 ;;
*=compatibility_hint\ *) echo hd0,msdos1 ;;
esac
PROBE
chmod 755 /usr/sbin/grub-probe
grub-mkconfig -o /boot/grub/grub.cfg
mv /usr/sbin/grub-probe.real /usr/sbin/grub-probe
