"""What may stand behind a flag or after an equals sign: kinds of values that can name nothing else.

No kind accepts a slash, a comma, a leading dash or an empty text, so no accepted value is a path, a second word
or a flag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class ArgumentKind(str, Enum):
    """Kinds of values; the texts stand in the catalog's files."""

    BARE = "bare"
    """No value at all."""
    NUMBER = "number"
    SIZE = "size"
    """A number with the tools' unit letter: 64k, 128m, 32b (man 8 mkfs.xfs), 4096."""
    PERCENT = "percent"
    CHOICES = "choices"


_PATTERNS = {
    ArgumentKind.NUMBER: re.compile(r"[0-9]{1,18}"),
    ArgumentKind.SIZE: re.compile(r"[0-9]{1,18}[bskKmMgGtT]?"),
    ArgumentKind.PERCENT: re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3})?"),
}
_NAMES = {
    ArgumentKind.BARE: "no value",
    ArgumentKind.NUMBER: "a whole number",
    ArgumentKind.SIZE: "a size such as 64k or 4096",
    ArgumentKind.PERCENT: "a percentage below 100",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """A kind of value; choices hold the words of CHOICES, where the empty word means "may stand bare"."""

    kind: ArgumentKind
    choices: tuple[str, ...] = ()

    def accepts(self, value: str | None) -> bool:
        """Tell whether this value may stand here; None means that there is no value."""
        if self.kind is ArgumentKind.BARE:
            return value is None
        if value is None:
            return "" in self.choices
        if self.kind is ArgumentKind.CHOICES:
            return value != "" and value in self.choices
        return _PATTERNS[self.kind].fullmatch(value) is not None

    @property
    def examples(self) -> tuple[str, ...]:
        """Valid values, or the kind in words where they can't be counted."""
        return tuple(choice for choice in self.choices if choice) or (self.wanted,)

    @property
    def wanted(self) -> str:
        """What belongs here, in words."""
        if self.kind is ArgumentKind.CHOICES:
            return "one of " + ", ".join(choice or "(nothing)" for choice in self.choices)
        return _NAMES[self.kind]
