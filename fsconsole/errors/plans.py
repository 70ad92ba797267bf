"""What can be wrong with a plan file and its values."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.errors.base import ExitCode, FsconsoleError


@dataclass(eq=False)
class BadQuantity(FsconsoleError):
    """A size or a duration that can't be read."""

    text: str
    wanted: str
    examples: str
    exit_code = ExitCode.PLAN_BAD_VALUE
    sentence = "'{text}' is not {wanted}."
    advice = "Write it like one of: {examples}."


@dataclass(eq=False)
class PlanMissing(FsconsoleError):
    """A plan file that can't be read."""

    path: str
    why: str
    exit_code = ExitCode.PLAN_MISSING
    sentence = "The plan file {path} can't be read: {why}."
    advice = "Give a path, or the name of a shipped plan: `fsconsole plan --list`."


@dataclass(eq=False)
class PlanUnwritable(FsconsoleError):
    """A plan file that can't be saved."""

    path: str
    why: str
    sentence = "The plan file {path} can't be written: {why}."
    advice = "Choose another path, in a directory that is there and that you may write to."


@dataclass(eq=False)
class PlanChanged(FsconsoleError):
    """A plan file that somebody else wrote while it was to be saved."""

    path: str
    sentence = "The plan file {path} was changed by somebody else just now: nothing was saved over it."
    advice = "Save again to be asked what shall become of it, or save under another name."


@dataclass(eq=False)
class PlanNotToml(FsconsoleError):
    """A plan file with a syntax error; where is the TOML reader's own words, with line and column."""

    path: str
    where: str
    exit_code = ExitCode.PLAN_NOT_TOML
    sentence = "{path} is not TOML: {where}."
    advice = "Mend that line; strings need quotes, lists need brackets."


@dataclass(eq=False)
class PlanUnknownKey(FsconsoleError):
    """A key that the schema doesn't know."""

    path: str
    key: str
    nearest: str
    exit_code = ExitCode.PLAN_UNKNOWN_KEY
    sentence = "{path}: the key {key} is not known."
    advice = "Valid here, nearest first: {nearest}."


@dataclass(eq=False)
class PlanBadValue(FsconsoleError):
    """A known key with a value that can't be."""

    path: str
    key: str
    value: str
    why: str
    wanted: str
    exit_code = ExitCode.PLAN_BAD_VALUE
    sentence = "{path}: {key} = {value}: {why}."
    advice = "Wanted: {wanted}."


@dataclass(eq=False)
class UnknownFilesystem(FsconsoleError):
    """A filesystem that the catalog doesn't hold."""

    path: str
    key: str
    name: str
    nearest: str
    exit_code = ExitCode.UNKNOWN_FILESYSTEM
    sentence = "{path}: {key}: there is no filesystem '{name}' in the catalog."
    advice = "Known, nearest first: {nearest}."


@dataclass(eq=False)
class OptionRefused(FsconsoleError):
    """An mkfs or mount word that the allow-list doesn't hold, or that the rules between options exclude."""

    path: str
    key: str
    word: str
    why: str
    nearest: str
    exit_code = ExitCode.OPTION_REFUSED
    sentence = "{path}: {key}: '{word}' is refused: {why}."
    advice = "Allowed, nearest first: {nearest}."
