"""`fsconsole apply-kit` and `fsconsole verify-kit`: a measured row on the real disks, and months later."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import RUN_HELP, AsJson, RunsDir, by_path
from fsconsole.errors import Misused
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import error_reason, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsconsole.kit.build import Measured
    from fsconsole.kit.values import Kit
    from fsconsole.model.answers import KitCheckAnswer
    from fsconsole.model.state import RunState
    from fsconsole.results.choice import Choice

EPILOG = (
    "Example: `fsconsole apply-kit latest xfs --for /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 --at /srv/data ./kit`, then "
    "`./kit/apply.sh --dry-run`."
)
"""Below the help of the command."""
VERIFY_KIT_EPILOG = "Example: `fsconsole verify-kit ./kit`."
_KIT = "kit.json"


def apply_kit(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    row: Annotated[
        str, typer.Argument(metavar="ROW", help="Row by its name in `advise`, or by its number in the plan.")
    ],
    rest: Annotated[
        list[str] | None, typer.Argument(metavar="DIR", help="Directory to write; more devices may stand before it.")
    ] = None,
    *,
    for_: Annotated[
        list[str] | None, typer.Option("--for", metavar="DEV", help="Device that the kit is for; repeatable.")
    ] = None,
    at: Annotated[str, typer.Option(metavar="PATH", help="Mount point.")] = "/srv/data",
    mount_unit: Annotated[
        bool, typer.Option("--mount-unit", help="A mount unit of systemd in place of fstab.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Also for devices that are not blank.")] = False,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Write a kit that makes a row's filesystem on other devices: a shell script and an Ansible playbook.

    Nothing on the devices is changed. The kit has stable names, UUIDs chosen now, mdadm's line, fstab, udev and sysctl.
    What mkfs would derive from the size is pinned, or listed as differing. The script proves again that each device is
    blank, prints each command, and changes nothing when it is run a second time.
    """
    from fsconsole.cli.complaint import need_root
    from fsconsole.client.runs import look
    from fsconsole.journal.store import open_run
    from fsconsole.model.contract import document_text
    from fsconsole.results.choice import choose_row

    *more, directory = rest or [""]
    devices = by_path([*(for_ or []), *more])
    if not directory or not devices:
        what = "apply-kit needs devices (--for) and, last, a directory to write."
        raise Misused(what=what, nearest="", command="fsconsole apply-kit")
    state = look(open_run(runs_dir, run)).state
    choice = choose_row(state, row)
    need_root("A kit, whose devices are read to prove that they are blank,")
    kit, unsafe = _kit(state, choice, devices, (at, runs_dir), is_unit=mount_unit, is_forced=force)
    files = _write(kit, directory)
    if as_json:
        typer.echo(document_text(_written(kit, directory, files, unsafe), indent=2))
        return
    from fsconsole.kit.readme import readme_text

    sys.stdout.write(readme_text(kit))
    typer.echo(f"wrote {', '.join(files)} in {printable(directory)}", err=True)


def _kit(
    state: RunState, choice: Choice, devices: Sequence[str], places: tuple[str, str], *, is_unit: bool, is_forced: bool
) -> tuple[Kit, tuple[str, ...]]:
    """Return the kit, and the row's risks in clauses; places are the mount point and the folder of runs."""
    import uuid

    from fsconsole.catalog.loader import load_catalog
    from fsconsole.errors.runs import NothingToApply
    from fsconsole.kit.build import Wanted, build_kit
    from fsconsole.preflight.kit_devices import kit_devices
    from fsconsole.show.apply import safety_of
    from fsconsole.system.run import RealExecutor

    catalog, variant = load_catalog(), choice.variant
    if variant.filesystem not in catalog.names:
        raise NothingToApply(why=f"today's catalog has no {variant.filesystem}")
    if not choice.seen("mkfs") and not choice.is_done:
        raise NothingToApply(why=f"no cell of '{choice.title}' came to its end")
    found = kit_devices(devices, RealExecutor(), places[1], is_forced=is_forced)
    safety = safety_of(variant)
    risks = (*safety.unsafe, *([f"safety not known: {safety.unknown}"] if safety.unknown else []))
    wanted = Wanted(found, places[0], str(uuid.uuid4()), str(uuid.uuid4()), is_unit)
    return build_kit(catalog.get(variant.filesystem), _measured(state, choice, risks), wanted), risks


def _measured(state: RunState, choice: Choice, risks: tuple[str, ...]) -> Measured:
    from fsconsole.kit.build import Measured

    sizes = {target.path: target.identity.size_bytes for target in state.request.targets}
    return Measured(
        run=state.request.run_id,
        row=choice.title,
        cell=choice.cell,
        mkfs=choice.seen("mkfs"),
        mount=choice.seen("mount"),
        sizes_bytes=tuple(sizes.get(path, 0) for path in choice.cell.devices),
        risks=risks,
    )


def _write(kit: Kit, directory: str) -> tuple[str, ...]:
    """Write a kit's files into a new directory, or an empty one. Raises KitExists, ExportFailed."""
    from fsconsole.errors.runs import ExportFailed, KitExists
    from fsconsole.kit.playbook import playbook_text
    from fsconsole.kit.readme import readme_text
    from fsconsole.kit.script import script_text
    from fsconsole.model.wire import encode
    from fsconsole.preflight.kit_devices import gate_facts
    from fsconsole.system.files import new_file

    texts = {
        "apply.sh": (script_text(kit, gate_facts()), 0o750),
        "playbook.yml": (playbook_text(kit), 0o640),
        "README.txt": (readme_text(kit), 0o640),
        _KIT: (encode(kit, indent=1) + "\n", 0o640),
    }
    try:
        os.makedirs(directory, mode=0o750, exist_ok=True)
        if os.listdir(directory):
            raise KitExists(directory=directory)
        for name, (text, mode) in texts.items():
            with new_file(os.path.join(directory, name), overwrite=False, mode=mode) as file:
                file.write(text.encode())
    except OSError as error:
        raise ExportFailed(path=directory, why=error_reason(error)) from error
    return tuple(texts)


def _written(kit: Kit, directory: str, files: tuple[str, ...], unsafe: tuple[str, ...]) -> object:
    from fsconsole.model.answers import KitWritten

    return KitWritten(
        directory=directory,
        files=files,
        run_id=kit.run,
        row=kit.row,
        filesystem=kit.filesystem,
        uuid=kit.uuid,
        array_uuid=kit.array.uuid if kit.array is not None else "",
        mount_point=kit.mount_point,
        devices=tuple(device.path for device in kit.devices),
        differing=kit.differing,
        unsafe=unsafe,
    )


def verify_kit(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="Directory that `fsconsole apply-kit` wrote.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Compare this machine with a kit: array and members, features, mount options, settings, files in /etc.

    Changes nothing. Exit code: 0: all is as the kit says; 58: something differs, and each difference is printed.
    """
    from fsconsole.catalog.loader import load_catalog
    from fsconsole.cli.complaint import need_root
    from fsconsole.errors import ExitCode
    from fsconsole.kit.check import DIFFERS, NOT_KNOWN, check_kit, free_names
    from fsconsole.model.answers import KitVerified
    from fsconsole.model.contract import document_text
    from fsconsole.preflight.box import read_box
    from fsconsole.system.run import RealExecutor

    kit = _read(directory)
    need_root("What is on the kit's devices")
    filesystem = load_catalog().get(kit.filesystem)
    checks = check_kit(kit, read_box(kit, filesystem, RealExecutor()), free_names(kit, filesystem))
    count = sum(check.verdict == DIFFERS for check in checks)
    unknown = sum(check.verdict == NOT_KNOWN for check in checks)
    if as_json:
        answer = KitVerified(directory, kit.run, kit.row, count, unknown, checks)
        typer.echo(document_text(answer, indent=2))
    else:
        _tell(kit, checks)
    if count:
        raise typer.Exit(ExitCode.KIT_DIFFERS)


def _tell(kit: Kit, checks: Sequence[KitCheckAnswer]) -> None:
    """Print what isn't as the kit says, then how much is and what to do."""
    from fsconsole.cli.complaint import terminal_width
    from fsconsole.kit.check import DIFFERS, SAME, remedies
    from fsconsole.text import wrap

    found = [
        f"{check.verdict}: {check.what}: {check.found or 'nothing'} (kit: {check.wanted})"
        for check in checks
        if check.verdict != SAME
    ]
    found.append(f"{len(checks) - len(found)} of {len(checks)} checks: as the kit says.")
    count = sum(check.verdict == DIFFERS for check in checks)
    if count:
        counted = f"{count} differ" if count > 1 else "1 differs"
        found.append(f"{counted}. {' '.join(remedies(kit, checks))}")
    for text in found:
        first, *others = wrap(printable(text), terminal_width() - 2)
        sys.stdout.write("".join(f"{line}\n" for line in (first, *(f"  {other}" for other in others))))


def _read(directory: str) -> Kit:
    """Return the kit of a directory. Raises KitUnreadable."""
    from fsconsole.catalog.loader import load_catalog
    from fsconsole.errors.runs import KitUnreadable
    from fsconsole.kit.check import objection
    from fsconsole.kit.values import Kit
    from fsconsole.model.wire import Mismatch, decode
    from fsconsole.system.files import read_regular_file

    path = os.path.join(directory, _KIT)
    try:
        kit = decode(Kit, read_regular_file(path, 2**20))
    except OSError as error:
        raise KitUnreadable(path=path, why=error_reason(error)) from error
    except Mismatch as error:
        raise KitUnreadable(path=path, why=str(error)) from error
    why = objection(kit)
    if why or kit.filesystem not in load_catalog().names:
        raise KitUnreadable(path=path, why=why or f"today's catalog has no {kit.filesystem}")
    return kit
