"""Journals made to take all memory or time: refused by import and by every reading of a run's folder, within limits.

Each is read in a process of its own, whose address space is limited so that a fault ends that process, not the machine.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.runs import ArchiveRefused, JournalUnusable
from fsconsole.journal import events, limits, reader, samples
from fsconsole.journal.archive import export_run
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.importing import import_run
from fsconsole.journal.past import read_state
from fsconsole.text import GIB
from tests.bench.long_journal import HOURS_12, made_run
from tests.fuzz.packing import files_of, members_of, pack
from tests.tui.recorded import NAMES, recorded

ROOT = Path(__file__).parents[3]
DATA = Path(__file__).parents[2] / "data"
ROOM_BYTES = 3 * GIB
"""Address space of a reading process, its libraries included."""
MOST_BYTES = GIB
"""Memory that the worst journal here may take."""
MOST_S = 120
"""CPU time after which the kernel ends a reading process: no limit held then."""


@dataclass(frozen=True, slots=True)
class Cost:
    """How a command ended and what it took."""

    code: int
    err: str
    peak_bytes: int
    cpu_s: float


def cost_of(*words: str) -> Cost:
    """Carry a command out in a process with limited address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ROOM_BYTES, ROOM_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))

    program = (
        "import resource, sys; from fsconsole.cli.main import main; code = main(); "
        "usage = resource.getrusage(resource.RUSAGE_SELF); "
        "print(f'\\n{usage.ru_maxrss * 1024} {usage.ru_utime + usage.ru_stime}', file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, preexec_fn=limit,
        cwd=ROOT,
    )  # fmt: skip
    err, _, usage = done.stderr.rstrip().rpartition("\n")
    peak, cpu = usage.split() if usage.replace(".", "").replace(" ", "").isdecimal() else ("0", "0")
    return Cost(done.returncode, err or done.stderr, int(peak), float(cpu))


def rewrite(journal: sqlite3.Connection, table: str, old: str, new: str) -> None:
    """Change the statement of a table in the schema, as no ALTER would."""
    journal.execute("PRAGMA writable_schema = ON")
    journal.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, table))


def generated_column(journal: sqlite3.Connection) -> None:
    """The archive that was found: 9 KiB, 5 GiB of memory."""
    journal.execute("DELETE FROM event WHERE id > 200")
    rewrite(journal, "event", "body TEXT NOT NULL)", "text TEXT, body TEXT AS (text || hex(zeroblob(400000000))))")


def recursive_view(journal: sqlite3.Connection) -> None:
    journal.execute("ALTER TABLE sample RENAME TO kept")
    journal.execute(
        "CREATE VIEW sample AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n"
    )


def costly_default(journal: sqlite3.Connection) -> None:
    rewrite(journal, "run", "DEFAULT ''", "DEFAULT (hex(zeroblob(400000000)))")


def costly_index(journal: sqlite3.Connection) -> None:
    journal.execute("CREATE INDEX spare ON event (length(hex(body)))")


def many_tables(journal: sqlite3.Connection) -> None:
    for number in range(3_000):
        journal.execute(f"CREATE TABLE spare{number} (a)")


def long_statement(journal: sqlite3.Connection) -> None:
    journal.execute("PRAGMA writable_schema = ON")
    sql = "CREATE TABLE spare (a) /*" + "x" * 200_000_000 + "*/"
    journal.execute("INSERT INTO sqlite_master VALUES ('table', 'spare', 'spare', 2, ?)", (sql,))


def long_text(journal: sqlite3.Connection) -> None:
    journal.execute("UPDATE event SET body = ? WHERE id = 3", (" " * 900_000_000,))


def long_request(journal: sqlite3.Connection) -> None:
    journal.execute("UPDATE run SET request = request || ?", (" " * 300_000_000,))


def add_notes(journal: sqlite3.Connection, count: int) -> None:
    (text,) = journal.execute("SELECT request FROM run").fetchone()
    request = json.loads(text)
    request["plan"]["notes"] = [""] * count
    journal.execute("UPDATE run SET request = ?", (json.dumps(request, separators=(",", ":")),))


def many_notes(journal: sqlite3.Connection) -> None:
    """A request whose values take more memory than its text."""
    add_notes(journal, 40_000_000)


def many_notes_of_any_run(journal: sqlite3.Connection) -> None:
    add_notes(journal, 3_900_000)


def deep_text(journal: sqlite3.Connection) -> None:
    journal.execute("UPDATE event SET body = ? WHERE id = 3", ("[" * 50_000_000,))


def long_number(journal: sqlite3.Connection) -> None:
    journal.execute("UPDATE event SET body = ? WHERE id = 3", (f'{{"cell": {"9" * 10_000_000}}}',))


def many_events(journal: sqlite3.Connection) -> None:
    (body,) = journal.execute("SELECT body FROM event WHERE kind = 'feature_seen'").fetchone()
    journal.execute(
        "WITH RECURSIVE n(x) AS (SELECT 1000000 UNION ALL SELECT x + 1 FROM n WHERE x < 3100000)"
        " INSERT INTO event SELECT x, 1, 1, 'feature_seen', ? FROM n",
        (body,),
    )


def many_warnings(journal: sqlite3.Connection) -> None:
    """Each is compared with all before."""
    (body,) = journal.execute("SELECT body FROM event WHERE kind = 'warning_raised'").fetchone()
    journal.execute(
        "WITH RECURSIVE n(x) AS (SELECT 1000000 UNION ALL SELECT x + 1 FROM n WHERE x < 1200000)"
        " INSERT INTO event SELECT x, 1, 1, 'warning_raised', json_set(?, '$.cell', NULL, '$.reason', 'r' || x) FROM n",
        (body,),
    )


def long_device_name(journal: sqlite3.Connection) -> None:
    """Read with every row of the device."""
    journal.execute("UPDATE gauged_device SET name = ?", ("x" * 100_000_000,))


def many_cpus(journal: sqlite3.Connection) -> None:
    columns = [row[1] for row in journal.execute("PRAGMA table_info(sample_cpu)")]
    rest = ", ".join(columns[2:])
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM n WHERE x < 3000000)"
    more = f"INSERT INTO sample_cpu SELECT s, x, {rest} FROM n, (SELECT max(sample) AS s, {rest} FROM sample_cpu)"  # noqa: S608
    journal.execute(f"{numbers} {more}")


JOURNALS: dict[str, Callable[[sqlite3.Connection], None]] = {
    make.__name__: make
    for make in (
        generated_column, recursive_view, costly_default, costly_index, many_tables, long_statement, long_text, long_request,
        many_notes, many_notes_of_any_run, deep_text, long_number, many_events, many_warnings, long_device_name, many_cpus,
    )
}  # fmt: skip
ACCEPTED = {"many_notes_of_any_run"}
"""Within all limits: imported, at a bounded cost."""
SLOW = {"long_text", "many_events", "many_warnings", "many_cpus", "many_notes", "long_statement"}
"""Take a minute and more, or gigabytes on the disk, to make or to refuse."""


def hostile(name: str, directory: Path) -> RunFolder:
    """Return a run whose journal was changed by a process of its own: this one may have SQLite's memory bounded already."""
    folder = recorded("grid", directory)
    program = "import sys; from tests.unit.journal.test_hostile_journals import change; change(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", program, name, folder.journal], check=True, cwd=ROOT)
    return folder


def change(name: str, path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as journal:
        journal.execute("PRAGMA synchronous = OFF")
        journal.execute("BEGIN")
        JOURNALS[name](journal)
        journal.execute("COMMIT")


def looping_pages(directory: Path) -> RunFolder:
    """A table whose inner page leads a hundred times to one and the same page, level after level: rows without end."""
    folder = recorded("grid", directory)
    with closing(sqlite3.connect(folder.journal, isolation_level=None)) as journal:
        (root,) = journal.execute("SELECT rootpage FROM sqlite_master WHERE name = 'event'").fetchone()
        (size,) = journal.execute("PRAGMA page_size").fetchone()
    data = bytearray(Path(folder.journal).read_bytes())
    pages, levels = len(data) // size, 12
    inner = data[(root - 1) * size : root * size]
    assert inner[0] == 5, "the root of a large table is an inner page"
    leaf = int.from_bytes(inner[(cell := int.from_bytes(inner[12:14], "big")) : cell + 4], "big")
    for level in range(levels):
        child = leaf if level == levels - 1 else pages + level + 1
        page = bytearray(size)
        # A cell: the child's number, and the key as a varint; all keys are the highest.
        cells, content = 200, size
        for number in range(cells):
            content -= 5
            page[content : content + 5] = child.to_bytes(4, "big") + b"\x7f"
            page[12 + 2 * number : 14 + 2 * number] = content.to_bytes(2, "big")
        page[0] = 5
        page[3:5], page[5:7], page[8:12] = (
            cells.to_bytes(2, "big"),
            content.to_bytes(2, "big"),
            child.to_bytes(4, "big"),
        )
        at = root - 1 if level == 0 else pages + level - 1
        data[at * size : (at + 1) * size] = page
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    Path(folder.journal).write_bytes(data)
    return folder


@pytest.mark.parametrize(
    "name",
    [*(pytest.param(name, marks=[pytest.mark.soak] if name in SLOW else []) for name in JOURNALS), "looping_pages"],
)
def test_hostile_journal_costs_little(tmp_path: Path, name: str) -> None:
    make = looping_pages if name == "looping_pages" else lambda directory: hostile(name, directory)
    folder = make(tmp_path / "runs")
    archive = pack(tmp_path / "x.fsrun", members_of(files_of(folder)))
    imported = cost_of("import", str(archive), "--runs", str(tmp_path / "other"))
    placed = cost_of("results", "grid", "--runs", str(tmp_path / "runs"))
    print(f"{name}: {archive.stat().st_size} bytes, {imported}, {placed}")
    shutil.rmtree(tmp_path / "runs")
    archive.unlink()
    if name in ACCEPTED:
        assert imported.code == 0
    else:
        assert imported.code == ExitCode.ARCHIVE_REFUSED, imported.err
        assert not (tmp_path / "other").exists() or os.listdir(tmp_path / "other") == []
    assert placed.code in (0, ExitCode.JOURNAL_UNUSABLE), placed.err
    for cost in (imported, placed):
        assert cost.peak_bytes < MOST_BYTES


def imported(folder: RunFolder, directory: Path) -> RunFolder:
    return import_run(str(pack(directory / "x.fsrun", members_of(files_of(folder)))), str(directory / "other"))


def limit(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    """Set a limit in every module that imports it."""
    for module in (limits, events, samples, reader):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("MAX_EVENTS", 100, "more than 100 events"),
        ("MAX_EVENT_BYTES", 10_000, "of their text"),
        ("MAX_COMMAS", 3, "too many values"),
        ("MAX_SAMPLE_ROWS_READ", 1, "more than 1 rows"),
        ("_MOST_ROWS", {"sample": 9}, "its table sample has more than 9 rows"),
    ],
)
def test_archive_beyond_a_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object, why: str
) -> None:
    limit(monkeypatch, name, value)
    with pytest.raises(ArchiveRefused, match=why):
        imported(recorded("grid", tmp_path / "runs"), tmp_path)


def test_run_beyond_a_limit_is_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recorded("grid", tmp_path / "runs")
    limit(monkeypatch, "_MOST_ROWS", {"sample": 9})
    with pytest.raises(JournalUnusable, match="more than 9 rows"):
        export_run(folder, str(tmp_path / "x.fsrun"))
    assert os.listdir(tmp_path) == ["runs"]


def test_folding_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.CpuBudget, "is_spent", lambda _budget: True)
    with pytest.raises(JournalUnusable, match="CPU time"):
        read_state(recorded("grid", tmp_path / "runs"))


def test_long_run_stays_below_all_limits(tmp_path: Path) -> None:
    """12 hours at 2 Hz, with a tenth of the CPUs and members that are allowed for."""
    folder = made_run(tmp_path / "runs", HOURS_12)
    export_run(folder, str(tmp_path / "x.fsrun"))
    assert imported(folder, tmp_path).name == "another"
    with closing(sqlite3.connect(folder.journal)) as journal:
        for table, most in reader._MOST_ROWS.items():
            (count,) = journal.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
            assert count < most / 10, table


def test_every_kept_archive_is_imported(tmp_path: Path) -> None:
    archives = sorted(str(path) for path in DATA.rglob("*.fsrun"))
    assert len(archives) > 5
    for number, path in enumerate(archives):
        assert read_state(import_run(path, str(tmp_path / str(number)))).request.plan.cells
    for name in (*NAMES, "bull"):
        exported = str(tmp_path / f"{name}.fsrun")
        export_run(recorded(name, tmp_path / "runs"), exported)
        assert read_state(import_run(exported, str(tmp_path / "others"))).request.plan.cells
