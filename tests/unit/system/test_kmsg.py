from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.system.kmsg import KernelLog, KernelRecord, parse_kmsg

DATA = Path(__file__).parents[2] / "data" / "kmsg"


def test_a_refused_mount_is_explained_by_its_record() -> None:
    first = parse_kmsg((DATA / "ext4-refused-6.18.txt").read_bytes())[0]
    assert first == KernelRecord(3, 0, 351, 2619197319, "ext4: Unknown parameter 'nomballoc'")


def test_continuation_lines_belong_to_the_record_before() -> None:
    records = parse_kmsg((DATA / "debian12-6.1.txt").read_bytes())
    assert [record.sequence for record in records] == [0, 780, 812, 813, 814, 1402, 1403]
    assert records[5].properties == (("SUBSYSTEM", "block"), ("DEVICE", "b8:16"))


def test_escapes_are_undone_and_further_fields_passed_over() -> None:
    last = parse_kmsg((DATA / "debian12-6.1.txt").read_bytes())[-1]
    assert last.message == 'EXT4-fs (sdb1): warning: label "\x1b[31mé\\x" \nend'


def test_a_log_tells_the_kernels_own_words_only() -> None:
    with KernelLog(str(DATA / "debian12-6.1.txt")) as log:
        os.lseek(log._fd, 0, os.SEEK_SET)
        lines = log.lines()
    assert "systemd[1]: Starting Journal Service..." not in lines
    assert len(lines) == 6


def test_a_mark_forgets_what_was_before() -> None:
    with KernelLog(str(DATA / "debian12-6.1.txt")) as log:
        os.lseek(log._fd, 0, os.SEEK_SET)
        assert log.lines()
        log.mark()
        assert log.lines() == ()


def test_lines_stay_until_the_next_mark() -> None:
    with KernelLog(str(DATA / "ext4-refused-6.18.txt")) as log:
        os.lseek(log._fd, 0, os.SEEK_SET)
        assert log.lines() == log.lines() != ()


@pytest.mark.parametrize("raw", [b"no record", b"6,1;text", b"x,1,2,-;text", b"6,1,2,-"])
def test_a_line_of_another_shape_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_kmsg(raw)


def escaped(raw: bytes) -> bytes:
    """Write a message as the kernel does (kernel/printk/printk.c, msg_print_ext_body)."""
    return b"".join(b"%c" % c if 32 <= c < 127 and c != 0x5C else b"\\x%02x" % c for c in raw)


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(
            KernelRecord,
            st.integers(0, 7),
            st.integers(0, 23),
            st.integers(0, 2**63),
            st.integers(0, 2**63),
            st.text(),
            st.lists(st.tuples(st.sampled_from(["SUBSYSTEM", "DEVICE"]), st.text()), max_size=2).map(tuple),
        ),
        max_size=4,
    ).map(tuple)
)
def test_whatever_the_kernel_writes_is_read_back(records: tuple[KernelRecord, ...]) -> None:
    raw = b""
    for r in records:
        raw += b"%d,%d,%d,-;" % (r.facility << 3 | r.priority, r.sequence, r.timestamp_us)
        raw += escaped(r.message.encode()) + b"\n"
        raw += b"".join(b" %s=%s\n" % (key.encode(), escaped(value.encode())) for key, value in r.properties)
    assert parse_kmsg(raw) == records
