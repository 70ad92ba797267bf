"""Reads the evidence for the wipe gate: claims that stand in tables first, the device itself only if those allow it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fsconsole.devices.content import sample_content
from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.evidence import (
    Evidence,
    FoundSignature,
    GateContext,
    Role,
    SystemPlace,
    Unread,
    Use,
    UseKind,
)
from fsconsole.devices.exports import export_uses
from fsconsole.devices.live import busy_uses, hidden_processes, lock_uses, open_uses, reservation_uses
from fsconsole.devices.places import PlaceFinder
from fsconsole.devices.relatives import DeviceGraph, number_of, relatives
from fsconsole.devices.signatures import probe_signatures
from fsconsole.devices.uses import (
    array_uses,
    btrfs_uses,
    holder_uses,
    init_mount_uses,
    loop_uses,
    mount_uses,
    read_arrays,
    read_btrfs_members,
    read_graph,
    read_loops,
    swap_uses,
)
from fsconsole.devices.volume_groups import active_groups, volume_group_uses
from fsconsole.errors import FsconsoleError
from fsconsole.model.device import Device, DeviceKind
from fsconsole.system.blockdev import notice_medium
from fsconsole.system.mounts import read_mounts, read_swaps
from fsconsole.system.text import read_text

_END_BYTES = 2**20
"""Where signatures lie: within the first and the last MiB, but for copies (ZFS labels, md 0.90 and 1.0, GPT)."""


def gather(path: str, context: GateContext, is_refused: Callable[[Evidence], bool]) -> Evidence:
    """Return all evidence on the device at path; what a refusal makes needless is not tried.

    A device that tables show to be in use is read by the signature probe alone, never opened for writing.
    Raises DeviceMissing, NotABlockDevice; what can't be read otherwise stands in the evidence as unread.
    """
    real = os.path.realpath(path)
    notice_medium(real)
    devices = discover()
    device = find_device(real, devices)
    graph, unread = _graph(devices)
    evidence = Evidence(device, relatives(device, graph), unread=unread)
    evidence = _from_tables(evidence, graph, context)
    evidence = replace(evidence, strange_node=strange_node(real, device))
    if evidence.strange_node:
        return evidence
    if not is_refused(evidence):
        evidence = _from_other_holders(evidence, graph, context)
    if any(use.kind is UseKind.LOCKED for use in evidence.uses):
        # Another run measures there: nothing is read from it, nor dropped of what it has in memory.
        return evidence
    if not is_refused(evidence):
        evidence = _with(evidence, "an exclusive open", lambda: busy_uses(evidence.relatives, graph))
    probed = _from_signatures(evidence, graph, context)
    if is_refused(evidence):
        # What is on it serves for words then; that it can't be read is no further reason.
        return replace(probed, unread=evidence.unread)
    return probed if is_refused(probed) or context.content_is_ours else _from_content(probed)


def _graph(devices: tuple[Device, ...]) -> tuple[DeviceGraph, tuple[Unread, ...]]:
    try:
        return read_graph(devices), ()
    except OSError as error:
        return DeviceGraph(devices, {}), (Unread("what the loop devices stand on", str(error)),)


def strange_node(real: str, device: Device) -> str:
    """Return a clause where a resolved node's name and number don't belong together; empty where they do.

    real is the path after symbolic links; device was found by the node's number. Only the kernel's own name
    and /dev/mapper/NAME, which is a node where no udev runs, are believed.
    """
    if real not in {device.path, f"/dev/mapper/{device.dm_name}"}:
        return f"is what {real} leads to, a node with another device's name"
    try:
        number = os.stat(device.path).st_rdev
    except OSError as error:
        return f"has no usable node: {error.strerror}"
    if number != number_of(device):
        return f"has a node that leads to device {os.major(number)}:{os.minor(number)} instead"
    return ""


def _from_tables(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Add what /proc and /sys tell of claims, without opening any device but loops, to ask what they stand on."""
    device = evidence.device
    gaps = graph.gaps(device)
    if gaps:
        evidence = _unread(evidence, "what it lies on", f"{', '.join(gaps)} is not in the listing")
    evidence = replace(
        evidence,
        partitions=tuple(graph.by_number[r.number] for r in evidence.relatives if r.role is Role.INSIDE),
        min_bytes=context.min_bytes,
        max_bytes=context.max_bytes,
    )
    evidence = _with(evidence, "its mounts", lambda: mount_uses(read_mounts("self")))
    own = evidence.uses
    evidence = _with(evidence, "the mounts of PID 1", lambda: init_mount_uses(read_mounts("1"), own))
    evidence = _with(evidence, "the swap areas", lambda: swap_uses(read_swaps()))
    evidence = _with(evidence, "the mounted btrfs", lambda: btrfs_uses(read_btrfs_members()))
    evidence = _with(evidence, "its holders", lambda: _holders(evidence, graph))
    evidence = _with(evidence, "the loop devices", lambda: loop_uses(read_loops(graph.devices), graph))
    evidence = _with(evidence, "the exports", lambda: export_uses(_loops(graph)))
    evidence = _from_arrays(evidence, graph)
    return _from_places(evidence, graph, context)


def _holders(evidence: Evidence, graph: DeviceGraph) -> Iterator[Use]:
    """Yield the holders of all devices; where sysfs hides those of a relative, that is an error, not none."""
    for relative in evidence.relatives:
        folder = f"/sys/dev/block/{os.major(relative.number)}:{os.minor(relative.number)}"
        os.listdir(f"{folder}/holders")
        read_text(f"{folder}/ro")
    yield from holder_uses(graph)


def _loops(graph: DeviceGraph) -> tuple[tuple[int, Device], ...]:
    return tuple((number_of(device), device) for device in graph.devices if device.kind is DeviceKind.LOOP)


def _from_arrays(evidence: Evidence, graph: DeviceGraph) -> Evidence:
    try:
        arrays = read_arrays()
    except (OSError, FsconsoleError) as error:
        return _unread(evidence, "the md arrays", str(error))
    names = {device.name for device in graph.down(evidence.device)}
    below = tuple(array for array in arrays if array.name in names)
    return replace(evidence, arrays=below, uses=(*evidence.uses, *array_uses(arrays, graph)))


def _from_places(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Add the disks of /, /boot and the run folder.

    A loop over a file is a disk of its own: that the machine's disks can't be found is no hazard to it, as
    whatever is mounted from it is found by its mount and by O_EXCL.
    """
    try:
        return replace(evidence, system_places=_places(graph, context))
    except (OSError, LookupError) as error:
        if graph.stands_on_files(evidence.device):
            return evidence
        return _unread(evidence, "the disks of /, /boot and the run folder", str(error))


def _places(graph: DeviceGraph, context: GateContext) -> tuple[SystemPlace, ...]:
    finder = PlaceFinder(graph, read_mounts("self"), read_mounts("1"), read_btrfs_members())
    return finder.system_places(context.runs_dir)


def _from_other_holders(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Add what other processes, runs and machines do with the device at this moment."""
    shared = evidence.relatives
    evidence = replace(evidence, hidden_processes=hidden_processes(context.own_pids))
    evidence = _with(evidence, "open descriptors", lambda: open_uses(shared, graph, context.own_pids))
    if not context.holds_lock:
        evidence = _with(evidence, "locks", lambda: lock_uses(evidence.device, graph))
    return _with(evidence, "reservations", lambda: reservation_uses(shared, graph))


def _from_signatures(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Probe the device and its partitions, past what the page cache may still hold of another time."""
    found: list[FoundSignature] = []
    for device in (evidence.device, *evidence.partitions):
        try:
            _read_anew(device.path, device.size_bytes)
            found += (FoundSignature(device, s) for s in probe_signatures(context.executor, device.path))
        except (OSError, FsconsoleError) as error:
            evidence = _unread(evidence, f"the signatures on {device.path}", _why(error))
    evidence = replace(evidence, signatures=tuple(found))
    groups = active_groups(graph.devices)
    if not groups:
        return evidence
    return _with(evidence, "its volume group", lambda: volume_group_uses(found, groups))


def _read_anew(path: str, size_bytes: int) -> None:
    """Drop clean cached pages, and read both ends, where signatures lie: what a probe can't read, it takes for none.

    BLKFLSBUF would drop more, but it used to empty a RAM disk (drivers/block/brd.c). Raises OSError.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for offset in (0, max(size_bytes - _END_BYTES, 0)):
            _read_whole(fd, offset, min(_END_BYTES, size_bytes))
    finally:
        os.close(fd)


def _read_whole(fd: int, offset: int, length: int) -> None:
    while length > 0:
        # A read that meets a bad block in the middle is short; the next one is the error.
        got = len(os.pread(fd, length, offset))
        if not got:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        offset, length = offset + got, length - got


def _from_content(evidence: Evidence) -> Evidence:
    try:
        return replace(evidence, content=sample_content(evidence.device.path, evidence.device.size_bytes))
    except OSError as error:
        return _unread(evidence, "its content", _why(error))


def _with(evidence: Evidence, source: str, read: Callable[[], Iterable[Use]]) -> Evidence:
    """Return the evidence with a source's uses, or with the reason why it could not be read."""
    try:
        return replace(evidence, uses=(*evidence.uses, *read()))
    except (OSError, ValueError, LookupError, FsconsoleError) as error:
        return _unread(evidence, source, str(error))


def _why(error: OSError | FsconsoleError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _unread(evidence: Evidence, source: str, why: str) -> Evidence:
    return replace(evidence, unread=(*evidence.unread, Unread(source, why.rstrip("."))))
