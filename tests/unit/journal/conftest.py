"""A small run request, and the folder of a run that was made of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.model.device import Hazard, Identity, Verdict
from fsconsole.model.plan import (
    After,
    ArraySpec,
    Cell,
    Equalise,
    Estimate,
    Order,
    Plan,
    Setting,
    Step,
    StepKind,
    Variant,
)
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.workload import Workload, WorkloadKind

RequestMaker = Callable[..., RunRequest]


def _cell(index: int) -> Cell:
    return Cell(
        index=index,
        target="/dev/loop9",
        array=ArraySpec("raid5", 65536) if index == 1 else None,
        setting=Setting((("read_ahead", "128KiB"),)),
        variant=Variant("ext4, writeback", "ext4", ("-O", "^64bit"), ("data=writeback",)),
        repeat=1,
        workloads=(Workload("files", WorkloadKind.CREATE, 16, 16, 2**20, 65536),),
        after=After(),
        equalise=Equalise.DISCARD,
        uuid="62ccddd8-486f-4328-be11-e5629c11dc34",
        steps=(
            Step(StepKind.GATE, "the wipe gate"),
            Step(StepKind.MKFS, "mkfs.ext4", (("mkfs.ext4", "-q", "/dev/loop9"),), "formats /dev/loop9"),
        ),
        unavailable="the kernel has no such filesystem" if index == 2 else "",
    )


@pytest.fixture
def make_request() -> RequestMaker:
    def make(cells: int = 3, **changes: str) -> RunRequest:
        plan = Plan(
            title="ext4 \x1b[31m[/red]",
            source="schema = 1\n",
            seed=20080520,
            order=Order.SHUFFLED,
            repeats=1,
            targets=("/dev/loop9",),
            cells=tuple(_cell(index) for index in range(cells)),
            estimate=Estimate(2**30, 12.5, 1e8),
        )
        identity = Identity("loop9", "b0071d", 7 * 256 + 9, 2**31, diskseq=2**63 + 1)
        hazard = Hazard("signature", Verdict.ASKED, "/dev/loop9", "holds ext4 'a\udcff'", "")
        target = Target("/dev/loop9", identity, (hazard,), "ab" * 32, "k7qf-22aa")
        run_id = changes.get("run_id", make_run_id())
        return RunRequest(run_id, 1_795_000_000_000_000_000, "0.1.0", plan, (target,))

    return make


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, make_request: RequestMaker) -> RunFolder:
    return create_run(str(tmp_path_factory.mktemp("runs")), make_request())
