"""Steps of a cell, in order, with the commands that will be executed; streams of a raw row."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.plan import Cell, Step, StepKind
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.raw import BLOCK_BYTES, stream_bytes
from fsconsole.text import GIB, MIB
from tests.unit.plan.examples import DEVICE, SMALLEST, VARIANT, WORKLOAD, build

LIFE = [
    "gate", "equalise", "mkfs", "features", "check-empty", "mount", "quiesce", "workload", "drain", "remount", "extents",
    "unmount", "extent-lists", "check", "cold-mount", "delete", "delete-unmount", "release",
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
    assert kinds(text) == [*LIFE[:6], *load, *load, "remount", "extents", *LIFE[10:13], *LIFE[12:]]
    numbers = [step.workload for step in steps(text) if step.kind.value in (*load, "extents", "extent-lists")]
    assert numbers == [0, 0, 0, 1, 1, 1, 0, 1, 0, 1]


def test_a_cell_without_extents_and_check_has_the_mounts_of_load_and_delete_alone() -> None:
    after = "after = { extents = false, check = false }\n[["
    bare = [kind for kind in LIFE if kind not in ("check-empty", "remount", "extents", "extent-lists", "check")]
    assert kinds(SMALLEST.replace("[[", after, 1)) == bare


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
    unchecked = [kind for kind in LIFE[:13] if kind != "check-empty"]
    assert kinds(SMALLEST + "[after]\ncheck = false\ndelete = 'none'\n") == [*unchecked, "release"]
    assert kinds(SMALLEST + "[settings]\nread_ahead = '2MiB'\n")[:3] == ["gate", "settings", "equalise"]


CRASH = "[after]\ncrash = true\n"


def test_a_crash_comes_after_the_check_with_a_strike_for_each_way_of_recovery() -> None:
    strike = ["crash-load", "recover", "crash-verify"]
    for filesystem, strikes in (("ext3", 2), ("ext4", 2), ("xfs", 1), ("f2fs", 1), ("ext2", 1), ("btrfs", 1)):
        text = SMALLEST.replace("ext4", filesystem) + CRASH
        lists = ["extent-lists"] if filesystem in ("ext4", "xfs") else []
        assert kinds(text) == [*LIFE[:12], *lists, "check", *strike * strikes, *LIFE[14:]], filesystem
    recoveries = [step.commands for step in steps(SMALLEST + CRASH) if step.kind is StepKind.RECOVER]
    assert [[argv[0] for argv in argvs] for argvs in recoveries] == [["mount"], ["e2fsck", "e2fsck", "mount"]]
    assert build(SMALLEST + CRASH, DEVICE).estimate.bytes_to_write > build(SMALLEST, DEVICE).estimate.bytes_to_write


def test_where_a_shutdown_shows_nothing_the_load_is_struck_through_a_device_of_the_cells_own_over_its_target() -> None:
    for variant in ('type = "ext2"', 'type = "ext4"\nmkfs = "-O ^has_journal"'):
        (cell,) = build(SMALLEST.replace('type = "ext4"', variant) + CRASH, DEVICE).cells
        (argvs,) = (step.commands for step in cell.steps if step.kind is StepKind.CRASH_LOAD)
        name = f"fsconsole-{cell.uuid}"
        flakey = f"0 {DEVICE.size_bytes // 512} flakey /dev/loop7 0"
        assert argvs[0] == ("dmsetup", "create", name, "--uuid", name, "--table", f"{flakey} 3600 0")
        assert argvs[2][-2] == f"/dev/mapper/{name}"
        # With the filesystem locked, a suspend would write it out.
        assert argvs[3] == ("dmsetup", "suspend", "--nolockfs", name)
        assert argvs[4][-1] == f"{flakey} 0 3600 1 drop_writes"
        assert argvs[-1] == ("dmsetup", "remove", "--retry", name)
        (recovery,) = (step.commands for step in cell.steps if step.kind is StepKind.RECOVER)
        assert recovery[0] == ("e2fsck", "-p", "/dev/loop7")
    unknown = build(SMALLEST.replace("ext4", "ext2") + CRASH, dataclasses.replace(DEVICE, size_bytes=0))
    assert StepKind.CRASH_LOAD not in {step.kind for step in unknown.cells[0].steps}
    assert unknown.notes[-1].startswith("ext2: a crash is not tested: ")


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


def streams(cell: Cell, kind: StepKind) -> list[tuple[int | None, list[tuple[str, ...]]]]:
    """Return the workload of each stream's step, with its commands' words from the act on."""
    return [(step.workload, [argv[4:] for argv in step.commands]) for step in cell.steps if step.kind is kind]


def words_of(act: str, depths: tuple[int, ...], size: int, seconds: int) -> list[tuple[str, ...]]:
    bounds = ("--bytes", str(size), "--block", str(MIB), "--seconds", str(seconds))
    return [(act, "/dev/loop7", "--depth", str(depth), *bounds) for depth in depths]


DEPTHS = (1, 4, 16, 32)


def test_a_raw_row_has_a_pilot_of_every_depth_before_its_device_is_made_equal_then_depth_1_and_the_pilots() -> None:
    cell = raw_cell(RAW + SIZED)
    writes = ["quiesce", "raw-write"]
    assert [step.kind.value for step in cell.steps] == [
        "gate", "raw-pilot", "equalise", *writes, *writes, "raw-read", "raw-read", "readtest", "release",
    ]  # fmt: skip
    ((_, pilot),) = streams(cell, StepKind.RAW_PILOT)
    assert pilot == [words for act in ("write", "read") for words in words_of(act, DEPTHS, 256 * MIB, 1)]
    for kind, act in ((StepKind.RAW_WRITE, "write"), (StepKind.RAW_READ, "read")):
        # What the workload writes.
        of_depth = [words_of(act, depths, 32 * MIB, 10) for depths in (DEPTHS[:1], DEPTHS)]
        assert streams(cell, kind) == [(0, words) for words in of_depth]
    (readtest,) = (step.commands[0] for step in cell.steps if step.kind is StepKind.READTEST)
    assert readtest[1:] == ("-I", "-m", "fsconsole", "readtest", "/dev/loop7", "--json", "--watched")
    changes = {step.kind: step.changes for step in cell.steps}
    assert changes[StepKind.RAW_PILOT] == changes[StepKind.RAW_WRITE] == "overwrites /dev/loop7"
    assert changes[StepKind.EQUALISE] == "discards all of /dev/loop7"


def test_a_pilot_on_an_array_comes_after_it_is_made() -> None:
    plan = build(RAW + "array = [{ level = 'raid0' }]\n" + SIZED, DEVICE, TargetSpec("/dev/loop8", GIB))
    kinds = [step.kind.value for step in plan.cells[0].steps]
    assert kinds.index("array") < kinds.index("raw-pilot") < kinds.index("raw-write")


@given(device=st.integers(1, 4096).map(lambda blocks: blocks * MIB + 512), size=st.integers(1, 2**33))
def test_a_stream_has_whole_blocks_and_fits_on_the_device(device: int, size: int) -> None:
    load = f"[[workload]]\nkind = 'create'\nfile_size = {size}\nblock_size = 1\n"
    cell = raw_cell(RAW + load, TargetSpec("/dev/x", device))
    moved = stream_bytes(device, cell.workloads)
    assert cell.unavailable == ""
    assert moved % BLOCK_BYTES == 0
    assert BLOCK_BYTES <= moved <= min(device, max(size, BLOCK_BYTES))


def test_a_device_without_room_for_a_block_has_no_raw_row() -> None:
    assert "no room for a block of 1MiB" in raw_cell(RAW + SIZED, TargetSpec("/dev/x", MIB - 512)).unavailable


def test_streams_of_ten_seconds_and_one_pilot_for_all_rounds_are_in_the_estimate() -> None:
    disk = TargetSpec("/dev/x", 100 * 10**9, is_rotating=True)
    of_rounds = [build(RAW + f"repeats = {repeats}\nequalise = 'none'\n" + SIZED, disk).estimate for repeats in (1, 2)]
    rate = of_rounds[0].assumed_bytes_per_s
    pilot = 4 * max(256 * MIB, rate)
    assert [one.bytes_to_write for one in of_rounds] == [pilot + 2 * 10 * rate, pilot + 4 * 10 * rate]
    # Each byte is read back; 3 s of reading through the page cache, and 3 for the rest of a cell.
    assert of_rounds[1].elapsed_s == pytest.approx(2 * of_rounds[1].bytes_to_write / rate + 2 * 6)
    # Where no workload writes.
    ((_, one), _) = streams(raw_cell(RAW + "[[workload]]\nkind = 'bonnie'\n"), StepKind.RAW_WRITE)
    assert one == words_of("write", DEPTHS[:1], GIB, 10)


def test_every_setting_has_its_raw_row_once_a_round_for_all_numbers_of_threads() -> None:
    text = (
        "schema = 1\nraw = true\nrepeats = 3\n[settings]\nscheduler = ['none', 'mq-deadline']\n"
        + VARIANT
        + WORKLOAD.replace("threads = 4", "threads = [1, 4]")
    )
    raws = [cell for cell in build(text).cells if cell.variant.is_raw]
    assert len({(cell.setting, cell.repeat) for cell in raws}) == len(raws) == 2 * 3
    assert {cell.workloads[0].threads for cell in raws} == {4}


def test_a_workloads_own_settings_hold_for_streams_of_their_own() -> None:
    cell = raw_cell(RAW + SIZED + SIZED.replace("large", "more") + "with = { nr_requests = 8 }\n")
    around = [step.kind.value for step in cell.steps if step.workload == 1]
    write, read = (["settings", kind, "settings-back"] for kind in ("raw-write", "raw-read"))
    assert around == ["quiesce", *write, "quiesce", *write, *read, *read]
    assert {write.name for write in cell.writes} == {"nr_requests"}
    assert [number for number, _ in streams(cell, StepKind.RAW_WRITE)] == [0, 0, 1, 1]


def test_waits_for_flash_and_checks_of_filesystems_that_read_their_inode_tables_are_in_the_estimate() -> None:
    size = 10**12
    flash, plain = (
        build(SMALLEST, TargetSpec("/dev/x", size, is_flash=is_flash)).estimate for is_flash in (True, False)
    )
    assert flash.elapsed_s - plain.elapsed_s == pytest.approx(6)
    ext3, unchecked = (
        build(SMALLEST.replace("ext4", "ext3") + more).estimate for more in ("", "[after]\ncheck = false\n")
    )
    wanted_s = 2 * 0.05 * DEVICE.size_bytes / ext3.assumed_bytes_per_s
    assert ext3.elapsed_s - unchecked.elapsed_s == pytest.approx(wanted_s)
    on_ext4, on_btrfs = (TargetSpec("/dev/x", size, is_scratch=True, keeps_blocks=keeps) for keeps in (True, False))
    zeroed, overwritten = (build(SMALLEST, target).estimate.bytes_to_write for target in (on_ext4, on_btrfs))
    assert overwritten == zeroed > size
