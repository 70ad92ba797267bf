"""Commands that the tests fork off end and print as those that are started anew."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.loop.forked import nursery
from tests.loop.runs import FSCONSOLE

pytestmark = pytest.mark.root

COMMANDS = {
    "its output": ("runs", "--runs", "none"),
    "an error": ("plan", "here.toml", "--device", "/dev/absent\x1b"),
    "no command": ("rum",),
    "help": ("scratch", "--help"),
    "a name below its directory": ("results", "--runs", "runs", "--json"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_forked_command_ends_and_prints_as_one_that_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "here.toml").write_text("schema = 1\n[[filesystem]]\n")
    (tmp_path / "runs").write_text("no directory")
    anew = subprocess.run([*FSCONSOLE, *words], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    assert nursery().run(words, 120) == (anew.returncode, anew.stdout, anew.stderr)


def test_a_forked_command_that_does_not_end_in_time_is_killed_and_the_next_one_is_carried_out() -> None:
    with pytest.raises(TimeoutError):
        nursery().run(("gauges", "--json"), limit_s=0.5)
    assert nursery().run(("--version",), limit_s=120)[0] == 0
