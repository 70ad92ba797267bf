"""Which stopped arrays of a dead engine are put together for a look, and that this writes nothing."""

from __future__ import annotations

import pytest

from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.engine.arrays import OwnArray, assemble_stopped
from fsconsole.model.command import Command, CommandResult, ResourceUsage

OURS, OTHER_OURS, THEIRS = "0000aaaa", "0000bbbb", "0000cccc"
ON = {"/dev/vda": OURS, "/dev/vdb": OURS, "/dev/vdc": OTHER_OURS, "/dev/vdd": THEIRS, "/dev/vde": ""}
OWN = OwnArray(frozenset({OURS, OTHER_OURS}), (*ON, "/dev/gone"))


class Recorder:
    """An executor of which every command fails, as mdadm does where too many members are gone."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def run(self, command: Command) -> CommandResult:
        self.calls.append(command.argv)
        return CommandResult(command.argv, 1, b"", b"mdadm: failed to RUN_ARRAY", ResourceUsage(0, 0, 0, 0))


def member_uuid(path: str) -> str:
    if path not in ON:
        raise FileNotFoundError(path)
    return ON[path]


@pytest.fixture(params=[(), ("vdc",)])
def called(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is called while the kernel holds an array of the disks named, and others."""
    held = [HeldArray("md401", frozenset({"vdz", *request.param}))]
    monkeypatch.setattr(arrays, "held_arrays", lambda: held)
    monkeypatch.setattr(arrays, "member_uuid", member_uuid)
    monkeypatch.setattr(arrays, "kernel_name", lambda path: path.removeprefix("/dev/"))
    monkeypatch.setattr(arrays.os.path, "exists", lambda path: path == "/sys/block/md401")
    recorder = Recorder()
    assemble_stopped(OWN, recorder)
    return sorted(recorder.calls, key=lambda argv: argv[-1])


@pytest.mark.parametrize("called", [()], indirect=True)
def test_each_of_the_runs_own_is_under_a_number_of_its_own(called: list[tuple[str, ...]]) -> None:
    numbers, members = {argv[4] for argv in called}, [argv[5:] for argv in called]
    assert numbers == {"/dev/md402", "/dev/md403"}
    assert members == [("/dev/vda", "/dev/vdb"), ("/dev/vdc",)]


@pytest.mark.parametrize("called", [("vdc",)], indirect=True)
def test_one_that_is_held_together_already_is_left_as_it_is(called: list[tuple[str, ...]]) -> None:
    assert [argv[5:] for argv in called] == [("/dev/vda", "/dev/vdb")]


def test_nothing_is_written(called: list[tuple[str, ...]]) -> None:
    assert {argv[:4] for argv in called} == {("mdadm", "--assemble", "--readonly", "--run")}
