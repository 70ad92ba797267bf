"""Every error can be worded, is safe to print, and has the exit code that docs/exit-codes.md lists."""

from __future__ import annotations

import re

from fsconsole.errors import ExitCode, FsconsoleError, runs, targets  # noqa: F401 (their classes are looked up below)
from tests.unit.house.source import CHECKOUT

ENDINGS_WITHOUT_ERROR = {
    ExitCode.OK, ExitCode.CELLS_FAILED, ExitCode.STOPPED, ExitCode.KIT_DIFFERS, ExitCode.INTERRUPTED,
}  # fmt: skip
HOSTILE = "a\x1b[31m [/x] {0} \n\u202e"
MADE = {"str": "made up", "int": 7, "float": 7.5}


def error_classes() -> list[type[FsconsoleError]]:
    found = [FsconsoleError]
    for cls in found:
        found.extend(cls.__subclasses__())
    return sorted(found, key=lambda cls: cls.__name__)


def made(cls: type[FsconsoleError], values: dict[str, object]) -> FsconsoleError:
    own = [vars(base).get("__annotations__", {}) for base in cls.__mro__ if issubclass(base, FsconsoleError)]
    fields = {name: kind for names in own for name, kind in names.items() if not kind.startswith("ClassVar")}
    return cls(**{name: values[kind] for name, kind in fields.items()})


def test_an_error_has_a_sentence_and_a_hint_and_is_printable_over_hostile_text():
    for cls in error_classes():
        error = made(cls, MADE)
        for text in (str(error), error.hint):
            assert text.strip(), cls
            assert "{" not in text, cls
        error = made(cls, {**MADE, "str": HOSTILE})
        assert str(error).isprintable(), cls
        assert error.hint.isprintable(), cls


def test_every_exit_code_but_those_of_an_ending_that_is_no_error_belongs_to_an_error():
    assert {cls.exit_code for cls in error_classes()} == set(ExitCode) - ENDINGS_WITHOUT_ERROR


def test_the_chapter_lists_every_exit_code():
    rows = re.findall(r"^\| (\d+) \| ([a-z ]+) \|$", (CHECKOUT / "docs/exit-codes.md").read_text(), re.MULTILINE)
    wanted = [(str(code.value), code.name.lower().replace("_", " ")) for code in ExitCode]
    assert rows == wanted
