"""Every text form of recorded real runs, as kept in tests/data/golden: `python -m tests.unit.results.golden` renews them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from fsconsole.cli.compare import comparison
from fsconsole.cli.results import Format, report
from fsconsole.client.runs import look
from fsconsole.plan.publications import find_publication
from fsconsole.results.blocks import GridChoice
from tests.tui.recorded import imported, recorded

KEPT = Path(__file__).parents[2] / "data" / "golden"


def _results(name: str, output: Format = Format.TABLE, **options: object) -> Callable[[Path], str]:
    """Return what makes a recorded run's report below a directory of runs."""
    make = recorded if name in ("raw", "failed", "grid") else imported
    return lambda runs: report(make(name, runs), output, **options)  # type: ignore[arg-type]


def _compared(output: Format = Format.TABLE, width: int = 80) -> Callable[[Path], str]:
    """Return what makes the comparison of two runs of one plan."""

    def made(runs: Path) -> str:
        sides = [[look(imported(name, runs)).state] for name in ("mail", "mail-later")]
        return comparison(sides, output, width=width)

    return made


def _published(name: str, table: str) -> Callable[[Path], str]:
    """Return what makes the comparison of a recorded run with a published table."""
    return lambda runs: comparison([[look(recorded(name, runs)).state], find_publication(table)])


def _brief(document: str) -> str:
    """Return a report as JSON without its largest parts: failed.json has those of few cells."""
    parts = {name: part for name, part in json.loads(document).items() if name not in ("cells", "rows", "metrics")}
    return json.dumps(parts, indent=1) + "\n"


FORMS: dict[str, Callable[[Path], str]] = {
    "demo-80.txt": _results("demo"),
    "demo-160.txt": _results("demo", width=160),
    "demo.md": _results("demo", Format.MD),
    "demo.csv": _results("demo", Format.CSV),
    "demo-summary.csv": _results("demo", Format.CSV, summary=True),
    "demo-pairs-80.txt": _results("demo", choice=GridChoice(sort_by="write", is_reversed=True, all_pairs=True)),
    "demo-baseline-80.txt": _results("demo", choice=GridChoice(baseline="xfs"), explain=True),
    "failed.json": _results("failed", Format.JSON),
    "mail-brief.json": lambda runs: _brief(report(imported("mail", runs), Format.JSON)),
    "mail-80.txt": _results("mail"),
    "limits-80.txt": _results("limits"),
    "limits.md": _results("limits", Format.MD),
    "limits-summary.csv": _results("limits", Format.CSV, summary=True),
    "limits-brief.json": lambda runs: _brief(report(imported("limits", runs), Format.JSON)),
    "raw-80.txt": _results("raw"),
    "failed-80.txt": _results("failed"),
    "compare-80.txt": _compared(),
    "compare-160.txt": _compared(width=160),
    "compare.md": _compared(Format.MD),
    "compare.csv": _compared(Format.CSV),
    "compare.json": _compared(Format.JSON),
    "published-80.txt": _published("bull", "bull-2008-patched"),
}
"""By the files' names."""


def made(name: str) -> str:
    """Return a form as the product makes it now."""
    with tempfile.TemporaryDirectory() as directory:
        return FORMS[name](Path(directory) / "runs")


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for path in KEPT.iterdir():
        path.unlink()
    for name in FORMS:
        (KEPT / name).write_text(made(name))
