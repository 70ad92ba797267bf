from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.cli.complaint import complain, fitted
from tests.unit.cli.recorded import Terminal

SENTENCE = "Run 20261121-081000-k7qf is not being carried out."
HINT = (
    "`fsconsole results 20261121-081000-k7qf` shows it; `fsconsole resume 20261121-081000-k7qf` finishes it."
)


def test_on_a_terminal_no_word_is_broken_and_commands_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "60")
    complain(SENTENCE, HINT)
    assert stream.getvalue().splitlines() == [
        "fsconsole: Run 20261121-081000-k7qf is not being carried",
        "out.",
        "hint: `fsconsole results 20261121-081000-k7qf` shows it;",
        "`fsconsole resume 20261121-081000-k7qf` finishes it.",
    ]


def test_elsewhere_each_is_one_line_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    complain(SENTENCE, HINT)
    assert capsys.readouterr().err == f"fsconsole: {SENTENCE}\nhint: {HINT}\n"


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126) | st.just(" "), max_size=300))
def test_nothing_but_spaces_is_lost_between_lines(text: str) -> None:
    assert fitted(text).replace("\n", "").replace(" ", "") == text.replace(" ", "")
