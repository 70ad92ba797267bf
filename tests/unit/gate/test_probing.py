"""Signatures, sampled content, LVM ids, reservations: parsers, and reading a plain file as if it were a device."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.claims import says_reserved
from fsconsole.devices.content import (
    BLOCK_BYTES,
    SPREAD_BLOCKS,
    parse_wipefs,
    probe_all,
    sample_content,
    sample_offsets,
)
from fsconsole.devices.uses import active_groups, ids_in, volume_group_uses
from fsconsole.errors.runs import ToolFailed
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.device import Signature
from fsconsole.model.device import Usage as SignatureUsage
from fsconsole.text import MIB, TIB
from tests.fakes import FakeExecutor
from tests.unit.gate.made import SDB, device, found, number, signature

DATA = Path(__file__).parents[2] / "data" / "wipefs"
ALONE = ("/dev/sdb",)
GROUP = "hF2kVh-3zqN-9rGm-PzPu-2cQy-l1vE-Zb7dTn"
METADATA = f'vg0 {{\nid = "{GROUP}"\nseqno = 3\nphysical_volumes {{\npv0 {{\nid = "x"\n'.encode()


def test_wipefs_of_2_38_is_read_with_labels_that_are_no_text() -> None:
    ((read,),) = parse_wipefs((DATA / "2.38-ext4-hostile-label.json").read_bytes(), ALONE).values()
    assert (read.type, read.usage, read.offset_bytes) == ("ext4", SignatureUsage.FILESYSTEM, 0x438)
    assert read.label == 'a"\\b\x1b[x]\\xff'


def test_every_copy_of_a_table_is_read() -> None:
    (read,) = parse_wipefs((DATA / "2.38-gpt.json").read_bytes(), ALONE).values()
    assert [(s.type, s.usage, s.offset_bytes) for s in read] == [
        ("gpt", SignatureUsage.PARTITION_TABLE, 0x200),
        ("gpt", SignatureUsage.PARTITION_TABLE, 0x3FFFE00),
        ("PMBR", SignatureUsage.PARTITION_TABLE, 0x1FE),
    ]


def test_no_signature_is_none_and_an_answer_that_is_not_understood_is_no_empty_one() -> None:
    for empty in (b"", b"\n", b'{"signatures": []}'):
        assert parse_wipefs(empty, ALONE) == {ALONE[0]: ()}
    for rows in (
        b"3",
        b"[3]",
        b'[{"type": "x"}]',
        b'[{"type": "", "offset": "0x1"}]',
        b'[{"offset": "0x1"}]',
    ):
        for answer in (b'{"signatures": ' + rows + b"}", b"{", b"[]", b"{}"):
            with pytest.raises(ValueError, match=r"."):
                parse_wipefs(answer, ALONE)


@given(st.text(), st.integers(0, 2**63))
def test_any_label_and_offset_come_through(label: str, offset: int) -> None:
    label = label.encode("utf-8", "ignore").decode()
    row = {"type": "ext4", "offset": hex(offset), "usage": "filesystem", "uuid": None, "label": label}
    answer = json.dumps({"signatures": [row]}, ensure_ascii=False).encode()
    (read,) = parse_wipefs(answer, ALONE).values()
    assert read == (Signature("ext4", SignatureUsage.FILESYSTEM, offset, label),)


def test_a_probe_that_fails_is_an_error() -> None:
    columns = "DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH"
    argv = ("wipefs", "--no-act", "--json", "--output", columns, "/dev/sdb")
    for code, out in ((1, b""), (0, b"not json")):
        executor = FakeExecutor({argv: CommandResult(argv, code, out, b"", ResourceUsage(0, 0, 0, 0))})
        assert isinstance(probe_all(executor, ["/dev/sdb"])["/dev/sdb"], ToolFailed)


@given(st.integers(512, 2**50).map(lambda size: size // 512 * 512))
def test_sampled_blocks_are_inside_and_among_them_the_first_and_the_last(size_bytes: int) -> None:
    offsets = sample_offsets(size_bytes)
    assert offsets[0] == 0
    assert offsets[-1] + min(BLOCK_BYTES, size_bytes) == size_bytes
    assert list(offsets) == sorted(set(offsets))
    assert len(offsets) <= SPREAD_BLOCKS + 2 * 16 + 12
    assert all(offset % BLOCK_BYTES == 0 for offset in offsets[:-1])
    whole = size_bytes <= SPREAD_BLOCKS * BLOCK_BYTES
    assert len(offsets) >= SPREAD_BLOCKS or whole


@given(st.integers(1, 2**20).map(lambda size_mib: size_mib * MIB))
def test_each_mib_of_the_first_and_the_last_16_is_looked_into(size_bytes: int) -> None:
    mibs = {offset // MIB for offset in sample_offsets(size_bytes)}
    last = size_bytes // MIB
    assert mibs >= {*range(min(16, last)), *range(max(last - 16, 0), last)}


@pytest.mark.skipif(shutil.which("mkfs.xfs") is None, reason="xfsprogs is not installed")
@pytest.mark.parametrize("size_bytes", [300 * MIB, 1025 * MIB + 3 * 4096, 20000 * MIB, 5 * TIB])
def test_samples_hit_copies_of_xfs_superblock(tmp_path: Path, size_bytes: int) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(size_bytes)
    made = subprocess.run(["mkfs.xfs", "-N", str(image)], check=True, capture_output=True, text=True).stdout
    group_blocks = int(made.split("agsize=")[1].split()[0])
    assert group_blocks * 4096 in sample_offsets(size_bytes)


def test_one_byte_in_a_sampled_block_is_seen_and_a_device_shorter_than_it_says_is_an_error(
    tmp_path: Path,
) -> None:
    size, image = 2**20 + 512, tmp_path / "image"
    for place in (0, 33, 63):
        image.write_bytes(bytes(size))
        empty = sample_content(str(image), size)
        with image.open("r+b") as file:
            file.seek(sample_offsets(size)[place] + 511)
            file.write(b"\1")
        written = sample_content(str(image), size)
        assert (empty.blocks_read, empty.blocks_nonzero) == (64 + 2, 0)
        assert written.blocks_nonzero
        assert empty.digest != written.digest
    image.write_bytes(bytes(BLOCK_BYTES))
    with pytest.raises(OSError, match="could be read"):
        sample_content(str(image), 2 * BLOCK_BYTES)


def test_an_active_group_is_known_by_the_id_that_its_members_name() -> None:
    plain = GROUP.replace("-", "")
    volume = device("dm-0", 253, 0, dm_uuid=f"LVM-{plain}{'x' * 32}")
    crypt = device("dm-1", 253, 1, dm_uuid="CRYPT-LUKS2-abc")
    assert ids_in(METADATA) == active_groups((volume, crypt, SDB)) == {plain}


def test_only_a_member_of_an_active_group_is_in_use(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.write_bytes(bytes(4608) + METADATA)
    active = GROUP.replace("-", "")
    for kind, group, used in (
        ("LVM2_member", active, True),
        ("LVM2_member", "x" * 32, False),
        ("ext4", active, False),
    ):
        member = found(replace(SDB, path=str(volume)), signature(kind))
        uses = list(volume_group_uses([member], frozenset({group})))
        assert [use.number for use in uses] == ([number(SDB)] if used else [])


def test_a_reservation_is_a_descriptor_or_a_conflict() -> None:
    for status, answer, reserved in (
        (0x00, bytes(24), False),
        (0x00, bytes(8) + b"\x10" * 16, False),
        (0x00, bytes(7) + b"\x10" + bytes(16), True),
        (0x18, bytes(24), True),
        (0x02, bytes(7) + b"\x10" + bytes(16), False),
    ):
        assert says_reserved(status, answer) is reserved
