"""Results: to come."""

from __future__ import annotations

from typing import ClassVar

from fsconsole.tui.screens.base import ConsoleScreen


class ResultsScreen(ConsoleScreen):
    """To come."""

    MODE: ClassVar[str] = "results"
