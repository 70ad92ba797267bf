"""Lists devices through the command when udev or the kernel's tables report a change."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from fsconsole.client.children import Children, Done, failure
from fsconsole.devices.md import parse_mdstat
from fsconsole.devices.sysfs import SYS_ROOT, read_device
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.errors.targets import DeviceMissing
from fsconsole.model.device import Device, MdArray
from fsconsole.show import devices as view
from fsconsole.system.files import read_int_or, read_text_or

T = TypeVar("T")


async def in_background(work: Callable[[], T]) -> T:
    """Run blocking work in a daemon thread and return its result, or raise its error.

    asyncio's own threads would be joined at exit, and expanding a plan of 10,000 cells takes seconds.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        # The loop may be closed by now, and whoever waited may be gone.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if found.done() else act())

    def carry_out() -> None:
        try:
            value = work()
        except FsconsoleError as error:
            tell(partial(found.set_exception, error))
        except BaseException as error:
            # A fault of the program: raised where the work was asked for, and here.
            tell(partial(found.set_exception, error))
            raise
        else:
            tell(partial(found.set_result, value))

    threading.Thread(target=carry_out, daemon=True).start()
    return await found


@dataclass(frozen=True, slots=True)
class BlockChanges:
    """Names of those of the list that are gone or another device by now, and those that are new."""

    gone: frozenset[str] = frozenset()
    new: tuple[Device, ...] = ()


def read_changes(listed: Iterable[Device], sys_root: str = SYS_ROOT) -> BlockChanges:
    """Return what has changed since devices were listed; what is new is known by its attributes alone.

    A loop device without a file has no size, and neither has a card reader without a card: they are not there. An
    array that is not active is there without one.
    """
    block = f"{sys_root}/class/block"
    try:
        names = set(os.listdir(block))
    except OSError:
        return BlockChanges()
    sized = {name for name in names if read_int_or(f"{block}/{name}/size", 0) > 0}
    gone: set[str] = set()
    still: set[str] = set()
    for device in listed:
        # A partition has no number of its own (Documentation/ABI/stable/sysfs-block, diskseq).
        is_same = read_int_or(f"{block}/{device.name}/diskseq", device.diskseq) == device.diskseq
        is_there = device.name in sized or (device.md is not None and device.name in names)
        (still if is_same and is_there else gone).add(device.name)
    new: list[Device] = []
    for name in sorted(sized - still):
        with suppress(DeviceMissing):
            new.append(read_device(name, sys_root))
    return BlockChanges(frozenset(gone), tuple(new))


_SYS_BLOCK = "/sys/block"
_TABLES = ("/proc/partitions", "/proc/self/mounts", "/proc/swaps")
_MDSTAT = "/proc/mdstat"
_WHICH = ("diskseq", "loop/backing_file")
"""The first is there since Linux 5.15 (Documentation/ABI/stable/sysfs-block)."""


def read_tables() -> tuple[object, ...]:
    """Return the tables as they are, equal where nothing but the progress of arrays has changed.

    A table that can't be read is empty.
    """
    try:
        names = sorted(os.listdir(_SYS_BLOCK))
    except OSError:
        names = []
    paths = (*(f"{_SYS_BLOCK}/{name}/{file}" for name in names for file in _WHICH), *_TABLES)
    # The action of an array says whether it syncs.
    arrays = (
        replace(array, progress_percent=None, finish_min=None, speed_bytes_s=None, bitmap="") for array in read_arrays()
    )
    return (tuple(names), *(read_text_or(path, "") for path in paths), *arrays)


def read_arrays() -> tuple[MdArray, ...]:
    """Return the md arrays with their progress; none where mdstat is missing or not understood."""
    try:
        return parse_mdstat(read_text_or(_MDSTAT, ""))
    except KernelUnreadable:
        return ()


@dataclass(slots=True)
class DeviceWatch:
    """Last listing, and its time."""

    children: Children
    runs_dir: str
    listing: view.Listing = field(default_factory=view.Listing)
    seen_s: float | None = None
    """By the monotonic clock; None before the first look."""
    is_looking: bool = False
    has_failed: bool = False
    """True if the last look did."""
    is_wanted: bool = True
    """True if something happened that was not looked at."""
    _tables: tuple[object, ...] | None = None
    _proofs: dict[view.Key, view.ListedEntry] = field(default_factory=dict)

    @property
    def age_s(self) -> float | None:
        """Age of the listing; None before the first one."""
        return None if self.seen_s is None else time.monotonic() - self.seen_s

    async def look(self) -> None:
        """Look at all devices. Raises ChildFailed."""
        self.is_wanted = False
        self.has_failed = True
        self._tables = await asyncio.to_thread(read_tables)
        found = await self._listed()
        self.has_failed = False
        seen_s = time.monotonic()
        # A look takes a while: what came and went meanwhile must not come and go again.
        listing = await self._up_to_now(view.with_proofs(found, self._proofs))
        # Both at once: a list that is told as seen is not the one before.
        self.seen_s, self.listing = seen_s, listing

    async def prove(self, entry: view.ListedEntry) -> None:
        """Look closely at one device that the listing leaves open. Raises ChildFailed."""
        path = entry.device.path
        found = await self._listed(path)
        seen = found.at(path)
        if seen is None or not seen.is_proved:
            said = "; ".join(found.notes) or f"{path} could not be read."
            raise ChildFailed(words="devices", said=said)
        self._proofs[entry.key] = seen
        self.listing = view.with_proofs(self.listing, self._proofs)

    async def glimpse(self) -> bool:
        """Take what came and went into the listing, until the next look tells more; return whether anything did."""
        if self.seen_s is None:
            return False
        before = self.listing
        now = await self._up_to_now(before)
        # A look that has ended meanwhile tells more: a glimpse of the list before it knows no file of a new loop device.
        if self.listing is before:
            self.listing = now
        return self.listing is not before

    async def has_changed(self) -> bool:
        """Return whether the kernel's tables say something else than at the last look."""
        return self._tables is not None and await asyncio.to_thread(read_tables) != self._tables

    async def follow_progress(self) -> bool:
        """Take how far arrays have synced into the listing; return whether that has moved."""
        if not self.listing.syncs:
            return False
        arrays = await asyncio.to_thread(read_arrays)
        before = self.listing
        self.listing = view.with_progress(before, arrays)
        return self.listing is not before

    async def _up_to_now(self, listing: view.Listing) -> view.Listing:
        devices = tuple(entry.device for entry in listing.entries)
        changes = await asyncio.to_thread(read_changes, devices)
        return view.with_changes(listing, changes.gone, changes.new)

    async def _listed(self, *paths: str) -> view.Listing:
        done = await self.children.run(*view.WORDS, "--runs", self.runs_dir, *paths)
        if done.exit_code:
            raise failure(done)
        return view.parse_listing(done.out, done.err)


class OneAtATime(Children):
    """The same children, run one at a time."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._turn = asyncio.Lock()

    async def run(self, *words: str) -> Done:
        """Run a command when no other one is running. Raises ChildFailed."""
        async with self._turn:
            return await self._children.run(*words)

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        """Do the same with a command that is asked to end once end is set. Raises ChildFailed."""
        async with self._turn:
            return await self._children.run_or_end(end, *words)


# Listens to udev, or where no udevd runs to the kernel itself, in a thread of its own; no device is opened.
#
# Whoever closes a device that was open for writing makes udev probe it and send a "change", even if nothing was written:
# our own looking does so too. So a change counts only where what udev knows of the device has changed.

UDEV_CONTROL = "/run/udev/control"
"""Socket of udevd; the name stays when it has ended (man 8 systemd-udevd)."""
_SOCKETS = "/proc/net/unix"
"""All sockets that somebody has open (man 5 proc_net)."""

_POLL_S = 0.5
_OF_THE_EVENT = frozenset({"ACTION", "SEQNUM", "USEC_INITIALIZED", "CURRENT_TAGS", "SYNTH_UUID"})
"""Properties that tell of the event, not of the device."""


class Changes:
    """Last event of udev for each device."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, str]] = {}

    def is_news(self, action: str, name: str, properties: Mapping[str, str]) -> bool:
        """Return whether an event tells something that was not known, and remember it."""
        if action == "remove":
            self._known.pop(name, None)
            return True
        before = self._known.get(name)
        now = {key: value for key, value in properties.items() if key not in _OF_THE_EVENT}
        self._known[name] = now
        return before != now


class UdevWatch:
    """Calls back, from its own thread, after each piece of news."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = tell
        self._over = threading.Event()
        self._listens = threading.Event()

    def start(self) -> None:
        """Listen from now on, where there is libudev."""
        threading.Thread(target=self._listen, name="udev", daemon=True).start()

    def wait_until_listening(self) -> None:
        """Wait until nothing that happens is missed any more; for ever where there is no libudev."""
        self._listens.wait()

    def stop(self) -> None:
        """Listen no more; the thread ends within half a second."""
        self._over.set()

    def _listen(self) -> None:
        try:
            import pyudev  # noqa: PLC0415 - the import itself fails where libudev is not installed
        except ImportError:
            return
        context = pyudev.Context()
        # A udevd listens itself, or by systemd, which starts it when it is needed.
        by_udevd = any(line.endswith(f" {UDEV_CONTROL}") for line in read_text_or(_SOCKETS, "").splitlines())
        monitor = pyudev.Monitor.from_netlink(context, source="udev" if by_udevd else "kernel")
        monitor.filter_by("block")
        monitor.start()
        changes = Changes()
        with suppress(pyudev.DeviceNotFoundError):  # One that vanishes while it is listed.
            for device in context.list_devices(subsystem="block"):
                changes.is_news("", device.sys_name, dict(device.properties))
        self._listens.set()
        while not self._over.is_set():
            device = monitor.poll(timeout=_POLL_S)
            if device is None:
                continue
            # The kernel alone knows little of a device, and sends a change only where there is one.
            is_news = changes.is_news(device.action or "", device.sys_name, dict(device.properties))
            if is_news or not by_udevd:
                self._tell()
