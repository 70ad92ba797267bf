"""The kernel's own trace of a program and of a block device, read in its binary form: nanoseconds, nothing formatted.

Shares no code with fsconsole. Sources: Documentation/trace/ftrace.rst, Documentation/trace/ring-buffer-map.rst,
include/linux/ring_buffer.h (struct ring_buffer_event), events/*/format.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

CALLS = (
    "openat", "close", "read", "readv", "pread64", "preadv", "preadv2", "write", "pwrite64", "pwritev", "pwritev2",
    "newfstatat", "unlinkat", "fsync", "fdatasync", "syncfs",
)  # fmt: skip
FIEMAP = 0xC020660B
_FIELD = re.compile(r"field:(?P<what>[^;]+);\s*offset:(?P<at>\d+);\s*size:(?P<size>\d+);\s*signed:(?P<signed>\d);")
_CODES = {(1, 0): "B", (2, 0): "H", (4, 0): "I", (8, 0): "Q", (1, 1): "b", (2, 1): "h", (4, 1): "i", (8, 1): "q"}
_LOST = 1 << 31
"""RB_MISSED_EVENTS in a page's count of bytes (kernel/trace/ring_buffer.c)."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: nanoseconds of CLOCK_MONOTONIC, the thread that was on the CPU, and the fields that were asked for."""

    ns: int
    thread: int
    name: str
    fields: tuple[int | str, ...]


class Format:
    """Where an event's fields lie."""

    def __init__(self, text: str, wanted: Sequence[str]) -> None:
        self.number = int(re.search(r"^ID: (\d+)", text, re.MULTILINE)[1])  # type: ignore[index]
        found = {}
        for field in _FIELD.finditer(text):
            name = field["what"].split()[-1].split("[")[0]
            found[name] = (field["what"], int(field["at"]), int(field["size"]), int(field["signed"]))
        names = list(wanted) or [name for name in found if not name.startswith(("common_", "__syscall"))]
        self.readers = sorted((self._reader(*found[name]) for name in names if name in found), key=lambda one: one[1])
        end, layout = 0, "<"
        for code, at, size in self.readers:
            layout += f"{at - end}x" + {"located": "I", "text": f"{size}s"}.get(code, code)
            end = at + size
        self._layout = struct.Struct(layout)
        self._texts = [number for number, (code, _, _) in enumerate(self.readers) if code in ("located", "text")]

    @staticmethod
    def _reader(what: str, at: int, size: int, signed: int) -> tuple[str, int, int]:
        if "__data_loc" in what:
            return "located", at, 4
        if "[" in what:
            return "text", at, size
        return _CODES[size, signed], at, size

    def read(self, data: memoryview) -> tuple[int | str, ...]:
        """Return the fields in the order of the kernel's record, texts as str."""
        values = self._layout.unpack_from(data)
        if not self._texts:
            return values
        told: list[int | str] = list(values)
        for number in self._texts:
            text = values[number]
            if isinstance(text, int):
                text = bytes(data[text & 0xFFFF :][: text >> 16])
            told[number] = text.split(b"\0")[0].decode(errors="replace")
        return tuple(told)


class Instance:
    """One trace buffer of its own; what it holds is taken out five times a second, and kept as it is."""

    def __init__(
        self,
        root: Path,
        name: str,
        events: dict[str, tuple[Sequence[str], str]],
        buffer_kib: int,
        *,
        follow: bool = True,
    ) -> None:
        self.place = root / "instances" / f"recompute-{os.getpid()}-{name}"
        self.place.mkdir()
        self._formats: dict[int, tuple[str, Format]] = {}
        for at, value in (("tracing_on", "0"), ("trace_clock", "mono"), ("buffer_size_kb", str(buffer_kib))):
            self.write(at, value)
        for event, (wanted, chosen) in events.items():
            form = Format((self.place / "events" / event / "format").read_text(), wanted)
            self._formats[form.number] = (event.split("/")[1], form)
            if chosen:
                self.write(f"events/{event}/filter", chosen)
            self.write(f"events/{event}/enable", "1")
        cpus = sorted(self.place.glob("per_cpu/cpu*/trace_pipe_raw")) if follow else []
        self._pipes = [os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in cpus]
        self._pages: list[list[bytes]] = [[] for _ in cpus]
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    def write(self, file: str, value: str) -> None:
        (self.place / file).write_text(value)

    def _follow(self) -> None:
        while not self._over.wait(0.2):
            self._take()

    def _take(self) -> None:
        for pipe, pages in zip(self._pipes, self._pages, strict=True):
            while True:
                try:
                    page = os.read(pipe, 4096)
                except BlockingIOError:
                    break
                if not page:
                    break
                pages.append(page)

    def stop(self) -> None:
        """End the trace and give its buffer back; what was read stays."""
        self.write("tracing_on", "0")
        self._over.set()
        self._reader.join()
        self._take()
        for pipe in self._pipes:
            os.close(pipe)
        self.write("events/enable", "0")
        self.place.rmdir()

    def events(self) -> list[Event]:
        """Return all events in the order of their time. Raises RuntimeError where some were lost."""
        found = [event for pages in self._pages for page in pages for event in self._of_page(page)]
        return sorted(found, key=lambda event: event.ns)

    def _of_page(self, page: bytes) -> Iterator[Event]:
        now, commit = struct.unpack_from("<QQ", page)
        if commit & _LOST:
            raise RuntimeError("the trace's buffer was too small, and events were lost")
        at, end, data = 16, 16 + (commit & 0xFFFFF), memoryview(page)
        while at < end:
            (head,) = struct.unpack_from("<I", page, at)
            kind, delta = head & 31, head >> 5
            if kind == 29:  # padding
                if not delta:
                    return
                at += 4 + struct.unpack_from("<I", page, at + 4)[0]
            elif kind in (30, 31):  # a longer time, or a whole one
                longer = (struct.unpack_from("<I", page, at + 4)[0] << 27) + delta
                now = now + longer if kind == 30 else (now & ~((1 << 59) - 1)) | longer
                at += 8
            else:
                now += delta
                start = at + 4 if kind else at + 8
                at = start + 4 * kind if kind else at + 4 + struct.unpack_from("<I", page, at + 4)[0]
                number, _, _, thread = struct.unpack_from("<HBBi", page, start)
                if number in self._formats:
                    name, form = self._formats[number]
                    yield Event(now, thread, name, form.read(data[start:at]))


@contextmanager
def tracefs() -> Iterator[Path]:
    """Give the root of the tracing filesystem, mounted for this process alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    with ExitStack() as stack:
        root = Path("/sys/kernel/tracing")
        if not (root / "instances").is_dir():
            root = Path(f"/run/recompute-{os.getpid()}")
            root.mkdir()
            stack.callback(root.rmdir)
            if libc.mount(b"nodev", str(root).encode(), b"tracefs", 0, None):
                raise OSError(ctypes.get_errno(), "mount tracefs")
            stack.callback(libc.umount2, str(root).encode(), 0)
        yield root


def of_programs(root: Path) -> Instance:
    """Give a trace of system calls, starts and ends of what started() starts."""
    events = {f"syscalls/sys_{end}_{call}": ((), "") for call in CALLS for end in ("enter", "exit")}
    events |= {
        "sched/sched_process_fork": (("parent_pid", "child_pid"), ""),
        "sched/sched_process_exec": (("filename", "pid"), ""),
        "sched/sched_process_exit": (("comm", "pid"), ""),
        "kmem/rss_stat": (("member", "size"), "curr == 1"),
    }
    instance = Instance(root, "programs", events, 32 * 1024)
    instance.write("options/event-fork", "1")
    return instance


def of_machine(root: Path, device: str) -> Instance:
    """Give a trace of a block device's requests, and of the CPU time of every thread of the machine."""
    number = os.stat(device).st_rdev
    of_device = f"dev == {os.major(number) << 20 | os.minor(number)}"
    request = ("sector", "nr_sector", "bytes", "rwbs")
    events = {
        "block/block_rq_issue": (request, of_device),
        "block/block_rq_complete": (("sector", "nr_sector", "error", "rwbs"), of_device),
        "sched/sched_stat_runtime": (("pid", "runtime"), ""),
    }
    return Instance(root, "machine", events, 32 * 1024)


def started(argv: Sequence[str], traces: Sequence[Instance], **how: object) -> subprocess.Popen[str]:
    """Start a program that these traces follow, with its children, from its first instruction on."""
    files = " ".join(f"'{trace.place}/set_event_pid'" for trace in traces)
    for trace in traces:
        trace.write("tracing_on", "1")
    shell = f'for file in {files}; do echo $$ > "$file"; done; exec "$@"'
    return subprocess.Popen(["/bin/sh", "-c", shell, "sh", *argv], text=True, **how)  # type: ignore[call-overload, no-any-return]
