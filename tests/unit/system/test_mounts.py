from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.system.mounts import (
    MountEntry,
    SwapEntry,
    parse_mountinfo,
    parse_swaps,
    read_mounts,
    read_swaps,
    unescape,
)

DATA = Path(__file__).parents[2] / "data"


def mounts(name: str) -> dict[str, MountEntry]:
    text = os.fsdecode((DATA / "mountinfo" / name).read_bytes())
    return {entry.mount_point: entry for entry in parse_mountinfo(text)}


def test_every_field_of_an_ordinary_line_is_found() -> None:
    assert mounts("debian12-6.1.txt")["/"] == MountEntry(
        mount_id=31,
        parent_id=1,
        device_number=os.makedev(8, 2),
        root="/",
        mount_point="/",
        options=("rw", "relatime"),
        filesystem="ext4",
        source="/dev/sda2",
        super_options=("rw", "errors=remount-ro"),
        propagation=("shared:1",),
    )


def test_octal_escapes_are_undone_in_paths_and_sources() -> None:
    found = mounts("debian12-6.1.txt")
    assert found["/srv/my files\tand\\more"].source == "/dev/md0"
    assert found["/mnt/nas"].source == "nas.example:/export/a b"


def test_a_btrfs_subvolume_has_a_root_and_an_anonymous_device() -> None:
    home = mounts("debian12-6.1.txt")["/home"]
    assert (home.root, home.device_number, home.source) == (
        "/@home",
        os.makedev(0, 45),
        "/dev/mapper/vg0-home",
    )


def test_an_old_kernels_table_is_read_with_large_minor_numbers() -> None:
    found = mounts("el7-3.10.txt")
    assert found["/data"].device_number == os.makedev(259, 1048575)
    assert found["/"].super_options[0] == "rw"


def test_any_number_of_optional_fields_is_taken() -> None:
    found = mounts("container-5.15.txt")
    assert found["/mnt/gone"].propagation == ("shared:5", "master:421", "propagate_from:2", "unbindable")
    assert found["/proc"].propagation == ()
    assert found["/mnt/unnamed"].source == ""


def test_a_table_of_this_kernel_is_read() -> None:
    assert mounts("minimal-6.18.txt")["/"].source == "/dev/vda"
    assert any(entry.mount_point == "/" for entry in read_mounts())


@pytest.mark.parametrize(
    "line",
    [
        "31 1 8:2 / / rw,relatime shared:1 ext4 /dev/sda2 rw",
        "31 1 8:2 / /",
        "x 1 8:2 / / rw - ext4 /dev/sda2 rw",
        "31 1 8 / / rw - ext4 /dev/sda2 rw",
        "31 1 8:2 / / rw - ext4",
    ],
)
def test_a_line_of_another_shape_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_mountinfo(line)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def escaped(text: str) -> str:
    """Write a field as the kernel does (fs/proc_namespace.c, mangle)."""
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\#" else c for c in text)


@settings(max_examples=60)
@given(
    entry=st.builds(
        MountEntry,
        mount_id=st.integers(1, 2**31),
        parent_id=st.integers(1, 2**31),
        device_number=st.builds(os.makedev, st.integers(0, 4095), st.integers(0, 2**20 - 1)),
        root=names.map("/".__add__),
        mount_point=names.map("/".__add__),
        options=st.lists(names.map(lambda s: s.replace(",", "")).filter(bool)).map(tuple),
        filesystem=names,
        source=names,
        super_options=st.lists(names.map(lambda s: s.replace(",", "")).filter(bool)).map(tuple),
        propagation=st.lists(st.integers(1, 999).map("shared:{}".format), max_size=2).map(tuple),
    )
)
def test_whatever_the_kernel_writes_is_read_back(entry: MountEntry) -> None:
    number = f"{os.major(entry.device_number)}:{os.minor(entry.device_number)}"
    words = [
        str(entry.mount_id),
        str(entry.parent_id),
        number,
        escaped(entry.root),
        escaped(entry.mount_point),
    ]
    words += [",".join(map(escaped, entry.options)), *entry.propagation, "-", escaped(entry.filesystem)]
    words += [escaped(entry.source), ",".join(map(escaped, entry.super_options))]
    assert parse_mountinfo(" ".join(words) + "\n") == (entry,)


@given(st.binary().filter(lambda raw: b"\\" not in raw))
def test_paths_that_are_no_utf8_stay_usable(raw: bytes) -> None:
    assert os.fsencode(unescape(os.fsdecode(raw))) == raw


def test_swaps_are_read_with_their_kind_and_size() -> None:
    text = (DATA / "swaps" / "debian12-6.1.txt").read_text()
    assert parse_swaps(text) == (
        SwapEntry("/dev/sda3", "partition", 2097148 * 1024),
        SwapEntry("/srv/swap file", "file", 524284 * 1024),
        SwapEntry("/dev/dm-1", "partition", 8388604 * 1024),
    )
    old = (DATA / "swaps" / "el7-3.10.txt").read_text()
    assert parse_swaps(old) == (SwapEntry("/dev/dm-1", "partition", 4063228 * 1024),)


def test_a_swap_path_with_a_no_break_space_stays_whole() -> None:
    text = "Filename Type Size Used Priority\n/srv/a\u00a0b\tfile\t\t4\t0\t-2\n"
    assert parse_swaps(text) == (SwapEntry("/srv/a\u00a0b", "file", 4096),)


def test_no_swap_is_no_entry() -> None:
    assert parse_swaps((DATA / "swaps" / "none-6.18.txt").read_text()) == ()
    assert isinstance(read_swaps(), tuple)
