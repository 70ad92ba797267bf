from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.telemetry import block
from fsconsole.telemetry.block import ended_io

STAT = "1 0 2 5 3 0 4 6 {} 7 8 9 0 10 11 12 13\n"


def device(sys: Path, name: str, in_flight: int = 0, members: tuple[str, ...] = ()) -> None:
    folder = sys / "class/block" / name
    (folder / "slaves").mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(STAT.format(in_flight))
    for member in members:
        (folder / "slaves" / member).touch()
        held = sys / "class/block" / member / "holders"
        held.mkdir(parents=True, exist_ok=True)
        (held / name).touch()


def answers(sys: Path, moved: str, *names: str) -> bool:
    """Return whether I/O of one device that ends is taken for an answer of those."""
    before = ended_io(names, str(sys))
    (sys / "class/block" / moved / "stat").write_text("9" + STAT.format(0))
    return ended_io(names, str(sys)) != before


def test_what_has_ended_counts_and_what_only_waits_does_not(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    before = ended_io(("sda",), str(tmp_path))
    assert before == (("1", "2", "3", "4", "9", "10", "12"),)
    device(tmp_path, "sda", in_flight=30)
    assert ended_io(("sda",), str(tmp_path)) == before


def test_an_arrays_members_count_too(tmp_path: Path) -> None:
    device(tmp_path, "md0", members=("sda",))
    device(tmp_path, "sda")
    assert len(ended_io(("md0",), str(tmp_path))) == 2


def test_a_device_that_is_gone_moves_no_more(tmp_path: Path) -> None:
    assert ended_io(("sda",), str(tmp_path)) == ((),)


def test_a_volumes_disk_that_another_volume_uses_too_is_no_answer_of_the_volume(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    device(tmp_path, "dm-0", members=("sda",))
    device(tmp_path, "dm-1", members=("sda",))
    assert not answers(tmp_path, "sda", "dm-0")
    assert answers(tmp_path, "dm-0", "dm-0")


def test_a_volumes_disk_that_nothing_else_uses_answers_for_the_volume(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    device(tmp_path, "dm-0", members=("sda",))
    assert answers(tmp_path, "sda", "dm-0")


def test_a_disk_below_two_volumes_of_the_run_answers_for_them(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    device(tmp_path, "dm-0", members=("sda",))
    device(tmp_path, "dm-1", members=("sda",))
    assert answers(tmp_path, "sda", "dm-0", "dm-1")


def test_what_is_below_a_shared_pool_is_no_answer_of_one_volume_of_it(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    device(tmp_path, "dm-2", members=("sda",))
    device(tmp_path, "dm-3", members=("dm-2",))
    device(tmp_path, "dm-4", members=("dm-2",))
    assert not answers(tmp_path, "sda", "dm-3")


def test_a_device_that_was_asked_for_answers_whatever_stands_on_it(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    device(tmp_path, "md0", members=("sda",))
    assert answers(tmp_path, "sda", "sda")


def test_what_a_volume_is_made_of_below_a_loop_device_is_no_answer_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "_disk_of_file", lambda _path, _sys: "dm-0")
    device(tmp_path, "sda")
    device(tmp_path, "dm-0", members=("sda",))
    device(tmp_path, "loop7")
    (tmp_path / "class/block/loop7/loop").mkdir()
    (tmp_path / "class/block/loop7/loop/backing_file").write_text("/var/lib/image\n")
    assert not answers(tmp_path, "sda", "loop7")
    assert answers(tmp_path, "loop7", "loop7")
