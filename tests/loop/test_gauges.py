"""`fsconsole gauges` on real loop devices: what is written is shown, what is taken away is missed, nothing is opened."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.system.mounts import DEBUGFS
from fsconsole.telemetry.block import block_name, disk_name
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.commands import APART, AS_NOBODY, OwnLoop, assert_plain, assert_told, command, each, fails
from tests.loop.gate_cases import partitioned
from tests.loop.runs import FSCONSOLE
from tests.loop.test_terminal import Terminal, assert_fits

SIZE = 64 * MIB
FAST = ("--hz", "10")
WITH_DEBUGFS = (*APART, f'mount -t debugfs debugfs {DEBUGFS}; exec "$@"', "sh")


@contextmanager
def watching(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Start `fsconsole gauges --json`; it has ended afterwards, whatever the test did."""
    argv = [*FSCONSOLE, "gauges", "--json", *FAST, *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def samples_of(child: subprocess.Popen[str]) -> Iterator[dict[str, object]]:
    for line in child.stdout or ():
        yield json.loads(line)


def device_of(sample: dict[str, object], name: str) -> dict[str, object]:
    (found,) = [device for device in sample["devices"] if device["name"] == name]
    return found


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Write to a device over and over, past the page cache."""
    loop = 'while dd if=/dev/zero of="$1" bs=1M count=8 oflag=direct conv=notrunc 2>/dev/null; do :; done'
    with subprocess.Popen(["sh", "-c", loop, "sh", path], start_new_session=True) as writer:
        try:
            yield
        finally:
            os.killpg(writer.pid, signal.SIGKILL)


@pytest.fixture
def attached(own_loop: OwnLoop, tmp_path: Path) -> OwnLoop:
    file = tmp_path / "disk"
    with file.open("wb") as disk:
        os.posix_fallocate(disk.fileno(), 0, SIZE)
    own_loop.attach(file)
    return own_loop


def test_what_a_dd_writes_is_shown_on_the_loop_and_marked_on_the_disk_below(attached, tmp_path):
    name = Path(attached.path).name
    with writing(attached.path), watching("--device", attached.path, "--count", "3") as child:
        samples = list(samples_of(child))
        assert (child.wait(), child.stderr.read()) == (ExitCode.OK, "")
    assert len(samples) == 3
    assert all(device_of(sample, name)["write_bytes_s"] > 0 for sample in samples)
    assert all(sample["interval_s"] > 0.05 for sample in samples)
    below = disk_name(block_name(os.stat(tmp_path).st_dev))
    shown = [(device["name"], device["role"], device["above"]) for device in samples[0]["devices"]]
    assert shown == [(name, "target", "")] + ([(below, "below", name)] if below else [])


def test_the_others_are_watched_on_when_one_goes_and_it_comes_back(attached, loop_device, tmp_path):
    other, name = loop_device(SIZE), Path(attached.path).name
    with watching("--device", attached.path, "--device", other) as child:
        samples = samples_of(child)
        next(sample for sample in samples if device_of(sample, name))
        attached.detach()
        alone = next(sample for sample in samples if name not in str(sample["devices"]))
        assert device_of(alone, Path(other).name)["role"] == "target"
        attached.attach(tmp_path / "disk")
        assert next(sample for sample in samples if name in str(sample["devices"]))
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        assert child.wait() == ExitCode.INTERRUPTED
        assert child.stderr.read() == f"note: {name} is gone; the others are still watched\n"


def test_a_partition_shows_its_own_counters(tmp_path):
    with partitioned(tmp_path, (1, 16), (32, 16)) as (_, one, two), writing(one):
        done = command("gauges", "--device", one, "--device", two, "--count", "2", "--json", *FAST)
    rates = json.loads(done.stdout.splitlines()[-1])["devices"]
    assert [(device["name"], device["write_bytes_s"] > 0, device["role"]) for device in rates] == [
        (Path(one).name, True, "target"),
        (Path(two).name, False, "target"),
    ]


def test_writeback_of_a_device_or_a_btrfs_on_it_is_told_to_root_where_debugfs_is_mounted(
    loop_device: MakeLoopDevice, mounted: Mount
):
    device = loop_device(128 * MIB)
    words = ("gauges", "--device", device, "--count", "1", "--json", *FAST)
    run("dd", "if=/dev/zero", f"of={device}", "bs=1M", "count=4", "conv=notrunc")
    bdi = json.loads(command(*words, under=WITH_DEBUGFS).stdout)["bdi"]
    assert bdi["dirtied_bytes"] >= 4 * MIB
    assert None not in bdi.values()
    run("mkfs.btrfs", "-q", device)
    (mounted(device) / "file").write_bytes(bytes(4 * MIB))
    os.sync()
    # The filesystem has a writeback of its own.
    bdi = json.loads(command(*words, under=WITH_DEBUGFS).stdout)["bdi"]
    assert bdi["written_bytes"] >= 4 * MIB


def test_nothing_is_opened_but_files_of_the_kernel(loop_device: MakeLoopDevice, tmp_path: Path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    device, trace = loop_device(SIZE), tmp_path / "trace"
    under = ("strace", "-f", "-e", "trace=open,openat", "-o", str(trace))
    assert command("gauges", "--device", device, "--count", "1", under=under).returncode == 0
    assert device not in trace.read_text()


def test_without_root_there_are_gauges_without_what_root_alone_may_read(blank: str):
    words = ("gauges", "--device", blank, "--count", "1", "--json", *FAST)
    done = command(*words, under=AS_NOBODY)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["devices"]) >= 1


def test_without_a_terminal_pages_are_plain(loop_device: MakeLoopDevice):
    device = loop_device(SIZE)
    done = command("gauges", "--device", device, "--count", "2", *FAST)
    assert done.returncode == 0
    assert done.stdout.count(f"gauges of {device}, 10 per second\n") == 2
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert_plain(done.stdout)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: `sudo ./bootstrap test`")
def test_the_live_page_fits_a_console_and_its_last_one_stays(blank: str, tmp_path: Path):
    words = shlex.join([*FSCONSOLE, "gauges", "--device", blank, "--count", "4", *FAST])
    terminal = Terminal(tmp_path, f"TERM=linux {words}")
    try:
        lines = terminal.wait_for("ended with 0")
    finally:
        terminal.close()
    assert_fits(lines)
    assert [line for line in lines if line.startswith("gauges of")] == [f"gauges of {blank}, 10 per second"]
    assert any(line.startswith(f"{Path(blank).name} ") for line in lines)


REFUSED = {
    "nothing": (("--device", "/dev/nix"), ExitCode.DEVICE_MISSING),
    "a terminal": (("--device", "/dev/null"), ExitCode.NOT_A_BLOCK_DEVICE),
    "too often": (("--hz", "11"), ExitCode.USAGE),
    "never": (("--count", "0"), ExitCode.USAGE),
}


def test_what_can_not_be_watched_is_refused(own_loop):
    unattached = (("--device", own_loop.path), ExitCode.DEVICE_MISSING)
    each({**REFUSED, "unattached": unattached}, lambda words, code: fails(code, "gauges", *words))


def test_a_device_that_is_detached_or_removed_while_it_is_watched_ends_the_watching_in_one_sentence(attached, tmp_path):
    removed = OwnLoop()
    removed.attach(tmp_path / "disk")
    for path, vanish in ((attached.path, attached.detach), (removed.path, removed.remove)):
        with watching("--device", path) as child:
            samples = samples_of(child)
            assert device_of(next(samples), Path(path).name)["role"] == "target"
            vanish()
            list(samples)
            done = subprocess.CompletedProcess([], child.wait(), "", child.stderr.read())
        assert_told(done, ExitCode.DEVICE_MISSING, path, "is gone")
