"""Reads one [[filesystem]] checklist or one [[variant]] of a plan file, against the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.catalog.choose import choose, require_rules
from fsconsole.catalog.filesystem import Catalog, Filesystem, Option, Scope
from fsconsole.catalog.nearest import nearest_words
from fsconsole.catalog.tables import Table, shown
from fsconsole.catalog.words import Where
from fsconsole.errors import OptionRefused, PlanBadValue, PlanUnknownKey, UnknownFilesystem
from fsconsole.plan import limits
from fsconsole.plan.planfile import Checklist, VariantText

Axes = tuple[tuple[str, tuple[str, ...]], ...]


def read_checklist(table: Table, catalog: Catalog) -> Checklist:
    """Return a checklist; raises PlanUnknownKey, PlanBadValue, UnknownFilesystem, OptionRefused."""
    table.only("type", "mkfs", "mount", "exclude")
    filesystem = _filesystem(table, catalog)
    mkfs = _axes(table.table("mkfs"), filesystem, Scope.MKFS)
    mount = _axes(table.table("mount"), filesystem, Scope.MOUNT)
    exclude = tuple(_excluded(item, filesystem) for item in table.tables("exclude"))
    renamed = (*_renamed(table.table("mkfs"), filesystem), *_renamed(table.table("mount"), filesystem))
    return Checklist(filesystem.name, mkfs, mount, exclude, renamed)


def read_variant(table: Table, catalog: Catalog) -> VariantText:
    """Return a variant whose words have passed the allow-list and the rules; the same errors."""
    table.only("type", "mkfs", "mount", "tune", "label", "as_printed")
    filesystem = _filesystem(table, catalog)
    variant = VariantText(
        filesystem=filesystem.name,
        mkfs=table.text("mkfs", ""),
        mount=table.text("mount", ""),
        tune=table.text("tune", ""),
        label=_short(table, "label"),
        as_printed=_short(table, "as_printed"),
    )
    where = Where(table.path, table.place)
    chosen = choose(filesystem, variant.mkfs, variant.mount, variant.tune, where)
    require_rules(filesystem, chosen, where)
    return variant


def _short(table: Table, name: str) -> str:
    text = table.text(name, "")
    if len(text) > limits.MAX_NAME_CHARACTERS:
        raise table.bad(name, "it is too long", f"at most {limits.MAX_NAME_CHARACTERS} characters")
    return text


def _filesystem(table: Table, catalog: Catalog) -> Filesystem:
    name = table.text("type")
    if name not in catalog.names:
        nearest = nearest_words(name, catalog.names)
        raise UnknownFilesystem(table.path, table.key("type"), name, nearest)
    return catalog.get(name)


def _axes(table: Table, filesystem: Filesystem, scope: Scope) -> Axes:
    axes: dict[str, tuple[str, ...]] = {}
    for key in table.names():
        option = _option(table, key, filesystem, (scope,))
        if option.name in axes:
            raise table.bad(key, f"this is {option.name} under its old name, given twice", "one of them")
        axes[option.name] = table.words(key)
        for value in axes[option.name]:
            _require_value(table, key, option, value)
    return tuple(axes.items())


def _renamed(table: Table, filesystem: Filesystem) -> Iterator[tuple[str, str]]:
    """Yield the keys that are old names, with today's."""
    options = ((key, option) for key in table.names() for option in filesystem.options)
    return ((key, option.name) for key, option in options if key in option.old_names)


def _excluded(table: Table, filesystem: Filesystem) -> tuple[tuple[str, str], ...]:
    if not table.names():
        raise PlanBadValue(
            table.path, table.place, "{}", "it would exclude everything", "options with values"
        )
    pairs = {}
    for key in table.names():
        option = _option(table, key, filesystem, tuple(Scope))
        values = table.words(key)
        if len(values) != 1:
            raise table.bad(key, "an excluded combination names one value of each option", "one value")
        _require_value(table, key, option, values[0])
        pairs[option.name] = values[0]
    return tuple(pairs.items())


def _option(table: Table, key: str, filesystem: Filesystem, scopes: tuple[Scope, ...]) -> Option:
    for scope in scopes:
        option = filesystem.option(key, scope)
        if option is not None:
            return option
    valid = [option.name for option in filesystem.options if option.scope in scopes]
    raise PlanUnknownKey(table.path, table.key(key), nearest_words(key, valid))


def _require_value(table: Table, key: str, option: Option, value: str) -> None:
    if option.accepts(value):
        return
    valid = [known for known, _ in option.texts] or [option.wanted]
    raise OptionRefused(
        table.path,
        table.key(key),
        shown(value).strip('"'),
        f"{option.name} takes {option.wanted}",
        nearest_words(value, valid),
    )
