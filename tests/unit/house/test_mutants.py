"""Every listed mutant can be put into the product as it is now, and its tests exist."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.run import ROOT, Mutant, NotFoundOnceError, place_of, read_list, with_fault


def test_the_lines_of_each_mutant_stand_in_the_product_once_and_its_tests_are_there() -> None:
    mutants, wrong = read_list(), []
    for one in mutants:
        try:
            ast.parse(with_fault(one, place_of(one, ROOT)))
        except (NotFoundOnceError, SyntaxError) as error:
            wrong.append(f"{one.id}: {error}")
        for test in one.tests or ("no test",):
            path, _, name = test.partition("::")
            if not (ROOT / path).is_file() or f"def {name}" not in (ROOT / path).read_text(encoding="utf-8"):
                wrong.append(f"{one.id}: there is no {test}")
    assert not wrong, "\n".join(wrong)
    assert len({one.id for one in mutants}) == len(mutants) == 100


def test_lines_that_moved_are_found_by_function_and_in_two_places_they_are_refused(tmp_path: Path) -> None:
    house = tmp_path / "fsconsole"
    house.mkdir()
    moved = "class Gate:\n    def wait(self) -> None:\n        while True:\n            act(\n                1, 2)\n"
    (house / "new.py").write_text("import os\n\n\ndef other() -> None:\n    act(1, 2)\n\n\n" + moved)
    mutant = Mutant("gate-1", "left out", "fsconsole/old.py", "Gate.wait", "act(1, 2)", "pass", ("tests/x.py",))
    spread = replace(mutant, before="act( 1, 2)")
    with pytest.raises(NotFoundOnceError, match="stand in 0 places"):
        place_of(mutant, tmp_path)
    assert "            pass\n" in with_fault(spread, place_of(spread, tmp_path))
    (house / "twice.py").write_text(moved)
    with pytest.raises(NotFoundOnceError, match="stand in 2 places"):
        place_of(spread, tmp_path)
