"""The hazard battery: the ways in which a device is not free, how each is made, and what the gate must answer.

Each case is made by a shell script (sh -eu) and taken apart by another. In both $A, $B, $S and $N are blank disks of
32 MiB, $C and $D of 144 MiB, $E of 320 MiB; $M and $P are empty folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Answer(str, Enum):
    """What the gate says."""

    REFUSED = "refused"
    ASKED = "asked about"
    CHANGED = "refused as changed"
    """It was free or agreed upon, then another thing took its place, before the run or between two cells."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way. name completes "a device that is ..."; check is the gate's, or a word of what has changed."""

    name: str
    made: str
    undone: str
    answer: Answer
    check: str
    device: str = "$A"
    """What is to be wiped, as the shell writes it."""
    then: str = ""
    """What happens after the device was agreed upon."""
    signed: bool = True
    """False: no signature is on it by which libblkid could tell."""
    root: str = ""
    """The folder that is the root of who asks, where it is not the machine's."""
    between_cells: bool = False
    """The run has the device's locks and its filesystem on it when it changes."""
    in_qemu: bool = False
    """It needs a module that user-mode Linux doesn't have, and no disk but $A."""


def refused(
    name: str, check: str, made: str, undone: str, device: str = "$A", *, signed: bool = True, root: str = "",
    in_qemu: bool = False,
) -> Case:  # fmt: skip
    """Return a case that no consent can answer."""
    return Case(name, made, undone, Answer.REFUSED, check, device, signed=signed, root=root, in_qemu=in_qemu)


def asked(name: str, check: str, made: str, undone: str = ":", device: str = "$A", *, signed: bool = True) -> Case:
    """Return a case in which what is on the device must be shown and agreed upon."""
    return Case(name, made, undone, Answer.ASKED, check, device, signed=signed)


def changed(name: str, word: str, made: str, then: str, *, undone: str = ":", device: str = "$A") -> Case:
    """Return a case in which what was agreed upon is no longer what is there."""
    return Case(name, made, undone, Answer.CHANGED, word, device, then)


def between(name: str, word: str, made: str, then: str, *, undone: str = ":", device: str = "$A") -> Case:
    """Return the same for a device on which the run has made its filesystem already."""
    return Case(name, made, undone, Answer.CHANGED, word, device, then, between_cells=True)


_OVERLAPPING = (
    r"printf '\203\0\0\0\0\10\0\0\0\200\0\0\0\0\0\0\203\0\0\0\0\20\0\0\0\40\0\0' | dd of=$A bs=1 seek=450 status=none; "
    r"printf '\125\252' | dd of=$A bs=1 seek=510 status=none; blockdev --rereadpt $A; udevadm settle"
)
"""A DOS table with one partition of 16 MiB and another within it, as BSD slices lie (sfdisk makes none such)."""
_PARTED = "echo 'size=16MiB' | sfdisk -q $A; udevadm settle"
_VOLUMES = "vgcreate -qq lab $A $B; lvcreate -qq -y -Wn -Zn -l1 -n data lab $A; udevadm settle"
_NO_VOLUMES = "vgremove -qq -y lab; pvremove -qq $A $B"
_KEY = "dd if=/dev/urandom of=/run/key bs=64 count=1 status=none"
_LUKS = "cryptsetup -q luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /run/key"
_HOLD = ">/dev/null 2>&1 & echo $! >/run/holder; while ! [ -e /run/held ]; do sleep 0.1; done"
_LET_GO = "kill $(cat /run/holder); rm /run/held; sleep 0.3"
_CONFIG = "/sys/kernel/config"
_LIO = f"{_CONFIG}/target/core"
_NVMET = f"{_CONFIG}/nvmet/subsystems/lab"
_GADGET = f"{_CONFIG}/usb_gadget/lab"
_LOOPBACK = f"{_CONFIG}/target/loopback/naa.5001405000000001"
_LIO_DISK = "lsblk -dno PATH,VENDOR | sed -n 's/ *LIO-ORG *//p'"
TWINS = "modprobe scsi_debug delay=0 dev_size_mb=16 add_host=2 vpd_use_hostno=0"
TWIN = "$(lsblk -dno PATH,MODEL | sed -n 's/ *scsi_debug *//p' | sed -n {}p)"
NO_TWINS = "rmmod scsi_debug; udevadm settle"
_WRITTEN_TWINS = f"{TWINS}; udevadm settle; printf x | dd of={TWIN.format(1)} bs=1 status=none; sync"
_HELD_TWIN = f'dmsetup create lab --table "0 2048 linear {TWIN.format(1)} 0"'
_OPEN_TWIN = f"sh -c 'touch /run/held; exec sleep 999' <{TWIN.format(1)} {_HOLD}"
_MD5 = "mdadm -qC /dev/md0 -l5 -n3 --assume-clean $A $B $S; udevadm settle"
_NO_MD = "mdadm -qS /dev/md0; mdadm -q --zero-superblock $A $B $S"
_REGISTER = "udevadm settle; echo {} >/sys/fs/bcache/register || :"
"""Where udevd is there, it has done so already."""
_BCACHE = f"modprobe bcache; make-bcache -B $A >/run/said; {_REGISTER.format('$A')}; until [ -e /sys/block/bcache0 ]; do sleep 0.1; done"
_NO_BCACHE = "udevadm settle; echo 1 >/sys/block/bcache0/bcache/stop; while [ -e /sys/block/bcache0 ]; do sleep 0.1; done; sleep 0.5"
_SLOW = "echo 10 >/proc/sys/dev/raid/speed_limit_max; echo 10 >/proc/sys/dev/raid/speed_limit_min"
_FAST = "echo 200000 >/proc/sys/dev/raid/speed_limit_max"

MOUNTS = (
    refused("mounted", "mounted", "mkfs.ext4 -qF $A; mount -o ro $A $M", "umount $M"),
    refused(
        "mounted in another mount namespace only", "busy",
        f"mkfs.ext4 -qF $A; unshare -m sh -c 'mount -o ro $A $M; touch /run/held; exec sleep 999' {_HOLD}", _LET_GO,
    ),
    refused(
        "mounted by a bind mount alone", "mounted",
        "mkfs.ext4 -qF $A; mount -o ro $A $M; mount --bind $M $P; umount $M", "umount $P",
    ),
    refused(
        "unmounted lazily and still worked in", "busy",
        f"mkfs.ext4 -qF $A; mount -o ro $A $M; sh -c 'cd $M; touch /run/held; exec sleep 999' {_HOLD}; umount -l $M",
        _LET_GO,
    ),
    refused("a disk with a mounted partition", "mounted", f"{_PARTED}; mkfs.ext4 -q ${{A}}1; mount -o ro ${{A}}1 $M", "umount $M"),
    refused("a partition that overlaps a mounted one", "mounted", f"{_OVERLAPPING}; mkfs.ext4 -q ${{A}}1; mount -o ro ${{A}}1 $M", "umount $M", "${A}2"),
    refused("the second device of a mounted btrfs", "mounted-btrfs", "modprobe btrfs; mkfs.btrfs -q $C $D; udevadm settle; mount -o ro $C $M", "umount $M", "$D"),
    refused(
        "a device of a btrfs that is mounted degraded, without it", "mounted-btrfs",
        "modprobe btrfs; mkfs.btrfs -q -m raid1 -d raid1 $C $D; udevadm settle; btrfs device scan --forget; mount -o ro,degraded $C $M", "umount $M", "$D",
    ),
    refused("the log of a mounted xfs", "mounted", "mkfs.xfs -q -l logdev=$C $E; mount -o logdev=$C $E $M", "umount $M", "$C"),
    refused("the journal of a mounted ext4", "busy", "mke2fs -qF -O journal_dev $B; mkfs.ext4 -qF -J device=$B $C; mount $C $M", "umount $M", "$B"),
    refused("swapped on", "swap", "mkswap -q $A; swapon $A", "swapoff $A"),
    refused("a disk with a swapped on partition", "swap", f"{_PARTED}; mkswap -q ${{A}}1; swapon ${{A}}1", "swapoff ${A}1"),
    refused(
        "where the root directory lies", "system-disk",
        f"{_PARTED}; mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 ${{A}}1; mount ${{A}}1 $M; "
        "for place in /bin /dev /etc /home /host /lab /lib /lib64 /opt /proc /root /run /sbin /share /sys /tmp /usr /var /writes; do "
        "if [ -L $place ]; then cp -P $place $M; elif [ -d $place ]; then mkdir $M$place; mount --bind $place $M$place; fi; done; mount -o remount,ro $M",
        "umount -R $M", root="$M",
    ),
    refused("below /boot", "system-disk", f"{_PARTED}; mkfs.ext4 -q ${{A}}1; mkdir -p /boot; mount -o ro ${{A}}1 /boot", "umount /boot"),
    refused("where the runs are kept", "system-disk", "mkfs.ext4 -qF $A; mkdir -p /var/lib/fsconsole; mount -o ro $A /var/lib/fsconsole", "umount /var/lib/fsconsole"),
)  # fmt: skip

ARRAYS = (
    refused("a member of an active array", "array-member", _MD5, _NO_MD, "$B"),
    refused("a failed member that was not removed", "array-member", f"{_MD5}; mdadm -q /dev/md0 -f $B", _NO_MD, "$B"),
    refused("a spare of an array", "array-member", f"{_MD5}; mdadm -q /dev/md0 -a $N", f"{_NO_MD}; mdadm -q --zero-superblock $N", "$N"),
    refused("a member of an array without superblocks", "array-member", "mdadm -qB /dev/md0 -l0 -n2 $A $B", "mdadm -qS /dev/md0", signed=False),
    refused("a member of an inactive array", "array-member", f"{_MD5}; mdadm -qS /dev/md0; mdadm -qI --no-degraded $A", _NO_MD),
    refused("an inactive array", "inactive-array", f"{_MD5}; mdadm -qS /dev/md0; mdadm -qI --no-degraded $A; udevadm settle", _NO_MD, "/dev/md0", signed=False),
    asked("an array that resyncs", "resyncing", f"{_SLOW}; mdadm -qC /dev/md0 -R -l1 -n2 $A $S; sleep 1", f"{_FAST}; {_NO_MD}", "/dev/md0", signed=False),
    refused("an array that was made read-only", "read-only", f"{_MD5}; mdadm -qo /dev/md0", _NO_MD, "/dev/md0", signed=False),
    asked("a member of an array of another machine", "raid-signature", "mdadm -qC /dev/md0 --homehost=other -l1 -n2 --assume-clean -R $A $S; udevadm settle; mdadm -qS /dev/md0", "mdadm -qSs || :"),
    refused("an LVM volume's only disk", "active-volume-group", _VOLUMES, _NO_VOLUMES),
    refused("in a volume group with volumes elsewhere", "active-volume-group", _VOLUMES, _NO_VOLUMES, "$B"),
    refused("a volume below a snapshot", "held", f"{_VOLUMES}; lvcreate -qq -y -s -l1 -n shot lab/data", _NO_VOLUMES, "/dev/lab/data", signed=False),
    asked("in a volume group that is not active", "raid-signature", f"{_VOLUMES}; vgchange -qq -an lab", _NO_VOLUMES),
    asked("an LVM volume of no group", "raid-signature", "pvcreate -qq $A", "pvremove -qq $A"),
    refused("below a device-mapper table", "held", "dmsetup create lab --table \"0 2048 linear $A 0\"", "dmsetup remove lab", signed=False),
    refused("a LUKS volume that is open", "held", f"{_KEY}; {_LUKS} $A; cryptsetup open --key-file /run/key $A lab", "cryptsetup close lab"),
    asked("a LUKS volume that is closed", "encryption", f"{_KEY}; {_LUKS} $A"),
    refused(
        "encrypted with its header elsewhere, and open", "held",
        f"{_KEY}; {_LUKS} --header /run/header $A; cryptsetup open --key-file /run/key --header /run/header $A lab",
        "cryptsetup close lab; rm /run/header", signed=False,
    ),
    refused("encrypted without any header, and open", "held", f"{_KEY}; cryptsetup open --type plain --key-file /run/key $A lab", "cryptsetup close lab", signed=False),
    asked(
        "encrypted without any header, and closed", "data",
        f"{_KEY}; cryptsetup open --type plain --key-file /run/key $A lab; dd if=/dev/zero of=/dev/mapper/lab bs=1M count=4 status=none; sync; cryptsetup close lab",
        signed=False,
    ),
    refused("cached by bcache", "held", f"{_BCACHE}", _NO_BCACHE),
    refused("the cache of bcache", "busy", f"modprobe bcache; make-bcache -b 128k -C $D >/run/said; {_REGISTER.format('$D')}; until ls -d /sys/fs/bcache/*-*; do sleep 0.1; done", "echo 1 | tee /sys/fs/bcache/*-*/stop; while ls -d /sys/fs/bcache/*-*; do sleep 0.1; done; sleep 0.5", "$D"),
    asked("made for bcache and not in use", "other-signature", f"{_BCACHE}; {_NO_BCACHE}"),
    asked(
        "a member of a ZFS pool", "filesystem",
        "printf '\\014\\261\\272\\000\\000\\000\\000\\000\\210\\023' >/run/block; truncate -s 1K /run/block; "
        "for number in 1 2 3 4 5 6 7; do cat /run/block /run/block >/run/label; cp /run/label /run/block; done; for at in 1 3 1149 1151; do dd if=/run/label of=$C bs=128K seek=$at status=none; done",
        device="$C",
    ),
)  # fmt: skip

_LAYERS = "/run/low /run/up /run/work /run/over"

SHARED = (
    refused("below a loop device", "under-loop", "losetup /dev/loop0 $A", "losetup -d /dev/loop0", signed=False),
    refused(
        "where the file of a loop device lies", "under-loop",
        "mkfs.ext4 -qF $C; mount $C $M; truncate -s 8M $M/file; mount -o remount,ro $M; losetup /dev/loop0 $M/file", "losetup -d /dev/loop0; umount $M", "$C",
    ),
    refused(
        "a loop device whose file another one has too", "shared-backing-file",
        "truncate -s 8M /run/file; losetup /dev/loop0 /run/file; losetup /dev/loop1 /run/file", "losetup -d /dev/loop0 /dev/loop1", "/dev/loop0", signed=False,
    ),
    asked(
        "a loop device over a file that is mounted by another name", "file-alias",
        f"mkdir {_LAYERS}; mount -t overlay -o lowerdir=/run/low,upperdir=/run/up,workdir=/run/work lab /run/over; truncate -s 8M /run/up/file; mkfs.ext4 -qF /run/up/file; "
        "losetup /dev/loop0 /run/up/file; mount -o ro /dev/loop0 $M; losetup /dev/loop1 /run/over/file",
        f"losetup -d /dev/loop1; umount $M; losetup -d /dev/loop0; umount /run/over; rm -r {_LAYERS}", "/dev/loop1",
    ),
    refused("a second path to a mounted disk", "second-path", f"{TWINS}; udevadm settle; mkfs.ext4 -qF {TWIN.format(1)}; mount -o ro {TWIN.format(1)} $M", f"umount $M; {NO_TWINS}", TWIN.format(2)),
    refused("a second path to a disk that is held", "second-path", f"{_WRITTEN_TWINS}; {_HELD_TWIN}", f"dmsetup remove lab; {NO_TWINS}", TWIN.format(2), signed=False),
    refused("a second path to a disk that is open", "second-path", f"{_WRITTEN_TWINS}; {_OPEN_TWIN}", f"{_LET_GO}; {NO_TWINS}", TWIN.format(2), signed=False),
    asked("a second path to a blank disk that is held", "blank-twin", f"{TWINS}; udevadm settle; {_HELD_TWIN}", f"dmsetup remove lab; {NO_TWINS}", TWIN.format(2), signed=False),
    asked("a second path to a blank disk that is open", "blank-twin", f"{TWINS}; udevadm settle; {_OPEN_TWIN}", f"{_LET_GO}; {NO_TWINS}", TWIN.format(2), signed=False),
    asked("a disk whose writes nobody counts", "uncounted", "echo 0 >/sys/block/${A##*/}/queue/iostats", "echo 1 >/sys/block/${A##*/}/queue/iostats", signed=False),
    refused("open for reading", "open-elsewhere", f"sh -c 'touch /run/held; exec sleep 999' <$A {_HOLD}", _LET_GO, signed=False),
    refused(
        "open by its generic SCSI node", "open-elsewhere",
        f"{TWINS}; modprobe sg; udevadm settle; disk={TWIN.format(1)}; sh -c 'touch /run/held; exec sleep 999' </dev/$(ls /sys/block/${{disk##*/}}/device/scsi_generic) {_HOLD}",
        f"{_LET_GO}; {NO_TWINS}", TWIN.format(1), signed=False,
    ),
    refused("open for writing, without O_EXCL", "open-elsewhere", f"sh -c 'touch /run/held; exec sleep 999' 3<>$A {_HOLD}", _LET_GO, signed=False),
    refused(
        "mapped into a process that closed it", "open-elsewhere",
        f"python3 -ISc 'import mmap, os, time; fd = os.open(\"'$A'\", os.O_RDWR); m = mmap.mmap(fd, 4096); os.closerange(3, 99); open(\"/run/held\", \"w\"); time.sleep(999)' {_HOLD}",
        _LET_GO, signed=False,
    ),
    refused("locked by another tool", "locked", f"flock -F $A sh -c 'touch /run/held; exec sleep 999' {_HOLD}", _LET_GO, signed=False),
    refused("exported by the NVMe target", "exported", f"modprobe nvmet; mkdir -p {_NVMET}/namespaces/1; echo $A >{_NVMET}/namespaces/1/device_path; echo 1 >{_NVMET}/namespaces/1/enable", f"echo 0 >{_NVMET}/namespaces/1/enable; rmdir {_NVMET}/namespaces/1 {_NVMET}", signed=False, in_qemu=True),
    refused("exported by LIO as a device", "exported", f"modprobe target_core_iblock; mkdir -p {_LIO}/iblock_0/lab; echo udev_path=$A >{_LIO}/iblock_0/lab/control; echo $A >{_LIO}/iblock_0/lab/udev_path; echo 1 >{_LIO}/iblock_0/lab/enable", f"rmdir {_LIO}/iblock_0/lab", signed=False),
    refused("exported by LIO as if it were a file", "exported", f"modprobe target_core_file; mkdir -p {_LIO}/fileio_0/lab; echo fd_dev_name=$A,fd_dev_size=33554432 >{_LIO}/fileio_0/lab/control; echo 1 >{_LIO}/fileio_0/lab/enable", f"rmdir {_LIO}/fileio_0/lab", signed=False),
    refused("exported by a USB gadget", "exported", f"modprobe -a libcomposite usb_f_mass_storage; mkdir -p {_GADGET}/functions/mass_storage.0; echo $A >{_GADGET}/functions/mass_storage.0/lun.0/file", f"echo >{_GADGET}/functions/mass_storage.0/lun.0/file; rmdir {_GADGET}/functions/mass_storage.0 {_GADGET}", signed=False, in_qemu=True),
    refused(
        "reserved by a SCSI initiator", "reserved",
        f"mkdir -p /etc/target /var/target/pr /var/target/alua; modprobe -a target_core_mod tcm_loop; mkdir -p {_LIO}/rd_mcp_0/lab {_LOOPBACK}/tpgt_1/lun/lun_0; echo rd_pages=4096 >{_LIO}/rd_mcp_0/lab/control; echo 1 >{_LIO}/rd_mcp_0/lab/enable; "
        f"echo naa.6001405000000001 >{_LOOPBACK}/tpgt_1/nexus; ln -s {_LIO}/rd_mcp_0/lab {_LOOPBACK}/tpgt_1/lun/lun_0/lab; udevadm settle; "
        f"sg_persist -n -o -G -S 1 $({_LIO_DISK}) >/run/said; sg_persist -n -o -R -K 1 -T 1 $({_LIO_DISK}) >/run/said",
        f"rm {_LOOPBACK}/tpgt_1/lun/lun_0/lab; rmdir {_LOOPBACK}/tpgt_1/lun/lun_0 {_LOOPBACK}/tpgt_1 {_LOOPBACK} {_LIO}/rd_mcp_0/lab",
        f"$({_LIO_DISK})", signed=False,
    ),
    refused("read-only", "read-only", "blockdev --setro $A", "blockdev --setrw $A", signed=False),
    refused("too small for the plan", "too-small", ":", ":", signed=False),
    refused("too large for the plan", "too-large", ":", ":", signed=False),
    refused("a node with another device's number", "strange-node", "mknod /dev/vdz b $(stat -c '0x%t 0x%T' $A)", "rm /dev/vdz", "/dev/vdz", signed=False),
)  # fmt: skip

_BOOT = "mkfs.ext4 -q {0}; mkdir -p /boot; mount -o ro {0} /boot; udevadm settle"
_BOOT_PARTED = "printf '{0}size=8MiB,{1}\\nsize=8MiB,{1}\\n' | sfdisk -q $A; udevadm settle; " + _BOOT.format("${{A}}1")
_LOGICAL = "printf 'size=8MiB,type=83\\ntype=5\\nsize=8MiB,type=83\\n' | sfdisk -q $A; udevadm settle; " + _BOOT.format(
    "${A}1"
)
_LVM = '--config \'global{thin_check_executable="" cache_check_executable=""}\' -qq -y'
_BOOT_VOLUME = f"vgcreate -qq lab $C $D; lvcreate {_LVM} -Wn -Zn -L16M -n boot lab $C; {_BOOT.format('/dev/lab/boot')}; lvcreate {_LVM}"
_DATA = "-Wn -Zn -L16M -n data lab $C"
_NO_BOOT = f"umount /boot; vgremove {_LVM} lab; pvremove -qq $C $D"

BESIDE = (
    asked("a free partition beside that of /boot", "shared-disk", _BOOT_PARTED.format("", "type=83"), "umount /boot", "${A}2", signed=False),
    refused("a partition beside that of /boot, of a boot loader's type", "system-disk", _BOOT_PARTED.format("label:gpt\\n", "type=21686148-6449-6E6F-744E-656564454649"), "umount /boot", "${A}2", signed=False),
    asked("a logical partition beside that of /boot", "shared-disk", _LOGICAL, "umount /boot", "${A}5", signed=False),
    refused("an extended partition beside that of /boot", "system-disk", _LOGICAL, "umount /boot", "${A}2"),
    refused("a partition beside that of /boot, with a swap area", "system-disk", f"{_BOOT_PARTED.format('', 'type=83')}; mkswap -q ${{A}}2", "umount /boot", "${A}2"),
    refused("a physical volume below /boot", "active-volume-group", f"{_BOOT_VOLUME} {_DATA}", _NO_BOOT, "$C"),
    refused("a physical volume of the group of /boot", "active-volume-group", f"{_BOOT_VOLUME} {_DATA}", _NO_BOOT, "$D"),
    asked("a linear volume beside that of /boot", "shared-disk", f"{_BOOT_VOLUME} {_DATA}", _NO_BOOT, "/dev/lab/data", signed=False),
    asked("a striped volume beside that of /boot", "shared-disk", f"{_BOOT_VOLUME} -i2 -Wn -Zn -L16M -n data lab", _NO_BOOT, "/dev/lab/data", signed=False),
    *(
        refused(f"{name} beside the volume of /boot", "system-disk", f"{_BOOT_VOLUME} {made}", _NO_BOOT, f"/dev/lab/{device}", signed=False)
        for name, made, device in (
            ("a volume with a snapshot", f"{_DATA}; lvcreate {_LVM} -s -l1 -n shot lab/data", "data"),
            ("a snapshot", f"{_DATA}; lvcreate {_LVM} -s -l1 -n shot lab/data", "shot"),
            ("a thin volume", "-L32M -V16M --thinpool pool -n data lab $C", "data"),
            ("a cached volume", f"{_DATA}; lvcreate {_LVM} --type cache-pool -L16M -n fast lab $C; lvconvert {_LVM} --type cache --cachepool lab/fast lab/data", "data"),
            ("a mirrored volume", "--type raid1 -m1 --nosync -L16M -n data lab", "data"),
        )
    ),
)  # fmt: skip

_KEPT_TABLES = "touch /etc/fstab /etc/crypttab; cp /etc/fstab /etc/crypttab /run; {}"
_TABLES_BACK = "cp /run/fstab /run/crypttab /etc"
_LABELLED = "printf 'label:gpt\\nsize=16MiB,name=\"lab data/1\"\\n' | sfdisk -q $A; udevadm settle"

EXPECTED = (
    asked("named by its UUID in fstab", "named", _KEPT_TABLES.format("mkfs.ext4 -qF -U 3f1c3e2a-0f3b-4f5e-9b1d-3c1f0f6f1a11 $A; echo UUID=3F1C3E2A-0f3b-4f5e-9b1d-3c1f0f6f1a11 /srv ext4 noauto 0 0 >>/etc/fstab"), _TABLES_BACK),
    asked("a partition named by its label in fstab", "named", _KEPT_TABLES.format(f"{_LABELLED}; printf '%s\\n' 'PARTLABEL=lab\\040data\\0571 /srv ext4 noauto 0 0' >>/etc/fstab"), _TABLES_BACK, "${A}1", signed=False),
    asked("a partition named by udev's link in crypttab", "named", _KEPT_TABLES.format(f"{_LABELLED}; echo 'lab /dev/disk/by-partlabel/lab\\x20data\\x2f1 none luks' >>/etc/crypttab"), _TABLES_BACK, "${A}1", signed=False),
    asked("a partition named by a mount unit", "named", f"{_LABELLED}; mkdir -p /etc/systemd/system; printf '[Mount]\\nWhat=PARTLABEL=lab data/1\\nWhere=/srv\\n' >/etc/systemd/system/srv.mount", "rm /etc/systemd/system/srv.mount", "${A}1", signed=False),
    refused("a partition beside that of /boot, named by its label", "system-disk", _KEPT_TABLES.format(_BOOT_PARTED.format("label:gpt\\n", "name=lab") + "; echo PARTLABEL=lab /srv ext4 noauto 0 0 >>/etc/fstab"), f"umount /boot; {_TABLES_BACK}", "${A}2", signed=False),
)  # fmt: skip

CONTENTS = (
    *(
        asked(f"a filesystem: {tool.split(' ')[0][5:]}", "filesystem", f"{tool} {disk} >/run/said 2>&1 </dev/null", device=disk)
        for tool, disk in (
            ("mkfs.ext4 -qF", "$A"), ("mkfs.xfs -q", "$E"), ("mkfs.btrfs -q", "$C"), ("mkfs.f2fs -qf", "$C"),
            ("mkfs.nilfs2 -fq", "$C"), ("mkfs.jfs -q", "$A"), ("mkfs.reiserfs -ff -q", "$C"),
        )
    ),
    asked("one of two devices of a btrfs", "btrfs-member", "modprobe btrfs; mkfs.btrfs -q $C $D; udevadm settle", device="$D"),
    asked("a journal for an ext4", "other-signature", "mke2fs -qF -O journal_dev $A"),
    asked("a log for an xfs", "other-signature", "mkfs.xfs -q -l logdev=$C $E", device="$C"),
    asked("a swap area", "other-signature", "mkswap -q $A"),
    asked("with a GPT", "partition-table", "echo 'label: gpt' | sfdisk -q $A; udevadm settle"),
    asked("with a GPT whose first copy is gone", "partition-table", "echo 'label: gpt' | sfdisk -q $A; udevadm settle; dd if=/dev/zero of=$A bs=1M count=1 status=none"),
    asked("with a DOS partition table", "partition-table", "echo 'label: dos' | sfdisk -q $A; udevadm settle"),
    asked("with a partition", "partition", f"{_PARTED}; udevadm settle"),
    asked("written on without any signature", "data", "dd if=/dev/urandom of=$A bs=1M count=32 status=none", signed=False),
    asked("written on in its first byte", "data", "printf x | dd of=$A bs=1 status=none", signed=False),
    asked("written on in its last byte", "data", "printf x | dd of=$A bs=1 seek=$((33554432 - 1)) status=none", signed=False),
)  # fmt: skip

CHANGES = (
    changed("formatted since it was agreed upon", "ext4 .* is new on it", ":", "mkfs.ext4 -qF $A"),
    changed("written on since it was agreed upon", "sampled blocks changed", ":", "printf x | dd of=$A bs=1 status=none"),
    changed("written on since where no sample is taken", "agreed upon: somebody wrote to it", ":", "printf x | dd of=$E bs=1 seek=100M status=none", device="$E"),
    changed("mounted since it was agreed upon", "ext4 .* was written: .*mount count", "mkfs.ext4 -qF $A", "mount $A $M; umount $M"),
    changed(
        "a partition that was made again elsewhere, of the same size", "partition start",
        f"{_PARTED}", "echo 'start=8MiB,size=16MiB' | sfdisk -q $A; udevadm settle", device="${A}1",
    ),
    changed(
        "a loop device over another file", "inode", "truncate -s 8M /run/file /run/other; losetup /dev/loop0 /run/file",
        "losetup -d /dev/loop0; losetup /dev/loop0 /run/other", undone="losetup -d /dev/loop0", device="/dev/loop0",
    ),
    changed(
        "another disk of the same name and size", "sequence number",
        "modprobe scsi_debug delay=0 dev_size_mb=16; udevadm settle", f"{NO_TWINS}; modprobe scsi_debug delay=0 dev_size_mb=16; udevadm settle",
        undone=NO_TWINS, device=TWIN.format(1),
    ),
    changed(
        "another table of the same device-mapper name", "table", "dmsetup create lab --table \"0 2048 linear $A 0\"",
        "dmsetup remove lab; dmsetup create lab --table \"0 2048 linear $B 0\"", undone="dmsetup remove lab", device="/dev/mapper/lab",
    ),
    between(
        "another table, exchanged between two cells", "table", "dmsetup create lab --table \"0 32768 linear $A 0\"",
        "dmsetup load lab --table \"0 32768 linear $B 0\"; dmsetup resume lab", undone="dmsetup remove lab", device="/dev/mapper/lab",
    ),
    between("a partition that was resized between two cells", "size", f"{_PARTED}; udevadm settle", "resizepart $A 1 40960", device="${A}1"),
    between(
        "a loop device whose file grew between two cells", "size", "truncate -s 8M /run/file; losetup /dev/loop0 /run/file",
        "truncate -s 9M /run/file; losetup -c /dev/loop0", undone="losetup -d /dev/loop0", device="/dev/loop0",
    ),
    between("mounted and unmounted between two cells", "ext4 .* was written: .*mount count", ":", "mount $A $M; umount $M"),
    between("written over between two cells", "ext4 .* is gone from it", ":", "dd if=/dev/urandom of=$A bs=1M count=32 status=none"),
)  # fmt: skip

GROUPS = {
    "mounts and swap": MOUNTS,
    "arrays, volumes, encryption": ARRAYS,
    "used, shared, locked, or not to be used": SHARED,
    "beside the system on one disk": BESIDE,
    "expected later": EXPECTED,
    "what is on it": CONTENTS,
    "what became of it": CHANGES,
}
BATTERY: tuple[Case, ...] = tuple(case for cases in GROUPS.values() for case in cases)

SOAK_ALONE = frozenset(
    {
        "mounted by a bind mount alone", "unmounted lazily and still worked in", "the journal of a mounted ext4",
        "a disk with a swapped on partition",
        "a failed member that was not removed", "a spare of an array", "an array that was made read-only",
        "an LVM volume's only disk", "a volume below a snapshot", "in a volume group that is not active",
        "a LUKS volume that is open", "encrypted with its header elsewhere, and open",
        "encrypted without any header, and open", "encrypted without any header, and closed",
        "the cache of bcache", "made for bcache and not in use", "a member of a ZFS pool",
        "a second path to a disk that is held", "a second path to a disk that is open",
        "a second path to a blank disk that is open", "open for writing, without O_EXCL",
        "a logical partition beside that of /boot", "an extended partition beside that of /boot",
        "a partition beside that of /boot, with a swap area", "a physical volume of the group of /boot",
        "a striped volume beside that of /boot", "a snapshot beside the volume of /boot",
        "a thin volume beside the volume of /boot", "a cached volume beside the volume of /boot",
        "a mirrored volume beside the volume of /boot",
        "named by its UUID in fstab", "a partition named by udev's link in crypttab", "a partition named by a mount unit",
        "a filesystem: xfs", "a filesystem: f2fs", "a filesystem: nilfs2", "a filesystem: jfs", "a filesystem: reiserfs",
        "a log for an xfs", "with a GPT",
        "mounted since it was agreed upon", "a loop device whose file grew between two cells",
        "written over between two cells",
    }
)  # fmt: skip
"""Names of those that are told by the same claim, signature or count as another one, which the test command tries."""
