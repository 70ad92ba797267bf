"""A kit on blank devices of another size: what is read back is the winner's, once is enough, and nothing else is wiped."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import ExitCode
from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.kit.derive import derive
from fsconsole.kit.lines import Destination, apply_lines
from fsconsole.model.answers import KitWritten
from fsconsole.model.wire import decode_whole
from fsconsole.text import MIB, TIB
from tests.conftest import MakeLoopDevice, run
from tests.loop.commands import fails
from tests.loop.gate_cases import unchanged
from tests.loop.places import Place, place_in
from tests.loop.runs import FSCONSOLE, fsconsole
from tests.unit.cli.contract import checked
from tests.unit.kit.test_lines import UUID, variant_of

PLAN = """
schema = 1
title = "one for a kit"
repeats = 1
order = "as-listed"
settings = { read_ahead = "256KiB" }
after = { check = false, delete = "none", extents = false }
equalise = "none"

[[variant]]
type = "ext4"
label = "the winner"
mkfs = "-O ^flex_bg -E lazy_itable_init=1"
mount = "noatime,data=writeback"

[[workload]]
kind = "create"
threads = 1
file_size = "64KiB"
"""


@pytest.fixture
def place(tmp_path: Path, loop_device: MakeLoopDevice) -> Iterator[Place]:
    # After loop_device, so that its mounts end before the devices do.
    with place_in(tmp_path) as made:
        (made.etc / "fstab").write_text("# no newline at its end: UUID=x")
        yield made


@pytest.fixture(scope="module")
def winner(tmp_path_factory: pytest.TempPathFactory, device: str) -> str:
    """The folder of runs with one run on a device of 64 MiB."""
    folder = tmp_path_factory.mktemp("winner")
    (folder / "plan.toml").write_text(PLAN)
    done = fsconsole("run", str(folder / "plan.toml"), "-d", device, "--runs", str(folder / "runs"), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return str(folder / "runs")


def tree_of(*places: Path) -> dict[str, tuple[object, ...]]:
    """Return every name below these places with what it is, when it was changed and what it holds."""
    found: dict[str, tuple[object, ...]] = {}
    for top in places:
        for path in [top, *top.rglob("*")] if os.path.lexists(top) else []:
            seen = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (seen.st_mode, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, content)
    return found


def kit_for(winner: str, device: str, tmp_path: Path, *words: str) -> Path:
    where = ("--at", str(tmp_path / "mnt"), str(tmp_path / "kit"))
    done = fsconsole("apply-kit", "latest", "the winner", "--runs", winner, "--for", device, *words, *where, "--json")
    assert done.returncode == 0, done.stderr
    checked("apply-kit", done.stdout)
    return tmp_path / "kit"


def test_a_kit_makes_the_winner_on_another_size_once_and_verify_names_what_changes_later(
    winner: str, place: Place, loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    large = loop_device(700 * MIB)
    kit = kit_for(winner, large, tmp_path)
    shell = (kit / "apply.sh").read_text()
    assert "lazy" not in "".join(line for line in shell.splitlines() if line.startswith("    run mkfs"))
    before, queue = tree_of(place.etc, kit), Path(f"/sys/block/{Path(large).name}/queue/read_ahead_kb")
    ahead = queue.read_text()
    with unchanged(large):
        assert "changes would be made" in place.apply(kit, "--dry-run")
    assert (tree_of(place.etc, kit), queue.read_text()) == (before, ahead)
    assert not (tmp_path / "mnt").exists()
    assert place.verify(kit, ExitCode.KIT_DIFFERS)
    done = place.apply(kit)
    assert f"+ mkfs.ext4 -F -U {json.loads((kit / 'kit.json').read_text())['uuid']}" in done
    # Blocks and inodes are those of 64 MiB, of which mke2fs.conf makes others on 700 MiB; noatime, writeback and read-ahead hold.
    assert place.verify(kit) == {}
    features = run("dumpe2fs", "-h", large)
    assert "Block size:               1024" in features
    assert "flex_bg" not in features
    # A second execution changes nothing.
    place.run("sh", "-c", 'echo kept >"$1"; sync', "sh", str(tmp_path / "mnt" / "file"))
    listing = ("find", str(tmp_path / "mnt"), "-printf", "%p %D:%i %m %T@ %C@\\n")
    before, listed = tree_of(place.etc, kit), place.run(*listing).stdout
    assert "Nothing was changed" in place.apply(kit)
    assert tree_of(place.etc, kit) == before
    assert place.run(*listing).stdout == listed
    assert place.run("cat", str(tmp_path / "mnt" / "file")).stdout == "kept\n"
    lines = (place.etc / "fstab").read_text().splitlines()
    assert lines[0] == "# no newline at its end: UUID=x"
    assert [line.split()[3] for line in lines[1:]] == ["noatime,data=writeback,nofail"]
    # Months later.
    queue.write_text("128")
    place.run("mount", "-o", "remount,commit=30", str(tmp_path / "mnt"))
    (place.etc / "fstab").write_text("")
    assert place.verify(kit, ExitCode.KIT_DIFFERS) == {
        f"read_ahead of {large}": "128",
        "mount option commit": "30",
        "line in /etc/fstab": "not there",
    }
    told = place.run(*FSCONSOLE, "verify-kit", str(kit))
    assert (told.returncode, told.stderr) == (ExitCode.KIT_DIFFERS, "")
    assert told.stdout.count("differs: ") == 3
    again = f"`umount {tmp_path}/mnt && mount {tmp_path}/mnt` mounts it anew, with the kit's mount options."
    asked = f"3 differ. `apply.sh --dry-run` shows what would be set again. {again}"
    assert "".join(told.stdout.split()).endswith("".join(asked.split()))
    place.apply(kit)
    assert queue.read_text() == "256\n"
    assert place.verify(kit, ExitCode.KIT_DIFFERS) == {"mount option commit": "30"}
    assert "fsconsole verify-kit compares them" in place.apply(kit)
    place.run("sh", "-c", again.split("`")[1])
    assert place.verify(kit) == {}


def fill(content: str, device: str, place: Place, other: Path) -> None:
    """Put something on a device, or use it."""
    if content == "data in the middle":
        # Of the 64 blocks that are looked at one lies there.
        with open(device, "r+b") as file:
            file.seek((64 * MIB // 4096 - 1) * 31 // 63 * 4096)
            file.write(b"kept")
    elif content == "a partition table":
        # Of DOS, with one partition of Linux: 1 MiB from 1 MiB on.
        with open(device, "r+b") as file:
            file.seek(446)
            file.write(struct.pack("<4xB3xII48xH", 0x83, 2048, 2048, 0xAA55))
    elif content == "swap":
        run("mkswap", "-q", device)
        run("swapon", "--priority", "0", device)
    else:
        run("mkfs.ext2", "-q", "-F", device)
    if content == "a mount":
        other.mkdir()
        assert place.run("mount", device, str(other)).returncode == 0


IN_USE = {"a mount": "is mounted on /", "swap": "is swap"}


@pytest.mark.parametrize("content", ["a filesystem", "data in the middle", "a partition table", "a mount", "swap"])
def test_a_device_that_is_not_blank_is_refused_by_the_command_and_by_the_script(
    winner: str, place: Place, blank: str, tmp_path: Path, content: str
) -> None:
    kit, is_used = kit_for(winner, blank, tmp_path), content in IN_USE
    words = ("apply-kit", "latest", "1", "--runs", winner, "--for", blank, "--at", str(tmp_path / "mnt"))
    with ExitStack() as stack:
        if content == "swap":
            stack.callback(subprocess.run, ("swapoff", blank), check=False)
        fill(content, blank, place, tmp_path / "other")
        stack.enter_context(unchanged(blank))
        if content == "swap":
            fails(ExitCode.DEVICE_REFUSED, *words, "--force", str(tmp_path / "again"), names=(blank, "swap"))
        elif not is_used:
            fails(ExitCode.CONSENT_MISSING, *words, str(tmp_path / "again"), names=(blank, "not blank"))
        for extra in ((), ("--dry-run",)) + ((("--overwrite", blank),) if is_used else ()):
            done = place.run(str(kit / "apply.sh"), *extra)
            assert done.returncode == 1
            assert IN_USE.get(content, "not blank") in done.stderr
            assert content != "a partition table" or "dos" in done.stderr
    assert not (tmp_path / "again").exists()
    if not is_used:
        forced = fsconsole(*words, "--force", "--json", str(tmp_path / "forced"))
        assert forced.returncode == 0, forced.stderr
        checked("apply-kit", forced.stdout)
        answer = decode_whole(KitWritten, forced.stdout)
        assert answer.devices == (blank,)
        assert any("data=writeback" in risk for risk in answer.unsafe)
        assert answer.differing[0].startswith("UNSAFE: ")
        assert "is overwritten" in place.apply(tmp_path / "forced", "--overwrite", blank)
        assert place.verify(tmp_path / "forced") == {}


def test_a_script_refuses_before_any_change_what_is_in_the_way_and_devices_that_others_work_on(
    winner: str, place: Place, blank: str, tmp_path: Path
) -> None:
    kit = kit_for(winner, blank, tmp_path)
    script, mount = str(kit / "apply.sh"), tmp_path / "mnt"
    with unchanged(blank):
        with open(blank, "rb") as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            assert "another program has locked it" in place.run(script).stderr
        held = os.open(blank, os.O_RDWR | os.O_EXCL)
        assert "is open in process" in place.run(script, "--overwrite", blank).stderr
        os.close(held)
        (place.etc / "fstab").write_text(f"/dev/sdx1 {mount} xfs defaults 0 0\n")
        assert "mounts /dev/sdx1" in place.run(script).stderr
        (place.etc / "fstab").write_text("")
        mount.mkdir()
        (mount / "file").touch()
        assert "has files" in place.run(script, "--devices-only").stderr


def test_a_filesystem_whose_making_was_interrupted_is_not_taken_for_whole(
    winner: str, place: Place, blank: str, tmp_path: Path
) -> None:
    kit, stub = kit_for(winner, blank, tmp_path), tmp_path / "bin" / "mkfs.ext4"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\n{shutil.which("mkfs.ext4")} "$@"; kill -9 $PPID\n')
    stub.chmod(0o755)
    killed = place.run("env", f"PATH={stub.parent}:{os.environ['PATH']}", str(kit / "apply.sh"))
    assert killed.returncode == -signal.SIGKILL
    with unchanged(blank):
        again = place.run(str(kit / "apply.sh"))
        assert (again.returncode, "not blank" in again.stderr) == (1, True)
    assert "is overwritten" in place.apply(kit, "--overwrite", blank)
    assert place.verify(kit) == {}
    assert "Nothing was changed" in place.apply(kit)
    uuid = json.loads((kit / "kit.json").read_text())["uuid"]
    assert not list(Path("/var/lib").glob(f"fsconsole-kit-{uuid}.*"))


MAKES = [
    ("ext4", "", 64, 700), ("ext4", "-O ^has_journal,^flex_bg -N 5000", 64, 700), ("ext4", "-T largefile4", 64, 700),
    ("ext4", "-O bigalloc -C 65536", 64, 700), ("ext4", "-O ^flex_bg,^uninit_bg,^metadata_csum,^64bit", 700, 64),
    ("ext3", "", 64, 700), ("ext2", "-I 128", 64, 700), ("xfs", "", 400, 9000), ("xfs", "-m crc=0", 400, 9000),
    ("xfs", "-d agcount=8", 700, 9000), ("btrfs", "", 200, 900), ("f2fs", "", 64, 700),
    # A sparse file; ext2 and ext3 would write inode tables for half a minute.
    pytest.param("ext4", "", 2048, 10 * TIB // MIB, marks=pytest.mark.soak),
    pytest.param("ext4", "-O ^64bit", 2048, 10 * TIB // MIB, marks=pytest.mark.soak),
    ("xfs", "", 2048, 10 * TIB // MIB), ("btrfs", "", 2048, 10 * TIB // MIB),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "small", "large"), MAKES)
def test_features_read_back_on_another_size_are_the_winners(
    tmp_path: Path, name: str, words: str, small: int, large: int
) -> None:
    filesystem, image = load_catalog().get(name), tmp_path / "image"
    if shutil.which(filesystem.tools[0]) is None:
        pytest.skip(f"{filesystem.tools[0]} is not installed")

    def made(make: tuple[tuple[str, ...], ...], size_mib: int) -> dict[str, str]:
        image.unlink(missing_ok=True)
        with image.open("wb") as file:
            try:
                file.truncate(size_mib * MIB)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
                pytest.skip(f"the filesystem of {tmp_path} holds no file of {size_mib} MiB")
        for argv in make:
            run(*argv)
        found = run(*(str(image) if part == "{device}" else part for part in filesystem.commands.features))
        return {one.name: one.value for one in parse_mkfs_features(name, found)}

    variant, to = variant_of(filesystem, words), Destination(str(image), UUID, "/srv/data")
    seen = made(apply_lines(filesystem, variant, to).make, small)
    derived = derive(filesystem, variant, seen, small * MIB, large * MIB)
    again = made(apply_lines(filesystem, derived.variant, to, pinned=derived.pinned).make, large)
    expected = dict(derived.expected)
    assert expected
    assert {key: again.get(key) for key in expected} == expected
    # What is not the same there is told by its name and its value here.
    differing, told = [key for key in {**seen, **again} if seen.get(key) != again.get(key)], " ".join(derived.differing)
    assert [key for key in differing if f"{key} {seen.get(key)}" not in told] == []
    if "inodes" in seen and "-T" not in words:
        ratios = [size * MIB / int(of["inodes"]) for size, of in ((small, seen), (large, again))]
        assert ratios[1] == pytest.approx(ratios[0], rel=0.1)
    image.unlink()
