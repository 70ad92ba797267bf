from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from fsconsole.journal.folder import RunFolder, read_tail
from fsconsole.journal.past import read_state
from fsconsole.model.state import CellState
from fsconsole.show.run import OUTPUT_BYTES, living, log_rows
from fsconsole.system.locks import FileLock
from fsconsole.text import cells_of
from tests.tui.recorded import recorded
from tests.unit.cli.recorded import make_run


def rows_of(folder: RunFolder, cell: int, width: int = 76) -> list[str]:
    read = partial(read_tail, folder, limit=OUTPUT_BYTES)
    return [row.text for row in log_rows(read_state(folder).cells[cell], read, width)]


def test_every_command_is_there_with_its_exit_code_and_its_output_or_why_it_is_missing(
    tmp_path: Path,
) -> None:
    folder = recorded("grid", tmp_path)
    cell = read_state(folder).cells[0]
    shown = rows_of(folder, 0)
    commands = [command for step in cell.steps for command in step.commands]
    assert sum(row.startswith("   $ ") for row in shown) == len(commands) > 5
    assert sum("exit 0" in row for row in shown) == len(commands)
    assert any("Pass 5: Checking group summary information" in row for row in shown)
    next(Path(folder.raw).glob("000-02-mkfs*")).unlink()
    assert any("its output can't be read: No such file" in row for row in rows_of(folder, 0))


def test_a_failed_step_and_a_cell_without_steps_say_why_in_rows_no_wider_than_the_screen(
    tmp_path: Path,
) -> None:
    folder = recorded("failed", tmp_path)
    for width in (40, 76, 190):
        rows = [row for cell in range(3) for row in rows_of(folder, cell, width)]
        assert max(map(cells_of, rows)) <= width
    assert any("3000 files" in row for row in rows_of(folder, 2))
    unavailable = next(cell.index for cell in read_state(folder).cells if not cell.steps)
    assert rows_of(folder, unavailable)[0].startswith("Nothing was done yet: mballoc")
    assert log_rows(CellState(0), lambda _: (b"", 0), 76)[0].text == "Nothing was done yet."


def test_of_a_long_output_the_end_is_shown(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    output = next(Path(folder.raw).glob("000-02-mkfs*"))
    output.write_text("".join(f"line {number}\n" for number in range(100_000)))
    shown = rows_of(folder, 0)
    assert "     line 99999" in shown
    assert "     line 0" not in shown
    assert any("... more in raw/000-02-mkfs" in row for row in shown)


def test_no_file_outside_the_runs_own_outputs_is_read_nor_a_link_followed_nor_a_pipe_waited_for(
    tmp_path: Path,
) -> None:
    folder = recorded("grid", tmp_path)
    Path(folder.raw, "link").symlink_to("/etc/passwd")
    os.mkfifo(os.path.join(folder.raw, "pipe"))
    outside = ("/etc/passwd", "raw/../journal.sqlite", "../x", "journal.sqlite", "raw/", "raw")
    for named in (*outside, "raw/link", "raw/pipe"):
        with pytest.raises(OSError):  # noqa: PT011 (any of them: what can't be read is told)
            read_tail(folder, named, 100)


def test_the_newest_living_run_is_the_one_to_attach_to(tmp_path: Path) -> None:
    assert living(str(tmp_path)) is None
    assert living(str(tmp_path / "none")) is None
    older, newer = make_run(tmp_path, "20261121-081000-aaaa"), make_run(tmp_path, "20261121-081001-bbbb")
    make_run(tmp_path, "20261121-081002-cccc")
    assert living(str(tmp_path)) is None
    with FileLock.acquire(older.lock):
        assert living(str(tmp_path)) == older
        with FileLock.acquire(newer.lock):
            assert living(str(tmp_path)) == newer
