"""What a dead engine left set is given back in the same boot, on the same disk, where nobody changed it since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import settings
from fsconsole.devices.settings import Kernel
from fsconsole.engine.cleanup import Leftover, disks_of, give_back_leftovers, in_words
from fsconsole.model.events import RunStarted, SettingTaken
from fsconsole.model.state import HeldSetting, RunState
from fsconsole.system.files import boot_id
from fsconsole.system.locks import FileLock
from tests.unit.results import build

BYTES, RATIO = "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"
READ_AHEAD = "/sys/block/sdx/queue/read_ahead_kb"
LIMIT = SettingTaken(0, 1, 1, "dirty_bytes", BYTES, "67108864", RATIO, "20")


@pytest.fixture(autouse=True)
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(settings, "MACHINE_LOCK", str(tmp_path / "lock"))
    return str(tmp_path / "lock")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {
        BYTES: "67108864",
        RATIO: "0",
        READ_AHEAD: "2048",
        "/sys/block/sdx/dev": "8:16",
    }.items():
        place = Path(f"{tmp_path}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path


def left(*taken: SettingTaken, boot: str = "") -> RunState:
    state = build.run([build.cell(0)], [build.failed(0)])
    started = RunStarted(1, "0.1.0", boot or boot_id(), "6.18.0", "box")
    return replace(state, started=(started,), settings=tuple(HeldSetting(one, one.new) for one in taken))


def value(root: Path, path: str) -> str:
    return Path(f"{root}{path}").read_text()


def give_back(state: RunState, root: Path) -> tuple[Leftover, ...]:
    return give_back_leftovers(state, Kernel(str(root)))


def test_a_limit_is_what_it_was_unless_the_machine_was_rebooted_or_somebody_changed_it(root: Path) -> None:
    (leftover,) = give_back(left(LIMIT, boot="another"), root)
    assert value(root, RATIO) == "0"
    assert "rebooted since" in in_words((leftover,))[0]
    assert leftover.returned.why_left
    leftovers = give_back(left(LIMIT), root)
    assert value(root, RATIO) == "20"
    assert in_words(leftovers) == (f"{RATIO} is 20 again",)
    assert leftovers[0].returned.why_left == ""
    Path(f"{root}{BYTES}").write_text("12345678")
    assert "12345678 now, which this run did not set" in in_words(give_back(left(LIMIT), root))[0]
    assert value(root, BYTES) == "12345678"


def test_what_another_run_has_now_waits_and_stays_to_be_done(root: Path, lock: str) -> None:
    with FileLock.acquire(lock):
        (leftover,) = give_back(left(LIMIT), root)
    assert value(root, RATIO) == "0"
    assert "has to wait: Another run" in in_words((leftover,))[0]
    assert leftover.busy
    assert [one.busy for one in give_back(left(LIMIT), root)] == [""]
    assert value(root, RATIO) == "20"


def test_a_disk_that_does_not_answer_has_to_wait_and_the_machines_own_settings_have_not(root: Path) -> None:
    taken = SettingTaken(0, 1, 1, "read_ahead", READ_AHEAD, "2048", READ_AHEAD, "128", device_number=99)
    state = left(LIMIT, taken)
    assert disks_of(state) == {"/dev/sdx"}
    waits, returned = give_back_leftovers(state, Kernel(str(root)), silent=disks_of(state))
    assert in_words((waits,)) == (f"{READ_AHEAD} has to wait: /dev/sdx does not answer",)
    assert returned.busy == ""
    assert (value(root, READ_AHEAD), value(root, RATIO)) == ("2048", "20")


def test_another_disk_under_the_name_is_left(root: Path) -> None:
    taken = SettingTaken(0, 1, 1, "read_ahead", READ_AHEAD, "2048", READ_AHEAD, "128", device_number=99)
    gone = replace(taken, path=READ_AHEAD.replace("sdx", "sdy"), old_path=READ_AHEAD.replace("sdx", "sdy"))
    leftovers = give_back(left(taken, gone), root)
    assert value(root, READ_AHEAD) == "2048"
    assert all("another device now" in leftover.why_left for leftover in leftovers)


def test_a_journal_from_elsewhere_writes_no_other_file(root: Path) -> None:
    target = root / "passwd"
    target.write_text("root")
    read = replace(LIMIT, path="/passwd", new="other", old_path="/passwd", old="1")
    written = replace(LIMIT, path=BYTES, old_path="/passwd", old="1")
    for leftover in give_back(left(read, replace(read, new="root"), written), root):
        assert "no setting" in leftover.why_left
        assert "root" not in leftover.why_left
    assert target.read_text() == "root"


def test_what_was_taken_last_is_given_back_first(root: Path) -> None:
    inner = replace(LIMIT, new="67108864", old_path=BYTES, old="33554432", step=6)
    outer = replace(LIMIT, new="33554432")
    assert [one.taken for one in give_back(left(outer, inner), root)] == [inner, outer]
    assert value(root, RATIO) == "20"
