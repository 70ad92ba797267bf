"""What an admin does every day takes few keys: those of tests/tui/errands.md, which are pressed here."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.widgets import Input

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import Done
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.scratch import ScratchAnswer
from fsconsole.model.answers import StepAnswer
from fsconsole.model.plan import StepKind
from fsconsole.model.wire import encode, to_plain
from fsconsole.plan.draft import Draft
from fsconsole.plan.read import read_plan
from fsconsole.plan.rows import list_candidates
from fsconsole.text import GIB
from fsconsole.tui import planfiles
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens import scratch_form
from fsconsole.tui.screens.plan import PlanScreen
from fsconsole.tui.screens.scratch_form import FreeSpace
from fsconsole.tui.widgets.lists import Choices
from tests.tui.at_plan import Hand, catalog_answer, commands_answer, levels_answer
from tests.tui.device_lists import FREE, SCRATCH, listed
from tests.tui.harness import Scripted, console, picture
from tests.tui.offers import document, target
from tests.tui.recorded import recorded

_ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| (\d+) \|$", re.MULTILINE)
ERRANDS = {
    int(number): (tuple(shlex.split(keys)), int(most))
    for number, _, keys, most in _ROW.findall((Path(__file__).parent / "errands.md").read_text())
}
_KEYS = {"esc": "escape", "/": "slash"}


@dataclass
class Box(Scripted):
    """A box with a free disk, on which a scratch device can be made; what a run was started with is kept."""

    started: str = ""
    """The text of the plan that runs."""
    device: str = ""
    """What the run wipes."""

    async def run(self, *words: str) -> Done:
        if words[:2] == ("scratch", "create"):
            made = ScratchAnswer(SCRATCH.path, "/x.img", 4 * GIB, "0a1b2c3d", identity=listed_identity(SCRATCH))
            self.answers = {**self.answers, "devices": listed(FREE, SCRATCH)}
            return Done(words, 0, encode(made), "")
        if words[0] == "plan" and "--cell" not in words:
            step = StepAnswer(StepKind.MKFS, "make the filesystem", (("mkfs.xfs", "-f", "DEVICE"),), "", "", (), None)
            return Done(words, 0, commands_answer(1, step), "")
        if words[0] == "plan":
            return Done(words, 0, json.dumps(_offer(words[1])), "")
        if words[0] == "run":
            self.device = words[words.index("--device") + 1]
            self.started = await asyncio.to_thread(Path(words[1]).read_text)
            return Done(words, 0, '{"run_id": "grid", "folder": "/elsewhere"}\n', "")
        return await super().run(*words)


def _offer(path: str) -> dict[str, object]:
    one = target(SCRATCH.path, scratch=True, loss="nothing") | {"identity": to_plain(listed_identity(SCRATCH))}
    return document(one) | {"source_sha256": planfiles.digest_of(path)}


@dataclass
class Errand:
    """One errand on the way: its hand, and what the box was asked."""

    hand: Hand
    box: Box
    app: ConsoleApp

    @property
    def draft(self) -> Draft:
        return self.hand.screen.draft

    async def press(self, key: str) -> None:
        """Press one key, or type one word into the field that has the focus; and wait until all is done."""
        if isinstance(self.app.screen.focused, Input) and len(key) > 1 and key not in {"enter", "esc", "f10"}:
            await self.hand.type(key)
        else:
            await self.hand.keys(_KEYS.get(key, key))
        await self.hand.until(lambda: not self._is_busy())

    def _is_busy(self) -> bool:
        plan = next((one for one in self.app.screen_stack if isinstance(one, PlanScreen)), None)
        return any(not one.is_finished for one in self.app.workers if one.group in {"confirm", "default"}) or (
            plan is not None and not plan.count.is_up_to_date
        )


@asynccontextmanager
async def errand(number: int, runs_dir: Path) -> AsyncIterator[Errand]:
    """Do one errand, as its row says; it may take no more keys than that."""
    recorded("grid", runs_dir)
    keys, most = ERRANDS[number]
    assert len(keys) <= most, f"errand {number} takes {len(keys)} keys"
    box = Box({"catalog": catalog_answer(), "catalog --arrays": levels_answer(), "devices": listed(FREE)})
    app = console(box, runs_dir=runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        hand = Hand(pilot)
        await hand.sees("1 device")
        done = Errand(hand, box, app)
        for key in keys:
            await done.press(key)
        yield done


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scratch_form, "read_free_space", lambda _directory: FreeSpace("/", 99 * GIB, GIB))
    monkeypatch.chdir(tmp_path)


async def test_from_a_cold_start_a_benchmark_runs_on_a_scratch_device_after_five_keys_and_with_delalloc_after_eight(
    tmp_path: Path,
) -> None:
    assert [ERRANDS[number][1] for number in (1, 2)] == [5, 8]
    for number, labels in ((1, ["ext4", "xfs"]), (2, ["ext4 delalloc", "ext4 nodelalloc", "xfs"])):
        async with errand(number, tmp_path / str(number)) as done:
            await done.hand.until(lambda done=done: done.app.current_mode == "run")
            (tmp_path / "started.toml").write_text(done.box.started)
            planned = read_plan(tmp_path / "started.toml")
            assert [row.name_without() for row in list_candidates(planned, load_catalog())] == labels
            assert done.box.device == SCRATCH.path


CHECKS: dict[int, Callable[[Errand], bool]] = {
    3: lambda done: done.draft.filesystems == ("ext4", "btrfs"),
    4: lambda done: done.draft.plan.path.endswith("recipes/database.toml"),
    # It can't be mounted without data=writeback: no row of the plan is left out.
    5: lambda done: (
        done.draft.plan.checklists[0].mount == (("journal_async_commit", ("default", "on")), ("data", ("writeback",)))
        and "left out" not in picture(done.hand.pilot)
    ),
    6: lambda done: done.draft.plan.checklists[0].exclude == ((("delalloc", "off"),),),
    7: lambda done: done.draft.plan.repeats == 10,
    8: lambda done: (
        done.app.screen.query_one("#cells", Choices).key == "cell 2"
        and "$ mkfs.xfs -f DEVICE" in picture(done.hand.pilot)
    ),
    9: lambda _: len(read_plan("mine.toml").checklists) == 2,
    10: lambda done: done.draft.filesystems[-1] == "btrfs" and done.draft.plan.title == "ext4 and xfs: a hundred files",
}


@pytest.mark.parametrize("number", CHECKS)
async def test_an_errand_takes_the_keys_that_are_listed(number: int, tmp_path: Path) -> None:
    async with errand(number, tmp_path / "runs") as done:
        await done.hand.until(lambda: CHECKS[number](done))
