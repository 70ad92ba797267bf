"""What a guest does whose power is cut: it begins a run, or takes up the one that was cut, and tells all of it.

`python -m tests.lab.power_guest`, in the guest. Each line through the port "reports" is JSON: the events of `run` and
`resume`, told the moment they show them, and {"told": what, ...} of everything else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.state import RunStatus
from fsconsole.model.wire import to_plain
from tests.lab import warm  # noqa: F401 - its engine is forked
from tests.lab.guest import Done, become, fsconsole, run
from tests.lab.soak import IN_UML

PLAN = "tests/lab/power_cut.toml"
KEPT, TARGET = ("/dev/ubda", "/dev/ubdb") if IN_UML else ("/dev/vda", "/dev/vdb")
KEPT_ON = "/var/lib/fsconsole"
RUNS = f"{KEPT_ON}/runs"
PORT = Path("/run/ports/reports")


def main() -> None:
    """Do in this boot what the one before it has left to do."""
    run("mount", KEPT, KEPT_ON)
    runs = list_runs(RUNS)
    is_open = bool(runs) and read_state(runs[0]).status is not RunStatus.FINISHED
    if runs and not is_open:
        tell_run(runs[0], "over")
    tell("boot", run=runs[0].name if is_open else "")
    if is_open:
        take_up(runs[0])
    else:
        begin()


def begin() -> None:
    """Begin a run on a disk and on a scratch device, whose file lies on the disk that keeps the journal."""
    for left in json.loads(command("scratch", "list", "--json").out)["scratch"]:
        command("scratch", "remove", left["scratch_id"])
    scratch = json.loads(command("scratch", "create", "--size", "32MiB", "--json").out)
    targets = ("--device", TARGET, "--device", scratch["device"])
    planned = json.loads(command("plan", PLAN, *targets, "--json").out)
    show("run", PLAN, *targets, "--consent", planned["consent"], "--json")


def take_up(folder: RunFolder) -> None:
    """Look at a run that was cut, clean up after it, and go on with it."""
    command("runs", "--json")
    command("cleanup", folder.name, "--json")
    command("results", folder.name, "--format", "csv")
    tell_run(folder, "cleaned")
    code = show("resume", folder.name, "--exact", "--json")
    if code in (ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE):
        # The power was cut while a device was wiped: nobody can tell what is on it.
        asked = json.loads(command("resume", folder.name, "--show", "--json").out)
        show("resume", folder.name, "--exact", "--consent", asked["consent"], "--json")


def tell_run(folder: RunFolder, when: str) -> None:
    """Tell a run as its journal has it, and which outputs lie beside that."""
    outputs = {f"raw/{entry.name}": entry.stat().st_size for entry in os.scandir(folder.raw)}
    tell(when, state=to_plain(read_state(folder)), outputs=outputs)


def command(*words: str) -> Done:
    """Carry out a command and tell how it ended."""
    done = fsconsole(*words)
    tell(words[0], words=words, code=done.code, out=done.out, err=done.err)
    return done


def show(*words: str) -> int:
    """Carry out a command whose every line is told the moment it is written; tell the run that it ended."""
    err = Path("/tmp/shown.err")
    err.write_bytes(b"")
    child = os.fork()
    if child == 0:
        become(words, PORT, err)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        folder = list_runs(RUNS)[0]
        tell_run(folder, "over")
        command("results", folder.name, "--format", "csv")
    tell("ended", words=words, code=code, err=err.read_text())
    return code


def tell(what: str, **facts: object) -> None:
    """Write one line to the port; whoever cuts the power knows then what was told."""
    with open(PORT, "a", encoding="utf-8") as port:
        port.write(json.dumps({"told": what, **facts}) + "\n")


if __name__ == "__main__":
    main()
