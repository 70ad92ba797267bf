"""Runs the tests in inside/ in guests, one boot for each group; here each has its result under its own name.

The guest runs the same tests with the same pytest and sends its reports through a port, one line each.
"""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest

from tests.lab.boots import Boots
from tests.lab.groups import BOOTS, boot_of
from tests.lab.machine import NO_MACHINE, Machine, why_no_machine
from tests.lab.soak import IN_GUEST

_REPORTS = "/run/ports/reports"
_LEFT_OUT = pytest.StashKey[frozenset[str]]()
_BOOTS = pytest.StashKey[Boots]()

if IN_GUEST in os.environ:

    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        data = _config.hook.pytest_report_to_serializable(config=_config, report=report)
        with open(_REPORTS, "a", encoding="utf-8") as port:
            port.write(json.dumps(data) + "\n")

    def pytest_configure(config: pytest.Config) -> None:
        global _config  # noqa: PLW0603 - the hook for reports is not told it
        _config = config

    _config: pytest.Config

else:

    def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
        boots = {boot_of(item.path) for item in items} - {""}
        reasons = {boot: why for boot in boots if (why := why_no_machine(BOOTS[boot].kernel))}
        config.stash[_LEFT_OUT] = frozenset(reasons)
        for item in items:
            if boot_of(item.path):
                # Its limit is the guest's, and the boot's; raised here it would end the whole session.
                item.add_marker(pytest.mark.timeout(0))
            if boot_of(item.path) in reasons:
                item.add_marker(pytest.mark.skip(reason=f"{NO_MACHINE}: {reasons[boot_of(item.path)]}"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not boot_of(item.path) or boot_of(item.path) in item.config.stash[_LEFT_OUT]:
            return None
        boots = item.config.stash.setdefault(_BOOTS, Boots(item.config, Machine))
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in boots.reports_of(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        # What an item before had set up for its folders is taken down, as at the end of any item.
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def pytest_sessionfinish(session: pytest.Session) -> None:
        if _BOOTS in session.config.stash:
            session.config.stash[_BOOTS].close()

    def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
        # With several processes this is the one that ran nothing: only the reports tell what was left out.
        said = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
        left_out = Counter(text.partition(f"{NO_MACHINE}: ")[2].rstrip("')") for text in said if NO_MACHINE in text)
        if left_out:
            terminalreporter.section("THE LAB WAS LEFT OUT, OR A PART OF IT", red=True)
        for why, count in left_out.items():
            terminalreporter.line(f"{count} tests on real arrays and disks did not run: {why}")
