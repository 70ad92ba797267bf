"""What stands beside a plan's lists: its sections on the left, and what it comes to at the bottom."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole import units
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of, shorten_middle
from fsconsole.tui.draft import Draft
from fsconsole.tui.outcome import Disk, Outcome
from fsconsole.tui.views.lines import Line
from fsconsole.tui.views.plan_arrays import made_count


def section_lines(draft: Draft, outcome: Outcome | None, *, with_variants: bool) -> tuple[Line, ...]:
    """Return the sections: with_variants where these have no pane of their own."""
    rows = sum(candidate.is_row for candidate in outcome.candidates) if outcome else 0
    ticked = {draft.plan.checklists[number].filesystem for number in draft.checklists}
    variants = (Line("variants", "Variants", value=f"{rows:,}"),) if with_variants else ()
    return (
        Line("filesystems", "Filesystems", value=str(len(ticked))),
        *(_options(draft, number) for number in draft.checklists),
        Line("words", "In words", value=str(len(draft.variants) or "")),
        *variants,
        Line("workloads", "Workloads", value=str(len(draft.plan.workloads))),
        Line("arrays", "Arrays", value=str(made_count(draft.plan) or "")),
        Line("settings", "Settings", value=str(len(draft.plan.settings))),
        Line("run", "Run"),
    )


def checklist_name(draft: Draft, number: int) -> str:
    """Return a checklist's name: its filesystem, counted where there are several of it."""
    name = draft.plan.checklists[number].filesystem
    alike = [other for other in draft.checklists if draft.plan.checklists[other].filesystem == name]
    place = alike.index(number) + 1 if number in alike else 1
    return f"{name} ({place})" if place > 1 else name


def totals(
    outcome: Outcome | None, disks: Sequence[Disk], missing: Sequence[str], width: int
) -> tuple[str, str]:
    """Return what the draft comes to, and for which devices: two lines of at most width cells."""
    if outcome is None:
        return "counting ...", _devices(disks, missing, width)
    if outcome.plan is None:
        return outcome.problem, outcome.hint
    plan = outcome.plan
    if not plan.cells:
        advice = "To begin: tick a filesystem, or one of the variants; raw is under Run."
        return shorten_middle("0 variants, 0 cells. No variant is ticked.", width), shorten_middle(
            advice, width
        )
    rows = sum(candidate.is_row for candidate in outcome.candidates) + any(
        cell.variant.is_raw for cell in plan.cells
    )
    stuck = sum(1 for cell in plan.cells if cell.unavailable)
    can = f" ({stuck} can't run)" if stuck else ""
    estimate = plan.estimate
    first = (
        f"{_count(rows, 'variant')}, {_count(len(plan.cells), 'cell')}{can}; "
        f"{units.format_bytes(estimate.bytes_to_write)} to write, about {units.format_guess(estimate.elapsed_s)}"
    )
    together = plan.cells[0].array is not None
    return shorten_middle(first, width), _devices(disks, missing, width, together=together)


def name_line(draft: Draft, *, is_changed: bool, width: int) -> str:
    """Return the plan's title, the file it came from, and whether it was changed since."""
    title = printable(draft.plan.title) or "(no title)"
    tail = "; ".join(filter(None, (printable(draft.plan.path), "not saved" if is_changed else "")))
    tail = f"  ({tail})" if tail else ""
    room = max(width // 3, width - cells_of(tail))
    return shorten_middle(shorten_middle(title, room) + tail, width)


def unable(outcome: Outcome) -> str:
    """Return why not a single cell can run; empty where one can."""
    if outcome.plan is None:
        return f"{outcome.problem} {outcome.hint}".strip()
    cells = outcome.plan.cells
    if any(not cell.unavailable for cell in cells):
        return ""
    reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in cells))
    return f"No cell of this plan can run: {reasons or 'no variant is ticked'}."


def _options(draft: Draft, number: int) -> Line:
    checklist = draft.plan.checklists[number]
    ticked = len(checklist.mkfs) + len(checklist.mount)
    return Line(f"options {number}", f"  {checklist_name(draft, number)}", value=str(ticked or ""))


def _devices(disks: Sequence[Disk], missing: Sequence[str], width: int, *, together: bool = False) -> str:
    if missing:
        return shorten_middle(f"{', '.join(missing)}: not there any more; tick another (1).", width)
    if not disks:
        return "No device is ticked (1): sizes as planned, at 500 MB/s."
    named = (f"{disk.spec.path} ({units.format_bytes(disk.spec.size_bytes)})" for disk in disks)
    where = "on arrays of" if together else "on"
    whole = printable(f"{where} {', '.join(named)}")
    if cells_of(whole) <= width:
        return whole
    names = " ".join(disk.spec.path.removeprefix("/dev/") for disk in disks)
    return shorten_middle(printable(f"{where} {len(disks)} devices: {names}"), width)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
