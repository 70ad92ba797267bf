"""`fsconsole prove`: the wipe gate's answer on devices, for scripts that write to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import AsJson, RunsDir, by_path
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import printable
from fsconsole.units import format_bytes

if TYPE_CHECKING:
    from fsconsole.devices.gate import GateReport
    from fsconsole.model.answers import ProvedDevice

EPILOG = "Example: `fsconsole prove --blank /dev/sdX && mkfs.ext4 /dev/sdX`."
"""Below the help of the command."""


def prove(
    device: Annotated[list[str], typer.Argument(metavar="DEV", callback=by_path, help="Block devices.")],
    *,
    blank: Annotated[bool, typer.Option("--blank", help="Prove also that nothing is on them.")] = False,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Prove that nothing uses devices, with --blank also that nothing is on them. Reads only.

    This is the check that every wipe of fsconsole passes. Exit code 0: all devices are free (and blank); otherwise the
    code of the first reason, such as 22 for mounted, 23 for in use, 27 for not blank. A use that cannot be determined
    counts as a use. With --json every device is printed with its number, size and reasons, whatever the exit code.
    """
    from fsconsole.catalog.loader import load_catalog
    from fsconsole.cli.complaint import need_root
    from fsconsole.devices.evidence import GateContext
    from fsconsole.devices.gate import require_blank, require_free
    from fsconsole.model.answers import ProveAnswer
    from fsconsole.model.contract import document_text
    from fsconsole.preflight.prepare import inspect_devices
    from fsconsole.system.run import RealExecutor

    need_root("The proof that a device is free")
    reports = inspect_devices(device, GateContext(RealExecutor(), runs, load_catalog().marks))
    proved = tuple(map(_proved, reports))
    if as_json:
        sys.stdout.write(document_text(ProveAnswer(proved), indent=2) + "\n")
    for report in reports:
        (require_blank if blank else require_free)(report)
    if not as_json:
        state = "free and blank" if blank else "free"
        for answer in proved:
            typer.echo(printable(f"{answer.device} is {state} ({format_bytes(answer.proof.size_bytes)})"))


def _proved(report: GateReport) -> ProvedDevice:
    from fsconsole.model.answers import DeviceProof, ProvedDevice

    device, loop = report.device, report.device.loop
    proof = DeviceProof(
        number=f"{device.major}:{device.minor}",
        diskseq=device.diskseq,
        size_bytes=device.size_bytes,
        start_bytes=device.partition_start_bytes,
        loop_offset_bytes=loop.offset_bytes if loop is not None else 0,
        loop_limit_bytes=loop.limit_bytes if loop is not None else 0,
        is_free=report.is_free,
        is_blank=report.is_blank,
    )
    return ProvedDevice(device.path, proof, report.hazards, report.loss)
