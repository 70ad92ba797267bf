"""A row for use: its mkfs and fstab lines, what it had beside them, and whether the catalog calls it unsafe."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import unsafe_words
from fsconsole.errors.targets import OptionRefused
from fsconsole.kit.lines import Destination, apply_lines
from fsconsole.model.plan import Variant
from fsconsole.results.advice import Safety
from fsconsole.results.figures import RowKey
from fsconsole.show.lines import TextLine, block, command_lines, text_lines

DEVICE, MOUNT_POINT = "/dev/DEVICE", "/mnt/data"
"""In the lines as they are shown: what is pasted without a look wipes nothing."""


@dataclass(frozen=True, slots=True)
class UseLines:
    """Lines to copy, and sentences about them; without lines, why there are none."""

    make: tuple[tuple[str, ...], ...]
    """Commands as words."""
    fstab: str
    about: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines, each whole; none where there are no commands."""
        return (*map(shlex.join, self.make), self.fstab) if self.make else ()


def safety_of(variant: Variant) -> Safety:
    """Return what today's catalog calls unsafe in a variant, or why that is not known."""
    catalog = load_catalog()
    if variant.filesystem not in catalog.names:
        return Safety(unknown=f"today's catalog has no {variant.filesystem}")
    try:
        return Safety(unsafe_words(catalog.get(variant.filesystem), variant))
    except OptionRefused as error:
        return Safety(unknown=f"today's catalog refuses {error.word}")


def use_lines(key: RowKey, uuid: str) -> UseLines:
    """Return the mkfs and fstab lines of a row, for a filesystem that is given that UUID."""
    variant = key.variant
    if variant.is_raw:
        return UseLines((), "", ("Raw: the device itself, without a filesystem. There is nothing to make.",))
    if variant.is_directory:
        return UseLines((), "", ("A directory: fsconsole made no filesystem for it.",))
    safety = safety_of(variant)
    if safety.unknown:
        return UseLines((), "", (f"No lines: {safety.unknown}.",))
    found = apply_lines(load_catalog().get(variant.filesystem), variant, Destination(DEVICE, uuid, MOUNT_POINT))
    about = [f"UNSAFE: {one}." for one in safety.unsafe]
    about.append(f"mkfs wipes the device: put yours for {DEVICE}, and your mount point for {MOUNT_POINT}.")
    if found.stripped:
        about.append(f"Left out, needed for measuring only: {shlex.join(found.stripped)}.")
    if key.array is not None:
        about.append("The row was measured on an array that fsconsole made: make that first.")
    if key.setting.values:
        values = ", ".join(f"{name}={value}" for name, value in key.setting.values)
        about.append(f"Measured with {values}: set that on the device too.")
    return UseLines(found.make, found.fstab, tuple(about))


def use_words(title: str, use: UseLines, copied: str, width: int) -> tuple[TextLine, ...]:
    """Return the lines whole, commands broken as a shell reads on, then what is to be said of them."""
    found = text_lines(f"{title}: mkfs and /etc/fstab" if use.lines else title, width, "strong")
    for words in use.make:
        found += [TextLine(""), *command_lines(words, width)]
    found += [TextLine(""), *block(use.fstab, width, is_whole=True)] if use.fstab else []
    for said in filter(None, (copied if use.lines else "", *use.about)):
        found += [TextLine(""), *text_lines(said, width)]
    return tuple(found)
