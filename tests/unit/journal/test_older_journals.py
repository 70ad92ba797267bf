"""Journals of earlier versions are read as they are and brought up to date when a run goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.journal.events import Batch, Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.schema import SCHEMA_VERSION, TABLES, migrate
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import RunStarted
from fsconsole.model.sample import DeviceRates, Pressure
from tests.unit.house.source import CHECKOUT

VERSIONS = sorted((CHECKOUT / "tests/data/journals").glob("*.sql"))


@pytest.fixture(params=VERSIONS, ids=lambda path: path.stem)
def old_folder(request: pytest.FixtureRequest, tmp_path: Path) -> RunFolder:
    folder = RunFolder(str(tmp_path))
    with closing(sqlite3.connect(folder.journal)) as connection:
        connection.executescript(request.param.read_text())
    return folder


def assert_whole(batch: Batch) -> None:
    assert isinstance(batch.observations[0], RunStarted)
    first, second = batch.samples
    assert first.bdi is not None
    assert (first.load, first.pressure) == (None, Pressure(7.66, 0.15))
    assert (second.interval_s, second.cpu.user, second.cpu.steal) == (0.500123, 12.35, None)
    assert second.load is not None
    assert second.load.bytes_s == pytest.approx(812400123.5, abs=256)
    assert second.devices == (DeviceRates("loop4", 0.0, 410200064.0, 0.0, 801.5, 12, 98.25, 14.063),)
    assert second.per_cpu == ()


def test_an_old_journal_is_read_without_being_written(old_folder: RunFolder) -> None:
    before = Path(old_folder.journal).read_bytes()
    reader = JournalReader(old_folder.journal)
    assert reader.request().plan.title == "one small cell"
    assert_whole(reader.read_since(Cursor()))
    assert reader.read_since(Cursor(sample=1)).samples[0].step == "workload"
    assert Path(old_folder.journal).read_bytes() == before


def test_a_writer_brings_an_old_journal_up_to_date(old_folder: RunFolder) -> None:
    JournalWriter(old_folder).close(finished=True)
    with closing(sqlite3.connect(old_folder.journal)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert_whole(JournalReader(old_folder.journal).read_since(Cursor()))


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_what_was_migrated_has_the_tables_of_a_new_journal(path: Path) -> None:
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as old,
        closing(sqlite3.connect(":memory:")) as new,
    ):
        old.executescript(path.read_text())
        (found,) = old.execute("PRAGMA user_version").fetchone()
        migrate(old, found)
        for statement in TABLES:
            new.execute(statement)
        assert columns(old) == columns(new)


def columns(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for (name,) in names}
