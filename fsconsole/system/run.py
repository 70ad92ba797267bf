"""Runs programs: argv, exit code, outputs, resource usage, and kernel log lines."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO

from fsconsole.errors.runs import KernelLacks, SystemRefused, ToolFailed, ToolMissing
from fsconsole.model.command import Command, CommandResult, ResourceUsage, Watch
from fsconsole.system.files import Closing, KeptFile
from fsconsole.system.isolation import search_path
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.processes import INIT_PID, numbers_in, read_stat, visible_pid
from fsconsole.system.trace import follow, stop_at_exec
from fsconsole.text import error_reason, printable


class PeakMemory:
    """Peak resident size of a running process, and how long it was stopped (VmHWM, State: man 5 proc_pid_status)."""

    def __init__(self, pidfd: int) -> None:
        self.peak_bytes = 0
        self.stopped_s = 0.0
        self._looked_s = time.monotonic()
        self._status: KeptFile | None = None
        try:
            self._status = KeptFile(f"/proc/{visible_pid(pidfd)}/status")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return
        self.look()

    def look(self) -> None:
        """Read it again; after the process's end nothing changes."""
        if self._status is None:
            return
        before_s, self._looked_s = self._looked_s, time.monotonic()
        try:
            text = self._status.read()
        except ProcessLookupError:
            return
        for line in text.split(b"\n"):
            if line.startswith(b"State:\tT"):
                self.stopped_s += self._looked_s - before_s
            if line.startswith(b"VmHWM:"):
                self.peak_bytes = max(self.peak_bytes, int(line.split()[1]) * 1024)

    def close(self) -> None:
        """Close the file."""
        if self._status is not None:
            self._status.close()


_PROGRAMS_OF = {  # by Debian package, where that has another name; they are nearly the same elsewhere
    "btrfs-progs": ("btrfs", "btrfstune", "mkfs.btrfs"),
    "bubblewrap": ("bwrap",),
    "coreutils": ("cp", "dd", "env", "rm", "shred", "stat", "sync", "truncate"),
    "e2fsprogs": (
        "debugfs", "dumpe2fs", "e2fsck", "filefrag", "mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "tune2fs",
    ),
    "f2fs-tools": ("dump.f2fs", "fsck.f2fs", "mkfs.f2fs"),
    "jfsutils": ("fsck.jfs", "jfs_fsck", "jfs_mkfs", "jfs_tune", "mkfs.jfs"),
    "kmod": ("modprobe",),
    "mount": ("losetup", "mount", "swapoff", "swapon", "umount"),
    "nilfs-tools": ("mkfs.nilfs2", "nilfs-tune"),
    "nvme-cli": ("nvme",),
    "reiserfsprogs": ("debugreiserfs", "mkfs.reiserfs", "mkreiserfs", "reiserfsck"),
    "systemd": ("systemctl", "systemd-run"),
    "util-linux": (
        "blkdiscard", "blkid", "blockdev", "fallocate", "flock", "lsblk", "mkswap", "partx", "setsid", "unshare", "wipefs",
    ),
    "xfsprogs": ("mkfs.xfs", "xfs_admin", "xfs_info", "xfs_repair"),
}  # fmt: skip
_PACKAGE_OF = {program: package for package, programs in _PROGRAMS_OF.items() for program in programs}


def package_of(program: str) -> str:
    """Return the Debian package of a program, given by name or path; an unknown program's own name."""
    name = program.rsplit("/", 1)[-1]
    return _PACKAGE_OF.get(name, name)


def find_program(name: str) -> str:
    """Return the path of a program; a name with a slash is a path already. Raises ToolMissing."""
    found = shutil.which(name, path=search_path())
    if found is None:
        raise ToolMissing(tool=name, package=package_of(name))
    return found


_CANNOT_EXECUTE = 126
"""Exit code of a shell for a program that can't be executed (man 1p sh, EXIT STATUS)."""
_OUBLOCK_BYTES = 512
"""Unit of ru_oublock (include/linux/task_io_accounting_ops.h)."""

_PTRACE_REMEDY = (
    "A device is proved once more when its tool has started, and not wiped without: allow ptrace (in a container "
    "`--cap-add SYS_PTRACE`; kernel.yama.ptrace_scope below 3), and end an `strace -f` of fsconsole."
)

_lock = threading.Lock()
_living: set[int] = set()


class RunningChild:
    """A started program: leader of a session and process group of its own, not yet waited for."""

    def __init__(self, process: subprocess.Popen[bytes], started_ns: int) -> None:
        self.process = process
        self.pid = process.pid
        self.started_ns = started_ns
        self.pidfd = os.pidfd_open(process.pid)
        self.memory = PeakMemory(self.pidfd)

    def elapsed_s(self) -> float:
        """Return the seconds since it was started."""
        return (time.monotonic_ns() - self.started_ns) / 1e9

    def collect(self) -> tuple[int, ResourceUsage]:
        """Wait for the program's end and return its exit code and resource usage.

        Up to exec, ru_maxrss counts the memory of the process that forked (fs/exec.c, exec_mmap): unless it is above
        this process's, the highest VmHWM that was read counts, 0 if there was no time to read it.
        """
        _, status, used = os.wait4(self.pid, 0)
        elapsed_s = self.elapsed_s()
        exit_code = os.waitstatus_to_exitcode(status)
        self._forget(exit_code)
        own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak_bytes = used.ru_maxrss * 1024 if used.ru_maxrss > own_peak else self.memory.peak_bytes
        written_bytes = used.ru_oublock * _OUBLOCK_BYTES
        usage = ResourceUsage(elapsed_s, used.ru_utime, used.ru_stime, peak_bytes, written_bytes, self.memory.stopped_s)
        return exit_code, usage

    def supervise(self, watch: Watch) -> None:
        """Have a child that was started for it watched until it is let go; its clock starts then.

        Raises what watch raises, with the child killed.
        """
        try:
            follow(self.pid, f"/proc/{visible_pid(self.pidfd)}", watch)
        except BaseException:
            kill_group(self.pid)
            self.collect()
            raise
        self.started_ns = time.monotonic_ns()

    def abandon(self, exit_code: int) -> ResourceUsage:
        """Leave a program that doesn't end to a waiting thread; returns its elapsed time."""
        pid = self.pid
        threading.Thread(target=lambda: os.waitpid(pid, 0), name=f"abandoned-{pid}", daemon=True).start()
        self._forget(exit_code)
        return ResourceUsage(self.elapsed_s(), 0.0, 0.0, 0)

    def _forget(self, exit_code: int) -> None:
        self.process.returncode = exit_code
        os.close(self.pidfd)
        self.memory.close()
        with _lock:
            _living.discard(self.pid)


def start_child(command: Command, *, stdin: int, stdout: int, stderr: int) -> RunningChild:
    """Start a program; streams are descriptors, PIPE or DEVNULL. One with a watch stops at its exec.

    Raises ToolMissing, ToolFailed (not executable), KernelLacks (no ptrace).
    """
    program = find_program(command.argv[0])
    started_ns = time.monotonic_ns()
    # Under the lock a child is never alive without being known as ours, not even between fork and here.
    with _lock:
        try:
            process = subprocess.Popen(
                command.argv,
                executable=program,
                bufsize=0,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                # Nothing of the operator's but PATH can change what it does or says; nor can libblkid's cache, by
                # which mkfs.btrfs refuses a UUID that was on a device some minutes ago (man 8 blkid).
                env={
                    "PATH": search_path(),
                    "LANG": "C",
                    "LC_ALL": "C",
                    "BLKID_FILE": os.devnull,
                    **dict(command.environment),
                },
                close_fds=True,
                pass_fds=command.inherit_fds,
                start_new_session=True,
                preexec_fn=None if command.watch is None else stop_at_exec(os.getpid()),  # noqa: PLW1509 - it takes no lock
            )
        except subprocess.SubprocessError as error:
            raise KernelLacks(what="ptrace", why="it is refused here", remedy=_PTRACE_REMEDY) from error
        except OSError as error:
            said = error_reason(error)
            raise ToolFailed(shlex.join(command.argv), _CANNOT_EXECUTE, said) from error
        _living.add(process.pid)
    return RunningChild(process, started_ns)


def reap_strangers(proc: str) -> tuple[int, ...]:
    """Reap ended processes that PID 1 inherited, not children started here; returns their pids.

    proc is mounted in the namespace's own PID namespace.
    """
    reaped = []
    with _lock:
        for pid in numbers_in(proc):
            if pid not in _living:
                with contextlib.suppress(FileNotFoundError, ProcessLookupError, ChildProcessError):
                    stat = read_stat(f"{proc}/{pid}")
                    is_orphan = (stat.state, stat.parent) == ("Z", INIT_PID)
                    if is_orphan and os.waitpid(pid, os.WNOHANG)[0] == pid:
                        reaped.append(pid)
    return tuple(reaped)


OUTPUT_LIMIT_BYTES = 16 * 2**20
_READ_BYTES = 2**20
"""The most that a pipe holds unless root raised it (man 7 pipe): one read takes all that is in it."""
_WRITE_BYTES = 65536
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.25


class Kept:
    """A stream's bytes up to a limit; what is beyond is counted, not kept."""

    def __init__(self, limit_bytes: int = OUTPUT_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._kept = bytearray()
        self._cut_bytes = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._limit_bytes - len(self._kept)
        self._kept += data[:room]
        self._cut_bytes += max(0, len(data) - room)

    def whole(self) -> bytes:
        """Return what was kept, with a line at its end that says how much was cut, if any was."""
        return bytes(self._kept) + (cut_note(self._cut_bytes) if self._cut_bytes else b"")


def cut_note(cut_bytes: int) -> bytes:
    """Return the line that stands for bytes that were not kept."""
    return f"\n[fsconsole: {cut_bytes} more bytes cut]\n".encode()


class OutputFollower:
    """Moves bytes from and to a child until it ends or a deadline passes; heirs of its pipes are not waited for."""

    def __init__(
        self, child: RunningChild, outputs: tuple[tuple[IO[bytes] | None, Kept], ...], stdin: bytes = b""
    ) -> None:
        self._child = child
        self._to_write = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._selector.register(child.pidfd, selectors.EVENT_READ)
        self._outputs: dict[int, Kept] = {}
        for file, kept in outputs:
            if file is not None:
                os.set_blocking(file.fileno(), False)
                self._outputs[file.fileno()] = kept
                self._selector.register(file.fileno(), selectors.EVENT_READ)
        if stdin and child.process.stdin is not None:
            os.set_blocking(child.process.stdin.fileno(), False)
            self._selector.register(child.process.stdin, selectors.EVENT_WRITE)

    def ended_by(self, deadline_s: float | None) -> bool:
        """Follow the child until it has ended (True) or time.monotonic() reaches the deadline (False)."""
        while deadline_s is None or time.monotonic() < deadline_s:
            pause_s = min(max(self._child.elapsed_s() / 8, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
            if deadline_s is not None:
                pause_s = min(pause_s, max(0.0, deadline_s - time.monotonic()))
            ready = {key.fd for key, _ in self._selector.select(pause_s)}
            self._child.memory.look()
            has_ended = self._child.pidfd in ready
            for fd in tuple(self._outputs) if has_ended else ready & self._outputs.keys():
                self._read(fd)
            stdin = self._child.process.stdin
            if stdin is not None and not stdin.closed and stdin.fileno() in ready:
                self._feed(stdin)
            if has_ended:
                return True
        return False

    def close(self) -> None:
        """Close the selector; the child's pipes stay open."""
        self._selector.close()

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        self._outputs[fd].add(data)
        if not data:
            del self._outputs[fd]
            self._selector.unregister(fd)

    def _feed(self, stdin: IO[bytes]) -> None:
        try:
            written = os.write(stdin.fileno(), self._to_write[:_WRITE_BYTES])
            self._to_write = self._to_write[written:]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # A program may end, or close its input, without having read all of it.
            self._to_write = self._to_write[:0]
        if not self._to_write:
            self._selector.unregister(stdin)
            stdin.close()


KILL_GRACE_S = 5.0
"""Seconds that a killed process may take to end; one that waits inside the kernel (state D) may never."""


@dataclass(frozen=True, slots=True)
class Ending:
    """End of a child; note stands beside the errors of one that didn't end."""

    exit_code: int
    usage: ResourceUsage
    timed_out: bool
    note: bytes = b""

    def result(self, argv: tuple[str, ...], out: bytes, err: bytes, kernel_log: tuple[str, ...] = ()) -> CommandResult:
        """Return it with the outputs."""
        return CommandResult(argv, self.exit_code, out, err + self.note, self.usage, self.timed_out, kernel_log)


def follow_to_end(child: RunningChild, follower: OutputFollower, deadline_s: float | None, grace_s: float) -> Ending:
    """Follow a child to its end; at the deadline (time.monotonic()) kill its process group.

    One that has not ended grace_s later is given up: exit code -9, with a note.
    """
    timed_out = not follower.ended_by(deadline_s)
    if timed_out:
        kill_group(child.pid)
        if not follower.ended_by(time.monotonic() + grace_s):
            usage = child.abandon(-signal.SIGKILL)
            note = f"\n[fsconsole: process {child.pid} did not end within {grace_s:g} s of SIGKILL; given up]\n"
            return Ending(-signal.SIGKILL, usage, timed_out, note.encode())
    exit_code, usage = child.collect()
    return Ending(exit_code, usage, timed_out)


def kill_group(pid: int) -> None:
    """Kill a process group by the pid of its leader, which must not have been waited for yet."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


_RUNNING_READ_BYTES = 65536


class RunningCommand(Closing):
    """A started program with pipes for input and output; wait() reads its errors from a file.

    End it with wait(), kill() and wait(), or by leaving the with block.
    """

    def __init__(self, command: Command, child: RunningChild, errors: IO[bytes]) -> None:
        self.argv = command.argv
        self.pid = child.pid
        self._child = child
        self._errors = errors
        self._unread = bytearray()
        self._result: CommandResult | None = None

    @property
    def stdin(self) -> IO[bytes]:
        """The program's input, unbuffered."""
        return _present(self._child.process.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """The program's output, unbuffered; receive() reads from it too."""
        return _present(self._child.process.stdout)

    def send(self, line: str) -> None:
        """Write one line to the program. Raises BrokenPipeError where it reads no more."""
        self.send_bytes(line.encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Write all of data to the program. Raises BrokenPipeError where it reads no more."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.stdin.fileno(), rest) :]

    def receive(self, timeout_s: float | None = None) -> str:
        """Return the program's next line without its end. Raises TimeoutError, and EOFError after the last one."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            if not select.select([self.stdout], [], [], left_s)[0]:
                raise TimeoutError(f"no line from {self.argv[0]} within {timeout_s} s")
            data = os.read(self.stdout.fileno(), _RUNNING_READ_BYTES)
            if not data:
                raise EOFError(f"{self.argv[0]} has closed its output")
            self._unread += data
        line, _, rest = bytes(self._unread).partition(b"\n")
        self._unread = bytearray(rest)
        return line.decode("utf-8", errors="backslashreplace")

    def kill(self) -> None:
        """Kill the program and its process group; it must still be waited for."""
        if self._result is None:
            kill_group(self.pid)

    def wait(self, timeout_s: float | None = None) -> CommandResult:
        """Close the program's input, wait for its end and return its result; a second call returns the same.

        stdout is the rest that receive() did not take. After timeout_s its group is killed, and timed_out is set.
        """
        if self._result is not None:
            return self._result
        self.stdin.close()
        kept = Kept()
        kept.add(bytes(self._unread))
        follower = OutputFollower(self._child, ((self.stdout, kept),))
        try:
            deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
            ending = follow_to_end(self._child, follower, deadline_s, KILL_GRACE_S)
            cut_bytes = os.fstat(self._errors.fileno()).st_size - OUTPUT_LIMIT_BYTES
            errors = os.pread(self._errors.fileno(), OUTPUT_LIMIT_BYTES, 0)
            if cut_bytes > 0:
                errors += cut_note(cut_bytes)
        finally:
            follower.close()
            self.stdout.close()
            self._errors.close()
        self._result = ending.result(self.argv, kept.whole(), errors)
        return self._result

    def close(self) -> None:
        """Kill the program if it still runs, and wait for it."""
        self.kill()
        self.wait()


def spawn(command: Command) -> RunningCommand:
    """Start a program and send it command.stdin; its time limit is wait()'s.

    Raises ToolMissing, ToolFailed, and BrokenPipeError if it ended before it read command.stdin.
    """
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the program, wait() closes it
    try:
        child = start_child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors.fileno())
    except BaseException:
        errors.close()
        raise
    running = RunningCommand(command, child, errors)
    try:
        running.send_bytes(command.stdin)
    except BrokenPipeError:
        running.kill()
        running.wait()
        raise
    return running


def _present(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("started without this pipe")
    return pipe


class RealExecutor:
    """Runs programs to their end; may be called from several threads at once."""

    def __init__(
        self,
        kernel_log: KernelLog | None = None,
        *,
        kill_grace_s: float = KILL_GRACE_S,
        output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> None:
        self._kernel_log = kernel_log
        self._kill_grace_s = kill_grace_s
        self._output_limit_bytes = output_limit_bytes

    def run(self, command: Command) -> CommandResult:
        """Run a program to its end, or kill its process group at its time limit.

        Each output is cut at 16 MiB, with a note. Raises ToolMissing, ToolFailed (not executable), and what
        command.watch raises: then the program was killed.
        """
        out, err = Kept(self._output_limit_bytes), Kept(self._output_limit_bytes)
        stdin = subprocess.PIPE if command.stdin else subprocess.DEVNULL
        with self._kernel_log.another() if self._kernel_log is not None else contextlib.nullcontext() as log:
            child = start_child(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process = child.process
            follower = OutputFollower(child, ((process.stdout, out), (process.stderr, err)), command.stdin)
            try:
                if command.watch is not None:
                    child.supervise(command.watch)
                deadline_s = None if command.timeout_s is None else time.monotonic() + command.timeout_s
                ending = follow_to_end(child, follower, deadline_s, self._kill_grace_s)
            finally:
                follower.close()
                for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                    pipe.close()
            return ending.result(command.argv, out.whole(), err.whole(), () if log is None else log.lines())


def error_words(error: OSError) -> str:
    """Return the file names of a failed system call, and why it failed: "/dev/sdb: No such device or address"."""
    names = [
        printable(os.fsdecode(name)) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes))
    ]
    return ": ".join([*names, error_reason(error)])


def system_refusal(error: OSError) -> SystemRefused:
    """Return a failed system call as an error, with its file names."""
    return SystemRefused(error_words(error))
