"""`fsconsole plan` on real devices: it shows what would be lost and touches nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.targets import DeviceRefused
from fsconsole.preflight.prepare import prepare
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.gate_cases import unchanged
from tests.loop.runs import fsconsole

pytestmark = pytest.mark.root

SIZE = 320 * MIB


def plan(*words: str) -> subprocess.CompletedProcess[str]:
    return fsconsole("plan", *words)


def test_a_device_is_shown_with_what_it_holds_and_stays_as_it_was(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    run("mkfs.ext4", "-q", "-L", "\x1b[31m[/x]", device)
    with unchanged(device):
        shown = plan("demo", "--device", device, "--runs", str(tmp_path / "runs"))
        commands = plan("demo", "--device", device, "--commands").stdout
    assert shown.returncode == 0, shown.stderr
    assert "ext4" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "mkfs.btrfs -f -U" in commands
    assert "--consent " in shown.stdout
    assert not (tmp_path / "runs").exists()


def test_json_has_cells_commands_consent_bytes_and_estimate(loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZE)
    shown = json.loads(plan("demo", "--device", device, "--json").stdout)
    assert {"cells", "consent", "bytes_to_write", "estimate_s"} <= set(shown)
    assert len(shown["cells"]) == 12
    cell = shown["cells"][0]
    assert {"index", "target", "variant", "repeat", "array", "raw", "workloads", "steps"} <= set(cell)
    assert cell["target"] == device
    (mkfs,) = (step["commands"][0] for step in cell["steps"] if step["kind"] == "mkfs")
    assert cell["uuid"] in " ".join(mkfs)
    assert shown["bytes_to_write"] > 0
    assert shown["consent"]


def test_the_code_stays_the_same_while_the_device_does_and_changes_with_it(
    loop_device: MakeLoopDevice,
) -> None:
    device = loop_device(SIZE)
    first, second = (json.loads(plan("demo", "-d", device, "--json").stdout) for _ in range(2))
    assert first["consent"] == second["consent"]
    assert first["cells"][0]["uuid"] != second["cells"][0]["uuid"]
    run("mkfs.ext4", "-q", device)
    assert json.loads(plan("demo", "-d", device, "--json").stdout)["consent"] != first["consent"]


def test_a_mounted_device_is_shown_and_refused_without_a_code(
    loop_device: MakeLoopDevice, mounted: Mount
) -> None:
    device = loop_device(SIZE)
    run("mkfs.ext4", "-q", device)
    mounted(device)
    shown = plan("demo", "--device", device)
    assert shown.returncode == ExitCode.DEVICE_MOUNTED
    assert "REFUSED" in shown.stdout
    assert "--consent" not in shown.stdout
    assert "Traceback" not in shown.stderr


def test_a_device_that_no_filesystem_of_the_plan_fits_is_too_small(loop_device: MakeLoopDevice) -> None:
    shown = plan("demo", "--device", loop_device(4 * MIB))
    assert shown.returncode == ExitCode.DEVICE_TOO_SMALL
    assert shown.stderr.startswith("fsconsole: ")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("demo", "--device", "/dev/absent"), ExitCode.DEVICE_MISSING),
        (("demo", "--device", "/etc/passwd"), ExitCode.NOT_A_BLOCK_DEVICE),
        (("absent", "--device", "/dev/null"), ExitCode.PLAN_MISSING),
        ((), ExitCode.PLAN_MISSING),
    ],
)
def test_what_is_not_there_ends_in_a_sentence_and_its_own_code(
    words: tuple[str, ...], code: ExitCode
) -> None:
    shown = plan(*words)
    assert shown.returncode == code
    assert shown.stderr.count("\n") == 2
    assert "Traceback" not in shown.stderr


def test_one_device_named_twice_is_one_target_and_two_devices_are_two(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    first, second = loop_device(SIZE), loop_device(SIZE)
    link = tmp_path / "link"
    link.symlink_to(first)
    shown = json.loads(plan("demo", "-d", first, "-d", str(link), "-d", second, "--json").stdout)
    assert [target["path"] for target in shown["targets"]] == [first, second]
    assert len(shown["cells"]) == 24


@pytest.fixture
def two_partitions(loop_device: MakeLoopDevice) -> Iterator[tuple[str, str]]:
    """Two partitions that the kernel alone knows; detaching a loop device does not remove them."""
    device = loop_device(SIZE)
    with ExitStack() as stack:
        for number in (1, 2):
            run("addpart", device, str(number), str(number * 204800), "204800")
            stack.callback(run, "delpart", device, str(number))
        yield f"{device}p1", f"{device}p2"


def test_two_partitions_of_one_disk_are_refused_together(
    two_partitions: tuple[str, str], tmp_path: Path
) -> None:
    with pytest.raises(DeviceRefused, match="same disk"):
        prepare("demo", two_partitions, executor=RealExecutor(), runs_dir=str(tmp_path), run_id="run")


def test_targets_carry_what_was_shown(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = loop_device(SIZE)
    run("mkfs.ext4", "-q", device)
    found = prepare("demo", [device], executor=RealExecutor(), runs_dir=str(tmp_path), run_id="run")
    (target,) = found.targets
    assert target.path == device == found.plan.targets[0]
    assert target.shown == found.reports[0].hazards
    assert target.consent == found.consent != ""
    assert target.content_digest == found.reports[0].content_digest


def plan_as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as another user, who may read wherever Python happens to be installed."""
    reading = "+dac_read_search,+dac_override"
    nobody = ("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps", reading, "--ambient-caps", reading)
    argv = (*nobody, sys.executable, "-m", "fsconsole", "plan", *words)
    return subprocess.run(argv, check=False, capture_output=True, text=True)


def test_without_a_device_nothing_is_looked_at_and_nobody_need_be_root() -> None:
    shown = plan_as_nobody("demo", "--commands")
    assert shown.returncode == 0, shown.stderr
    assert "mkfs.xfs -f -m uuid=" in shown.stdout
    assert "--consent" not in shown.stdout


def test_a_device_without_root_is_one_sentence(loop_device: MakeLoopDevice) -> None:
    shown = plan_as_nobody("demo", "--device", loop_device(SIZE))
    assert shown.returncode == ExitCode.NOT_ROOT
    assert "sudo" in shown.stderr
