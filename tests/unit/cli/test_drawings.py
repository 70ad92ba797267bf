"""`fsconsole results --map`: the map on a terminal and in a file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.cli import drawings
from fsconsole.client.runs import look
from fsconsole.errors import ExitCode, Misused
from fsconsole.errors.runs import ExportFailed, LayoutMissing
from fsconsole.model.events import LayoutSeen
from fsconsole.model.layout import gaps
from tests.unit.cli.recorded import WHOLE, make_run, run_command, write

MIB = 2**20
SEEN = LayoutSeen(
    device_bytes=16 * MIB,
    unit_bytes=4096,
    files=2,
    extent_count=2,
    names=("f00000000", "f00000001"),
    extents=gaps([(0, 1024, 0), (1024, 1024, 1)]),
    cell=0,
    attempt=1,
    step=4,
)


def test_cells_are_numbers_from_1_and_anything_else_is_refused() -> None:
    assert drawings.cells_named("") == ()
    assert drawings.cells_named("3, 7") == (2, 6)
    for text in ("0", "-1", "a", "1,,2", "1.5", "\u0663", ","):
        with pytest.raises(Misused):
            drawings.cells_named(text)


def test_colours_are_written_only_where_there_are_some() -> None:
    lines = [((" 0B ", ""), ("AA", "map0"), ("*", "faint"), ("B", "map1"))]
    assert drawings.painted(lines, has_colours=False) == [" 0B AA*B"]
    assert drawings.painted(lines, has_colours=True) == [" 0B \x1b[31mAA\x1b[0m\x1b[2m*\x1b[0m\x1b[32mB\x1b[0m"]


def test_a_run_without_maps_says_so_and_options_go_with_the_map_only(tmp_path: Path) -> None:
    write(make_run(tmp_path), WHOLE)
    runs = ("--runs", str(tmp_path))
    done = run_command("results", "--map", *runs)
    assert (done.returncode, done.stdout) == (ExitCode.FAILURE, "")
    assert "has no layout map." in done.stderr
    for options in (("--svg", str(tmp_path / "x.svg")), ("--cells", "1")):
        assert run_command("results", *options, *runs).returncode == ExitCode.USAGE
    assert not (tmp_path / "x.svg").exists()
    done = run_command("results", "--map", "--format", "csv", "--sort", "write", *runs)
    assert done.returncode == ExitCode.USAGE
    assert "it has no use for --sort, --format" in done.stderr


def test_the_svg_is_a_new_file_and_the_map_goes_to_standard_output(tmp_path: Path) -> None:
    folder, file = make_run(tmp_path), tmp_path / "map.svg"
    write(folder, (*WHOLE[:-1], SEEN, WHOLE[-1]))
    found = look(folder)
    text = drawings.layout_map(folder, found, cells="", svg="", width=80)
    assert "ext4 data=ordered - large files (cell 1, round 1): 2 files, 2 extents, 1.00 per file" in " ".join(
        text.split()
    )
    assert "A" * 72 in text
    assert drawings.layout_map(folder, found, cells="1", svg=str(file), width=80) == ""
    assert file.read_text().startswith("<svg ")
    with pytest.raises(ExportFailed):
        drawings.layout_map(folder, found, cells="", svg=str(file), width=80)
    with pytest.raises(LayoutMissing, match="of cells 2"):
        drawings.layout_map(folder, found, cells="2", svg="", width=80)
