"""Words of the command line as they were typed.

typer checks each value by pydantic, also a word that may be anything and a flag that wasn't given; to load it takes
70 ms, a quarter of what most commands need. Numbers and choices still go through it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_WORDS = (str, list[str])


class AsTyped:
    """Stands where typer keeps what turns a word into a value."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002 (called by typer)
        """Return a word, or a list of words; what wasn't given is None, or empty, as typer has it."""
        if param.multiple or param.nargs == -1:
            return () if value is None else [str(word) for word in value]
        return None if value is None else str(value)


def take_as_typed(parameters: Iterable[Any]) -> None:
    """Have typer take the words among these parameters as they come, and the flags that weren't given."""
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        # A parameter of a typer that keeps its types elsewhere is checked as ever.
        if descriptor is not None and (descriptor.annotation in _WORDS or _is_help(parameter)):
            parameter._runtime_param = AsTyped()


def _is_help(parameter: Any) -> bool:
    """Return whether a parameter is typer's own flag, which is None where it isn't given; its callback does the rest."""
    return parameter.type_descriptor.annotation is bool and parameter.default is None
