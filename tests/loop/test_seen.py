"""A start bound to what was shown: on real devices, with what changed in between left as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.fingerprint import NOT_COUNTED, sectors_written
from fsconsole.devices.marker import write_marker
from fsconsole.devices.scratch import Scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.journal.store import list_runs
from tests.conftest import run
from tests.loop.commands import OwnLoop, assert_told, command, each, fails
from tests.loop.gate_cases import loop_over, partitioned, sparse, unchanged, write
from tests.loop.runs import TINY_PLAN, fsconsole, new_run, succeed, wait_for_end, written

WRONG = "00000-00000-00000"


@pytest.fixture
def device(own_scratch: Scratch) -> str:
    return own_scratch.device


def words(tmp_path: Path, *devices: str) -> tuple[str, ...]:
    named = [word for device in devices for word in ("--device", device)]
    return (str(tmp_path / "plan.toml"), *named, "--runs", str(tmp_path / "runs"))


def shown(tmp_path: Path, *devices: str) -> dict[str, object]:
    """Return what the command says of the plan on these devices; the plan is written where there is none."""
    if not (tmp_path / "plan.toml").exists():
        written(tmp_path, TINY_PLAN)
    return json.loads(succeed("plan", *words(tmp_path, *devices), "--json"))


def into_the_file_below(device: str) -> None:
    with open(scratch.find(device).path, "r+b") as file:
        file.seek(UNSAMPLED)
        file.write(LETTERS)


def refused(tmp_path: Path, seen: object, *devices: str, names: str) -> None:
    """Prove that nothing is begun, and that what changed is named."""
    for device in devices:
        with unchanged(device):
            fails(ExitCode.NOT_AS_SHOWN, "run", *words(tmp_path, *devices), "--seen", str(seen), names=(names,))
    assert list_runs(str(tmp_path / "runs")) == ()


def test_what_is_as_it_was_shown_is_begun(tmp_path: Path, device: str) -> None:
    first, second = shown(tmp_path, device), shown(tmp_path, device)
    assert first["seen"] == second["seen"]
    done = fsconsole("run", *words(tmp_path, device), "--seen", str(first["seen"]), "--json")
    assert done.returncode == 0, done.stderr
    (folder,) = list_runs(str(tmp_path / "runs"))
    wait_for_end(folder)


def test_another_scratch_device_under_the_same_name_is_noticed(tmp_path: Path, own_loop: OwnLoop) -> None:
    files = [sparse(tmp_path / name) for name in ("shown", "other")]
    for number, file in enumerate(files):
        with open(file, "rb+") as marked:
            write_marker(marked.fileno(), f"0a1b2c3{number}")
    own_loop.attach(files[0])
    seen = shown(tmp_path, own_loop.path)["seen"]
    own_loop.attach(files[1])
    refused(tmp_path, seen, own_loop.path, names=own_loop.path)


def test_a_plan_that_was_edited_in_between_is_noticed(tmp_path: Path, device: str) -> None:
    path = Path(written(tmp_path, TINY_PLAN))
    seen = shown(tmp_path, device)["seen"]
    edits = {"1MiB": "2MiB", "ordered": "journal", "two tiny": "other", "repeats = 1": "repeats = 2"}
    for before, after in edits.items():
        path.write_text(TINY_PLAN.replace(before, after))
        refused(tmp_path, seen, device, names="the plan")


def test_a_code_for_other_devices_or_none_at_all_begins_nothing(tmp_path: Path, device: str) -> None:
    seen = str(shown(tmp_path, device)["seen"])
    plan, target = seen.split(".")
    for code in (plan, target, f"{seen}.{target}", f"{plan}.{WRONG}", f"{WRONG}.{target}", "x", "."):
        refused(tmp_path, code, device, names="Not as it was shown")


def test_it_takes_the_place_of_no_consent(tmp_path: Path, blank: str) -> None:
    run("mkfs.ext4", "-q", "-F", blank)
    document = shown(tmp_path, blank)
    bound = (*words(tmp_path, blank), "--seen", str(document["seen"]))
    with unchanged(blank):
        fails(ExitCode.CONSENT_MISSING, "run", *bound, names=("would be wiped",))
        fails(ExitCode.CONSENT_STALE, "run", *bound, "--consent", WRONG, names=(blank,))


def test_every_target_tells_who_it_is_and_what_it_stands_on(tmp_path: Path, device: str) -> None:
    (target,) = shown(tmp_path, device)["targets"]  # type: ignore[misc]
    file = scratch.find(device).path
    assert target["stands_on"] == f"loop over {file}"
    unknown = ("model", "serial", "place", "lookalike", "mark")
    assert [target[name] for name in unknown] == [""] * len(unknown)
    assert target["identity"]["backing_inode"] == os.stat(file).st_ino
    assert target["identity"]["device_number"] == os.stat(device).st_rdev
    assert str(shown(tmp_path, device)["seen"]).endswith(target["seen"])


def test_a_resume_of_an_exact_name_takes_no_other_and_cleanup_takes_a_prefix(tmp_path: Path, device: str) -> None:
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    where = ("--runs", str(tmp_path / "runs"))
    with unchanged(device):
        for name in (folder.name[:-1], "latest", folder.name[:8]):
            fails(ExitCode.RUN_MISSING, "resume", name, "--exact", *where, names=(name,))
            assert command("cleanup", name, *where).stdout == "Nothing to clean up.\n"
    done = command("resume", folder.name, "--exact", "--show", *where)
    assert done.returncode == 0, done.stderr


def test_what_is_no_plan_file_is_called_what_it_is(tmp_path: Path) -> None:
    def told(make: Callable[[Path], object], says: str) -> None:
        path = tmp_path / "thing"
        make(path)
        assert_told(command("plan", str(path)), ExitCode.PLAN_MISSING, str(path), says)
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    each(NO_PLANS, told)


NO_PLANS: dict[str, tuple[Callable[[Path], object], str]] = {
    "directory": (lambda path: path.mkdir(), "it is a directory"),
    "pipe": (os.mkfifo, "it is a named pipe, not a file"),
    "device": (lambda path: path.symlink_to("/dev/loop-control"), "it is a character device, not a file"),
    "broken": (lambda path: path.symlink_to("nowhere"), "it is a broken link"),
    "ring": (lambda path: path.symlink_to(path), "too many levels"),
}


def test_only_writes_to_its_own_bytes_mark_a_partition(tmp_path: Path) -> None:
    with partitioned(tmp_path, (1, 30), (32, 30)) as (disk, one, two):
        before = sectors_written(find_device(one))
        assert NOT_COUNTED not in before
        write(two, UNSAMPLED, LETTERS)
        assert sectors_written(find_device(one)) == before
        write(disk, UNSAMPLED, LETTERS)
        through_the_disk = sectors_written(find_device(one))
        assert through_the_disk != before
        write(one, UNSAMPLED, LETTERS)
        assert sectors_written(find_device(one)) != through_the_disk


UNSAMPLED = 12_345_678


LETTERS = b"somebody's letters"


def uncounted(device: str) -> None:
    """Write while the kernel counts no I/O of the device."""
    setting = Path(f"/sys/class/block/{Path(device).name}/queue/iostats")
    setting.write_text("0")
    write(device, UNSAMPLED, LETTERS)
    setting.write_text("1")


CHANGES: dict[str, tuple[Callable[[str], object]]] = {
    "a sampled block": (lambda device: write(device, 0, LETTERS),),
    "a block that is not sampled": (lambda device: write(device, UNSAMPLED, LETTERS),),
    "a filesystem": (lambda device: run("mkfs.ext4", "-q", device),),
    "through the file below": (into_the_file_below,),
    "not counted": (uncounted,),
}


def test_whatever_is_written_to_a_scratch_device_in_between_is_noticed(tmp_path: Path, device: str) -> None:
    def noticed(change: Callable[[str], object]) -> None:
        seen = shown(tmp_path, device)["seen"]
        change(device)
        refused(tmp_path, seen, device, names=device)

    each(CHANGES, noticed)


def test_reading_and_attaching_again_are_no_writes(device: str) -> None:
    before = sectors_written(find_device(device))
    run("dd", f"if={device}", "of=/dev/null", "bs=1M", "status=none")
    with loop_over(scratch.find(device).path):
        pass
    assert sectors_written(find_device(device)) == before
    assert NOT_COUNTED not in before
