"""What is in force is read, kept and written back; what is not the run's any more is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.settings import (
    DiskNumbers,
    InForce,
    Kernel,
    disk_node,
    give_back,
    is_setting,
    queues_of,
)
from fsconsole.model.device import Device, DeviceKind
from fsconsole.model.events import SettingTaken
from fsconsole.model.state import HeldSetting
from tests.unit.gate.made import over

QUEUE = "/sys/block/sdx/queue"
READ_AHEAD, SCHEDULER = f"{QUEUE}/read_ahead_kb", f"{QUEUE}/scheduler"
BYTES, RATIO = "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A made tree of settings, as a kernel without the side effects of writes."""
    files = {
        READ_AHEAD: "128",
        SCHEDULER: "[none] mq-deadline",
        f"{QUEUE}/nr_requests": "64",
        f"{QUEUE}/iosched/write_expire": "5000",
        f"{QUEUE}/iosched/odd": "not a number",
        "/sys/block/sdx/dev": "8:16",
        "/sys/block/sdx/diskseq": "7",
        BYTES: "0",
        RATIO: "20",
    }
    for path, text in files.items():
        place = Path(str(tmp_path) + path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")
    return tmp_path


@pytest.fixture
def kernel(root: Path) -> Kernel:
    return Kernel(str(root))


def put(root: Path, path: str, text: str) -> None:
    Path(str(root) + path).write_text(text + "\n")


def held(path: str, new: str, old: str, *, old_path: str = "", seen: str = "") -> HeldSetting:
    return HeldSetting(SettingTaken(0, 1, 1, "name", path, new, old_path or path, old), seen)


def test_what_is_in_force_is_the_chosen_scheduler_and_of_a_limit_the_file_that_is_not_0(
    root: Path, kernel: Kernel
) -> None:
    assert kernel.value(SCHEDULER) == "none"
    for in_bytes, percent, held_by in (
        ("0", "20", InForce(RATIO, "20")),
        ("67108864", "0", InForce(BYTES, "67108864")),
    ):
        put(root, BYTES, in_bytes)
        put(root, RATIO, percent)
        assert kernel.in_force(BYTES) == kernel.in_force(RATIO) == held_by
    put(root, BYTES, "0")
    assert kernel.in_force(RATIO) == InForce(RATIO, "0")
    assert kernel.in_force(READ_AHEAD) == InForce(READ_AHEAD, "128")


def test_a_disk_is_known_by_its_number_and_sequence_and_the_machine_by_neither(kernel: Kernel) -> None:
    assert kernel.disk(SCHEDULER) == DiskNumbers(os.makedev(8, 16), 7)
    assert kernel.disk(BYTES) == DiskNumbers()
    assert disk_node("/sys/block/cciss!c0d0/queue/scheduler") == "/dev/cciss/c0d0"
    assert disk_node(RATIO) == ""


def test_with_a_scheduler_goes_all_that_it_sets_anew(kernel: Kernel) -> None:
    assert list(kernel.reset_by(SCHEDULER)) == [
        InForce(f"{QUEUE}/nr_requests", "64"),
        InForce(f"{QUEUE}/iosched/write_expire", "5000"),
    ]
    assert list(kernel.reset_by(READ_AHEAD)) == []


def test_nothing_else_is_ever_written(kernel: Kernel) -> None:
    for path, value in (
        ("/etc/passwd", "1"),
        ("/sys/block/../block/sdx/queue/read_ahead_kb", "1"),
        ("/sys/block/sdx/queue/../../x/scheduler", "none"),
        ("/sys/block/sdx/queue/wbt_lat_usec", "1"),
        ("/sys/block/sdx/queue/iosched/../scheduler", "none"),
        ("/proc/sys/vm/drop_caches", "3"),
        ("/proc/sys/vm/dirty_bytes\n", "1"),
        ("/proc/sys/vm/dirty_bytes", ""),
        ("/proc/sys/vm/dirty_bytes", "1\n2"),
        ("/sys/block/sdx/queue/scheduler", "none; rm"),
    ):
        assert not is_setting(path, value)
        with pytest.raises(ValueError, match="no setting"):
            kernel.write(path, value)


def test_what_the_run_set_is_written_back_whatever_the_kernel_made_of_it(root: Path, kernel: Kernel) -> None:
    requests = f"{QUEUE}/nr_requests"
    for taken, now in (
        (held(READ_AHEAD, "2048", "128"), "2048"),
        (held(READ_AHEAD, "2000", "128", seen="1984"), "1984"),
        (held(requests, "", "64"), "256"),
    ):
        put(root, taken.taken.path, now)
        assert give_back(taken, kernel) == ""
        assert kernel.value(taken.taken.path) == taken.taken.old


def test_what_is_not_the_runs_any_more_is_left_and_said(root: Path, kernel: Kernel) -> None:
    before = os.stat(str(root) + READ_AHEAD).st_mtime_ns
    assert give_back(held(READ_AHEAD, "2048", "128"), kernel) == ""
    assert os.stat(str(root) + READ_AHEAD).st_mtime_ns == before
    put(root, READ_AHEAD, "512")
    why = give_back(held(READ_AHEAD, "2048", "128", seen="2048"), kernel)
    assert why == f"{READ_AHEAD} is 512 now, which this run did not set; before the run it was 128"
    assert kernel.value(READ_AHEAD) == "512"
    assert "No such file" in give_back(held("/sys/block/gone/queue/scheduler", "none", "bfq"), kernel)


def test_a_limit_in_per_cent_is_written_back_as_one(root: Path, kernel: Kernel) -> None:
    put(root, BYTES, "67108864")
    put(root, RATIO, "0")
    assert give_back(held(BYTES, "67108864", "20", old_path=RATIO), kernel) == ""
    assert Path(str(root) + RATIO).read_text() == "20"


@how(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.integers(0, 4096).map(str), min_size=1, max_size=6))
def test_settings_on_top_of_each_other_come_off_in_reverse(root: Path, kernel: Kernel, values: list[str]) -> None:
    put(root, READ_AHEAD, "128")
    taken = []
    for value in values:
        taken.append(held(READ_AHEAD, value, kernel.in_force(READ_AHEAD).value))
        kernel.write(READ_AHEAD, value)
    assert [give_back(one, kernel) for one in reversed(taken)] == [""] * len(taken)
    assert kernel.value(READ_AHEAD) == "128"


def device(name: str, minor: int, kind: DeviceKind = DeviceKind.DISK, **more: object) -> Device:
    return Device(name, f"/dev/{name}", kind, 8, minor, 2**30, **more)


SDA, SDB, LOOP = device("sda", 0), device("sdb", 16), device("loop0", 32, DeviceKind.LOOP)
SDA1 = device("sda1", 1, DeviceKind.PARTITION, parent="sda")
SDA2 = device("sda2", 2, DeviceKind.PARTITION, parent="sda")
SDB1 = device("sdb1", 17, DeviceKind.PARTITION, parent="sdb")
MD = device("md0", 64, DeviceKind.MD, lower=("sda1", "sdb1"))
MD_OF_ONE = device("md1", 65, DeviceKind.MD, lower=("sda1", "sda2"))
MD_PART = device("md0p1", 66, DeviceKind.PARTITION, parent="md0")
VOLUME = device("dm-0", 80, DeviceKind.DM, lower=("md0", "loop0"))
GRAPH = DeviceGraph((SDA, SDA1, SDA2, SDB, SDB1, LOOP, MD, MD_OF_ONE, MD_PART, VOLUME))


def test_the_queue_of_a_device_is_its_disks_or_those_of_the_disks_below_it() -> None:
    def names(of: Device, graph: DeviceGraph = GRAPH) -> list[str]:
        return [queue.name for queue in queues_of(of, graph)]

    assert (names(SDA), names(LOOP), names(SDB1)) == (["sda"], ["loop0"], ["sdb"])
    assert (names(MD), names(MD_OF_ONE), names(MD_PART)) == (["sda", "sdb"], ["sda"], ["sda", "sdb"])
    assert names(VOLUME) == ["sda", "sdb", "loop0"]
    # A loop over a device is scheduled by itself; an array whose members are not listed is named itself.
    assert names(over(LOOP, SDA), DeviceGraph((SDA, over(LOOP, SDA)))) == ["loop0"]
    assert names(MD, DeviceGraph((MD,))) == ["md0"]
