"""mkfs, tune and mount words taken apart, held against the allow-list, and put together again.

What is not declared is refused: the lists say what may be said, never what may not. Texts are split as a shell
would split them and never given to one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fsconsole.catalog.arguments import Argument
from fsconsole.catalog.filesystem import Flag, FlagKind, MountWords
from fsconsole.catalog.nearest import nearest_words
from fsconsole.errors import OptionRefused

_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Where:
    """The file and key that a text came from."""

    path: str
    key: str

    def refused(self, word: str, why: str, valid: Iterable[str]) -> OptionRefused:
        """Return the error for one word."""
        short = word if len(word) <= 60 else word[:57] + "..."
        return OptionRefused(self.path, self.key, short, why, nearest_words(word, valid))


@dataclass(frozen=True, slots=True)
class Word:
    """One accepted word: (flag "-O", key "flex_bg", text "^flex_bg"); mount words have no flag, -K no text."""

    flag: str
    kind: FlagKind
    key: str
    text: str
    given: str = field(default="", compare=False)
    """As it was said, where that is another or an older name."""

    @property
    def label(self) -> str:
        """The word as a row's name shows it: "-I 256", "stride=32", "^flex_bg", "nodelalloc"."""
        return f"{self.flag} {self.text}".strip() if self.kind is FlagKind.VALUE else self.text

    def facts(self, program: str) -> frozenset[str]:
        """Return what rules can ask about: {"mkfs -E stride", "mkfs -E stride=32"}."""
        head = f"{program} {self.flag}".strip()
        whole = f"{head} {self.text}".strip()
        if self.kind is FlagKind.FEATURES:
            return frozenset({whole})
        return frozenset({f"{head} {self.key}".strip(), whole})


def split_flags(text: str, flags: Sequence[Flag], where: Where) -> tuple[Word, ...]:
    """Return the words of a text such as "-I 256 -O ^flex_bg"; raises OptionRefused."""
    known = {name: flag for flag in flags for name in flag.names}
    tokens = _tokens(text, known, where)
    words: list[Word] = []
    while tokens:
        token = tokens.pop(0)
        flag, attached = _flag_of(token, known, where)
        takes_value = flag.kind is not FlagKind.VALUE or not flag.argument.accepts(None)
        if attached is None and takes_value:
            if not tokens:
                raise where.refused(token, f"it needs {_wanted(flag)}", known)
            attached = tokens.pop(0)
        words.extend(_flag_words(flag, attached, where))
    return _without_contradictions(words, where)


def split_mount(text: str, allowed: MountWords, where: Where) -> tuple[Word, ...]:
    """Return the words of a mount option list such as "noatime,data=writeback"; raises OptionRefused."""
    known = dict(allowed.words)
    _check_text(text, known, where)
    if not text.strip():
        return ()
    aliases = dict(allowed.aliases)
    words = []
    for item in text.strip().split(","):
        text = aliases.get(item, item)
        key, value = _pair(text)
        _check_pair(item, key, value, known, where)
        words.append(Word("", FlagKind.PAIRS, key, text, item if text != item else ""))
    return _without_contradictions(words, where)


def merge(base: Sequence[Word], own: Sequence[Word]) -> tuple[Word, ...]:
    """Return base words and own words together; an own word takes the place of a base word of its key."""
    taken = {(word.flag, _stem(word.key)) for word in own}
    return tuple(word for word in base if (word.flag, _stem(word.key)) not in taken) + tuple(own)


def to_argv(words: Sequence[Word]) -> tuple[str, ...]:
    """Return words as argv items: one -E and one -O with all their keys, since mke2fs obeys only the last."""
    argv: list[str] = []
    for flag in dict.fromkeys(word.flag for word in words):
        same = [word for word in words if word.flag == flag]
        texts = [word.text for word in same if word.text]
        argv.append(flag)
        if texts:
            argv.append(",".join(texts))
    return tuple(argv)


def _tokens(text: str, valid: Iterable[str], where: Where) -> list[str]:
    _check_text(text, valid, where)
    try:
        return shlex.split(text)
    except ValueError as error:
        raise where.refused(text, f"its quotes don't fit together ({error})", valid) from error


def _check_text(text: str, valid: Iterable[str], where: Where) -> None:
    if len(text) > _LONGEST:
        raise where.refused(text, f"it is longer than {_LONGEST} characters", valid)
    if not text.isascii() or not text.isprintable():
        raise where.refused(text, "only printable ASCII can be option words", valid)


def _flag_of(token: str, known: dict[str, Flag], where: Where) -> tuple[Flag, str | None]:
    if not token.startswith("-"):
        raise where.refused(token, "a word on its own could be a second device or a path", known)
    if token in known:
        return known[token], None
    name, attached = _long(token) if token.startswith("--") else (token[:2], token[2:])
    if name not in known or attached is None:
        raise where.refused(token, "this flag is not on the list", known)
    return known[name], attached


def _long(token: str) -> tuple[str, str | None]:
    name, equals, value = token.partition("=")
    return name, value if equals else None


def _flag_words(flag: Flag, value: str | None, where: Where) -> tuple[Word, ...]:
    name = flag.names[0]
    if flag.kind is FlagKind.VALUE:
        if not flag.argument.accepts(value):
            raise where.refused(
                f"{name} {value or ''}".strip(), f"{name} takes {_wanted(flag)}", flag.argument.examples
            )
        return (Word(name, flag.kind, "", value or ""),)
    return tuple(_sub_word(flag, item, where) for item in (value or "").split(","))


def _sub_word(flag: Flag, item: str, where: Where) -> Word:
    aliases = dict(flag.aliases)
    known = dict(flag.keys)
    if flag.kind is FlagKind.FEATURES:
        caret, name = ("^", item[1:]) if item.startswith("^") else ("", item)
        name = aliases.get(name, name)
        if name not in known:
            raise where.refused(item, f"{flag.names[0]} has no such feature on the list", known)
        text = caret + name
        return Word(flag.names[0], flag.kind, name, text, item if text != item else "")
    key, value = _pair(item)
    key = aliases.get(key, key)
    _check_pair(item, key, value, known, where)
    text = key if value is None else f"{key}={value}"
    return Word(flag.names[0], flag.kind, key, text, item if text != item else "")


def _check_pair(item: str, key: str, value: str | None, known: dict[str, Argument], where: Where) -> None:
    if key not in known:
        raise where.refused(item, "it is not on the list", known)
    if not known[key].accepts(value):
        raise where.refused(item, f"{key} takes {known[key].wanted}", known[key].examples)


def _pair(item: str) -> tuple[str, str | None]:
    key, equals, value = item.partition("=")
    return key, value if equals else None


def _without_contradictions(words: Sequence[Word], where: Where) -> tuple[Word, ...]:
    """Drop what is said twice; raise OptionRefused where one key is given two values."""
    found: dict[tuple[str, str], Word] = {}
    for word in words:
        earlier = found.setdefault((word.flag, _stem(word.key)), word)
        if earlier.text != word.text:
            raise where.refused(word.text or word.flag, f"it contradicts {earlier.label}", (earlier.label,))
    return tuple(found.values())


def _stem(key: str) -> str:
    """Return what a word and its opposite share: "discard" for "nodiscard"."""
    return key.removeprefix("no")


def _wanted(flag: Flag) -> str:
    if flag.kind is FlagKind.VALUE:
        return flag.argument.wanted
    return "words separated by commas: " + ", ".join(key for key, _ in flag.keys)
