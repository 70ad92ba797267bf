"""A plan in JSON without its cells, or with one of them alone."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from fsconsole.cli.main import build_app
from fsconsole.errors import Misused


def asked(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(build_app(), ["plan", "demo", "--json", *words])
    assert done.exit_code == 0
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("number", "indices"), [("0", []), ("1", [0]), ("12", [11]), ("13", [])])
def test_one_cell_is_given_alone_or_none(number: str, indices: list[int]) -> None:
    found = asked("--cell", number)
    cells = found["cells"]
    assert isinstance(cells, list)
    assert [cell["index"] for cell in cells] == indices
    assert found["cell_count"] == 12
    assert found["runnable"] == 12
    assert found["unavailable"] == []


def test_without_the_option_all_cells_are_given() -> None:
    cells = asked()["cells"]
    assert isinstance(cells, list)
    assert len(cells) == 12


@pytest.mark.parametrize("word", ["-1", "x", "1.5", "²", " 1"])
def test_what_is_no_number_of_a_cell_is_refused(word: str) -> None:
    done = CliRunner().invoke(build_app(), ["plan", "demo", "--json", f"--cell={word}"])
    assert isinstance(done.exception, Misused)
