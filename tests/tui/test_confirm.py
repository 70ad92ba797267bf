"""Confirm: what is shown, what must be typed, that Enter alone wipes nothing, and how a start ends or is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Static

from fsconsole.client import children as client_children
from fsconsole.client.children import Done
from fsconsole.errors.runs import EngineNotListening
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import Verb
from fsconsole.tui.screens.confirm import ConfirmScreen, ResumeScreen
from fsconsole.tui.screens.dialogs import AskScreen
from tests.tui.device_lists import NO_DEVICES
from tests.tui.harness import SIZES, Late, Scripted, console, drive, picture
from tests.tui.living import living_run
from tests.tui.offers import SOURCE, hazard, said, target, ticks_of
from tests.tui.recorded import recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows, until

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
DISK = target("/dev/sdb", hazards=(hazard("/dev/sdb", "may be open"),))
NAME = "20261121-081000-k7qf"
FOLDER = RunFolder(f"/runs/{NAME}")
BEGUN = f'{{"run_id": "{NAME}", "folder": "/elsewhere"}}\n'
BEGIN = "Only scratch devices are wiped"


def run_ended(exit_code: int, out: str = "", err: str = "") -> Done:
    return Done(("run",), exit_code, out, err)


def starting(*waits: str, last: Done) -> Late:
    return Late({"devices": NO_DEVICES, "plan": said(SCRATCH)}, waits=waits, last=last)


@dataclass
class Held(Scripted):
    """Children that read the devices no sooner than they may."""

    read: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, *words: str) -> Done:
        if words[0] == "plan":
            await self.read.wait()
        return await super().run(*words)


@dataclass
class Shown:
    """A console with Confirm screens, what its children were asked, and what each screen ended with."""

    pilot: Pilot[None]
    children: Scripted
    ended: list[RunFolder | None] = field(default_factory=list)

    @property
    def begun(self) -> list[tuple[str, ...]]:
        """The commands that would wipe."""
        return [words for words in self.children.acted if words[0] in ("run", "resume") and "--show" not in words]

    def confirm(self, *ticked: dict[str, object], source: str = SOURCE) -> None:
        ticks = ticks_of(*ticked)
        self.pilot.app.session.ticks.update(ticks)
        self.open(ConfirmScreen("plan.toml", ticks, source))

    def open(self, screen: Screen[RunFolder | None]) -> None:
        self.pilot.app.push_screen(screen, self.ended.append)

    async def start(self) -> None:
        """Begin with the scratch device."""
        self.confirm(SCRATCH)
        await self.sees(BEGIN)
        await self.keys("f10")
        await self.sees("Escape cancels")

    async def keys(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def sees(self, *words: str) -> None:
        await shows(self.pilot, *words)

    async def its_end(self, *ended: RunFolder | None) -> None:
        await until(self.pilot, lambda: self.ended, "its end")
        assert self.ended == list(ended)


@asynccontextmanager
async def confirming(
    children: Scripted | Mapping[str, Done | str],
    *ticked: dict[str, object],
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[Shown]:
    """Show a console over children that answer so, and the Confirm screen of what is ticked."""
    known = children if isinstance(children, Scripted) else Scripted({"devices": NO_DEVICES, **children})
    async with drive(console(known, runs_dir="/runs"), size=size) as pilot:
        shown = Shown(pilot, known)
        await pilot.pause()
        if ticked:
            shown.confirm(*ticked)
        yield shown


@pytest.mark.parametrize("size", SIZES)
async def test_what_would_be_lost_is_shown_before_anything_else_and_escape_leaves_it(
    size: tuple[int, int],
) -> None:
    async with confirming({"plan": said(DISK, consent="CODE"), "run": BEGUN}, DISK, size=size) as shown:
        await shown.sees("would be LOST: ext4 '[/x]'", "may be open", "type sdb", "2 cells", "3.0 GiB")
        assert_looks_as_kept(shown.pilot, f"confirm-{size[0]}x{size[1]}")
        looks = ("plan", "plan.toml", "--device", "/dev/sdb", "--cell", "0", "--json", "--runs", "/runs")
        assert looks in shown.children.asked
        await shown.keys(*"sdb", "escape")
        await shown.its_end(None)
        assert shown.begun == []


async def test_another_run_that_goes_on_is_named_with_its_device_and_what_to_do_and_nothing_of_it_once_it_is_over(
    tmp_path: Path,
) -> None:
    children = Scripted({"devices": NO_DEVICES, "plan": said(DISK)})
    with living_run(tmp_path) as other:
        async with drive(console(children, runs_dir=tmp_path)) as pilot:
            shown = Shown(pilot, children)
            await shown.sees("A run is in progress")
            await shown.keys("escape")
            shown.confirm(DISK)
            await shown.sees("1 other run on this machine now", "two filesystems: cell 1 of 2", "on /dev/loop7")
            await shown.sees("disturb each other's figures", "Wait until it has ended", "or start all the same")
            await shown.sees("would be LOST: ext4", "type sdb")
            other.die()
            await shown.keys("f5")
            await until(pilot, lambda: "other run" not in picture(pilot), "the other run's end")
            await shown.sees("would be LOST: ext4")


async def test_where_only_scratch_devices_are_wiped_enter_starts_and_a_second_one_does_not_go_back() -> None:
    async with confirming(starting("release", last=run_ended(0, BEGUN)), SCRATCH) as shown:
        await shown.sees(BEGIN)
        await shown.keys("enter", "enter", "space", "enter")
        await shown.sees("Escape cancels")
        shown.children.release.set()
        await shown.its_end(FOLDER)
        seen = ("--seen", "PLAN0.SEEN0")
        words = ("run", "plan.toml", "--device", "/dev/loop0", *seen, "--detach", "--json", "--runs", "/runs")
        assert shown.begun == [words]


async def test_no_start_is_offered_before_it_works_and_keys_pressed_while_devices_are_read_say_so_and_begin_nothing() -> (
    None
):
    children = Held({"devices": NO_DEVICES, "plan": said(SCRATCH), "run": BEGUN})
    async with confirming(children, SCRATCH) as shown:
        await shown.sees("Reading the devices ...", "f5 Look again")
        for key in ("f10", "enter"):
            await shown.keys(key)
            await shown.sees("Still reading the devices.")
            assert "f10" not in picture(shown.pilot)
            shown.pilot.app.screen.query_one("#asking", Static).update("")
        children.read.set()
        await shown.sees(BEGIN, "f10 Wipe and run")
        children.read.clear()
        await shown.keys("f5")
        await shown.sees("Reading the devices ...")
        await until(shown.pilot, lambda: "f10" not in picture(shown.pilot), "no offer while it is read again")
        await shown.keys("enter")
        await shown.sees("Still reading the devices.")
        children.read.set()
        await shown.sees(BEGIN, "f10 Wipe and run")
        assert shown.begun == []


async def test_what_is_compared_is_named_and_no_start_is_offered_before_the_name_is_typed() -> None:
    async with confirming({"plan": said(DISK), "run": BEGUN}, DISK) as shown:
        await shown.sees("ext4 delalloc, ext4 nodelalloc", "type sdb")
        assert "f10 Wipe" not in picture(shown.pilot)
        await shown.keys(*"sdb")
        await shown.sees("f10 Wipe and run")
        await shown.keys("backspace")
        await until(shown.pilot, lambda: "f10 Wipe" not in picture(shown.pilot), "no offer without the name")


async def test_a_disk_is_wiped_only_when_its_name_was_typed() -> None:
    async with confirming({"plan": said(DISK, consent="CODE"), "run": BEGUN}, DISK) as shown:
        await shown.sees("type sdb")
        await shown.keys("f10", "enter", *"sda", "f10", "enter")
        await shown.sees("That is not the name. To wipe, type sdb, then F10 or Enter twice.")
        assert shown.begun == []
        await shown.keys("backspace", "b")
        await shown.sees("F10 starts, and so does Enter on Wipe and run.")
        assert "not the name" not in picture(shown.pilot)
        await shown.keys("enter")
        assert shown.begun == []
        await shown.keys("enter")
        await shown.its_end(FOLDER)
        (words,) = shown.begun
        assert words[words.index("--consent") + 1] == "CODE"


async def test_where_it_does_not_fit_nothing_is_agreed_to_and_the_size_that_is_needed_is_said() -> None:
    answers = {"plan": said(DISK, consent="CODE"), "run": BEGUN}
    async with confirming(answers, DISK, size=(60, 16)) as shown:
        await shown.sees("/dev/sdb", "would be LOST: ext4 '[/x]'", "type sdb")
        await shown.keys(*"sdb")
        await shown.pilot.resize_terminal(50, 12)
        await shown.sees("60x16 at least.")
        await shown.keys("f10", "enter", "enter")
        assert shown.begun == []
        await shown.pilot.resize_terminal(60, 16)
        await shown.sees("would be LOST", "type sdb")
        await shown.keys("f10")
        await shown.its_end(FOLDER)


async def test_beside_a_disk_that_looks_the_same_what_tells_them_apart_is_typed_too() -> None:
    twin = target("/dev/sdb", lookalike="/dev/sdc", mark="0Z1X")
    async with confirming({"plan": said(twin, consent="CODE"), "run": BEGUN}, twin) as shown:
        same = "/dev/sdc has the same model and size: compare serial number and place (this one: 0Z1X)"
        await shown.sees(same, "2.0 GiB, ST2000DM, serial Z1X, place unknown", "type sdb 0Z1X, then")
        await shown.keys(*"sdb", "f10", "enter")
        await shown.sees("That is not the name.")
        assert shown.begun == []
        await shown.keys(*" 0Z1X", "f10")
        await shown.its_end(FOLDER)
        assert len(shown.begun) == 1


ANOTHER: dict[str, dict[str, object]] = {
    "sequence number 7, now 8": {"diskseq": 8},
    "size 2GiB, now 1GiB": {"size_bytes": 2**30},
    "number 8:16, now 8:32": {"device_number": 0x820},
    "serial number Z1X, now Z2X": {"serial": "Z2X"},
    "WWN none, now 0x5000": {"wwn": "0x5000"},
    "scratch mark none, now 0a1b": {"scratch_id": "0a1b"},
    "file none, now 77": {"backing_inode": 77},
}
MOUNTED = target("/dev/sdb", hazards=(hazard("/dev/sdb", "is mounted on /srv", "refused"),))
NOBODY = {name: value for name, value in SCRATCH.items() if name != "identity"}
REFUSED: tuple[tuple[Done | str, dict[str, object], str, tuple[str, ...]], ...] = (
    *(
        (said(target("/dev/sdb", **other), consent="CODE"), DISK, SOURCE, ("/dev/sdb is another device", words))
        for words, other in ANOTHER.items()
    ),
    (
        Done(("plan",), 22, said(MOUNTED), "fsconsole: /dev/sdb is mounted on /srv; nothing was touched.\n"),
        DISK, SOURCE, ("/dev/sdb is mounted on /srv.",),
    ),
    (said(SCRATCH, DISK), SCRATCH, SOURCE, ("/dev/sdb is a target and was not ticked.",)),
    (said(SCRATCH), SCRATCH, "6" * 64, ("The plan's file was changed by somebody",)),
)  # fmt: skip
UNTOLD: tuple[tuple[Done | str, tuple[str, ...]], ...] = (
    (said(NOBODY), ("can't be read",)),
    ("nonsense", ("can't be read",)),
    (
        Done(("plan",), 20, "", "fsconsole: There is no /dev/sdb.\nhint: Look with devices.\n"),
        ("There is no /dev/sdb.", "Look with devices."),
    ),
)


async def test_what_is_not_as_it_was_ticked_and_written_or_not_to_be_known_begins_nothing() -> None:
    async with confirming({"run": BEGUN}) as shown:
        for answer, ticked, source, words in (
            *((*case, ("REFUSED: " + words[0], *words[1:], "nothing can start")) for *case, words in REFUSED),
            *((answer, SCRATCH, SOURCE, words) for answer, words in UNTOLD),
        ):
            shown.ended.clear()
            shown.children.answers = {"devices": NO_DEVICES, "run": BEGUN, "plan": answer}
            shown.confirm(ticked, source=source)
            await shown.sees(*words)
            assert "another device" not in words[0] or shown.pilot.app.session.targets == ()
            await shown.keys(*"sdb", "f10", "f5")
            await shown.sees(*words)
            await shown.keys("f10", "tab", "enter")
            if not shown.ended:
                await shown.keys("escape")
            await shown.its_end(None)
            assert shown.begun == [], words
            shown.pilot.app.session.ticks.clear()


@pytest.mark.parametrize(("exit_code", "is_disk"), [(28, True), (53, False)])
async def test_a_device_that_changed_meanwhile_is_read_again_and_what_changed_is_said(
    exit_code: int, is_disk: bool
) -> None:
    was, typed = (DISK, "sdb") if is_disk else (SCRATCH, "")
    path = str(was["path"])
    stale = run_ended(exit_code, err="fsconsole: Not as it was shown any more.\nhint: Look again.\n")
    async with confirming({"plan": said(was, consent="OLD" * is_disk), "run": stale}, was) as shown:
        await shown.sees("type sdb" if is_disk else BEGIN)
        now = target(path, loss="xfs 'other'", scratch=not is_disk)
        shown.children.answers = {**shown.children.answers, "plan": said(now, consent="NEW" * is_disk)}
        await shown.keys(*typed, "f10")
        before = "ext4" if is_disk else "nothing"
        await shown.sees("has changed since you agreed", f"{path} holds xfs 'other'; before it was {before}")
        assert (len(shown.begun), shown.ended) == (1, [])
        if is_disk:
            await shown.sees("type sdb")
            await shown.keys("f10", "enter")
            assert len(shown.begun) == 1
        shown.children.answers = {**shown.children.answers, "run": BEGUN}
        await shown.keys(*typed, "f10")
        await shown.its_end(FOLDER)
        consents = [words[words.index("--consent") + 1] for words in shown.begun if "--consent" in words]
        assert consents == (["OLD", "NEW"] if is_disk else [])


async def test_a_run_that_does_not_start_is_told_and_can_be_tried_again() -> None:
    failed = run_ended(48, err="fsconsole: The engine did not start.\nhint: Ask doctor.\n")
    async with confirming({"plan": said(SCRATCH), "run": failed}, SCRATCH) as shown:
        await shown.sees(BEGIN)
        await shown.keys("f10")
        await shown.sees("The engine did not start.", "Ask doctor.")
        shown.children.answers = {**shown.children.answers, "run": BEGUN}
        await shown.keys("f10")
        await shown.its_end(FOLDER)
        assert len(shown.begun) == 2


async def test_a_resume_that_must_be_agreed_to_shows_what_is_on_its_devices(tmp_path: Path) -> None:
    answers = {
        "resume killed --exact --show": said(DISK, consent="CODE"),
        "resume killed --exact --consent": '{"run_id": "killed", "folder": "/elsewhere"}\n',
    }
    async with confirming(answers) as shown:
        shown.open(ResumeScreen(recorded("killed", tmp_path)))
        await shown.sees("type sdb")
        await shown.keys(*"sdb", "f10")
        await shown.its_end(RunFolder("/runs/killed"))


async def test_the_file_below_a_loop_device_is_shown_to_its_end() -> None:
    path = "/srv/images/of/a/whole/department/" + "very-long-name-" * 4 + "the-end.img"
    loop = target("/dev/loop0", scratch=True, loss="nothing", stands_on=f"loop over {path}")
    async with confirming({"plan": said(loop)}, loop) as shown:
        for size in SIZES:
            await shown.pilot.resize_terminal(*size)
            await shown.sees("loop over /srv/images", "the-end.img", "F10 starts, and so does Enter on Wipe and run.")


async def test_a_key_that_is_held_begins_one_run_whose_start_nothing_ends() -> None:
    async with confirming(starting("release", last=run_ended(0, BEGUN)), SCRATCH) as shown:
        await shown.sees(
            "Only scratch devices are wiped. F10 starts, and so does Enter on Wipe and run.",
            "f10 Wipe and run (or enter)",
        )
        await shown.keys("f10", "f10", "f5", "f10")
        shown.children.release.set()
        await shown.its_end(FOLDER)
        assert len(shown.begun) == 1


async def test_escape_cancels_a_start_and_says_so_once_it_is_true() -> None:
    async with confirming(starting("end", last=run_ended(-15))) as shown:
        await shown.start()
        await shown.keys("escape")
        await shown.sees("Cancelled: no run was started, and nothing was wiped.")
        assert shown.ended == []
        await shown.keys("escape")
        await shown.its_end(None)
        assert len(shown.begun) == 1


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[RunFolder]:
    """Return the runs that were stopped, filled in as they are."""
    found: list[RunFolder] = []
    monkeypatch.setattr(client_children, "ask_when_it_listens", lambda folder, _verb: found.append(folder))
    return found


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> list[RunFolder]:
    """Return the runs that were to be stopped, whose engines hear nothing."""
    found: list[RunFolder] = []

    def stop(folder: RunFolder, _verb: Verb) -> None:
        found.append(folder)
        raise EngineNotListening(folder.name)

    monkeypatch.setattr(client_children, "ask_when_it_listens", stop)
    return found


async def test_a_run_that_began_before_it_was_cancelled_is_stopped_and_shown(
    stopped: list[RunFolder],
) -> None:
    # Stopped, handed over, and killed at the end.
    for exit_code in (4, 0, -15):
        children = starting("end", last=run_ended(exit_code, BEGUN + '{"other": "events"}\n'))
        async with confirming(children) as shown:
            await shown.start()
            await shown.keys("escape")
            await shown.its_end(FOLDER)
    assert stopped == [FOLDER] * 3


async def test_a_run_that_can_not_be_stopped_is_said_to_go_on_before_it_is_shown(
    unheard: list[RunFolder],
) -> None:
    async with confirming(starting("end", last=run_ended(-15, BEGUN))) as shown:
        await shown.start()
        await shown.keys("escape")
        await shown.sees(f"Run {NAME} GOES ON, it could not be stopped.", "Escape shows it.")
        await shown.keys("f10", "f5")
        assert (len(shown.begun), shown.ended) == (1, [])
        await shown.keys("escape")
        await shown.its_end(FOLDER)


async def test_a_start_that_was_killed_is_not_said_to_have_begun_nothing() -> None:
    async with confirming(starting("end", last=run_ended(-9))) as shown:
        await shown.start()
        await shown.keys("escape")
        await shown.sees("killed without a word", "the list of runs (5) shows whether one goes on")
        assert "nothing was wiped" not in picture(shown.pilot)


async def test_a_start_that_ends_in_another_mode_ends_its_screen_when_that_is_shown_again() -> None:
    async with confirming(starting("release", last=run_ended(0, BEGUN))) as shown:
        await shown.start()
        app = shown.pilot.app
        await app.switch_mode("runs")
        shown.children.release.set()
        await shown.pilot.pause()
        await shown.pilot.pause()
        assert (app.current_mode, shown.ended) == ("runs", [])
        await shown.keys("1")
        await shown.its_end(FOLDER)
        assert len(app.screen_stack) == 1


async def test_a_start_that_ends_below_a_question_leaves_the_question_alone() -> None:
    answers: list[bool | None] = []
    async with confirming(starting("release", last=run_ended(0, BEGUN))) as shown:
        await shown.start()
        # The list of commands does not cover a screen that asks.
        await shown.keys("ctrl+p")
        assert isinstance(shown.pilot.app.screen, ConfirmScreen)
        shown.pilot.app.push_screen(AskScreen("Really?", "It is asked.", yes="Do", no="Don't"), answers.append)
        await shown.sees("Really?")
        shown.children.release.set()
        await shown.pilot.pause()
        await shown.pilot.pause()
        assert (answers, shown.ended) == ([], [])
        await shown.keys("n")
        await shown.its_end(FOLDER)
        assert answers == [False]


@pytest.mark.parametrize("is_heard", [True, False])
async def test_leaving_waits_for_the_start_and_stops_what_it_began(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, *, is_heard: bool
) -> None:
    asked_to_stop = request.getfixturevalue("stopped" if is_heard else "unheard")
    async with confirming(starting("end", "release", last=run_ended(-15, BEGUN))) as shown:
        app = shown.pilot.app
        await shown.start()
        app.leave()
        await shown.sees("Quit all the same?", "A run is being started")
        await shown.keys("y")
        await shown.sees("Cancelling the start")
        assert not app._exit
        shown.children.release.set()
        await until(shown.pilot, lambda: app._exit, "its end")
    assert asked_to_stop == [FOLDER]
    assert [f"Run {NAME} GOES ON" in words for words in app.session.unstopped] == [True] * (not is_heard)
    assert (f"Run {NAME} GOES ON" in capsys.readouterr().err) is not is_heard


async def test_leaving_asked_for_again_waits_no_longer() -> None:
    async with confirming(starting("end", "release", last=run_ended(-15, BEGUN))) as shown:
        await shown.start()
        shown.pilot.app.leave()
        await shown.sees("Quit all the same?", "A run is being started")
        await shown.keys("y")
        await shown.sees("Cancelling the start")
        shown.pilot.app.leave()
        await until(shown.pilot, lambda: shown.pilot.app._exit, "its end")


async def test_ctrl_c_cancels_a_start_as_escape_does_and_does_not_leave_the_console() -> None:
    async with confirming(starting("end", "release", last=run_ended(-15))) as shown:
        await shown.start()
        await shown.keys("ctrl+c")
        await shown.sees("Cancelling the start")
        shown.children.release.set()
        await shown.sees("no run was started")
        await shown.keys("ctrl+c")
        await shown.its_end(None)
        assert not shown.pilot.app._exit
