"""A command executor that replays recorded results."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping

from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import Command, CommandResult, ResourceUsage
from fsconsole.system.run import package_of


def load_results(path: str | os.PathLike[str]) -> tuple[CommandResult, ...]:
    """Return recorded results; an output that is not UTF-8 is {"base64": ...}."""
    with open(path, encoding="utf-8") as file:
        return tuple(_result(item) for item in json.load(file))


def _result(item: dict[str, object]) -> CommandResult:
    item = dict(item)
    for name in ("stdout", "stderr"):
        said = item[name]
        item[name] = base64.b64decode(said["base64"]) if isinstance(said, dict) else str(said).encode()
    for name in ("argv", "kernel_log"):
        item[name] = tuple(item[name])
    return CommandResult(**{**item, "usage": ResourceUsage(*item["usage"])})


class FakeExecutor:
    """Answers with given results and runs nothing; calls lists what was asked for."""

    def __init__(self, results: Mapping[tuple[str, ...], CommandResult]) -> None:
        self._results = dict(results)
        self.calls: list[tuple[str, ...]] = []

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
