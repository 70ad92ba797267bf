"""What there is to be tried: every option of a filesystem at every value, as words of mkfs and mount. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.catalog.choose import Chosen, broken_rules, choose
from fsconsole.catalog.filesystem import Filesystem, Option, Scope
from fsconsole.catalog.words import Where, to_argv
from fsconsole.model.variant import Variant

_CATALOG = Where("the catalog", "option")


@dataclass(frozen=True, slots=True)
class Trial:
    """One option at one value, with the words that it takes beside: those declared, and those that a rule asks for."""

    option: Option
    value: str
    variant: Variant


def plain_variant(filesystem: Filesystem) -> Variant:
    """Return the filesystem without a single option: what must work before anything is said of options."""
    return _variant(filesystem, choose(filesystem, "", "", "", _CATALOG))


def list_trials(filesystem: Filesystem) -> tuple[Trial, ...]:
    """Return all trials of a filesystem, in the catalog's order."""
    return tuple(
        _trial(filesystem, option, value) for option in filesystem.options for value in option.values_to_try
    )


def _trial(filesystem: Filesystem, option: Option, value: str) -> Trial:
    own = {option.scope: option.text(value)}
    mkfs = [own.get(Scope.MKFS, ""), option.trial_mkfs]
    mount = [own.get(Scope.MOUNT, ""), option.trial_mount]
    for rule in broken_rules(filesystem, _chosen(filesystem, mkfs, mount)):
        program, _, words = (rule.needs or ("",))[0].partition(" ")
        (mkfs if program == Scope.MKFS.value else mount).append(words)
    return Trial(option, value, _variant(filesystem, _chosen(filesystem, mkfs, mount)))


def _chosen(filesystem: Filesystem, mkfs: Sequence[str], mount: Sequence[str]) -> Chosen:
    return choose(filesystem, " ".join(filter(None, mkfs)), ",".join(filter(None, mount)), "", _CATALOG)


def _variant(filesystem: Filesystem, chosen: Chosen) -> Variant:
    return Variant(
        label="",
        filesystem=filesystem.name,
        mkfs_words=to_argv(chosen.mkfs),
        mount_words=tuple(word.text for word in chosen.mount),
    )
