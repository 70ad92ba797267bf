"""`fsconsole compare`: runs, and published tables, side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import RunsDir
from fsconsole.cli.complaint import refuse_idle, terminal_width
from fsconsole.cli.curves import Axis, OfVariant, Svg, WithCurves, check_curves, draw_curves
from fsconsole.cli.results import Format, InJson, Spreadsheet, ToFormat, format_of
from fsconsole.errors import Misused
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import counted, did_you_mean, printable, wrap

if TYPE_CHECKING:
    from fsconsole.model.figures import Publication
    from fsconsole.model.state import RunState
    from fsconsole.results.environment import Varied

_COMMAND = "fsconsole compare"
EPILOG = (
    "Examples: `fsconsole compare 20261120 20261121 --vary kernel`; three runs on each side: "
    "`fsconsole compare A1,A2,A3 B1,B2,B3 --vary kernel`; against a published table: "
    "`fsconsole compare latest bull-2008-patched`."
)
"""Below the help of the command."""


def compare(
    sides: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Runs, or prefixes, or published tables; RUN,RUN,RUN is one side."),
    ] = None,
    *,
    vary: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="What may differ: host, kernel, device, tools, settings, workload, variant, plan."
        ),
    ] = "",
    columns: Annotated[str, typer.Option(metavar="A,B,C", help="Columns to show beside the primary one.")] = "",
    output: ToFormat = Format.TABLE,
    as_json: InJson = False,
    spreadsheet: Spreadsheet = False,
    curves: WithCurves = False,
    axis: Axis = "",
    variant: OfVariant = "",
    svg: Svg = "",
    list_published: Annotated[bool, typer.Option("--list", help="List the published tables and exit.")] = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Compare runs with the first one: what differs between them, then each row's change in per cent.

    Runs that differ in kernel, host, device, tools, settings or workload are refused unless --vary names that. Runs
    that share all that --vary names become one side, and scatter between runs decides; else each run is a side, and its
    rounds decide. Published tables are shown beside, never ranked. With --curves each run is a curve, named by its kernel.
    """
    output = format_of(output, as_json=as_json, command=_COMMAND)
    if spreadsheet and output is not Format.CSV:
        raise Misused(what="--spreadsheet goes with --format csv only.", nearest="", command=_COMMAND)
    if list_published:
        idle = {"RUN": sides, "--vary": vary, "--columns": columns, "--curves": curves, "--axis": axis}
        idle |= {"--variant": variant, "--svg": svg, "--format": output not in (Format.TABLE, Format.JSON)}
        refuse_idle(idle, "--list", _COMMAND)
    if list_published and output is Format.JSON:
        from fsconsole.cli.answers import PublishedAnswer, PublishedTold, tell
        from fsconsole.plan.publications import all_publications

        told = (PublishedTold(one.name, one.title, one.source, one.date, len(one.rows)) for one in all_publications())
        tell(PublishedAnswer(tuple(told)))
        return
    if list_published:
        sys.stdout.write(_published_list())
        return
    if not sides:
        raise Misused(what="Name at least two runs.", nearest="`fsconsole runs` lists them. ", command=_COMMAND)
    varied, seen = _varied(vary), set[str]()
    needs = {"--axis": axis, "--variant": variant, "--svg": svg}
    check_curves(curves=curves, needs=needs, idle={"--format": output is not Format.TABLE}, command=_COMMAND)
    given = [_part(word, runs_dir, seen) for word in sides]
    if curves:
        runs = labelled(given, varied)
        draw_curves(runs, columns=columns, axis=axis, variant=variant, svg=svg, width=terminal_width())
        return
    sys.stdout.write(
        comparison(given, output, vary=varied, columns=columns, width=terminal_width(), spreadsheet=spreadsheet)
    )
    sys.stdout.flush()


def labelled(given: Sequence[Sequence[RunState] | Publication], vary: Sequence[Varied]) -> list[tuple[str, RunState]]:
    """Return the runs of all sides with their kernels, and where several have the same with their names.

    Kernels may differ without --vary. Raises RunsDiffer, Misused.
    """
    from fsconsole.results.environment import Varied
    from fsconsole.results.sides import require_alike

    runs: list[RunState] = []
    for part in given:
        if not isinstance(part, Sequence):
            what = f"{printable(part.name)} is a published table: its curves can't be drawn."
            raise Misused(what=what, nearest="", command=_COMMAND)
        runs += part
    require_alike(runs, (*vary, Varied.KERNEL))
    kernels = [", ".join(dict.fromkeys(started.kernel for started in run.started)) for run in runs]
    return [
        (kernel if kernel and kernels.count(kernel) == 1 else f"{kernel} {run.request.run_id}".strip(), run)
        for kernel, run in zip(kernels, runs, strict=True)
    ]


def comparison(
    given: Sequence[Sequence[RunState] | Publication],
    output: Format = Format.TABLE,
    *,
    vary: Sequence[Varied] = (),
    columns: str = "",
    width: int = 80,
    spreadsheet: bool = False,
) -> str:
    """Return the comparison of sides. Raises RunsDiffer, NothingToCompare, UnknownColumn."""
    from fsconsole.results.grid import columns_named
    from fsconsole.results.sides import compare_sides, sides_of
    from fsconsole.results.sides_export import sides_csv, sides_json
    from fsconsole.results.sides_text import sides_markdown, sides_text

    chosen = columns_named(columns) if columns else ()
    found = compare_sides(sides_of(given, vary), vary, chosen)
    if output is Format.JSON:
        return sides_json(found)
    if output is Format.CSV:
        return sides_csv(found, for_spreadsheet=spreadsheet)
    return sides_markdown(found) if output is Format.MD else sides_text(found, width)


def _part(word: str, runs_dir: str, seen: set[str]) -> Sequence[RunState] | Publication:
    """Return the runs of a side, or the published table of that name; seen are the ids of the runs so far.

    Raises RunMissing, PublicationMissing, Misused.
    """
    from fsconsole.client.runs import look
    from fsconsole.errors.runs import RunMissing
    from fsconsole.journal.store import open_run
    from fsconsole.plan.publications import all_publications, find_publication

    published = {publication.name: publication for publication in all_publications()}
    if word in published:
        return published[word]
    runs = []
    for name in filter(None, word.split(",")):
        try:
            folder = open_run(runs_dir, name)
        except RunMissing:
            if name in published:
                what = f"'{name}' is a published table and can't share a side with others."
                raise Misused(what=what, nearest="", command=_COMMAND) from None
            if any(name.partition("-")[0] == known.partition("-")[0] for known in published):
                find_publication(name)
            raise
        state = look(folder).state
        # An imported copy is the same run, under another name too: of itself every run is the same.
        if state.request.run_id in seen:
            raise Misused(what=f"Run {printable(folder.name)} is given twice.", nearest="", command=_COMMAND)
        seen.add(state.request.run_id)
        runs.append(state)
    if not runs:
        raise Misused(what=f"'{word}' names no run.", nearest="", command=_COMMAND)
    return runs


def _varied(text: str) -> tuple[Varied, ...]:
    """Return what --vary names. Raises Misused."""
    from fsconsole.results.environment import Varied

    known = {kind.value.rstrip("s"): kind for kind in Varied}
    names = [name.strip().casefold().rstrip("s") for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            values = [kind.value for kind in Varied]
            near = did_you_mean(name, values, most=1)
            what = f"--vary takes {', '.join(values)}, not '{printable(name)}'."
            raise Misused(what=what, nearest=near and f"{near} ", command=_COMMAND)
    return tuple(known[name] for name in dict.fromkeys(names))


def _published_list() -> str:
    """Return the published tables with title, source and date."""
    from fsconsole.plan.publications import all_publications

    lines = []
    for of in all_publications():
        lines.append(f"{of.name} ({counted(len(of.rows), 'row')})")
        if len(dict.fromkeys(row.table for row in of.rows)) > 1 or not of.rows[0].table:
            lines += [f"    {part}" for part in wrap(f"{of.title}. {of.source}, {of.date}.", terminal_width() - 4)]
    return "\n".join(lines) + "\n"
