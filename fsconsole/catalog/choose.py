"""From a variant's texts to the words that will be executed, and what speaks against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.catalog.filesystem import Filesystem, Option, Rule, Scope
from fsconsole.catalog.kernels import is_after, is_before
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
    base = split_flags(filesystem.base_mkfs, filesystem.mkfs_flags, _BASE)
    own = split_flags(mkfs, filesystem.mkfs_flags, _below(where, "mkfs"))
    return Chosen(
        mkfs=merge(base, own),
        own_mkfs=own,
        mount=split_mount(mount, filesystem.mount_words, _below(where, "mount")),
        tune=split_flags(tune, filesystem.tune_flags, _below(where, "tune")),
    )


def broken_rules(filesystem: Filesystem, chosen: Chosen) -> tuple[Rule, ...]:
    """Return the rules between options that these words break, in the catalog's order."""
    facts = chosen.facts
    return tuple(rule for rule in filesystem.rules if rule.when in facts and _breaks(rule, facts))


def require_rules(filesystem: Filesystem, chosen: Chosen, where: Where) -> None:
    """Raise OptionRefused for the first rule that these words break."""
    for rule in broken_rules(filesystem, chosen):
        program, _, word = rule.when.partition(" ")
        raise _below(where, program).refused(word, rule.why, rule.needs or ("leave one of them out",))


def refusals(filesystem: Filesystem, chosen: Chosen, kernel: str) -> tuple[str, ...]:
    """Return why this kernel won't take some of the words, in sentences; empty where it takes all.

    kernel is its release as uname prints it; empty means one of today.
    """
    facts = chosen.facts
    return tuple(
        f"{option.name}: {_why(option, kernel)}"
        for option in filesystem.options
        for value in _given_values(option, filesystem, facts)
        if _is_refused(option, value, kernel)
    )


def _is_refused(option: Option, value: str, kernel: str) -> bool:
    if option.since and kernel and is_before(kernel, option.since):
        return True
    touched = not option.refused_values or value in option.refused_values
    gone = option.until == "" or not kernel or is_after(kernel, option.until)
    return option.refusal != "" and touched and gone


def _why(option: Option, kernel: str) -> str:
    if option.since and kernel and is_before(kernel, option.since):
        return f"needs Linux {option.since}"
    until = f", last taken by Linux {option.until}" if option.until else ""
    return f"today's kernels refuse it ({option.refusal}){until}"


def _given_values(option: Option, filesystem: Filesystem, facts: frozenset[str]) -> tuple[str, ...]:
    """Return the option's values whose words are all among the facts; "" stands for any value of a kind."""
    texts = option.texts or (("", option.template.replace("={value}", "").replace(" {value}", "")),)
    return tuple(value for value, text in texts if _text_facts(option, filesystem, text) <= facts)


def _text_facts(option: Option, filesystem: Filesystem, text: str) -> frozenset[str]:
    if not option.texts:
        return frozenset({f"{option.scope.value} {text}"})
    if option.scope is Scope.MKFS:
        return _facts("mkfs", split_flags(text, filesystem.mkfs_flags, _BASE))
    return _facts("mount", split_mount(text, filesystem.mount_words, _BASE))


def _breaks(rule: Rule, facts: frozenset[str]) -> bool:
    excluded = any(word in facts for word in rule.excludes)
    return excluded or (bool(rule.needs) and not any(word in facts for word in rule.needs))


def _facts(program: str, words: Sequence[Word]) -> frozenset[str]:
    return frozenset(fact for word in words for fact in word.facts(program))


def _below(where: Where, name: str) -> Where:
    return Where(where.path, f"{where.key}.{name}")
