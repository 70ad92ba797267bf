"""SCSI disks, each pulled in the middle of another step: two, in a soak three."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.pulled import (  # noqa: F401
    Ended,
    carried_out,
    test_a_disk_that_is_pulled_ends_its_cell_with_the_reason,
    test_a_disk_that_returns_is_known_under_another_name_and_another_disk_in_its_place_is_left,
    test_cells_on_other_disks_are_carried_out_and_those_on_a_lost_one_are_left,
    test_the_run_ends_in_words_and_nothing_is_left_mounted,
)
from tests.lab.scsi import ScsiDisk, scsi_disks
from tests.lab.soak import tried

PLAN = "tests/lab/pulled.toml"
STEPS = tuple(tried(("mkfs", "workload", "check"), ("mkfs", "workload")))


@pytest.fixture(scope="module")
def every() -> Iterator[tuple[ScsiDisk, ...]]:
    with scsi_disks(len(STEPS) + 1, size_mib=32) as disks:
        yield disks


@pytest.fixture(scope="module")
def disks(every: tuple[ScsiDisk, ...]) -> tuple[ScsiDisk, ...]:
    return every[:-1]


@pytest.fixture(scope="module")
def impostor(every: tuple[ScsiDisk, ...]) -> ScsiDisk:
    return every[-1]


@pytest.fixture(scope="module", params=[STEPS], ids="-".join)
def ended(request: pytest.FixtureRequest, disks: tuple[ScsiDisk, ...]) -> Iterator[Ended]:
    yield from carried_out(PLAN, request.param, disks)
