"""A kit's script on blank disks: it makes the array, brings it up again after a stop, and verify-kit names a lost member."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.kit.script import script_text
from fsconsole.kit.values import Kit, KitDevice
from fsconsole.model.plan import ArraySpec
from fsconsole.model.wire import encode
from tests.lab.guest import fsconsole, run, settle, stop_arrays
from tests.unit.kit.kits import kit_of

DISKS = ("/dev/ubdb", "/dev/ubdc", "/dev/ubdd")
AT = "/srv/kit"
FOLDER = Path("/tmp/kit")
SPEC = ArraySpec("raid5", 65536, stripe_cache_size=512, assume_clean=True)
_DIRTY = Path("/proc/sys/vm/dirty_bytes")


def features_of(path: str) -> dict[str, str]:
    return {one.name: one.value for one in parse_mkfs_features("ext4", run("dumpe2fs", "-h", path))}


@pytest.fixture
def kit() -> Iterator[Kit]:
    FOLDER.mkdir()
    image = FOLDER / "winner"
    with image.open("wb") as file:
        file.truncate(32 * 2**20)
    run("mkfs.ext4", "-q", "-F", "-O", "^flex_bg", str(image))
    size_bytes = int(run("blockdev", "--getsize64", DISKS[0]))
    devices = tuple(KitDevice(path, size_bytes, path) for path in DISKS)
    made = kit_of(devices=devices, at=AT, array=SPEC, seen=features_of(str(image)))
    (FOLDER / "kit.json").write_text(encode(made))
    (FOLDER / "apply.sh").write_text(script_text(made))
    before = _DIRTY.read_text()
    yield made
    run("umount", AT)
    stop_arrays(*DISKS)
    for disk in DISKS:
        run("wipefs", "--all", "--quiet", disk)
    run("sysctl", "-q", "-w", *([f"vm.dirty_bytes={before}"] if before != "0\n" else ["vm.dirty_ratio=20"]))
    settle()


def differences(code: int) -> dict[str, str]:
    done = fsconsole("verify-kit", str(FOLDER), "--json")
    assert done.code == code, done
    checks = json.loads(done.out)["checks"]
    # Nothing was measured of its mount.
    return {
        one["what"]: one["found"] for one in checks if one["verdict"] != "same" and "mount option" not in one["what"]
    }


def apply(*words: str) -> str:
    return run("sh", str(FOLDER / "apply.sh"), *words)


def test_an_array_is_made_once_brought_up_again_and_its_lost_member_is_named(kit: Kit) -> None:
    assert "changes would be made" in apply("--dry-run")
    assert "md" not in Path("/proc/mdstat").read_text().replace("md_", "").partition("\n")[2].partition("unused")[0]
    told = apply()
    assert "+ mdadm --create /dev/md/srv-kit" in told
    run("udevadm", "settle")
    run("sh", "-c", "mdadm --wait /dev/md/srv-kit || :")
    assert differences(58) == {}
    made = features_of("/dev/md/srv-kit")
    assert made["block_size"] == dict(kit.features)["block_size"] == "1024"
    assert "flex_bg" not in made
    assert "Nothing was changed" in apply()
    # As after a boot without its line in mdadm.conf.
    run("umount", AT)
    run("mdadm", "--stop", "/dev/md/srv-kit")
    told = apply()
    assert "exists on 3 of 3 devices" in told
    assert "mkfs" not in told
    run("mdadm", "/dev/md/srv-kit", "--fail", DISKS[1])
    run("mdadm", "/dev/md/srv-kit", "--remove", DISKS[1])
    found = differences(58)
    assert found == {f"{DISKS[1]} in /dev/md/srv-kit": "none", "state of /dev/md/srv-kit": "1 members missing"}
    told = fsconsole("verify-kit", str(FOLDER)).out
    assert f"differs: {DISKS[1]} in /dev/md/srv-kit: none (kit: a working member)" in " ".join(told.split())
