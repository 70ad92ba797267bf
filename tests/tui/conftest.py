"""What every test of the console wants: the same host, the same time zone, and no time lost on the way."""

from __future__ import annotations

import asyncio
import inspect
import socket
import time
from collections.abc import Iterator

import pytest
from textual import _wait
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.app import ScreenStackError
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen

from fsconsole.tui import bridge, watch
from fsconsole.tui.screens import plan_count
from fsconsole.tui.watch import BlockChanges, UdevWatch

PARSE_RULES = Stylesheet._parse_rules
"""Textual's own, for a test that counts what is parsed."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the host a name, and the clock UTC; the machine is quiet, no draft is left, a run's news come at once."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(plan_count, "load_average", lambda: 0.0)
    monkeypatch.setattr(watch, "read_tables", tuple)
    monkeypatch.setattr(watch, "read_arrays", tuple)
    monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
    monkeypatch.setattr(UdevWatch, "start", lambda _watch: None)
    monkeypatch.setattr(bridge, "POLL_S", 0.05)
    monkeypatch.setattr(bridge, "_IDLE_S", 0.1)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session", autouse=True)
def quick() -> Iterator[None]:
    """Read each style sheet once, not once for each console; look often whether a console is idle; paint into no terminal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", _parsed_once())
        # The same number, but for a call of Python for each of some hundred rules whenever a widget's style is worked out.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        patch.setattr(_wait, "SLEEP_GRANULARITY", 0.005)
        patch.setattr(_wait, "SLEEP_IDLE", 0.0005)
        patch.setattr(Compositor, "render_update", _unpainted)
        patch.setattr(Pilot, "_wait_for_screen", _wait_for_busy)
        yield


_ROUNDS = 5
"""What one widget is sent may come from another that was busy; what goes on for good isn't waited for."""


async def _wait_for_busy(pilot: Pilot[object], timeout: float = 30.0) -> bool:
    """Wait until all have done what they were sent, as Pilot does, and ask only those that may have something to do.

    To have each of some sixty widgets take a message, and say that it is idle again, was a third of all that was done.
    """
    app = pilot.app
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
        try:
            screen = app.screen
        except ScreenStackError:
            return False
        busy = [each for each in (app, *screen.walk_children(with_self=True)) if not _is_waiting(each)]
        asked = [done for each in busy if each.call_later((done := asyncio.Event()).set)]
        if not asked:
            break
        answers = asyncio.gather(*(done.wait() for done in asked))
        failed = asyncio.ensure_future(app._exception_event.wait())
        ended, _ = await asyncio.wait((answers, failed), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        answers.cancel()
        failed.cancel()
        assert ended, f"busy for {timeout} seconds: {busy}"
        if answers not in ended:
            return False
    return True


def _is_waiting(pump: MessagePump) -> bool:
    """Return whether it has nothing to do until it is sent something."""
    queue = pump._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)


def _unpainted(compositor: Compositor, screen_stack: list[Screen[object]]) -> None:
    """Have nothing left to paint, as after painting; a picture paints what is there when it is taken."""
    visible_screen_stack.set(screen_stack)
    compositor._dirty_regions.clear()


def _parsed_once() -> object:
    known: dict[object, list[RuleSet]] = {}

    def parsed(sheet: Stylesheet, *words: object, **options: object) -> list[RuleSet]:
        # Rules are never changed once they are read: the widgets of one console share them, too.
        key = (tuple(sheet._variables.items()), words, tuple(options.items()))
        if key not in known:
            known[key] = PARSE_RULES(sheet, *words, **options)
        return known[key]

    return parsed
