"""What loop devices stand on, and whether that is a scratch file of ours."""

from __future__ import annotations

import os
from dataclasses import replace

from fsconsole.devices.enumerate import SYS_ROOT
from fsconsole.devices.marker import proven_marker
from fsconsole.model.device import LoopBacking
from fsconsole.system.loop import status
from fsconsole.system.text import read_int_or


def loop_backing(name: str, sys_root: str = SYS_ROOT) -> LoopBacking | None:
    """Return what the loop device of that name stands on, or None where nothing is attached.

    File device and inode, and with them the scratch mark, are asked from the device itself; where that is
    not allowed (without root) or the tree is a made one they are 0 and empty.
    """
    directory = f"{sys_root}/class/block/{name}/loop"
    path = _backing_path(f"{directory}/backing_file")
    if not path:
        return None
    told = LoopBacking(
        path=path,
        file_device=0,
        inode=0,
        direct_io=read_int_or(f"{directory}/dio", 0) == 1,
        autoclear=read_int_or(f"{directory}/autoclear", 0) == 1,
        offset_bytes=read_int_or(f"{directory}/offset", 0),
    )
    return _proven(told, f"/dev/{name}") if sys_root == SYS_ROOT else told


def attached_loops() -> tuple[tuple[str, LoopBacking], ...]:
    """Return the device path and the backing of every attached loop device of this machine."""
    names = sorted(name for name in os.listdir(f"{SYS_ROOT}/class/block") if _is_whole_loop(name))
    found = ((f"/dev/{name}", loop_backing(name)) for name in names)
    return tuple((path, backing) for path, backing in found if backing is not None)


def _is_whole_loop(name: str) -> bool:
    return name.startswith("loop") and name[4:].isdigit()


def _proven(told: LoopBacking, device_path: str) -> LoopBacking:
    try:
        asked = status(device_path)
    except OSError:
        return told
    marker = proven_marker(told.path, asked.device_number_of_file, asked.inode)
    return replace(
        told,
        file_device=asked.device_number_of_file,
        inode=asked.inode,
        direct_io=asked.direct_io,
        autoclear=asked.autoclear,
        offset_bytes=asked.offset_bytes,
        scratch_id=marker.scratch_id,
    )


def _backing_path(attribute: str) -> str:
    """Return a path exactly as the kernel has it, bytes that are no UTF-8 included: it must lead to the file."""
    try:
        with open(attribute, "rb") as file:
            return os.fsdecode(file.read().removesuffix(b"\n"))
    except OSError:
        return ""
