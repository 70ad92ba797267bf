"""Hazards and attacks against `fsconsole prove` and against apply.sh, with and without fsconsole on the box."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsconsole.devices.content import sample_offsets
from fsconsole.errors import ExitCode
from fsconsole.kit.values import Kit, KitDevice
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run
from tests.lab.soak import tried
from tests.loop.gate_cases import file_below, held_by_another_process, loop_over, unchanged, write
from tests.loop.places import Place, place_in
from tests.loop.runs import FSCONSOLE, fsconsole
from tests.unit.cli.contract import checked
from tests.unit.kit.kits import kit_of, script_of

SIZE = 320 * MIB
"""Large enough for an xfs."""
Hazard = Callable[[str, Path], contextlib.AbstractContextManager[object]]

_MAPPED = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(fd, 4096)
os.close(fd)
print("open", flush=True)
sys.stdin.read()
"""
_OPEN_IN_A_THREAD = """
import ctypes, os, sys, threading
def keep():
    ctypes.CDLL(None).unshare(0x400)
    fd = os.open(sys.argv[1], os.O_RDONLY)
    print("open", flush=True)
    sys.stdin.read()
threading.Thread(target=keep).start()
"""


@contextlib.contextmanager
def mounted(device: str, folder: Path) -> Iterator[None]:
    folder.mkdir()
    run("mount", "-o", "ro", device, str(folder))
    try:
        yield
    finally:
        run("umount", str(folder))


@contextlib.contextmanager
def program(text: str, path: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", text, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
        process.communicate()


@contextlib.contextmanager
def mounted_part(device: str, folder: Path) -> Iterator[None]:
    with loop_over(device, "--offset", str(5 * MIB), "--sizelimit", str(16 * MIB)) as part:
        run("mkfs.ext4", "-q", part)
        with mounted(part, folder / "part"):
            yield


@contextlib.contextmanager
def mounted_twin(device: str, folder: Path) -> Iterator[None]:
    with loop_over(file_below(device), "--offset", str(64 * MIB)) as twin:
        run("mkfs.ext4", "-q", twin)
        with mounted(twin, folder / "twin"):
            yield


@contextlib.contextmanager
def opened_by_another_node(device: str, folder: Path) -> Iterator[None]:
    number = os.stat(device).st_rdev
    os.mknod(folder / "node", 0o600 | 0o060000, number)
    with held_by_another_process(str(folder / "node"), "os.O_RDONLY"):
        yield


@contextlib.contextmanager
def locked(device: str, _folder: Path) -> Iterator[None]:
    with open(device, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def read_only(device: str, _folder: Path) -> Iterator[None]:
    run("blockdev", "--setro", device)
    yield
    run("blockdev", "--setrw", device)


@contextlib.contextmanager
def named_in_fstab(device: str, folder: Path) -> Iterator[None]:
    with (folder / "etc" / "fstab").open("a") as fstab:
        fstab.write(f"{device} /srv/expected ext4 noauto 0 0\n")
    yield


@contextlib.contextmanager
def swapped_on(device: str, _folder: Path) -> Iterator[None]:
    run("mkswap", "-q", device)
    run("swapon", "--priority", "0", device)
    try:
        yield
    finally:
        run("swapoff", device)


@contextlib.contextmanager
def mounted_elsewhere(device: str, folder: Path) -> Iterator[None]:
    run("mkfs.ext4", "-q", device)
    folder.joinpath("elsewhere").mkdir()
    script = 'mount -o ro "$0" "$1" && echo open && read -r _'
    argv = ["unshare", "--mount", "sh", "-c", script, device, str(folder / "elsewhere")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
        process.communicate()


USES: dict[str, Hazard] = {
    "open-for-writing": lambda device, _: held_by_another_process(device, "os.O_RDWR"),
    "open-for-reading": lambda device, _: held_by_another_process(device, "os.O_RDONLY"),
    "open-by-another-node": opened_by_another_node,
    "open-in-a-thread": lambda device, _: program(_OPEN_IN_A_THREAD, device),
    "held-exclusively": lambda device, _: held_by_another_process(device, "os.O_RDWR | os.O_EXCL"),
    "mapped": lambda device, _: program(_MAPPED, device),
    "file-open": lambda device, _: held_by_another_process(file_below(device), "os.O_RDWR"),
    "file-mapped": lambda device, _: program(_MAPPED, file_below(device)),
    "mounted-part": mounted_part,
    "mounted-twin": mounted_twin,
    "part-attached": lambda device, _: loop_over(device, "--offset", str(MIB), "--sizelimit", str(MIB)),
    "mounted-elsewhere": mounted_elsewhere,
    "swapped-on": swapped_on,
    "locked": locked,
    "read-only": read_only,
    "named-in-fstab": named_in_fstab,
}
_FASTER = {"open-for-reading", "held-exclusively", "file-mapped", "part-attached", "mounted-elsewhere", "swapped-on"}
"""Seen in the same place as another one."""


def zeroed_start(tool: str) -> Callable[[str], None]:
    def make(device: str) -> None:
        run(*tool.split(), device)
        write(device, 0, bytes(MIB))

    return make


def at(offset: int, length: int) -> Callable[[str], None]:
    return lambda device: write(device, offset, os.urandom(length))


CONTENTS: dict[str, Callable[[str], None]] = {
    "ext4": lambda device: run("mkfs.ext4", "-q", "-F", device) and None,
    "ext4-zeroed-start": zeroed_start("mkfs.ext4 -q -F"),
    "xfs-zeroed-start": zeroed_start("mkfs.xfs -q -f"),
    "btrfs-zeroed-start": zeroed_start("mkfs.btrfs -q -f"),
    "data-at-4-MiB": at(4 * MIB, 2 * MIB),
    "data-in-the-ends": at(SIZE - 9 * MIB, 4096),
    "data-at-a-sample": at(sample_offsets(SIZE)[40], 512),
    "last-byte": at(SIZE - 1, 1),
}


@pytest.fixture
def device(loop_device: MakeLoopDevice) -> str:
    return loop_device(SIZE)


@pytest.fixture
def place(tmp_path: Path, device: str) -> Iterator[Place]:
    with place_in(tmp_path) as made:
        yield made


def kit_in(folder: Path, device: str) -> Path:
    """Write the kit of an ext4 for a device and return its apply.sh."""
    kit: Kit = kit_of(devices=(KitDevice(device, SIZE, device),), at="/srv/prove")
    folder.mkdir(exist_ok=True)
    script = folder / "apply.sh"
    script.write_text(script_of(kit))
    script.chmod(0o755)
    return script


def apply(place: Place, script: Path, *words: str, program: str = "") -> subprocess.CompletedProcess[str]:
    """Run apply.sh for its devices alone, where fsconsole is installed as this program, or not at all."""
    places = script.parent / "bin"
    places.mkdir(exist_ok=True)
    (places / "fsconsole").unlink(missing_ok=True)
    if program:
        (places / "fsconsole").write_text(f"#!/bin/sh\n{program}\n")
        (places / "fsconsole").chmod(0o755)
    path = f"{places}:{os.environ['PATH']}"
    assert program or shutil.which("fsconsole", path=f"{path}:/usr/local/sbin:/usr/local/bin") is None
    return place.run(str(script), "--devices-only", *words, environment={"PATH": path})


INSTALLED = f'exec {" ".join(FSCONSOLE)} "$@"'
BOXES = {"with-fsconsole": INSTALLED, "without": ""}


def fewer(names: dict[str, object] | dict[str, str], rare: set[str]) -> list[object]:
    return [pytest.param(name, marks=[pytest.mark.soak] if name in rare else []) for name in names]


@pytest.mark.parametrize("box", BOXES)
def test_apply_formats_a_blank_device(device: str, place: Place, tmp_path: Path, box: str) -> None:
    done = apply(place, kit_in(tmp_path / "kit", device), program=BOXES[box])
    assert done.returncode == 0, done.stderr
    assert "+ mkfs.ext4" in done.stdout
    assert 'TYPE="ext4"' in run("blkid", "--probe", device)


@pytest.mark.parametrize("name", fewer(USES, _FASTER))
def test_use_is_refused_by_gate_prove_and_apply(device: str, place: Place, tmp_path: Path, name: str) -> None:
    script = kit_in(tmp_path / "kit", device)
    with USES[name](device, tmp_path), unchanged(device):
        proved = place.run(*FSCONSOLE, "prove", "--json", device)
        assert proved.returncode != 0
        checked("prove", proved.stdout)
        (answer,) = json.loads(proved.stdout)["devices"]
        assert not answer["proof"]["is_free"]
        assert answer["hazards"]
        for program in BOXES.values():
            for words in tried((("--overwrite", device), (), ("--dry-run",)), (("--overwrite", device),)):
                done = apply(place, script, *words, program=program)
                assert done.returncode == 1, done.stdout
                assert "is refused" in done.stderr
                assert "+ " not in done.stdout


@pytest.mark.parametrize("name", CONTENTS)
def test_content_is_refused_by_prove_and_apply_unless_overwritten(
    device: str, place: Place, tmp_path: Path, name: str
) -> None:
    script = kit_in(tmp_path / "kit", device)
    CONTENTS[name](device)
    with unchanged(device):
        assert fsconsole("prove", device).returncode == 0
        proved = fsconsole("prove", "--blank", device)
        assert proved.returncode == ExitCode.CONSENT_MISSING
        assert "is not blank" in proved.stderr
        listed = json.loads(fsconsole("devices", "--json", device).stdout)["devices"][0]
        assert listed["state"]["claim"] == "hazardous"
        for program in BOXES.values():
            done = apply(place, script, program=program)
            assert (done.returncode, "not blank" in done.stderr) == (1, True), done
            assert "+ " not in done.stdout
    done = apply(place, script, "--overwrite", device, program=BOXES["without"])
    assert done.returncode == 0, done.stderr
    assert "is overwritten" in done.stdout


ANSWERS = {
    "crashed": "echo gone >&2; exit 1",
    "old-version": "echo \"There is no command 'prove'.\" >&2; exit 2",
    "silent": "exit 0",
    "another-device": f'{" ".join(FSCONSOLE)} "$@" | sed \'s/"number": "7:/"number": "8:/\'',
    "not-blank-and-code-0": f'{" ".join(FSCONSOLE)} "$@" | sed \'s/"is_blank": true/"is_blank": false/\'',
    "late": "exec sleep 60",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_apply_refuses_any_other_answer(device: str, place: Place, tmp_path: Path, name: str) -> None:
    script = kit_in(tmp_path / "kit", device)
    if name == "late":
        script.write_text(script.read_text().replace("--kill-after=10 300", "--kill-after=1 1"))
    with unchanged(device):
        done = apply(place, script, program=ANSWERS[name])
        assert (done.returncode, "is refused" in done.stderr) == (1, True), done
        assert "+ " not in done.stdout


def test_apply_proves_before_each_destructive_command(device: str, place: Place, tmp_path: Path) -> None:
    script, counted = kit_in(tmp_path / "kit", device), tmp_path / "counted"
    write(device, 0, b"x")
    done = apply(place, script, "--overwrite", device, program=f'echo "$@" >>{counted}\n{INSTALLED}')
    assert done.returncode == 0, done.stderr
    commands = [line for line in done.stdout.splitlines() if line.startswith("+ ")]
    assert [command.split()[1] for command in commands] == ["wipefs", "mkfs.ext4"]
    assert len(counted.read_text().splitlines()) == 1 + len(commands)


def test_apply_refuses_a_device_that_is_used_after_its_first_proof(device: str, place: Place, tmp_path: Path) -> None:
    script, first = kit_in(tmp_path / "kit", device), tmp_path / "first"
    use = f"if [ -e {first} ]; then sleep 300 3<>{device} >/dev/null 2>&1 & echo $! >{first}; fi; touch {first}\n{INSTALLED}"
    try:
        with unchanged(device):
            done = apply(place, script, program=use)
            assert (done.returncode, "is refused" in done.stderr) == (1, True), done
            assert "+ " not in done.stdout
    finally:
        os.kill(int(first.read_text()), 9)


def test_apply_refuses_a_loop_that_moves_while_it_is_proved(device: str, place: Place, tmp_path: Path) -> None:
    script = kit_in(tmp_path / "kit", device)
    run("truncate", "-s", str(SIZE + 64 * MIB), file_below(device))
    moved = f'{" ".join(FSCONSOLE)} "$@" || exit; losetup --offset {64 * MIB} --sizelimit {SIZE} {device} 2>/dev/null'
    moved += f' || {sys.executable} -c \'import fcntl, os, struct; fd = os.open("{device}", os.O_RDWR); '
    moved += (
        f'info = bytearray(232); fcntl.ioctl(fd, 0x4C05, info); struct.pack_into("=QQ", info, 24, {64 * MIB}, {SIZE}); '
    )
    moved += "fcntl.ioctl(fd, 0x4C04, bytes(info))'"
    with unchanged(device):
        done = apply(place, script, program=moved)
        assert (done.returncode, "another device took its place" in done.stderr) == (1, True), done


def test_apply_refuses_in_a_container_without_fsconsole(device: str, place: Place, tmp_path: Path) -> None:
    script = kit_in(tmp_path / "kit", device)
    with held_by_another_process(device, "os.O_RDWR"), unchanged(device):
        for program in BOXES.values():
            wrapped = tmp_path / "kit" / "inside.sh"
            wrapped.write_text(f'#!/bin/sh\nexec unshare --pid --fork --mount-proc {script} "$@"\n')
            wrapped.chmod(0o755)
            done = apply(place, wrapped, "--overwrite", device, program=program)
            assert (done.returncode, "is refused" in done.stderr) == (1, True), done


def test_prove_without_root_or_a_device_says_so(tmp_path: Path) -> None:
    assert fsconsole("prove", "/dev/null").returncode == ExitCode.NOT_A_BLOCK_DEVICE
    assert fsconsole("prove", str(tmp_path / "none")).returncode == ExitCode.DEVICE_MISSING
    assert fsconsole("prove").returncode == ExitCode.USAGE


def test_lock_folder_of_others_is_refused(device: str, place: Place, tmp_path: Path) -> None:
    script = kit_in(tmp_path / "kit", device)
    assert apply(place, script).returncode == 0
    folder = tmp_path / "lock"
    assert (folder.stat().st_mode & 0o777, (folder / "lock").stat().st_mode & 0o777) == (0o700, 0o600)
    folder.chmod(0o755)
    try:
        assert "mode 0700" in apply(place, script).stderr
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("line", ["{0}/", "/{0}", "{0}//", "/srv/./prove", "{0}/."])
def test_apply_finds_every_spelling_of_its_mount_point(device: str, place: Place, tmp_path: Path, line: str) -> None:
    script = kit_in(tmp_path / "kit", device)
    (place.etc / "fstab").write_text(f"/dev/sdx1 {line.format('/srv/prove')} xfs defaults 0 0\n")
    with unchanged(device):
        assert "mounts /dev/sdx1" in apply(place, script).stderr


def test_offsets_in_the_script_are_those_of_the_gate(tmp_path: Path) -> None:
    text = script_of(kit_of(devices=(KitDevice("/dev/sdx", SIZE, "/dev/sdx"),)))
    assert f"/dev/sdx) echo '{' '.join(map(str, sample_offsets(SIZE)))}' ;;" in text
