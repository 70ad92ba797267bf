"""Seals of a run's journal: where it was edited, came from elsewhere or has no key, consent is asked for again."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.devices.gate import inspect_device
from fsconsole.engine.proof import look_again, renew
from fsconsole.errors import ExitCode
from fsconsole.journal import seal
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.seal import KEY_PATH
from fsconsole.model.plan import StepKind
from fsconsole.model.wire import encode
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run
from tests.lab.soak import tried
from tests.loop.commands import APART, assert_told, command, each, fails, replacing
from tests.loop.gate_cases import context, loop_over, sparse, unchanged, write
from tests.loop.runs import THREE_CELLS_PLAN, new_run
from tests.loop.test_kill_engine import hanging, kill_engine
from tests.loop.test_resume import consent_of, finish, runs_of, shown

FOREIGN = "its journal was not sealed by this machine"
EDITED = "its journal was changed after it was sealed"
REQUEST = "UPDATE run SET request = json_set(request, ?, json(?))"
LAST_LEFT = """UPDATE event SET body = json_set(body, '$.fingerprint', json(?))
    WHERE rowid = (SELECT max(rowid) FROM event WHERE kind = 'device_left')"""
NO_FIRST_LEFT = "DELETE FROM event WHERE rowid = (SELECT min(rowid) FROM event WHERE kind = 'device_left')"
TARGET, CELL = "$.targets[0]", "$.plan.cells[2]"


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A device that needs consent, for all tests of the module."""
    file = tmp_path_factory.mktemp("disk") / "disk"
    with loop_over(sparse(file)) as path:
        yield path


@pytest.fixture(scope="module")
def sealed(device: str, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that was killed before its third cell, and that goes on without a question; the tests have copies of its folder."""
    directory = tmp_path_factory.mktemp("sealed")
    folder = new_run(THREE_CELLS_PLAN, device, str(directory / "runs"))
    kill_engine(hanging(folder, StepKind.GATE, "after", directory / "marker", cell=last_cell(folder)))
    assert consent_of(folder) == ""
    return folder


def last_cell(folder: RunFolder) -> int:
    return read_state(folder).request.plan.cells[-1].index


def extracted(folder: RunFolder, directory: Path) -> RunFolder:
    """Return a copy of a run's folder that came by tar."""
    directory.mkdir()
    archive = str(directory / "run.tar")
    run("tar", "--create", "--file", archive, "--directory", str(Path(folder.path).parent), folder.name)
    run("tar", "--extract", "--file", archive, "--directory", str(directory))
    return RunFolder(str(directory / folder.name))


def edited(folder: RunFolder, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        assert journal.execute(statement, values).rowcount > 0


def of_request(path: str, value: str) -> Callable[[RunFolder, str], None]:
    """Return the edit of one value of the request."""
    return lambda folder, _: edited(folder, REQUEST, path, encode(value))


def as_it_is_now(folder: RunFolder, device: str) -> None:
    """Have the journal say that the last cell left what somebody has stored since."""
    write(device, 20 * MIB, b"letters" * 1000)
    now = encode(inspect_device(device, context()).fingerprint)
    edited(folder, LAST_LEFT, now)


EDITS: dict[str, tuple[Callable[[RunFolder, str], None], str]] = {
    "the consent": (of_request(f"{TARGET}.consent", "00000-00000-00000"), FOREIGN),
    "what was agreed to": (of_request(f"{TARGET}.fingerprint.content", "other"), FOREIGN),
    "the plan": (of_request(f"{CELL}.steps[0].title", "other"), FOREIGN),
    "the seal itself": (lambda folder, _: edited(folder, "UPDATE run SET seal = ?", "0" * 64), FOREIGN),
    "a fingerprint": (as_it_is_now, EDITED),
    "one of two fingerprints": (lambda folder, _: edited(folder, NO_FIRST_LEFT), EDITED),
}
CHOSEN = ("what was agreed to", "a fingerprint", "one of two fingerprints")
WITHOUT_KEY = (*APART, 'mount -t tmpfs none "$1" && shift && exec "$@"', "sh", str(Path(KEY_PATH).parent))


def test_another_target_or_command_in_the_journal_is_not_obeyed_after_consent_either(
    sealed: RunFolder, device: str, loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    other = loop_device(64 * MIB)
    mkfs = f"mkfs.ext4 -F {other}"
    steps = read_state(sealed).request.plan.cells[2].steps
    place = next(number for number, step in enumerate(steps) if step.kind is StepKind.MKFS)
    with unchanged(other):
        copy = extracted(sealed, tmp_path / "command")
        path = f"{CELL}.steps[{place}].commands"
        edited(copy, REQUEST, path, encode((tuple(mkfs.split()),)))
        consent = consent_of(copy)
        fails(
            ExitCode.JOURNAL_UNUSABLE,
            "resume",
            "--consent",
            consent,
            *runs_of(copy),
            names=("asks for", mkfs),
        )
        copy = extracted(sealed, tmp_path / "target")
        of_request(f"{TARGET}.path", other)(copy, device)
        fails(ExitCode.DEVICE_CHANGED, "resume", *runs_of(copy), names=(other, "is not what was agreed upon"))


def test_without_the_key_or_on_another_machine_all_is_asked_about(
    sealed: RunFolder, device: str, tmp_path: Path
) -> None:
    machine = tmp_path / "machine-id"
    machine.write_text("0123456789abcdef0123456789abcdef\n")
    elsewhere = {"no key": (WITHOUT_KEY,), "another machine": (replacing("/etc/machine-id", str(machine)),)}

    def asked(under: tuple[str, ...]) -> None:
        with unchanged(device):
            done = command("resume", sealed.name, *runs_of(sealed), under=under)
        assert_told(done, ExitCode.CONSENT_MISSING, device, FOREIGN)

    each(elsewhere, asked)
    assert consent_of(sealed) == ""


def test_consent_that_is_given_anew_is_sealed_with_the_key_of_the_machine_where_it_was_given(
    sealed: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, key = extracted(sealed, tmp_path / "anew"), tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    for path in (str(key), KEY_PATH):
        monkeypatch.setattr(seal, "KEY_PATH", path)
        renewal = look_again(folder, RealExecutor())
        assert renewal.unproven[0].reason in (FOREIGN, EDITED)
        renew(folder, renewal, renewal.consent)
        assert look_again(folder, RealExecutor()).unproven == ()
        unused = tmp_path / "unused"
        unused.write_bytes(key.read_bytes())
        # One that others can read is no secret.
        monkeypatch.setattr(seal, "KEY_PATH", str(unused))
        unused.chmod(0o640)
        assert FOREIGN in look_again(folder, RealExecutor()).unproven[0].reason


def test_an_edited_journal_is_no_consent_and_one_that_only_came_by_tar_still_is(
    sealed: RunFolder, device: str, tmp_path: Path
) -> None:
    def asked(name: str, edit: Callable[[RunFolder, str], None], why: str) -> None:
        copy = extracted(sealed, tmp_path / name)
        assert consent_of(copy) == ""
        edit(copy, device)
        with unchanged(device):
            fails(ExitCode.CONSENT_MISSING, "resume", *runs_of(copy), names=(device, why))
            (target,) = shown(copy)["targets"]  # type: ignore[misc]
        assert target["changed"] == why

    # The last one to be tried writes on the device.
    in_order = sorted(
        ((name, EDITS[name]) for name in tried(tuple(EDITS), CHOSEN)), key=lambda edit: edit[1][0] is as_it_is_now
    )
    each({name: (name, *edit) for name, edit in in_order}, asked)
    # It is the last test that needs the device as the run left it.
    finish(extracted(sealed, tmp_path / "agreed"), under=WITHOUT_KEY)
