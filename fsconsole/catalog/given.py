"""Which options, at which values, a variant's words come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fsconsole.catalog.filesystem import Filesystem, Option, Scope
from fsconsole.catalog.words import Where, Word, split_flags, split_mount

_CATALOG = Where("the catalog", "option")


@dataclass(frozen=True, slots=True)
class Given:
    """An option at a value, with all the words that say so."""

    option: Option
    value: str
    words: frozenset[Word]

    @property
    def text(self) -> str:
        """The option at that value in the tool's words."""
        return self.option.text(self.value)


def given_options(
    filesystem: Filesystem, mkfs: tuple[Word, ...], mount: tuple[Word, ...]
) -> tuple[Given, ...]:
    """Return every option that these words set, in the catalog's order."""
    said = {Scope.MKFS: frozenset(mkfs), Scope.MOUNT: frozenset(mount)}
    in_order = {scope: tuple(sorted(words, key=_whole)) for scope, words in said.items()}
    return tuple(
        given
        for option, counted in _counted(filesystem)
        for given in (counted or _open(filesystem, option, in_order[option.scope]))
        if given.words <= said[option.scope]
    )


def option_words(filesystem: Filesystem, option: Option, value: str) -> frozenset[Word]:
    """Return the words that set an option to a value that it takes."""
    return _words(filesystem, option.scope, option.text(value))


@lru_cache(maxsize=4096)
def _words(filesystem: Filesystem, scope: Scope, text: str) -> frozenset[Word]:
    if scope is Scope.MKFS:
        return frozenset(split_flags(text, filesystem.mkfs_flags, _CATALOG))
    return frozenset(split_mount(text, filesystem.mount_words, _CATALOG))


@lru_cache(maxsize=64)
def _counted(filesystem: Filesystem) -> tuple[tuple[Option, tuple[Given, ...]], ...]:
    """Return every option with what each of its values comes to; with nothing where they can't be counted."""
    return tuple(
        (
            option,
            tuple(Given(option, value, option_words(filesystem, option, value)) for value, _ in option.texts),
        )
        for option in filesystem.options
    )


def _whole(word: Word) -> str:
    return f"{word.flag} {word.text}".strip()


def _open(filesystem: Filesystem, option: Option, said: tuple[Word, ...]) -> Iterator[Given]:
    """Yield an option at the values that stand where its template has its own."""
    head = option.template.partition("{value}")[0]
    for word in said:
        whole = _whole(word)
        value = whole.removeprefix(head)
        if whole.startswith(head) and option.accepts(value):
            yield Given(option, value, option_words(filesystem, option, value))
