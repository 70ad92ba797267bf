"""A cell's settings come back in reverse on every way out, even where nothing can be written down any more."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsconsole.devices.settings import Kernel
from fsconsole.engine.steps import settings
from fsconsole.engine.work import StepFailed
from fsconsole.errors.runs import JournalFull
from fsconsole.model.events import Observation, SettingReturned, SettingSeen, SettingTaken
from fsconsole.model.plan import Step, StepKind, Write
from fsconsole.model.state import HeldSetting

QUEUE = "/sys/block/sdx/queue"
VALUES = {f"{QUEUE}/read_ahead_kb": "128", f"{QUEUE}/scheduler": "none", f"{QUEUE}/nr_requests": "64"}
STEP = Step(
    StepKind.SETTINGS,
    "set",
    writes=(
        Write("read_ahead", f"{QUEUE}/read_ahead_kb", "2048"),
        Write("scheduler", f"{QUEUE}/scheduler", "bfq"),
        Write("nr_requests", f"{QUEUE}/nr_requests", "32"),
    ),
)


@dataclass
class Journal:
    """Keeps what it is told, with what every setting was at that instant; full from a kind of observation on."""

    root: Path
    full_at: type[Observation] | None = None
    told: list[tuple[Observation, dict[str, str], bool]] = field(default_factory=list)

    def record(self, observation: Observation, *, durable: bool = True) -> None:
        if self.full_at is not None and isinstance(observation, self.full_at):
            raise JournalFull(path="journal")
        self.told.append((observation, values(self.root), durable))


@dataclass
class Work:
    """As much of a cell's work as settings need."""

    journal: Journal
    stack: ExitStack = field(default_factory=ExitStack)
    settings: list[HeldSetting] = field(default_factory=list)
    step_number: int = 1
    warned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cell = SimpleNamespace(index=0, steps=(Step(StepKind.GATE, "gate"), STEP))
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
    work = Work(Journal(root))
    settings.set_all(work, STEP)
    taken = [
        (seen, then, durable) for seen, then, durable in work.journal.told if isinstance(seen, SettingTaken)
    ]
    assert [seen.name for seen, _, _ in taken] == ["read_ahead", "nr_requests", "scheduler", "nr_requests"]
    assert all(durable and then[seen.path] == seen.old for seen, then, durable in taken)
    assert values(root) == {write.path: write.value for write in STEP.writes}
    shown = [seen.value for seen, _, _ in work.journal.told if isinstance(seen, SettingSeen)]
    assert shown == ["2048", "bfq", "32"]
    # All comes back in reverse, once.
    settings.set_back(work, STEP)
    assert values(root) == VALUES
    returned = [seen.path for seen, _, _ in work.journal.told if isinstance(seen, SettingReturned)]
    names = ["nr_requests", "scheduler", "nr_requests", "read_ahead_kb"]
    assert returned == [f"{QUEUE}/{name}" for name in names]
    work.stack.close()
    assert len(work.journal.told) == 4 + 3 + 4


@pytest.mark.parametrize("kind", [SettingReturned, SettingSeen, SettingTaken])
def test_a_full_journal_keeps_no_setting_from_coming_back_and_nothing_is_set_unjournalled(root, kind):
    work = Work(Journal(root, full_at=kind))
    with pytest.raises(JournalFull), work.stack:
        settings.set_all(work, STEP)
    assert (work.journal.told == []) == (kind is SettingTaken)
    assert values(root) == VALUES


def test_a_setting_that_the_device_does_not_have_fails_the_cell_by_its_name(root: Path) -> None:
    work = Work(Journal(root))
    missing = f"{QUEUE}/nr_requests"
    Path(f"{root}{missing}").unlink()
    with pytest.raises(StepFailed, match="nr_requests can't be read: No such file"), work.stack:
        settings.set_all(work, STEP)
    assert Path(f"{root}{QUEUE}/read_ahead_kb").read_text() == "128"


def test_what_changes_before_a_load_is_warned_of_and_left(root: Path) -> None:
    work = Work(Journal(root))
    with work.stack:
        settings.set_all(work, STEP)
        Path(f"{root}{QUEUE}/scheduler").write_text("kyber")
        # A file system of its own has none of its own read-ahead here.
        work.mount_point = "/nowhere"
        settings.about_to_load(work)
        assert work.warned == [f"{QUEUE}/scheduler became kyber while the cell ran; it had been set to bfq"]
    assert values(root)[f"{QUEUE}/scheduler"] == "kyber"
    assert any("which this run did not set" in reason for reason in work.warned)
