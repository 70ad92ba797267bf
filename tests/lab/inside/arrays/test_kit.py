"""A kit's script on blank disks: it makes the array, brings it up again after a stop, and verify-kit names a lost member."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.devices.snapshot import find_device
from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.kit.files import FSTAB, MDADM_CONFIGS, managed_files
from fsconsole.kit.values import Kit, KitDevice
from fsconsole.model.plan import ArraySpec
from fsconsole.model.wire import encode
from fsconsole.preflight.kit_devices import lasting_name
from tests.lab.guest import create_array, fsconsole, loop_device, run, scsi_disk, settle, stop_arrays, udevd
from tests.unit.kit.kits import kit_of, script_of

DISKS = ("/dev/loop0", "/dev/loop1", "/dev/loop2")
SIZE_MIB = 24
AT, ARRAY = "/srv/kit", "/dev/md/srv-kit"
SPEC = ArraySpec("raid5", 65536, stripe_cache_size=512, assume_clean=True)
_DIRTY = Path("/proc/sys/vm/dirty_bytes")


def features_of(path: str) -> dict[str, str]:
    return {one.name: one.value for one in parse_mkfs_features("ext4", run("dumpe2fs", "-h", path))}


@dataclass(frozen=True, slots=True)
class Applied:
    """A kit in its folder, with an update-initramfs that only notes that it was called."""

    kit: Kit
    folder: Path

    def script(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        argv = ("sh", f"{self.folder}/apply.sh", *words)
        return subprocess.run(argv, check=False, capture_output=True, text=True, env=environment)

    def apply(self, *words: str) -> str:
        done = self.script(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def differences(self, code: int) -> dict[str, str]:
        done = fsconsole("verify-kit", str(self.folder), "--json")
        assert done.code == code, done
        return {one["what"]: one["found"] for one in json.loads(done.out)["checks"] if one["verdict"] == "differs"}


@contextmanager
def kit_in(folder: Path, devices: tuple[KitDevice, ...], array: ArraySpec | None = None) -> Iterator[Applied]:
    """Write a kit of an ext4 of the devices' size, and give back what applying it changes outside of its devices."""
    image, stub = folder / "winner", folder / "bin" / "update-initramfs"
    with image.open("wb") as file:
        file.truncate(devices[0].size_bytes)
    run("mkfs.ext4", "-q", "-F", "-O", "^flex_bg", str(image))
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$@" >>{folder}/initramfs\n')
    stub.chmod(0o755)
    kit = kit_of(devices=devices, at=AT, array=array, seen=features_of(str(image)), mounted={})
    (folder / "kit.json").write_text(encode(kit))
    (folder / "apply.sh").write_text(script_of(kit))
    paths = [Path(path) for path in (FSTAB, *MDADM_CONFIGS, *(file.path for file in managed_files(kit)))]
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    dirty = _DIRTY.read_text().strip()
    try:
        yield Applied(kit, folder)
    finally:
        subprocess.run(["umount", AT], check=False)
        for path, text in before.items():
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_bytes(text)
        _DIRTY.with_name("dirty_ratio" if dirty == "0" else "dirty_bytes").write_text("20" if dirty == "0" else dirty)


@pytest.fixture
def applied(tmp_path: Path) -> Iterator[Applied]:
    """A kit of a raid5 of three loop devices."""
    devices = tuple(KitDevice(path, SIZE_MIB * 2**20, path) for path in DISKS)
    with ExitStack() as stack:
        for disk in DISKS:
            stack.enter_context(loop_device(Path(disk).name, SIZE_MIB))
        stack.callback(stop_arrays, *DISKS)
        yield stack.enter_context(kit_in(tmp_path, devices, SPEC))


def test_a_member_of_another_array_is_refused_before_any_change_running_or_not(applied: Applied) -> None:
    create_array("md7", "raid0", *DISKS[1:])
    held = run("sha256sum", *DISKS)
    done = applied.script("--overwrite", DISKS[1])
    assert (done.returncode, "belongs to md7" in done.stderr) == (1, True), done
    run("mdadm", "--stop", "/dev/md7")
    # One may be overwritten; the other still has its superblock.
    done = applied.script("--overwrite", DISKS[1])
    assert (done.returncode, f"{DISKS[2]} is not blank" in done.stderr) == (1, True), done
    assert "linux_raid_member" in done.stderr
    assert run("sha256sum", *DISKS) == held


def test_an_array_is_made_once_brought_up_again_and_its_lost_member_is_named(applied: Applied) -> None:
    assert "changes would be made" in applied.apply("--dry-run")
    assert "\nmd" not in Path("/proc/mdstat").read_text()
    assert f"+ mdadm --create {ARRAY}" in applied.apply()
    assert (applied.folder / "initramfs").read_text() == "-u\n"
    # It has something to wait for, or is in step already.
    subprocess.run(["mdadm", "--wait", ARRAY], check=False)
    assert applied.differences(0) == {}
    made = features_of(ARRAY)
    assert made["block_size"] == "1024"
    assert "flex_bg" not in made
    assert "Nothing was changed" in applied.apply()
    run("mdadm", "--grow", ARRAY, "--bitmap=internal")
    assert applied.differences(58) == {f"bitmap of {ARRAY}": "internal"}
    run("mdadm", "--grow", ARRAY, "--bitmap=none")
    # As after a boot without its line in mdadm.conf.
    run("umount", AT)
    run("mdadm", "--stop", ARRAY)
    assert "mkfs" not in applied.apply("--dry-run")
    told = applied.apply()
    assert "exists on 3 of 3 devices" in told
    assert "mkfs" not in told
    assert applied.differences(0) == {}
    run("mdadm", ARRAY, "--fail", DISKS[1])
    run("mdadm", ARRAY, "--remove", DISKS[1])
    assert applied.differences(58) == {f"{DISKS[1]} in {ARRAY}": "none", f"state of {ARRAY}": "1 member missing"}
    assert (applied.folder / "initramfs").read_text() == "-u\n"


def test_on_a_disk_by_its_lasting_name_a_kit_holds_and_udev_sets_its_settings_again(tmp_path: Path) -> None:
    with scsi_disk(16) as name, udevd():
        path = lasting_name(find_device(f"/dev/{name}"))
        assert path.startswith("/dev/disk/by-id/")
        with kit_in(tmp_path, (KitDevice(path, 16 * 2**20, path),)) as applied:
            queue = Path(f"/sys/block/{name}/queue")
            assert f" {path}\n" in applied.apply()
            assert run("findmnt", "-no", "SOURCE", AT).strip() == f"/dev/{name}"
            assert applied.differences(0) == {}
            assert "Nothing was changed" in applied.apply()
            (queue / "read_ahead_kb").write_text("128")
            run("udevadm", "trigger", "--action=change", f"--sysname-match={name}")
            settle()
            assert (queue / "read_ahead_kb").read_text() == "1024\n"
            assert "[none]" in (queue / "scheduler").read_text()
            assert applied.differences(0) == {}
