"""A tracefs instance of its own: events that are filtered to one device, and its ring buffers (Documentation/trace/ftrace.rst)."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from fsconsole.system.files import Closing, opened, read_text
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.trace_buffer import (
    EventFormat,
    PageFormat,
    filled,
    parse_format,
    parse_lost,
    parse_page_format,
)
from fsconsole.telemetry.trace_figures import EVENTS, INODE, REQUEST, START, TracedDisk
from fsconsole.text import KIB, MIB

PREFIX = "fsconsole-"
_BUFFERS_BYTES = 64 * MIB
_LEAST_KIB, _MOST_KIB = 256, 2048
"""Of each CPU's buffer; at ten reads a second 2 MiB hold 290,000 requests a second."""


def instance_path(tracefs: str, run_id: str) -> str:
    """Return the directory of a run's instance; a run has one at most. Raises OSError for an id that is no plain name."""
    if "/" in run_id:
        # A journal from elsewhere may hold any id.
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return os.path.join(tracefs, "instances", PREFIX + run_id)


class TraceInstance:
    """A run's instance, with its events on; close() removes it. Raises OSError, Unreadable."""

    def __init__(self, tracefs: str, run_id: str, disks: Sequence[TracedDisk], bdi: str) -> None:
        self.disks = disks
        self._path = instance_path(tracefs, run_id)
        remove_instance(tracefs, run_id)
        os.mkdir(self._path)
        self._buffers: dict[str, Closing] = {}
        try:
            self.formats: Mapping[str, EventFormat] = {
                name: parse_format(self._text(f"events/{name}/format")) for name in EVENTS
            }
            self.page: PageFormat = parse_page_format(read_text(os.path.join(tracefs, "events/header_page")))
            self._set_up(disks, bdi)
        except BaseException:
            self.close()
            raise

    def pages(self) -> Iterator[bytes]:
        """Yield the pages that wait in the buffers; none is read twice. Raises OSError."""
        for buffer in self._buffers.values():
            with suppress(BlockingIOError):
                while page := os.read(buffer.fd, self.page.page_bytes):
                    yield filled(page, self.page)

    def turn_off(self) -> None:
        """Stop recording events; those in the buffer can still be read. Raises OSError."""
        self._write("tracing_on", "0")

    def lost(self) -> int:
        """Return how many events found no room in the buffers. Raises OSError."""
        return sum(parse_lost(self._text(f"per_cpu/{cpu}/stats")) for cpu in self._buffers)

    def close(self) -> None:
        """Remove the instance; a second call does nothing. Raises OSError."""
        for buffer in self._buffers.values():
            buffer.close()
        self._buffers = {}
        with suppress(FileNotFoundError):
            os.rmdir(self._path)

    def _set_up(self, disks: Sequence[TracedDisk], bdi: str) -> None:
        cpus = sorted(os.listdir(os.path.join(self._path, "per_cpu")))
        room_kib = min(_MOST_KIB, max(_LEAST_KIB, _BUFFERS_BYTES // KIB // max(1, len(cpus))))
        self._write("buffer_size_kb", str(room_kib))
        # The clock of time.monotonic_ns(), which loads are timed by.
        self._write("trace_clock", "mono")
        of_disks = " || ".join(f"dev == {disk.number}" for disk in disks)
        for name, filtered in ((REQUEST, of_disks), (START, f'name == "{bdi}"'), (INODE, f'name == "{bdi}"')):
            if not filtered.endswith('""'):
                self._write(f"events/{name}/filter", filtered)
                self._write(f"events/{name}/enable", "1")
        for cpu in cpus:
            path = os.path.join(self._path, "per_cpu", cpu, "trace_pipe_raw")
            self._buffers[cpu] = Closing(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def _text(self, name: str) -> str:
        return read_text(os.path.join(self._path, name))

    def _write(self, name: str, value: str) -> None:
        with opened(os.path.join(self._path, name), os.O_WRONLY | os.O_TRUNC) as fd:
            try:
                os.write(fd, value.encode())
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                raise Unreadable(f"tracefs took no {value!r} as {name}") from error


def remove_instance(tracefs: str, run_id: str) -> bool:
    """Remove what a killed engine left; False where there was nothing. Raises OSError (EBUSY: somebody reads it)."""
    try:
        os.rmdir(instance_path(tracefs, run_id))
    except FileNotFoundError:
        return False
    return True
