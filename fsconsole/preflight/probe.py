"""Finds out what this kernel and these tools take, by trying every option on a small sparse image.

A child does the trying, as root in a mount and PID namespace of its own with its images in memory: nothing is left,
however it, or whoever asked, ends.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from fsconsole.catalog.filesystem import Answer, Filesystem
from fsconsole.errors.runs import KernelLacks, NoRoomToTry, ToolFailed
from fsconsole.model.command import Command, Executor
from fsconsole.model.wire import decode, encode
from fsconsole.preflight.findings import Findings, versions_now
from fsconsole.preflight.machine import Driver, driver_of, try_loop, why_absent
from fsconsole.preflight.probe_child import NO_ROOM, Report, TrialOrder, list_trials
from fsconsole.system.files import kernel_release
from fsconsole.system.isolation import python_argv
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RunningCommand, spawn
from fsconsole.text import MIB, error_reason
from fsconsole.units import format_bytes

ROOM_BYTES = 768 * MIB
"""Space for the images: the largest is sparse, and mkfs.xfs fills its log with zeros."""
_ANSWER_S = 120.0
_ARGV = python_argv("-m", "fsconsole.preflight.probe_child")
WITHOUT_ROOT = "not root: mkfs alone was tried, no mount word and nothing of what the kernel takes"

Progress = Callable[[str, int, int], None]
"""Called with a filesystem's name, how many of its options were tried, and how many there are."""


def probe(
    executor: Executor,
    filesystems: Sequence[Filesystem],
    progress: Progress,
    *,
    room_bytes: int = ROOM_BYTES,
) -> tuple[Findings, ...]:
    """Return findings about each filesystem, whose tools must be there.

    Without root mkfs alone is tried. Raises ToolMissing, ToolFailed, NoRoomToTry, KernelLacks, and OSError.
    """
    versions = {filesystem.name: versions_now(executor, filesystem) for filesystem in filesystems}
    totals = {filesystem.name: len(list_trials(filesystem)) for filesystem in filesystems}
    mountable = [fs.name for fs in filesystems if driver_of(fs.name) is not Driver.ABSENT]
    as_root = os.geteuid() == 0
    if as_root:
        try:
            try_loop()
        except OSError as error:
            remedy = "Without loop devices mkfs alone can be tried: run it without root."
            why = error_reason(error)
            raise KernelLacks("a loop device to try options on", why, remedy) from error
    order = TrialOrder(as_root, room_bytes, tuple(mountable if as_root else ()), tuple(totals))
    argv = engine_argv(_ARGV) if as_root else _ARGV
    driven: dict[str, Report] = {}
    answers: dict[str, list[Answer]] = {name: [] for name in totals}
    with ExitStack() as stack:
        # Removed when the child has ended: it does so itself, unless it is killed.
        images = stack.enter_context(ExitStack())
        child = stack.enter_context(spawn(Command(argv)))
        child.send(encode(order))
        for report in _reports(child, order.room_bytes):
            if report.filesystem:
                driven[report.filesystem] = report
            elif (answer := report.answer) is not None:
                answers[answer.filesystem].append(answer)
                progress(answer.filesystem, len(answers[answer.filesystem]), totals[answer.filesystem])
            elif report.images:
                images.callback(shutil.rmtree, report.images, ignore_errors=True)
    found = []
    for filesystem in filesystems:
        name, left_out = filesystem.name, "" if as_root else WITHOUT_ROOT
        if name not in mountable:
            left_out = f"mkfs alone was tried: {why_absent(filesystem, kernel_release())}"
        seen = driven[name]
        trouble = seen.trouble or left_out
        found.append(Findings(name, versions[name], seen.driver, trouble, tuple(answers[name])))
    return tuple(found)


def _reports(child: RunningCommand, room_bytes: int) -> Iterator[Report]:
    """Yield what the child says until it has said all; raises what its end means."""
    while True:
        try:
            yield decode(Report, child.receive(_ANSWER_S))
        except EOFError:
            break
        except TimeoutError as error:
            raise ToolFailed(" ".join(child.argv), -9, str(error)) from error
    result = child.wait(_ANSWER_S)
    if result.exit_code == NO_ROOM:
        raise NoRoomToTry(f"The place of the images, {format_bytes(room_bytes)} at most,")
    if result.exit_code != 0:
        said = result.err.strip().splitlines()
        raise ToolFailed(" ".join(child.argv), result.exit_code, said[-1] if said else "it said nothing")
