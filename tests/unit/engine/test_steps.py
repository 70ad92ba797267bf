"""Steps: reasons from the kernel log, lost devices, killed programs, extents, quiesce, settings, a cell's own array."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, count, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.devices.md import SyncState, parse_mdstat
from fsconsole.devices.settings import Kernel
from fsconsole.engine import runner, warnings_machine
from fsconsole.engine.control import Requests
from fsconsole.engine.hangs import HangDetector
from fsconsole.engine.steps import arrays, layout, life, load, settings
from fsconsole.engine.steps.arrays import make, wait_until_in_step
from fsconsole.engine.steps.life import release
from fsconsole.engine.steps.load import quiesce
from fsconsole.engine.warnings_load import with_killed
from fsconsole.engine.warnings_machine import degraded_words
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult
from fsconsole.errors.runs import JournalFull, KernelLacks, KernelUnreadable
from fsconsole.errors.targets import DeviceHangs
from fsconsole.inspect.layout import LayoutRecorder
from fsconsole.model import events
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import ArraySpec, Step, StepKind, Write
from fsconsole.model.state import HeldSetting
from fsconsole.text import MIB
from fsconsole.workloads import run_directory
from fsconsole.workloads.tree import DIRECTORY_FLAGS
from tests.unit.results import build

KILLED = "Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB, UID:0"
LOAD, MKFS = Step(StepKind.WORKLOAD, "load"), Step(StepKind.MKFS, "format", (("mkfs.ext4", "/dev/sdz"),))
FAILED = StepResult(outcome=events.Outcome.FAILED, reason="it ended with signal 9")


class Work:
    """A cell's work as far as these functions look at it."""

    def __init__(self, *lines: str, exit_code: int = 0, err: str = "") -> None:
        self.kernel_log = SimpleNamespace(lines=lambda: lines)
        self.warnings: list[tuple[events.WarningKind, str, str]] = []
        self.cell = SimpleNamespace(target="/dev/sdz", variant=SimpleNamespace(filesystem="btrfs"))
        self.run = SimpleNamespace(sampler=SimpleNamespace(gauges=SimpleNamespace(watch_bdi=lambda _: None)))
        self.mounted_device: int | None = 5
        self._result = CommandResult(
            argv=("tool",), exit_code=exit_code, stdout=b"", stderr=err.encode(),
            usage=ResourceUsage(0.5, 0.0, 0.0, 0), kernel_log=lines,
        )  # fmt: skip

    def warn(self, *warning: tuple[events.WarningKind, str, str]) -> None:
        self.warnings.append(warning)  # type: ignore[arg-type]

    def command(self, _argv: tuple[str, ...], **_how: bool) -> CommandResult:
        return self._result


def test_every_kind_of_step_has_its_handler() -> None:
    assert set(runner.HANDLERS) == set(StepKind)


def test_a_load_whose_generator_was_killed_for_want_of_memory_says_so_with_a_hint() -> None:
    work = Work("before", KILLED)
    result = with_killed(work, LOAD, FAILED, 1)  # type: ignore[arg-type]
    assert result.reason == "the generator was killed (out of memory): it ended with signal 9"
    ((kind, reason, hint),) = work.warnings
    assert kind is events.WarningKind.KERNEL_LOG
    assert reason == "workload: the generator was killed (out of memory)"
    assert "fewer threads" in hint


def test_any_other_program_that_was_killed_in_the_step_is_named_if_the_step_failed() -> None:
    result = with_killed(Work(KILLED), MKFS, FAILED, 0)  # type: ignore[arg-type]
    assert result.reason.startswith("python3 was killed (out of memory): ")
    for same, said_before in ((FAILED, 1), (StepResult(), 0)):
        work = Work(KILLED)
        assert with_killed(work, LOAD, same, said_before) is same  # type: ignore[arg-type]
        assert work.warnings == []


def test_an_unmount_in_which_writes_were_lost_fails_though_umount_said_yes() -> None:
    work = Work("XFS (sdz): Unmounting Filesystem", "XFS (sdz): log I/O error -5")
    with pytest.raises(StepFailed, match=r"umount succeeded, but the kernel logged: XFS \(sdz\): log I/O error -5"):
        life.unmount(work, ("umount", "/mnt"))  # type: ignore[arg-type]
    assert work.mounted_device is None
    # Errors of another disk are none of this filesystem.
    work = Work("I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2")
    assert life.unmount(work, ("umount", "/mnt")) == 0.5  # type: ignore[arg-type]


CHECK = Step(StepKind.CHECK, "check", (("btrfs", "check", "--readonly", "/dev/sdz"),))
NO_BTRFS = "No valid Btrfs found on /dev/sdz"


def test_a_check_says_in_its_own_words_what_it_found_or_why_it_found_nothing() -> None:
    said = f"Opening filesystem to check...\n{NO_BTRFS}\nERROR: cannot open file system\n"
    unread = "Buffer I/O error on dev sdz, logical block 16, async page read"
    cases = (
        (Work(exit_code=1, err=said), "errors", f"the check found damage: {NO_BTRFS}"),
        # What looks like damage on a disk that can't be read is no verdict on the filesystem.
        (Work(unread, exit_code=1, err=NO_BTRFS), "failed", f"the check could not run: {NO_BTRFS}"),
        (Work(exit_code=-9), "failed", "the check could not run: tool failed with signal 9: no output"),
    )
    for work, verdict, reason in cases:
        result = life.check(work, CHECK)  # type: ignore[arg-type]
        assert (result.verdict, result.reason) == (verdict, reason)
        assert [(kind, words) for kind, words, _ in work.warnings] == [(events.WarningKind.CHECK, reason)]


def test_a_step_that_fails_for_want_of_a_file_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_work: CellWork, _step: Step) -> StepResult:
        raise FileNotFoundError(2, "No such file or directory", "/srv/scratch.img")

    monkeypatch.setitem(runner.HANDLERS, StepKind.GATE, fail)
    run = SimpleNamespace(detector=HangDetector(), requests=Requests())
    work = cast("CellWork", SimpleNamespace(run=run, cell=build.cell(0)))
    result = runner._handled(work, Step(StepKind.GATE, "prove it"))
    assert (result.outcome, result.reason) == (events.Outcome.FAILED, "/srv/scratch.img: No such file or directory")


MEASURED = StepResult((Measurement(Metric.READ, 9e9),))


WORKLOAD = next(number for number, step in enumerate(build.STEPS) if step.kind is StepKind.WORKLOAD)
DELETE = next(number for number, step in enumerate(build.STEPS) if step.kind is StepKind.DELETE)


def on_a_device_that_is_gone(number: int, steps: tuple[Step, ...]) -> StepResult:
    run = SimpleNamespace(prover=SimpleNamespace(absence=lambda _path: "is gone"))
    cell = replace(build.cell(0), steps=steps)
    work = SimpleNamespace(run=run, cell=cell, step_number=number)
    return runner._with_absence(cast("CellWork", work), MEASURED)


def test_a_step_has_failed_where_its_device_is_gone_once_the_clock_has_stopped() -> None:
    steps = tuple(step for step in build.STEPS if step.kind is not StepKind.DRAIN)
    failed = StepResult(outcome=events.Outcome.FAILED, reason="/dev/loop7 is gone")
    assert on_a_device_that_is_gone(WORKLOAD, steps) == failed
    assert on_a_device_that_is_gone(DELETE - 1, steps) == failed
    steps = (*build.STEPS, Step(StepKind.DELETE_UNMOUNT, "unmount"))
    assert on_a_device_that_is_gone(WORKLOAD, steps) == MEASURED
    assert on_a_device_that_is_gone(DELETE, steps) == MEASURED
    assert on_a_device_that_is_gone(WORKLOAD + 1, steps).outcome is events.Outcome.FAILED
    assert on_a_device_that_is_gone(DELETE + 1, steps).outcome is events.Outcome.FAILED


KILLED_CHECK = Step(StepKind.CHECK, "check it")


def handled(monkeypatch: pytest.MonkeyPatch, *, hangs: bool, verb: events.Verb | None = None) -> StepResult:
    detector, requests = HangDetector(), Requests()
    if verb is not None:
        requests.cell_begins(events.InCell(0, 1))
        requests.take(events.ControlRequested(verb, events.InCell(0, 1)))

    def check(_work: CellWork, _step: Step) -> StepResult:
        if hangs:
            detector.hang = DeviceHangs("/dev/sdx", "fsck.ext4", "4 min", " in check", "a-run")
        return StepResult(verdict="failed")

    monkeypatch.setitem(runner.HANDLERS, StepKind.CHECK, check)
    run = SimpleNamespace(detector=detector, requests=requests)
    return runner._handled(cast("CellWork", SimpleNamespace(run=run, cell=build.cell(0))), KILLED_CHECK)


def test_a_check_that_was_killed_for_a_hang_has_failed_unless_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = handled(monkeypatch, hangs=True)
    assert (result.outcome, result.measurements) == (events.Outcome.FAILED, ())
    assert "/dev/sdx" in result.reason
    assert handled(monkeypatch, hangs=True, verb=events.Verb.STOP_NOW).outcome is events.Outcome.STOPPED
    # Any other check is done, whatever it says.
    assert handled(monkeypatch, hangs=False).outcome is events.Outcome.DONE


def test_a_filesystem_without_extent_maps_has_a_warning_and_the_cell_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / life.TREE_NAME).mkdir()
    warnings: list[tuple[events.WarningKind, str, str]] = []
    work = SimpleNamespace(warn=lambda *warning: warnings.append(warning))

    def survey_tree(fd: int, record: object) -> None:
        raise KernelLacks(what="extent maps of this filesystem", why="not supported", remedy="Use another.")

    monkeypatch.setattr(life, "open_mount", lambda _: os.open(tmp_path, os.O_RDONLY))
    monkeypatch.setattr(life, "survey_tree", survey_tree)
    monkeypatch.setattr(layout, "recorder_of", lambda *_: LayoutRecorder(0, 0))
    result = life.survey(work, SimpleNamespace(workload=None))  # type: ignore[arg-type]
    assert (result.outcome, result.measurements) == (events.Outcome.DONE, ())
    ((kind, reason, hint),) = warnings
    assert kind is events.WarningKind.NOT_IN_EFFECT
    assert "extents were not counted: This kernel does not offer extent maps" in reason
    assert hint == "Use another."


STEP, DRAIN = Step(StepKind.QUIESCE, "wait"), Step(StepKind.DRAIN, "drain")


def waited_s(dirty_bytes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, list[events.WarningKind]]:
    """Wait with that much dirty all the time; return the seconds and the warnings that it took."""
    now_s, warned = [0.0], []

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    monkeypatch.setattr(load.os, "sync", lambda: None)
    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    writeback = SimpleNamespace(dirty_bytes=dirty_bytes - MIB, writeback_bytes=MIB)
    monkeypatch.setattr(load, "read_writeback", lambda: writeback)
    run = SimpleNamespace(requests=SimpleNamespace(interrupting=False))
    work = SimpleNamespace(run=run, cell=build.cell(0), own=None, warn=lambda kind, *_: warned.append(kind))
    quiesce(cast("CellWork", work), STEP)
    return now_s[0], warned


def test_8_mib_dirty_are_a_machine_at_rest_and_more_is_waited_for_a_minute_and_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert waited_s(8 * MIB, monkeypatch) == (0.0, [])
    seconds, warned = waited_s(9 * MIB, monkeypatch)
    assert 60 < seconds < 61
    assert warned == [events.WarningKind.OTHER_IO]


class Written(Exception):
    """The drain has written all that it writes."""


def test_the_drain_in_a_directory_is_the_fsync_of_its_own_files_and_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").write_text("dirty")
    own = run_directory.make(str(tmp_path), os.open(tmp_path, DIRECTORY_FLAGS), "20261123-000000-abcd")
    (Path(own.tree) / "inner").mkdir()
    for name in ("one", "inner/two"):
        (Path(own.tree) / name).write_text("dirty")
    (Path(own.tree) / "link").symlink_to(tmp_path / "others")
    synced: list[int] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        real(fd)

    def written() -> None:
        raise Written

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(load, "syncfs", lambda _fd: pytest.fail("it would wait for what others have written"))
    run = SimpleNamespace(requests=SimpleNamespace(interrupting=False))
    window = SimpleNamespace(traffic=SimpleNamespace(close=written))
    with pytest.raises(Written):
        load.drain(cast("CellWork", SimpleNamespace(own=own, run=run, window=window)), DRAIN)
    trees = [Path(own.tree, name) for name in ("", "one", "inner", "inner/two")]
    assert sorted(synced) == sorted(path.stat().st_ino for path in trees)
    run_directory.remove(own)
    own.close()


RECORDED = Path(__file__).parents[2] / "data" / "mdstat"


def test_the_warning_of_a_degraded_array_counts_what_is_missing() -> None:
    (array,) = parse_mdstat((RECORDED / "6.1.192-raid5-failed-member.txt").read_text())
    assert array.degraded
    assert degraded_words(array) == "the array /dev/md0 lacks 1 of its 3 members"


@pytest.mark.root
def test_what_is_mounted_is_known_by_its_number_whatever_its_node_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, minor in (("dm-0", 200), ("mapped", 200), ("other", 201)):
        os.mknod(tmp_path / name, 0o600 | stat.S_IFBLK, os.makedev(253, minor))
    work = Work()
    work.stack, work.mount_point = ExitStack(), str(tmp_path)  # type: ignore[attr-defined]
    work.run.places = SimpleNamespace(debug="")
    work.cell.target = str(tmp_path / "dm-0")
    monkeypatch.setattr(work.stack, "callback", lambda *_: None)  # type: ignore[attr-defined]
    for name, is_it in (("mapped", True), ("other", False)):
        entry = SimpleNamespace(source=str(tmp_path / name))
        monkeypatch.setattr(life, "mounted_at", lambda _point, entry=entry: entry)
        with nullcontext() if is_it else pytest.raises(StepFailed, match="is not what is mounted"):
            life.mount(work, ("mount",))  # type: ignore[arg-type]


QUEUE = "/sys/block/sdx/queue"
VALUES = {f"{QUEUE}/read_ahead_kb": "128", f"{QUEUE}/scheduler": "none", f"{QUEUE}/nr_requests": "64"}
SETTINGS = Step(
    StepKind.SETTINGS,
    "set",
    writes=(
        Write("read_ahead", f"{QUEUE}/read_ahead_kb", "2048"),
        Write("scheduler", f"{QUEUE}/scheduler", "bfq"),
        Write("nr_requests", f"{QUEUE}/nr_requests", "32"),
    ),
)


@dataclass
class FullJournal:
    """Keeps what it is told, with what every setting was at that instant; full from a kind of observation on."""

    root: Path
    full_at: type[events.Observation] | None = None
    told: list[tuple[events.Observation, dict[str, str], bool]] = field(default_factory=list)

    def record(self, observation: events.Observation, *, durable: bool = True) -> None:
        if self.full_at is not None and isinstance(observation, self.full_at):
            raise JournalFull(path="journal")
        self.told.append((observation, values(self.root), durable))


@dataclass
class SettingsWork:
    """As much of a cell's work as settings need."""

    journal: FullJournal
    stack: ExitStack = field(default_factory=ExitStack)
    settings: list[HeldSetting] = field(default_factory=list)
    step_number: int = 1
    warned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cell = SimpleNamespace(index=0, steps=(Step(StepKind.GATE, "gate"), SETTINGS))
        self.run = SimpleNamespace(journal=self.journal, attempt=1)

    def warn(self, _kind: object, reason: str, _hint: str) -> None:
        self.warned.append(reason)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path, value in {**VALUES, "/sys/block/sdx/dev": "8:16"}.items():
        place = Path(f"{tmp_path}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(value)
    monkeypatch.setattr(settings, "_KERNEL", Kernel(str(tmp_path)))
    return tmp_path


def values(root: Path) -> dict[str, str]:
    return {path: place.read_text() for path in VALUES if (place := Path(f"{root}{path}")).exists()}


def test_the_old_value_is_written_down_durably_before_the_new_one_is_set_and_comes_back_once(
    root: Path,
) -> None:
    work = SettingsWork(FullJournal(root))
    settings.set_all(work, SETTINGS)
    taken = [
        (seen, then, durable) for seen, then, durable in work.journal.told if isinstance(seen, events.SettingTaken)
    ]
    assert [seen.name for seen, _, _ in taken] == ["read_ahead", "nr_requests", "scheduler", "nr_requests"]
    assert all(durable and then[seen.path] == seen.old for seen, then, durable in taken)
    assert values(root) == {write.path: write.value for write in SETTINGS.writes}
    shown = [seen.value for seen, _, _ in work.journal.told if isinstance(seen, events.SettingSeen)]
    assert shown == ["2048", "bfq", "32"]
    # All comes back in reverse, once.
    settings.set_back(work, SETTINGS)
    assert values(root) == VALUES
    returned = [seen.path for seen, _, _ in work.journal.told if isinstance(seen, events.SettingReturned)]
    names = ["nr_requests", "scheduler", "nr_requests", "read_ahead_kb"]
    assert returned == [f"{QUEUE}/{name}" for name in names]
    work.stack.close()
    assert len(work.journal.told) == 4 + 3 + 4


@pytest.mark.parametrize("kind", [events.SettingReturned, events.SettingSeen, events.SettingTaken])
def test_a_full_journal_keeps_no_setting_from_coming_back_and_nothing_is_set_unjournalled(root, kind):
    work = SettingsWork(FullJournal(root, full_at=kind))
    with pytest.raises(JournalFull), work.stack:
        settings.set_all(work, SETTINGS)
    assert (work.journal.told == []) == (kind is events.SettingTaken)
    assert values(root) == VALUES


def test_a_setting_that_the_device_does_not_have_fails_the_cell_by_its_name(root: Path) -> None:
    work = SettingsWork(FullJournal(root))
    missing = f"{QUEUE}/nr_requests"
    Path(f"{root}{missing}").unlink()
    with pytest.raises(StepFailed, match="nr_requests can't be read: No such file"), work.stack:
        settings.set_all(work, SETTINGS)
    assert Path(f"{root}{QUEUE}/read_ahead_kb").read_text() == "128"


def test_what_changes_before_a_load_is_warned_of_and_left(root: Path) -> None:
    work = SettingsWork(FullJournal(root))
    with work.stack:
        settings.set_all(work, SETTINGS)
        Path(f"{root}{QUEUE}/scheduler").write_text("kyber")
        # A file system of its own has none of its own read-ahead here.
        work.mount_point = "/nowhere"
        settings.about_to_load(work)
        assert work.warned == [f"{QUEUE}/scheduler became kyber while the cell ran; it had been set to bfq"]
    assert values(root)[f"{QUEUE}/scheduler"] == "kyber"
    assert any("which this run did not set" in reason for reason in work.warned)


LACKS = "the array /dev/md400 lacks 1 of its 3 members when the cell ended"
MEMBERS = ("vda", "vdb")
ARRAY = Step(StepKind.ARRAY, "make it", (("mdadm", "--create"),))
BEHIND = SyncState("recover", False, MEMBERS, (), 1.0, is_at_work=True)
IN_STEP = SyncState("idle", True, MEMBERS, (), 0.0, is_at_work=False)
FAULTY = SyncState("recover", False, MEMBERS, ("vdb",), 1.0, is_at_work=True)
DELAYED = SyncState("resync", False, MEMBERS, (), 0.0, is_at_work=False)
TAKEN_OUT = SyncState("idle", False, ("vda",), (), 0.0, is_at_work=False)
"""As udev leaves it when a disk is pulled (64-md-raid-assembly.rules: mdadm -If)."""


class Life:
    """A cell on an array of its own, in which all but md itself is real enough."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened: list[str] = []
        self.releases: list[tuple[str, ...]] = []
        self.states: Iterator[SyncState] = repeat(IN_STEP)
        self.ended: Iterator[object] = repeat("the same")
        self.stack = ExitStack()
        clock = count(0, 100)
        monkeypatch.setattr(arrays, "require_free_array_name", lambda: None)
        monkeypatch.setattr(arrays, "is_left_empty", lambda _: False)
        monkeypatch.setattr(arrays, "require_own", lambda *_: None)
        monkeypatch.setattr(arrays, "sync_state", lambda _: next(self.states))
        monkeypatch.setattr(arrays, "hang_timeout_s", lambda: 240.0)
        monkeypatch.setattr(arrays, "ended_io", lambda _names: next(self.ended))
        times = SimpleNamespace(sleep=lambda _s: None, monotonic=lambda: float(next(clock)))
        monkeypatch.setattr(arrays, "time", times)
        monkeypatch.setattr(arrays.warnings_machine, "about_array", lambda _: None)
        monkeypatch.setattr(arrays, "_dismantle", lambda _: self.happened.append("taken apart"))
        monkeypatch.setattr(warnings_machine, "about_end", lambda *_: self.happened.append("told"))

    def work(self, *, assume_clean: bool = False, interrupting: bool = False) -> CellWork:
        gauges = SimpleNamespace(devices=SimpleNamespace(watch=lambda _: None))
        run = SimpleNamespace(
            prover=SimpleNamespace(),
            sampler=SimpleNamespace(gauges=gauges, tell_progress=lambda _: None),
            requests=SimpleNamespace(
                cell_releases=lambda: self.releases.append(tuple(self.happened)), interrupting=interrupting
            ),
            request=SimpleNamespace(run_id="run"),
            known_of_all=frozenset(),
            executor=None,
        )
        spec = ArraySpec("raid5", assume_clean=assume_clean)
        cell = SimpleNamespace(target="/dev/null", index=0, members=("/dev/vda", "/dev/vdb"), array=spec)
        return cast(
            "CellWork",
            SimpleNamespace(run=run, cell=cell, stack=self.stack, command=lambda _: None, wipe=lambda *_: None),
        )

    def wait(self, *states: SyncState, ended: Iterable[object] = ()) -> None:
        self.states, self.ended = iter(states), chain(ended, repeat("the same"))
        wait_until_in_step(self.work(), ARRAY)


@pytest.fixture
def lived(monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    made = Life(monkeypatch)
    yield made
    made.stack.close()


def test_what_an_array_lacks_is_told_while_it_is_still_there(lived: Life) -> None:
    work = lived.work()
    make(work, ARRAY)
    wait_until_in_step(work, ARRAY)
    release(work, ARRAY)
    lived.stack.close()
    assert lived.happened == ["told", "taken apart"]
    # From before anything is given back: a stop ends none of the programs that do it.
    assert lived.releases == [()]


@pytest.mark.parametrize("assume_clean", [False, True])
def test_a_cell_that_fails_has_the_same_warning_after_all_else_was_given_back(lived, assume_clean):
    work = lived.work(assume_clean=assume_clean)
    make(work, ARRAY)
    if not assume_clean:
        wait_until_in_step(work, ARRAY)
    work.stack.callback(lived.happened.append, "unmounted")
    # A step fails: the engine leaves the cell's stack.
    lived.stack.close()
    assert lived.happened == ["unmounted", "told", "taken apart"]


def test_an_array_that_was_not_in_step_yet_lacks_nothing_that_is_worth_a_word(lived: Life) -> None:
    lived.states, work = repeat(BEHIND), lived.work(interrupting=True)
    make(work, ARRAY)
    with pytest.raises(Interrupted):
        wait_until_in_step(work, ARRAY)
    lived.stack.close()
    assert lived.happened == ["taken apart"]


def test_an_mdstat_that_can_not_be_read_keeps_no_array(lived: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise KernelUnreadable(path="/proc/mdstat", line="?")

    monkeypatch.setattr(warnings_machine, "about_end", unreadable)
    make(lived.work(assume_clean=True), ARRAY)
    with pytest.raises(KernelUnreadable):
        lived.stack.close()
    assert lived.happened == ["taken apart"]


def test_a_wait_ends_when_the_array_is_in_step_or_never_can_be(lived: Life) -> None:
    lived.wait(BEHIND, BEHIND, IN_STEP)
    ends = {
        "lost the member vdb": (BEHIND, FAULTY),
        "it has 1 of its 2 members": (BEHIND, TAKEN_OUT),
        # Nobody waits for its members, of which no I/O ends.
        "no I/O of its members has completed": (BEHIND,) * 9,
    }
    for why, states in ends.items():
        with pytest.raises(StepFailed, match=why):
            lived.wait(*states)
    # It goes on while I/O ends and while another resync is waited for.
    lived.wait(*(BEHIND,) * 9, IN_STEP, ended=range(9))
    lived.wait(*(DELAYED,) * 9, IN_STEP)


def test_the_words_name_the_array_and_are_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = SimpleNamespace(name="md400", degraded=1, slots="UU_")
    monkeypatch.setattr(warnings_machine, "degraded_below", lambda _: (lacking,))
    said: list[str] = []
    work = cast(
        "CellWork",
        SimpleNamespace(device_name="md400", warn=lambda _kind, reason, _hint: said.append(reason)),
    )
    warnings_machine.about_end(work, frozenset())
    warnings_machine.about_end(work, frozenset({warnings_machine.degraded_words(lacking)}))  # type: ignore[arg-type]
    assert said == [LACKS]
