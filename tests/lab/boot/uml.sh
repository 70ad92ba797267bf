#!/bin/sh
# Starts user-mode Linux, on the host: uml.sh FOLDER [SIZE IMAGE]... -- LINUX WORDS...
# Its memory and its disks are files of a tmpfs on FOLDER, in a mount namespace of its own: both vanish with it.
# Where the host's mounts are not shared, slave propagation hears of no unmount: this copy would keep a test's loop device
# busy, and its filesystem alive, until the guest ends.
while read -r source point _; do
    case $source in /dev/loop*) umount -l "$point" ;; esac
done </proc/mounts
set -eu
export HOME=$1 TMPDIR=$1
mount -t tmpfs -o size=100% memory "$1"
shift
while [ "$1" != -- ]; do
    truncate -s "$1" "$2"
    shift 2
done
shift
# Not exec: the first process of a PID namespace would get no signal that it sends itself.
"$@" </dev/null
