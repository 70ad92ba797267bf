"""Executors that remember and executors that repeat: tests replay what real programs said."""

from __future__ import annotations

from collections.abc import Mapping

from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.system.recordings import load_results, save_results
from fsconsole.system.run import package_of


class RecordingExecutor:
    """Passes every command on to another executor and keeps what came of it."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.history: list[CommandResult] = []
        """Every result in the order in which the programs ended."""

    def run(self, command: Command) -> CommandResult:
        """Run it for real, and remember."""
        result = self._inner.run(command)
        self.history.append(result)
        return result

    @property
    def results(self) -> dict[tuple[str, ...], CommandResult]:
        """The last result of each argv, as FakeExecutor takes them."""
        return {result.argv: result for result in self.history}

    def save(self, path: str) -> None:
        """Write the whole history to a JSON file. Raises OSError."""
        save_results(tuple(self.history), path)


class FakeExecutor:
    """Answers with given results and runs nothing; calls lists what was asked for."""

    def __init__(self, results: Mapping[tuple[str, ...], CommandResult]) -> None:
        self._results = dict(results)
        self.calls: list[tuple[str, ...]] = []

    @classmethod
    def from_file(cls, path: str) -> FakeExecutor:
        """Return one that repeats a recording; of several results of one argv, the last. Raises OSError, ValueError."""
        return cls({result.argv: result for result in load_results(path)})

    def run(self, command: Command) -> CommandResult:
        """Return the result of that argv.

        Raises ToolMissing for a program that no result is of, LookupError for other words to a known one.
        """
        self.calls.append(command.argv)
        if command.argv in self._results:
            return self._results[command.argv]
        program = command.argv[0]
        if all(argv[0] != program for argv in self._results):
            raise ToolMissing(tool=program, package=package_of(program))
        raise LookupError(f"no result of {command.argv}")
