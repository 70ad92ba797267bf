"""A start bound to what was shown: on real devices, with what changed in between left as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.journal.store import list_runs
from fsconsole.preflight.prepare import NOT_COUNTED, write_marks
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run
from tests.loop.commands import assert_told, command, fails
from tests.loop.gate_cases import loop_over, partitions, unchanged, write
from tests.loop.runs import TINY_PLAN, fsconsole, new_run, wait_for_end, written

SIZE = 64 * MIB
WRONG = "00000-00000-00000"


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    """A scratch device with data in its middle, where no block is sampled."""
    made = scratch.create(SIZE, str(tmp_path / "scratch"))
    yield made.device
    for left in scratch.listing(str(tmp_path / "scratch")):
        if left.path.startswith(str(tmp_path)):
            scratch.remove(left)


def words(tmp_path: Path, *devices: str) -> tuple[str, ...]:
    named = [word for device in devices for word in ("--device", device)]
    return (str(tmp_path / "plan.toml"), *named, "--runs", str(tmp_path / "runs"))


def shown(tmp_path: Path, *devices: str) -> dict[str, object]:
    """Return what the command says of the plan on these devices."""
    done = command("plan", *words(tmp_path, *devices), "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def refused(tmp_path: Path, seen: object, *devices: str, names: str) -> None:
    """Prove that nothing is begun, and that what changed is named."""
    for device in devices:
        with unchanged(device):
            fails(
                ExitCode.NOT_AS_SHOWN, "run", *words(tmp_path, *devices), "--seen", str(seen), names=(names,)
            )
    assert list_runs(str(tmp_path / "runs")) == ()


def test_what_is_as_it_was_shown_is_begun(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    first, second = shown(tmp_path, device), shown(tmp_path, device)
    assert first["seen"] == second["seen"]
    done = fsconsole("run", *words(tmp_path, device), "--seen", str(first["seen"]), "--json")
    assert done.returncode == 0, done.stderr
    (folder,) = list_runs(str(tmp_path / "runs"))
    wait_for_end(folder)


@pytest.mark.parametrize("place", [0, 12_345_678], ids=["a sampled block", "a block that is not sampled"])
def test_a_write_to_a_scratch_device_in_between_is_noticed(tmp_path: Path, device: str, place: int) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, device)["seen"]
    write(device, place, b"somebody's letters")
    refused(tmp_path, seen, device, names=device)


def test_a_filesystem_made_in_between_is_noticed(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, device)["seen"]
    run("mkfs.ext4", "-q", device)
    refused(tmp_path, seen, device, names=device)


def test_another_scratch_device_under_the_same_name_is_noticed(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, device)["seen"]
    scratch.remove(scratch.find(device))
    again = scratch.create(SIZE, str(tmp_path / "scratch"))
    if again.device != device:
        pytest.skip("the kernel gave the next scratch device another number")
    refused(tmp_path, seen, device, names=device)


def test_a_plan_that_was_edited_in_between_is_noticed(tmp_path: Path, device: str) -> None:
    path = Path(written(tmp_path, TINY_PLAN))
    seen = shown(tmp_path, device)["seen"]
    edits = {"1MiB": "2MiB", "ordered": "journal", "two tiny": "other", "repeats = 1": "repeats = 2"}
    for before, after in edits.items():
        path.write_text(TINY_PLAN.replace(before, after))
        refused(tmp_path, seen, device, names="the plan")


def test_a_code_for_other_devices_or_none_at_all_begins_nothing(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = str(shown(tmp_path, device)["seen"])
    plan, target = seen.split(".")
    for code in (plan, target, f"{seen}.{target}", f"{plan}.{WRONG}", f"{WRONG}.{target}", "x", "."):
        refused(tmp_path, code, device, names="Not as it was shown")


def test_it_takes_the_place_of_no_consent(tmp_path: Path, loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZE)
    written(tmp_path, TINY_PLAN)
    run("mkfs.ext4", "-q", "-F", device)
    document = shown(tmp_path, device)
    bound = (*words(tmp_path, device), "--seen", str(document["seen"]))
    with unchanged(device):
        fails(ExitCode.CONSENT_MISSING, "run", *bound, names=("would be wiped",))
        fails(ExitCode.CONSENT_STALE, "run", *bound, "--consent", WRONG, names=(device,))


def test_every_target_tells_who_it_is_and_what_it_stands_on(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    (target,) = shown(tmp_path, device)["targets"]  # type: ignore[misc]
    file = scratch.find(device).path
    assert target["stands_on"] == f"loop over {file}"
    assert target["identity"]["backing_inode"] == os.stat(file).st_ino
    assert target["identity"]["device_number"] == os.stat(device).st_rdev
    assert str(shown(tmp_path, device)["seen"]).endswith(target["seen"])


def test_a_resume_or_cleanup_of_an_exact_name_takes_no_other(tmp_path: Path, device: str) -> None:
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    where = ("--runs", str(tmp_path / "runs"))
    with unchanged(device):
        for name in (folder.name[:-1], "latest", folder.name[:8]):
            fails(ExitCode.RUN_MISSING, "resume", name, "--exact", *where, names=(name,))
            fails(ExitCode.RUN_MISSING, "cleanup", name, *where, names=(name,))
    assert command("cleanup", folder.name, *where).stdout == "Nothing to clean up.\n"
    done = command("resume", folder.name, "--exact", "--show", *where)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.mkdir(), "it is a directory"),
        (os.mkfifo, "it is a named pipe, not a file"),
        (lambda path: path.symlink_to("/dev/loop-control"), "it is a character device, not a file"),
        (lambda path: path.symlink_to("nowhere"), "it is a broken link"),
        (lambda path: path.symlink_to(path), "too many levels"),
    ],
)
def test_what_is_no_plan_file_is_called_what_it_is(tmp_path: Path, make: object, says: str) -> None:
    path = tmp_path / "thing"
    make(path)  # type: ignore[operator]
    assert_told(command("plan", str(path)), ExitCode.PLAN_MISSING, str(path), says)


__all__ = ["device"]


UNSAMPLED = 12_345_678


@pytest.fixture
def uncounted(device: str) -> Iterator[str]:
    """A scratch device of which the kernel counts no I/O."""
    setting = Path(f"/sys/class/block/{Path(device).name}/queue/iostats")
    setting.write_text("0")
    yield device
    setting.write_text("1")


def test_a_write_that_the_kernel_does_not_count_is_noticed(tmp_path: Path, uncounted: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, uncounted)["seen"]
    write(uncounted, UNSAMPLED, b"somebody's letters")
    refused(tmp_path, seen, uncounted, names=uncounted)


def test_a_count_that_stands_still_is_not_taken_for_one(uncounted: str) -> None:
    assert write_marks(find_device(uncounted))[0] == NOT_COUNTED


def test_a_write_to_the_file_below_is_noticed(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, device)["seen"]
    with open(scratch.find(device).path, "r+b") as file:
        file.seek(UNSAMPLED)
        file.write(b"somebody's letters")
    refused(tmp_path, seen, device, names=device)


def test_reading_and_attaching_again_are_no_writes(device: str) -> None:
    before = write_marks(find_device(device))
    run("dd", f"if={device}", "of=/dev/null", "bs=1M", "status=none")
    file = scratch.find(device).path
    other = run("losetup", "--find", "--show", file).strip()
    run("losetup", "--detach", other)
    assert write_marks(find_device(device)) == before
    assert NOT_COUNTED not in before


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """A disk, and two partitions of it."""
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, SIZE)
    with loop_over(str(file), "--partscan") as disk, partitions(disk, (1, 30), (32, 30)) as (one, two):
        yield disk, one, two


def test_a_write_through_the_whole_disk_marks_its_partition(parts: tuple[str, str, str]) -> None:
    disk, one, _ = parts
    before = write_marks(find_device(one))
    assert NOT_COUNTED not in before
    write(disk, UNSAMPLED, b"somebody's letters")
    assert write_marks(find_device(one)) != before


def test_a_write_to_another_partition_is_no_matter(parts: tuple[str, str, str]) -> None:
    _, one, two = parts
    before = write_marks(find_device(one))
    write(two, UNSAMPLED, b"its owner's letters")
    assert write_marks(find_device(one)) == before
    write(one, UNSAMPLED, b"somebody's letters")
    assert write_marks(find_device(one)) != before
