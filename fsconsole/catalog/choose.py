"""From a variant's texts to the words that will be executed, and what speaks against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fsconsole.catalog.filesystem import Filesystem, Option, Rule
from fsconsole.catalog.given import given_options
from fsconsole.catalog.kernels import is_after, is_before
from fsconsole.catalog.known import NOTHING_KNOWN, Known, Verdict
from fsconsole.catalog.words import Where, Word, merge, split_flags, split_mount

_BASE = Where("the catalog", "base_mkfs")


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
        return _facts("mkfs", self.mkfs) | _facts("tune", self.tune) | _facts("mount", self.mount)


def choose(filesystem: Filesystem, mkfs: str, mount: str, tune: str, where: Where) -> Chosen:
    """Return the accepted words of a variant's texts; where.key is the variant's. Raises OptionRefused."""
    base = _base(filesystem)
    own = split_flags(mkfs, filesystem.mkfs_flags, _below(where, "mkfs"))
    return Chosen(
        mkfs=merge(base, own),
        own_mkfs=own,
        mount=split_mount(mount, filesystem.mount_words, _below(where, "mount")),
        tune=split_flags(tune, filesystem.tune_flags, _below(where, "tune")),
    )


@lru_cache(maxsize=64)
def _base(filesystem: Filesystem) -> tuple[Word, ...]:
    return split_flags(filesystem.base_mkfs, filesystem.mkfs_flags, _BASE)


def broken_rules(filesystem: Filesystem, chosen: Chosen) -> tuple[Rule, ...]:
    """Return the rules between options that these words break, in the catalog's order."""
    facts = chosen.facts
    return tuple(rule for rule in filesystem.rules if rule.when in facts and _breaks(rule, facts))


def require_rules(filesystem: Filesystem, chosen: Chosen, where: Where) -> None:
    """Raise OptionRefused for the first rule that these words break."""
    for rule in broken_rules(filesystem, chosen):
        program, _, word = rule.when.partition(" ")
        raise _below(where, program).refused(word, rule.why, rule.needs or ("leave one of them out",))


def refusals(
    filesystem: Filesystem, chosen: Chosen, kernel: str, known: Known = NOTHING_KNOWN
) -> tuple[str, ...]:
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
    words = option.refusal_of(value)
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


def _breaks(rule: Rule, facts: frozenset[str]) -> bool:
    excluded = any(word in facts for word in rule.excludes)
    return excluded or (bool(rule.needs) and not any(word in facts for word in rule.needs))


def _facts(program: str, words: Sequence[Word]) -> frozenset[str]:
    return frozenset(fact for word in words for fact in word.facts(program))


def _below(where: Where, name: str) -> Where:
    return Where(where.path, f"{where.key}.{name}")
