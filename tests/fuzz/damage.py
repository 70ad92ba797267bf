"""Run folders as they come from elsewhere: recorded ones, damaged by chance or on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fsconsole.journal.folder import RunFolder
from tests.fuzz.values import ACTING, scalars
from tests.tui.recorded import NAMES, recorded

_PARTS = (
    "journal.sqlite",
    "journal.sqlite-wal",
    "journal.sqlite-shm",
    "lock",
    "last-word",
    "control",
    "raw",
    "engine.log",
)
_MODES = (0o000, 0o400, 0o640, 0o666, 0o777, 0o4755)
_FREE_TEXTS = (
    ("run_started", "version"), ("run_started", "kernel"), ("run_started", "hostname"), ("step_started", "title"),
    ("step_finished", "reason"), ("cell_finished", "reason"), ("warning_raised", "reason"), ("warning_raised", "hint"),
    ("run_finished", "reason"), ("run_finished", "hint"), ("run_interrupted", "reason"), ("feature_seen", "name"),
    ("feature_seen", "value"),
)  # fmt: skip
_PROGRAMS = (
    "CREATE VIEW spare AS SELECT load_extension('/tmp/x') AS a",
    "CREATE TRIGGER spare AFTER INSERT ON event BEGIN DELETE FROM run; END",
    "CREATE TABLE spare (a, b AS (zeroblob(1000000000)))",
    "CREATE INDEX spare ON event (abs(id))",
    "DROP TABLE event", "DROP TABLE sample", "DROP TABLE run", "DROP TABLE sample_cpu",
    "ALTER TABLE event RENAME COLUMN kind TO sort", "ALTER TABLE run ADD COLUMN more TEXT",
    "DELETE FROM run", "DELETE FROM event WHERE kind = 'run_started'", "DELETE FROM event WHERE id % 3 = 0",
    "DELETE FROM event WHERE kind = 'target_accepted'",
    "PRAGMA user_version = 0", "PRAGMA user_version = 1", "PRAGMA user_version = 3", "PRAGMA user_version = 99",
    "PRAGMA application_id = 0", "PRAGMA user_version = -5",
    "UPDATE event SET kind = 'cell_finished'", "UPDATE event SET kind = 'run_started' WHERE id = 5",
    "UPDATE event SET id = -id", "UPDATE event SET body = json_set(body, '$.cell', 999999)",
    "UPDATE event SET body = json_replace(body, '$.attempt', json_extract(body, '$.cell'))",
    "PRAGMA application_id = 1718839857",
)  # fmt: skip


@st.composite
def damages(draw: st.DrawFn) -> Callable[[Path], RunFolder]:
    """Return what makes a run folder below a directory: with texts that act, or damaged in up to four ways, or both."""
    name = draw(st.sampled_from(NAMES))
    named = draw(st.sampled_from(((), (_name_strangely,))))
    ways = [*named, *draw(st.lists(st.sampled_from(_WAYS), max_size=4))]
    chosen = [(way, draw(st.randoms(use_true_random=False))) for way in ways]
    values = draw(st.lists(st.one_of(scalars, st.binary(max_size=8), st.none()), min_size=6, max_size=6))
    return lambda directory: _made(directory, name, chosen, values)


def _made(directory: Path, name: str, chosen: list[tuple[Any, Any]], values: list[Any]) -> RunFolder:
    shutil.rmtree(directory / "runs", ignore_errors=True)
    folder = recorded(name, directory / "runs")
    for way, random in chosen:
        way(folder, random, values)
    return folder


def _flip(folder: RunFolder, random: Any, _values: list[Any]) -> None:
    """Change some bytes of the journal, or of its log, or cut it."""
    paths = [path for path in (folder.journal, folder.journal + "-wal", folder.last_word) if _is_file(path)]
    if not paths:
        return
    path = Path(random.choice(paths))
    data = bytearray(path.read_bytes())
    if not data:
        return
    # The header and the first page of tables are where a byte matters most.
    for _ in range(random.choice((1, 3, 30, 300))):
        data[random.randrange(random.choice((100, 4096, len(data)))) % len(data)] = random.randrange(256)
    if random.random() < 0.1:
        del data[random.randrange(len(data)) :]
    path.write_bytes(data)


def _set_value(folder: RunFolder, random: Any, values: list[Any]) -> None:
    """Put a value where another one stood, of whatever type."""
    with _editing(folder) as journal:
        table = random.choice(_tables(journal))
        column = random.choice(_columns(journal, table))
        where = "" if random.random() < 0.3 else f" WHERE rowid = {random.randrange(1, 400)}"
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            words = f'UPDATE "{table}" SET "{column}" = ?{where}'  # noqa: S608 - names are the journal's own
            journal.execute(words, (_storable(random.choice(values)),))


def _set_leaf(folder: RunFolder, random: Any, values: list[Any]) -> None:
    """Put a value into one of the documents: the request, identities, hazards, commands."""
    with _editing(folder) as journal:
        table, column, where = random.choice((
            ("run", "request", ""),
            *(("event", "body", f" WHERE kind = '{kind}'") for kind in ("target_accepted", "run_started", "step_started")),
            ("event", "body", f" WHERE id >= {random.randrange(1, 400)}"),
        ))  # fmt: skip
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            row = journal.execute(f"SELECT rowid, {column} FROM {table}{where} LIMIT 1").fetchone()  # noqa: S608
            if row is None or not isinstance(row[1], str):
                return
            with contextlib.suppress(ValueError, RecursionError):
                document = with_leaf(json.loads(row[1]), random, values)
                words = (json.dumps(document), row[0])
                journal.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", words)  # noqa: S608


def _name_strangely(folder: RunFolder, random: Any, _values: list[Any]) -> None:
    """Put text that acts into every place where a journal holds free text."""
    text = "".join(random.sample(ACTING, 2))
    with _editing(folder) as journal, contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
        for kind, field in _FREE_TEXTS:
            with contextlib.suppress(sqlite3.Error):
                changed = f"json_replace(body, '$.{field}', json_extract(body, '$.{field}') || ?)"
                journal.execute(f"UPDATE event SET body = {changed} WHERE kind = ?", (text, kind))  # noqa: S608
        with contextlib.suppress(sqlite3.Error):
            journal.execute("UPDATE gauged_device SET name = name || ?", (text,))
        (request,) = journal.execute("SELECT request FROM run").fetchone() or ("",)
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            document = json.loads(request)
            document["version"] = document["plan"]["title"] = text
            document["plan"]["notes"] = [text]
            for cell in document["plan"]["cells"]:
                cell["variant"]["label"] += text
                cell["variant"]["as_printed"] = text
                for workload in cell["workloads"]:
                    workload["name"] += text
            journal.execute("UPDATE run SET request = ?", (json.dumps(document),))


def _change_schema(folder: RunFolder, random: Any, _values: list[Any]) -> None:
    with _editing(folder) as journal, contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
        journal.execute(random.choice(_PROGRAMS))


def _double_rows(folder: RunFolder, random: Any, _values: list[Any]) -> None:
    """Repeat events under new numbers, as no engine would."""
    with _editing(folder) as journal, contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
        low = random.randrange(1, 400)
        journal.execute(
            "INSERT INTO event SELECT id + 100000, wall_ns, monotonic_ns, kind, body FROM event"
            " WHERE id BETWEEN ? AND ?", (low, low + random.randrange(40)),
        )  # fmt: skip


def _end_strangely(folder: RunFolder, random: Any, values: list[Any]) -> None:
    """Leave a last word that no engine left."""
    word = {
        "wall_ns": random.choice((0, 1795276191226595421, -1, 2**63)), "monotonic_ns": 1,
        "finished": {"outcome": random.choice(("done", "failed", "x")), "reason": str(random.choice(values)),
                     "hint": str(random.choice(values)), "exit_code": random.choice((0, 3, 42, -1, 10**6))},
    }  # fmt: skip
    if _is_file(folder.last_word):
        Path(folder.last_word).write_bytes(json.dumps(word).encode("ascii", errors="replace"))


def _replace_part(folder: RunFolder, random: Any, _values: list[Any]) -> None:
    """Put something else in the place of a file: a link, a pipe, a socket, a device, a directory, nothing."""
    path = os.path.join(folder.path, random.choice(_PARTS))
    _away(path)
    canary = os.path.join(os.path.dirname(os.path.dirname(folder.path)), "canary")
    how = random.choice(
        ("none", "fifo", "directory", "socket", "device", "loop", "canary", "passwd", "inside", "empty")
    )
    links = {"loop": path, "canary": canary, "passwd": "/etc/passwd", "inside": "lock"}
    if how in links:
        os.symlink(links[how], path)
    elif how == "fifo":
        os.mkfifo(path)
    elif how == "directory":
        Path(path).mkdir()
    elif how == "socket":
        _socket(path)
    elif how == "device" and os.geteuid() == 0:
        # No driver answers to it: opened it is ENXIO.
        os.mknod(path, 0o600 | random.choice((stat.S_IFBLK, stat.S_IFCHR)), os.makedev(240, 7))
    elif how == "empty":
        Path(path).write_bytes(b"")


def _change_mode(folder: RunFolder, random: Any, _values: list[Any]) -> None:
    path = random.choice([folder.path, *(os.path.join(folder.path, part) for part in _PARTS)])
    if os.path.lexists(path) and not os.path.islink(path):
        Path(path).chmod(random.choice(_MODES))
        if os.geteuid() == 0 and random.random() < 0.3:
            os.chown(path, 1000, 1000)


def _fill_outputs(folder: RunFolder, random: Any, values: list[Any]) -> None:
    if not os.path.isdir(folder.raw) or os.path.islink(folder.raw):
        return
    for number in range(3):
        name = f"{number:03d}-02-mkfs.ext4"
        _away(os.path.join(folder.raw, name))
        with contextlib.suppress(OSError):
            Path(folder.raw, name).write_text(str(random.choice(values)) * 3, errors="replace")


def _away(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        Path(path).unlink()


_WAYS = (
    _flip, _flip, _set_value, _set_value, _set_value, _set_leaf, _set_leaf, _set_leaf, _change_schema, _double_rows,
    _end_strangely, _replace_part, _replace_part, _change_mode, _fill_outputs,
)  # fmt: skip


@contextlib.contextmanager
def _editing(folder: RunFolder) -> Iterator[sqlite3.Connection]:
    """Open a journal for any change; where it is none any more, give an empty one that nobody will see."""
    place = folder.journal if _is_file(folder.journal) else ":memory:"
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as journal:
        try:
            journal.execute("PRAGMA ignore_check_constraints = ON")
            journal.execute("SELECT count(*) FROM event").fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            # The second of the words in which SQLite complains, where they quote what is damaged.
            with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as nothing:
                nothing.execute("CREATE TABLE event (id, kind, wall_ns, monotonic_ns, attempt, cell, step)")
                yield nothing
            return
        yield journal


def _tables(journal: sqlite3.Connection) -> list[str]:
    try:
        found = journal.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        found = []
    return [str(name) for (name,) in found] or ["event"]


def _columns(journal: sqlite3.Connection, table: str) -> list[str]:
    try:
        found = journal.execute(f'PRAGMA table_info("{table}")').fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        found = []
    return [str(row[1]) for row in found] or ["id"]


def with_leaf(document: Any, random: Any, values: list[Any]) -> Any:
    """Return a document with one of its values, at whatever depth, replaced or left out."""
    if not isinstance(document, (dict, list)) or not document or random.random() < 0.05:
        value = random.choice(values)
        return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
    place = random.choice(sorted(document) if isinstance(document, dict) else range(len(document)))
    if random.random() < 0.04:
        del document[place]
    else:
        document[place] = with_leaf(document[place], random, values)
    return document


def _storable(value: Any) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float("inf")
    if isinstance(value, str):
        raw = value.encode("utf-8", errors="surrogatepass")
        return value if raw.decode(errors="replace") == value else raw
    return value


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _socket(path: str) -> None:
    short = os.path.relpath(path)
    with socket.socket(socket.AF_UNIX) as ear, contextlib.suppress(OSError):
        ear.bind(path if len(path) < 100 else short)
