from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import Command, CommandResult, Executor, Usage
from fsconsole.system.executors import FakeExecutor, RecordingExecutor
from fsconsole.system.recordings import load_results, save_results
from fsconsole.system.run import RealExecutor

ECHO = ("/bin/sh", "-c", "printf 'a\\377b'; echo why >&2; exit 2")

results = st.builds(
    CommandResult,
    argv=st.tuples(st.text(min_size=1), st.text()),
    exit_code=st.integers(-64, 255),
    stdout=st.binary(),
    stderr=st.binary(),
    usage=st.builds(
        Usage,
        st.floats(0, 1e6),
        st.floats(0, 1e6),
        st.floats(0, 1e6),
        st.integers(0, 2**50),
    ),
    timed_out=st.booleans(),
    kernel_log=st.lists(st.text(), max_size=3).map(tuple),
)


def test_what_was_recorded_is_repeated(tmp_path: Path) -> None:
    recording = RecordingExecutor(RealExecutor())
    real = recording.run(Command(ECHO))
    assert recording.history == [real]
    assert FakeExecutor(recording.results).run(Command(ECHO)) == real
    path = tmp_path / "recorded.json"
    recording.save(str(path))
    fake: Executor = FakeExecutor.from_file(str(path))
    assert fake.run(Command(ECHO)) == real


def test_a_fake_lists_what_was_asked_for() -> None:
    recording = RecordingExecutor(RealExecutor())
    recording.run(Command(("true",)))
    fake = FakeExecutor(recording.results)
    fake.run(Command(("true",)))
    with pytest.raises(LookupError):
        fake.run(Command(("true", "--other")))
    with pytest.raises(ToolMissing) as caught:
        fake.run(Command(("mkfs.xfs", "/dev/x")))
    assert caught.value.package == "xfsprogs"
    assert fake.calls == [("true",), ("true", "--other"), ("mkfs.xfs", "/dev/x")]


@settings(max_examples=30)
@given(st.lists(results, max_size=3).map(tuple))
def test_every_result_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, kept: tuple[CommandResult, ...]
) -> None:
    path = tmp_path_factory.mktemp("recording") / "results.json"
    save_results(kept, str(path))
    assert load_results(path) == kept


@pytest.mark.parametrize("document", [{}, [1], [{"argv": ["x"]}], "text", [{"argv": "mkfs", "exit_code": 0}]])
def test_another_document_is_refused(tmp_path: Path, document: object) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="not a"):
        load_results(path)
