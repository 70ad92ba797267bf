#!/bin/sh
# Second program of the guest: what a booted Debian has, then the command; its words and its status go to the host.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
. /share/environment
mkdir -p /dev/shm /dev/pts /run/lock /run/lvm /run/mount
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t debugfs debugfs /sys/kernel/debug
modprobe -a configfs md_mod sd_mod
# Each device costs time wherever devices are listed.
modprobe loop max_loop=4
mount -t configfs config /sys/kernel/config
mount -t cgroup2 cgroup /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
hostname lab
# What fsconsole keeps on the host is none of the guest's.
for folder in /var/lib/fsconsole /var/cache/fsconsole; do
    mkdir -p "$folder"
    mount -t tmpfs kept "$folder"
done
echo 0 >/proc/sys/kernel/printk_ratelimit
if [ "$FSCONSOLE_LAB_GUEST" = uml ]; then
    # Without udevd, which costs a third of the time: devtmpfs makes the nodes of disks, dmsetup and lvm their own.
    export DM_DISABLE_UDEV=1
else
    # Device nodes and links by udev, as on any server, but only of what is looked at here.
    /lib/systemd/systemd-udevd --daemon
    udevadm trigger --action=add --type=subsystems --subsystem-match=block --subsystem-match=module
    udevadm trigger --action=add --subsystem-match=block --subsystem-match=nvme --subsystem-match=virtio-ports --subsystem-match=bdi
    udevadm settle
fi
while ! [ -e /run/ports/status ]; do sleep 0.1; done
cd "$DIRECTORY" || exit
sh -c "$COMMAND" </dev/null >/run/ports/output 2>&1
echo $? >/run/ports/status
exec busybox poweroff -f
