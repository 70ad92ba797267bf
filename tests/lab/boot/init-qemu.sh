#!/bin/sh
# First program in qemu (initramfs): the host's root read-only, layers over it, and a tmpfs that takes all writes.
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules.list); do insmod "$module"; done
share() { mkdir -p "$2" && mount -t 9p -o "$3,trans=virtio,version=9p2000.L,msize=524288" "$1" "$2" || poweroff -f; }
share root /host ro,cache=loose
share lab /lab ro,cache=loose
share run /share rw,cache=none
mkdir /writes /new
mount -t tmpfs -o size=75% writes /writes
mkdir /writes/upper /writes/work
mount -t overlay -o lowerdir=/lab/code:/lab/tools:/lab/$(cat /kernel):/host,upperdir=/writes/upper,workdir=/writes/work root /new || poweroff -f
# Where the layers are stays to be seen, for whoever asks which disks the root lies on.
for folder in dev proc sys host lab share writes; do mkdir -p /new/$folder && mount --move /$folder /new/$folder; done
mount -t tmpfs run /new/run
ln -s /dev/virtio-ports /new/run/ports
exec switch_root /new /bin/sh /share/start.sh
