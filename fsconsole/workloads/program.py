"""The engine's side of loads that programs make: starts them confined, and reads their times and outputs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os.path import isfile, realpath

from msgspec.structs import replace

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.load import Latencies
from fsconsole.model.wire import encode
from fsconsole.model.workload import Generator, Workload, WorkloadKind
from fsconsole.system.isolation import python_argv
from fsconsole.system.run import OUTPUT_LIMIT_BYTES, RunningCommand, find_program, spawn
from fsconsole.text import decode as decode_text
from fsconsole.workloads import bonnie, command, copy, dd, fio
from fsconsole.workloads.builtin import interpreter_places
from fsconsole.workloads.cage import caged
from fsconsole.workloads.job import Stage
from fsconsole.workloads.launcher import ProgramJob, ProgramReport, Seen
from fsconsole.workloads.protocol import LoadResult, ProgramFigures
from fsconsole.workloads.reports import Reports, ending_in_words
from fsconsole.workloads.tree import SourceFiles

_LAUNCHER = python_argv("-m", "fsconsole.workloads.launcher")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that makes loads: its command lines, and the figures in its output.

    argvs takes a load, the absolute path of its new directory, and the files that it uses. figures takes a load and the
    whole of both outputs; it raises GeneratorFailed for output of another form.
    """

    argvs: Callable[[Workload, str, SourceFiles | None], tuple[tuple[str, ...], ...]]
    figures: Callable[[Workload, str, str], ProgramFigures]
    tells_failures: bool = False
    """True where its output has figures, and its reasons, also after an exit code other than 0."""
    is_of_each_file: bool = False
    """True if its one command line runs once for each file of the load."""


PROGRAMS_OF: Mapping[WorkloadKind | Generator, Program] = {
    WorkloadKind.COMMAND: Program(command.argvs, command.figures),
    WorkloadKind.FIO: Program(fio.argvs, fio.figures, tells_failures=True),
    Generator.FIO: Program(fio.argvs, fio.figures, tells_failures=True),
    WorkloadKind.COPY: Program(copy.argvs, copy.figures),
    WorkloadKind.BONNIE: Program(bonnie.argvs, bonnie.figures),
    Generator.DD: Program(dd.argvs, dd.figures, is_of_each_file=True),
}
"""Of each kind and generator in model.workload.PROGRAMS."""


def program_of(workload: Workload) -> Program | None:
    """Return the program that makes a load; None for one of the built-in generator, and for what this version can't run."""
    if workload.kind in PROGRAMS_OF:
        return PROGRAMS_OF[workload.kind]
    return PROGRAMS_OF.get(workload.generator)


def prepare_program(  # noqa: PLR0913 (each is a fact of its own)
    workload: Workload,
    *,
    tree: str,
    device: int,
    inode: int = 0,
    directory: str,
    hidden: Sequence[str],
    source: SourceFiles | None = None,
    roots: Sequence[str] = (),
    seen: Sequence[Seen] = (),
    most_pids: int = 0,
) -> ProgramLoad:
    """Start the launcher, confined to tree, and send it its job.

    directory is the name of the load's own directory below tree, which is there already; device is its st_dev, inode
    its st_ino (0: any). roots are the paths that a subset of its sources is made of; seen are its sources as they were
    read. most_pids is caged()'s. Raises ToolMissing.
    """
    program = program_of(workload)
    if program is None:
        raise GeneratorFailed(f"no program makes loads of kind {workload.kind.value}")
    path = os.path.join(tree, directory)
    argvs = program.argvs(replace(workload, sources=tuple(roots)) if roots else workload, path, source)
    for name in dict.fromkeys(("bwrap", *(argv[0] for argv in argvs))):
        find_program(name)
    outputs = tuple(os.memfd_create(f"fsconsole-{name}", os.MFD_CLOEXEC) for name in ("out", "err"))
    unseen, readable = _without_etc(workload)
    try:
        with caged(
            _LAUNCHER,
            tree=tree,
            readable=(*interpreter_places(), *workload.sources, *readable),
            hidden=[*(realpath(path) for path in hidden), *unseen],
            fds=outputs,
            # A service may listen somewhere below a source.
            allow_sockets=not workload.sources,
            most_pids=most_pids,
        ) as confined:
            running = spawn(confined)
    except BaseException:
        for fd in outputs:
            os.close(fd)
        raise
    out, err = outputs
    files = workload.files if program.is_of_each_file else 0
    # wait_ready() reports a launcher that has exited.
    with suppress(BrokenPipeError):
        job = ProgramJob(path, device, argvs, out, err, inode, files, workload.directories, tuple(seen))
        running.send(encode(job))
    return ProgramLoad(running, workload, program, directory, _shown(argvs[0]), outputs)


_ETC, _LOADER_CACHE = "/etc", "/etc/ld.so.cache"


def _without_etc(workload: Workload) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a copy is not shown, and what of that it needs all the same: no file of /etc unless that is a source.

    cp lists a directory by its name (coreutils 9.1, copy_dir): what became a link since it looked leads it elsewhere.
    """
    if not workload.sources or workload.kind is not WorkloadKind.COPY:
        return (), ()
    if any(f"{source}/".startswith(f"{_ETC}/") for source in workload.sources):
        return (), ()
    return (_ETC,), (_LOADER_CACHE,) if isfile(_LOADER_CACHE) else ()


_MOST_WORDS = 50
"""Of a command line in the journal, which has one for each load of each cell."""


def _shown(argv: tuple[str, ...]) -> tuple[str, ...]:
    left = len(argv) - _MOST_WORDS
    return (*argv[: _MOST_WORDS - 1], f"[{left} more words]", argv[-1]) if left > 0 else argv


class ProgramLoad:
    """A load that programs make, from their start to their result."""

    page = None
    """It has no counters: nobody counts its bytes while it runs."""

    def __init__(  # noqa: PLR0913, PLR0917 (each is a fact of its own)
        self,
        running: RunningCommand,
        workload: Workload,
        program: Program,
        directory: str,
        argv: tuple[str, ...],
        outputs: tuple[int, ...],
    ) -> None:
        self.workload = workload
        self._running = running
        self._program = program
        self._directory = directory
        self._argv = argv
        self._outputs = outputs
        self._reports = Reports(running, ProgramReport)
        self._is_stopped = False
        self._released_ns = 0
        self._ended: CommandResult | None = None

    @property
    def pid(self) -> int:
        """The first process of the cage."""
        return self._running.pid

    def wait_ready(self) -> None:
        """Wait until the launcher is ready. Raises GeneratorFailed."""
        self._reports.wait_ready()

    def go(self) -> None:
        """Start the first program. Raises GeneratorFailed."""
        self._released_ns = time.monotonic_ns()
        self._reports.go()

    def stop(self) -> None:
        """Kill the programs."""
        self._is_stopped = True
        self._running.kill()

    def latencies(self) -> tuple[Latencies, ...]:
        """Return none: a program's own percentiles are among its figures."""
        return ()

    def finished(self, timeout_s: float) -> bool:
        """Wait up to timeout_s for the end of the last program; True where it has ended, however."""
        return self._reports.finished(timeout_s)

    def wait(self) -> LoadResult:
        """Wait for the end of the last program and return what they did."""
        report = self._reports.wait_end()
        is_done, figures, why = report.event is Stage.DONE, ProgramFigures(), report.why
        if not is_done:
            why = why or ending_in_words(self._running.wait())
        elif report.exit_code and not self._program.tells_failures:
            why = ending_in_words(self._result_of(report))
        else:
            try:
                figures = self._program.figures(self.workload, *map(self._output, self._outputs))
            except GeneratorFailed as error:
                why = error.why
            if report.exit_code and not why and not figures.failures:
                why = ending_in_words(self._result_of(report))
        return LoadResult(
            threads=(),
            written_bytes=figures.written_bytes,
            files_done=figures.files_done,
            first_started_ns=report.started_ns or self._released_ns,
            first_ended_ns=report.ended_ns or self._reports.ended_ns,
            last_ended_ns=report.ended_ns or self._reports.ended_ns,
            user_s=report.user_s,
            system_s=report.system_s,
            is_whole=not why,
            failures=why or figures.failures,
            read_bytes=figures.read_bytes,
            directory=self._directory,
            was_stopped=self._is_stopped,
            counts=figures.counts,
            told=figures.measurements,
        )

    def end(self) -> CommandResult:
        """Wait until the launcher is gone, and return the programs' outputs as those of the first command line."""
        if self._ended is None:
            launcher = self._running.wait()
            report = self._reports.last
            result = self._result_of(report)
            code = report.exit_code if report.event is Stage.DONE else launcher.exit_code
            self._ended = CommandResult(result.argv, code, result.stdout, result.stderr + launcher.stderr, result.usage)
        return self._ended

    def kill(self) -> None:
        """End whatever still runs; a second call does nothing."""
        self._running.kill()
        self.end()
        for fd in self._outputs:
            os.close(fd)
        self._outputs = ()

    def _result_of(self, report: ProgramReport) -> CommandResult:
        out, err = (os.pread(fd, OUTPUT_LIMIT_BYTES, 0) for fd in self._outputs)
        elapsed_s = (report.ended_ns - report.started_ns) / 1e9
        usage = ResourceUsage(elapsed_s, report.user_s, report.system_s, report.max_rss_bytes)
        return CommandResult(self._argv, report.exit_code, out, err, usage)

    def _output(self, fd: int) -> str:
        return decode_text(os.pread(fd, OUTPUT_LIMIT_BYTES, 0))
