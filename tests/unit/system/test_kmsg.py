from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.system.kmsg import KernelLog, kernel_messages

DATA = Path(__file__).parents[2] / "data" / "kmsg"


@pytest.fixture
def log() -> Iterator[KernelLog]:
    with KernelLog(str(DATA / "debian12-6.1.txt")) as log:
        os.lseek(log.fd, 0, os.SEEK_SET)
        yield log


def test_a_log_tells_the_kernels_own_messages_without_escapes_properties_and_other_facilities(log) -> None:
    lines = log.lines()
    assert "systemd[1]: Starting Journal Service..." not in lines
    assert len(lines) == 6
    assert lines[-1] == 'EXT4-fs (sdb1): warning: label "\x1b[31mé\\x" \nend'
    refused = (DATA / "ext4-refused-6.18.txt").read_bytes()
    assert next(kernel_messages(refused)) == "ext4: Unknown parameter 'nomballoc'"


def test_lines_stay_until_the_next_mark(log) -> None:
    assert log.lines() == log.lines() != ()
    log.mark()
    assert log.lines() == ()


@pytest.mark.parametrize("raw", [b"no record", b"6,1;text", b"x,1,2,-;text", b"6,1,2,-"])
def test_a_line_of_another_shape_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        tuple(kernel_messages(raw))


def escaped(raw: bytes) -> bytes:
    """Write a message as the kernel does (kernel/printk/printk.c, msg_print_ext_body)."""
    return b"".join(b"%c" % c if 32 <= c < 127 and c != 0x5C else b"\\x%02x" % c for c in raw)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 23), st.integers(0, 2**63), st.text(), st.text()),
        max_size=4,
    )
)
def test_whatever_the_kernel_writes_is_read_back(records: list[tuple[int, int, int, str, str]]) -> None:
    raw = b""
    for priority, facility, number, message, device in records:
        raw += b"%d,%d,%d,-;" % (facility << 3 | priority, number, number) + escaped(message.encode())
        raw += b"\n DEVICE=" + escaped(device.encode()) + b"\n"
    assert list(kernel_messages(raw)) == [record[3] for record in records if record[1] == 0]
