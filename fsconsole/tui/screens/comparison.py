"""Comparison of a run with another one, or with a published table, as `fsconsole compare` prints it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fsconsole.client.runs import look
from fsconsole.errors.runs import RunsDiffer
from fsconsole.journal.folder import RunFolder
from fsconsole.model.figures import Publication
from fsconsole.model.state import RunState
from fsconsole.results.environment import Varied
from fsconsole.results.sides import SideComparison, compare_sides, sides_of
from fsconsole.show.runs import comparison_lines
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import OutputScreen


async def show_comparison(screen: ConsoleScreen, folders: Sequence[RunFolder], *published: Publication) -> None:
    """Compare runs with the earliest, and with published tables; asks where they differ in what isn't compared."""
    folders = sorted(folders, key=lambda folder: folder.name)

    def read(vary: Sequence[Varied]) -> SideComparison:
        given: list[Sequence[RunState] | Publication] = [[look(folder).state] for folder in folders]
        return compare_sides(sides_of([*given, *published], ()), vary)

    with screen.complaining():
        try:
            found = await asyncio.to_thread(read, ())
        except RunsDiffer as error:
            if not await screen.agreed("Compare them all the same?", str(error), yes="Compare"):
                return
            found = await asyncio.to_thread(read, tuple(map(Varied, error.vary.split(","))))
        await screen.app.push_screen_wait(OutputScreen(lambda width: comparison_lines(found, width)))
