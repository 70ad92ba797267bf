"""Boots a machine for each group of tests, and hands out what the guest reports of each test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.lab.cache import CACHE, LabMissing
from tests.lab.groups import BOOTS, boot_of
from tests.lab.machine import NO_MACHINE, Disk
from tests.lab.soak import SOAK

_NOT_NEEDED = (
    "cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath", "logging", "pastebin", "setuponly",
    "setupplan", "stepwise", "unittest",
)  # fmt: skip
"""Parts of pytest that no test inside uses; to load them takes the guest 3 s."""
TIMEOUT_S = 86_400.0 if SOAK else 3600.0
"""Of a whole boot, ten times what the longest takes on a machine at rest; a soak's may take hours."""

_PATIENCE_S = 10.0
"""Until a guest whose tests are over has ended by itself."""


class Started(Protocol):
    """What is needed of a machine.Machine that runs."""

    def lines(self, timeout_s: float) -> Iterator[str]: ...

    def end(self, patience_s: float = 0.0) -> str: ...

    def refusal(self) -> str: ...


Start = Callable[[Path, tuple[Disk, ...], tuple[str, ...], Path, Path], Started]


class Boots:
    """The machines of this session: at most one runs at a time."""

    def __init__(self, config: pytest.Config, start: Start) -> None:
        self._config = config
        self._start_machine = start
        self._stack = ExitStack()
        self._name = ""
        self._reports: Iterator[pytest.TestReport] = iter(())
        self._end = lambda: ""
        self._refusal = lambda: ""

    def reports_of(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Return what the guest reported of one test; where it reported no end, a failure that shows the guest.

        A guest that this CPU can't boot has its tests left out.
        """
        found: list[pytest.TestReport] = []
        try:
            self._start_for(item)
            for report in self._reports:
                if report.nodeid == item.nodeid:
                    found.append(report)
                    if report.when == "teardown":
                        return found
            why = self._end()
            if refusal := self._refusal():
                return [_left_out(item, refusal)]
        except (OSError, ValueError, KeyError, LabMissing, subprocess.SubprocessError) as error:
            # A machine that can't be had fails its tests; raised here it would end all others with it.
            why = f"{type(error).__name__}: {error}"
        return [*found, _never_ended(item, why)]

    def close(self) -> None:
        """End the machine that still runs."""
        self._stack.close()
        self._name = ""

    def _start_for(self, item: pytest.Item) -> None:
        name = boot_of(item.path)
        if name != self._name:
            self._start(name, [other for other in item.session.items if boot_of(other.path) == name])

    def _start(self, name: str, items: list[pytest.Item]) -> None:
        self.close()
        # One that can't be started is not tried again for each of its tests.
        self._name, self._reports, self._end = name, iter(()), lambda: "its machine could not be started"
        self._refusal = lambda: ""
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fsconsole-lab-")))
        root = self._config.rootpath
        boot = BOOTS[name]
        machine = self._start_machine(folder / "boot", boot.disks, _pytest_words(items), root, boot.kernel)
        self._stack.callback(_keep, folder / "boot/share/kept")
        self._stack.callback(machine.end, _PATIENCE_S)
        self._end, self._refusal = machine.end, machine.refusal
        self._reports = (self._report(line) for line in machine.lines(TIMEOUT_S))

    def _report(self, line: str) -> pytest.TestReport:
        report = self._config.hook.pytest_report_from_serializable(config=self._config, data=json.loads(line))
        assert isinstance(report, pytest.TestReport)
        if isinstance(report.longrepr, list):
            # Where and why it was skipped; JSON has no tuples.
            report.longrepr = tuple(report.longrepr)
        return report


def _pytest_words(items: list[pytest.Item]) -> tuple[str, ...]:
    """Return the guest's command; what a test session on a host needs would take it half a minute to load."""
    return (
        "env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest",
        "--confcutdir=tests/lab", "--basetemp=/tmp/pytest", "-q", *(f"-pno:{name}" for name in _NOT_NEEDED),
        *(item.nodeid for item in items),
    )  # fmt: skip


def _keep(folder: Path) -> None:
    """Copy what the guest left to be looked at."""
    if folder.is_dir():
        shutil.copytree(folder, CACHE / "kept", dirs_exist_ok=True)


def _left_out(item: pytest.Item, why: str) -> pytest.TestReport:
    where_and_why = (str(item.path), 0, f"Skipped: {NO_MACHINE}: {why}")
    return pytest.TestReport(item.nodeid, item.location, {}, "skipped", where_and_why, "setup")


def _never_ended(item: pytest.Item, why: str) -> pytest.TestReport:
    return pytest.TestReport(
        item.nodeid, item.location, {}, "failed", f"the guest reported no end of this test\n{why}", "call"
    )
