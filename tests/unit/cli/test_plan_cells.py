"""A plan in JSON without its cells, or with one of them alone."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from fsconsole.cli.app import build_app
from fsconsole.errors import Misused


def asked(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(build_app(), ["plan", "demo", "--json", *words])
    assert done.exit_code == 0
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_one_cell_is_given_alone_or_none_and_without_the_option_all() -> None:
    for words, indices in [
        (["--cell", "0"], []),
        (["--cell", "12"], [11]),
        (["--cell", "13"], []),
        ([], range(12)),
    ]:
        found = asked(*words)
        cells = found["cells"]
        assert isinstance(cells, list)
        assert [cell["index"] for cell in cells] == [*indices]
        assert (found["cell_count"], found["runnable"], found["unavailable"]) == (12, 12, [])


def test_what_is_no_number_of_a_cell_is_refused() -> None:
    for word in ("-1", "x", "1.5", "²", " 1"):
        done = CliRunner().invoke(build_app(), ["plan", "demo", "--json", f"--cell={word}"])
        assert isinstance(done.exception, Misused)
