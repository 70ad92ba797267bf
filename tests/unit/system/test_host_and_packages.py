from __future__ import annotations

import os
import re

import pytest

from fsconsole.system import files
from fsconsole.system.run import package_of


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("mkfs.ext4", "e2fsprogs"),
        ("/usr/sbin/mkfs.xfs", "xfsprogs"),
        ("mkfs.btrfs", "btrfs-progs"),
        ("mkfs.f2fs", "f2fs-tools"),
        ("mkfs.nilfs2", "nilfs-tools"),
        ("jfs_fsck", "jfsutils"),
        ("mkfs.reiserfs", "reiserfsprogs"),
        ("bwrap", "bubblewrap"),
        ("blkdiscard", "util-linux"),
        ("unshare", "util-linux"),
        ("losetup", "mount"),
        ("rm", "coreutils"),
        ("mdadm", "mdadm"),
        ("something-else", "something-else"),
    ],
)
def test_a_missing_program_leads_to_its_package(program: str, package: str) -> None:
    assert package_of(program) == package


def test_the_host_tells_who_it_is() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", files.boot_id())
    assert files.kernel_release() == os.uname().release
    assert files.hostname()
    assert 1 <= files.cpu_count() <= (os.cpu_count() or 1)


def test_memory_is_what_meminfo_says() -> None:
    with open("/proc/meminfo", encoding="ascii") as file:
        total_kib = int(file.readline().split()[1])
    assert files.memory_bytes() == total_kib * 1024
