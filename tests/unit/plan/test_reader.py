"""A plan file is read whole or refused with its file, its key and what is valid there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.targets import (
    OptionRefused,
    PlanBadValue,
    PlanMissing,
    PlanNotToml,
    PlanUnknownKey,
    UnknownFilesystem,
)
from fsconsole.model.plan import After, DeleteWith, Equalise, Order
from fsconsole.model.workload import DataKind, Directories, Layout, WorkloadKind
from fsconsole.plan.planfile import AUTO_REPEATS, ArrayAxis, Scale, ScaleKind
from fsconsole.plan.read import parse_plan, read_plan
from fsconsole.text import GIB, KIB, MIB
from tests.unit.plan.examples import DESIGN, SMALLEST, VARIANT, WORKLOAD, parse


def refusal(text: str) -> FsconsoleError:
    with pytest.raises(FsconsoleError) as caught:
        parse(text)
    return caught.value


def then(*lines: str) -> str:
    """Return a plan with a workload after a create of 4 files of 1 MiB."""
    return SMALLEST + "[[workload]]\n" + "\n".join(lines)


def with_workload(*lines: str) -> str:
    return "schema = 1\n" + VARIANT + '[[workload]]\nkind = "create"\n' + "\n".join(lines)


def test_every_key_of_the_design_is_read() -> None:
    plan = parse(DESIGN)
    assert plan.title == "ext4 against xfs: many large files"
    assert plan.repeats == AUTO_REPEATS
    assert (plan.order, plan.seed, plan.equalise, plan.raw) == (
        Order.SHUFFLED,
        20080520,
        Equalise.DISCARD,
        True,
    )
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
    assert (plan.repeats, plan.order, plan.equalise, plan.raw) == (1, Order.SHUFFLED, Equalise.DISCARD, False)
    assert plan.scale == Scale(ScaleKind.NONE)
    (workload,) = plan.workloads
    assert (workload.block_size_bytes, workload.data) == (64 * KIB, DataKind.RANDOM)
    assert workload.directories == Directories(Layout.ONE)
    assert plan.after == After()


def test_true_and_false_are_on_and_off() -> None:
    text = "schema = 1\n[[filesystem]]\ntype = 'ext4'\nmount = { delalloc = [true, false] }\n" + WORKLOAD
    assert parse(text).checklists[0].mount == (("delalloc", ("on", "off")),)


def test_an_options_old_name_is_read_as_its_new_one() -> None:
    text = "schema = 1\n[[filesystem]]\ntype = 'ext4'\nmkfs = { uninit_groups = 'on' }\n" + WORKLOAD
    assert parse(text).checklists[0].mkfs == (("uninit_bg", ("on",)),)


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("schem = 1\n" + VARIANT + WORKLOAD, "schem", "schema"),
        (SMALLEST + "[after]\nchekc = true", "after.chekc", "check"),
        (with_workload('file_size = "1MiB"', "thread = 2"), "workload[0].thread", "threads"),
        (
            "schema = 1\n[[variant]]\ntype = 'xfs'\nmkfs_words = ''\n" + WORKLOAD,
            "variant[0].mkfs_words",
            "mkfs",
        ),
        (
            "schema = 1\n[[filesystem]]\ntype = 'ext4'\nmount = { date = ['ordered'] }\n" + WORKLOAD,
            "filesystem[0].mount.date",
            "data",
        ),
        (
            "schema = 1\n[[filesystem]]\ntype = 'ext4'\nmkfs = { data = ['ordered'] }\n" + WORKLOAD,
            "filesystem[0].mkfs.data",
            "",
        ),
        (
            "schema = 1\n[[filesystem]]\ntype = 'ext4'\nexclude = [{ flexbg = 'on' }]\n" + WORKLOAD,
            "filesystem[0].exclude[0].flexbg",
            "flex_bg",
        ),
        (SMALLEST + "[settings]\nreadahead = '2MiB'", "settings.readahead", "read_ahead"),
    ],
)
def test_an_unknown_key_is_named_with_its_place_and_the_nearest_valid_one(
    text: str, key: str, nearest: str
) -> None:
    error = refusal(text)
    assert isinstance(error, PlanUnknownKey)
    assert error.key == key
    assert error.nearest.startswith(nearest)
    assert error.exit_code is ExitCode.PLAN_UNKNOWN_KEY
    assert str(error).startswith("plan.toml: ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("schema = 2\n" + VARIANT + WORKLOAD, "schema"),
        (VARIANT + WORKLOAD, "schema"),
        ("schema = 1\n" + WORKLOAD, "filesystem"),
        ("schema = 1\n" + VARIANT, "workload"),
        ("schema = 1\nrepeats = 0\n" + VARIANT + WORKLOAD, "repeats"),
        ("schema = 1\nrepeats = true\n" + VARIANT + WORKLOAD, "repeats"),
        ("schema = 1\nrepeats = 'many'\n" + VARIANT + WORKLOAD, "repeats"),
        ("schema = 1\norder = 'random'\n" + VARIANT + WORKLOAD, "order"),
        ("schema = 1\nseed = -1\n" + VARIANT + WORKLOAD, "seed"),
        ("schema = 1\nscale = 0\n" + VARIANT + WORKLOAD, "scale"),
        ("schema = 1\nscale = nan\n" + VARIANT + WORKLOAD, "scale"),
        ("schema = 1\nscale = 1.5\n" + VARIANT + WORKLOAD, "scale"),
        ("schema = 1\nscale = 'factor'\n" + VARIANT + WORKLOAD, "scale"),
        ("schema = 1\nraw = 'yes'\n" + VARIANT + WORKLOAD, "raw"),
        ("schema = 1\nvariant = 'ext4'\n" + WORKLOAD, "variant"),
        ("schema = 1\nvariant = ['ext4']\n" + WORKLOAD, "variant"),
        (with_workload('file_size = "1MiB"', "threads = 0"), "workload[0].threads"),
        (with_workload('file_size = "1MiB"', "threads = [4, 0]"), "workload[0].threads"),
        (with_workload('file_size = "1MiB"', "threads = []"), "workload[0].threads"),
        (with_workload('file_size = "1MiB"', "threads = 5000"), "workload[0].threads"),
        (with_workload('file_size = "1MiB"', "threads = 1.5"), "workload[0].threads"),
        (with_workload('file_size = "1MiB"', "files = 20000000"), "workload[0].files"),
        (with_workload('file_size = "1MiB"', "files = 2", "threads = 4"), "workload[0].files"),
        (with_workload('file_size = "1MiB"', 'block_size = "2MiB"'), "workload[0].block_size"),
        (with_workload('file_size = "4KiB"'), "workload[0].file_size"),
        (with_workload('file_size = "1MiB"', "block_size = 0"), "workload[0].block_size"),
        (with_workload("threads = 2"), "workload[0].file_size"),
        (with_workload('file_size = "big"'), "workload[0].file_size"),
        (with_workload('file_size = "1.0001B"'), "workload[0].file_size"),
        (with_workload(f'file_size = "{"9" * 400}"'), "workload[0].file_size"),
        (with_workload(f"file_size = {'9' * 400}"), "workload[0].file_size"),
        (with_workload('file_size = "100TiB"'), "workload[0].file_size"),
        (with_workload("file_size = 2026-11-21"), "workload[0].file_size"),
        (with_workload('file_size = "1MiB"', 'directories = "many"'), "workload[0].directories"),
        (with_workload('file_size = "1MiB"', "directories = 0"), "workload[0].directories"),
        (with_workload('file_size = "1MiB"', 'name = " "'), "workload[0].name"),
        (with_workload('file_size = "1MiB"', "with = { read_ahead = ['1MiB', '2MiB'] }"), "workload[0].with.read_ahead"),
        ("schema = 1\n" + VARIANT + "[[workload]]\nfile_size = 65536\n", "workload[0].kind"),
        ("schema = 1\n" + VARIANT + "[[workload]]\nkind = 'write'\n", "workload[0].kind"),
        (with_workload("file_size = ['1MiB']"), "workload[0].file_size"),
        (with_workload("file_size = ['2MiB', '1MiB']"), "workload[0].file_size"),
        (with_workload("file_size = ['1MiB', '2MiB', '3MiB']"), "workload[0].file_size"),
        (with_workload("file_size = ['4KiB', '32KiB']"), "workload[0].file_size"),
        (with_workload('file_size = "1MiB"', "data = 0"), "workload[0].data"),
        (with_workload('file_size = "1MiB"', "data = 1.5"), "workload[0].data"),
        (with_workload('file_size = "1MiB"', "data = 'compressible'"), "workload[0].data"),
        (with_workload('file_size = "1MiB"', "data = 'randm'"), "workload[0].data"),
        (with_workload('file_size = "1MiB"', "duration = 60"), "workload[0].duration"),
        (with_workload('file_size = "1MiB"', "duration = '0s'"), "workload[0].duration"),
        (with_workload('file_size = "1MiB"', "duration = '1y'"), "workload[0].duration"),
        (with_workload('file_size = "1MiB"', "duration = '99999h'"), "workload[0].duration"),
        (with_workload('file_size = "1MiB"', "end = 'at-once'"), "workload[0].end"),
        (with_workload('file_size = "1MiB"', "bytes = 0"), "workload[0].bytes"),
        (with_workload('file_size = "1MiB"', "fsync_every = -1"), "workload[0].fsync_every"),
        (with_workload('file_size = "1MiB"', "weights = { read = 1 }"), "workload[0].weights"),
        (with_workload('file_size = "1MiB"', "of = 'create'"), "workload[0].of"),
        (with_workload('file_size = "1MiB"', "direct = true", "block_size = 1000"), "workload[0].block_size"),
        (with_workload('file_size = "1000000"', "direct = true"), "workload[0].file_size"),
        (with_workload('file_size = "1MiB"', "direct = 'yes'"), "workload[0].direct"),
        (with_workload('file_size = "1GiB"', "block_size = '1GiB'", "threads = 64"), "workload[0].block_size"),
        (with_workload('file_size = "1MiB"', "directories = 10", "duration = '1s'"), "workload[0].directories"),
        (with_workload('file_size = "1MiB"', "directories = 1", "files = 2000000"), "workload[0].directories"),
        (then("kind = 'mix'"), "workload[1].weights"),
        (then("kind = 'mix'", "weights = { read = 1 }"), "workload[1].duration"),
        (then("kind = 'mix'", "weights = { fio = 1 }", "files = 9"), "workload[1].weights.fio"),
        (then("kind = 'mix'", "weights = { read = 0 }", "files = 9"), "workload[1].weights.read"),
        (then("kind = 'mix'", "weights = { create = 1 }", "files = 9"), "workload[1].file_size"),
        (then("kind = 'mix'", "weights = { read = 1 }", "files = 9", "directories = 5"), "workload[1].directories"),
        (then("kind = 'stat'", "bytes = '1GiB'"), "workload[1].bytes"),
        (then("kind = 'delete'", "direct = true"), "workload[1].direct"),
        (then("kind = 'read'", "fsync_every = 5"), "workload[1].fsync_every"),
        (then("kind = 'random-read'", "block_size = '2MiB'"), "workload[1].block_size"),
        (then("kind = 'append'"), "workload[1].file_size"),
        (then("kind = 'read'", "of = 'largefiles'"), "workload[1].of"),
        (then("kind = 'delete'", "[[workload]]", "kind = 'stat'"), "workload[2].kind"),
        (then("kind = 'delete'", "[[workload]]", "kind = 'append'", "file_size = '1MiB'"), "workload[2].kind"),
        (
            then("kind = 'mix'", "weights = { stat = 1, delete = 1 }", "files = 9", "[[workload]]", "kind = 'read'"),
            "workload[2].kind",
        ),
        *(
            ("schema = 1\n" + VARIANT + f"[[workload]]\nkind = '{kind}'\nfile_size = '1MiB'\n", "workload[0].kind")
            for kind in ("read", "random-read", "random-write", "append", "stat", "delete")
        ),
        ("schema = 1\n[[filesystem]]\ntype = 'ext4'\nmount = { data = [] }\n" + WORKLOAD, "filesystem[0].mount.data"),
        ("schema = 1\n[[filesystem]]\ntype = 'ext4'\nexclude = [{}]\n" + WORKLOAD, "filesystem[0].exclude[0]"),
        (SMALLEST + "[settings]\nscheduler = '../x'", "settings.scheduler"),
        (SMALLEST + "[settings]\ndirty_ratio = 101", "settings.dirty_ratio"),
        (SMALLEST + "[[array]]\nlevel = 'raid7'\nchunk = '64KiB'", "array[0].level"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_with_its_key(text: str, key: str) -> None:
    error = refusal(text)
    assert isinstance(error, PlanBadValue)
    assert error.key == key
    assert error.exit_code is ExitCode.PLAN_BAD_VALUE
    assert error.wanted


def test_an_unknown_filesystem_is_named_with_the_nearest_known() -> None:
    error = refusal("schema = 1\n[[variant]]\ntype = 'ext44'\n" + WORKLOAD)
    assert isinstance(error, UnknownFilesystem)
    assert error.key == "variant[0].type"
    assert error.nearest.startswith("ext4")


@pytest.mark.parametrize(
    ("table", "key", "word"),
    [
        ("[[variant]]\ntype = 'btrfs'\nmkfs = '-d single /dev/sdb'", "variant[0].mkfs", "/dev/sdb"),
        ("[[variant]]\ntype = 'ext4'\nmount = 'noatime,suid'", "variant[0].mount", "suid"),
        ("[[variant]]\ntype = 'ext4'\nmount = 'journal_async_commit'", "variant[0].mount", "journal_async_commit"),
        ("[[filesystem]]\ntype = 'ext4'\nmount = { data = ['orderd'] }", "filesystem[0].mount.data", "orderd"),
        ("[[filesystem]]\ntype = 'ext4'\nmkfs = { stride = ['/dev/sdb'] }", "filesystem[0].mkfs.stride", "/dev/sdb"),
    ],
)  # fmt: skip
def test_a_refused_word_is_named_with_its_key(table: str, key: str, word: str) -> None:
    error = refusal("schema = 1\n" + table + WORKLOAD)
    assert isinstance(error, OptionRefused)
    assert (error.key, error.word) == (key, word)
    assert error.exit_code is ExitCode.OPTION_REFUSED


def test_a_syntax_error_says_line_and_column() -> None:
    error = refusal('schema = 1\ntitle = "unfinished\n')
    assert isinstance(error, PlanNotToml)
    assert "line 2, column" in str(error)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = 1\na = 2", "\x00", "a = \ud7ff", "[[a]]\n[a]"])
def test_text_that_is_no_toml_is_an_error_of_its_own(text: str) -> None:
    assert isinstance(refusal(text), PlanNotToml)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (MIB + 1))
    for path in (tmp_path / "absent.toml", tmp_path, fifo, large, tmp_path / "a\0b", Path("/dev/zero")):
        with pytest.raises(PlanMissing) as caught:
            read_plan(path)
        assert caught.value.exit_code is ExitCode.PLAN_MISSING
        assert caught.value.why


def test_a_file_that_is_not_text_is_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"schema = 1\n\xff\xfe")
    with pytest.raises(PlanNotToml, match="line 2"):
        read_plan(path)


def test_control_characters_in_names_are_data_and_never_printed_raw() -> None:
    error = refusal('schema = 1\n"\\u001b[31m" = 1\n' + VARIANT + WORKLOAD)
    assert "\x1b" not in str(error) + error.hint
    assert parse('schema = 1\ntitle = "[bold]\\u001b[31m"\n' + VARIANT + WORKLOAD).title == "[bold]\x1b[31m"


KEYS = st.sampled_from(
    [
        "schema", "title", "repeats", "order", "seed", "scale", "equalise", "raw", "settings", "array", "filesystem",
        "variant", "workload", "after", "type", "mkfs", "mount", "tune", "exclude", "label", "kind", "threads", "files",
        "file_size", "block_size", "directories", "cold", "with", "check", "delete", "level", "chunk", "data", "x y",
    ]
)  # fmt: skip
SCALARS = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**60, max_value=2**80),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["ext4", "xfs", "create", "64KiB", "1GiB", "fit", "auto", "-O ^flex_bg", "noatime", "on", "/dev/sdb"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {as_toml(item)}' for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
    return str(value)


def assert_a_plan_or_a_clear_error(text: str) -> None:
    said = ""
    try:
        parse_plan(text, "plan.toml")
    except FsconsoleError as error:
        said = str(error) + error.hint
    assert said == "" or said.isprintable()


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_whatever_toml_says_the_reader_ends_with_a_plan_or_one_of_its_errors(
    document: dict[str, object],
) -> None:
    text = "\n".join(f'"{key}" = {as_toml(value)}' for key, value in {"schema": 1, **document}.items())
    assert_a_plan_or_a_clear_error(text)


@given(
    st.dictionaries(KEYS, VALUES, max_size=5), st.sampled_from(["filesystem", "variant", "workload", "array"])
)
def test_whatever_a_table_says_the_reader_ends_with_a_plan_or_one_of_its_errors(
    table: dict[str, object], name: str
) -> None:
    lines = "\n".join(f'"{key}" = {as_toml(value)}' for key, value in table.items())
    assert_a_plan_or_a_clear_error(f"{SMALLEST}\n[[{name}]]\n{lines}")


@given(st.text(max_size=60))
def test_any_text_ends_with_one_of_the_readers_errors(text: str) -> None:
    with pytest.raises(FsconsoleError):
        parse_plan(text, "plan.toml")
