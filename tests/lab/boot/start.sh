#!/bin/sh
# Second program of the guest: what a booted Debian has, then the command; its words and its status go to the host.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
. /share/environment
mkdir -p /dev/shm /dev/pts /run/lock /run/lvm /run/mount
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t debugfs debugfs /sys/kernel/debug
modprobe -a configfs md_mod
modprobe loop max_loop=16
mount -t configfs config /sys/kernel/config
mount -t cgroup2 cgroup /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
hostname lab
echo 0 >/proc/sys/kernel/printk_ratelimit
# Device nodes and links by udev, as on any server, but only of what is looked at here.
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --type=subsystems --subsystem-match=block --subsystem-match=module
udevadm trigger --action=add --subsystem-match=block --subsystem-match=nvme --subsystem-match=virtio-ports --subsystem-match=bdi
udevadm settle
while ! [ -e /dev/virtio-ports/status ]; do sleep 0.1; done
cd "$DIRECTORY" || exit
sh -c "$COMMAND" </dev/null >/dev/virtio-ports/output 2>&1
echo $? >/dev/virtio-ports/status
exec busybox reboot -f
