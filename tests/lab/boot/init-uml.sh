#!/bin/sh
# First program under user-mode Linux: the host's root read-only, layers over it, and a tmpfs that takes all writes.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs first /mnt
cd /mnt || exit
mkdir host lab share writes new
mount -t hostfs -o ro,/ host host
mount -t hostfs -o "ro,$LAB" lab lab
mount -t hostfs -o "$SHARE" share share
mount -t tmpfs -o size=75% writes writes
mkdir writes/upper writes/work
busybox() { chroot . /lab/tools/usr/bin/busybox "$@"; }
busybox insmod "/lab/uml/usr/lib/modules/$(uname -r)/kernel/fs/overlayfs/overlay.ko"
# Where the layers are stays to be seen, for whoever asks which disks the root lies on.
busybox mount -t overlay -o lowerdir=/lab/code:/lab/tools:/lab/uml:/host,upperdir=/writes/upper,workdir=/writes/work root /new || exit
for folder in host lab share writes; do mkdir -p new/$folder && mount --move $folder new/$folder; done
mount -t devtmpfs dev new/dev
mount -t proc proc new/proc
mount -t sysfs sys new/sys
mount -t tmpfs run new/run
ln -s /share new/run/ports
pivot_root new new/mnt && cd / && umount -l /mnt
exec /bin/sh /share/start.sh
