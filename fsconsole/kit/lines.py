"""The mkfs, mount and fstab lines of a variant, without the words that only a measurement needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.catalog.filesystem import Filesystem
from fsconsole.catalog.words import Where, Word, choose, filled, to_argv
from fsconsole.model.plan import Variant

NOFAIL = "nofail"
"""A disk that is missing doesn't stop the boot."""
_WHERE = Where("the run's plan", "variant")
_LAZY = frozenset({"lazy_itable_init", "lazy_journal_init", "assume_storage_prezeroed", "init_itable", "noinit_itable"})
"""When, or whether, inode tables and journal are zeroed: a matter of the measurement's time, not of the filesystem."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A device for use, with the UUID that its filesystem is given and where it is mounted."""

    device: str
    uuid: str
    mount_point: str


@dataclass(frozen=True, slots=True)
class ApplyLines:
    """A variant for use: commands that make it, its mount words, its line in fstab, and the words that were left out."""

    make: tuple[tuple[str, ...], ...]
    """mkfs first, then what gives it its UUID and tunes it, where mkfs itself can't."""
    mount_words: tuple[str, ...]
    fstab: str
    stripped: tuple[str, ...]


def apply_lines(filesystem: Filesystem, variant: Variant, to: Destination, *, pinned: Sequence[str] = ()) -> ApplyLines:
    """Return the lines of a variant; pinned are mkfs words that stand behind its own. Raises OptionRefused.

    mkfs asks nothing: whoever runs it has looked at the device.
    """
    chosen = choose(
        filesystem,
        " ".join((*variant.mkfs_words, *pinned)),
        ",".join(variant.mount_words),
        " ".join(variant.tune_words),
        _WHERE,
    )
    mkfs = [word for word in chosen.mkfs if not is_for_measurement(filesystem, word)]
    mount = tuple(word.text for word in chosen.mount if word.key not in _LAZY)
    templates = filesystem.commands
    make = [filled(templates.mkfs, to_argv(mkfs), device=to.device, uuid=to.uuid)]
    if templates.identify:
        make.append(filled(templates.identify, device=to.device, uuid=to.uuid))
    if chosen.tune:
        make.append(filled(templates.tune, to_argv(chosen.tune), device=to.device))
    gone = [word.whole for word in (*chosen.mkfs, *chosen.mount) if word not in mkfs and word.text not in mount]
    return ApplyLines(
        make=tuple(make),
        mount_words=mount,
        fstab=fstab_line(filesystem, to, mount),
        stripped=tuple(gone),
    )


def is_for_measurement(filesystem: Filesystem, word: Word) -> bool:
    """Return whether an mkfs word is the catalog's own, for equal conditions, or says when tables are zeroed."""
    return word.key in _LAZY or (word.flag, word.text) in {(base.flag, base.text) for base in _base(filesystem)}


def _base(filesystem: Filesystem) -> tuple[Word, ...]:
    return choose(filesystem, "", "", "", _WHERE).mkfs


def fstab_line(filesystem: Filesystem, to: Destination, words: Sequence[str]) -> str:
    """Return a line of fstab(5): checked at boot only where that has a command of its own."""
    options = ",".join((*words, NOFAIL))
    order = 2 if filesystem.commands.recover else 0
    return f"UUID={to.uuid} {fstab_text(to.mount_point)} {filesystem.name} {options} 0 {order}"


def fstab_text(text: str) -> str:
    r"""Return a field of fstab: spaces, tabs, newlines and backslashes as \040 and so on (man 5 fstab)."""
    return "".join(f"\\{ord(one):03o}" if one in " \t\n\\#" else one for one in text)
