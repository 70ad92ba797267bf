"""A volume on an array of partitions: the whole tower is told, and only its top can be a target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices.fingerprint import NOT_COUNTED, sectors_written
from fsconsole.devices.snapshot import find_device
from tests.lab.guest import create_array, fsconsole, listed, run, settle, stop_arrays


@pytest.fixture(scope="module")
def tower() -> Iterator[None]:
    for disk in ("ubdc", "ubdd"):
        run("sfdisk", "--quiet", f"/dev/{disk}", text="label: gpt\nsize=64MiB\nsize=16MiB\n")
    settle()
    create_array("md5", "raid1", "/dev/ubdc1", "/dev/ubdd1")
    run("pvcreate", "-qq", "/dev/md5")
    run("vgcreate", "-qq", "lab", "/dev/md5")
    run("lvcreate", "-qq", "--yes", "--wipesignatures=n", "--size=32M", "--name=data", "lab")
    settle()
    yield
    run("vgremove", "-qq", "--yes", "lab")
    run("pvremove", "-qq", "/dev/md5")
    stop_arrays("/dev/ubdc1", "/dev/ubdd1")
    for disk in ("ubdc", "ubdd"):
        run("wipefs", "--all", "--quiet", f"/dev/{disk}")


def test_of_a_volume_on_an_array_on_partitions_only_the_volume_is_a_target(tower: None) -> None:
    devices = listed("dm-0", "md5", "ubdc", "ubdd", "ubdc1", "ubdd1")
    volume = devices["dm-0"]
    assert (volume["kind"], volume["dm_name"], volume["lower"]) == ("dm", "lab-data", ["md5"])
    assert sorted(devices["md5"]["lower"]) == ["ubdc1", "ubdd1"]
    assert (devices["ubdc1"]["parent"], devices["ubdc1"]["holders"]) == ("ubdc", ["md5"])
    for name in ("md5", "ubdc1", "ubdd1", "ubdc", "ubdd"):
        assert devices[name]["state"]["claim"] == "in use", name
    assert volume["state"]["claim"] == "free", volume["state"]
    for target, code in (("mapper/lab-data", 0), ("md5", 23), ("ubdc1", 23)):
        done = fsconsole("plan", "tests/lab/tiny.toml", "--device", f"/dev/{target}", "--json")
        assert done.code == code, (target, done)
        assert ('"consent": ""' in done.out) == (code != 0)
        assert "uncounted" not in done.out


def test_a_write_to_what_lies_on_other_devices_changes_its_count_or_is_told_to_be_uncounted(
    tower: None,
) -> None:
    create_array("md6", "linear", "/dev/ubdc2", "/dev/ubdd2", words=())
    settle()
    told = {}
    for path in ("/dev/mapper/lab-data", "/dev/md6"):
        before = sectors_written(find_device(path))
        assert sectors_written(find_device(path)) == before, path
        Path(path).write_bytes(b"letters")
        run("sync", path)
        told[path] = (before, sectors_written(find_device(path)))
    run("mdadm", "--stop", "/dev/md6")
    # Linux 6.1 counts what is written to a volume, and nothing of a linear array.
    assert NOT_COUNTED not in told["/dev/mapper/lab-data"][0]
    assert all(before != after or NOT_COUNTED in before for before, after in told.values()), told
