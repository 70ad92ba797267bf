"""What `fsconsole devices --json` prints on machines of several kinds, made by its own code from values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.md import parse_mdstat
from fsconsole.devices.state import DevicesAnswer, ListedDevice, device_state
from fsconsole.model.device import (
    Device,
    DeviceKind,
    Hazard,
    LoopBacking,
    MountUse,
    Signature,
    Usage,
    Verdict,
)
from fsconsole.model.wire import encode
from fsconsole.text import GIB, MIB, TIB

_MDSTAT = Path(__file__).parents[1] / "data" / "mdstat"
RESYNC = parse_mdstat((_MDSTAT / "5.10-debian-raid5-resync.txt").read_text())[0]
HOSTILE_LABEL = "[/x]\x1b[31m\u202e\u0436\u6570"

_SATA = Device(
    "sda", "/dev/sda", DeviceKind.DISK, 8, 0, 480 * 10**9, rotational=False, model="INTEL SSDSC2KB480G8",
    serial="PHYF001300HS480BGN", wwn="0x55cd2e4150ff0001", transport="ata", diskseq=1, read_ahead_bytes=128 * 1024,
    scheduler="mq-deadline", schedulers=("none", "mq-deadline", "kyber"), write_cache="write back",
    physical_sector_bytes=4096,
)  # fmt: skip
_BIG = replace(_SATA, size_bytes=3 * TIB, rotational=True, model="ST3000NM0033-9ZM178")


def _disk(name: str, minor: int, serial: str) -> Device:
    return replace(
        _BIG, name=name, path=f"/dev/{name}", minor=minor, serial=serial, wwn=f"0x5000c500{minor:08x}", diskseq=minor + 1
    )  # fmt: skip


def _mount(point: str, filesystem: str = "ext4") -> tuple[MountUse, ...]:
    return (MountUse(point, filesystem, "self"),)


SYSTEM = (
    _SATA,
    replace(
        _SATA, name="sda1", path="/dev/sda1", kind=DeviceKind.PARTITION, minor=1, size_bytes=512 * MIB, parent="sda",
        partition_start_bytes=MIB, partition_uuid="6f1c-01", mounts=_mount("/boot/efi", "vfat"),
    ),
    replace(
        _SATA, name="sda2", path="/dev/sda2", kind=DeviceKind.PARTITION, minor=2, size_bytes=400 * GIB, parent="sda",
        partition_start_bytes=513 * MIB, mounts=_mount("/"),
    ),
    replace(
        _SATA, name="sda3", path="/dev/sda3", kind=DeviceKind.PARTITION, minor=3, size_bytes=16 * GIB, parent="sda",
        partition_start_bytes=401 * GIB, swap=True,
    ),
)  # fmt: skip
MEMBERS = tuple(
    replace(_disk(name, 16 * number, f"Z1Y0{number}"), holders=("md0",))
    for number, name in enumerate(("sdb", "sdc", "sdd", "sde"), start=1)
)
ARRAY = Device(
    "md0", "/dev/md0", DeviceKind.MD, 9, 0, RESYNC.size_bytes, lower=("sdb", "sdc", "sdd", "sde"), md=RESYNC,
    optimal_io_bytes=3 * 512 * 1024, minimum_io_bytes=512 * 1024, read_ahead_bytes=6 * MIB,
)  # fmt: skip
LABELLED = replace(
    _disk("sdf", 80, "Z1Y0F"),
    signatures=(Signature("ext4", Usage.FILESYSTEM, 1080, HOSTILE_LABEL, "0a1b2c3d-0000-4e5f"),),
)
FREE = _disk("sdg", 96, "Z1Y0G")
PATHS = tuple(
    replace(_disk(name, minor, "360002ac0"), transport="fc", holders=("dm-0",), wwn="0x60002ac0")
    for name, minor in (("sdh", 112), ("sdi", 128))
)
MULTIPATH = Device(
    "dm-0", "/dev/dm-0", DeviceKind.DM, 253, 0, 3 * TIB, lower=("sdh", "sdi"), dm_name="mpatha",
    dm_uuid="mpath-360002ac0", holders=("dm-1", "dm-2"),
)  # fmt: skip
VOLUMES = (
    Device("dm-1", "/dev/dm-1", DeviceKind.DM, 253, 1, TIB, lower=("dm-0",), dm_name="vg-home", dm_uuid="LVM-a",
           mounts=_mount("/srv/home/of/everybody/in/the/whole/department", "xfs")),
    Device("dm-2", "/dev/dm-2", DeviceKind.DM, 253, 2, TIB, lower=("dm-0",), dm_name="vg-scratch", dm_uuid="LVM-b"),
)  # fmt: skip
SCRATCH = Device(
    "loop0", "/dev/loop0", DeviceKind.LOOP, 7, 0, 4 * GIB, diskseq=40, read_ahead_bytes=128 * 1024,
    loop=LoopBacking("/var/lib/fsconsole/scratch/scratch-0a1b2c3d.img", 2049, 77, direct_io=True, autoclear=False,
                     scratch_id="0a1b2c3d"),
)  # fmt: skip

STORAGE_BOX = (*SYSTEM, *MEMBERS, ARRAY, LABELLED, FREE, *PATHS, MULTIPATH, *VOLUMES, SCRATCH)

_FOUND = {
    "sdf": (
        Hazard(
            "filesystem", Verdict.ASKED, "/dev/sdf", f"holds ext4 '{HOSTILE_LABEL}', UUID 0a1b2c3d-0000-4e5f, 3.0 TiB",
            "Mount it read-only to see what is on it: `mount -o ro DEVICE /mnt`.",
        ),
    ),
    "loop0": (
        Hazard(
            "hidden-processes", Verdict.ASKED, "/dev/loop0", "may be open in process 1, which hides what it has open",
            "`ps` tells what the process is.",
        ),
    ),
    "md0": (
        Hazard("resync", Verdict.REFUSED, "/dev/md0", "is being resynced", "Wait until it is done.", waits=True),
    ),
}  # fmt: skip


NO_DEVICES = '{"devices": [], "notes": []}'
NO_FILESYSTEMS = '{"filesystems": []}'


def listed(*devices: Device, is_root: bool = True, not_asked: frozenset[str] = frozenset()) -> str:
    """Return the JSON for a machine with these devices; the gate wasn't asked about some."""

    def row_of(device: Device) -> tuple[Hazard, ...] | None:
        if not is_root or device.name in not_asked:
            return None
        return _FOUND.get(device.name, ())

    shown = devices if is_root else tuple(replace(device, signatures=()) for device in devices)
    graph = DeviceGraph(shown)
    found = ((device, row_of(device)) for device in shown)
    return encode(
        DevicesAnswer(
            tuple(
                ListedDevice.of(device, device_state(device, graph, hazards), hazards or (), ())
                for device, hazards in found
            ),
            (),
        ),
        indent=1,
    )


def many(count: int) -> tuple[Device, ...]:
    """Return so many free disks."""
    return tuple(_disk(f"sdx{number:03d}", number, f"S{number:05d}") for number in range(count))
