"""Attributes of sysfs and /proc, kept files, host facts and package names."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fsconsole.system import files
from fsconsole.system.files import KeptFile, read_int_or, read_text, read_text_or
from fsconsole.system.run import package_of


def test_an_attribute_has_no_blanks_and_nuls_around_it_and_escapes_for_what_is_no_utf8(
    tmp_path: Path,
) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"SAMSUNG \xff MZ7   \0\0\n")
    assert read_text(str(path)) == "SAMSUNG \\xff MZ7"


def test_a_missing_attribute_is_the_default(tmp_path: Path) -> None:
    missing = str(tmp_path / "diskseq")
    assert read_text_or(missing, "none") == "none"
    assert read_int_or(missing, -1) == -1
    with pytest.raises(FileNotFoundError):
        read_text(missing)


@pytest.mark.parametrize(("content", "expected"), [("42\n", 42), ("-1", -1), ("", 7), ("12 34", 7)])
def test_only_a_whole_number_is_a_number(tmp_path: Path, content: str, expected: int) -> None:
    path = tmp_path / "ra"
    path.write_text(content)
    assert read_int_or(str(path), 7) == expected


def test_a_kept_file_is_fresh_at_every_read_and_closed_once(tmp_path: Path) -> None:
    path = tmp_path / "gauge"
    path.write_text("one")
    with KeptFile(str(path)) as kept:
        assert kept.read() == b"one"
        path.write_text("three")
        assert kept.read() == b"three"
        kept.close()
    with KeptFile("/proc/self/status") as kept:
        before = kept.read()
        os.umask(os.umask(0o022) ^ 0o011)
        after = kept.read()
        os.umask(0o022)
    assert before != after


def test_a_file_of_many_pages_is_read_whole() -> None:
    # seq_file hands out about a page at a time, of whichever size the reader asks for.
    with open("/proc/kallsyms", "rb") as file:
        whole = file.read()
    with KeptFile("/proc/kallsyms") as kept:
        assert kept.read() == whole
        assert kept.read() == whole
    assert len(whole) > 65536


PACKAGES = {
    "mkfs.ext4": "e2fsprogs", "/usr/sbin/mkfs.xfs": "xfsprogs", "mkfs.btrfs": "btrfs-progs", "mkfs.f2fs": "f2fs-tools",
    "mkfs.nilfs2": "nilfs-tools", "jfs_fsck": "jfsutils", "mkfs.reiserfs": "reiserfsprogs", "bwrap": "bubblewrap",
    "blkdiscard": "util-linux", "unshare": "util-linux", "losetup": "mount", "rm": "coreutils", "mdadm": "mdadm",
    "something-else": "something-else",
}  # fmt: skip


def test_a_missing_program_leads_to_its_package() -> None:
    assert {program: package_of(program) for program in PACKAGES} == PACKAGES


def test_the_host_tells_who_it_is() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", files.boot_id())
    assert files.kernel_release() == os.uname().release
    assert 1 <= files.cpu_count() <= (os.cpu_count() or 1)
    with open("/proc/meminfo", encoding="ascii") as file:
        total_kib = int(file.readline().split()[1])
    assert files.memory_bytes() == total_kib * 1024
