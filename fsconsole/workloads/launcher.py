"""The process that starts the programs of a load inside the cage, and takes their times.

Started as ``python -I -m fsconsole.workloads.launcher``, confined to its tree. Standard input carries the job and then
GO, a line each; standard output one JSON object a line: READY, then DONE, or REFUSED with a reason. Clock and CPU times
are those of the programs alone, as time(1) prints them: the cage and this process are ready before.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from contextlib import suppress

from fsconsole.errors import FsconsoleError
from fsconsole.model.command import Command
from fsconsole.model.wire import Mismatch, Wire, decode_whole
from fsconsole.model.workload import Directories
from fsconsole.system.isolation import search_path
from fsconsole.system.processes import INIT_PID
from fsconsole.system.run import RealExecutor, find_program
from fsconsole.text import KIB
from fsconsole.workloads.job import GO, LoadReport, Stage, tell
from fsconsole.workloads.tree import DIRECTORY_FLAGS, namer

EACH_FILE = "{file}"
"""Stands in a command line for the path of the current file, relative to the load's directory."""


class Seen(Wire, frozen=True):
    """A source when its manifest was taken, by st_dev and st_ino; a symbolic link has none, since the cage makes it again."""

    path: str
    device: int = 0
    inode: int = 0


class ProgramJob(Wire, frozen=True):
    """Programs to run one after another in a directory, up to the first that fails.

    With files, the one command line runs once for each of so many files, and EACH_FILE in its words is the file's path.
    directory is an absolute path, on the filesystem with the st_dev given. The outputs of all programs go to the
    inherited descriptors out and err.
    """

    directory: str
    device: int
    argvs: tuple[tuple[str, ...], ...]
    out: int
    err: int
    inode: int = 0
    """The st_ino that the directory must have; 0: any. Other users may rename what is in their directories."""
    files: int = 0
    directories: Directories = Directories()
    """Layout of these files."""
    sources: tuple[Seen, ...] = ()
    """What must lie at the sources' paths."""


class ProgramReport(LoadReport, frozen=True):
    """One line from the launcher; times are CLOCK_MONOTONIC, CPU times and memory those of the programs."""

    started_ns: int = 0
    ended_ns: int = 0
    exit_code: int = 0
    """Of the program that failed, else 0; negative for a signal."""
    user_s: float = 0.0
    system_s: float = 0.0
    max_rss_bytes: int = 0


def main() -> int:
    """Run one job; exit code 0 unless the programs could not start."""
    try:
        _run_job(decode_whole(ProgramJob, sys.stdin.readline()))
    except (Mismatch, FsconsoleError, OSError) as error:
        tell(ProgramReport(Stage.REFUSED, str(error)))
        return 1
    return 0


def _run_job(job: ProgramJob) -> None:
    directory_fd = os.open(job.directory, DIRECTORY_FLAGS)
    if os.fstat(directory_fd).st_dev != job.device:
        raise OSError(f"{job.directory} is not on the filesystem that was mounted for it")
    if job.inode and os.fstat(directory_fd).st_ino != job.inode:
        raise OSError(f"{job.directory} is not the directory that was made for it")
    os.fchdir(directory_fd)
    os.close(directory_fd)
    _require_sources(job.sources)
    tell(ProgramReport(Stage.READY))
    if sys.stdin.readline().strip() != GO:
        return
    started_ns = time.monotonic_ns()
    user_s, system_s, max_rss_bytes, exit_code = _each_file(job) if job.files else _in_order(job)
    ended_ns = time.monotonic_ns()
    _end_the_rest()
    tell(ProgramReport(Stage.DONE, "", started_ns, ended_ns, exit_code, user_s, system_s, max_rss_bytes))


def _require_sources(sources: tuple[Seen, ...]) -> None:
    """Raise OSError where the cage was made of something that took a source's place: its mounts stay what they are now."""
    for source in sources:
        found = os.lstat(source.path)
        is_link = stat.S_ISLNK(found.st_mode)
        if not (is_link if source.inode == 0 else (found.st_dev, found.st_ino) == (source.device, source.inode)):
            raise OSError(f"{source.path} is not the source that was read: something else took its place")


_Usage = tuple[float, float, int, int]
"""User and system seconds, most memory in bytes, and the last exit code."""


def _in_order(job: ProgramJob) -> _Usage:
    executor, environment = RealExecutor(), (("HOME", job.directory), ("TMPDIR", "/tmp"))  # noqa: S108 (the cage's own)
    user_s, system_s, max_rss_bytes, exit_code = 0.0, 0.0, 0, 0
    for argv in job.argvs:
        result = executor.run(Command(argv, environment=environment))
        user_s, system_s = user_s + result.usage.user_s, system_s + result.usage.system_s
        max_rss_bytes, exit_code = max(max_rss_bytes, result.usage.max_rss_bytes), result.exit_code
        for fd, output in ((job.out, result.stdout), (job.err, result.stderr)):
            _write(fd, output)
        if exit_code:
            break
    return user_s, system_s, max_rss_bytes, exit_code


def _each_file(job: ProgramJob) -> _Usage:
    """Run a program for each file; nothing is done between them but start the next, since their time is measured."""
    (argv,) = job.argvs
    program, name_of = find_program(argv[0]), namer(job.directories, threads=1)
    environment = {"PATH": search_path(), "LANG": "C", "LC_ALL": "C"}
    user_s, system_s, max_rss_kib = 0.0, 0.0, 0
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, job.out, 1),
        (os.POSIX_SPAWN_DUP2, job.err, 2),
    ]
    for number in range(job.files):
        path = name_of(number)
        words = [word.replace(EACH_FILE, path) for word in argv]
        child = os.posix_spawn(program, words, environment, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
        user_s, system_s = user_s + usage.ru_utime, system_s + usage.ru_stime
        max_rss_kib = max(max_rss_kib, usage.ru_maxrss)
        if exit_code := os.waitstatus_to_exitcode(status):
            return user_s, system_s, max_rss_kib * KIB, exit_code
    return user_s, system_s, max_rss_kib * KIB, 0


def _end_the_rest() -> None:
    """End whatever a program left running in the cage: it would go on writing through the drain."""
    if os.getpid() != INIT_PID:
        return
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        # The first process inherits them all; until they are gone they hold files open.
        while True:
            os.wait()


def _write(fd: int, output: bytes) -> None:
    rest = memoryview(output)
    while rest:
        rest = rest[os.write(fd, rest) :]


if __name__ == "__main__":
    sys.exit(main())
