"""Hazards and attacks against `fsconsole prove` and against apply.sh, with and without fsconsole on the box."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from fsconsole.devices.content import sample_offsets
from fsconsole.errors import ExitCode
from fsconsole.kit.values import Kit, KitDevice
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run, wait_until
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


def remove_partition(disk: str, number: int) -> None:
    """Remove it once nobody who looks at all disks has it open."""
    argv = ("delpart", disk, str(number))
    wait_until(lambda: subprocess.run(argv, check=False, capture_output=True).returncode == 0, " ".join(argv))


@contextlib.contextmanager
def partitions(disk: str, *starts: int, sectors: int) -> Iterator[None]:
    """Give a disk partitions from these sectors on; they would outlast the loop device's file."""
    with contextlib.ExitStack() as stack:
        for number, start in enumerate(starts, start=1):
            run("addpart", disk, str(number), str(start), str(sectors))
            stack.callback(remove_partition, disk, number)
        yield


@contextlib.contextmanager
def attached_by_a_lost_node(device: str, folder: Path) -> Iterator[None]:
    os.mknod(folder / "node", 0o600 | 0o060000, os.stat(device).st_rdev)
    with loop_over(str(folder / "node")):
        os.unlink(folder / "node")
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
    "attached-by-a-lost-node": attached_by_a_lost_node,
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


UUID_ON_IT = "0a1b2c3d-1111-4222-8333-444455556666"
NAMES = {
    "odd-path": ("fstab", "/dev/./NAME /srv/x ext4 noauto 0 0"),
    "file-below": ("fstab", "FILE /srv/x ext4 loop,noauto 0 0"),
    "escaped-label": ("fstab", r"LABEL=d\141ta /srv/x ext4 noauto 0 0"),
    "uuid-without-dashes": ("fstab", "UUID=0a1b2c3d111142228333444455556666 /srv/x ext4 noauto 0 0"),
    "number": ("kernel/cmdline", "quiet resume=7:MINOR"),
    "hexadecimal-number": ("kernel/cmdline", "root=07HEX"),
    "luks-uuid": ("kernel/cmdline", f"rd.luks.uuid=luks-{UUID_ON_IT}"),
    "unit": ("systemd/system/srv-x.mount", "BindsTo=dev-NAME.device"),
    "unit-of-a-link": ("systemd/system/srv-x.mount", r"After=dev-disk-by\x2dlabel-data.device"),
}


@pytest.mark.parametrize("name", NAMES)
def test_script_without_fsconsole_finds_every_spelling(device: str, place: Place, tmp_path: Path, name: str) -> None:
    run("mkfs.ext4", "-q", "-F", "-L", "data", "-U", UUID_ON_IT, device)
    file, text = NAMES[name]
    minor = os.minor(os.stat(device).st_rdev)
    text = text.replace("NAME", Path(device).name).replace("FILE", file_below(device))
    path = place.etc / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as entries:
        entries.write(text.replace("MINOR", str(minor)).replace("HEX", f"{minor:02x}") + "\n")
    script = kit_in(tmp_path / "kit", device)
    with unchanged(device):
        assert place.run(*FSCONSOLE, "prove", device).returncode == ExitCode.DEVICE_REFUSED
        done = apply(place, script, "--overwrite", device)
        assert (done.returncode, f"/etc/{file} names it" in done.stderr) == (1, True), done


def test_script_without_fsconsole_tells_similar_names_apart(device: str, place: Place, tmp_path: Path) -> None:
    run("mkfs.ext4", "-q", "-F", "-L", "data", "-U", UUID_ON_IT, device)
    with (place.etc / "fstab").open("a") as fstab:
        fstab.write(f"{device}0 /srv/x ext4 noauto 0 0\nLABEL=data2 /srv/y ext4 noauto 0 0\n")
        fstab.write(f"{file_below(device)}x /srv/z ext4 noauto 0 0\n# {device} /srv/w ext4 noauto 0 0\n")
    done = apply(place, kit_in(tmp_path / "kit", device), "--overwrite", device)
    assert done.returncode == 0, done.stderr


def test_script_without_fsconsole_passes_unrelated_files(device: str, place: Place, tmp_path: Path) -> None:
    """Other loop devices over a file below /dev and over a deleted one; a swap file with a blank in its name."""
    memory, deleted, swap = Path("/dev/shm") / tmp_path.name, tmp_path / "deleted", tmp_path / "swap file"
    for path, size in ((memory, 3 * MIB), (deleted, 5 * MIB)):
        path.touch()
        os.truncate(path, size)
    swap.write_bytes(bytes(MIB))
    swap.chmod(0o600)
    run("mkswap", "-q", str(swap))
    try:
        with loop_over(str(memory)), loop_over(str(deleted)):
            deleted.unlink()
            run("swapon", "--priority", "0", str(swap))
            done = apply(place, kit_in(tmp_path / "kit", device))
    finally:
        subprocess.run(("swapoff", str(swap)), check=False, capture_output=True)
        memory.unlink()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shell", [shell for shell in ("dash", "bash") if shutil.which(shell)])
def test_openers_among_more_threads_than_one_command_names(
    device: str, place: Place, tmp_path: Path, shell: str
) -> None:
    """A small stack leaves a command 128 KiB for its words; a few thousand threads are more."""
    script = kit_in(tmp_path / "kit", device)
    text = (
        "import sys, threading\nfile = open(sys.argv[1], 'rb')\nthreading.stack_size(65536)\nend = threading.Event()\n"
    )
    text += "for _ in range(4500): threading.Thread(target=end.wait).start()\n"
    text += "print('open', flush=True)\nsys.stdin.read()\nend.set()"
    with program(text, device), unchanged(device):
        done = place.run("sh", "-c", f'ulimit -s 160; exec {shell} "$0" --devices-only', str(script))
    assert (done.returncode, "is refused" in done.stderr) == (1, True), done


@pytest.mark.parametrize("shell", [shell for shell in ("dash", "bash") if shutil.which(shell)])
def test_apply_with_closed_outputs_writes_none_of_them_to_the_device(
    device: str, place: Place, tmp_path: Path, shell: str
) -> None:
    script = kit_in(tmp_path / "kit", device)
    done = place.run("sh", "-c", f'exec {shell} "$0" --devices-only <&- >&- 2>&-', str(script))
    assert done.returncode == 0
    assert 'TYPE="ext4"' in run("blkid", "--probe", device)
    with open(device, "rb") as file:
        assert file.read(1024) == bytes(1024)


def test_script_without_fsconsole_formats_a_blank_partition_beside_a_mounted_one(
    loop_device: MakeLoopDevice, place: Place, tmp_path: Path
) -> None:
    """With a table on the disk, of which blkid says something for each partition."""
    disk, sectors = loop_device(2 * SIZE + 2 * MIB), SIZE // 512
    starts = (2048, 2048 + sectors)
    entries = b"".join(struct.pack("<4xB3xII", 0x83, start, sectors) for start in starts)
    write(disk, 440, b"lab!" + bytes(2) + entries + bytes(32) + b"\x55\xaa")
    with partitions(disk, *starts, sectors=sectors):
        run("mkfs.ext4", "-q", f"{disk}p2")
        with (place.etc / "fstab").open("a") as fstab:
            fstab.write("PARTUUID=2162616c-02 /srv/x ext4 noauto 0 0\n")
        with mounted(f"{disk}p2", tmp_path / "data"):
            done = apply(place, kit_in(tmp_path / "kit", f"{disk}p1"))
        assert done.returncode == 0, done.stderr
        refused = apply(place, kit_in(tmp_path / "kit", f"{disk}p2"))
        assert (refused.returncode, "is refused" in refused.stderr) == (1, True), refused


LINKS = {
    "wwn-0x5000c500a1b2c3d4": (False, True),
    "wwn-0x5000c500a1b2c3d4-part1": (True, True),
    "wwn-0x5000c500a1b2c3d4-part2": (False, True),
    "wwn-0x5000c500a1b2c3d4-part10": (False, True),
    "scsi-35000c500a1b2c3d4-part1": (True, True),
    "ata-DISK_SER1AL-part2": (False, True),
    "ata-DISK_SER1AL2-part1": (False, False),
}


def test_script_without_fsconsole_finds_the_partition_of_a_hardware_link(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    disk = loop_device(SIZE)
    source, table = (files("fsconsole.kit") / "prove.sh").read_text("utf-8"), tmp_path / "fstab"
    source += f"\nset -eu\ndisk_labels() {{ echo 0x5000c500a1b2c3d4 SER1AL; }}\nnamed_in={table}\nnamed_use $1\n"
    with partitions(disk, 2048, sectors=2048):
        for link, named in LINKS.items():
            table.write_text(f"/dev/disk/by-id/{link} /srv/x ext4 noauto 0 0\n")
            assert tuple(run("sh", "-c", source, "sh", name) != "" for name in (f"{disk}p1", disk)) == named, link
