"""Every text form of recorded real runs is as it was kept."""

from __future__ import annotations

import difflib
import os

import pytest

from tests.unit.house.source import CHECKOUT
from tests.unit.results.golden import FORMS, KEPT, made


@pytest.mark.parametrize("name", FORMS)
def test_a_text_form_of_a_recorded_run_is_as_kept(name: str) -> None:
    before, now = (KEPT / name).read_text(), made(name)
    changes = difflib.unified_diff(before.splitlines(), now.splitlines(), "kept", "now", lineterm="", n=1)
    assert now == before, "\n".join([*list(changes)[:60], "renew: python -m tests.unit.results.golden"])


def test_nothing_else_is_kept() -> None:
    assert sorted(os.listdir(KEPT)) == sorted(FORMS)


@pytest.mark.parametrize("name", [name for name in FORMS if name.endswith("-80.txt")])
def test_a_report_fits_80_columns(name: str) -> None:
    assert max(map(len, (KEPT / name).read_text().splitlines())) <= 80


def test_the_demo_in_docs_is_the_kept_one() -> None:
    here = (KEPT / "demo-80.txt").read_text().replace(": imported, finished.", ": finished.")
    assert here in (CHECKOUT / "docs/demo.md").read_text()
