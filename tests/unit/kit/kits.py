"""Kits made of a row by hand, without a run."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.kit.build import Measured, Wanted, build_kit
from fsconsole.kit.script import script_text
from fsconsole.kit.values import Kit, KitDevice
from fsconsole.model.plan import ArraySpec, Setting
from fsconsole.preflight.kit_devices import gate_facts
from fsconsole.text import GIB
from tests.unit.kit.test_lines import UUID, variant_of
from tests.unit.results import build

SEEN = {"inodes": "131072", "block_size": "4096", "inode_size": "256", "has_journal": "on", "journal_size": "64M"}
MOUNTED = {"driver": "ext4", "noatime": "on", "nosuid": "on", "commit": "5"}
ARRAY_UUID = "aaaabbbb-cccc-4ddd-8eee-ffff00001111"
SETTING = Setting((("read_ahead", "1MiB"), ("scheduler", "none"), ("dirty_bytes", "256MiB"), ("memory", "1GiB")))
RAID5 = ArraySpec("raid5", 65536, stripe_cache_size=4096, assume_clean=True)


def disks(count: int, size_bytes: int = 16 * GIB) -> tuple[KitDevice, ...]:
    paths = [f"/dev/disk/by-id/wwn-{number}" for number in range(count)]
    return tuple(KitDevice(path, size_bytes, path) for path in paths)


def kit_of(
    row: str = "the winner",
    *,
    devices: tuple[KitDevice, ...] = disks(1),
    at: str = "/srv/data",
    array: ArraySpec | None = None,
    is_unit: bool = False,
    seen: dict[str, str] | None = None,
    mounted: dict[str, str] | None = None,
    setting: Setting = SETTING,
) -> Kit:
    """Return a kit of ext4 without flex_bg, with a setting of each kind."""
    ext4 = load_catalog().get("ext4")
    cell = replace(build.cell(0, replace(variant_of(ext4, "-O ^flex_bg", "noatime"), label=row)), setting=setting)
    members = ("/dev/a", "/dev/b", "/dev/c") if array is not None else ()
    cell = replace(cell, array=array, members=members)
    measured = Measured(
        "20261121-081000-k7qf",
        row,
        cell,
        SEEN if seen is None else seen,
        MOUNTED if mounted is None else mounted,
        (2 * GIB,) * max(1, len(members)),
    )
    return build_kit(ext4, measured, Wanted(devices, at, UUID, ARRAY_UUID, is_unit))


def script_of(kit: Kit) -> str:
    """Return apply.sh of a kit, as the command writes it."""
    return script_text(kit, gate_facts())
