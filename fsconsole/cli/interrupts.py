"""Ctrl-C, SIGTERM and SIGHUP from the beginning of a command that starts an engine to the end of its view.

A signal never leaves a run that goes on unseen by accident. Until hold() it ends the command, by an exception
that undoes what was made; from then on it is noted, and either require_none() ends the command by it or, when
the engine has been started, pass_on_to() hands it to the engine: Ctrl-C and SIGTERM ask it to stop after the cell
at hand, and again to stop now. SIGHUP only ends the view.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

from fsconsole.cli.complaint import complain
from fsconsole.client.control import ask
from fsconsole.errors import EngineNotListening, FsconsoleError, RunOver
from fsconsole.journal.store import RunFolder
from fsconsole.model.observation import Verb

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """SIGTERM or SIGHUP, on its way up to where the process ends by the same signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """The signals of one command; a context that gives them back, for the main thread alone.

    What was ignored when the program began (nohup, a shell's background jobs) stays ignored. With at_once the first
    signal asks to stop now: of a run that nobody meant to watch, nobody wants the cell at hand.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._former: dict[int, signal.Handlers] = {}
        self._at_once = at_once
        self._holding = False
        self._noted: list[int] = []
        self._asked = 0
        self._wanted: list[Verb] = []
        self._folder: RunFolder | None = None

    def __enter__(self) -> Interrupts:
        for number in _SIGNALS:
            former = signal.getsignal(number)
            if former is not signal.SIG_IGN:
                self._former[number] = former  # type: ignore[assignment]
                signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
        if isinstance(error, Ended):
            signal.signal(error.number, signal.SIG_DFL)
            os.kill(os.getpid(), error.number)

    def give_back(self) -> None:
        """From now on let signals do what they did before."""
        while self._former:
            signal.signal(*self._former.popitem())

    def hold(self) -> None:
        """From now on only note signals."""
        self._holding = True

    def require_none(self) -> None:
        """End the command by the first signal that was noted. Raises KeyboardInterrupt, Ended."""
        if self._noted:
            raise _ending(self._noted[0])

    def pass_on_to(self, folder: RunFolder) -> None:
        """From now on ask the run's engine, also for what was noted; SIGHUP ends the process. Raises Ended."""
        self._folder = folder
        if signal.SIGHUP in self._former:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        if signal.SIGHUP in self._noted:
            raise Ended(signal.SIGHUP)
        self.deliver()

    def leave(self) -> bool:
        """Ignore Ctrl-C and SIGTERM to the end of the process; return False, and go on, where one has come already."""
        caught = [number for number in (signal.SIGINT, signal.SIGTERM) if number in self._former]
        for number in caught:
            signal.signal(number, signal.SIG_IGN)
        if not self.asked:
            self._former.clear()
            return True
        for number in caught:
            signal.signal(number, self._take)
        return False

    @property
    def asked(self) -> bool:
        """True from the first signal that asks the engine to stop."""
        return self._asked > 0

    def deliver(self) -> None:
        """Ask the engine for what is wanted; one that does not listen yet is asked by the next call."""
        while self._wanted and self._folder is not None:
            verb = self._wanted.pop(0)
            try:
                ask(self._folder, verb)
            except (EngineNotListening, RunOver):
                # It listens soon; or it has ended by itself, which the next poll of its journal shows.
                self._wanted.insert(0, verb)
                return
            except FsconsoleError as error:
                complain(str(error), error.hint)
            else:
                _confirm(verb)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self._noted.append(number)
        if not self._holding:
            # Another one would interrupt the undoing.
            self._holding = True
            raise _ending(number)
        if number != signal.SIGHUP:
            self._wanted.append(Verb.STOP_NOW if self._asked or self._at_once else Verb.STOP_AFTER)
            self._asked += 1
            self.deliver()


def _ending(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else Ended(number)


def _confirm(verb: Verb) -> None:
    if verb is Verb.STOP_AFTER:
        sys.stderr.write("stopping after this cell; Ctrl-C again stops at once\n")
        sys.stderr.flush()
