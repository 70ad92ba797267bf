"""The start of a run from the Plan screen: a target, what is wiped, the run."""

from __future__ import annotations

from functools import partial

from fsconsole.client.children import carried_out
from fsconsole.devices.identity import listed_identity
from fsconsole.journal.folder import RunFolder
from fsconsole.model.plan import Plan
from fsconsole.show import plan as view
from fsconsole.show.devices import WORDS, Listing, parse_listing, ticked_told
from fsconsole.tui import planfiles
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.plan_count import PlanCount
from fsconsole.tui.screens.plan_dialogs import CommandsScreen
from fsconsole.tui.screens.plan_edited import EditedPlan
from fsconsole.tui.session import Session


async def begun(screen: ConsoleScreen, edited: EditedPlan, count: PlanCount) -> RunFolder | None:
    """Start the run of the edited plan, once what is wiped was confirmed; None where none was started, which is said.

    Raises PlanUnwritable, ChildFailed.
    """
    if not screen.session.is_root:
        screen.say("Formatting and mounting need root: start fsconsole with sudo. The plan can be saved (w).")
        return None
    if not (await _is_able(screen, count) and await _has_target(screen, count) and await _is_able(screen, count)):
        return None
    folder = await confirmed(screen, edited.draft.text, count.outcome.plan)
    if folder is not None:
        edited.started()
    return folder


async def _is_able(screen: ConsoleScreen, count: PlanCount) -> bool:
    await count.settled()
    why = view.unable(count.outcome)
    if why:
        screen.say(why, style="$error")
    return not why


async def _has_target(screen: ConsoleScreen, count: PlanCount) -> bool:
    if not screen.session.targets:
        await _make_target(screen)
        await count.read_targets()
        # Looking took a while: an answer to what was opened meanwhile must not be one to Confirm.
        return bool(screen.session.targets) and screen.is_active
    return True


async def confirmed(screen: ConsoleScreen, text: str, plan: Plan | None) -> RunFolder | None:
    """Ask whether what is on the ticked devices may be wiped, and return the run that was started; None for none.

    Raises PlanUnwritable.
    """
    # Imported late: most sessions on the Plan screen start no run.
    from fsconsole.tui.screens.confirm import ConfirmScreen  # noqa: PLC0415

    with planfiles.kept_for_run(text) as path:
        commands = partial(CommandsScreen, plan, text) if plan is not None else None
        question = ConfirmScreen(path, screen.session.ticks, planfiles.digest_of_text(text), commands)
        return await screen.app.push_screen_wait(question)


async def _make_target(screen: ConsoleScreen) -> None:
    """Offer a new scratch device where nothing is free, and tick it; else lead to the devices. Raises ChildFailed."""
    session = screen.session
    screen.say("No device is ticked. Looking at the devices ...")
    if (await _listing(session)).has_free:
        screen.say("")
        if screen.is_active:
            await screen.app.action_switch_mode("devices")
            screen.say_at_hand("No device is ticked: space ticks one, then 2 shows the plan and F10 runs it.")
        return
    # Imported late: only needed where no device is free.
    from fsconsole.tui.screens.scratch_form import ScratchForm  # noqa: PLC0415

    screen.say("No device is ticked, and none is free: n on screen 1 creates a scratch device.")
    if not screen.is_active:
        # It was left meanwhile: what comes up now would take keys that are meant for what is there.
        return
    made = await screen.app.push_screen_wait(ScratchForm(session.children))
    entry = (await _listing(session)).scratch(made.scratch_id) if made is not None else None
    if entry is not None:
        session.ticks[entry.device.path] = listed_identity(entry.device)
        screen.say(ticked_told(entry))


async def _listing(session: Session) -> Listing:
    done = await carried_out(session.children, *WORDS, "--runs", session.runs_dir)
    return parse_listing(done.out, done.err)
