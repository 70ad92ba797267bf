"""Runs the tests in inside/ in virtual machines, one boot for each group; here each has its result under its own name.

The guest runs the same tests with the same pytest and sends its reports through a port, one line each.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.groups import GROUPS
from tests.lab.machine import Machine, why_no_machine

INSIDE = Path(__file__).parent / "inside"
IN_GUEST = "FSCONSOLE_LAB_GUEST"
"""Set in the guest's environment, where the tests are run rather than reported."""
TIMEOUT_S = 900.0
_REPORTS = "/dev/virtio-ports/reports"
_LEFT_OUT = pytest.StashKey[int]()
_BOOTS = pytest.StashKey["Boots"]()


class Boots:
    """The machines of this session: at most one runs at a time."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._stack = ExitStack()
        self._group = ""
        self._reports: Iterator[pytest.TestReport] = iter(())
        self._end = lambda: ""

    def reports_of(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Return what the guest reported of one test; where it reported no end, a failure that shows the guest."""
        group = group_of(item)
        if group != self._group:
            self._start(group, [other for other in item.session.items if group_of(other) == group])
        found: list[pytest.TestReport] = []
        for report in self._reports:
            if report.nodeid == item.nodeid:
                found.append(report)
                if report.when == "teardown":
                    return found
        return [*found, _never_ended(item, self._end())]

    def close(self) -> None:
        """End the machine that still runs."""
        self._stack.close()
        self._group = ""

    def _start(self, group: str, items: list[pytest.Item]) -> None:
        self.close()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fsconsole-lab-")))
        root = self._config.rootpath
        machine = Machine(folder / "boot", GROUPS[group], _pytest_words(items), root)
        self._stack.callback(machine.end)
        self._end = machine.end
        self._reports = (self._report(line) for line in machine.lines(TIMEOUT_S))
        self._group = group

    def _report(self, line: str) -> pytest.TestReport:
        report = self._config.hook.pytest_report_from_serializable(config=self._config, data=json.loads(line))
        assert isinstance(report, pytest.TestReport)
        return report


def group_of(item: pytest.Item) -> str:
    """Return the group of a test that is run in a guest; empty for every other test."""
    return item.path.parent.name if INSIDE in item.path.parents else ""


def _pytest_words(items: list[pytest.Item]) -> tuple[str, ...]:
    """Return the guest's command; what a test session on a host needs would take it half a minute to load."""
    return (
        "env", f"{IN_GUEST}=1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest",
        "--confcutdir=tests/lab", "--basetemp=/tmp/pytest", "-p", "no:cacheprovider", "-q",
        *(item.nodeid for item in items),
    )  # fmt: skip


def _never_ended(item: pytest.Item, why: str) -> pytest.TestReport:
    return pytest.TestReport(
        item.nodeid, item.location, {}, "failed", f"the guest reported no end of this test\n{why}", "call"
    )


if IN_GUEST in os.environ:

    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        data = _config.hook.pytest_report_to_serializable(config=_config, report=report)
        with open(_REPORTS, "w", encoding="utf-8") as port:
            port.write(json.dumps(data) + "\n")

    def pytest_configure(config: pytest.Config) -> None:
        global _config  # noqa: PLW0603 - the hook for reports is not told it
        _config = config

    _config: pytest.Config

else:

    def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
        why = why_no_machine()
        ours = [item for item in items if group_of(item)]
        config.stash[_LEFT_OUT] = len(ours) if why else 0
        for item in ours if why else ():
            item.add_marker(pytest.mark.skip(reason=f"no virtual machine: {why}"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
        if not group_of(item) or item.config.stash[_LEFT_OUT]:
            return None
        boots = item.config.stash.setdefault(_BOOTS, Boots(item.config))
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in boots.reports_of(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_sessionfinish(session: pytest.Session) -> None:
        if _BOOTS in session.config.stash:
            session.config.stash[_BOOTS].close()

    def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        count = config.stash.get(_LEFT_OUT, 0)
        if count:
            why = why_no_machine()
            terminalreporter.section("THE LAB WAS LEFT OUT", red=True)
            terminalreporter.line(f"{count} tests on real arrays and disks did not run: {why}")
