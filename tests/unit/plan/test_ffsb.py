"""FFSB profiles: both syntaxes are read as loads that do what FFSB does; anything else is an error with its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue, PlanUnknownKey, ProfileRefused
from fsconsole.model.workload import (
    WHOLE_FILE,
    Directories,
    Layout,
    SyncAt,
    Workload,
    WorkloadKind,
)
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan, workload_choices
from fsconsole.plan.ffsb import list_profiles, workload_tables
from fsconsole.plan.ffsb_profile import Syntax, parse_profile
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import list_configs, parse_plan, read_plan
from fsconsole.text import GIB, KIB, MIB, printable
from tests.unit.plan.examples import VARIANT

HEAD = "schema = 1\n" + VARIANT
# Every key of 6.0 that changes a load here: the mail server of the Linux performance team's set, in FFSB's own order.
MAIL_6_0 = """
time=300        # s
alignio=1
directio=0
verbose=0
[filesystem]
    location=/mnt/ffsb1
    num_files=1000
    num_dirs=9
    reuse=1
    size_weight 4KB 33
    size_weight 8k 21
    size_weight 1M 2
    create_blocksize=8KB
    agefs=0
    [threadgroup]
        num_threads=10
        create_weight=10
    [end]
    desired_util=0.02
[end]
[threadgroup]
    num_threads=16
    readall_weight=4
    create_fsync_weight=2
    delete_weight=1
    write_size=4KB
    write_blocksize=4KB
    read_size=4KB
    read_blocksize=4KB
    [stats]
        enable_stats=1
        enable_range=1
        msec_range 0.00 0.01
        msec_range 0.01 10000.0
        ignore=close
        ignore=open
    [end]
[end]
"""
OLD = """num_filesystems=1
num_threadgroups=1
directio=0                     # don't use direct io
alignio=1
time=30
[filesystem0]
\tlocation=/home/sonny/tmp
\tnum_files=100
\tnum_dirs=0
\tmax_filesize=1048576
\tmin_filesize=65536
[end0]
[threadgroup0]
\tnum_threads=8
\twrite_random=1
\twrite_weight=1
\tfsync_file=1
\twrite_size=40960
\twrite_blocksize=4096
[end0]
"""


def loads_of(profile: str, directory: Path, keys: str = "") -> tuple[Workload, ...]:
    """Return the loads of a cell of a plan that lies beside its profile."""
    (directory / "own.ffsb").write_text(profile)
    text = f'{HEAD}[[workload]]\nkind = "ffsb"\nprofile = "own.ffsb"\n{keys}'
    return workload_choices(parse_plan(text, str(directory / "plan.toml")))[0]


def shipped(name: str) -> tuple[Workload, ...]:
    return workload_choices(parse_plan(f'{HEAD}[[workload]]\nkind = "ffsb"\nprofile = "{name}"\n', "plan.toml"))[0]


def test_the_profile_that_bull_printed_is_128_threads_that_create_files_of_1_gib_for_600_s() -> None:
    (load,) = shipped("bull-2008")
    assert (load.kind, load.threads, load.files, load.duration_s) == (WorkloadKind.CREATE, 128, 0, 600)
    assert (load.file_size_bytes, load.block_size_bytes, load.name) == (GIB, 64 * KIB, "bull-2008")
    assert (load.directories, load.syncs, load.direct) == (Directories(Layout.ONE), False, False)
    (path,) = [path for path in list_profiles() if path.stem == "bull-2008"]
    # The page indents by no-break spaces, which are kept and read as FFSB's blanks.
    assert "\N{NO-BREAK SPACE}" in path.read_text()
    assert path.read_text().replace("\N{NO-BREAK SPACE}", " ") == PRINTED


PRINTED = """\
num_filesystems=1
num_threadgroups=1
directio=0
time=600

[filesystem0]
        location=/mnt/test/
        num_files=0
        num_dirs=0
        max_filesize=1073741824
        min_filesize=1073741824
[end0]

[threadgroup0]
        num_threads=128
        write_size=65536
        write_blocksize=65536
        create_weight=1
[end0]
"""
"""As "Large-file Sequential Write Comparison Using FFSB" (May 2008) prints it."""


@pytest.mark.parametrize(
    "path", [path for path in list_profiles() if not path.stem.endswith("-5.1")], ids=lambda p: p.stem
)
def test_both_syntaxes_of_a_shipped_profile_say_the_same(path: Path) -> None:
    if path.stem == "bull-2008":
        return
    (new, old) = (shipped(path.stem), shipped(f"{path.stem}-5.1"))
    assert [replace(load, name="") for load in new] == [replace(load, name="") for load in old]
    syntaxes = [parse_profile(one.read_text(), "").syntax for one in (path, path.with_name(f"{path.stem}-5.1.ffsb"))]
    assert syntaxes == [Syntax.UNITS, Syntax.NUMBERED]


def test_shipped_profiles_do_what_they_are_called() -> None:
    _, read = shipped("large-file-sequential-read")
    assert (read.weights, read.operation_bytes, read.picks_all) == (((WorkloadKind.READ, 1),), WHOLE_FILE, True)
    _, read = shipped("large-file-random-read")
    assert (read.weights, read.operation_bytes, read.block_size_bytes) == (
        ((WorkloadKind.RANDOM_READ, 1),),
        40 * MIB,
        4096,
    )
    files, write = shipped("large-file-random-write")
    assert (files.files, files.threads, files.file_size_bytes, files.block_size_bytes) == (100, 1, 40 * MIB, 4096)
    assert (write.weights, write.source, write.duration_s) == (((WorkloadKind.RANDOM_WRITE, 1),), 0, 300)
    files, mail = shipped("mail-server")
    assert (files.files, files.directories) == (100000, Directories(Layout.PER_COUNT, 991))
    assert dict(mail.weights) == {WorkloadKind.APPEND: 2, WorkloadKind.CREATE: 2, WorkloadKind.DELETE: 1}
    assert (mail.file_size_bytes, mail.file_size_max_bytes, mail.operation_bytes) == (4096, 65536, 4096)
    assert not mail.picks_all


def test_the_five_plans_have_1_48_and_192_threads() -> None:
    plans = [read_plan(path) for path in list_configs() if path.stem.startswith("ffsb-")]
    assert len(plans) == 5
    for plan in plans:
        choices = workload_choices(plan)
        assert [choice[-1].threads for choice in choices] == [1, 48, 192]
        assert all(load.threads == 1 for choice in choices for load in choice[:-1])
        assert parse_plan(plan_to_toml(plan), "again.toml") == plan


def test_on_a_small_device_the_five_plans_have_fewer_files_of_the_same_size() -> None:
    for path in (path for path in list_configs() if path.stem.startswith("ffsb-")):
        plan_file = read_plan(path)
        plans = [
            build_plan(plan_file, (TargetSpec("/dev/loop3", size),), load_catalog(), run_id="run")
            for size in (64 * GIB, 400 * MIB)
        ]
        large, small = ({cell.workloads for cell in plan.cells} for plan in plans)
        sizes = [
            {(load.name, load.threads, load.file_size_bytes, load.size_weights) for loads in of for load in loads}
            for of in (large, small)
        ]
        assert sizes[0] == sizes[1], path
        assert not [cell.unavailable for cell in plans[1].cells if cell.unavailable], path
        assert plans[1].is_scaled is (path.stem != "ffsb-large-file-create")


def test_every_key_of_6_0_that_means_a_load_is_taken(tmp_path: Path) -> None:
    files, mail = loads_of(MAIL_6_0, tmp_path)
    assert files.size_weights == mail.size_weights == ((4 * KIB, 33), (8 * KIB, 21), (MIB, 2))
    assert (files.block_size_bytes, files.directories) == (8 * KIB, Directories(Layout.PER_COUNT, 100))
    assert dict(mail.weights) == {WorkloadKind.READ: 4, WorkloadKind.CREATE: 2, WorkloadKind.DELETE: 1}
    assert (mail.operation_bytes, mail.sync_at, mail.threads, mail.duration_s) == (
        WHOLE_FILE,
        SyncAt.EACH_FILE,
        16,
        300,
    )


def test_every_key_of_5_x_that_means_a_load_is_taken(tmp_path: Path) -> None:
    files, write = loads_of(OLD, tmp_path)
    assert (files.file_size_bytes, files.file_size_max_bytes, files.files) == (64 * KIB, MIB, 100)
    assert (write.weights, write.operation_bytes) == (((WorkloadKind.RANDOM_WRITE, 1),), 40 * KIB)
    assert (write.sync_at, write.picks_all, write.threads) == (SyncAt.EACH_FILE, True, 8)
    (files, write) = loads_of(
        OLD.replace("directio=0 ", "directio=1 ").replace("fsync_file=1", "fsync_file=0"), tmp_path
    )
    assert (files.direct, write.direct, write.syncs) == (False, True, False)


def test_the_plan_replaces_threads_and_time_and_adds_settings(tmp_path: Path) -> None:
    keys = 'name = "mine"\nthreads = 3\nduration = "2s"\ncold = true\nwith = { read_ahead = "1MiB" }\n'
    files, write = loads_of(OLD, tmp_path, keys)
    assert (files.name, write.name) == ("mine, file set", "mine")
    assert (write.threads, write.duration_s, write.cold, write.settings) == (3, 2, True, (("read_ahead", "1MiB"),))
    assert (files.threads, files.duration_s, files.cold) == (1, 0, False)


def line_of(text: str, line: str) -> int:
    return text.split("\n").index(line) + 1


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (OLD, "time=30", "callout=/bin/sh", "no program"),
        (OLD, "time=30", "time = soon", "expected time = a whole number"),
        (OLD, "time=30", "tine=30", "nearest: time"),
        (OLD, "time=30", "bufferio=0", "only FFSB 6.0 knows it"),
        (OLD, "num_filesystems=1", "num_filesystems=2", "there are 1 [filesystem] sections"),
        (OLD, "[filesystem0]", "[filesystem1]", "expected [filesystem0]"),
        (OLD, "[end0]", "[end1]", "expected [end0]"),
        (OLD, "\tmax_filesize=1048576", "\tmax_filesize=1MB", "a size, in bytes"),
        (OLD, "\tmax_filesize=1048576", "\tmax_filesize=1", "min_filesize <= max_filesize"),
        (OLD, "\tmax_filesize=1048576", "\tsize_weight 4k 1", "only FFSB 6.0 knows it"),
        (OLD, "\tnum_dirs=0", "\tagefs=1", "age = { cycles, fill }"),
        (OLD, "\tnum_dirs=0", "\tnum_files=1", "line 8 says it already"),
        (OLD, "\tnum_threads=8", "\tnum_threads=0", "at least 1"),
        (OLD, "\tfsync_file=1", "\top_delay=10", "does not wait"),
        (OLD, "\tfsync_file=1", "\tread_skip=1", "no strided reads"),
        (OLD, "\tfsync_file=1", "\tmeta_weight=1", "no metadata mix"),
        (OLD, "\tfsync_file=1", "\tbindfs=0", "one filesystem in a cell"),
        (OLD, "\tfsync_file=1", "\tstat_weight=1", "only FFSB 6.0 knows it"),
        (OLD, "\twrite_random=1", "\twrite_random=0", "random places only"),
        (OLD, "\twrite_blocksize=4096", "\twrite_blocksize=8192", "blocks of 4096"),
        (OLD, "\twrite_blocksize=4096", "\tread_blocksize=4096", "it needs write_blocksize"),
        (OLD, "\twrite_size=40960", "\twrite_size=4294967296", "below 4 GiB"),
        (OLD, "\twrite_size=40960", "\twrite_size=4095", "FFSB would move nothing"),
        (OLD, "alignio=1", "alignio=0", "alignio = 1"),
        (MAIL_6_0, "verbose=0", "num_threadgroups=1", "expected [filesystem0]"),
        (MAIL_6_0, "verbose=0", "bufferedio=0", "only FFSB 5.x knows it"),
        (MAIL_6_0, "    create_blocksize=8KB", "    create_blocksize=8PB", "expected create_blocksize = a size"),
        (MAIL_6_0, "    create_blocksize=8KB", "    init_size=100m", "give num_files"),
        (MAIL_6_0, "    create_blocksize=8KB", "    size_weight 4k", "a size and a weight"),
        (MAIL_6_0, "    delete_weight=1", "    create_weight=1", "writes without fsync"),
        (MAIL_6_0, "    delete_weight=1", "    append_fsync_weight=1", "move as many bytes"),
        (MAIL_6_0, "    delete_weight=1", "    open_close_weight=1", "no operation that only opens"),
        (MAIL_6_0, "    delete_weight=1", "    read_weight=1", "readall_weight"),
        (MAIL_6_0, "    write_blocksize=4KB", "    write_blocksize=8KB", "must have one size"),
        (MAIL_6_0, "    delete_weight=1", "    fsync_file=1", "only FFSB 5.x knows it"),
        (MAIL_6_0, "    num_files=1000", "    num_files=0", "num_files is 0"),
        (OLD, "time=30", "time=99999999", "at most 2592000"),
        (OLD, "\tnum_files=100", "\tnum_files=99999999", "at most 10000000"),
        (OLD, "\tnum_threads=8", "\tnum_threads=5000", "at most 4096"),
        (OLD, "\tmax_filesize=1048576", "\tmax_filesize=99999999999999", "at most 70368744177664"),
        (OLD, "\twrite_weight=1", "\twrite_weight=2000000", "at most 1000000"),
        (MAIL_6_0, "    create_blocksize=8KB", "    size_weight 4k 2000000", "a weight of at most 1000000"),
        (MAIL_6_0, "        enable_range=1", "        enable_rage=1", "nearest: enable_range"),
    ],
)  # fmt: skip
def test_what_is_not_read_as_ffsb_does_it_or_is_too_large_is_refused_with_its_line(
    text: str, old: str, new: str, words: str, tmp_path: Path
) -> None:
    assert old in text
    changed = text.replace(old, new, 1)
    with pytest.raises(ProfileRefused) as caught:
        loads_of(changed, tmp_path)
    said = str(caught.value)
    assert words in said
    assert f"own.ffsb:{caught.value.line}: " in said
    lines = changed.split("\n")
    assert 1 <= caught.value.line <= len(lines)


@pytest.mark.parametrize(
    ("extra", "line", "words"),
    [
        ("[threadgroup]\nnum_threads=1\n[end]\n", "[threadgroup]", "several run at once"),
        ("[filesystem]\n[end]\n", "[filesystem]", "one filesystem"),
        ("[end]\n", "[end]", "ends no section"),
        ("[stats]\n", "[stats]", "[filesystem], [threadgroup]"),
        ("[filesystem]\n", "[filesystem]", "[end] is missing"),
    ],
)
def test_sections_that_are_too_many_are_refused_where_they_begin(
    extra: str, line: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ProfileRefused) as caught:
        loads_of(MAIL_6_0 + extra, tmp_path)
    assert words in str(caught.value)
    lines = (MAIL_6_0 + extra).split("\n")
    assert lines[caught.value.line - 1] == line
    assert caught.value.line > MAIL_6_0.count("\n")


def test_a_profile_that_is_not_there_is_refused_with_the_shipped_ones(tmp_path: Path) -> None:
    for name, words in (("mail-sever", "mail-server"), ("/dev/zero", "no such file"), ("a\\u0000b", "no such file")):
        with pytest.raises(PlanBadValue) as caught:
            parse_plan(f'{HEAD}[[workload]]\nkind = "ffsb"\nprofile = "{name}"\n', str(tmp_path / "plan.toml"))
        assert words in str(caught.value) + caught.value.hint
    (tmp_path / "own.ffsb").write_bytes(b"\xff")
    with pytest.raises(PlanBadValue, match="can't be read"):
        parse_plan(f'{HEAD}[[workload]]\nkind = "ffsb"\nprofile = "own.ffsb"\n', str(tmp_path / "plan.toml"))
    with pytest.raises(PlanUnknownKey):
        loads_of(OLD, tmp_path, "files = 3\n")


WORDS = st.sampled_from(
    ["time=1", "[filesystem]", "[filesystem0]", "[end]", "[end0]", "[threadgroup0]", "[threadgroup]", "num_files=2",
     "num_filesystems=1", "num_threadgroups=1", "min_filesize=4k", "max_filesize=4096", "size_weight 4k 1", "num_threads=2",
     "create_weight=1", "write_blocksize=4096", "[stats]", "readall_weight=1", "read_blocksize=4096", "delete_weight=1", "#"]
)  # fmt: skip


@given(st.one_of(st.lists(WORDS, max_size=25).map("\n".join), st.text(max_size=200)))
def test_any_text_is_a_profile_or_an_error_with_a_line(text: str) -> None:
    refused: ProfileRefused | None = None
    made: tuple[dict[str, object], ...] = ()
    try:
        made = workload_tables(parse_profile(text, "any.ffsb"), "any", {})
    except ProfileRefused as error:
        refused = error
    if refused is not None:
        assert 1 <= refused.line <= text.count("\n") + 1
        assert printable(str(refused)) == str(refused)
    else:
        assert 1 <= len(made) <= 2
        assert made[-1]["kind"] in ("create", "mix")
