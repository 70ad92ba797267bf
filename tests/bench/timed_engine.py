"""An engine that notes what each cell, step, proof and durable write took, for engine_overhead.

python -m tests.bench.timed_engine RUN_FOLDER NOTES [PROFILE]

A note is a line of JSON: what, its name, the cell, begin and end by time.monotonic(), and CPU seconds of the engine
and of all that it has waited for. A third word asks for a profile of the engine's main thread instead of figures.
"""

from __future__ import annotations

import cProfile
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from fsconsole.engine import proof, runner, work
from fsconsole.engine.steps import HANDLERS
from fsconsole.journal.folder import RawOutputs
from fsconsole.journal.writer import JournalWriter
from tests.bench.paired import cpu_s


class Notes:
    """Writes notes, and puts itself around what is to be noted."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._cell = -1

    @contextmanager
    def note(self, what: str, name: str) -> Iterator[None]:
        used_s, begin_s = cpu_s(), time.monotonic()
        yield
        end_s = time.monotonic()
        self._file.write(json.dumps([what, name, self._cell, begin_s, end_s, cpu_s() - used_s]) + "\n")

    def around_cells(self) -> None:
        run_cell = runner.run_cell

        def noted(run: work.RunWork, cell: Any) -> Any:
            self._cell = cell.index
            with self.note("cell", cell.variant.filesystem):
                return run_cell(run, cell)

        runner.run_cell = noted

    def around_steps(self) -> None:
        for kind, handler in list(HANDLERS.items()):
            HANDLERS[kind] = self._around_step(kind.value, handler)

    def _around_step(self, name: str, handler: work.Handler) -> work.Handler:
        def noted(at: work.CellWork, step: Any) -> work.StepResult:
            with self.note("step", name):
                return handler(at, step)

        return noted

    def around(self, where: type, method: str, what: str, *, only: Callable[[dict[str, Any]], bool]) -> None:
        """Note the calls of a method whose keywords are wanted."""
        real = getattr(where, method)

        def noted(this: Any, *arguments: Any, **keywords: Any) -> Any:
            if not only(keywords):
                return real(this, *arguments, **keywords)
            with self.note(what, type(arguments[0]).__name__):
                return real(this, *arguments, **keywords)

        setattr(where, method, noted)


def main(folder: str, notes_path: str, profile_path: str = "") -> int:
    if profile_path:
        profile = cProfile.Profile()
        carry_out = runner._execute_or_report
        # A profile is of one thread: the one that carries the run out.
        runner._execute_or_report = lambda *words: profile.runcall(carry_out, *words)
        try:
            return runner.main([folder])
        finally:
            profile.dump_stats(profile_path)
    with open(notes_path, "w") as file:
        notes = Notes(file)
        notes.around_cells()
        notes.around_steps()
        notes.around(JournalWriter, "record", "commit", only=lambda keywords: keywords.get("durable", True))
        notes.around(RawOutputs, "write", "output", only=lambda _: True)
        notes.around(proof.Prover, "prove_target", "proof", only=lambda _: True)
        return runner.main([folder])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
