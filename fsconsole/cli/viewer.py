"""The viewer of a run: live view, plain lines or JSON; passes Ctrl-C on to the engine."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType, TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from fsconsole.cli.complaint import complain, is_live, mute, say, terminal_width
from fsconsole.client.children import ask
from fsconsole.client.engine import remove_owned_scratch, withdraw
from fsconsole.client.follow import POLL_S, RunFollower, View, follow
from fsconsole.client.runs import look, resumed_from
from fsconsole.errors import FsconsoleError, OutputLost
from fsconsole.errors.runs import EngineDied, EngineNotListening, RunOver
from fsconsole.journal.events import NAMES, Batch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import create_run
from fsconsole.model import DEFAULT_RUNS_DIR, RUNS_VARIABLE
from fsconsole.model.contract import event_text
from fsconsole.model.events import ControlRequested, RunFinished, Verb
from fsconsole.model.run import RunRequest
from fsconsole.model.state import RunState, RunStatus
from fsconsole.results.figures import cell_names, cells_in_words, status_words
from fsconsole.show.gauges import LEAD, gauge_lines, text_line
from fsconsole.show.progress import describe_cell, finished_lines, place_words, plain_lines, step_words
from fsconsole.show.race import current_workload, race_lines
from fsconsole.text import printable, shorten_middle, wrap


def json_lines(batch: Batch) -> Iterator[str]:
    """Yield one JSON object per observation, then one per sample, without line ends.

    Keys: schema, event (the kind, "step_finished"), time (wall clock, ISO 8601, UTC), then all fields by their names.
    """
    for entry in batch.entries:
        yield event_text(NAMES[type(entry.observation)], entry.wall_ns, entry.observation)
    for sample in batch.samples:
        yield event_text("sample", sample.wall_ns, sample)


class PrintedView:
    """Writes lines to a stream, each flushed, so that a pipe's reader is never behind.

    show() raises OutputLost where stdout takes no more.
    """

    def __init__(
        self,
        lines: Callable[[RunState | None, RunState, Batch], Iterable[str]],
        stream: TextIO,
    ) -> None:
        self._lines = lines
        self._stream = stream
        self._previous: RunState | None = None

    def show(self, state: RunState, batch: Batch) -> None:
        """Write what is new."""
        for line in self._lines(self._previous, state, batch):
            self._stream.write(line + "\n")
            self._stream.flush()
        self._previous = state


# Signals from the start of a command that starts an engine to the end of its view.
#
# A signal never leaves a run in progress without a view by accident. Until hold() it ends the command, by an exception
# that undoes what was made; from then on it is noted, and either require_none() ends the command by it or, when
# the engine has been started, pass_on_to() hands it to the engine: Ctrl-C and SIGTERM ask it to stop after the current
# cell, and again to stop now. On a terminal the first Ctrl-C only asks what is meant. SIGHUP only ends the view.

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """SIGTERM or SIGHUP by its number, on its way up to where the process ends by the same signal."""


class Interrupts:
    """The signals of one command; a context that gives them back, for the main thread alone.

    What was ignored when the program began (nohup, a shell's background jobs) stays ignored. With at_once the first
    signal asks to stop now: a detached run is not worth finishing its cell for.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._former: dict[int, signal.Handlers] = {}
        self._at_once = at_once
        self._holding = False
        self._noted: list[int] = []
        self.asked = False
        """True from the first signal that asks the engine to stop."""
        self.may_question = False
        """True where somebody can answer: then the first Ctrl-C is a question."""
        self.is_questioning = False
        """True from that Ctrl-C to its answer."""
        self.state: RunState | None = None
        """The run as it was shown last."""
        self._wanted: list[ControlRequested] = []
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
            signal.signal(error.args[0], signal.SIG_DFL)
            os.kill(os.getpid(), error.args[0])

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

    def create_run(self, runs_dir: str, request: RunRequest) -> RunFolder:
        """Create a run's folder, whole, with signals on hold; one that came meanwhile removes it and ends the command."""
        self.hold()
        folder = create_run(runs_dir, request)
        try:
            self.require_none()
        except BaseException:
            withdraw(folder)
            raise
        return folder

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

    def deliver(self) -> None:
        """Ask the engine for what is wanted; one that does not listen yet is asked by the next call."""
        while self._wanted and self._folder is not None:
            request = self._wanted.pop(0)
            try:
                answer = ask(self._folder, request.verb, request.in_cell)
            except (EngineNotListening, RunOver):
                # It listens soon; or it has ended by itself, which the next poll of its journal shows.
                self._wanted.insert(0, request)
                return
            except FsconsoleError as error:
                complain(str(error), error.hint)
            else:
                if request.verb is Verb.STOP_AFTER:
                    place = printable(answer.step) or "starting"
                    say(f"stopping after this cell ({place}); Ctrl-C again stops immediately")

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self._noted.append(number)
        if not self._holding:
            # Another one would interrupt the undoing.
            self._holding = True
            raise _ending(number)
        if number == signal.SIGINT and self.may_question and not (self.asked or self.is_questioning):
            self.is_questioning = True
            say(_question(self.state))
        elif number != signal.SIGHUP:
            self.want(Verb.STOP_NOW if self.asked or self._at_once else Verb.STOP_AFTER)

    def want(self, verb: Verb) -> None:
        """Ask the engine to stop."""
        cell = self.state.running_cell if self.state is not None else None
        self._wanted.append(ControlRequested(verb, cell))
        self.asked, self.is_questioning = True, False
        self.deliver()


def _question(state: RunState | None) -> str:
    """Return what the keys do after a Ctrl-C, with the cell that runs."""
    cell = "this cell"
    if state is not None and state.current_cell is not None:
        cell = describe_cell(state, state.current_cell, cell_names(state.request.plan)[state.current_cell])
    return f"d detach, a stop after {cell}, X stop now, any other key goes on (Ctrl-C again: stop after this cell)"


class Answers:
    """Keys that answer the question of a Ctrl-C; a context that gives the terminal back as it was."""

    def __init__(self, interrupts: Interrupts, stdin: int) -> None:
        self._interrupts, self._stdin = interrupts, stdin
        self._former: list[int | list[bytes | int]] | None = None
        interrupts.may_question = True

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        self._interrupts.may_question = False
        self._give_back()

    def detaches(self) -> bool:
        """Carry out an answer, if there is one; return True where it is to detach."""
        if not self._interrupts.is_questioning:
            self._give_back()
            return False
        if self._former is None:
            # Only now: a job in the background would be stopped by it.
            self._former = termios.tcgetattr(self._stdin)
            tty.setcbreak(self._stdin, termios.TCSANOW)
        if not select.select([self._stdin], [], [], 0)[0]:
            return False
        key = os.read(self._stdin, 1)
        if key in (b"a", b"X"):
            self._interrupts.want(Verb.STOP_AFTER if key == b"a" else Verb.STOP_NOW)
        elif key != b"d":
            self._interrupts.is_questioning = False
            say("The run goes on.")
        return key == b"d"

    def _give_back(self) -> None:
        if self._former is not None:
            termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._former)
            self._former = None


def _ending(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else Ended(number)


def render(state: RunState, now_ns: int, width: int, ranking: Sequence[str] = ()) -> RenderableType:
    """Return the live view, at most 16 lines and the ranking's, of at most width cells; now_ns is CLOCK_MONOTONIC."""
    known = (*_lines(state, now_ns, width), *ranking)
    lines = [Text(shorten_middle(line, width), no_wrap=True) for line in known]
    lines[0].stylize("bold")
    return Group(Text(), *lines)


@contextmanager
def run_view(stream: TextIO | None = None, *, as_json: bool = False) -> Iterator[View]:
    """Give the view that fits the stream (stdout): live on a terminal, plain lines elsewhere and on TERM=dumb.

    On leaving, the live part is gone from the screen and the lines of the cells that are over stay.
    """
    stream = stream or sys.stdout
    if as_json:
        yield PrintedView(lambda _previous, _state, batch: json_lines(batch), stream)
        return
    if not is_live(stream):
        yield PrintedView(lambda *seen: map(_resumed_here, plain_lines(*seen[:2])), stream)
        return
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield LiveView(live)


@contextmanager
def outlasting(hint: str) -> Iterator[None]:
    """Tell it with this hint, and go on without output, where standard output takes no more."""
    try:
        yield
    except OutputLost as error:
        mute()
        complain(str(error), hint)


class LastingView:
    """A view that goes on in silence, after a sentence, once standard output takes no more."""

    def __init__(self, view: View, folder: RunFolder) -> None:
        self._view = view
        self._name = folder.name

    def show(self, state: RunState, batch: Batch) -> None:
        """Show what is new."""
        with outlasting(f"The run goes on; `fsconsole attach {self._name}` shows it."):
            self._view.show(state, batch)


class LiveView:
    """Paints render() at most four times a second, with the lines of finished cells above."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._previous: RunState | None = None
        self._painted_s = 0.0
        self._ranked: tuple[object, list[str]] = (None, [])
        """Ranking, and what it was made of: a grid takes longer than a painting."""

    def show(self, state: RunState, _batch: Batch) -> None:
        """Print what is new and paint the live view."""
        console = self._live.console
        for line in finished_lines(self._previous, state):
            # Wrapped, not shortened: the reason of a failure would go.
            console.print(Text("\n".join(wrap(line, console.width, max_lines=3)), no_wrap=True))
        self._previous = state
        now_s = time.monotonic()
        if now_s - self._painted_s >= POLL_S:
            self._painted_s = now_s
            ranking = self._ranking(state, console.width)
            self._live.update(render(state, time.monotonic_ns(), console.width, ranking), refresh=True)

    def _ranking(self, state: RunState, width: int) -> list[str]:
        of = ([cell.status for cell in state.cells], state.current_cell, current_workload(state), width)
        if self._ranked[0] != of:
            is_going_on = state.status is not RunStatus.FINISHED
            self._ranked = (of, race_lines(state, width) if is_going_on else [])
        return self._ranked[1]


def _resumed_here(standing: str) -> str:
    return resumed_from(standing, os.environ.get(RUNS_VARIABLE, DEFAULT_RUNS_DIR))


def _lines(state: RunState, now_ns: int, width: int) -> list[str]:
    request = state.request
    title = printable(f"{request.plan.title} ({request.run_id})".lstrip())
    if state.status is RunStatus.FINISHED:
        return [title, printable(_resumed_here(status_words(state, alive=False)))]
    if state.current_cell is None:
        return [title, place_words(state, now_ns)]
    planned = request.plan.cells[state.current_cell]
    at_round = f" (round {planned.repeat} of {request.plan.repeats})" if request.plan.repeats > 1 else ""
    devices = " ".join(planned.members) or planned.target
    return [
        title,
        place_words(state, now_ns),
        printable(f"{cell_names(request.plan)[state.current_cell]}{at_round} on {devices}"),
        *_step_lines(state, now_ns, width),
        *gauge_lines(state.last_sample, now_ns, width),
    ]


def _step_lines(state: RunState, now_ns: int, width: int) -> list[str]:
    """Return the step in one line or two: the title of a workload is long."""
    step = state.current_step
    words = "-" if step is None else step_words(state, step, state.last_sample, now_ns)
    first, *others = wrap(words, max(2, width - LEAD), max_lines=2)
    return [text_line("step", first), *(text_line("", other) for other in others)]


def watch(folder: RunFolder, *, as_json: bool, interrupts: Interrupts | None = None) -> int:
    """Show a run to its end and print its grid; return its engine's exit code, or else that of the plan's requirements.

    With interrupts that are passed on, Ctrl-C asks the engine to stop, else it only ends the view. Raises EngineDied.
    """
    from fsconsole.cli.results import ending_code, report

    can_answer = interrupts is not None and not as_json and sys.stdin.isatty() and is_live(sys.stdout)
    is_detached = False

    def deliver(state: RunState) -> bool:
        """Ask again for what an engine that was just beginning did not hear; a run is followed to its end."""
        nonlocal is_detached
        if interrupts is not None:
            interrupts.state = state
            interrupts.deliver()
        is_detached = answers is not None and answers.detaches()
        return is_detached

    with ExitStack() as stack:
        answers = stack.enter_context(Answers(interrupts, sys.stdin.fileno())) if interrupts and can_answer else None
        view = stack.enter_context(run_view(as_json=as_json))
        # Whoever only looks on ends with the output; whoever started the run sees it to its end.
        state = follow(folder, view if interrupts is None else LastingView(view, folder), until=deliver)
    if is_detached:
        say(f"The run goes on; `fsconsole attach {folder.name}` shows it.")
        return 0
    remove_owned_scratch(state)
    if interrupts is not None:
        interrupts.give_back()
    if not as_json:
        with outlasting(f"The run is over; `fsconsole results {folder.name}` prints its results."):
            sys.stdout.write("\n" + report(folder, width=terminal_width()))
            sys.stdout.flush()
    return ending_code(state)


def show_end(folder: RunFolder, *, as_json: bool) -> int:
    """Print how a run ended, and return its exit code. Raises EngineDied, RunOver for one that never started."""
    from fsconsole.cli.results import ending_code

    seen = look(folder)
    state = seen.state
    if not state.started:
        raise RunOver(run=folder.name)
    if state.status is not RunStatus.FINISHED and not folder.is_imported:
        raise EngineDied(run=folder.name)
    if as_json:
        ends = [
            entry for entry in RunFollower(folder).poll().batch.entries if isinstance(entry.observation, RunFinished)
        ]
        for end in ends[-1:]:
            sys.stdout.write(event_text(NAMES[RunFinished], end.wall_ns, end.observation) + "\n")
    else:
        sys.stdout.write(f"{printable(folder.name)}: {printable(seen.standing)}\n{cells_in_words(state)}\n")
    sys.stdout.flush()
    return ending_code(state)
