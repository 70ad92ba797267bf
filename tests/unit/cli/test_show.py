"""`fsconsole show` as text: a run's cells, and one cell with its options, figures, commands, output and kernel's log."""

from __future__ import annotations

import os
from pathlib import Path

from fsconsole.model import events
from fsconsole.model.plan import StepKind
from tests.unit.cli.recorded import CELL_DONE, STARTED, make_run, run_command, write

RUN = "20261121-081000-k7qf"
KERNEL = "XFS (loop3): metadata I/O error in xfs_\x1b[2J daddr 0x1 len 1 error 5"
MKFS = events.CommandFinished(
    1, 1, 1, ("mkfs.xfs", "-f", "/dev/loop 3"), 1, 0.25, 0.1, 0.05, 8 << 20, "raw/001-01-mkfs.out", (KERNEL,)
)


def shown(runs: Path, *words: str) -> str:
    """Return what is shown of a run with a cell that is done, and one that failed in mkfs."""
    folder = make_run(runs)
    failed = events.StepFinished(1, 1, 1, events.Outcome.FAILED, 0.3, "mkfs.xfs: exit 1")
    seen = (
        STARTED, *CELL_DONE, events.CellStarted(1, 1), events.StepStarted(1, 1, 1, StepKind.MKFS, "mkfs"), MKFS, failed,
        events.CellFinished(1, 1, events.Outcome.FAILED, "mkfs.xfs: exit 1"), events.RunFinished(events.Outcome.DONE),
    )  # fmt: skip
    write(folder, seen)
    os.makedirs(folder.raw, exist_ok=True)
    Path(folder.raw, "001-01-mkfs.out").write_text("mkfs.xfs: pwrite failed: \x1b[31mNo space\n")
    done = run_command("show", RUN, *words, "--runs", str(runs))
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    return done.stdout


def test_a_run_is_shown_as_its_title_how_it_stands_and_a_line_for_each_cell(tmp_path: Path) -> None:
    assert shown(tmp_path).splitlines() == [
        f"two filesystems ({RUN})",
        "finished",
        "    1  done    ext4 data=ordered",
        "    2  failed  xfs: mkfs.xfs: exit 1",
    ]


def test_a_cell_is_shown_with_its_options_command_output_and_the_kernels_log(tmp_path: Path) -> None:
    text = shown(tmp_path, "2")
    lines = text.splitlines()
    assert lines[:2] == ["xfs", "Cell 2 of 2, round 1, failed: mkfs.xfs: exit 1"]
    options = {line.split()[0]: line.split()[1] for line in lines[2:6]}
    assert options == {"mkfs": "default", "mount": "default", "settings": "default", "target": "/dev/loop7"}
    assert "mkfs: mkfs (failed in 0.300 s: mkfs.xfs: exit 1)" in lines
    at = lines.index("mkfs.xfs -f '/dev/loop 3'")
    assert "exit 1" in lines[at + 1]
    joined = " ".join(text.split())
    assert r"kernel: XFS (loop3): metadata I/O error in xfs_\x1b[2J daddr 0x1" in joined
    assert lines[-1] == r"mkfs.xfs: pwrite failed: \x1b[31mNo space"


def test_a_cell_that_was_done_is_shown_with_its_figures_and_warnings(tmp_path: Path) -> None:
    text = shown(tmp_path, "1")
    assert "812 MB/s" in text
    assert "it took 3.1 s" in text
    assert "Write more." in text
