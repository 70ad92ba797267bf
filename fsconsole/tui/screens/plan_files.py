"""Plans as the Plan screen opens and saves them: by name, from a file, of a past run."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from fsconsole.errors.targets import PlanChanged, PlanMissing, PlanUnwritable
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.plan.draft import Draft
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.read import list_configs, parse_plan, read_plan, resolve_plan
from fsconsole.plan.shipped import is_shipped
from fsconsole.show.shipped import shipped_lines
from fsconsole.tui import planfiles
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import PromptScreen
from fsconsole.tui.screens.plan_dialogs import OpenScreen, PathSuggester

_NEW_NAME = "plan.toml"


async def picked(screen: ConsoleScreen) -> PlanFile | None:
    """Ask for a recipe, another shipped plan or a file, and return its plan; None where nothing was chosen.

    Raises as read_plan.
    """
    shipped = shipped_lines({path: read_plan(path) for path in list_configs()})
    name = await screen.app.push_screen_wait(OpenScreen("Open a plan", shipped))
    if name is None:
        return None
    try:
        path = os.path.abspath(resolve_plan(os.path.expanduser(name)))
    except OSError as error:
        raise PlanMissing(name, str(error)) from error
    return await asyncio.to_thread(read_plan, path)


def plan_of(folder: RunFolder) -> PlanFile:
    """Return the plan of a run as it was when it started, of no file. Raises as parse_plan, and as JournalReader."""
    return parse_plan(JournalReader(folder.journal).request().plan.source, "", needs_rows=False)


async def asked_path(screen: ConsoleScreen, now: str) -> str:
    """Ask where to save a plan that is of this file now; empty where that was cancelled. Raises PlanUnwritable."""
    offered = (os.path.basename(now) or _NEW_NAME) if is_shipped(now) or not now else now
    hint = "Right arrow completes; enter saves."
    path = await screen.app.push_screen_wait(
        PromptScreen("Save the plan as", offered, hint=hint, suggester=PathSuggester())
    )
    try:
        return os.path.abspath(os.path.expanduser(path.strip())) if path and path.strip() else ""
    except OSError as error:
        raise PlanUnwritable(path or "", str(error)) from error


async def saved(screen: ConsoleScreen, draft: Draft, digest: str, path: str) -> PlanFile | None:
    """Save a draft, and return its plan as it is in the file; None where that is not wanted over what is there.

    digest: of the file that the draft was opened from, as it was then. Raises PlanUnwritable, PlanMissing.
    """
    is_anew = False
    while True:
        found, is_ours = planfiles.digest_of(path), path == draft.plan.path
        if found and not (is_ours and found == digest):
            why = "It was edited since it was opened here." if is_ours else "The file exists already."
            if is_anew:
                why = "Somebody else changed it while it was being saved."
            if not await screen.agreed(f"Replace {path}?", f"{why} Its text would be lost.", yes="Replace"):
                return None
        plan, text = draft.plan_file, draft.text
        try:
            planfiles.save(path, text, found)
        except PlanChanged:
            # Somebody else was there first.
            is_anew = True
        else:
            return replace(plan, path=path, source=text)
