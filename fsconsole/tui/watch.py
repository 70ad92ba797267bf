"""Looks at all devices through the command, when there is a reason to; between looks, at the kernel's tables."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fsconsole.client.children import Children, Done, failure
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.md import parse_mdstat
from fsconsole.devices.sysfs import SYS_ROOT, read_device
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.errors.targets import DeviceMissing
from fsconsole.model.device import Device, MdArray
from fsconsole.plan.outcome import Disk
from fsconsole.plan.planfile import TargetSpec
from fsconsole.show.devices import (
    WORDS,
    Key,
    ListedEntry,
    Listing,
    others,
    parse_listing,
    with_changes,
    with_progress,
    with_proofs,
)
from fsconsole.system.files import read_int_or, read_text_or
from fsconsole.tui.screens.base import Session

T = TypeVar("T")


async def beside(work: Callable[[], T]) -> T:
    """Return what the work gives, while the screen goes on; raises what it raises.

    The loop's own threads would be waited for at the end, and a plan of 10,000 cells takes seconds to work out.
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
            known = error
            tell(lambda: found.set_exception(known))
        except BaseException as error:
            # A fault of the program: raised where the work was asked for, and here.
            unknown = error
            tell(lambda: found.set_exception(unknown))
            raise
        else:
            tell(lambda: found.set_result(value))

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
    known = {device.name: device for device in listed}
    try:
        names = set(os.listdir(f"{sys_root}/class/block"))
    except OSError:
        return BlockChanges()
    gone = frozenset(device.name for device in known.values() if not _is_still_there(device, sys_root))
    unlisted = (name for name in names - known.keys() | gone if _has_room(name, sys_root))
    return BlockChanges(gone, tuple(_read(unlisted, sys_root)))


def _is_still_there(device: Device, sys_root: str) -> bool:
    own = f"{sys_root}/class/block/{device.name}"
    # A partition has no number of its own (Documentation/ABI/stable/sysfs-block, diskseq).
    is_same = read_int_or(f"{own}/diskseq", device.diskseq) == device.diskseq
    has_room = _has_room(device.name, sys_root) or (device.md is not None and os.path.exists(own))
    return is_same and has_room


def _has_room(name: str, sys_root: str) -> bool:
    return read_int_or(f"{sys_root}/class/block/{name}/size", 0) > 0


def _read(names: Iterable[str], sys_root: str) -> Iterable[Device]:
    for name in sorted(names):
        with suppress(DeviceMissing):
            yield read_device(name, sys_root)


_SYS_BLOCK = "/sys/block"
_TABLES = ("/proc/partitions", "/proc/self/mounts", "/proc/swaps")
_MDSTAT = "/proc/mdstat"
_WHICH = ("diskseq", "loop/backing_file")
"""The first is there since Linux 5.15 (Documentation/ABI/stable/sysfs-block)."""


@dataclass(frozen=True, slots=True)
class BlockTables:
    """The tables at one moment; equal where nothing has changed but the progress of arrays."""

    texts: tuple[str, ...]
    arrays: tuple[MdArray, ...]
    """Without their progress."""


def read_tables() -> BlockTables:
    """Return the tables as they are; one that can't be read is empty."""
    try:
        names = sorted(os.listdir(_SYS_BLOCK))
    except OSError:
        names = []
    disks = "\n".join(" ".join((name, *_which(name))) for name in names)
    texts = (disks, *(read_text_or(path, "") for path in _TABLES))
    return BlockTables(texts, tuple(_at_rest(array) for array in read_arrays()))


def _which(name: str) -> tuple[str, ...]:
    return tuple(read_text_or(f"{_SYS_BLOCK}/{name}/{file}", "").strip() for file in _WHICH)


def read_arrays() -> tuple[MdArray, ...]:
    """Return the md arrays with their progress; none where mdstat is missing or not understood."""
    try:
        return parse_mdstat(read_text_or(_MDSTAT, ""))
    except KernelUnreadable:
        return ()


def _at_rest(array: MdArray) -> MdArray:
    """Return the array without what moves while it syncs: that it syncs is told by the action."""
    return replace(array, progress_percent=None, finish_min=None, speed_bytes_s=None, bitmap="")


@dataclass(slots=True)
class DeviceWatch:
    """What was seen last, and when."""

    children: Children
    runs_dir: str
    listing: Listing = field(default_factory=Listing)
    seen_s: float | None = None
    """By the monotonic clock; None before the first look."""
    is_looking: bool = False
    has_failed: bool = False
    """Whether the last look did."""
    _is_wanted: bool = True
    _tables: BlockTables | None = None
    _proofs: dict[Key, ListedEntry] = field(default_factory=dict)

    @property
    def age_s(self) -> float | None:
        """How old the listing is; None before the first look."""
        return None if self.seen_s is None else time.monotonic() - self.seen_s

    @property
    def is_wanted(self) -> bool:
        """Whether something happened that was not looked at."""
        return self._is_wanted

    def want(self) -> None:
        """Ask for another look."""
        self._is_wanted = True

    async def look(self) -> None:
        """Look at all devices. Raises ChildFailed."""
        self._is_wanted = False
        self.has_failed = True
        self._tables = await asyncio.to_thread(read_tables)
        found = await self._listed()
        self.has_failed = False
        self.seen_s = time.monotonic()
        # A look takes a while: what came and went meanwhile must not come and go again.
        self.listing = await self._up_to_now(with_proofs(found, self._proofs))

    async def prove(self, entry: ListedEntry) -> None:
        """Look closely at one device that the listing leaves open. Raises ChildFailed."""
        path = entry.device.path
        found = await self._listed(path)
        seen = found.at(path)
        if seen is None or not seen.is_proved:
            raise ChildFailed(
                words="devices", said="; ".join(found.notes) or f"{path} could not be looked at."
            )
        self._proofs[entry.key] = seen
        self.listing = with_proofs(self.listing, self._proofs)

    async def glimpse(self) -> bool:
        """Take what came and went into the listing, until the next look tells more; return whether anything did."""
        if self.seen_s is None:
            return False
        before = self.listing
        self.listing = await self._up_to_now(before)
        return self.listing is not before

    async def has_changed(self) -> bool:
        """Return whether the kernel's tables say something else than at the last look."""
        return self._tables is not None and await asyncio.to_thread(read_tables) != self._tables

    async def follow_progress(self) -> bool:
        """Take how far arrays have synced into the listing; return whether that has moved."""
        if not self.listing.syncs:
            return False
        before = self.listing
        self.listing = with_progress(before, await asyncio.to_thread(read_arrays))
        return self.listing is not before

    async def _up_to_now(self, listing: Listing) -> Listing:
        devices = tuple(entry.device for entry in listing.entries)
        changes = await asyncio.to_thread(read_changes, devices)
        return with_changes(listing, changes.gone, changes.new)

    async def _listed(self, *paths: str) -> Listing:
        done = await self.children.run(*WORDS, "--runs", self.runs_dir, *paths)
        if done.exit_code:
            raise failure(done)
        return parse_listing(done.out, done.err)


@dataclass(frozen=True, slots=True)
class Targets:
    """What the ticked devices are by now; lost are sentences on those that were unticked."""

    disks: tuple[Disk, ...]
    missing: tuple[str, ...]
    lost: tuple[str, ...]


async def look_at(session: Session) -> Targets:
    """Look at the ticked devices again, and untick those that are another device by now."""
    found: list[Disk] = []
    missing: list[str] = []
    lost: list[str] = []
    for target in session.targets:
        done = await session.children.run(*WORDS, "--runs", session.runs_dir, target)
        entry = None if done.exit_code else parse_listing(done.out, done.err).at(target)
        if entry is None:
            missing.append(target)
            continue
        device, ticked = entry.device, session.ticks.get(target)
        if ticked is not None and (other := others(ticked, listed_identity(device))):
            del session.ticks[target]
            lost.append(f"{target} was unticked: another device has its name now ({other}).")
        else:
            spec = TargetSpec(device.path, device.size_bytes, is_scratch=device.is_scratch)
            found.append(Disk(spec, is_rotating=bool(device.rotational)))
    return Targets(tuple(found), tuple(missing), tuple(lost))


class OneAtATime(Children):
    """The same children, each begun when the one before it has ended."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._turn = asyncio.Lock()

    async def run(self, *words: str) -> Done:
        """Carry out a command in its turn. Raises ChildFailed."""
        async with self._turn:
            return await self._children.run(*words)

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        """Carry out a command in its turn, and ask it to end where end is set meanwhile. Raises ChildFailed."""
        async with self._turn:
            return await self._children.run_or_end(end, *words)


# Listens to udev, or where no udevd runs to the kernel itself, in a thread of its own; no device is opened.
#
# Whoever closes a device that was open for writing makes udev probe it and send a "change", even if nothing was written:
# our own looking does so too. So a change counts only where what udev knows of the device has changed.

UDEV_CONTROL = "/run/udev/control"
"""Where udevd listens; the name stays when it has ended (man 8 systemd-udevd)."""
_SOCKETS = "/proc/net/unix"
"""All sockets that somebody has open (man 5 proc_net)."""

_POLL_S = 0.5
_OF_THE_EVENT = frozenset({"ACTION", "SEQNUM", "USEC_INITIALIZED", "CURRENT_TAGS", "SYNTH_UUID"})
"""Properties that tell of the event, not of the device."""


class Changes:
    """What udev said last of each device."""

    def __init__(self, known: Mapping[str, Mapping[str, str]]) -> None:
        self._known = {name: _lasting(properties) for name, properties in known.items()}

    def is_news(self, action: str, name: str, properties: Mapping[str, str]) -> bool:
        """Return whether an event tells something that was not known, and remember it."""
        if action == "remove":
            self._known.pop(name, None)
            return True
        before, now = self._known.get(name), _lasting(properties)
        self._known[name] = now
        return before != now


def has_udevd() -> bool:
    """Return whether a udevd listens, itself or by systemd, which starts it when it is needed."""
    return any(line.endswith(f" {UDEV_CONTROL}") for line in read_text_or(_SOCKETS, "").splitlines())


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
        by_udevd = has_udevd()
        monitor = pyudev.Monitor.from_netlink(context, source="udev" if by_udevd else "kernel")
        monitor.filter_by("block")
        monitor.start()
        changes = Changes({})
        with suppress(pyudev.DeviceNotFoundError):  # One that vanishes while it is listed.
            listed = context.list_devices(subsystem="block")
            changes = Changes({device.sys_name: dict(device.properties) for device in listed})
        self._listens.set()
        while not self._over.is_set():
            device = monitor.poll(timeout=_POLL_S)
            if device is None:
                continue
            # The kernel alone knows little of a device, and sends a change only where there is one.
            is_news = changes.is_news(device.action or "", device.sys_name, dict(device.properties))
            if is_news or not by_udevd:
                self._tell()


def _lasting(properties: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in properties.items() if name not in _OF_THE_EVENT}
