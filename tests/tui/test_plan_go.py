"""The Plan screen: its targets, its commands, and what it hands to Confirm."""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from fsconsole.model.device import Identity
from fsconsole.tui.screens.dialogs import Dialog
from tests.tui.at_plan import Hand, at_plan, catalog_answer, device_answer
from tests.tui.harness import Scripted


def test_the_ticked_device_is_reckoned_with() -> None:
    async def work(hand: Hand) -> None:
        await hand.sees("on /dev/loop7 (1.0 GiB)", "6 cells")
        assert hand.screen.outcome.plan is not None
        assert hand.screen.outcome.plan.estimate.bytes_to_write < 6 * 2**30

    children = Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})
    at_plan(work, children=children, targets=("/dev/loop7",))


def test_a_device_that_was_pulled_while_it_was_ticked_is_told() -> None:
    async def work(hand: Hand) -> None:
        await hand.sees("/dev/sdz: not there any more")

    at_plan(work, targets=("/dev/sdz",))


def test_no_cell_at_all_is_told_and_not_begun() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("filesystems")
        for name in ("ext4", "xfs"):
            await hand.look_at(name)
            await hand.keys("space")
        await hand.settled()
        await hand.sees("0 variants, 0 cells")
        await hand.keys("g")
        await hand.sees("No cell of this plan can run: no variant is ticked.")

    children = Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})
    at_plan(work, children=children, targets=("/dev/loop7",))


def test_the_commands_of_a_cell_are_those_that_plan_prints() -> None:
    step = {"kind": "mkfs", "title": "make xfs", "commands": [["mkfs.xfs", "-f", "/dev/loop7"]], "writes": []}
    cell = {"index": 0, "unavailable": "", "steps": [step]}

    async def work(hand: Hand) -> None:
        await hand.keys("c")
        await hand.sees("1. ", "6. ", "$ mkfs.xfs -f /dev/loop7")
        await hand.keys("escape")
        await hand.sees("New plan")

    children = Scripted({"catalog": catalog_answer(), "plan ": json.dumps({"cells": [cell]})})
    at_plan(work, children=children)


def test_without_root_or_device_go_says_what_is_missing() -> None:
    async def root(hand: Hand) -> None:
        await hand.keys("g")
        await hand.sees("need root: start fsconsole with sudo")

    async def device(hand: Hand) -> None:
        await hand.keys("g")
        await hand.sees("No target is ticked")

    at_plan(root, is_root=False)
    at_plan(device)


def test_go_hands_the_plan_to_confirm_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[tuple[str, tuple[str, ...], str, int]] = []

    class Confirm(Dialog[object]):
        def __init__(self, plan_path: str, ticks: dict[str, Identity], source_sha256: str) -> None:
            super().__init__("Confirm")
            path = Path(plan_path)
            assert source_sha256 == sha256(path.read_bytes()).hexdigest()
            seen.append((plan_path, tuple(ticks), path.read_text(), path.stat().st_mode & 0o777))

    module = ModuleType("fsconsole.tui.screens.confirm")
    module.ConfirmScreen = Confirm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    async def work(hand: Hand) -> None:
        await hand.keys("g")
        await hand.until(lambda: bool(seen))
        path, targets, text, mode = seen[0]
        assert (targets, mode) == (("/dev/loop7",), 0o600)
        assert text == hand.screen.draft.text
        await hand.keys("escape")
        await hand.until(lambda: not Path(path).exists())

    children = Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})
    at_plan(work, children=children, targets=("/dev/loop7",))
