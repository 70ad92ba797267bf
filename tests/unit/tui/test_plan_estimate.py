"""A draft is counted with what `fsconsole plan` and Confirm know of devices and machine: time and bytes are the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import DevicesAnswer, ListedDevice, device_state
from fsconsole.model.wire import encode
from fsconsole.plan.expand import build_plan
from fsconsole.plan.inodes import SHIPPED
from fsconsole.plan.outcome import work_out
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import parse_plan
from fsconsole.show.terminal import ASCII
from fsconsole.tui.screens.plan_files import looked_at
from fsconsole.tui.session import Session
from fsconsole.tui.terminal import Colours, Terminal
from tests.tui.device_lists import SCRATCH
from tests.tui.harness import Scripted

PLAN = """
schema = 1
[[variant]]
type = "ext4"
[[workload]]
name = "many"
kind = "create"
threads = 1
files = 40000
file_size = "4KiB"
block_size = "4KiB"
"""


def test_a_scratch_device_is_counted_at_the_rate_at_which_its_file_was_written() -> None:
    state = device_state(SCRATCH, DeviceGraph((SCRATCH,)), ())
    told = {"can_discard": False, "keeps_blocks": False, "written_bytes_per_s": 20e6}
    out = encode(DevicesAnswer((ListedDevice.of(SCRATCH, state, (), (), **told),), ()))
    session = Session(Terminal(Colours.SIXTEEN, ASCII, 20.0), Scripted({"devices": out}), "/none", is_root=True)
    session.ticks[SCRATCH.path] = listed_identity(SCRATCH)
    disks, missing, lost = asyncio.run(looked_at(session))
    spec = TargetSpec(
        SCRATCH.path, SCRATCH.size_bytes, is_scratch=True, keeps_blocks=False, can_discard=False, bytes_per_s=20e6
    )
    assert (disks, missing, lost) == ((spec,), (), ())
    plan_file, catalog = parse_plan(PLAN, "plan.toml"), load_catalog()
    counted = work_out(plan_file, disks, catalog, kernel="6.12").plan
    assert counted is not None
    assert counted.estimate == build_plan(plan_file, disks, catalog, run_id="r1", kernel="6.12").estimate
    assert counted.estimate.assumed_bytes_per_s == 20e6


def test_cells_without_enough_inodes_by_this_machines_mke2fs_conf_can_not_run_in_a_draft_either() -> None:
    plan_file, catalog, disks = parse_plan(PLAN, "plan.toml"), load_catalog(), [TargetSpec("/dev/sdb", 1 << 30)]
    few = replace(SHIPPED, defaults={**SHIPPED.defaults, "inode_ratio": 1 << 20})
    for conf, is_able in ((SHIPPED, True), (few, False)):
        counted = work_out(plan_file, disks, catalog, kernel="6.12", mke2fs=conf).plan
        assert counted is not None
        assert (not counted.cells[0].unavailable) == is_able
