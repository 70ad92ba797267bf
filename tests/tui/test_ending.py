"""The console ends while a child is at work: what the child still answers is nobody's."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.tui.widgets.table import SheetTable
from tests.tui.at_devices import Held, drive
from tests.tui.device_lists import FREE, listed
from tests.tui.waiting import until


@pytest.mark.parametrize("answer", [listed(FREE), Done((), 1, "", "fsconsole: No sysfs.\n")])
def test_an_answer_that_comes_while_the_console_ends_is_left_alone(
    answer: str | Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = Held({"devices": answer}, held=("devices",))
    former = SheetTable._message_loop_exit

    async def answered_now(table: SheetTable) -> None:
        await former(table)
        children.release.set()
        await asyncio.sleep(0.05)

    monkeypatch.setattr(SheetTable, "_message_loop_exit", answered_now)

    async def steps(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: children.running, "the child's begin")

    drive(children, steps)
    assert children.release.is_set()
