"""Inodes counted before a filesystem is made: as many as mke2fs then makes, and as many as the loads need."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Variant
from fsconsole.model.workload import Directories, Layout, SizedBy, Sizing, Workload, WorkloadKind
from fsconsole.plan.expand import build_plan
from fsconsole.plan.inodes import SHIPPED, Mke2fsConf, inodes_made, inodes_needed, parse_mke2fs_conf
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import parse_plan
from fsconsole.text import GIB, KIB, MIB, TIB

IN_TENS = Directories(Layout.PER_COUNT, 10)


@pytest.mark.parametrize(
    ("filesystem", "size_bytes", "words"),
    [
        ("ext4", 64 * MIB, ()),
        ("ext4", GIB // 2, ("-N", "178956")),
        ("ext4", 2 * GIB + 128 * MIB + 160 * KIB, ()),
        ("ext2", 2 * GIB + 128 * MIB + 160 * KIB, ("-i", "8192", "-b", "1024")),
        ("ext3", 100 * MIB + 28 * KIB, ("-I", "128")),
        ("ext4", 5 * TIB, ("-i", "65536")),
        ("ext4", 100 * GIB, ("-T", "largefile")),
    ],
)
def test_mke2fs_makes_the_inodes_that_were_counted_beforehand(
    tmp_path: Path, filesystem: str, size_bytes: int, words: tuple[str, ...]
) -> None:
    """Held against mke2fs itself, on sparse files, with this machine's mke2fs.conf."""
    image = tmp_path / "image"
    image.touch()
    with image.open("r+b") as file:
        file.truncate(size_bytes)
    lazy = "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
    subprocess.run([f"mkfs.{filesystem}", "-F", "-q", "-E", lazy, *words, image], check=True, capture_output=True)
    out = subprocess.run(["dumpe2fs", "-h", image], check=True, capture_output=True, text=True).stdout
    (made,) = [int(line.split(":")[1]) for line in out.splitlines() if line.startswith("Inode count")]
    conf = parse_mke2fs_conf(Path("/etc/mke2fs.conf").read_text())
    assert inodes_made(Variant("x", filesystem, words), size_bytes, conf) == made


NAMES = st.sampled_from(["blocksize", "inode_size", "inode_ratio"])
SETTINGS = st.dictionaries(NAMES, st.integers(-1, 10**9), min_size=1)


@given(
    SETTINGS,
    st.dictionaries(st.sampled_from(["ext4", "small", "big"]), SETTINGS, max_size=3),
    st.sampled_from(
        ["", "# inode_ratio = 1\n", "; blocksize = 1\n", "\tbase_features = sparse_super,filetype\n", "\n", "}\n"]
    ),
    st.text(),
)
def test_a_mke2fs_conf_is_read_as_it_was_written_and_any_text_is_read_without_an_error(
    defaults: dict[str, int], types: dict[str, dict[str, int]], between: str, wild: str
) -> None:
    def lines(of: dict[str, int]) -> str:
        return between.join(f"\t{name} = {number}\n" for name, number in of.items())

    tables = "".join(f"\t{name} = {{\n{lines(of).replace('}', '')}\t}}\n" for name, of in types.items())
    text = f"[options]\n\tinode_ratio = 7\n[defaults]\n{between}{lines(defaults)}[fs_types]\n{tables}"
    assert parse_mke2fs_conf(text) == Mke2fsConf(defaults, types)
    # It is the machine's own file, and may hold anything.
    found = parse_mke2fs_conf(wild)
    assert all(found.value(name, ("ext4",)) > 0 for name in ("blocksize", "inode_size", "inode_ratio"))


def test_settings_of_mke2fs_conf_hold_before_the_shipped_ones() -> None:
    """An admin may have changed the ratio; a block size of -1 leaves the choice to mke2fs."""
    conf = parse_mke2fs_conf(
        "[options]\n fname_encoding = utf8\n[defaults]\n inode_ratio = 65536 ; few\n inode_size = 256\n"
        "[fs_types]\n ext4 = {\n features = extent # and more\n }\n small = {\n blocksize = 1024\n inode_ratio = 4096\n }\n"
        " largefile = {\n  inode_ratio = 1048576\n  blocksize = -1\n }\n"
    )
    assert conf.value("inode_ratio", ("ext4", "default")) == 65536
    assert conf.value("inode_ratio", ("ext4", "small")) == 4096
    assert conf.value("blocksize", ("ext4", "largefile")) == 4096
    assert inodes_made(Variant("x", "ext4"), 10 * GIB, conf) * 4 == inodes_made(Variant("x", "ext4"), 10 * GIB)
    assert parse_mke2fs_conf("") is SHIPPED
    assert isinstance(conf, Mke2fsConf)


@pytest.mark.parametrize(("filesystem", "size_bytes"), [("xfs", GIB), ("btrfs", GIB), ("ext4", 0)])
def test_filesystems_that_make_inodes_as_files_come_have_no_count(filesystem: str, size_bytes: int) -> None:
    """Nor has a device of unknown size."""
    assert inodes_made(Variant("x", filesystem), size_bytes) == 0


def _load(kind: WorkloadKind, files: int, source: int | None = None, **more: object) -> Workload:
    values: dict[str, object] = {"directories": IN_TENS, **more}
    return Workload("one", kind, 1, files, 4096, 4096, source=source, **values)  # type: ignore[arg-type]


def test_what_is_deleted_in_between_is_counted_once() -> None:
    """Files, their directories, the load's own and the tree: a delete gives back files alone."""
    made, other = _load(WorkloadKind.CREATE, 100), _load(WorkloadKind.CREATE, 50)
    removed = _load(WorkloadKind.DELETE, 0, source=0)
    assert inodes_needed([made, other]) == 1 + 111 + 56
    assert inodes_needed([made, removed, other]) == 1 + 111
    auto = _load(WorkloadKind.CREATE, 10**6, sizing=Sizing(SizedBy.FILES, 10.0))
    assert inodes_needed([auto]) == 1
    chosen = replace(auto, files=90, sizing=Sizing(SizedBy.FILES, 10.0, is_settled=True))
    assert inodes_needed([chosen]) == 1 + 100


def test_files_of_a_fio_job_and_of_its_clones_are_counted() -> None:
    job = _load(WorkloadKind.FIO, 0, job="[a]\nrw=write\nfilesize=4k\nnrfiles=500\nnumjobs=3\n")
    assert inodes_needed([job]) == 1 + 1501


def test_a_plan_says_before_it_runs_that_two_million_files_need_more_inodes() -> None:
    """With the option that makes them; on xfs the same load can run."""
    text = (
        'schema = 1\n[[variant]]\ntype = "ext4"\nlabel = "few"\n'
        '[[variant]]\ntype = "ext4"\nmkfs = "-N 2040512"\nlabel = "more"\n[[variant]]\ntype = "xfs"\n'
        '[[workload]]\nkind = "create"\nfiles = 2000000\nfile_size = "4KiB"\nblock_size = "4KiB"\ndirectories = 1000\n'
    )
    plan = build_plan(
        parse_plan(text, "plan.toml"), [TargetSpec("/dev/x", 20 * GIB)], load_catalog(), run_id="one", kernel="6.18"
    )
    reasons = {cell.variant.label or cell.variant.filesystem: cell.unavailable for cell in plan.cells}
    assert reasons["few"] == (
        "the loads need 2,002,002 inodes, and mkfs.ext4 makes 1,310,720 on 20.0 GiB:"
        " add -N 2042054 or -i 8192 to its mkfs words"
    )
    assert not reasons["more"]
    assert not reasons["xfs"]
