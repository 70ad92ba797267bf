from __future__ import annotations

from dataclasses import replace

from rich.cells import cell_len

from fsconsole.cli.devices import table_lines
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.state import ListedDevice, device_state
from fsconsole.model.device import Device, DeviceKind, MountUse, Signature, Usage
from tests.unit.cli.recorded import run_command

DISK = Device(
    "sda", "/dev/sda", DeviceKind.DISK, 8, 0, 8 * 2**40, rotational=True, model="ST8000NM0055-1RM",
    serial="ZC1D9HJQ", wwn="0x5000c500a1b2c3d4", transport="ata", scheduler="mq-deadline", write_cache="write back",
)  # fmt: skip
HOSTILE = Signature("ext4", Usage.FILESYSTEM, 1080, "[/x]\x1b[31m", "0a1b")
MACHINE = (
    replace(DISK, holders=("md127",)),
    replace(DISK, name="sdb", path="/dev/sdb", holders=("md127",)),
    Device("md127", "/dev/md127", DeviceKind.MD, 9, 127, 8 * 2**40, lower=("sda", "sdb"), holders=("dm-0",)),
    Device(
        "dm-0", "/dev/dm-0", DeviceKind.DM, 253, 0, 2**40, lower=("md127",), dm_name="vg-data",
        mounts=(MountUse("/srv/very/long/mount/point/of/an/archive/that/goes/on", "xfs", "self"),),
    ),
    replace(DISK, name="sdc", path="/dev/sdc", signatures=(HOSTILE,)),
)  # fmt: skip


def printed(width: int, *, ascii_only: bool = False) -> list[str]:
    graph = DeviceGraph(MACHINE)
    listed = [ListedDevice.of(one, device_state(one, graph, ()), (), ()) for one in MACHINE]
    return [line.plain.rstrip() for line in table_lines(listed, width, ascii_only=ascii_only)]


def test_names_and_states_are_whole_at_any_width() -> None:
    for width in (50, 80, 120, 300):
        lines = printed(width)
        assert max(map(cell_len, lines)) <= width
        text = " ".join(" ".join(lines).split())
        assert [name for name in ("sda", "└─ md127", "└─ dm-0 (vg-data)", "sdb", "") if name not in text] == []
        assert "…" not in text
        letters = "".join(line[-40:] for line in lines if "srv" in line or "archive" in line or "goes" in line)
        assert "goes/on" in letters.replace(" ", "")


def test_a_label_is_data_an_array_names_its_members_and_an_empty_column_is_left_out() -> None:
    text = "\n".join(printed(300))
    assert r"[/x]\x1b[31m" in text
    assert "\x1b" not in text
    assert "also under sdb" in text
    assert "optimal" not in printed(300)[0]
    assert all(line.isascii() for line in printed(120, ascii_only=True))


def test_a_table_that_is_piped_has_80_columns_unless_columns_says_otherwise() -> None:
    for columns, width in ((None, 80), (100, 100)):
        done = run_command("devices", columns=columns)
        assert done.returncode == 0
        assert max(map(cell_len, done.stdout.splitlines())) <= width
