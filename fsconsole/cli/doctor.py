"""`fsconsole doctor`: requirements, and fixes for those that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from fsconsole.cli.app import AsJson, RunsDir
from fsconsole.cli.complaint import terminal_width
from fsconsole.errors import ExitCode
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import pad_right, printable, wrap

if TYPE_CHECKING:
    from fsconsole.preflight.doctor import Finding


_STATUS_WIDTH, _CHECK_WIDTH = 9, 16


def doctor(
    *,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Check privileges, kernel, tools, namespaces and disks, and suggest fixes.

    Exit code 0: runs are possible; 1: they are not.
    """
    from fsconsole.catalog.loader import load_catalog
    from fsconsole.preflight.doctor import diagnose, run_is_possible
    from fsconsole.preflight.machine import examine
    from fsconsole.system.run import RealExecutor

    findings = diagnose(examine(RealExecutor(), load_catalog(), runs))
    possible = run_is_possible(findings)
    if as_json:
        from fsconsole.cli.answers import DoctorAnswer, tell

        tell(DoctorAnswer(possible, tuple(findings)))
    else:
        ending = "possible here." if possible else "not possible here: see the lines in capitals."
        lines = [line for finding in findings for line in _lines(finding)]
        typer.echo("\n".join([*lines, "", f"Runs are {ending}"]))
    raise typer.Exit(ExitCode.OK if possible else ExitCode.FAILURE)


def _lines(finding: Finding) -> list[str]:
    status = finding.status.value.upper() if finding.prevents_runs else finding.status.value
    room = terminal_width() - _STATUS_WIDTH - _CHECK_WIDTH
    told = [part for text in (finding.found, finding.remedy) if text for part in wrap(printable(text), room)]
    leads = [f"{status:<{_STATUS_WIDTH}}{finding.check:<{_CHECK_WIDTH}}", *[""] * (len(told) - 1)]
    return [pad_right(lead, _STATUS_WIDTH + _CHECK_WIDTH) + text for lead, text in zip(leads, told, strict=True)]
