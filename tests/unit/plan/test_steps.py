"""Steps of a cell, in order, with the commands that will be executed; streams of a raw row."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.plan import Cell, Step, StepKind
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.steps import BLOCK_BYTES, raw_bytes, stream_bytes
from fsconsole.text import GIB, MIB
from tests.unit.plan.examples import DEVICE, SMALLEST, VARIANT, WORKLOAD, build

LIFE = [
    "gate", "equalise", "mkfs", "features", "check-empty", "mount", "quiesce", "workload", "drain", "remount", "extents",
    "unmount", "check", "cold-mount", "delete", "delete-unmount", "release",
]  # fmt: skip


READ = "[[workload]]\nkind = 'read'\n"


def steps(text: str, target: TargetSpec = DEVICE) -> tuple[Step, ...]:
    (cell,) = build(text, target).cells
    return cell.steps


def kinds(text: str) -> list[str]:
    return [step.kind.value for step in steps(text)]


def commands(text: str, kind: StepKind, target: TargetSpec = DEVICE) -> tuple[tuple[str, ...], ...]:
    (found,) = (step.commands for step in steps(text, target) if step.kind is kind)
    return found


def test_the_life_of_a_filesystem_is_in_the_order_of_the_manual() -> None:
    assert kinds(SMALLEST) == LIFE


def test_every_workload_that_makes_files_has_its_own_quiet_start_drain_and_extents() -> None:
    text = SMALLEST + WORKLOAD.replace("large files", "more")
    load = ["quiesce", "workload", "drain"]
    assert kinds(text) == [*LIFE[:6], *load, *load, "remount", "extents", *LIFE[10:]]
    numbers = [step.workload for step in steps(text) if step.kind.value in (*load, "extents")]
    assert numbers == [0, 0, 0, 1, 1, 1, 0, 1]


def test_what_changes_nothing_has_no_drain_and_one_maker_of_files_needs_no_name_at_its_extents() -> None:
    text = SMALLEST + READ + "[[workload]]\nkind = 'append'\nfile_size = '1MiB'\n"
    load = ["quiesce", "workload", "drain"]
    assert kinds(text) == [*LIFE[:6], *load, *load[:2], *load, *LIFE[9:]]
    assert [step.workload for step in steps(text) if step.kind is StepKind.EXTENTS] == [None]
    loads = [step for step in steps(text) if step.kind is StepKind.WORKLOAD]
    assert [bool(step.changes) for step in loads] == [True, False, True]


def test_a_cold_load_is_unmounted_synced_and_mounted_right_before_it() -> None:
    text = SMALLEST + READ + "cold = true\n"
    assert kinds(text)[9:13] == ["quiesce", "cold", "workload", "remount"]
    (unmount, sync, mount) = commands(text, StepKind.COLD)
    assert (unmount, mount) == (("umount", "/run/fsconsole/mnt"), commands(text, StepKind.MOUNT)[0])
    assert sync == ("sync",)


def test_the_title_of_every_kind_says_what_it_does() -> None:
    for lines, title in [
        ("kind = 'read'", "read: read every file by 1 thread in reads of 64KiB"),
        (
            "kind = 'random-write'\nblock_size = '4KiB'\ndirect = true\nfile_size = '64KiB'\nduration = '90s'\nthreads = 3",
            "random-write: random-write 64KiB in every file by 3 threads in direct writes of 4KiB, random data, for 90 s",
        ),
        (
            "kind = 'append'\nfiles = 9\nfile_size = ['64KiB', '1MiB']\nfsync = 5\ndata = 0.5",
            "append: append 64KiB to 1MiB to 9 files by 1 thread in writes of 64KiB, compressible data (zeros: 0.5),"
            " fsync after every 5 writes",
        ),
        (
            "kind = 'mix'\nweights = { read = 3, stat = 1 }\nbytes = '10GiB'\nend = 'at-once'",
            "mix: mix (3 read, 1 stat) operations on files by 1 thread in reads of 64KiB,"
            " until 10GiB are moved at once",
        ),
        (
            "kind = 'random-write'\nfsync = 'each-file'\nsync_call = 'fdatasync'",
            "random-write: random-write every file by 1 thread in writes of 64KiB, random data, fdatasync of each file",
        ),
        ("kind = 'stat'\nfiles = 1000", "stat: stat 1000 files by 1 thread"),
        ("kind = 'delete'", "delete: delete every file by 1 thread"),
    ]:
        all_steps = steps(f"{SMALLEST}[[workload]]\n{lines}\n")
        create, found = (step.title for step in all_steps if step.kind is StepKind.WORKLOAD)
        assert create == "large files: create 4 files of 1MiB by 4 threads in writes of 64KiB, random data"
        assert found == title


def test_options_of_a_plan_add_change_and_leave_out_steps() -> None:
    assert commands(SMALLEST + "[after]\ndelete = 'built-in'\n", StepKind.DELETE) == ()
    unchecked = [kind for kind in LIFE[:12] if kind != "check-empty"]
    assert kinds(SMALLEST + "[after]\ncheck = false\ndelete = 'none'\n") == [*unchecked, "release"]
    assert kinds(SMALLEST + "[settings]\nread_ahead = '2MiB'\n")[:3] == ["gate", "settings", "equalise"]


def test_mkfs_is_forced_once_carries_the_uuid_and_all_words_before_the_device_then_tunes() -> None:
    words = "mkfs = '-I 256 -O ^flex_bg'\ntune = '-c 0 -r 100'\n"
    text = "schema = 1\n[[variant]]\ntype = 'ext4'\n" + words + WORKLOAD
    (cell,) = build(text).cells
    assert commands(text, StepKind.MKFS) == (
        (
            "mkfs.ext4", "-F", "-U", cell.uuid, "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
            "-I", "256", "-O", "^flex_bg", "/dev/loop7",
        ),
        ("tune2fs", "-c", "0", "-r", "100", "/dev/loop7"),
    )  # fmt: skip


def test_each_filesystem_has_its_own_tools() -> None:
    for filesystem, check in [
        ("ext2", "e2fsck -f -y"),
        ("ext3", "e2fsck -f -y"),
        ("ext4", "e2fsck -f -y"),
        ("xfs", "xfs_repair -n"),
        ("btrfs", "btrfs check --readonly"),
    ]:
        text = f"schema = 1\n[[variant]]\ntype = '{filesystem}'\n" + WORKLOAD
        (mkfs,) = commands(text, StepKind.MKFS)
        assert (mkfs[0], mkfs[-1]) == (f"mkfs.{filesystem}", "/dev/loop7")
        assert commands(text, StepKind.CHECK) == ((*check.split(), "/dev/loop7"),)


def test_every_mount_is_nosuid_and_nodev_before_the_variants_words() -> None:
    text = "schema = 1\n[[variant]]\ntype = 'ext4'\nmount = 'data=writeback,nodelalloc'\n" + WORKLOAD
    mount = (
        "mount", "-t", "ext4", "-o", "nosuid,nodev,data=writeback,nodelalloc", "/dev/loop7", "/run/fsconsole/mnt",
    )  # fmt: skip
    unmount = ("umount", "/run/fsconsole/mnt")
    assert commands(text, StepKind.MOUNT) == (mount,)
    assert commands(text, StepKind.REMOUNT) == (unmount, mount)
    assert commands(text, StepKind.COLD_MOUNT) == (mount,)
    assert commands(text, StepKind.DELETE) == (("rm", "-rf", "--", "/run/fsconsole/mnt/tree"),)


def test_a_device_is_equalised_by_exactly_these_commands() -> None:
    moving = {
        "discard": ("shred", "-n", "0", "-z"),
        "zero": ("shred", "-n", "0", "-z"),
        "precondition": ("shred", "-n", "2"),
    }
    kept = {**moving, "discard": ("blkdiscard", "-z", "-f"), "zero": ("blkdiscard", "-z", "-f")}
    for keeps_blocks, expected in ((True, kept), (False, moving)):
        scratch = TargetSpec("/dev/loop3", GIB, is_scratch=True, keeps_blocks=keeps_blocks, can_discard=False)
        for how, words in expected.items():
            found = commands(f"equalise = '{how}'\n" + SMALLEST, StepKind.EQUALISE, scratch)
            assert found == ((*words, "/dev/loop3"),), (how, keeps_blocks)
        assert "equalise" not in [step.kind.value for step in steps("equalise = 'none'\n" + SMALLEST, scratch)]
    for how, argv in [
        ("discard", ("blkdiscard", "-f", "/dev/loop7")),
        ("zero", ("blkdiscard", "-z", "-f", "/dev/loop7")),
        ("precondition", ("shred", "-n", "2", "/dev/loop7")),
    ]:
        assert commands(f"equalise = '{how}'\n" + SMALLEST, StepKind.EQUALISE) == (argv,)


def test_every_step_that_wipes_or_writes_says_what_it_changes() -> None:
    wiping = {"equalise", "mkfs", "mount", "workload", "cold-mount", "delete"}
    assert {step.kind.value for step in steps(SMALLEST) if step.changes} == wiping
    assert {step.kind.value for step in steps(SMALLEST) if step.undo} == {"mount", "cold-mount"}


def test_the_same_file_and_run_give_the_same_steps() -> None:
    first, second = build(SMALLEST, run_id="a").cells[0], build(SMALLEST, run_id="b").cells[0]
    assert first == build(SMALLEST, run_id="a").cells[0]
    assert dataclasses.replace(first, uuid="", steps=()) == dataclasses.replace(second, uuid="", steps=())


RAW = "schema = 1\nraw = true\n"
SIZED = WORKLOAD.replace('"1MiB"', '"8MiB"')


def raw_cell(text: str, target: TargetSpec = DEVICE) -> Cell:
    (cell,) = (cell for cell in build(text, target).cells if cell.variant.is_raw)
    return cell


def argvs(cell: Cell, kind: StepKind) -> list[tuple[str, ...]]:
    return [step.commands[0] for step in cell.steps if step.kind is kind]


def words_of(argv: tuple[str, ...]) -> dict[str, int]:
    return {name: int(argv[argv.index(f"--{name}") + 1]) for name in ("streams", "bytes", "block")}


def test_one_stream_and_as_many_as_threads_write_what_the_workload_writes_and_read_it_back() -> None:
    cell = raw_cell(RAW + SIZED)
    for kind, act in ((StepKind.RAW_WRITE, "write"), (StepKind.RAW_READ, "read")):
        one, many = argvs(cell, kind)
        assert one[1:6] == ("-I", "-m", "fsconsole.workloads.raw", act, "/dev/loop7")
        assert words_of(one) == {"streams": 1, "bytes": 32 * MIB, "block": MIB}
        assert words_of(many) == {"streams": 4, "bytes": 8 * MIB, "block": MIB}
    writes = ["quiesce", "raw-write"]
    assert [step.kind.value for step in cell.steps] == [
        "gate", "equalise", *writes, *writes, "raw-read", "raw-read", "readtest", "release",
    ]  # fmt: skip
    (argv,) = argvs(cell, StepKind.READTEST)
    assert argv[1:] == ("-I", "-m", "fsconsole", "readtest", "/dev/loop7", "--json", "--watched")
    changes = {step.kind: step.changes for step in cell.steps}
    assert changes[StepKind.RAW_WRITE] == "overwrites /dev/loop7"
    assert changes[StepKind.EQUALISE] == "discards all of /dev/loop7"


def test_streams_stand_for_the_workloads_of_their_number_of_threads() -> None:
    for text, streams in [
        (SIZED.replace("threads = 4", "threads = 1"), [(None, 1)]),
        (SIZED + SIZED.replace("threads = 4", "threads = 16"), [(None, 1), (0, 4), (1, 16)]),
        (SIZED + SIZED + SIZED.replace("threads = 4", "threads = 2"), [(None, 1), (0, 4), (2, 2)]),
    ]:
        found = [step for step in raw_cell(RAW + text).steps if step.kind is StepKind.RAW_WRITE]
        assert [(step.workload, words_of(step.commands[0])["streams"]) for step in found] == streams


@given(
    device=st.integers(1, 4096).map(lambda blocks: blocks * MIB + 512),
    threads=st.integers(1, 64),
    size=st.integers(1, 2**33),
)
def test_no_stream_leaves_its_part_of_the_device(device: int, threads: int, size: int) -> None:
    load = f"[[workload]]\nkind = 'create'\nthreads = {threads}\nfile_size = {size}\nblock_size = 1\n"
    cell = raw_cell(RAW + load, TargetSpec("/dev/x", device))
    each = stream_bytes(device, cell.workloads, threads)
    assert each % BLOCK_BYTES == 0
    if device // threads < MIB:
        assert f"no room for {threads} raw streams" in cell.unavailable
        return
    assert cell.unavailable == ""
    assert each <= device // threads // BLOCK_BYTES * BLOCK_BYTES
    assert each * threads <= max(size * threads, threads * BLOCK_BYTES)


def test_what_raw_rows_write_is_in_the_estimate_and_a_gib_where_no_workload_writes() -> None:
    cell = raw_cell(RAW + SIZED)
    assert raw_bytes(DEVICE.size_bytes, cell.workloads) == 2 * 32 * MIB
    assert build(RAW + "equalise = 'none'\n" + SIZED).estimate.bytes_to_write == 64 * MIB
    text = RAW + "[[workload]]\nkind = 'fio'\n"
    assert words_of(argvs(raw_cell(text), StepKind.RAW_WRITE)[0])["bytes"] == GIB


def test_every_setting_and_number_of_threads_has_its_raw_row() -> None:
    for repeats in [1, 3]:
        text = (
            f"schema = 1\nraw = true\nrepeats = {repeats}\n[settings]\nscheduler = ['none', 'mq-deadline']\n"
            + VARIANT
            + WORKLOAD.replace("threads = 4", "threads = [1, 4]")
        )
        cells = build(text).cells
        places = {
            raw: {(c.setting, c.workloads, c.repeat) for c in cells if c.variant.is_raw is raw} for raw in (True, False)
        }
        assert places[True] == places[False]
        assert len(places[True]) == 4 * repeats


def test_a_workloads_own_settings_hold_for_the_streams_that_stand_for_it() -> None:
    cell = raw_cell(RAW + SIZED + SIZED.replace("large", "more") + "with = { nr_requests = 8 }\n")
    around = [step.kind.value for step in cell.steps if step.workload == 1]
    own = ["settings", "raw-write", "settings-back", "settings", "raw-read", "settings-back"]
    assert around == ["quiesce", *own]
    assert {write.name for write in cell.writes} == {"nr_requests"}
