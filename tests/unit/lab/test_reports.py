"""What a guest reports is what the host's tests end with, one by one; what it doesn't report is a failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab.boots import Boots
from tests.lab.groups import INSIDE
from tests.lab.machine import NO_MACHINE, refusal_in

STORY = "-- its console --\nKernel panic"
PANIC = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b\n"
REFUSED = f"""Checking that ptrace can change system call numbers...OK
[    0.310000][    T1] userspace - ptrace set fp regs failed, errno = 14
[    0.310000][    T1] {PANIC}"""
"""What user-mode Linux says on an Intel CPU with AMX."""


class Guest:
    """A machine that reports what it was given, and then is gone."""

    def __init__(self, reports: list[str], console: str = PANIC) -> None:
        self.reports = reports
        self.console = console
        self.commands: list[tuple[str, ...]] = []

    def start(self, folder: Path, disks: object, command: tuple[str, ...], checkout: Path, kernel: Path) -> Guest:
        self.commands.append(command)
        return self

    def lines(self, timeout_s: float) -> Iterator[str]:
        yield from self.reports

    def end(self, patience_s: float = 0.0) -> str:
        return STORY

    def refusal(self) -> str:
        return refusal_in(self.console)


@pytest.fixture
def boots_of(pytestconfig: pytest.Config) -> Iterator[Callable[[Guest], Boots]]:
    with ExitStack() as stack:

        def made(guest: Guest) -> Boots:
            boots = Boots(pytestconfig, guest.start)
            stack.callback(boots.close)
            return boots

        yield made


def items_named(*names: str) -> list[SimpleNamespace]:
    session = SimpleNamespace(items=[])
    for name in names:
        path = INSIDE / "arrays/test_some.py"
        nodeid = f"tests/lab/inside/arrays/test_some.py::{name}"
        item = SimpleNamespace(nodeid=nodeid, path=path, location=("", 0, name), session=session)
        session.items.append(item)
    return session.items


WHERE_AND_WHY = ("test_some.py", 1, "Skipped: no such kernel")
TOLD = {"failed": "why", "skipped": WHERE_AND_WHY}


def reported(config: pytest.Config, item: SimpleNamespace, call: str) -> list[str]:
    reports = [
        pytest.TestReport(item.nodeid, item.location, {}, outcome, TOLD.get(outcome), when)
        for when, outcome in (("setup", "passed"), ("call", call), ("teardown", "passed"))
    ]
    hook = config.hook.pytest_report_to_serializable
    return [json.dumps(hook(config=config, report=report)) for report in reports]


def outcomes(boots: Boots, item: SimpleNamespace) -> list[tuple[str | None, str]]:
    return [(report.when, report.outcome) for report in boots.reports_of(item)]  # type: ignore[arg-type]


def test_each_test_ends_as_it_ended_in_the_guest_and_one_boot_serves_them_all(pytestconfig, boots_of) -> None:
    good, bad = items_named("good", "bad")
    guest = Guest(reported(pytestconfig, good, "passed") + reported(pytestconfig, bad, "failed"))
    boots = boots_of(guest)
    assert outcomes(boots, good) == [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]
    assert outcomes(boots, bad) == [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]
    (command,) = guest.commands
    assert command[-2:] == (good.nodeid, bad.nodeid)


def test_one_that_is_skipped_in_the_guest_is_skipped_with_its_reason(pytestconfig, boots_of) -> None:
    (only,) = items_named("only")
    reports = tuple(boots_of(Guest(reported(pytestconfig, only, "skipped"))).reports_of(only))
    assert [report.outcome for report in reports] == ["passed", "skipped", "passed"]
    assert reports[1].longrepr == WHERE_AND_WHY


def test_a_guest_that_dies_fails_the_test_at_hand_and_all_after_it(pytestconfig, boots_of) -> None:
    good, cut, never = items_named("good", "cut", "never")
    begun = reported(pytestconfig, cut, "passed")[:1]
    guest = Guest(reported(pytestconfig, good, "passed") + begun)
    boots = boots_of(guest)
    assert outcomes(boots, good)[-1] == ("teardown", "passed")
    assert outcomes(boots, cut) == [("setup", "passed"), ("call", "failed")]
    (report,) = boots.reports_of(never)
    assert report.outcome == "failed"
    assert STORY in str(report.longrepr)


def test_a_guest_that_this_cpu_cannot_boot_has_every_test_left_out_with_that_reason_in_capitals(boots_of) -> None:
    first, second = items_named("first", "second")
    boots = boots_of(Guest([], REFUSED))
    for item in (first, second):
        (report,) = boots.reports_of(item)
        assert report.outcome == "skipped"
        assert f"{NO_MACHINE}: USER-MODE LINUX DOES NOT BOOT ON THIS CPU" in str(report.longrepr)


@pytest.mark.parametrize("console", ["", PANIC, REFUSED.replace(PANIC, ""), REFUSED.replace("fp regs", "regs")])
def test_any_other_end_of_a_guest_is_a_failure(boots_of, console: str) -> None:
    (only,) = items_named("only")
    assert outcomes(boots_of(Guest([], console)), only) == [("call", "failed")]


def test_a_machine_that_cannot_be_started_fails_its_tests_and_is_tried_once(pytestconfig) -> None:
    first, second = items_named("first", "second")
    tried = []

    def start(*words: object) -> Guest:
        tried.append(words)
        raise FileNotFoundError("no setpriv here")

    boots = Boots(pytestconfig, start)
    assert outcomes(boots, first) == outcomes(boots, second) == [("call", "failed")]
    assert len(tried) == 1
    boots.close()


def test_a_line_that_is_no_report_fails_the_test_at_hand(pytestconfig, boots_of) -> None:
    (only,) = items_named("only")
    assert outcomes(boots_of(Guest(["{nonsense"])), only) == [("call", "failed")]
