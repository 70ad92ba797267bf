"""Whether options took effect, by what was read back.

Each option declares how a value of it shows: "data=journal" is a feature or option of that name and value, "delalloc"
one that has no value of its own, "!delalloc" one that must be absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from fsconsole.catalog.filesystem import Filesystem, Option, Scope
from fsconsole.catalog.given import Given, given_options
from fsconsole.catalog.words import Word
from fsconsole.errors import BadQuantity
from fsconsole.units import parse_bytes

Seen = Mapping[str, str]
"""Names with values, as they were read back; "on" where a name has no value of its own."""

_ON = "on"
_REMOVED = re.compile(r"Ignoring removed (?P<word>\w+) option")
"""What fs/ext4/super.c says of words that it takes and that do nothing."""


class Effect(str, Enum):
    """What is known of an option that was accepted."""

    IN_EFFECT = "in effect"
    NOT_IN_EFFECT = "not in effect"
    UNKNOWN = "can't be seen"


def effect_of(option: Option, value: str, seen: Seen) -> Effect:
    """Return whether an option has this value, by what was read back in its own scope."""
    wanted = option.shown_as(value)
    if not wanted:
        return Effect.UNKNOWN
    if wanted.startswith("!"):
        return Effect.NOT_IN_EFFECT if wanted[1:] in seen else Effect.IN_EFFECT
    name, equals, expected = wanted.partition("=")
    same = name in seen and _same(seen[name], expected if equals else _ON)
    return Effect.IN_EFFECT if same else Effect.NOT_IN_EFFECT


def not_in_effect(
    filesystem: Filesystem,
    mkfs: tuple[Word, ...],
    mount: tuple[Word, ...],
    seen: Mapping[Scope, Seen],
    kernel_log: Sequence[str],
) -> tuple[str, ...]:
    """Return a sentence for each of a variant's words that was accepted and is not in effect."""
    return tuple(dict.fromkeys(_without_effect(filesystem, mkfs, mount, seen, kernel_log)))


def hidden_words(filesystem: Filesystem, words: tuple[Word, ...], mount: tuple[Word, ...]) -> tuple[str, ...]:
    """Return the words whose effect nothing that is read back would tell, sorted.

    Two variants that differ in none of these, and of which the same is read back, are the same.
    """
    found = given_options(filesystem, words, mount)
    visible = {word for given in found if _is_visible(given) for word in given.words}
    return tuple(
        sorted({f"{word.flag} {word.text}".strip() for word in (*words, *mount) if word not in visible})
    )


def removed_words(kernel_log: Sequence[str]) -> dict[str, str]:
    """Return the mount words that the kernel said do nothing any more, with the line that says so."""
    matches = ((_REMOVED.search(line), line) for line in kernel_log)
    return {match["word"]: line for match, line in matches if match}


def _without_effect(
    filesystem: Filesystem,
    mkfs: tuple[Word, ...],
    mount: tuple[Word, ...],
    seen: Mapping[Scope, Seen],
    kernel_log: Sequence[str],
) -> Iterator[str]:
    removed = removed_words(kernel_log)
    for given in given_options(filesystem, mkfs, mount):
        option = given.option
        found = seen.get(option.scope, {})
        effect = effect_of(option, given.value, found) if found else Effect.UNKNOWN
        if effect is Effect.NOT_IN_EFFECT:
            yield f"{given.text} is not in effect: {_told(option, given.value, found)}"
        elif effect is Effect.UNKNOWN and given.text in removed:
            yield f"{given.text} is not in effect: the kernel says '{removed[given.text]}'"


def _told(option: Option, value: str, seen: Seen) -> str:
    """Return what was read back instead."""
    wanted = option.shown_as(value)
    name = wanted.removeprefix("!").partition("=")[0]
    where = "mkfs made" if option.scope is Scope.MKFS else "the kernel mounted"
    if name in seen:
        return f"{where} it with {name if seen[name] == _ON else f'{name}={seen[name]}'}"
    return f"{where} it without {name}"


def _is_visible(given: Given) -> bool:
    return bool(given.option.shown_in or given.option.shown_as(given.value))


def _same(found: str, expected: str) -> bool:
    return found == expected or _bytes(found) == _bytes(expected) != -1


def _bytes(text: str) -> int:
    """Return a size, written as the tools write it (64k, 65536), in bytes; -1 for what is none."""
    try:
        return parse_bytes(text.upper())
    except BadQuantity:
        return -1
