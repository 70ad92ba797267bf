"""Plans of ten thousand cells on the Plan screen, and of none: only what is in sight is made."""

from __future__ import annotations

import json
from pathlib import Path

from fsconsole.tui.widgets.choices import Choices
from tests.tui.at_plan import LOAD, Hand, at_plan, catalog_answer
from tests.tui.harness import Scripted, picture

COMMITS = ", ".join(str(seconds) for seconds in range(1, 251))
VARIANTS = f"""schema = 1
[[filesystem]]
type = "ext4"
mkfs = {{ inode_size = [128, 256, 512, 1024], flex_bg_size = [2, 4, 8, 16, 32] }}
mount = {{ commit = [{COMMITS}], delalloc = ["on", "off"] }}
{LOAD}"""
THREADS = f"""schema = 1
raw = true
repeats = 10
{LOAD}threads = [{", ".join(map(str, range(1, 1001)))}]
"""
IN_SIGHT = 300
"""Lines that may be made: those in sight, and those that were on the way; never all."""


async def opened(hand: Hand, tmp_path: Path, text: str) -> None:
    path = tmp_path / "a rather long name of a plan file.toml"
    path.write_text(text)
    await hand.keys("o", "tab")
    await hand.type(str(path))
    await hand.keys("enter")
    await hand.until(lambda: hand.screen.draft.plan.path == str(path))
    await hand.settled()


def made(choices: Choices) -> int:
    return choices._rows.made


def test_ten_thousand_variants_are_all_listed_looked_through_and_unticked(tmp_path: Path) -> None:
    async def work(hand: Hand) -> None:
        await opened(hand, tmp_path, VARIANTS)
        await hand.sees("10,000 variants, 10,000 cells")
        await hand.go_to("variants")
        lines = hand.screen.query_one("#lines", Choices)
        assert len(lines.lines_shown) == 10_000
        await hand.keys("end")
        await hand.sees("commit=250")
        await hand.keys("pageup", "home", "pagedown", "end")
        assert made(lines) < IN_SIGHT
        await hand.keys("space")
        await hand.settled()
        await hand.sees("9,999 variants, 9,999 cells")
        await hand.keys("slash")
        await hand.type("commit=77 1024")
        await hand.sees("10 of 10,000 variants match")

    at_plan(work)


def test_the_commands_of_ten_thousand_cells_are_asked_for_one_cell_at_a_time(tmp_path: Path) -> None:
    step = {"kind": "raw", "title": "write", "commands": [["fio", "--x"]], "writes": []}
    answer = {"cells": [{"index": 9_999, "unavailable": "", "steps": [step]}]}
    children = Scripted({"catalog": catalog_answer(), "plan ": json.dumps(answer)})

    async def work(hand: Hand) -> None:
        await opened(hand, tmp_path, THREADS)
        await hand.sees("1 variant, 10,000 cells")
        await hand.go_to("workloads")
        await hand.sees("1. create", "1,000 numbers of threads from 1 to 1000: create of 1MiB")
        await hand.keys("c")
        await hand.sees("Commands of each cell")
        await hand.keys("end")
        await hand.sees("10000. raw", "threads ", "$ fio --x")
        assert made(hand.pilot.app.screen.query_one("#cells", Choices)) < IN_SIGHT
        asked = [words for words in children.asked if words[0] == "plan"]
        assert all("--cell" in words for words in asked)
        assert asked
        await hand.keys("escape")
        await hand.sees("1. create")

    at_plan(work, children=children)


def test_no_cell_at_all_says_why_and_what_to_do() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("filesystems")
        for name in ("ext4", "xfs"):
            await hand.look_at(name)
            await hand.keys("space")
        await hand.settled()
        seen = await hand.sees("No variant is ticked", "To start: tick a filesystem")
        assert "0 cells" in seen
        await hand.keys("c")
        await hand.sees("There is no cell: no variant is ticked.")
        await hand.keys("escape")
        assert "No variant is ticked" in picture(hand.pilot)

    at_plan(work)
