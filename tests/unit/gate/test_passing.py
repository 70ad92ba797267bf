"""Who stays on a device and who passes by, with a clock that goes on only where somebody waits."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import claims
from fsconsole.devices.claims import PASSING_BY_S, UDEV_PROBE_S, lasting, lasting_holders
from fsconsole.errors.targets import DeviceLocked
from fsconsole.system import locks
from fsconsole.system.processes import OpenDescriptor

UDEV = OpenDescriptor(10, "(udev-worker)", "/dev/sdb", 2064)
OTHER_UDEV = OpenDescriptor(11, "systemd-udevd", "/dev/sdb", 2064)
CAT = OpenDescriptor(20, "cat", "/dev/sdb", 2064)
READER = OpenDescriptor(21, "blkid", "/dev/sdb", 2064)


class Clock:
    """Stands for the module time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.on_sleep: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.on_sleep()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(claims, "time", made)
    monkeypatch.setattr(locks, "_PAUSES_S", ())
    monkeypatch.setattr(claims, "is_at_work", lambda pid: pid == READER.pid)
    return made


def seen_until(
    clock: Clock, *who: tuple[OpenDescriptor, float]
) -> Callable[[frozenset[int]], tuple[OpenDescriptor, ...]]:
    return lambda _: tuple(holder for holder, until_s in who if clock.now_s < until_s)


def test_nobody_is_not_waited_for(clock: Clock) -> None:
    assert lasting_holders(lambda _: ()) == ()
    assert not lasting(lambda: False)
    assert clock.now_s == 0


def test_a_process_counts_once_it_has_stayed_as_long_as_its_kind_may(clock: Clock) -> None:
    for holder, passes_by_s in ((CAT, PASSING_BY_S), (UDEV, UDEV_PROBE_S), (READER, UDEV_PROBE_S)):
        clock.now_s = 0
        assert lasting_holders(seen_until(clock, (holder, passes_by_s * 0.8))) == ()
        clock.now_s = 0
        assert lasting_holders(seen_until(clock, (holder, passes_by_s * 10))) == (holder,)
        assert passes_by_s <= clock.now_s < passes_by_s + 1


def test_a_user_beside_a_probe_counts_as_soon_as_alone(clock: Clock) -> None:
    assert lasting_holders(seen_until(clock, (UDEV, 60), (CAT, 60))) == (CAT,)
    assert clock.now_s < UDEV_PROBE_S


def test_many_who_pass_by_one_after_the_other_do_not_stay(clock: Clock) -> None:
    def one_after_the_other(_: frozenset[int]) -> tuple[OpenDescriptor, ...]:
        if clock.now_s > UDEV_PROBE_S / 2:
            return ()
        return (UDEV if int(clock.now_s * 5) % 2 else CAT,)

    assert lasting_holders(one_after_the_other) == ()


def test_each_target_is_waited_for_until_it_is_clear_who_stays_on_it(clock: Clock) -> None:
    other = replace(UDEV, target=2080)
    assert lasting_holders(seen_until(clock, (CAT, 60), (other, 2 * PASSING_BY_S))) == (CAT,)
    assert clock.now_s >= 2 * PASSING_BY_S


def test_who_comes_while_another_is_waited_for_is_seen_once_that_one_has_gone(clock: Clock) -> None:
    looks: list[frozenset[int]] = []

    def look(pids: frozenset[int]) -> tuple[OpenDescriptor, ...]:
        looks.append(pids)
        here = (UDEV,) if clock.now_s < PASSING_BY_S else (CAT,)
        return tuple(holder for holder in here if not pids or holder.pid in pids)

    assert lasting_holders(look) == (CAT,)
    assert looks.count(frozenset()) < len(looks) / 2


def test_passing_by_without_end_is_staying(clock: Clock) -> None:
    assert lasting_holders(lambda _: (UDEV if int(clock.now_s) % 2 else OTHER_UDEV,)) != ()
    assert clock.now_s < UDEV_PROBE_S + 1


def locked(path: Path, how: int) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CREAT)
    fcntl.flock(fd, how)
    return fd


def test_a_probes_shared_lock_is_waited_for(clock: Clock, tmp_path: Path) -> None:
    fd = locked(tmp_path / "disk", fcntl.LOCK_SH)
    clock.on_sleep = lambda: fcntl.flock(fd, fcntl.LOCK_UN) if clock.now_s > 2 * PASSING_BY_S else None
    claims.lock_node(str(tmp_path / "disk"), "/dev/sdb").release()
    os.close(fd)


def test_a_lock_that_stays_is_somebodys(clock: Clock, tmp_path: Path) -> None:
    for how, passes_by_s in ((fcntl.LOCK_EX, PASSING_BY_S), (fcntl.LOCK_SH, UDEV_PROBE_S)):
        clock.now_s, fd = 0, locked(tmp_path / "disk", how)
        with pytest.raises(DeviceLocked, match="/dev/sdb"):
            claims.lock_node(str(tmp_path / "disk"), "/dev/sdb")
        assert passes_by_s <= clock.now_s < passes_by_s + 1
        os.close(fd)
