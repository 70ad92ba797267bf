"""Which Debian package brings a program; the names are the same on Ubuntu, and nearly so elsewhere."""

from __future__ import annotations

_PROGRAMS_OF = {
    "bcache-tools": ("make-bcache",),
    "bonnie++": ("bonnie++",),
    "btrfs-progs": ("btrfs", "btrfstune", "mkfs.btrfs"),
    "bubblewrap": ("bwrap",),
    "coreutils": ("cp", "dd", "env", "rm", "shred", "stat", "sync", "truncate"),
    "cryptsetup-bin": ("cryptsetup",),
    "dmsetup": ("dmsetup",),
    "dosfstools": ("fsck.fat", "mkfs.fat", "mkfs.vfat"),
    "e2fsprogs": (
        "chattr", "debugfs", "dumpe2fs", "e2fsck", "filefrag", "fsck.ext2", "fsck.ext3", "fsck.ext4", "lsattr",
        "mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "resize2fs", "tune2fs",
    ),
    "exfatprogs": ("fsck.exfat", "mkfs.exfat"),
    "f2fs-tools": ("dump.f2fs", "fsck.f2fs", "mkfs.f2fs"),
    "fio": ("fio",),
    "hdparm": ("hdparm",),
    "jfsutils": ("fsck.jfs", "jfs_fsck", "jfs_mkfs", "jfs_tune", "mkfs.jfs"),
    "kmod": ("lsmod", "modinfo", "modprobe"),
    "lvm2": ("lvs", "pvs", "vgs"),
    "mdadm": ("mdadm",),
    "mount": ("losetup", "mount", "swapoff", "swapon", "umount"),
    "nilfs-tools": ("mkfs.nilfs2", "nilfs-tune"),
    "nvme-cli": ("nvme",),
    "reiserfsprogs": ("debugreiserfs", "mkfs.reiserfs", "mkreiserfs", "reiserfsck"),
    "sg3-utils": ("sg_persist",),
    "smartmontools": ("smartctl",),
    "strace": ("strace",),
    "systemd": ("systemctl", "systemd-run"),
    "tmux": ("tmux",),
    "udev": ("udevadm",),
    "udftools": ("mkfs.udf", "mkudffs"),
    "util-linux": (
        "blkdiscard", "blkid", "blkzone", "blockdev", "fallocate", "flock", "fsfreeze", "fstrim", "lsblk", "mkswap",
        "nsenter", "setsid", "unshare", "wipefs",
    ),
    "xfsprogs": ("fsck.xfs", "mkfs.xfs", "xfs_admin", "xfs_db", "xfs_info", "xfs_io", "xfs_repair"),
    "zfsutils-linux": ("zfs", "zpool"),
}  # fmt: skip
_PACKAGE_OF = {program: package for package, programs in _PROGRAMS_OF.items() for program in programs}


def package_of(program: str) -> str:
    """Return the Debian package of a program, given by name or path; an unknown program's own name."""
    name = program.rsplit("/", 1)[-1]
    return _PACKAGE_OF.get(name, name)
