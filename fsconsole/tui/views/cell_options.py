"""The options of one cell: what was asked for, whether it is in effect, and all that was read back. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fsconsole.catalog.effects import Effect, Seen, effect_of
from fsconsole.catalog.filesystem import Catalog, Scope
from fsconsole.catalog.given import Given, given_options
from fsconsole.catalog.words import Where, split_flags, split_mount
from fsconsole.errors import FsconsoleError
from fsconsole.model.array_words import cell_array_words
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState
from fsconsole.model.variant import Variant
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of, pad_right, shorten_middle
from fsconsole.tui.views.results import broken, hanging
from fsconsole.tui.widgets.lines import TextLine

_JOURNAL = Where("the journal", "options")
_NOT_READ = "not read back"
_WIDEST_OPTION = 48
_ROOMY = 100
"""From this width on there is room for what an option means."""


def option_lines(cell: Cell, known: CellState, catalog: Catalog, width: int) -> tuple[TextLine, ...]:
    """Return the variant's words, each option with its effect, the settings, and every feature that was read back."""
    variant = cell.variant
    if variant.is_raw:
        lines = [TextLine("Raw: the device itself, without a filesystem.")]
    else:
        lines = [*_words(variant, width), *_effects(variant, known, catalog, width)]
    if cell.array is not None:
        lines += [TextLine(""), TextLine("The array of this cell", "strong"), *_array(cell, width)]
    if cell.setting.values:
        lines += [TextLine(""), TextLine("Settings of this cell", "strong")]
        lines += [TextLine(printable(f"  {name} = {value}")) for name, value in cell.setting.values]
    for scope, title in ((Scope.MKFS, "Read back after mkfs"), (Scope.MOUNT, "Read back after mount")):
        seen = _seen(known, scope)
        if seen:
            lines += [TextLine(""), TextLine(title, "strong")]
            said = ", ".join(name if value == "on" else f"{name}={value}" for name, value in seen.items())
            lines += [TextLine(f"  {line}") for line in broken(printable(said), width - 2)]
    return tuple(lines)


def _array(cell: Cell, width: int) -> Iterator[TextLine]:
    parts = [cell_array_words(cell)]
    parts += [f"of {', '.join(cell.members)}"] if cell.members else []
    for part in parts:
        for line in hanging("  ", printable(part), width):
            yield TextLine(line)


def _words(variant: Variant, width: int) -> Iterator[TextLine]:
    yield TextLine("As asked for", "strong")
    parts = (
        ("filesystem", variant.filesystem),
        ("mkfs", shlex.join(variant.mkfs_words)),
        ("tune", shlex.join(variant.tune_words)),
        ("mount", ",".join(variant.mount_words)),
        ("published as", variant.as_printed),
    )
    for name, value in parts:
        if value:
            for line in hanging(f"  {name:<12}  ", printable(value), width):
                yield TextLine(line)


def _effects(variant: Variant, known: CellState, catalog: Catalog, width: int) -> Iterator[TextLine]:
    try:
        found = _given(variant, catalog)
    except FsconsoleError as error:
        yield TextLine("")
        for line in broken(f"What they are in effect can't be told: {error}", width):
            yield TextLine(line)
        return
    if not found:
        return
    yield TextLine("")
    yield TextLine("In effect or not, by what was read back", "strong")
    named = [(given.text, _effect(given, known), given.option.help) for given in found]
    widest = min(_WIDEST_OPTION, max(cells_of(text) for text, _, _ in named))
    for text, effect, about in named:
        tone = "strong" if effect == Effect.NOT_IN_EFFECT.value else ""
        lead = f"  {pad_right(printable(text), widest)}  {effect:<13}"
        if width < _ROOMY:
            yield TextLine(shorten_middle(lead.rstrip(), width), tone)
        else:
            for line in hanging(f"{lead}  ", about, width):
                yield TextLine(line, tone)


def _given(variant: Variant, catalog: Catalog) -> tuple[Given, ...]:
    filesystem = catalog.get(variant.filesystem)
    mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
    mount = split_mount(",".join(variant.mount_words), filesystem.mount_words, _JOURNAL)
    return given_options(filesystem, mkfs, mount)


def _effect(given: Given, known: CellState) -> str:
    seen = _seen(known, given.option.scope)
    return effect_of(given.option, given.value, seen).value if seen else _NOT_READ


def _seen(known: CellState, scope: Scope) -> Seen:
    return {feature.name: feature.value for feature in known.features if feature.scope == scope.value}
