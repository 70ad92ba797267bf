from __future__ import annotations

from pathlib import Path

from fsconsole.telemetry.ended_io import ended_io

STAT = "1 0 2 5 3 0 4 6 {} 7 8 9 0 10 11 12 13\n"


def device(sys: Path, name: str, in_flight: int = 0, members: tuple[str, ...] = ()) -> None:
    folder = sys / "class/block" / name
    (folder / "slaves").mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(STAT.format(in_flight))
    for member in members:
        (folder / "slaves" / member).touch()


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
