"""Plans as the Plan screen opens and saves them: by name, from a file, of a past run; and the devices that they are for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from fsconsole.catalog.filesystem import Catalog
from fsconsole.client.children import decoded
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import DevicesAnswer, ListedDevice
from fsconsole.errors.targets import PlanChanged, PlanMissing, PlanUnwritable
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.model.plan import Loads
from fsconsole.plan.draft import Draft
from fsconsole.plan.inodes import Mke2fsConf
from fsconsole.plan.least import least_bytes
from fsconsole.plan.outcome import Outcome, ThisMachine, work_out
from fsconsole.plan.planfile import PlanFile, TargetSpec
from fsconsole.plan.read import list_configs, parse_plan, read_plan, resolve_plan
from fsconsole.plan.shipped import is_shipped, shipped_title
from fsconsole.show.devices import WORDS
from fsconsole.show.identities import others
from fsconsole.show.shipped import shipped_lines
from fsconsole.system.files import memory_bytes
from fsconsole.tui import planfiles
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import PromptScreen
from fsconsole.tui.screens.plan_dialogs import OpenScreen, PathSuggester
from fsconsole.tui.screens.plan_edited import EditedPlan
from fsconsole.tui.session import Session
from fsconsole.tui.watch import in_background

_NEW_NAME = "plan.toml"


async def picked(screen: ConsoleScreen) -> PlanFile | None:
    """Ask for a recipe, another shipped plan or a file, and return its plan; None where nothing was chosen."""
    shipped = shipped_lines({path: shipped_title(path) for path in list_configs()})
    dialog = OpenScreen("Open a recipe, another plan, or a file", shipped, _read_named, yes="Open")
    return await screen.app.push_screen_wait(dialog)


def _read_named(name: str) -> PlanFile:
    try:
        path = os.path.abspath(resolve_plan(os.path.expanduser(name)))
    except OSError as error:
        raise PlanMissing(name, str(error)) from error
    return read_plan(path)


async def looked_at(session: Session) -> tuple[tuple[TargetSpec, ...], tuple[str, ...], tuple[str, ...]]:
    """Look at the ticked devices, and untick those that are another device by now.

    Returns the devices, the names of which none is there any more, and a sentence on each that was unticked.
    """
    disks, missing, lost = [], [], []
    for target in session.targets:
        done = await session.children.run(*WORDS, "--runs", session.runs_dir, target)
        listed = () if done.exit_code else decoded(DevicesAnswer, done.out, *WORDS).devices
        found = next((one for one in listed if one.path == target), None)
        if found is None:
            missing.append(target)
            continue
        device, ticked = found.device, session.ticks.get(target)
        if ticked is not None and (other := others(ticked, listed_identity(device))):
            del session.ticks[target]
            lost.append(f"{target} was unticked: another device has its name now ({other}).")
        else:
            disks.append(_spec_of(found))
    return tuple(disks), tuple(missing), tuple(lost)


async def counted(  # noqa: PLR0913, PLR0917 (each is a fact of its own)
    draft: Draft,
    disks: tuple[TargetSpec, ...],
    catalog: Catalog,
    here: ThisMachine,
    spreads: Mapping[Loads, float],
    mke2fs: Mke2fsConf,
) -> Outcome:
    """Return what a draft comes to on these devices, worked out in the background."""
    return await in_background(
        partial(
            work_out,
            draft.plan_file,
            disks,
            catalog,
            kernel=here.kernel,
            known=here.known,
            support=here.arrays,
            last_spreads=spreads,
            memory_bytes=memory_bytes(),
            mke2fs=mke2fs,
        )
    )


def offer_least(session: Session, draft: Draft, catalog: Catalog, here: ThisMachine, mke2fs: Mke2fsConf) -> None:
    """Have the form for a scratch device know what a plan needs."""
    session.least_bytes = partial(
        least_bytes,
        draft.plan_file,
        catalog,
        kernel=here.kernel,
        known=here.known,
        memory_bytes=memory_bytes(),
        mke2fs=mke2fs,
    )


def _spec_of(found: ListedDevice) -> TargetSpec:
    """Return what decides which cells can run on a device, how much they write, and how long that takes."""
    return TargetSpec(
        path=found.path,
        size_bytes=found.size_bytes,
        is_scratch=found.is_scratch,
        keeps_blocks=found.keeps_blocks,
        can_discard=found.can_discard,
        is_rotating=bool(found.rotational),
        is_flash=found.device.is_flash,
        bytes_per_s=found.written_bytes_per_s,
    )


def plan_of(folder: RunFolder) -> PlanFile:
    """Return the plan of a run as it was when it started, of no file. Raises as parse_plan, and as JournalReader."""
    return parse_plan(JournalReader(folder.journal).request().plan.source, "", needs_rows=False)


async def save(screen: ConsoleScreen, edited: EditedPlan) -> str:
    """Ask where, save the edited plan there, and return the path; empty where that was not wanted. Raises PlanUnwritable, PlanMissing."""
    path = await _asked_path(screen, edited.draft.plan.path)
    plan = await _saved(screen, edited.draft, edited.digest, path) if path else None
    if plan is None:
        return ""
    edited.saved_as(plan)
    return path


async def _asked_path(screen: ConsoleScreen, now: str) -> str:
    """Ask where to save a plan that is of this file now; empty where that was cancelled. Raises PlanUnwritable."""
    offered = (os.path.basename(now) or _NEW_NAME) if is_shipped(now) or not now else now
    path = await screen.app.push_screen_wait(
        PromptScreen("Save the plan as", offered, yes="Save", hint=_place_words, suggester=PathSuggester())
    )
    try:
        return os.path.abspath(os.path.expanduser(path.strip())) if path and path.strip() else ""
    except OSError as error:
        raise PlanUnwritable(path or "", str(error)) from error


def _place_words(typed: str) -> str:
    """Return in which folder the file will be, whatever is typed."""
    try:
        path = os.path.abspath(os.path.expanduser(typed.strip())) if typed.strip() else ""
    except OSError:
        # The console's folder has been removed: saving there says so.
        path = ""
    return f"Right arrow completes.{f' The file will be {path}.' if path else ''}"


async def _saved(screen: ConsoleScreen, draft: Draft, digest: str, path: str) -> PlanFile | None:
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
