"""The steps of one cell, in the order of its life, with the exact commands.

Steps without commands are the engine's own code. Paths are the same for every run, since each engine has a mount
namespace of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from fsconsole import units
from fsconsole.catalog import words
from fsconsole.catalog.filesystem import Filesystem
from fsconsole.model.fio_job import job_argv
from fsconsole.model.metrics import RAW_DEPTHS
from fsconsole.model.plan import ArraySpec, Cell, DeleteWith, Equalise, Step, StepKind, Write
from fsconsole.model.workload import (
    AS_CREATE,
    BUILT_IN,
    WHOLE_FILE,
    DataKind,
    Directories,
    End,
    Generator,
    Layout,
    SizedBy,
    SyncAt,
    Workload,
    WorkloadKind,
)
from fsconsole.plan import raw
from fsconsole.plan.arrays import ARRAY_NAME, ARRAY_PATH, Site, resyncs
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.settings import own_values, writes_of
from fsconsole.text import KIB, MIB, SECTOR_BYTES, counted

MOUNT_POINT = "/run/fsconsole/mnt"
CRASH_TREE = MOUNT_POINT + "/crash"
"""The loads of crashes work below it, and are removed before the delete step."""
AGED_TREE = MOUNT_POINT + "/aged"
"""Files of ageing lie below it until the next mkfs: no load, survey or delete step touches them."""
TREE = MOUNT_POINT + "/tree"
"""Workloads write below it, and the delete step removes it."""
_QUIESCE = "wait until Dirty and Writeback are near zero"
_CHANGES, _UNDO = "settings of device and kernel", "writes the old values back"

METADATA = "1.2"
HOMEHOST, NAME = "fsconsole", "what-if"
"""Of no machine: what udev puts together of a run's leftovers is a foreign array, and takes no number of the host's own."""


def making_steps(spec: ArraySpec, members: Sequence[str], uuid: str) -> Iterator[Step]:
    """Yield the steps from free members to an array in sync, with the UUID that this run gives it."""
    paths = ", ".join(members)
    yield Step(
        StepKind.ARRAY,
        f"make {spec.level} of {paths}" + (", assumed clean" if spec.assume_clean else ""),
        (create_command(spec, members, uuid),),
        f"makes {ARRAY_PATH} of {paths}",
        "stops it and clears its members",
    )
    if resyncs(spec):
        yield Step(StepKind.ARRAY_SYNC, f"wait until {ARRAY_PATH} is in step")
    knobs = (
        ("stripe_cache_size", "stripe_cache_size", spec.stripe_cache_size or -1),
        ("group_thread_count", "group_thread_cnt", spec.group_thread_count),
    )
    folder = f"/sys/block/{ARRAY_NAME}/md"
    writes = tuple(Write(name, f"{folder}/{file}", str(value)) for name, file, value in knobs if value >= 0)
    if writes:
        words = ", ".join(f"{write.name} = {write.value}" for write in writes)
        yield Step(StepKind.SETTINGS, f"set {words}", changes=f"knobs of {ARRAY_PATH}", writes=writes)


def create_command(spec: ArraySpec, members: Sequence[str], uuid: str) -> tuple[str, ...]:
    """Return the command that makes a run's array: it asks nothing, and writes on nothing but its members."""
    return array_command(spec, members, uuid, ARRAY_PATH, (f"--homehost={HOMEHOST}", f"--name={NAME}"))


def array_command(
    spec: ArraySpec, members: Sequence[str], uuid: str, path: str, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the command that makes an array at a path, with the words that name it."""
    words = [f"--level={spec.level}", f"--raid-devices={len(members)}"]
    if spec.chunk_bytes:
        words.append(f"--chunk={spec.chunk_bytes // KIB}K")
    # mdadm wants the bitmap said where the policy is the bitmap (mdadm 4.2: "--bitmap is required").
    bitmap = spec.bitmap or ("internal" if spec.consistency_policy == "bitmap" else "")
    if bitmap:
        words.append(f"--bitmap={bitmap}")
    if spec.consistency_policy:
        words.append(f"--consistency-policy={spec.consistency_policy}")
    if spec.assume_clean:
        words.append("--assume-clean")
    return (
        "mdadm", "--create", path, "--run", f"--metadata={METADATA}", f"--uuid={uuid}", *names, *words, *members,
    )  # fmt: skip


def stop_command(path: str) -> tuple[str, ...]:
    """Return the command that stops an array and leaves its members unchanged."""
    return ("mdadm", "--stop", path)


def zero_command(member: str) -> tuple[str, ...]:
    """Return the command that makes a former member an ordinary device again.

    Without its version mdadm clears every superblock that it finds: one of version 0.90 at the end of a disk may be
    that of an array which somebody has made of the last partition since.
    """
    return ("mdadm", "--zero-superblock", f"--metadata={METADATA}", member)


Argv = tuple[str, ...]


def load_steps(number: int, cell: Cell, device: str, mount: Argv, unmount: Argv) -> Iterator[Step]:
    """Yield the steps of one workload; one that changes nothing has no drain."""
    workload = cell.workloads[number]
    first = "wait until ext4lazyinit has ended, then " if cell.variant.is_lazy else ""
    yield Step(StepKind.QUIESCE, first + _QUIESCE, workload=number)
    if workload.cold:
        yield Step(
            StepKind.COLD,
            "make all caches cold: unmount, sync, write 3 to /proc/sys/vm/drop_caches, mount",
            (unmount, ("sync",), mount),
            f"mounts {device}",
            workload=number,
        )
    if workload.sources:
        what = ", ".join(workload.sources)
        title = f"read {what} into the page cache{_sources_words(workload)}, and hash it"
        yield Step(StepKind.WARM, title, workload=number)
    changes = f"writes below {TREE}" if workload.changes else ""
    yield Step(StepKind.WORKLOAD, workload_title(workload), changes=changes, workload=number)
    if workload.changes:
        yield Step(StepKind.DRAIN, "syncfs, then fsync of the device: one flush", workload=number)


_MOST_COUNTS = 8
"""More numbers of threads are not listed in a sentence."""


def workload_title(workload: Workload) -> str:
    """Return a workload in one line, with its numbers."""
    if workload.kind is WorkloadKind.COMMAND:
        return f"{workload.name}: {shlex.join(workload.argv)}"
    if workload.job:
        return f"{workload.name}: {shlex.join(job_argv(workload.job))}"
    if workload.kind is WorkloadKind.COPY:
        return f"{workload.name}: {_copy_words(workload)}"
    if workload.kind is WorkloadKind.BONNIE:
        return _bonnie_title(workload)
    weights = ", ".join(f"{weight} {kind.value}" for kind, weight in workload.weights)
    what = workload.kind.value + (f" ({weights})" if weights else "")
    by = "one dd a file" if workload.generator is Generator.DD else _threads(workload)
    head = f"{workload.name}: {what} {_files(workload)} by {by}"
    return ", ".join([head + _blocks(workload), *_words(workload)])


def _copy_words(workload: Workload) -> str:
    what = " ".join(workload.sources) or "the files of an earlier load"
    most = f", the first {units.format_bytes(workload.at_most_bytes)}" if workload.at_most_bytes else ""
    return f"cp {workload.copy_flags} of {what}{most}{_sources_words(workload)}"


def _sources_words(workload: Workload) -> str:
    if not workload.sources_files:
        return ""
    return f" ({counted(workload.sources_files, 'file')}, {units.format_bytes(workload.sources_bytes)})"


def _bonnie_title(workload: Workload) -> str:
    data = units.format_bytes_exact(workload.limit_bytes) if workload.limit_bytes else "twice the memory"
    parts = [f"{data} of data" + _blocks(workload)] if workload.limit_bytes or not workload.files else []
    if workload.files:
        least, most = map(units.format_bytes_exact, (workload.file_size_bytes, workload.largest_file_bytes))
        size = (
            "empty files"
            if not workload.largest_file_bytes
            else "files of " + (most if least == most else f"{least} to {most}")
        )
        each = workload.directories.files_per_directory
        parts.append(f"{workload.files} {size}" + (f", {each} in a directory" if each else " in one directory"))
    copies = "" if workload.threads == 1 and len(workload.thread_counts) < 2 else f" by {_threads(workload)}"
    return f"{workload.name}: bonnie++{copies}, {', '.join(parts)}"


def _files(workload: Workload) -> str:
    if _is_open(workload) and workload.kind is WorkloadKind.CREATE:
        chooses = workload.sizing.chooses if workload.sizing is not None else None
        is_many = chooses is SizedBy.FILES or (chooses is None and workload.file_size_bytes > 0)
        count = "files" if is_many or not workload.files else counted(workload.files, "file")
        return f"{count} of {units.format_bytes_exact(workload.file_size_bytes)}" if is_many else count
    if _is_open(workload) and workload.kind is WorkloadKind.MIX:
        workload = replace(workload, files=0)
    size = units.format_bytes_exact(workload.file_size_bytes)
    if workload.file_size_max_bytes > workload.file_size_bytes:
        size += f" to {units.format_bytes_exact(workload.file_size_max_bytes)}"
    if workload.size_weights:
        ends = [each for each, _ in workload.size_weights]
        size = " to ".join(map(units.format_bytes_exact, sorted({min(ends), max(ends)}))) + " by weight"
    is_mix = workload.kind is WorkloadKind.MIX
    of_all = {WorkloadKind.CREATE: "files", WorkloadKind.MIX: "operations"}.get(workload.kind, "every file")
    files = counted(workload.files, "operation" if is_mix else "file") if workload.files else of_all
    if workload.total_size_bytes:
        return f"{units.format_bytes_exact(workload.total_size_bytes)} in {files}"
    if workload.kind is WorkloadKind.CREATE:
        return f"{files} of {size}"
    if is_mix:
        return f"{files} on files" + (f" of {size}" if workload.file_size_bytes or workload.size_weights else "")
    if not workload.file_size_bytes or not (workload.reads or workload.writes):
        return files
    return f"{size} {'to' if workload.kind is WorkloadKind.APPEND else 'in'} {files}"


def _is_open(workload: Workload) -> bool:
    """Return whether a pilot has still to choose the size."""
    return bool(workload.size) or (workload.sizing is not None and not workload.sizing.is_settled)


def _threads(workload: Workload) -> str:
    counts = workload.thread_counts or (workload.threads,)
    if counts == AS_CREATE:
        return "as many threads"
    if len(counts) > _MOST_COUNTS:
        return f"{min(counts)} to {max(counts)} threads ({len(counts):,} values)"
    return f"{' or '.join(map(str, counts))} thread{'' if counts == (1,) else 's'}"


def _blocks(workload: Workload) -> str:
    calls = " and ".join([*(["reads"] if workload.reads else []), *(["writes"] if workload.writes else [])])
    if not calls and workload.kind in BUILT_IN:
        return ""
    direct = "direct " if workload.direct else ""
    sizes = map(units.format_bytes_exact, workload.block_sizes or (workload.block_size_bytes,))
    return f" in {direct}{calls or 'writes'} of {' or '.join(sizes)}"


def _words(workload: Workload) -> Iterator[str]:
    if workload.trace:
        yield "traced"
    if workload.generator is Generator.FIO:
        yield "made by fio"
    if workload.writes or workload.kind not in BUILT_IN:
        share = f" (zeros: {workload.zero_share:g})" if workload.data is DataKind.COMPRESSIBLE else ""
        yield f"{workload.data.value} data{share}"
    if workload.operation_bytes:
        is_whole = workload.operation_bytes == WHOLE_FILE
        yield "whole files" if is_whole else f"{units.format_bytes_exact(workload.operation_bytes)} an operation"
    if workload.picks_all:
        yield "each thread draws from all files"
    if workload.ftruncate:
        yield "size set by ftruncate"
    if workload.syncs:
        every = f"after every {workload.fsync_every} writes"
        when = {SyncAt.EACH_FILE: "of each file", SyncAt.END: "of all files at the end"}
        yield f"{workload.sync_call.value} {when.get(workload.sync_at, every)}"
    end = " at once" if workload.end is End.AT_ONCE else ""
    if _is_open(workload):
        most = f": at most {units.format_bytes(workload.total_bytes)}" if workload.total_bytes else ""
        yield f"size auto{most}"
    elif workload.limit_bytes:
        yield f"until {units.format_bytes_exact(workload.limit_bytes)} are moved{end}"
    if workload.duration_s:
        yield f"for {workload.duration_s:g} s{end}"


def cell_steps(cell: Cell, site: Site, filesystem: Filesystem | None, array_uuid: str = "") -> tuple[Step, ...]:
    """Return all steps of a cell; filesystem is None for a raw row, which has streams instead."""
    steps = list(_beginning(cell, site, array_uuid))
    if filesystem is not None:
        steps.extend(_filesystem_life(cell, site.target, filesystem))
    elif cell.variant.is_raw:
        steps.extend(_raw_life(cell, site.target))
    if site.array is not None:
        paths = [member.path for member in site.members]
        commands = (stop_command(ARRAY_PATH), *map(zero_command, paths))
        changes = f"stops {ARRAY_PATH}, clears the superblocks on {', '.join(paths)}"
        steps.append(Step(StepKind.ARRAY_STOP, f"take {ARRAY_PATH} apart", commands, changes))
    steps.append(Step(StepKind.RELEASE, "release everything that was acquired"))
    return tuple(steps)


def _beginning(cell: Cell, site: Site, array_uuid: str) -> Iterator[Step]:
    """Yield the steps before the filesystem: an array is made of members that are alike, then has its settings.

    A raw row's pilot, which only the first of them makes, comes before the device is made equal.
    """
    pilot = (raw.pilot_step(site.target),) if cell.variant.is_raw else ()
    if site.array is None:
        yield Step(StepKind.GATE, f"verify that {site.target.path} is the device that was agreed to")
        yield from pilot
        yield from _settings(dict(cell.setting.values), site.target)
        yield from _equalise(site.target, cell.equalise)
        return
    paths = [member.path for member in site.members]
    yield Step(StepKind.GATE, f"verify that {', '.join(paths)} are the devices that were agreed to")
    for member in site.members:
        for step in _equalise(member, cell.equalise):
            yield replace(step, device=member.path)
    yield from making_steps(site.array, paths, array_uuid)
    yield from pilot
    yield from _settings(dict(cell.setting.values), site.target)


def _raw_life(cell: Cell, target: TargetSpec) -> Iterator[Step]:
    """Yield the writes, then the reads of what they wrote, then the read test.

    Settings of a workload's own hold for streams of its own, or these would be no reference for it.
    """
    for kind in (StepKind.RAW_WRITE, StepKind.RAW_READ):
        for number, depths in product(cell.raw_parts, (RAW_DEPTHS[:1], RAW_DEPTHS)):
            if kind is StepKind.RAW_WRITE:
                yield Step(StepKind.QUIESCE, _QUIESCE, workload=number)
            step = replace(raw.stream_step(kind, target, cell.workloads, depths), workload=number)
            yield from _with_own_settings(cell, target, number, (step,))
    yield raw.readtest_step(target)


def _filesystem_life(cell: Cell, target: TargetSpec, filesystem: Filesystem) -> Iterator[Step]:
    device = target.path
    mount = words.mount_command(filesystem, cell.variant, device, MOUNT_POINT)
    unmount = words.filled(filesystem.commands.unmount, mount_point=MOUNT_POINT)
    make = words.make_commands(filesystem, cell.variant, device, cell.uuid)
    yield Step(StepKind.MKFS, f"make {filesystem.name} on {device}", make, f"formats {device}")
    features = words.filled(filesystem.commands.features, device=device)
    yield Step(StepKind.FEATURES, "read back what mkfs made", (features,))
    check = words.filled(filesystem.commands.check, device=device)
    if cell.after.check and check:
        yield Step(StepKind.CHECK_EMPTY, f"check the empty {filesystem.name} in full", (check,))
    yield Step(StepKind.MOUNT, f"mount {device}", (mount,), f"mounts {device}", " ".join(unmount))
    if cell.age is not None:
        title = f"age {device}: {cell.age.words} of its size with files of mixed sizes, half of their bytes removed each time"
        yield Step(StepKind.AGE, title, changes=f"writes below {AGED_TREE}")
    for number in range(len(cell.workloads)):
        steps = load_steps(number, cell, device, mount, unmount)
        yield from _with_own_settings(cell, target, number, steps)
    if cell.after.extents:
        yield from _extents(cell, mount, unmount)
    yield Step(StepKind.UNMOUNT, f"unmount {device}", (unmount,))
    quick = words.filled(filesystem.commands.recover, device=device)
    if cell.after.quick_check and quick:
        yield Step(StepKind.QUICK_CHECK, f"drop all caches, check the clean {filesystem.name} unforced", (quick,))
    if cell.after.extents:
        yield from _extent_lists(cell, filesystem)
    if cell.after.check and check:
        yield Step(StepKind.CHECK, f"check {filesystem.name} in full", (check,))
    if cell.after.crash:
        yield from _crashes(cell, target, filesystem, check if cell.after.check else ())
    if cell.after.delete is not DeleteWith.NONE:
        changes, undo = f"mounts {device}", " ".join(unmount)
        yield Step(StepKind.COLD_MOUNT, "drop all caches, then mount", (mount,), changes, undo)
        is_rm = cell.after.delete is DeleteWith.RM
        argvs = (words.filled(filesystem.commands.delete, tree=TREE),) if is_rm else ()
        how = "" if is_rm else ", entry by entry (scandir, unlinkat)"
        yield Step(StepKind.DELETE, f"remove {TREE}{how}", argvs, f"removes {TREE}")
        title = f"unmount {device}, then fsync of it: one flush"
        yield Step(StepKind.DELETE_UNMOUNT, title, (unmount,))


def _extents(cell: Cell, mount: Argv, unmount: Argv) -> Iterator[Step]:
    yield Step(StepKind.REMOUNT, "unmount and mount, which trims preallocation", (unmount, mount))
    # One count of all files, or where several workloads make some, one for each of them.
    for maker in _makers(cell):
        of = "" if maker is None else f" of {cell.workloads[maker].name}"
        yield Step(StepKind.EXTENTS, f"count the extents of every file{of}", workload=maker)


def _makers(cell: Cell) -> Sequence[int | None]:
    makers = [n for n, load in enumerate(cell.workloads) if load.creates or load.kind not in BUILT_IN]
    return makers if len(makers) > 1 else (None,)


def _extent_lists(cell: Cell, filesystem: Filesystem) -> Iterator[Step]:
    """Yield the look at extent lists; which inodes is only known when the files are there."""
    if filesystem.extent_lists:
        for maker in _makers(cell):
            of = "" if maker is None else f" of {cell.workloads[maker].name}"
            title = f"read the extent lists of up to 64 files{of} with {filesystem.extent_lists}, read-only"
            yield Step(StepKind.EXTENT_LISTS, title, workload=maker)


CRASH_BYTES = 32 * MIB
_CRASH_SHARE = 16
_CRASH_FILE_BYTES = 16 * KIB
_CRASH_WRITERS = 4


def crash_load(size_bytes: int) -> Workload:
    """Return the load of a crash on a device of that size (0: not known), which takes a sixteenth of it at most."""
    room = min(CRASH_BYTES, size_bytes // _CRASH_SHARE if size_bytes else CRASH_BYTES)
    files, per_thread = max(64, room // _CRASH_FILE_BYTES), Directories(Layout.PER_THREAD)
    return Workload("strike", WorkloadKind.CREATE, _CRASH_WRITERS, files, _CRASH_FILE_BYTES, 4 * KIB, per_thread)


_NO_JOURNAL = "without a journal what is in memory is written at the unmount"


def crash_objection(cell: Cell, filesystem: Filesystem | None) -> str:
    """Return why a shutdown can't stand for a power loss on a cell's filesystem; empty if it can."""
    if filesystem is None:
        return "there is no filesystem"
    return _NO_JOURNAL if _lacks_journal(cell) else filesystem.no_shutdown


def _lacks_journal(cell: Cell) -> bool:
    return "^has_journal" in ",".join(cell.variant.mkfs_words).split(",")


def crash_device(cell: Cell) -> str:
    """Return the path of the crash test's device-mapper device, unique to this run and cell."""
    return f"/dev/mapper/{crash_name(cell.uuid)}"


def crash_name(uuid: str) -> str:
    """Return the name and UUID of a cell's device-mapper device."""
    return f"fsconsole-{uuid}"


def _flakey(cell: Cell, target: TargetSpec) -> tuple[tuple[Argv, ...], tuple[Argv, ...]]:
    """Return the commands that map dm-flakey over a target, and those that make it drop all writes.

    Up or down for an hour from its start (Documentation/admin-guide/device-mapper/dm-flakey.rst). Without --nolockfs a
    suspend writes out the filesystem.
    """
    name, table = crash_name(cell.uuid), f"0 {target.size_bytes // SECTOR_BYTES} flakey {target.path} 0"
    create = ("dmsetup", "create", name, "--uuid", name, "--table", f"{table} 3600 0")
    drop = ("dmsetup", "load", name, "--table", f"{table} 0 3600 1 drop_writes")
    # Without udevd dmsetup create makes no node in /dev/mapper.
    return (create, ("dmsetup", "mknodes", name)), (
        ("dmsetup", "suspend", "--nolockfs", name),
        drop,
        resume_command(cell.uuid),
    )


def resume_command(uuid: str) -> Argv:
    """Return the command that has a cell's device-mapper device go on, with the table that was loaded last."""
    return ("dmsetup", "resume", crash_name(uuid))


def remove_command(uuid: str) -> Argv:
    """Return the command that removes a cell's device-mapper device; what it held stays on the target."""
    return ("dmsetup", "remove", "--retry", crash_name(uuid))


def _crashes(cell: Cell, target: TargetSpec, filesystem: Filesystem, check: Argv) -> Iterator[Step]:
    """Yield a load that is struck, the recovery and the comparison, for each way of recovery.

    Each has a strike of its own, since the first recovery replays the journal, and a copy of the device to recover twice
    from needs another device.
    """
    device, load = target.path, crash_load(target.size_bytes)
    mount = words.mount_command(filesystem, cell.variant, device, MOUNT_POINT)
    unmount = words.filled(filesystem.commands.unmount, mount_point=MOUNT_POINT)
    size = units.format_bytes_exact(load.file_size_bytes)
    title = f"{load.threads} writers of {load.files} files of {size}, every other one synced; halfway "
    if crash_objection(cell, filesystem):
        if cell.array is not None or not target.size_bytes:
            return
        before, strike = _flakey(cell, target)
        through = words.mount_command(filesystem, cell.variant, crash_device(cell), MOUNT_POINT)
        argvs = (*before, through, *strike, unmount, remove_command(cell.uuid))
        title += "dm-flakey drops all writes (if this kernel has it)"
    else:
        argvs, title = (mount, unmount), f"{title}shut down without a flush"
    recover = words.filled(filesystem.commands.recover, device=device)
    repair = words.filled(filesystem.commands.repair, device=device)
    replays = filesystem.mount_replays and not _lacks_journal(cell)
    for replay in (*([()] if replays else []), *([recover] if recover else [])):
        changes, undo = f"mounts {device}, writes below {CRASH_TREE}", " ".join(unmount)
        yield Step(StepKind.CRASH_LOAD, title, argvs, changes, undo)
        or_by_hand = f" (if that gives up, by {' '.join(repair[:-1])})" if repair else ""
        how = f"recover by {' '.join(replay[:-1])}{or_by_hand}, then mount" if replay else "recover by mount"
        commands = (*filter(None, (replay, repair)), mount) if replay else (mount,)
        yield Step(StepKind.RECOVER, f"drop all caches, then {how}", commands, f"mounts {device}", undo)
        checked = ", unmount, check in full" if check else ", unmount"
        commands = (unmount, check) if check else (unmount,)
        title_of = f"compare each file with what was written and synced, remove {CRASH_TREE}{checked}"
        yield Step(StepKind.CRASH_VERIFY, title_of, commands, f"removes {CRASH_TREE}")


def _settings(values: dict[str, str], target: TargetSpec) -> Iterator[Step]:
    if values:
        writes = writes_of(values, target)
        yield Step(StepKind.SETTINGS, f"set {_in_words(values)}", changes=_CHANGES, undo=_UNDO, writes=writes)


def _with_own_settings(cell: Cell, target: TargetSpec, number: int | None, steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a workload, between those that set its own settings and write the old ones back."""
    workload = None if number is None else cell.workloads[number]
    if workload is None or not workload.settings:
        yield from steps
    else:
        title = f"for {workload.name} alone, set {_in_words(dict(workload.settings))}"
        writes = writes_of(own_values(cell.setting, workload.settings), target)
        yield Step(StepKind.SETTINGS, title, (), _CHANGES, _UNDO, number, writes)
        yield from steps
        title = f"write back what was set for {workload.name} alone"
        yield Step(StepKind.SETTINGS_BACK, title, changes=_CHANGES, workload=number)


def _in_words(values: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


SETTLE_LEAST_S = 6.0
"""Reads of a flash device before its discard and after it, 3 s each; those after it may go on for 60 s."""


def _equalise(target: TargetSpec, equalise: Equalise) -> Iterator[Step]:
    device = target.path
    argv: tuple[str, ...]
    if equalise is Equalise.PRECONDITION:
        argv = ("shred", "-n", "2", device)
        title, changes = f"fill {device} with random data, twice", f"overwrites all of {device}, twice"
    elif not target.keeps_blocks and equalise is not Equalise.NONE:
        argv = ("shred", "-n", "0", "-z", device)
        title, changes = f"overwrite {device} with zeros", f"overwrites all of {device}"
    elif equalise is Equalise.ZERO or (equalise is Equalise.DISCARD and target.is_scratch):
        argv = ("blkdiscard", "-z", "-f", device)
        kept = ", its file keeps its blocks" if target.is_scratch else ""
        title, changes = f"zero all of {device}{kept}", f"zeroes all of {device}"
    elif equalise is Equalise.DISCARD:
        argv = ("blkdiscard", "-f", device)
        wait = ", then wait until reads are as fast as before" if target.is_flash else ""
        title, changes = f"discard all of {device}{wait}", f"discards all of {device}"
    else:
        return
    least_s = SETTLE_LEAST_S if equalise is Equalise.DISCARD and target.is_flash else 0.0
    yield Step(StepKind.EQUALISE, title, (argv,), changes, least_s=least_s)
