"""Every key of a plan file, declared once.

Reader, writer, the console's forms and README's tables are loops over these declarations, so a new key is one
declaration and the field that carries its value. Checks that concern several keys are in read.py and read_workload.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from fsconsole import units
from fsconsole.catalog.tables import LONGEST_TEXT, Table, nearest_words, shown
from fsconsole.errors.runs import UnknownColumn
from fsconsole.errors.targets import BadQuantity
from fsconsole.model.metrics import Metric, column_named
from fsconsole.model.plan import DeleteWith, Equalise, Keep, Order
from fsconsole.model.verdicts import DEFAULT_SAME
from fsconsole.model.workload import (
    AS_CREATE,
    OPERATIONS,
    DataKind,
    Directories,
    End,
    Layout,
    SyncAt,
    SyncCall,
    WorkloadKind,
)
from fsconsole.plan.arrays import BITMAPS, LEVELS, MAX_MEMBERS, PARITY, POLICIES, REDUNDANT
from fsconsole.plan.planfile import (
    AUTO_REPEATS,
    DEFAULT_BLOCK_SIZE_BYTES,
    DEFAULT_LOAD_TIME_S,
    DEFAULT_REPEATS,
    DEFAULT_SEED,
    SCHEMA,
    Scale,
    ScaleKind,
)
from fsconsole.plan.requirements import read_requirements, requirements_toml, typed_requirements
from fsconsole.text import GIB, KIB, TIB

# Bounds: wide enough for any real plan, narrow enough to catch a slip.

MAX_THREADS = 4096
MAX_FILES = 10_000_000
MAX_FILE_SIZE_BYTES = 64 * TIB
MAX_WEIGHT = 1_000_000
MAX_REPEATS = 1000
MAX_SEED = 2**63 - 1
MAX_NAME_CHARACTERS = 200
MIN_DURATION_S, MAX_DURATION_S = 0.01, 30 * 86400.0
_PAGE_BYTES = 4 * KIB
"""The least page of any machine; where pages are larger the kernel rounds down, and the run says so."""


def number_of(text: str) -> object:
    """Return text as the number that it is, whole or not; else the text, for the reader to refuse."""
    word = text.strip()
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: how it is named in the README, read from TOML, written to it, and typed in a form."""

    words: str
    one: Callable[[Table, str, object], Any]
    """Takes a value that was found at a key of a table. Raises PlanBadValue."""
    plain: Callable[[Any], object] = _same
    """Gives the value as a plan file has it."""
    of_text: Callable[[str], object] = _same
    """Gives typed text as a plan file has it; what is no such value stays text, for the reader to refuse."""
    choices: tuple[str, ...] = ()
    is_axis: bool = False
    """One value or a list of them, none twice; each makes cells of its own."""

    @property
    def is_typed(self) -> bool:
        """Whether there are values beside its choices."""
        return not self.choices or self.of_text is number_of

    def read(self, table: Table, name: str) -> Any:
        """Return the value at a key. Raises PlanBadValue, PlanUnknownKey."""
        if not self.is_axis:
            return self.one(table, name, table.raw(name))
        return tuple(dict.fromkeys(self.one(table, name, item) for item in table.one_or_more(name)))

    def toml(self, value: Any) -> object:
        """Return the value as a plan file has it."""
        return [self.plain(item) for item in value] if self.is_axis else self.plain(value)

    def typed(self, text: str) -> object:
        """Return typed text as a plan file has it."""
        return [self.of_text(word.strip()) for word in text.split(",")] if self.is_axis else self.of_text(text)


_Made = Callable[[Any], Any]


def _several(kind: Kind) -> Kind:
    return replace(kind, words=f"{kind.words}; or a list", is_axis=True)


def _text(most: int = LONGEST_TEXT, *, may_be_blank: bool = True) -> Kind:
    def one(table: Table, name: str, value: object) -> str:
        text = table.as_text(name, value, most)
        if not may_be_blank and not text.strip():
            raise table.bad(name, "must not be blank", f"1 to {most} characters")
        return text

    return Kind("text", one)


def _number(low: int, high: int) -> Kind:
    words = f"{low:,} to {high:,}" if high < 2**40 else f"number from {low:,}"
    words = str(low) if low == high else words
    return Kind(words, lambda table, name, value: table.as_integer(name, value, low, high), of_text=number_of)


def _size(low: int, high: int) -> Kind:
    words = f"size, {units.format_bytes_exact(low)} to {units.format_bytes_exact(high)}"
    return Kind(words, lambda table, name, value: table.as_size(name, value, low, high), units.format_bytes_exact)


def _kept_as_text(kind: Kind, step: int = 1) -> Kind:
    """Return numbers or sizes of settings: kept as text, in multiples of step; numbers may be quoted."""

    def one(table: Table, name: str, value: object) -> str:
        if kind.of_text is number_of and isinstance(value, str):
            value = number_of(value)
        found = kind.one(table, name, value)
        if found % step:
            whole = f"a multiple of {units.format_bytes_exact(step)}"
            raise table.bad(name, "the kernel counts it in pages", whole)
        return str(kind.plain(found))

    return Kind(kind.words, one)


def _chunk(table: Table, name: str, value: object) -> int:
    size = table.as_size(name, value, 4 * KIB, GIB)
    if size & (size - 1):
        raise table.bad(name, "must be a power of two", "a size such as 64KiB, 128KiB or 512KiB")
    return size


def _file_size(table: Table, name: str, value: object) -> tuple[int, int]:
    """Return the ends of a range; the second is 0 where one size is given."""
    items = table.one_or_more(name)
    sizes = [table.as_size(name, item, 1, MAX_FILE_SIZE_BYTES) for item in items]
    if not isinstance(value, list):
        return sizes[0], 0
    if len(sizes) != 2 or sizes[0] >= sizes[1]:
        raise table.bad(name, "not a valid range", 'a size, or a range such as ["4KiB", "64KiB"]')
    return sizes[0], sizes[1]


def _range_toml(ends: tuple[int, int]) -> object:
    smallest, largest = map(units.format_bytes_exact, ends)
    return [smallest, largest] if ends[1] else smallest


def _sizes_typed(text: str) -> object:
    words = [word.strip() for word in text.split(",")]
    return words if len(words) > 1 else words[0]


def _duration(table: Table, name: str, value: object) -> float:
    wanted = 'a time such as "60s" or "10min", of at least 10 ms and at most 30 days'
    text = table.as_text(name, value, wanted=wanted)
    try:
        seconds = units.parse_seconds(text)
    except BadQuantity as error:
        raise table.bad(name, f"must be {error.wanted}", wanted) from error
    if not MIN_DURATION_S <= seconds <= MAX_DURATION_S:
        raise table.bad(name, "out of bounds", wanted)
    return seconds


def _seconds_toml(seconds: float) -> str:
    return f"{str(seconds).removesuffix('.0')}s"


def _choice(
    choices: Sequence[str],
    made: _Made = _same,
    plain: _Made = _same,
    numbers: tuple[str, float, float] = ("", 0, 0),
    **refused: str,
) -> Kind:
    """Return a choice of words, or numbers: whole, or where the least is a float those above it.

    refused says why others, that md knows, are none of the words.
    """
    in_words, low, high = numbers
    or_numbers = f" or {in_words}" if in_words else ""

    def one(table: Table, name: str, value: object) -> Any:
        if in_words and not isinstance(value, str):
            if isinstance(low, int):
                return made(table.as_integer(name, value, low, int(high)))
            if low < (number := table.number(name)) <= high:
                return made(number)
            raise table.bad(name, "out of bounds", in_words)
        if value not in choices:
            said = shown(value)
            wanted = f"one of {nearest_words(said, choices)}{or_numbers}"
            raise table.bad(name, refused.get(said.strip('"'), "not a valid value"), wanted)
        return made(value)

    words = ", ".join(f'`"{word}"`' for word in choices) + or_numbers
    return Kind(words, one, plain, number_of if in_words else _same, tuple(choices))


def _member(of: type[Enum]) -> Kind:
    return _choice([str(member.value) for member in of], of, lambda member: member.value)


def _published(table: Table, name: str, _value: object) -> tuple[int, int]:
    """Return memory and device in bytes; 0 for what is not said."""
    found = table.table(name)
    found.only("memory", "device")
    sizes = [found.as_size(each, found.raw(each), 1, 2**60) if found.has(each) else 0 for each in ("memory", "device")]
    return sizes[0], sizes[1]


def _published_toml(sizes: tuple[int, int]) -> object:
    return {
        name: units.format_bytes_exact(size) for name, size in zip(("memory", "device"), sizes, strict=True) if size
    }


def _column(table: Table, name: str, value: object) -> Metric | None:
    """Return a column by its name; None for an empty one."""
    text = table.as_text(name, value, wanted="a column's name in quotes")
    try:
        return column_named(text) if text.strip() else None
    except UnknownColumn as error:
        raise table.bad(name, "there is no such column", f"one of {error.nearest}") from error


def _share(table: Table, name: str, _value: object) -> float:
    if 0 < (percent := table.number(name)) <= 100:
        return percent / 100
    raise table.bad(name, "out of bounds", "per cent above 0 and at most 100, such as 10")


def _percent_toml(share: float) -> object:
    percent = round(100 * share, 6)
    return int(percent) if percent.is_integer() else percent


_SCHEDULER = re.compile(r"[a-z][a-z0-9_-]{0,30}")


def _scheduler(table: Table, name: str, value: object) -> str:
    word = table.as_text(name, value)
    if not _SCHEDULER.fullmatch(word):
        raise table.bad(name, "not a valid name", 'a name such as "mq-deadline"')
    return word


def _weights(table: Table, name: str, _value: object) -> tuple[tuple[WorkloadKind, int], ...]:
    mix, known = table.table(name), {kind.value: kind for kind in OPERATIONS}
    for each in mix.names():
        if each not in known:
            raise mix.bad(each, "not an operation of a mix", nearest_words(each, known))
    return tuple((known[each], mix.as_integer(each, mix.raw(each), 1, MAX_WEIGHT)) for each in mix.names())


def _own_settings(table: Table, name: str, _value: object) -> tuple[tuple[str, str], ...]:
    own = table.table(name)
    pairs = read_settings(own)
    for each, values in pairs:
        if len(values) != 1:
            raise own.bad(each, "a workload's own setting takes one value", "one value")
    return tuple((each, values[0]) for each, values in pairs)


def _map_typed(text: str) -> object:
    """Return "a=1, b=2" as a table; text where a part has no equals sign."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    return (
        {name.strip(): number_of(value) for name, _, value in parts} if all(equals for _, equals, _ in parts) else text
    )


def _weights_toml(weights: tuple[tuple[WorkloadKind, int], ...]) -> object:
    return {kind.value: weight for kind, weight in weights}


def _of_catalog(words: str, plain: _Made) -> Kind:
    """Return what read.py holds against the catalog."""
    return Kind(words, lambda table, name, _: table.table(name), plain)


FLAG = Kind(
    "true, false",
    lambda table, name, value: table.as_flag(name, value),
    of_text=lambda text: {"yes": True, "no": False}.get(text, text),
    choices=("no", "yes"),
)

# The declarations.


@dataclass(frozen=True, slots=True)
class Key:
    """One key of one table."""

    name: str
    kind: Kind
    help: str
    """One sentence, for the README and the console."""
    default: Any = None
    fields: tuple[str, ...] = ()
    """The attributes that carry its value, where that isn't the one of its name."""
    is_required: bool = False
    hint: str = ""
    """What a form's field takes, in a few words."""
    offered: tuple[str, ...] = ()
    """Values that the console begins with."""
    kinds: frozenset[WorkloadKind] = frozenset(WorkloadKind)
    """Workloads whose form has it."""
    levels: tuple[str, ...] = LEVELS
    """Levels of arrays that have such a thing; the others keep their default."""
    lacks: str = ""
    """The reason for the others, after the level: "raid1 has no chunks"."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that carry its value."""
        return self.fields or (self.name,)


_MIX = frozenset({WorkloadKind.MIX})
_WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE}) | _MIX
_SIZED = frozenset({WorkloadKind.CREATE, WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE}) | _MIX
_MOVING = frozenset(OPERATIONS) - {WorkloadKind.STAT, WorkloadKind.DELETE} | _MIX

RUN = (
    Key("title", _text(MAX_NAME_CHARACTERS), "The name of the run in lists and grids.", ""),
    Key("repeats", _choice(("auto",), lambda said: AUTO_REPEATS if said == "auto" else (said, False),
                           lambda pair: "auto" if pair[1] else pair[0],
                           ("a number from 1 to 1000", 1, MAX_REPEATS)),
        "How often each combination is run, once in each round; verdicts need 3 rounds. auto: 12, and the run ends after round 5 or 8 "
        "if every verdict is decided by then.", (DEFAULT_REPEATS, False), ("repeats", "is_auto")),
    Key("primary", Kind("a column of `fsconsole results --help`", _column, lambda metric: metric.column if metric else ""),
        "The column that verdicts are on. Default, and where a block lacks it: durable, read or ops/s by the kind of load; check, "
        "durable delete or mkfs for a filesystem's life.", None, offered=tuple(metric.column for metric in Metric)),
    Key("same", Kind("per cent, above 0 and at most 100", _share, _percent_toml, number_of),
        "A difference that certainly lies within so many per cent of the baseline is called the same.", DEFAULT_SAME),
    Key("control", FLAG, "Runs the baseline twice, as two rows: any difference between them is noise of this machine.", default=False),
    Key("order", _member(Order), "Order of the cells: rounds, each with every cell once, shuffled by `seed` so that drift favours "
        "no variant; shuffled over all rounds; or as listed. Only with rounds a disturbed round is repeated.", Order.ROUNDS),
    Key("seed", _number(0, MAX_SEED), "Same seed: same order, sizes and draws.", DEFAULT_SEED),
    Key("scale", _choice(("none", "fit"),
                         lambda said: Scale(ScaleKind(said)) if isinstance(said, str) else Scale(ScaleKind.FACTOR, said),
                         lambda scale: scale.factor if scale.kind is ScaleKind.FACTOR else scale.kind.value,
                         ("a factor above 0 and at most 1", 0.0, 1.0)),
        "File sizes: as written; fit: reduced so that they take at most 60 % of the smallest device; or multiplied by a factor.",
        Scale()),
    Key("keep", _member(Keep), "Left as written by `scale`: threads (files get smaller, in whole blocks); file-size (fewer threads); files (smaller "
        "files, below a block too); fill (fewer files, same share of the device); data-to-ram (same ratio of data to memory). A cell that can't is unavailable.",
        Keep.THREADS),
    Key("published", Kind('`{ memory = "2GiB" }` or `{ device = "10TB" }`', _published, _published_toml, _map_typed),
        "Machine that the sizes were printed for: what `keep` = data-to-ram and fill are relative to.", (0, 0),
        ("published_memory_bytes", "published_device_bytes")),
    Key("equalise", _member(Equalise), "Preparation of each device before each cell, so that no cell gets a fresher device: discard; zero; "
        "precondition (fill it with random data, twice); none.", Equalise.DISCARD),
    Key("load_time", Kind('time such as `"10s"`', _duration, _seconds_toml), "Least time of each load with `size = \"auto\"`, drain "
        "included, on the first variant. A pilot of about a second sizes it before the first cell, for all variants.",
        DEFAULT_LOAD_TIME_S, ("load_time_s",)),
    Key("raw", FLAG, "Adds a row without a filesystem: the speed of the device itself.", default=False),
)  # fmt: skip
"""At the top of a plan file, beside schema and the tables."""

AFTER = (
    Key("check", FLAG, "Forces a full check of the unmounted filesystem at the end of each cell.", default=True),
    Key("extents", FLAG, "Counts the extents of all files. Without it the filesystem is not mounted again before the unmount.", default=True),
    Key("crash", FLAG, "Crash test: shuts the filesystem down in the middle of an extra load, times the recovery and counts lost files.", default=False),
    Key("delete", _member(DeleteWith), "How the files are removed, which is timed.", DeleteWith.RM),
)  # fmt: skip

_AXES = _of_catalog("table of options", lambda axes: {name: list(values) for name, values in axes})
FILESYSTEM = (
    Key("type", _text(), "A filesystem of `fsconsole catalog`.", is_required=True, fields=("filesystem",)),
    Key("mkfs", _AXES, "mkfs options by the names of `fsconsole catalog TYPE`; lists are multiplied out.", ()),
    Key("mount", _AXES, "Mount options, likewise.", ()),
    Key(
        "exclude",
        _of_catalog("list of tables", lambda some: [dict(each) for each in some]),
        'Combinations to leave out: `[{ flex_bg = "off", flex_bg_size = 64 }]`.',
        (),
    ),
)

VARIANT = (
    Key("type", _text(), "A filesystem of `fsconsole catalog`.", is_required=True, fields=("filesystem",),
        hint="filesystem: {names}"),
    Key("mkfs", _text(), "Words as mkfs takes them.", "", hint="as mkfs takes them: -b 4096 -O ^flex_bg (no device)"),
    Key("mount", _text(), "Words as mount -o takes them.", "", hint="as mount -o takes them: noatime,nodelalloc"),
    Key("tune", _text(), "Words as tune2fs takes them; ext filesystems only.", "",
        hint="as tune2fs takes them, between mkfs and mount; ext filesystems only"),
    Key("label", _text(MAX_NAME_CHARACTERS), "Its name in lists and grids; by default made from what differs.", "",
        hint="its name in lists and grids; empty: made from what differs"),
    Key("as_printed", _text(MAX_NAME_CHARACTERS), "The words of a publication that these stand for.", "",
        hint="the words of a publication that these stand for; empty: none"),
)  # fmt: skip

_SYNCS = {"never": (SyncAt.WRITES, 0), **{at.value: (at, 0) for at in (SyncAt.EACH_FILE, SyncAt.END)}}

WORKLOAD = (
    Key("kind", _member(WorkloadKind), "Operation on each file; fio, bonnie, ffsb and command are not run by this version.",
        is_required=True),
    Key("name", _text(MAX_NAME_CHARACTERS, may_be_blank=False), "Its name in the grid, and that of its directory; by default the kind.", "",
        hint="in the grid"),
    Key("of", _text(), "The create whose files it uses; by default the nearest before it.", "",
        hint="the create whose files it uses", kinds=frozenset(WorkloadKind) - {WorkloadKind.CREATE}),
    Key("threads", _several(_choice(("as-create",), lambda said: AS_CREATE[0] if isinstance(said, str) else said,
                                    lambda count: count or "as-create", ("a number from 1 to 4096", 1, MAX_THREADS))),
        "A list is an axis: a cell for each number. as-create: as many as the create whose files it uses.", (1,), ("thread_counts",),
        hint="a number; 1, 16: both are compared"),
    Key("size", _choice(("auto",)), "auto: a pilot of about a second chooses the file size; with `file_size` the number of files; for a mix the number of operations; "
        "for random calls the bytes; so that the load lasts `load_time`. Default without `file_size`, `files`, `bytes` and `duration`.",
        "", hint="auto, or empty: as below", kinds=_SIZED),
    Key("files", _number(1, MAX_FILES), "Operations in all. By default a create makes one file for each thread, others use each file once; with "
        "`bytes` or `duration` they go on until that limit.", 0, hint="in all; empty: default"),
    Key("file_size", Kind('size, or range `["4KiB", "64KiB"]`', _file_size, _range_toml, _sizes_typed), "Of new files (drawn evenly from a range, the same for the same `seed`), or the "
        "bytes to append to each; required for an append, for a create with `bytes` or `duration`, and for a mix that has them. Others move so many bytes in each file, by default all.",
        (0, 0), ("file_size_bytes", "file_size_max_bytes"), hint="1GiB, or a range: 4KiB, 64KiB", kinds=_MOVING),
    Key("total_size", _size(1, MAX_FILE_SIZE_BYTES), "Instead of `file_size`: what all files of a create hold together, whatever the "
        "number of threads; each gets an equal share, in whole blocks.", 0, ("total_size_bytes",), hint="of all files together: 4GiB",
        kinds=frozenset({WorkloadKind.CREATE})),
    Key("block_size", _several(_size(1, GIB)), "Of each call; offsets of random calls are multiples of it. A list is an axis: a cell for each.",
        (DEFAULT_BLOCK_SIZE_BYTES,), ("block_sizes",), hint="of each call: 64KiB; 4KiB, 64KiB: both are compared", kinds=_MOVING),
    Key("directories", _choice(("one", "per-thread"),
                               lambda said: Directories(Layout(said)) if isinstance(said, str) else Directories(Layout.PER_COUNT, said),
                               lambda made: made.files_per_directory if made.layout is Layout.PER_COUNT else made.layout.value,
                               ("a number of files per directory", 1, MAX_FILES)),
        "All files in one directory, one directory for each thread, or so many files in each.", Directories(),
        hint="one, per-thread, or files in each", kinds=frozenset({WorkloadKind.CREATE}) | _MIX),
    Key("data", _choice(("random", "zero"),
                        lambda said: (DataKind(said), 0.0) if isinstance(said, str) else (DataKind.COMPRESSIBLE, said),
                        lambda pair: pair[1] or pair[0].value,
                        ("a share of zeros between 0 and 1, such as 0.5", 0.0, math.nextafter(1, 0))),
        "Content of writes; 0.5: half of every block is zeros, in parts of up to 512 bytes, the rest random.", (DataKind.RANDOM, 0.0), ("data", "zero_share"),
        hint="random, zero, or share of zeros: 0.5", kinds=_WRITING),
    Key("direct", FLAG, "Opens with O_DIRECT; blocks and sizes must be multiples of 512 bytes, or of the device's own blocks.", default=False,
        hint="yes or no: O_DIRECT", kinds=_MOVING),
    Key("ftruncate", FLAG, "Sets the size of each new file by ftruncate before its first write, as tiobench does.", default=False,
        hint="yes or no: size set before the first write", kinds=frozenset({WorkloadKind.CREATE}) | _MIX),
    Key("fsync", _choice(("never", "each-file", "end"),
                         lambda said: _SYNCS.get(said, (SyncAt.WRITES, said)),
                         lambda pair: pair[1] or ("never" if pair[0] is SyncAt.WRITES else pair[0].value),
                         ("a number of writes", 1, 2**40)),
        "When files are synced: each before its close; all files of a thread at its end; or, after that many writes of a thread, the "
        "file just written.",
        (SyncAt.WRITES, 0), ("sync_at", "fsync_every"), hint="each-file, end, or writes: 4", kinds=_WRITING),
    Key("sync_call", _member(SyncCall), "System call of these syncs.", SyncCall.FSYNC, hint="fsync or fdatasync", kinds=_WRITING),
    Key("bytes", _size(1, MAX_FILE_SIZE_BYTES), "Limit, shared out evenly over the threads.", 0, ("limit_bytes",),
        hint="limit: 10GiB", kinds=_MOVING),
    Key("duration", Kind('time such as `"60s"`', _duration, _seconds_toml), "Limit.", 0.0, ("duration_s",), hint="limit: 60s, 10min"),
    Key("end", _member(End), "Where a limit ends a thread: after the current file, as FFSB does, which can take far longer; or after the "
        "current call.", End.BETWEEN_OPERATIONS, hint="between-operations or at-once"),
    Key("weights", Kind("`{ read = 3, create = 1 }`", _weights, _weights_toml, _map_typed), "Required for a mix: each thread draws its next operation by weight, on a file of its own share. Ends by "
        "`size`, `files`, `bytes` or `duration`.", (), hint="read=3, create=1", kinds=_MIX),
    Key("cold", FLAG, "Before it: unmount, sync, drop_caches=3, mount.", default=False, hint="yes or no: unmount and drop caches"),
    Key("require", Kind('`{ fsync_p99 = "<= 10ms", durable = ">= 800MB/s" }`', read_requirements, requirements_toml, typed_requirements),
        "Limits for columns of this workload, by name, with `<=` or `>=`: each row meets them, misses one, or is undecided (see Thresholds).",
        (), hint="fsync_p99 <= 10ms, durable >= 800MB/s"),
    Key("with", Kind('`{ read_ahead = "4MiB" }`', _own_settings, dict, _map_typed), "Settings for this workload alone.", (), ("settings",), hint="settings of its own: read_ahead=4MiB"),
)  # fmt: skip

_DIRTY = "/proc/sys/vm"
SETTINGS = (
    Key("read_ahead", _several(_kept_as_text(_size(0, GIB), _PAGE_BYTES)), "Read-ahead: queue/read_ahead_kb of the disk, or of the array; "
        "btrfs has its own value, and its cells say so.", offered=("128KiB", "2MiB")),
    Key("scheduler", _several(Kind("name", _scheduler)),
        "I/O scheduler: queue/scheduler of the disk, or of each disk below an array.", offered=("none", "mq-deadline", "bfq", "kyber")),
    # BLKDEV_MIN_RQ (include/linux/blkdev.h), BLK_MQ_MAX_DEPTH (include/linux/blk-mq.h).
    Key("nr_requests", _several(_kept_as_text(_number(4, 10240))), "queue/nr_requests, likewise: requests that may wait at a disk.",
        offered=("64", "256")),
    Key("dirty_bytes", _several(_kept_as_text(_size(2 * _PAGE_BYTES, TIB))), f"{_DIRTY}/dirty_bytes: dirty memory at which writers must wait.",
        offered=("256MiB", "1GiB")),
    Key("dirty_background_bytes", _several(_kept_as_text(_size(1, TIB))), f"{_DIRTY}/dirty_background_bytes: dirty memory at which writeback "
        "starts.", offered=("64MiB", "256MiB")),
    Key("dirty_ratio", _several(_kept_as_text(_number(1, 100))), f"{_DIRTY}/dirty_ratio: as dirty_bytes, in % of available memory.",
        offered=("20", "40")),
    Key("dirty_background_ratio", _several(_kept_as_text(_number(0, 100))), f"{_DIRTY}/dirty_background_ratio: as dirty_background_bytes, in %.",
        offered=("5", "10")),
    # raid5_set_cache_size takes no other (drivers/md/raid5.c).
    Key("stripe_cache_size", _several(_kept_as_text(_number(17, 32768))), "md/stripe_cache_size of an array of level 4, 5 or 6: pages per disk.",
        offered=("256", "4096")),
)  # fmt: skip
"""In the order in which they are written: a scheduler begins with a number of requests of its own."""

_STRIPED = ("raid0", *PARITY, "raid10")
_NO_RESYNC = "has nothing to resync"
ARRAY = (
    Key("level", _several(_choice(LEVELS)), "RAID level of the array that is made of the devices.", (), ("levels",), is_required=True, offered=LEVELS),
    Key("chunk", _several(Kind("size, a power of two from 4KiB", _chunk, units.format_bytes_exact)), "Bytes written to one member before the next; mdadm's default is 512KiB.",
        (), ("chunks_bytes",), offered=("64KiB", "512KiB"), levels=_STRIPED, lacks="has no chunks"),
    Key("members", _several(_number(2, MAX_MEMBERS)), "How many of the devices become members, the first ones; by default all.", (),
        offered=("3", "4")),
    Key("stripe_cache_size", _several(_number(17, 32768)), "Pages per member that md keeps of stripes; the kernel's default is 256.", (),
        ("stripe_cache_sizes",), offered=("256", "4096"), levels=PARITY, lacks="has no stripe cache"),
    # raid5_store_group_thread_cnt takes no more (drivers/md/raid5.c).
    Key("group_thread_count", _several(_number(0, 8192)), "Threads that handle stripes beside the array's own; the kernel's default is 0.", (),
        ("group_thread_counts",), offered=("0", "2"), levels=PARITY, lacks="has no threads for stripes"),
    Key("bitmap", _several(_choice(BITMAPS)), "Write-intent bitmap, which limits the resync after a crash: none, or on the members.", (),
        ("bitmaps",), offered=BITMAPS, levels=REDUNDANT, lacks=_NO_RESYNC),
    Key("consistency_policy", _several(_choice(POLICIES, journal="a journal lies on a device of its own, and a plan names no devices")),
        "How members agree after a crash: a full resync, the bitmap, or a partial parity log (raid5).", (), ("consistency_policies",),
        offered=POLICIES, levels=REDUNDANT, lacks=_NO_RESYNC),
    Key("assume_clean", FLAG, "No resync at the start: quicker to make, and labelled on every figure.", default=False, offered=("yes",),
        levels=REDUNDANT, lacks=_NO_RESYNC),
)  # fmt: skip
"""man 8 mdadm; Documentation/admin-guide/md.rst."""

TABLES = {
    "settings": SETTINGS,
    "array": ARRAY,
    "filesystem": FILESYSTEM,
    "variant": VARIANT,
    "workload": WORKLOAD,
    "after": AFTER,
}
"""Of each table of a plan file, its keys."""

SCHEMA_KEY = Key("schema", _number(SCHEMA, SCHEMA), "Version of the format.", is_required=True)
TOP = (SCHEMA_KEY.name, *(key.name for key in RUN), *TABLES)
"""All that may stand at the top of a plan file."""
SETTING_NAMES = tuple(key.name for key in SETTINGS)
LEVELS_OF = {key.name: key.levels for key in ARRAY}


def read_keys(table: Table, keys: Sequence[Key]) -> dict[str, Any]:
    """Return the values of a table by their attributes, defaults where nothing is said. Raises PlanBadValue."""
    found: dict[str, Any] = {}
    for key in keys:
        is_said = key.is_required or table.has(key.name)
        value = key.kind.read(table, key.name) if is_said else key.default
        values = value if len(key.attributes) > 1 else (value,)
        found |= dict(zip(key.attributes, values, strict=True))
    return found


def value_of(carrier: object, key: Key) -> Any:
    """Return the value of a key: of its one attribute, or a tuple of several."""
    values = tuple(getattr(carrier, name) for name in key.attributes)
    return values if len(values) > 1 else values[0]


def toml_of(carrier: object, keys: Sequence[Key]) -> dict[str, object]:
    """Return a table as a plan file has it; what is empty, zero or false by default is left out."""
    table: dict[str, object] = {}
    for key in keys:
        value = value_of(carrier, key)
        if value != key.default or (any(value) if len(key.attributes) > 1 else value):
            table[key.name] = key.kind.toml(value)
    return table


_ONE_LIMIT = (("dirty_bytes", "dirty_ratio"), ("dirty_background_bytes", "dirty_background_ratio"))
"""Each is one limit in two units: writing one sets the other to 0 (admin-guide/sysctl/vm.rst)."""
MACHINE_WIDE = frozenset(name for pair in _ONE_LIMIT for name in pair)
"""Settings of the whole machine: two runs can't vary them at once."""


def read_settings(table: Table) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (name, values) pairs in the table's order; raises PlanUnknownKey, PlanBadValue."""
    table.only(*SETTING_NAMES)
    for in_bytes, in_percent in _ONE_LIMIT:
        if table.has(in_bytes) and table.has(in_percent):
            why = f"{in_bytes} and {in_percent} are one limit: the kernel forgets one when the other is written"
            raise table.bad(in_percent, why, "only one of the two")
    kinds: Mapping[str, Kind] = {key.name: key.kind for key in SETTINGS}
    return tuple((name, kinds[name].read(table, name)) for name in table.names())
