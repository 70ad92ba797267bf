"""What is waited for after a discard of flash, and which devices are flash."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine.steps import equalise
from fsconsole.engine.work import CellWork
from fsconsole.model.device import Device, DeviceKind
from fsconsole.model.events import WarningKind
from fsconsole.model.plan import Equalise, Step, StepKind

FRESH = "all of /dev/sdz was discarded before the cell: flash is then as fast as new"
STEP = Step(StepKind.EQUALISE, "discard", (("blkdiscard", "-f", "/dev/sdz"),))


class Flash:
    """A device whose reads take as long as they are told to, three seconds for each look at them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, p99s: Iterator[float], how: Equalise) -> None:
        self.now_s, self.happened, self.warned = 0.0, [], []  # type: ignore[var-annotated]
        device = SimpleNamespace(is_flash=True)
        monkeypatch.setattr(equalise, "find_device", lambda _: device)
        monkeypatch.setattr(equalise, "time", SimpleNamespace(monotonic=lambda: self.now_s))

        def read_p99_s(_work: object, _path: str) -> float:
            self.now_s += 3
            self.happened.append("reads")
            return next(p99s)

        monkeypatch.setattr(equalise, "read_p99_s", read_p99_s)
        target = SimpleNamespace(path="/dev/sdz", backing_file="")
        self.work = cast(
            "CellWork",
            SimpleNamespace(
                run=SimpleNamespace(request=SimpleNamespace(targets=(target,))),
                cell=SimpleNamespace(target="/dev/sdz", equalise=how),
                wipe=lambda argv, _: self.happened.append(argv[0]),
                warn=lambda *warning: self.warned.append(warning[:2]),
            ),
        )


def test_flash_is_waited_for_after_its_discard_until_it_reads_nearly_as_fast_as_before_or_a_minute_and_called_fresh(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = ["reads", "blkdiscard", "reads"]
    for how, p99s, happened, warned in (
        (Equalise.DISCARD, iter([0.001, 0.0015]), once, []),
        (Equalise.DISCARD, iter([0.001, 0.0016, 0.009, 0.001]), [*once, "reads", "reads"], []),
        (
            Equalise.DISCARD,
            iter([0.001, *repeat(0.002, 30)]),
            [*once, *["reads"] * 19],
            ["/dev/sdz is slow after its discard: 99 % of reads take up to 2.00 ms after 60.0 s, 1.00 ms before it"],
        ),
        (Equalise.ZERO, iter(()), ["blkdiscard"], []),
    ):
        flash = Flash(monkeypatch, p99s, how)
        equalise.equalise(flash.work, STEP)
        slow = [reason for kind, reason in flash.warned if kind is WarningKind.NOT_COMPARABLE]
        fresh = [reason for kind, reason in flash.warned if kind is WarningKind.FRESH_FLASH]
        assert (flash.happened, slow) == (happened, warned), how
        assert fresh == [FRESH] * (how is Equalise.DISCARD)


def test_what_turns_or_is_a_loop_device_or_memory_or_not_known_is_no_flash() -> None:
    for kind, rotational, is_flash in (
        (DeviceKind.DISK, False, True),
        (DeviceKind.PARTITION, False, True),
        (DeviceKind.MD, False, True),
        (DeviceKind.DISK, True, False),
        (DeviceKind.DISK, None, False),
        (DeviceKind.LOOP, False, False),
        (DeviceKind.OTHER, False, False),
    ):
        device = Device("x", "/dev/x", kind, 8, 0, 2**30, rotational=rotational)
        assert device.is_flash is is_flash, (kind, rotational)
