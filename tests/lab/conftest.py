"""Runs the tests in inside/ in virtual machines, one boot for each group; here each has its result under its own name.

The guest runs the same tests with the same pytest and sends its reports through a port, one line each.
"""

from __future__ import annotations

import json
import os

import pytest

from tests.lab.boots import IN_GUEST, Boots, group_of
from tests.lab.machine import Machine, why_no_machine

_REPORTS = "/dev/virtio-ports/reports"
_LEFT_OUT = pytest.StashKey[int]()
_BOOTS = pytest.StashKey[Boots]()

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
        boots = item.config.stash.setdefault(_BOOTS, Boots(item.config, Machine))
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
