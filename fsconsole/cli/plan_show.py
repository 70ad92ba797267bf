"""What the command plan prints, put together."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence

import typer

from fsconsole.cli.plan_json import plan_object
from fsconsole.cli.plan_text import plan_lines
from fsconsole.cli.results import terminal_width
from fsconsole.devices.gate import require
from fsconsole.journal.store import make_run_id
from fsconsole.model.places import DEFAULT_RUNS_DIR
from fsconsole.plaintext import printable
from fsconsole.plan.configs import list_configs
from fsconsole.plan.reader import read_plan
from fsconsole.preflight.prepare import expand_only, prepare
from fsconsole.system.command import RealExecutor


def show_list(*, as_json: bool) -> None:
    """Print names and titles of the shipped plans."""
    titles = {path.stem: read_plan(path).title for path in list_configs()}
    if as_json:
        _print_json(titles)
        return
    for name, title in titles.items():
        typer.echo(f"{name:<20} {printable(title)}")


def show(file: str, *, as_json: bool, every: bool, cell: int | None = None) -> None:
    """Print a plan for no device in particular; in JSON with one cell alone, from 1, with none for 0."""
    expanded = expand_only(file, run_id=make_run_id())
    if as_json:
        _print_json(plan_object(expanded, (), "", cell=cell))
    else:
        _print_plan(plan_lines(expanded, (), "", every=every, width=terminal_width()))


def show_on_devices(
    file: str, devices: list[str], runs: str, *, as_json: bool, every: bool, cell: int | None = None
) -> None:
    """Print a plan for these devices, then raise what the gate says of the first that it refuses."""
    found = prepare(file, devices, executor=RealExecutor(), runs_dir=runs, run_id=make_run_id())
    if as_json:
        _print_json(plan_object(found.plan, found.reports, found.consent, found.seen, cell))
    else:
        agreeing = _agreeing(file, devices, runs, found.consent)
        _print_plan(plan_lines(found.plan, found.reports, agreeing, every=every, width=terminal_width()))
    for report in found.reports:
        require(report)


def _agreeing(file: str, devices: Sequence[str], runs: str, consent: str) -> str:
    """Return the whole command that carries the plan out, for a shell; empty where no consent is needed."""
    if not consent:
        return ""
    named = [word for device in devices for word in ("--device", device)]
    kept = ["--runs", runs] if runs != DEFAULT_RUNS_DIR else []
    return shlex.join(["fsconsole", "run", file, *named, *kept, "--consent", consent])


def _print_plan(lines: Iterable[str]) -> None:
    typer.echo("\n".join(lines))


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))
