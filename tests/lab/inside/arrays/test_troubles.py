"""Arrays that are degraded, busy with themselves, or put together and not started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.guest import create_array, fsconsole, listed, run, settle, stop_arrays, wait_until

DISKS = ("/dev/ubda", "/dev/ubdb", "/dev/ubdc", "/dev/ubdd")
SPEED = "/proc/sys/dev/raid/speed_limit_"


def hurry(kib_per_s: int) -> None:
    """Let resyncs go at that speed; the slow one must still be going on when it is looked at."""
    for limit in ("min", "max"):
        Path(f"{SPEED}{limit}").write_text(str(kib_per_s))


@pytest.fixture(autouse=True)
def _slow_and_clear() -> Iterator[None]:
    hurry(200)
    yield
    hurry(200000)
    stop_arrays(*DISKS)


def array(name: str) -> tuple[dict[str, object], dict[str, object]]:
    device = listed(name)[name]
    md = device["md"]
    assert isinstance(md, dict)
    return device, md


def test_an_array_that_lost_a_member_is_degraded_and_its_rebuilding_has_progress() -> None:
    create_array("md0", "raid5", *DISKS)
    run("mdadm", "--quiet", "/dev/md0", "--fail", "/dev/ubdc")
    settle()
    device, md = array("md0")
    assert (md["degraded"], md["slots"], md["action"]) == (1, "UU_U", "")
    assert {member["name"]: member["flags"] for member in md["members"]}["ubdc"] == "F"
    assert "degraded" in device["state"]["text"]
    run("mdadm", "--quiet", "/dev/md0", "--remove", "/dev/ubdc")
    run("mdadm", "--quiet", "--zero-superblock", "/dev/ubdc")
    run("mdadm", "--quiet", "/dev/md0", "--add", "/dev/ubdc")
    wait_until(lambda: "recovery =" in Path("/proc/mdstat").read_text(), "the rebuild begins")
    device, md = array("md0")
    assert (md["degraded"], md["action"]) == (1, "recovery")
    assert 0 <= md["progress_percent"] < 100
    assert md["speed_bytes_s"] > 0
    done = fsconsole("plan", "tests/lab/tiny.toml", "--device", "/dev/md0", "--json")
    # Asked about, and each cell's figures are labelled.
    assert done.code == 0, done
    assert "is in recovery" in done.out
    hurry(200000)
    run("mdadm", "--wait", "/dev/md0")
    device, md = array("md0")
    assert (md["degraded"], md["slots"], md["action"], md["progress_percent"]) == (0, "UUUU", "", None)
    # Nothing refuses it any more; blocks that earlier arrays wrote may be asked about.
    assert device["state"]["claim"] in ("free", "hazardous"), device["state"]


def test_a_new_array_resyncs_with_progress_and_is_no_target_meanwhile() -> None:
    create_array("md1", "raid1", "/dev/ubda", "/dev/ubdd", words=())
    wait_until(lambda: "resync =" in Path("/proc/mdstat").read_text(), "the resync begins")
    device, md = array("md1")
    assert (md["degraded"], md["action"]) == (0, "resync")
    assert 0 <= md["progress_percent"] < 100
    assert (hazard := device["hazards"][0])["check"] == "resyncing"
    assert hazard["waits"] is True


def test_an_array_that_was_not_started_is_inactive_and_holds_its_members() -> None:
    create_array("md2", "raid5", *DISKS)
    settle()
    run("mdadm", "--quiet", "--stop", "/dev/md2")
    run("mdadm", "--quiet", "--incremental", "--no-degraded", "/dev/ubda")
    settle()
    names = [line.split(" ")[0] for line in Path("/proc/mdstat").read_text().splitlines() if "inactive" in line]
    devices = listed(names[0], "ubda")
    md = devices[names[0]]["md"]
    assert isinstance(md, dict)
    assert (md["active"], md["level"], [member["name"] for member in md["members"]]) == (False, "", ["ubda"])
    assert "inactive" in devices[names[0]]["state"]["text"]
    assert devices["ubda"]["state"]["claim"] == "in use"
    for device, why in ((names[0], "is an inactive array"), ("ubda", "is a member of the inactive array")):
        done = fsconsole("plan", "tests/lab/tiny.toml", "--device", f"/dev/{device}", "--json")
        assert done.code == 23, done
        assert why in done.out
    done = fsconsole("plan", "tests/lab/tiny.toml", "--device", "/dev/ubdb", "--json")
    assert done.code == 0, done
    assert "Linux md member" in done.out
