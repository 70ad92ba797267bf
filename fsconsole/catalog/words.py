"""mkfs, tune and mount words taken apart, held against the allow-list, and put together again.

What is not declared is refused: the lists say what may be said, never what may not. Texts are split as a shell
would split them and never given to one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from operator import itemgetter

from fsconsole.catalog.filesystem import (
    NOTHING_KNOWN,
    Argument,
    Filesystem,
    Flag,
    FlagKind,
    Known,
    Option,
    Rule,
    Scope,
    Verdict,
    is_after,
    is_before,
)
from fsconsole.catalog.tables import nearest_words
from fsconsole.errors.targets import BadQuantity, OptionRefused
from fsconsole.model.plan import Variant
from fsconsole.units import parse_bytes

_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Where:
    """The file and key that a text came from."""

    path: str
    key: str

    def below(self, name: str) -> Where:
        """Return the place of a key below this one."""
        return Where(self.path, f"{self.key}.{name}")

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
    def whole(self) -> str:
        """Flag and text: "-O ^flex_bg", "nodelalloc"."""
        return f"{self.flag} {self.text}".strip()

    @property
    def label(self) -> str:
        """The word as a row's name shows it: "-I 256", "stride=32", "^flex_bg", "nodelalloc"."""
        return self.whole if self.kind is FlagKind.VALUE else self.text

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
    _check_text(text, known, where)
    try:
        tokens = shlex.split(text)
    except ValueError as error:
        raise where.refused(text, f"its quotes don't match ({error})", known) from error
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


def split_mount(text: str, filesystem: Filesystem, where: Where) -> tuple[Word, ...]:
    """Return the words of a mount option list such as "noatime,data=writeback"; raises OptionRefused."""
    known = filesystem.mount_words
    _check_text(text, known, where)
    if not text.strip():
        return ()
    words = []
    for item in text.strip().split(","):
        text = filesystem.mount_aliases.get(item, item)
        key, value = _pair(text)
        _check_pair(item, key, value, known, where)
        words.append(Word("", FlagKind.PAIRS, key, text, item if text != item else ""))
    return _without_contradictions(words, where)


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
    name, attached = _pair(token) if token.startswith("--") else (token[:2], token[2:])
    if name not in known or attached is None:
        raise where.refused(token, "this flag is not on the list", known)
    return known[name], attached


def _flag_words(flag: Flag, value: str | None, where: Where) -> tuple[Word, ...]:
    name = flag.names[0]
    if flag.kind is FlagKind.VALUE:
        if not flag.argument.accepts(value):
            why = f"{name} takes {_wanted(flag)}"
            raise where.refused(f"{name} {value or ''}".strip(), why, flag.argument.examples)
        return (Word(name, flag.kind, "", value or ""),)
    return tuple(_sub_word(flag, item, where) for item in (value or "").split(","))


def _sub_word(flag: Flag, item: str, where: Where) -> Word:
    is_feature = flag.kind is FlagKind.FEATURES
    caret, name = ("^", item[1:]) if is_feature and item.startswith("^") else ("", item)
    key, value = (name, None) if is_feature else _pair(name)
    key = flag.aliases.get(key, key)
    if is_feature and key not in flag.keys:
        raise where.refused(item, f"{flag.names[0]} has no such feature on the list", flag.keys)
    _check_pair(item, key, value, flag.keys, where)
    text = caret + (key if value is None else f"{key}={value}")
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
    """Drop repeated words; raise OptionRefused where one key is given two values."""
    found: dict[tuple[str, str], Word] = {}
    for word in words:
        earlier = found.setdefault((word.flag, _stem(word.key)), word)
        if earlier.text != word.text:
            raise where.refused(word.text or word.flag, f"it contradicts {earlier.label}", (earlier.label,))
    return tuple(found.values())


def _stem(key: str) -> str:
    """Return the part that a word and its opposite share: "discard" for "nodiscard"."""
    return key.removeprefix("no")


def _wanted(flag: Flag) -> str:
    if flag.kind is FlagKind.VALUE:
        return flag.argument.wanted
    return "words separated by commas: " + ", ".join(flag.keys)


# Options at values that a variant's words set.

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


def given_options(filesystem: Filesystem, mkfs: tuple[Word, ...], mount: tuple[Word, ...]) -> tuple[Given, ...]:
    """Return every option that these words set, in the catalog's order."""
    found = (*_set_by(filesystem, Scope.MKFS, frozenset(mkfs)), *_set_by(filesystem, Scope.MOUNT, frozenset(mount)))
    return tuple(given for _, given in sorted(found, key=itemgetter(0)))


# A plan's variants are combinations: ten thousand of them have some hundred texts for mkfs, and for mount.
@lru_cache(maxsize=4096)
def _set_by(filesystem: Filesystem, scope: Scope, said: frozenset[Word]) -> tuple[tuple[int, Given], ...]:
    """Return the options of one scope that these words set, with their places in the catalog."""
    in_order = tuple(sorted(said, key=lambda word: word.whole))
    return tuple(
        (place, given)
        for place, (option, counted) in enumerate(_all_counted(filesystem))
        if option.scope is scope
        for given in (counted or _typed(filesystem, option, in_order))
        if given.words <= said
    )


@lru_cache(maxsize=4096)
def _own_words(filesystem: Filesystem, scope: Scope, text: str, where: Where = _CATALOG) -> tuple[Word, ...]:
    """Return the words of a text, one that the catalog itself has unless it says where it is from."""
    if scope is Scope.MKFS:
        return split_flags(text, filesystem.mkfs_flags, where)
    return split_mount(text, filesystem, where)


def _given(filesystem: Filesystem, option: Option, value: str) -> Given:
    return Given(option, value, frozenset(_own_words(filesystem, option.scope, option.text(value))))


@lru_cache(maxsize=64)
def _all_counted(filesystem: Filesystem) -> tuple[tuple[Option, tuple[Given, ...]], ...]:
    """Return every option with the words of each of its values; none where values can't be listed."""
    return tuple(
        (option, tuple(_given(filesystem, option, value) for value in option.texts)) for option in filesystem.options
    )


def _typed(filesystem: Filesystem, option: Option, said: tuple[Word, ...]) -> Iterator[Given]:
    """Yield an option at the values that stand where its template has its own."""
    head = option.template.partition("{value}")[0]
    for word in said:
        whole = word.whole
        value = whole.removeprefix(head)
        if whole.startswith(head) and option.accepts(value):
            yield _given(filesystem, option, value)


# From a variant's texts to the words that will be executed, and what speaks against them.


@dataclass(frozen=True, slots=True)
class Chosen:
    """A variant's accepted words; mkfs holds the catalog's base words too, own_mkfs those of the plan alone."""

    mkfs: tuple[Word, ...]
    own_mkfs: tuple[Word, ...]
    mount: tuple[Word, ...]
    tune: tuple[Word, ...]

    @property
    def own(self) -> tuple[Word, ...]:
        """The words that the plan asked for, in the order in which they take effect."""
        return self.own_mkfs + self.tune + self.mount

    @property
    def facts(self) -> frozenset[str]:
        """Everything that rules can ask about."""
        said = (("mkfs", self.mkfs), ("tune", self.tune), ("mount", self.mount))
        return frozenset(fact for program, words in said for word in words for fact in word.facts(program))


def choose(filesystem: Filesystem, mkfs: str, mount: str, tune: str, where: Where) -> Chosen:
    """Return the accepted words of a variant's texts; where.key is the variant's. Raises OptionRefused."""
    own = _own_words(filesystem, Scope.MKFS, mkfs, where.below("mkfs"))
    taken = {(word.flag, _stem(word.key)) for word in own}
    base = _own_words(filesystem, Scope.MKFS, filesystem.base_mkfs)
    return Chosen(
        mkfs=(*(word for word in base if (word.flag, _stem(word.key)) not in taken), *own),
        own_mkfs=own,
        mount=_own_words(filesystem, Scope.MOUNT, mount, where.below("mount")),
        tune=split_flags(tune, filesystem.tune_flags, where.below("tune")),
    )


def unsafe_words(filesystem: Filesystem, variant: Variant) -> tuple[str, ...]:
    """Return in clauses what the catalog calls unsafe of a variant. Raises OptionRefused for words that it has dropped."""
    texts = [" ".join(words) for words in (variant.mkfs_words, variant.tune_words)]
    facts = choose(filesystem, texts[0], ",".join(variant.mount_words), texts[1], _CATALOG).facts
    return tuple(dict.fromkeys(one.why for one in filesystem.unsafe if not one.when or one.when in facts))


def broken_rules(filesystem: Filesystem, chosen: Chosen) -> tuple[Rule, ...]:
    """Return the rules between options that these words break, in the catalog's order."""
    facts = chosen.facts
    return tuple(
        rule
        for rule in filesystem.rules
        if rule.when in facts and (not facts.isdisjoint(rule.excludes) or (rule.needs and facts.isdisjoint(rule.needs)))
    )


def require_rules(filesystem: Filesystem, chosen: Chosen, where: Where) -> None:
    """Raise OptionRefused for the first rule that these words break."""
    for rule in broken_rules(filesystem, chosen):
        program, _, word = rule.when.partition(" ")
        raise where.below(program).refused(word, rule.why, rule.needs or ("leave one of them out",))


def refusals(filesystem: Filesystem, chosen: Chosen, kernel: str, known: Known = NOTHING_KNOWN) -> tuple[str, ...]:
    """Return why this kernel won't take the variant, in clauses; empty where it takes all.

    kernel is its release as uname prints it; empty means one of today. What was found out by trying counts more
    than what is declared.
    """
    absent = why_no_driver(filesystem, kernel, known)
    if absent:
        return (absent,)
    reasons = (
        f"{given.option.name}: {why}"
        for given in given_options(filesystem, chosen.mkfs, chosen.mount)
        if (why := why_refused(filesystem, given.option, given.value, kernel, known))
    )
    return tuple(dict.fromkeys(reasons))


def why_refused(filesystem: Filesystem, option: Option, value: str, kernel: str, known: Known) -> str:
    """Return why an option at a value is refused, as a clause; empty where it isn't. kernel and known as above."""
    answer = known.about(filesystem.name, option, value)
    if answer is not None and answer.verdict is not Verdict.UNTRIED and option.depends != "device":
        tried = f"this machine refuses it ({answer.words})"
        return tried if answer.verdict is Verdict.REFUSED else ""
    if option.since and kernel and is_before(kernel, option.since):
        return f"needs Linux {option.since}"
    words = option.refusals.of(value)
    gone = option.until == "" or not kernel or is_after(kernel, option.until)
    if not words or not gone or option.depends:
        return ""
    until = f", last taken by Linux {option.until}" if option.until else ""
    return f"today's kernels refuse it ({words}){until}"


def why_no_driver(filesystem: Filesystem, kernel: str, known: Known) -> str:
    """Return why this kernel can't mount the filesystem at all, as a clause; empty where it can."""
    if absent := known.why_absent(filesystem.name):
        return absent
    if filesystem.since and kernel and is_before(kernel, filesystem.since):
        return f"{filesystem.name} came with Linux {filesystem.since}"
    if filesystem.until and (not kernel or is_after(kernel, filesystem.until)):
        return f"{filesystem.name} left the kernel after Linux {filesystem.until}"
    return ""


# Command templates filled in: the argv that is listed, and executed.

ALWAYS_MOUNTED_WITH = ("nosuid", "nodev")
"""A filesystem under test may hold arbitrary set-uid files and device nodes."""


def make_commands(filesystem: Filesystem, variant: Variant, device: str, uuid: str) -> tuple[tuple[str, ...], ...]:
    """Return the commands that make the variant on the device, mkfs first, which asks nothing.

    Then the filesystem has this UUID, by mkfs itself or by a command right after it, and its tuning words.
    """
    templates = filesystem.commands
    argvs = [filled(templates.mkfs, variant.mkfs_words, device=device, uuid=uuid)]
    if templates.identify:
        argvs.append(filled(templates.identify, device=device, uuid=uuid))
    if variant.tune_words:
        argvs.append(filled(templates.tune, variant.tune_words, device=device))
    return tuple(argvs)


def mount_command(filesystem: Filesystem, variant: Variant, device: str, mount_point: str) -> tuple[str, ...]:
    """Return the command that mounts the device: always nosuid and nodev, then the variant's words."""
    options = ",".join(ALWAYS_MOUNTED_WITH + variant.mount_words)
    return filled(filesystem.commands.mount, device=device, mount_point=mount_point, options=options)


def filled(template: tuple[str, ...], words: tuple[str, ...] = (), **values: str) -> tuple[str, ...]:
    """Return the argv of a command template; values are device, uuid, mount_point, options or tree."""
    argv: list[str] = []
    for part in template:
        # One placeholder a part: a value that looks like another one stays as it is.
        name = next((name for name in values if "{" + name + "}" in part), "")
        whole = part.replace("{" + name + "}", values[name]) if name else part
        argv.extend(words if part == "{words}" else [whole])
    return tuple(argv)


# Options in effect, by what was read back.
#
# Each option declares how a value of it shows: "data=journal" is a feature or option of that name and value, "delalloc"
# one that has no value of its own, "!delalloc" one that must be absent.

Seen = Mapping[str, str]
"""Names with values, as they were read back; "on" where a name has no value of its own."""

_ON = "on"
_REMOVED = re.compile(r"Ignoring removed (?P<word>\w+) option")
"""Messages of fs/ext4/super.c about words that it takes and that do nothing."""


class Effect(str, Enum):
    """Facts about an option that was accepted."""

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
    value, expected = seen.get(name, ""), expected if equals else _ON
    same = name in seen and (value == expected or _bytes(value) == _bytes(expected) != -1)
    return Effect.IN_EFFECT if same else Effect.NOT_IN_EFFECT


def not_in_effect(
    filesystem: Filesystem,
    mkfs: tuple[Word, ...],
    mount: tuple[Word, ...],
    seen: Mapping[Scope, Seen],
    kernel_log: Sequence[str],
) -> tuple[str, ...]:
    """Return a sentence for each of a variant's words that was accepted and is not in effect."""
    removed = removed_words(kernel_log)
    said: dict[str, None] = {}
    for given in given_options(filesystem, mkfs, mount):
        option = given.option
        found = seen.get(option.scope, {})
        effect = effect_of(option, given.value, found) if found else Effect.UNKNOWN
        if effect is Effect.NOT_IN_EFFECT:
            done = "mkfs made" if option.scope is Scope.MKFS else "the kernel mounted"
            name = option.shown_as(given.value).removeprefix("!").partition("=")[0]
            instead = name if found.get(name, _ON) == _ON else f"{name}={found[name]}"
            how = f"with {instead}" if name in found else f"without {name}"
            said[f"{given.text} is not in effect: {done} it {how}"] = None
        elif effect is Effect.UNKNOWN and given.text in removed:
            said[f"{given.text} is not in effect: the kernel says '{removed[given.text]}'"] = None
    return tuple(said)


def hidden_words(filesystem: Filesystem, words: tuple[Word, ...], mount: tuple[Word, ...]) -> tuple[str, ...]:
    """Return the words whose effect nothing that is read back would tell, sorted.

    Two variants that differ in none of these, and of which the same is read back, are the same.
    """
    found = given_options(filesystem, words, mount)
    shown = (given for given in found if given.option.shown_in or given.option.shown_as(given.value))
    visible = {word for given in shown for word in given.words}
    return tuple(sorted({word.whole for word in (*words, *mount) if word not in visible}))


def removed_words(kernel_log: Sequence[str]) -> dict[str, str]:
    """Return the mount words that the kernel said do nothing any more, with the line that says so."""
    matches = ((_REMOVED.search(line), line) for line in kernel_log)
    return {match["word"]: line for match, line in matches if match}


def _bytes(text: str) -> int:
    """Return a size, written as the tools write it (64k, 65536), in bytes; -1 for what is none."""
    try:
        return parse_bytes(text.upper())
    except BadQuantity:
        return -1
