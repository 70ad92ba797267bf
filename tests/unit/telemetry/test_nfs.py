"""Bytes read from an NFS server: mountstats as Linux 4.18 and 6.1 print them, and anything else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.telemetry.nfs import parse_server_reads

LINUX_6_1 = """\
device proc mounted on /proc with fstype proc
device server:/export/a mounted on /mnt/nfs\\040one with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,hard,proto=tcp,timeo=600,retrans=2,sec=sys
\tage:\t77
\tcaps:\tcaps=0x7fff,wtmult=512,dtsize=1048576,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t5 40 0 0 1 4 48 8192 0 16 0 2 0 0 4 0 0 0 0 0 0 0 0 0 0 0 0
\tbytes:\t33554432 67108864 0 4096 16777216 67112960 4096 16385
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 820 0 1 0 77 149 149 0 149 0 2 0 0
device server:/export/b mounted on /mnt/b with fstype nfs statvers=1.1
\tbytes:\t0 0 0 0 12 0 0 0
"""
LINUX_4_18 = LINUX_6_1.replace("statvers=1.1", "statvers=1.0").replace("acregmin=3,", "")


def test_bytes_from_the_server_are_those_of_the_mount_alone() -> None:
    for text in (LINUX_6_1, LINUX_4_18):
        assert parse_server_reads(text, "/mnt/nfs one") == 16777216
        assert parse_server_reads(text, "/mnt/b") == 12
        assert parse_server_reads(text, "/proc") is None
        assert parse_server_reads(text, "/mnt") is None


def test_what_is_no_number_is_not_known() -> None:
    assert parse_server_reads("device a mounted on /x with fstype nfs\n\tbytes:\t1 2 3\n", "/x") is None
    assert parse_server_reads("device a mounted on /x with fstype nfs\n\tbytes:\t1 2 3 4 -5 6\n", "/x") is None


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    parse_server_reads(text, "/x")
    parse_server_reads(f"device a mounted on /x with fstype nfs\n\tbytes:\t{text}", "/x")
