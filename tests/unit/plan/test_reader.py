"""A plan file is read whole or refused with its file, its key and what is valid there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors import ExitCode, FsconsoleError, targets
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import After, DeleteWith, Equalise, Order
from fsconsole.model.workload import DataKind, Directories, Layout, WorkloadKind
from fsconsole.plan.expand import workload_choices
from fsconsole.plan.planfile import AUTO_REPEATS, ArrayAxis, Scale, ScaleKind
from fsconsole.plan.read import parse_plan, read_plan
from fsconsole.text import GIB, KIB, MIB
from fsconsole.tui.screens.scratch_form import judge
from fsconsole.units import parse_bytes
from tests.unit.plan.examples import DESIGN, SMALLEST, VARIANT, WORKLOAD, parse


def refusal(text: str) -> FsconsoleError:
    with pytest.raises(FsconsoleError) as caught:
        parse(text)
    return caught.value.each[0]


def then(*lines: str) -> str:
    """Return a plan with a workload after a create of 4 files of 1 MiB."""
    return SMALLEST + "[[workload]]\n" + "\n".join(lines)


def with_workload(*lines: str) -> str:
    return "schema = 1\n" + VARIANT + '[[workload]]\nkind = "create"\n' + "\n".join(lines)


def with_checklist(line: str) -> str:
    return f"schema = 1\n[[filesystem]]\ntype = 'ext4'\n{line}\n{WORKLOAD}"


def test_every_key_of_the_design_is_read() -> None:
    plan = parse(DESIGN)
    assert plan.title == "ext4 against xfs: many large files"
    assert (plan.repeats, plan.is_auto) == AUTO_REPEATS
    assert (plan.primary, plan.same, plan.control) == (Metric.FSYNC_P99, 0.05, True)
    assert (plan.order, plan.seed, plan.raw) == (Order.ROUNDS, 20080520, True)
    assert plan.equalise is Equalise.DISCARD
    assert plan.scale == Scale(ScaleKind.FIT)
    assert plan.settings == (("read_ahead", ("128KiB", "2MiB")), ("scheduler", ("mq-deadline",)))
    assert plan.arrays == (ArrayAxis(("raid5", "raid6"), (64 * KIB, 512 * KIB)),)
    (checklist,) = plan.checklists
    assert checklist.mkfs == (("inode_size", ("256",)), ("flex_bg", ("off", "on")), ("flex_bg_size", ("64",)))
    assert checklist.exclude == ((("flex_bg", "off"), ("flex_bg_size", "64")),)
    create, read = plan.workloads
    assert (create.thread_counts, create.file_size_bytes, create.block_size_bytes) == ((128,), GIB, 64 * KIB)
    assert (read.kind, read.cold, read.settings) == (WorkloadKind.READ, True, (("read_ahead", "4MiB"),))
    assert plan.after == After(check=True, crash=True, delete=DeleteWith.RM)
    assert plan.source == DESIGN


def test_what_is_not_said_has_the_defaults_of_the_manual() -> None:
    plan = parse(SMALLEST)
    assert (plan.repeats, plan.order, plan.equalise, plan.raw) == (5, Order.ROUNDS, Equalise.DISCARD, False)
    assert (plan.is_auto, plan.primary, plan.same, plan.control) == (False, None, 0.10, False)
    assert plan.scale == Scale(ScaleKind.NONE)
    (workload,) = plan.workloads
    assert (workload.block_size_bytes, workload.data) == (64 * KIB, DataKind.RANDOM)
    assert workload.directories == Directories(Layout.ONE)
    assert plan.after == After()


def test_true_and_false_are_on_and_off_and_an_old_name_is_read_as_the_new_one() -> None:
    (checklist,) = parse(with_checklist("mount = { delalloc = [true, false] }")).checklists
    assert checklist.mount == (("delalloc", ("on", "off")),)
    (checklist,) = parse(with_checklist("mkfs = { uninit_groups = 'on' }")).checklists
    assert checklist.mkfs == (("uninit_bg", ("on",)),)


def test_an_unknown_key_is_named_with_its_place_and_the_nearest_valid_one() -> None:
    for text, key, nearest in [
        ("schem = 1\n" + VARIANT + WORKLOAD, "schem", "schema"),
        (SMALLEST + "[after]\nchekc = true", "after.chekc", "check"),
        (with_workload('file_size = "1MiB"', "thread = 2"), "workload[0].thread", "threads"),
        (
            with_workload('file_size = "1MiB"', "fsync_every = 2"),
            "workload[0].fsync_every",
            'fsync = 2, or fsync = "each-file", which leaves no closed file unsynced',
        ),
        (SMALLEST + "[[variant]]\ntype = 'xfs'\nmkfs_words = ''\n", "variant[1].mkfs_words", "mkfs"),
        (with_checklist("mount = { date = ['ordered'] }"), "filesystem[0].mount.date", "data"),
        (with_checklist("mkfs = { data = ['ordered'] }"), "filesystem[0].mkfs.data", ""),
        (with_checklist("exclude = [{ flexbg = 'on' }]"), "filesystem[0].exclude[0].flexbg", "flex_bg"),
        (SMALLEST + "[settings]\nreadahead = '2MiB'", "settings.readahead", "read_ahead"),
    ]:
        error = refusal(text)
        assert isinstance(error, targets.PlanUnknownKey)
        assert error.key == key
        assert nearest in error.nearest
        assert error.exit_code is ExitCode.PLAN_UNKNOWN_KEY
        assert re.match(r"plan\.toml:\d+: ", str(error))


# The first key of each is the one that is refused.
BAD_AT_THE_TOP = (
    "repeats = 0", "load_time = 10", "repeats = true", "repeats = 'many'", "order = 'random'", "seed = -1", "scale = 0", "scale = nan",
    "scale = 1.5", "scale = 'factor'", "raw = 'yes'", "primary = 'durabel'", "primary = 3", "same = 0", "same = 100.5",
    "same = '10 %'", "control = 1",
)  # fmt: skip
BAD_SIZES = (
    '"big"', '"1.0001B"', f'"{"9" * 400}"', "9" * 400, '"100TiB"', "2026-11-21", '"4KiB"', "['1MiB']",
    "['2MiB', '1MiB']", "['1MiB', '2MiB', '3MiB']", "['4KiB', '32KiB']",
)  # fmt: skip
BAD_IN_A_CREATE_OF_1_MIB = (
    "threads = 0", "threads = [4, 0]", "threads = []", "threads = 5000", "threads = 1.5", "files = 20000000",
    "files = 2\nthreads = 4", 'block_size = "2MiB"', "block_size = 0", 'directories = "many"', "directories = 0",
    'name = " "', "data = 0", "data = 1.5", "data = 'compressible'", "data = 'randm'", "duration = 60",
    "duration = '0s'", "duration = '1y'", "duration = '99999h'", "end = 'at-once'", "bytes = 0", "fsync = 0",
    "fsync = 'always'", "fsync = true", "sync_call = 'sync'", "sync_call = 'fdatasync'",
    "weights = { read = 1 }", "of = 'create'", "block_size = 1000\ndirect = true", "direct = 'yes'",
    "directories = 10\nduration = '1s'", "directories = 1\nfiles = 2000000",
)  # fmt: skip
BAD_AFTER_A_CREATE = (
    ("weights", "kind = 'mix'"),
    ("size", "kind = 'read'\nsize = 'auto'"),
    ("size", "kind = 'random-read'\nsize = 'auto'"),
    ("size", "kind = 'mix'\nweights = { read = 1 }\nsize = 'auto'\nduration = '9s'"),
    ("size", "kind = 'mix'\nweights = { read = 1 }\nsize = 'auto'\nfiles = 9"),
    ("weights.fio", "kind = 'mix'\nweights = { fio = 1 }\nfiles = 9"),
    ("weights.read", "kind = 'mix'\nweights = { read = 0 }\nfiles = 9"),
    ("file_size", "kind = 'mix'\nweights = { create = 1 }\nfiles = 9"),
    ("directories", "kind = 'mix'\nweights = { read = 1 }\nfiles = 9\ndirectories = 5"),
    ("bytes", "kind = 'stat'\nbytes = '1GiB'"),
    ("direct", "kind = 'delete'\ndirect = true"),
    ("fsync", "kind = 'read'\nfsync = 5"),
    ("fsync", "kind = 'stat'\nfsync = 'end'"),
    ("block_size", "kind = 'random-read'\nblock_size = '2MiB'"),
    ("file_size", "kind = 'append'"),
    ("of", "kind = 'read'\nof = 'largefiles'"),
)
DELETES = ("kind = 'delete'", "kind = 'mix'\nweights = { stat = 1, delete = 1 }\nfiles = 9")
BAD_VALUES = [
    ("schema = 2\n" + VARIANT + WORKLOAD, "schema"),
    (VARIANT + WORKLOAD, "schema"),
    ("schema = 1\n" + WORKLOAD, "filesystem"),
    ("schema = 1\n" + VARIANT, "workload"),
    *((f"schema = 1\n{line}\n{VARIANT}{WORKLOAD}", line.split()[0]) for line in BAD_AT_THE_TOP),
    *((f"schema = 1\nvariant = {value}\n{WORKLOAD}", "variant") for value in ("'ext4'", "['ext4']")),
    (with_workload("duration = '9s'"), "workload[0].file_size"),
    (with_workload("bytes = '1MiB'"), "workload[0].file_size"),
    (with_workload("size = 'big'"), "workload[0].size"),
    (with_workload("size = 'auto'", "files = 9", "file_size = '1MiB'"), "workload[0].size"),
    *((with_workload(f"file_size = {value}"), "workload[0].file_size") for value in BAD_SIZES),
    *(
        (with_workload('file_size = "1MiB"', lines), f"workload[0].{lines.split()[0]}")
        for lines in BAD_IN_A_CREATE_OF_1_MIB
    ),
    (with_workload('file_size = "1000000"', "direct = true"), "workload[0].file_size"),
    (with_workload('file_size = "1GiB"', "block_size = '1GiB'", "threads = 64"), "workload[0].block_size"),
    (then("kind = 'read'", "with = { read_ahead = ['1MiB', '2MiB'] }"), "workload[1].with.read_ahead"),
    ("schema = 1\n" + VARIANT + "[[workload]]\nfile_size = 65536\n", "workload[0].kind"),
    ("schema = 1\n" + VARIANT + "[[workload]]\nkind = 'write'\n", "workload[0].kind"),
    *((then(lines), f"workload[1].{key}") for key, lines in BAD_AFTER_A_CREATE),
    *(
        (then(delete, "[[workload]]", f"kind = '{kind}'", "file_size = '1MiB'"), "workload[2].kind")
        for delete in DELETES
        for kind in ("stat", "append", "read")
    ),
    *(
        (f"schema = 1\n{VARIANT}[[workload]]\nkind = '{kind}'\nfile_size = '1MiB'\n", "workload[0].kind")
        for kind in ("read", "random-read", "random-write", "append", "stat", "delete")
    ),
    (with_checklist("mount = { data = [] }"), "filesystem[0].mount.data"),
    (with_checklist("exclude = [{}]"), "filesystem[0].exclude[0]"),
    (SMALLEST + "[settings]\nscheduler = '../x'", "settings.scheduler"),
    (SMALLEST + "[settings]\ndirty_ratio = 101", "settings.dirty_ratio"),
    (SMALLEST + "[[array]]\nlevel = 'raid7'\nchunk = '64KiB'", "array[0].level"),
]


def test_a_value_that_cannot_be_is_refused_with_its_key() -> None:
    for text, key in BAD_VALUES:
        error = refusal(text)
        assert isinstance(error, targets.PlanBadValue), text
        assert (error.key, error.exit_code) == (key, ExitCode.PLAN_BAD_VALUE), text
        assert error.wanted
    assert "one of durable, " in refusal("schema = 1\nprimary = 'durabel'\n" + VARIANT + WORKLOAD).hint


def test_a_refused_word_and_an_unknown_filesystem_are_named_with_their_keys() -> None:
    variant, checklist = "[[variant]]\ntype = 'ext4'\n", "[[filesystem]]\ntype = 'ext4'\n"
    for table, key, word in [
        ("[[variant]]\ntype = 'btrfs'\nmkfs = '-d single /dev/sdb'", "variant[0].mkfs", "/dev/sdb"),
        (variant + "mount = 'noatime,suid'", "variant[0].mount", "suid"),
        (variant + "mount = 'journal_async_commit'", "variant[0].mount", "journal_async_commit"),
        (checklist + "mount = { data = ['orderd'] }", "filesystem[0].mount.data", "orderd"),
        (checklist + "mkfs = { stride = ['/dev/sdb'] }", "filesystem[0].mkfs.stride", "/dev/sdb"),
    ]:
        error = refusal("schema = 1\n" + table + WORKLOAD)
        assert isinstance(error, targets.OptionRefused)
        assert (error.key, error.word) == (key, word)
        assert error.exit_code is ExitCode.OPTION_REFUSED
    unknown = refusal("schema = 1\n[[variant]]\ntype = 'ext44'\n" + WORKLOAD)
    assert isinstance(unknown, targets.UnknownFilesystem)
    assert unknown.key == "variant[0].type"
    assert unknown.hint.startswith("Did you mean ext4,")


def test_text_that_is_no_toml_is_an_error_of_its_own_with_line_and_column(tmp_path: Path) -> None:
    for text in ["a = " + "[" * 5000, "a = 1\na = 2", "\x00", "a = \ud7ff", "[[a]]\n[a]"]:
        assert isinstance(refusal(text), targets.PlanNotToml)
    assert "line 2, column" in str(refusal('schema = 1\ntitle = "unfinished\n'))
    path = tmp_path / "binary.toml"
    path.write_bytes(b"schema = 1\n\xff\xfe")
    with pytest.raises(targets.PlanNotToml, match="line 2"):
        read_plan(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (MIB + 1))
    for path in (tmp_path / "absent.toml", tmp_path, fifo, large, tmp_path / "a\0b", Path("/dev/zero")):
        with pytest.raises(targets.PlanMissing) as caught:
            read_plan(path)
        assert caught.value.exit_code is ExitCode.PLAN_MISSING
        assert caught.value.why


def test_control_characters_in_names_are_data_and_never_printed_raw() -> None:
    error = refusal('schema = 1\n"\\u001b[31m" = 1\n' + VARIANT + WORKLOAD)
    assert "\x1b" not in str(error) + error.hint
    assert parse('schema = 1\ntitle = "[bold]\\u001b[31m"\n' + VARIANT + WORKLOAD).title == "[bold]\x1b[31m"


@given(st.text(max_size=60))
def test_any_text_ends_with_one_of_the_readers_errors(text: str) -> None:
    with pytest.raises(FsconsoleError):
        parse_plan(text, "plan.toml")


def test_huge_numbers_end_with_the_plans_errors_in_printable_words() -> None:
    top = ("scale", "same", "repeats", "seed", "schema", "title", "order", "equalise")
    load = ("threads", "file_size", "data", "directories", "duration", "weights", "files", "block")
    for number in ("9" * 309, "9" * 4300, "-" + "1" * 4301, "0x" + "f" * 257, "0x" + "1" * 5000):
        texts = [f"{key} = {number}\n{SMALLEST.removeprefix('schema = 1')}" for key in top]
        texts += [f'{SMALLEST}[[workload]]\nkind = "create"\n{key} = {number}\n' for key in load]
        for text in texts:
            assert str(refusal(text)).isprintable(), text[:20]
    for digits, why in [(309, "is too large"), (4300, "is too large"), (4301, "too many digits")]:
        assert why in str(refusal("scale = " + "9" * digits + "\n" + SMALLEST))


def test_a_size_too_large_for_a_float_is_no_size() -> None:
    for size in ("9" * 309, "9" * 400 + "K", "1" * 290 + "GiB"):
        with pytest.raises(targets.BadQuantity):
            parse_bytes(size)
        assert not judge(size, "/var/tmp", None)[0]


def test_a_list_of_block_sizes_is_an_axis_of_cells() -> None:
    """As a list of threads is; a load of 64 KiB keeps its default."""
    text = (
        'schema = 1\n[[variant]]\ntype = "ext4"\n'
        '[[workload]]\nkind = "create"\nfiles = 2\nfile_size = "1MiB"\nthreads = [1, 2]\nblock_size = ["4KiB", "64KiB"]\n'
        '[[workload]]\nkind = "read"\n'
    )
    plan = parse_plan(text, "plan.toml")
    choices = workload_choices(plan)
    assert [(one.threads, one.block_size_bytes) for one, _ in choices] == [
        (1, 4 * KIB), (1, 64 * KIB), (2, 4 * KIB), (2, 64 * KIB),
    ]  # fmt: skip
    assert {other.block_size_bytes for _, other in choices} == {64 * KIB}
    assert all(not load.block_sizes for choice in choices for load in choice)


@pytest.mark.parametrize("table", ["variant", "filesystem", "workload"])
def test_a_key_of_the_whole_plan_in_another_table_is_told_where_it_belongs(table: str) -> None:
    lines = {
        "variant": "type = 'ext4'",
        "filesystem": "type = 'ext4'",
        "workload": "kind = 'create'\nfile_size = '1MiB'",
    }
    for key, hint in (
        ("settings = { read_ahead = '4MiB' }", "[settings] is a table"),
        ("repeats = 3", "above the first"),
    ):
        text = "schema = 1\n" + "".join(
            f"[[{name}]]\n{own}\n{key if name == table else ''}\n" for name, own in lines.items()
        )
        with pytest.raises(targets.PlanUnknownKey) as caught:
            parse_plan(text, "plan.toml")
        assert hint in caught.value.hint
