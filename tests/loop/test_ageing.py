"""A filesystem that is aged before its load: the aged files stay, and the load's figures are the load's alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsconsole.engine.steps import ageing
from fsconsole.engine.work import Interrupted
from fsconsole.journal.past import layout_places, read_layouts, read_state
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.text import MIB
from fsconsole.workloads.ageing import SYNC, AgeJob, acts_of
from tests.conftest import Mount
from tests.lab.soak import tried
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import carry_out

PLAN = """
schema = 1
repeats = 1
seed = 11
age = { cycles = 2, fill = FILL }
variant = [{ type = "FILESYSTEM" }]
workload = [{ kind = "create", threads = 2, files = 4, file_size = "1MiB" }]
"""


def left_of(seed: int, cycles: int, full_bytes: int) -> dict[str, int]:
    there: dict[str, int] = {}
    for act in acts_of(seed, cycles, full_bytes):
        name = f"f{act.number:08d}"
        if act.is_removal:
            del there[name]
        elif act is not SYNC:
            there[name] = act.size_bytes
    return there


@pytest.mark.parametrize(
    ("filesystem", "device_bytes", "fill"),
    tried([("ext4", 64 * MIB, 0.5), ("xfs", 320 * MIB, 0.1)], [("ext4", 64 * MIB, 0.5)]),
)
def test_an_aged_cell_keeps_the_aged_files_and_counts_those_of_its_load_alone(
    tmp_path: Path, mounted: Mount, filesystem: str, device_bytes: int, fill: float
) -> None:
    plan = PLAN.replace("FILL", str(fill)).replace("FILESYSTEM", filesystem)
    with scratch_device(tmp_path, device_bytes) as device:
        done, folder = carry_out(plan, device, tmp_path)
        assert done.returncode == 0, done.stderr
        (cell,) = read_state(folder).cells
        assert cell.status is CellStatus.DONE
        wanted = left_of(11, 2, int(device_bytes * fill))
        assert cell.value(Metric.AGED_FILES) == len(wanted) > 50
        assert cell.value(Metric.AGED_BYTES) == sum(wanted.values())
        assert (cell.value(Metric.AGE) or 0) > 0
        assert cell.value(Metric.FILES_MAPPED) == 4
        assert 4 * MIB <= (cell.value(Metric.USED) or 0) < 5 * MIB
        assert read_layouts(folder, layout_places(folder, read_state(folder))[0])[0].files == 4
        assert [step.verdict for step in cell.steps if step.kind is StepKind.CHECK] == ["clean"]
        point = mounted(device)
        assert sorted(os.listdir(point)) == ["aged", *(["lost+found"] if filesystem == "ext4" else [])]
        found = {path.name: path.stat().st_size for path in (point / "aged").rglob("f*") if path.is_file()}
        assert found == wanted
        subprocess.run(["umount", point], check=True)


def test_ageing_ends_when_the_operator_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ageing, "AGED_TREE", str(tmp_path))
    monkeypatch.setattr(ageing, "_PROGRAM", ("sleep", "60"))
    kept: list[int] = []
    work = SimpleNamespace(
        run=SimpleNamespace(folder_path=str(tmp_path / "runs" / "one"), requests=SimpleNamespace(interrupting=True)),
        step_number=6,
        keep=lambda _, result: kept.append(result.exit_code),
    )
    (tmp_path / "runs").mkdir()
    with pytest.raises(Interrupted):
        ageing._aged(work, AgeJob(str(tmp_path), 0, 1, 1, MIB))  # type: ignore[arg-type]
    assert len(kept) == 1
    assert kept[0] != 0
