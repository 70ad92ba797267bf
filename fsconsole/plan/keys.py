"""Every key of a plan file, declared once.

Reader, writer, the console's forms and the tables in docs are loops over these declarations, so a new key is one
declaration and the field that carries its value. Checks that concern several keys are in read.py and read_workload.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fsconsole import units
from fsconsole.catalog.tables import Table, make_all
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import DeleteWith, Equalise, Keep, Order
from fsconsole.model.verdicts import DEFAULT_SAME
from fsconsole.model.workload import (
    AS_CREATE,
    BUILT_IN,
    OPERATIONS,
    DataKind,
    Directories,
    End,
    Generator,
    Layout,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)
from fsconsole.plan.arrays import BITMAPS, LEVELS, MAX_MEMBERS, PARITY, POLICIES, REDUNDANT
from fsconsole.plan.kinds import (
    FLAG,
    MAX_FILE_SIZE_BYTES,
    MAX_FILES,
    MAX_NAME_CHARACTERS,
    MAX_REPEATS,
    MAX_SEED,
    MAX_THREADS,
    PAGE_BYTES,
    Kind,
    a_choice,
    a_member,
    a_number,
    a_size,
    a_text,
    age_toml,
    geometry_toml,
    kept_as_text,
    map_typed,
    number_of,
    of_catalog,
    operation_size_toml,
    percent_toml,
    published_toml,
    range_toml,
    read_age,
    read_argv,
    read_chunk,
    read_column,
    read_duration,
    read_file_size,
    read_geometry,
    read_job,
    read_operation_size,
    read_published,
    read_scheduler,
    read_share,
    read_size_weights,
    read_sources,
    read_weights,
    seconds_toml,
    several,
    size_weights_toml,
    sizes_typed,
    weights_toml,
    words_typed,
)
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
from fsconsole.text import GIB, MIB, TIB

# The declarations.


def _own_settings(table: Table, name: str, _value: object) -> tuple[tuple[str, str], ...]:
    own = table.table(name)
    pairs = read_settings(own)
    for each, values in pairs:
        if len(values) != 1:
            raise own.bad(each, "a workload's own setting takes one value", "one value")
    return tuple((each, values[0]) for each, values in pairs)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of one table."""

    name: str
    kind: Kind
    help: str
    """One sentence, for docs and the console."""
    default: Any = None
    fields: tuple[str, ...] = ()
    """The attributes that carry its value, where that isn't the one of its name."""
    is_required: bool = False
    hint: str = ""
    """Hint of a form's field, in a few words."""
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
_COMMANDS = frozenset({WorkloadKind.COMMAND})
_COPIES = frozenset({WorkloadKind.COPY})
_BONNIE = frozenset({WorkloadKind.BONNIE})
_WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE}) | _MIX
_SIZED = frozenset({WorkloadKind.CREATE, WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE}) | _MIX
_MOVING = frozenset(OPERATIONS) - {WorkloadKind.STAT, WorkloadKind.DELETE} | _MIX

RUN = (
    Key("title", a_text(MAX_NAME_CHARACTERS), "The name of the run in lists and grids.", ""),
    Key("repeats", a_choice(("auto",), lambda said: AUTO_REPEATS if said == "auto" else (said, False),
                           lambda pair: "auto" if pair[1] else pair[0],
                           ("a number from 1 to 1000", 1, MAX_REPEATS)),
        "How often each combination is run, once in each round; verdicts need 3 rounds. auto: 12, and the run ends after round 5 or 8 "
        "if every verdict is decided by then.", (DEFAULT_REPEATS, False), ("repeats", "is_auto")),
    Key("primary", Kind("a column of `fsconsole results --help`", read_column, lambda metric: metric.column if metric else ""),
        "The column that verdicts are on. Default, and where a block lacks it: durable, read or ops/s by the kind of load; check, "
        "durable delete or mkfs for a filesystem's life.", None, offered=tuple(metric.column for metric in Metric)),
    Key("baseline", a_text(MAX_NAME_CHARACTERS), "What verdicts compare with: a variant's label, or the value of an axis, such as "
        '`"read_ahead=128KiB"`, with all else equal. Default: the first variant.', "", hint="ext4, or read_ahead=128KiB"),
    Key("same", Kind("per cent, above 0 and at most 100", read_share, percent_toml, number_of),
        "A difference that certainly lies within so many per cent of the baseline is called the same.", DEFAULT_SAME),
    Key("control", FLAG, "Runs the baseline twice, as two rows: any difference between them is noise of this machine.", default=False),
    Key("order", a_member(Order), "Order of the cells: rounds, each with every cell once, shuffled by `seed` so that drift favours "
        "no variant; shuffled over all rounds; or as listed. Only with rounds a disturbed round is repeated.", Order.ROUNDS),
    Key("seed", a_number(0, MAX_SEED), "Same seed: same order, sizes and draws.", DEFAULT_SEED),
    Key("scale", a_choice(("none", "fit"),
                         lambda said: Scale(ScaleKind(said)) if isinstance(said, str) else Scale(ScaleKind.FACTOR, said),
                         lambda scale: scale.factor if scale.kind is ScaleKind.FACTOR else scale.kind.value,
                         ("a factor above 0 and at most 1", 0.0, 1.0)),
        "File sizes: as written; fit: reduced so that they take at most 60 % of the smallest device; or multiplied by a factor.",
        Scale()),
    Key("keep", a_member(Keep), "Left as written by `scale`: threads (files get smaller, in whole blocks); file-size (fewer files, then threads); files (smaller "
        "files, below a block too); fill (fewer files, same share of the device); data-to-ram (same ratio of data to memory). A cell that can't is unavailable.",
        Keep.THREADS),
    Key("published", Kind('`{ memory = "2GiB" }` or `{ device = "10TB" }`', read_published, published_toml, map_typed),
        "Machine that the sizes were printed for: what `keep` = data-to-ram and fill are relative to; beside files, the filesystem gets as full as printed.", (0, 0),
        ("published_memory_bytes", "published_device_bytes")),
    Key("geometry", Kind('`{ chunk = "128KiB", data_disks = 10 }`', read_geometry, geometry_toml, map_typed),
        "Stripes of a hardware RAID, which no kernel reports: every ext variant gets stride and stripe_width, every xfs variant su and sw, unless it names its own.",
        (0, 0), ("stripe_chunk_bytes", "stripe_data_disks")),
    Key("equalise", a_member(Equalise), "Preparation of each device before each cell, so that no cell gets a fresher device: discard; zero; "
        "precondition (fill it with random data, twice); none.", Equalise.DISCARD),
    Key("age", Kind("`{ cycles = 3, fill = 0.7 }`", read_age, age_toml, map_typed), "Ages each new filesystem before its first load: in each cycle files of "
        "mixed sizes fill it to that share of the device, then half of their bytes is removed. The same names and bytes, by `seed`, for all variants; "
        "what is left stays beside the files of the loads.", None),
    Key("load_time", Kind('time such as `"10s"`', read_duration, seconds_toml), "Least time of each load with `size = \"auto\"`, drain "
        "included, on the first variant. A pilot of about a second sizes it before the first cell, for all variants.",
        DEFAULT_LOAD_TIME_S, ("load_time_s",)),
    Key("raw", FLAG, "Adds a row without a filesystem: the speed of the device itself.", default=False),
)  # fmt: skip
"""At the top of a plan file, beside schema and the tables."""

AFTER = (
    Key("check", FLAG, "Forces a full check of the unmounted filesystem at the end of each cell.", default=True),
    Key("quick_check", FLAG, "Times the check that a boot makes too, before the forced one, from cold caches: e2fsck -p, which trusts a clean filesystem (ext2, ext3, ext4).", default=False),
    Key("extents", FLAG, "Counts the extents of all files. Without it the filesystem is not mounted again before the unmount.", default=True),
    Key("crash", FLAG, "Crash test: shuts the filesystem down in the middle of an extra load, times the recovery and counts lost files.", default=False),
    Key("delete", a_member(DeleteWith), "How the files are removed, which is timed.", DeleteWith.RM),
)  # fmt: skip

_AXES = of_catalog("table of options", lambda axes: {name: list(values) for name, values in axes})
FILESYSTEM = (
    Key("type", a_text(), "A filesystem of `fsconsole catalog`.", is_required=True, fields=("filesystem",)),
    Key(
        "mkfs",
        _AXES,
        "mkfs options by the names of `fsconsole catalog TYPE`; lists are multiplied out; default in them gives no word.",
        (),
    ),
    Key("mount", _AXES, "Mount options, likewise.", ()),
    Key(
        "exclude",
        of_catalog("list of tables", lambda some: [dict(each) for each in some]),
        'Combinations to leave out: `[{ flex_bg = "off", flex_bg_size = 64 }]`.',
        (),
    ),
)

VARIANT = (
    Key("type", a_text(), "A filesystem of `fsconsole catalog`.", is_required=True, fields=("filesystem",),
        hint="filesystem: {names}"),
    Key("mkfs", a_text(), "Words as mkfs takes them.", "", hint="as mkfs takes them: -b 4096 -O ^flex_bg (no device)"),
    Key("mount", a_text(), "Words as mount -o takes them.", "", hint="as mount -o takes them: noatime,nodelalloc"),
    Key("tune", a_text(), "Words as tune2fs takes them; ext filesystems only.", "",
        hint="as tune2fs takes them, between mkfs and mount; ext filesystems only"),
    Key("label", a_text(MAX_NAME_CHARACTERS), "Its name in lists and grids; by default what differs, of the only row of a filesystem all its options.", "",
        hint="its name in lists and grids; empty: made from what differs"),
    Key("as_printed", a_text(MAX_NAME_CHARACTERS), "The words of a publication that these stand for.", "",
        hint="the words of a publication that these stand for; empty: none"),
)  # fmt: skip

_SYNCS = {"never": (SyncAt.WRITES, 0), **{at.value: (at, 0) for at in (SyncAt.EACH_FILE, SyncAt.END)}}

WORKLOAD = (
    Key("kind", a_member(WorkloadKind), "Operation on each file; or `command`: a program; `fio`: a job file; `bonnie`: bonnie++. `ffsb`: a profile of FFSB.",
        is_required=True),
    Key("name", a_text(MAX_NAME_CHARACTERS, may_be_blank=False), "Its name in the grid, and that of its directory; by default the kind.", "",
        hint="in the grid"),
    Key("of", a_text(), "The create whose files it uses; by default the nearest before it.", "",
        hint="the create whose files it uses", kinds=BUILT_IN - {WorkloadKind.CREATE} | _COPIES),
    Key("argv", Kind("list of words", read_argv, list, words_typed), "The command, as a list of words: no shell. It runs in a new, empty directory "
        "of the filesystem, confined: it can write nowhere else, and has no network.", (), hint="tar xf /srv/src.tar", kinds=_COMMANDS),
    Key("sources", Kind("list of absolute paths", read_sources, list, words_typed), "Files and directories that the command may read, at their own paths, or that the copy copies; read into memory first, and hashed.", (),
        hint="/srv/src.tar", kinds=_COMMANDS | _COPIES),
    Key("copy_with", a_choice(("-r", "-a", "-r --reflink=never", "-a --reflink=never")), "How cp copies: `-r`, the default, makes new files, as Peiffer 2005; `-a` keeps owners, times and hard links. A copy of a create's files shares their blocks on xfs and btrfs (cp of coreutils 9), but with `--reflink=never`.", "",
        hint="-r or -a, --reflink=never", kinds=_COPIES),
    Key("at_most", a_size(1, MAX_FILE_SIZE_BYTES), "Copies the first files only, in sorted order (of each directory its files, then its directories), up to this size.", 0,
        ("at_most_bytes",), hint="2GiB; empty: all", kinds=_COPIES),
    Key("job", Kind("path of a fio job file", read_job), "The job file, relative to the plan; its text is kept with the run. Keys that reach beyond the load's own new directory are refused.", "",
        hint="jobs/random.fio", kinds=frozenset({WorkloadKind.FIO})),
    Key("profile", a_text(), "The FFSB profile, relative to the plan, or a shipped one by its name: a create of its files, then its thread "
        "group as a mix or a create. `threads` and `duration` replace its own.", "", hint="mail.ffsb, or a shipped one: mail-server",
        kinds=frozenset({WorkloadKind.FFSB})),
    Key("generator", a_member(Generator), "The program that makes the load; dd: one dd for each file of a create, in one thread, with `data = \"zero\"`. fio: the same files, calls and syncs, where fio can do them; else the plan says why not.",
        Generator.BUILT_IN, hint="built-in, fio or dd", kinds=BUILT_IN),
    Key("threads", several(a_choice(("as-create",), lambda said: AS_CREATE[0] if isinstance(said, str) else said,
                                    lambda count: count or "as-create", ("a number from 1 to 4096", 1, MAX_THREADS))),
        "A list is an axis: a cell for each number. as-create: as many as the create whose files it uses.", (1,), ("thread_counts",),
        hint="a number; 1, 16: both are compared", kinds=BUILT_IN | _BONNIE),
    Key("size", a_choice(("auto",)), "auto: a pilot of about a second chooses the file size; with `file_size` the number of files; for a mix the number of operations; "
        "for random calls the bytes; so that the load lasts `load_time`. Default without `file_size`, `files`, `bytes` and `duration`.",
        "", hint="auto, or empty: as below", kinds=_SIZED),
    Key("files", a_number(1, MAX_FILES), "Operations in all. By default a create makes one file for each thread, others use each file once; with "
        "`bytes` or `duration` they go on until that limit. Of a command: the files and directories that it makes, for the count of inodes.", 0,
        hint="in all; empty: default", kinds=BUILT_IN | _BONNIE | _COMMANDS),
    Key("file_size", Kind('size, or range `["4KiB", "64KiB"]`', read_file_size, range_toml, sizes_typed), "Of new files (drawn evenly from a range, the same for the same `seed`), or the "
        "bytes to append to each; required for an append, for a create with `bytes` or `duration`, and for a mix that has them. Others move so many bytes in each file, by default all.",
        (0, 0), ("file_size_bytes", "file_size_max_bytes"), hint="1GiB, or a range: 4KiB, 64KiB", kinds=_MOVING | _BONNIE),
    Key("file_sizes", Kind('`{ "4KiB" = 33, "1MiB" = 2 }`', read_size_weights, size_weights_toml, map_typed), "Instead of `file_size`: sizes of new files, "
        "each drawn so often; the same for the same `seed`.", (), ("size_weights",), hint="4KiB=33, 1MiB=2", kinds=frozenset({WorkloadKind.CREATE}) | _MIX),
    Key("operation_size", Kind('size, or `"file"`', read_operation_size, operation_size_toml),
        "Of a mix: bytes that each read, append or random operation moves in a file that is there; file: reads to its end. Default: `file_size`.",
        0, ("operation_bytes",), hint="64KiB, or file: reads whole files", kinds=_MIX),
    Key("pick", a_choice(("own", "all"), lambda said: said == "all", lambda is_all: "all" if is_all else "own"),
        "Of a mix: files that a thread draws from: a share of its own, or all of the create's, as FFSB's threads do (not with deletes).",
        default=False, fields=("picks_all",), hint="own or all", kinds=_MIX),
    Key("total_size", a_size(1, MAX_FILE_SIZE_BYTES), "Instead of `file_size`: what all files of a create hold together, whatever the "
        "number of threads; each gets an equal share, in whole blocks.", 0, ("total_size_bytes",), hint="of all files together: 4GiB",
        kinds=frozenset({WorkloadKind.CREATE})),
    Key("block_size", several(a_size(1, GIB)), "Of each call; offsets of random calls are multiples of it. A list is an axis: a cell for each.",
        (DEFAULT_BLOCK_SIZE_BYTES,), ("block_sizes",), hint="of each call: 64KiB; or 4KiB, 64KiB", kinds=_MOVING | _BONNIE),
    Key("directories", a_choice(("one", "per-thread"),
                               lambda said: Directories(Layout(said)) if isinstance(said, str) else Directories(Layout.PER_COUNT, said),
                               lambda made: made.files_per_directory if made.layout is Layout.PER_COUNT else made.layout.value,
                               ("a number of files per directory", 1, MAX_FILES)),
        "All files in one directory, one directory for each thread, or so many files in each.", Directories(),
        hint="one, per-thread, or files in each", kinds=frozenset({WorkloadKind.CREATE}) | _MIX | _BONNIE),
    Key("data", a_choice(("random", "zero"),
                        lambda said: (DataKind(said), 0.0) if isinstance(said, str) else (DataKind.COMPRESSIBLE, said),
                        lambda pair: pair[1] or pair[0].value,
                        ("a share of zeros between 0 and 1, such as 0.5", 0.0, math.nextafter(1, 0))),
        "Content of writes; 0.5: half of every block is zeros, in parts of up to 512 bytes, the rest random.", (DataKind.RANDOM, 0.0), ("data", "zero_share"),
        hint="random, zero, or share of zeros: 0.5", kinds=_WRITING),
    Key("direct", FLAG, "Opens with O_DIRECT; blocks and sizes must be multiples of 512 bytes, or of the device's own blocks.", default=False,
        hint="yes or no: O_DIRECT", kinds=_MOVING | _BONNIE),
    Key("ftruncate", FLAG, "Sets the size of each new file by ftruncate before its first write, as tiobench does.", default=False,
        hint="yes or no: size set beforehand", kinds=frozenset({WorkloadKind.CREATE}) | _MIX),
    Key("fsync", a_choice(("never", "each-file", "end"),
                         lambda said: _SYNCS.get(said, (SyncAt.WRITES, said)),
                         lambda pair: pair[1] or ("never" if pair[0] is SyncAt.WRITES else pair[0].value),
                         ("a number of writes", 1, 2**40)),
        "When files are synced: each before its close; all files of a thread at its end; or, after that many writes of a thread, the "
        "file just written.",
        (SyncAt.WRITES, 0), ("sync_at", "fsync_every"), hint="each-file, end, or writes: 4", kinds=_WRITING | _BONNIE),
    Key("sync_call", a_member(SyncCall), "System call of these syncs.", SyncCall.FSYNC, hint="fsync or fdatasync", kinds=_WRITING),
    Key("bytes", a_size(1, MAX_FILE_SIZE_BYTES), "Limit, shared out evenly over the threads. Of a bonnie: its data; by default twice the memory, or with `files` none.", 0, ("limit_bytes",),
        hint="limit: 10GiB", kinds=_MOVING | _BONNIE),
    Key("duration", Kind('time such as `"60s"`', read_duration, seconds_toml), "Limit.", 0.0, ("duration_s",), hint="limit: 60s, 10min", kinds=BUILT_IN),
    Key("end", a_member(End), "Where a limit ends a thread: after the current file, as FFSB does, which can take far longer; or after the "
        "current call.", End.BETWEEN_OPERATIONS, hint="between-operations or at-once", kinds=BUILT_IN),
    Key("weights", Kind("`{ read = 3, create = 1 }`", read_weights, weights_toml, map_typed), "Required for a mix: each thread draws its next operation by weight, on a file of its own share. Ends by "
        "`size`, `files`, `bytes` or `duration`.", (), hint="read=3, create=1", kinds=_MIX),
    Key("cold", FLAG, "Before it: unmount, sync, drop_caches=3, mount.", default=False, hint="yes or no: unmount and drop caches"),
    Key("trace", FLAG, "Traces the kernel's writeback and the device's requests while it runs: bdi state, write seeks, nr_pages, metadata "
        "reads; needs debugfs and tracefs, and costs CPU time (observer).", default=False, hint="yes or no: bdi state, seeks"),
    Key("require", Kind('`{ fsync_p99 = "<= 10ms", durable = ">= 800MB/s" }`', read_requirements, requirements_toml, typed_requirements),
        "Limits for columns of this workload, by name, with `<=` or `>=`: each row meets them, misses one, or is undecided (see Thresholds).",
        (), hint="fsync_p99 <= 10ms, durable >= 800MB/s"),
    Key("with", Kind('`{ read_ahead = "4MiB" }`', _own_settings, dict, map_typed), "Settings for this workload alone.", (), ("settings",), hint="settings of its own: read_ahead=4MiB"),
)  # fmt: skip

_DIRTY = "/proc/sys/vm"
MEMORY = "memory"
"""Setting of the load's memory cgroup."""
SETTINGS = (
    Key("read_ahead", several(kept_as_text(a_size(0, GIB), PAGE_BYTES)), "Read-ahead: queue/read_ahead_kb of the disk, or of the array; "
        "btrfs has its own value, and its cells say so.", offered=("128KiB", "2MiB")),
    Key("scheduler", several(Kind("name", read_scheduler)),
        "I/O scheduler: queue/scheduler of the disk, or of each disk below an array.", offered=("none", "mq-deadline", "bfq", "kyber")),
    # BLKDEV_MIN_RQ (include/linux/blkdev.h), BLK_MQ_MAX_DEPTH (include/linux/blk-mq.h).
    Key("nr_requests", several(kept_as_text(a_number(4, 10240))), "queue/nr_requests, likewise: requests that may wait at a disk.",
        offered=("64", "256")),
    Key("dirty_bytes", several(kept_as_text(a_size(2 * PAGE_BYTES, TIB))), f"{_DIRTY}/dirty_bytes: dirty memory at which writers must wait.",
        offered=("256MiB", "1GiB")),
    Key("dirty_background_bytes", several(kept_as_text(a_size(1, TIB))), f"{_DIRTY}/dirty_background_bytes: dirty memory at which writeback "
        "starts.", offered=("64MiB", "256MiB")),
    Key("dirty_ratio", several(kept_as_text(a_number(1, 100))), f"{_DIRTY}/dirty_ratio: as dirty_bytes, in % of available memory.",
        offered=("20", "40")),
    Key("dirty_background_ratio", several(kept_as_text(a_number(0, 100))), f"{_DIRTY}/dirty_background_ratio: as dirty_background_bytes, in %.",
        offered=("5", "10")),
    # raid5_set_cache_size takes no other (drivers/md/raid5.c).
    Key("stripe_cache_size", several(kept_as_text(a_number(17, 32768))), "md/stripe_cache_size of an array of level 4, 5 or 6: pages per disk.",
        offered=("256", "4096")),
    # A writer's own process takes some MiB.
    Key(MEMORY, several(kept_as_text(a_size(16 * MIB, TIB), PAGE_BYTES)), "Memory cgroup of the load's processes, versions 1 and 2: page cache, "
        "and the load's own memory, up to that size. Dirty limits of the machine are settings of their own.", offered=("1GiB", "4GiB")),
)  # fmt: skip
"""In the order in which they are written: a scheduler begins with a number of requests of its own."""

_STRIPED = ("raid0", *PARITY, "raid10")
_NO_RESYNC = "has nothing to resync"
ARRAY = (
    Key("level", several(a_choice(LEVELS)), "RAID level of the array that is made of the devices.", (), ("levels",), is_required=True, offered=LEVELS),
    Key("chunk", several(Kind("size, a power of two from 4KiB", read_chunk, units.format_bytes_exact)), "Bytes written to one member before the next; mdadm's default is 512KiB.",
        (), ("chunks_bytes",), offered=("64KiB", "512KiB"), levels=_STRIPED, lacks="has no chunks"),
    Key("members", several(a_number(2, MAX_MEMBERS)), "How many of the devices become members, the first ones; by default all.", (),
        offered=("3", "4")),
    Key("stripe_cache_size", several(a_number(17, 32768)), "Pages per member that md keeps of stripes; the kernel's default is 256.", (),
        ("stripe_cache_sizes",), offered=("256", "4096"), levels=PARITY, lacks="has no stripe cache"),
    # raid5_store_group_thread_cnt takes no more (drivers/md/raid5.c).
    Key("group_thread_count", several(a_number(0, 8192)), "Threads that handle stripes beside the array's own; the kernel's default is 0.", (),
        ("group_thread_counts",), offered=("0", "2"), levels=PARITY, lacks="has no threads for stripes"),
    Key("bitmap", several(a_choice(BITMAPS)), "Write-intent bitmap, which limits the resync after a crash: none, or on the members.", (),
        ("bitmaps",), offered=BITMAPS, levels=REDUNDANT, lacks=_NO_RESYNC),
    Key("consistency_policy", several(a_choice(POLICIES, journal="a journal lies on a device of its own, and a plan names no devices")),
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

SCHEMA_KEY = Key("schema", a_number(SCHEMA, SCHEMA), "Version of the format.", is_required=True)
TOP = (SCHEMA_KEY.name, *(key.name for key in RUN), *TABLES)
"""All that may stand at the top of a plan file."""
OF_THE_PLAN = {
    **{key.name: f"{key.name} holds for the whole plan: write it above the first table." for key in RUN},
    "after": "[after] is a table of the whole plan.",
    "settings": '[settings] is a table of the whole plan; a workload alone has with = { read_ahead = "4MiB" }.',
}
"""Hints for keys that stand in a table, and belong elsewhere."""
SETTING_NAMES = tuple(key.name for key in SETTINGS)
LEVELS_OF = {key.name: key.levels for key in ARRAY}


def read_keys(table: Table, keys: Sequence[Key]) -> dict[str, Any]:
    """Return the values of a table by their attributes, defaults where nothing is said. Raises PlanBadValue."""

    def read(key: Key) -> dict[str, Any]:
        is_said = key.is_required or table.has(key.name)
        value = key.kind.read(table, key.name) if is_said else key.default
        return dict(zip(key.attributes, value if len(key.attributes) > 1 else (value,), strict=True))

    return {name: value for found in make_all(partial(read, key) for key in keys) for name, value in found.items()}


def read_table(table: Table, keys: Sequence[Key]) -> dict[str, Any]:
    """Return the same of a table that has no other keys. Raises PlanUnknownKey, PlanBadValue."""
    found: dict[str, Any] = {}
    names = [key.name for key in keys]
    make_all((lambda: table.only(*names, elsewhere=OF_THE_PLAN), lambda: found.update(read_keys(table, keys))))
    return found


def value_of(carrier: object, key: Key) -> Any:
    """Return the value of a key: of its one attribute, or a tuple of several."""
    values = tuple(getattr(carrier, name) for name in key.attributes)
    return values if len(values) > 1 else values[0]


def applies(key: Key, kind: WorkloadKind) -> bool:
    """Return whether a key of a workload has a meaning for its kind.

    Kinds of the built-in generator say themselves which of their keys would do nothing.
    """
    return kind in key.kinds or (kind in BUILT_IN and bool(key.kinds & BUILT_IN))


def workload_toml(load: Workload) -> dict[str, object]:
    """Return a workload as a plan file has it."""
    return toml_of(load, [key for key in WORKLOAD if applies(key, load.kind)])


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
