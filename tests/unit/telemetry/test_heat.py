"""Throttle counters and temperatures, from trees as sysfs shows them; this machine may have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.model.sample import Temperature
from fsconsole.telemetry import heat
from fsconsole.telemetry.heat import HeatGauge, read_throttles, too_hot


def tree(root: Path, files: dict[str, object]) -> str:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")
    return str(root)


def test_throttle_counts_are_those_of_each_cpu_and_its_package(tmp_path: Path) -> None:
    cpu = "devices/system/cpu/cpu{}/thermal_throttle/{}_throttle_count"
    sys = tree(tmp_path, {
        cpu.format(0, "core"): 3, cpu.format(0, "package"): 41, cpu.format(11, "core"): 0, cpu.format(11, "package"): 41,
        "devices/system/cpu/cpu0/thermal_throttle/core_throttle_total_time_ms": 17,
        "devices/system/cpu/cpufreq/policy0/scaling_governor": "performance",
    })  # fmt: skip
    assert read_throttles(sys) == {"cpu0": 44, "cpu11": 41}
    assert read_throttles(str(tmp_path / "none")) == {}


ZONE = "class/thermal/thermal_zone0/"
NVME = "class/block/nvme0n1/device/hwmon3/"
SATA = "class/block/sda/device/hwmon/hwmon1/"


def machine(root: Path, *, zone: object = 45000, nvme: object = 49850, sata: int = 38000) -> str:
    """A laptop's processor zone, an NVMe drive (nvme driver, Linux 6.1) and a disk (drivetemp)."""
    return tree(root, {
        f"{ZONE}type": "x86_pkg_temp", f"{ZONE}temp": zone,
        f"{ZONE}trip_point_0_type": "active", f"{ZONE}trip_point_0_temp": 30000,
        f"{ZONE}trip_point_1_type": "passive", f"{ZONE}trip_point_1_temp": 95000,
        f"{ZONE}trip_point_2_type": "hot", f"{ZONE}trip_point_2_temp": -274000,
        f"{NVME}temp1_input": nvme, f"{NVME}temp1_label": "Composite", f"{NVME}temp1_max": 81850,
        f"{NVME}temp1_crit": 84850, f"{NVME}temp2_input": nvme, f"{NVME}temp2_max": 65261850,
        f"{SATA}temp1_input": sata, f"{SATA}temp1_max": 60000, f"{SATA}temp1_crit": 70000, f"{SATA}temp1_min": 0,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("temperatures", "said"),
    [
        ({}, []),
        ({"zone": 94999, "nvme": 81849, "sata": 59999}, []),
        ({"zone": 95000}, ["x86_pkg_temp at 95 C, limit 95 C"]),
        ({"nvme": 81850}, ["nvme0n1 Composite at 82 C, limit 82 C"]),
        ({"sata": 71000}, ["sda at 71 C, limit 60 C"]),
        ({"zone": "", "nvme": "N/A"}, []),
    ],
)
def test_what_is_at_its_own_limit_is_too_hot_and_fans_missing_limits_and_silent_sensors_are_not(
    temperatures: dict[str, int], said: list[str], tmp_path: Path
) -> None:
    sys = machine(tmp_path, **temperatures)
    assert [str(heat) for heat in too_hot(("nvme0n1", "sda"), sys)] == said
    assert too_hot(("vda",), sys) == too_hot((), sys)


def test_the_gauge_has_the_hottest_disk_and_the_hottest_zone_and_reads_them_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sys = machine(tmp_path)
    gauge = HeatGauge(sys)
    found = gauge.read(("nvme0n1", "sda"))
    assert found == Temperature(disk_c=49.85, machine_c=45.0)
    machine(tmp_path, zone=50000)
    assert gauge.read(("nvme0n1", "sda")) == found
    monkeypatch.setattr(heat, "_READ_AGAIN_S", 0.0)
    again = gauge.read(("nvme0n1", "sda"))
    assert again is not None
    assert again.machine_c == 50.0
    assert HeatGauge(str(tmp_path / "none")).read(("sda",)) is None
