"""Reads a plan file; every error names the file, the key and what is valid there."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tomli

from fsconsole.catalog.filesystem import Catalog, Filesystem, Option, Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.tables import Table, close_words, make_all, nearest_words, raise_all, shown
from fsconsole.catalog.words import Where, choose, require_rules
from fsconsole.errors.targets import (
    OptionRefused,
    PlanBadValue,
    PlanKeyMissing,
    PlanMissing,
    PlanNotSent,
    PlanNotToml,
    PlanTooLarge,
    PlanUnknownKey,
    RowsMissing,
    UnknownFilesystem,
    WorkloadMissing,
)
from fsconsole.model.plan import After
from fsconsole.plan import keys
from fsconsole.plan.arrays import least_members
from fsconsole.plan.lines import telling_lines
from fsconsole.plan.planfile import ArrayAxis, Checklist, PlanFile, VariantText
from fsconsole.plan.read_workload import read_workloads
from fsconsole.plan.scaling import wrong_keep
from fsconsole.plan.shipped import RECIPES, configs_folder
from fsconsole.system.files import read_regular_file
from fsconsole.text import MIB, did_you_mean, error_reason

MAX_PLAN_FILE_BYTES = MIB
_SUFFIX = ".toml"
_NO_FILES = (
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def list_configs() -> tuple[Path, ...]:
    """Return the shipped plan files, recipes first, each group by name; other subfolders hold other files."""
    folder = configs_folder()
    return (*sorted((folder / RECIPES).glob("*" + _SUFFIX)), *sorted(folder.glob("*" + _SUFFIX)))


def find_config(name: str, why: str = "") -> Path:
    """Return the shipped plan of that name ("demo" or "demo.toml"); raises PlanMissing with this reason."""
    shipped = {path.stem: path for path in list_configs()}
    found = shipped.get(name.removesuffix(_SUFFIX))
    if found is None:
        near = did_you_mean(name.removesuffix(_SUFFIX), shipped, most=1)
        raise PlanMissing(name, why or "no such file, and no shipped plan of that name", near and f"{near} ")
    return found


def resolve_plan(name: str) -> Path:
    """Return the file of that path, or else the shipped plan of that name; raises PlanMissing."""
    path = Path(name)
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return find_config(name, "it is a broken link" if path.is_symlink() else "")
    except (OSError, ValueError) as error:
        raise PlanMissing(name, error_reason(error).lower()) from error
    if stat.S_ISDIR(found):
        # A directory that is called like a shipped plan hides none.
        return find_config(name, "it is a directory")
    kind = next((words for is_kind, words in _NO_FILES if is_kind(found)), "")
    if kind:
        raise PlanMissing(name, f"it is {kind}, not a file")
    return path


def read_array(table: Table) -> ArrayAxis:
    """Return the arrays of one table; raises PlanUnknownKey, PlanBadValue."""
    axis = ArrayAxis(**keys.read_table(table, keys.ARRAY))
    for key in keys.ARRAY:
        is_said = table.has(key.name) and (key.name != "assume_clean" or axis.assume_clean)
        if is_said and not set(axis.levels) & set(key.levels):
            why = f"{', '.join(axis.levels)} {key.lacks}"
            raise table.bad(key.name, why, f"this key beside one of {', '.join(key.levels)}")
    if "ppl" in axis.consistency_policies and "raid5" not in axis.levels:
        raise table.bad("consistency_policy", "only raid5 has a partial parity log", "ppl beside raid5")
    least = min(map(least_members, axis.levels))
    if axis.members and max(axis.members) < least:
        raise table.bad("members", "too few for the level", f"at least {least} for {axis.levels[0]}")
    return axis


def require_one_stripe_cache(settings: Table, arrays: Sequence[ArrayAxis]) -> None:
    """Raise PlanBadValue where the stripe cache is set as a setting and as a knob of arrays."""
    name = "stripe_cache_size"
    if settings.has(name) and any(axis.stripe_cache_sizes for axis in arrays):
        raise settings.bad(name, "[[array]] sets it too", "this key in one of the two places")


def read_checklist(table: Table, catalog: Catalog) -> Checklist:
    """Return a [[filesystem]]; raises PlanUnknownKey, PlanBadValue, UnknownFilesystem, OptionRefused."""
    table.only(*(key.name for key in keys.FILESYSTEM), elsewhere=keys.OF_THE_PLAN)
    filesystem = _filesystem(table, catalog)
    renamed: list[tuple[str, str]] = []

    def axes(scope: Scope) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, tuple[str, ...]] = {}
        own = table.table(scope.value)
        for key, option, values in _options(own, filesystem, scope):
            if option.name in found:
                raise own.bad(key, f"this is {option.name} under its old name, given twice", "one of them")
            found[option.name] = values
            if key in option.old_names:
                renamed.append((key, option.name))
        return tuple(found.items())

    mkfs, mount = make_all(partial(axes, scope) for scope in (Scope.MKFS, Scope.MOUNT))
    excluded = tuple(_excluded(item, filesystem) for item in table.tables("exclude"))
    return Checklist(filesystem.name, mkfs, mount, excluded, tuple(renamed))


def read_variant(table: Table, catalog: Catalog) -> VariantText:
    """Return a [[variant]] whose words have passed the allow-list and the rules; the same errors."""
    found: list[Filesystem] = []
    make_all((
        lambda: table.only(*(key.name for key in keys.VARIANT), elsewhere=keys.OF_THE_PLAN),
        lambda: found.append(_filesystem(table, catalog)),
    ))  # fmt: skip
    (filesystem,), variant = found, VariantText(**keys.read_keys(table, keys.VARIANT))
    where = Where(table.path, table.place)
    chosen = choose(filesystem, variant.mkfs, variant.mount, variant.tune, where)
    require_rules(filesystem, chosen, where)
    return variant


def _filesystem(table: Table, catalog: Catalog) -> Filesystem:
    name = table.as_text("type", table.raw("type"))
    if name not in catalog.names:
        nearest = close_words(name, catalog.names)
        raise UnknownFilesystem(table.path, table.key("type"), name, nearest)
    return catalog.get(name)


def _excluded(table: Table, filesystem: Filesystem) -> tuple[tuple[str, str], ...]:
    if not table.names():
        raise PlanBadValue(table.path, table.place, "{}", "it would exclude everything", "options with values")
    pairs = {}
    for key, option, values in _options(table, filesystem, *Scope):
        if len(values) != 1:
            raise table.bad(key, "an excluded combination names one value of each option", "one value")
        pairs[option.name] = values[0]
    return tuple(pairs.items())


def _options(table: Table, filesystem: Filesystem, *scopes: Scope) -> tuple[tuple[str, Option, tuple[str, ...]], ...]:
    """Return (key, option, values) of a table; raises PlanUnknownKey, PlanBadValue, OptionRefused."""

    def read(key: str) -> tuple[str, Option, tuple[str, ...]]:
        option = next(filter(None, (filesystem.option(key, scope) for scope in scopes)), None)
        if option is None:
            valid = [option.name for option in filesystem.options if option.scope in scopes]
            raise PlanUnknownKey(table.path, table.key(key), close_words(key, valid))
        values = table.words(key)
        for value in values:
            if option.has_words(value) and not option.accepts(value):
                nearest = nearest_words(value, tuple(option.texts) or (option.wanted,))
                why = f"{option.name} takes {option.wanted}"
                raise OptionRefused(table.path, table.key(key), shown(value).strip('"'), why, nearest)
        return key, option, values

    return make_all(partial(read, key) for key in table.names())


def read_plan(path: str | os.PathLike[str], *, needs_rows: bool = True) -> PlanFile:
    """Return what a plan file says, checked against the shipped catalog; without needs_rows it may name no filesystem.

    Raises PlanMissing, PlanNotToml, PlanUnknownKey, PlanBadValue, UnknownFilesystem, OptionRefused.
    """
    try:
        raw = read_regular_file(path, MAX_PLAN_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise PlanMissing(str(path), error_reason(error).lower()) from error
    return _decoded(raw, str(path), needs_rows=needs_rows)


STDIN = "-"
"""The word for a plan on standard input."""


def read_named(name: str, *, needs_rows: bool = True) -> PlanFile:
    """Return the plan of a path, a shipped name, or "-" for standard input. The same errors."""
    if name != STDIN:
        return read_plan(resolve_plan(name), needs_rows=needs_rows)
    raw = sys.stdin.buffer.read(MAX_PLAN_FILE_BYTES + 1)
    if not raw.strip():
        raise PlanNotSent
    return _decoded(raw, "stdin", needs_rows=needs_rows)


def _decoded(raw: bytes, path: str, *, needs_rows: bool) -> PlanFile:
    if len(raw) > MAX_PLAN_FILE_BYTES:
        raise PlanTooLarge(path, f"it is larger than {MAX_PLAN_FILE_BYTES // MIB} MiB")
    try:
        # With a byte order mark, as editors of Windows write it.
        return parse_plan(raw.decode("utf-8-sig"), path, needs_rows=needs_rows)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise PlanNotToml(path, f"it is not UTF-8 text (at line {line})") from error


def parse_plan(text: str, path: str, catalog: Catalog | None = None, *, needs_rows: bool = True) -> PlanFile:
    """Return what a plan's text says; path is for the words of errors only. The same errors but PlanMissing."""
    try:
        table = Table(path, "", tomli.loads(text))
    except tomli.TOMLDecodeError as error:
        raise PlanNotToml(path, str(error)) from error
    except ValueError as error:
        # Python reads no more than 4,300 digits as a number, which tomli does not turn into an error of its own.
        raise PlanNotToml(path, "a number in it has too many digits") from error
    except RecursionError as error:
        raise PlanNotToml(path, "its brackets are nested too deeply") from error
    known = catalog if catalog is not None else load_catalog()
    with telling_lines(path, text):
        return _plan_of(table, known, text, needs_rows=needs_rows)


def _plan_of(table: Table, catalog: Catalog, text: str, *, needs_rows: bool) -> PlanFile:
    """Return the plan that a table holds. Raises all that is wrong with its parts; with the whole, where these are right."""
    found: dict[str, Any] = {}

    def part(name: str, read: Callable[[], object]) -> Callable[[], None]:
        return lambda: found.update({name: read()})

    def all_of(name: str, read: Callable[[Table], object]) -> Callable[[], tuple[object, ...]]:
        return lambda: make_all(partial(read, item) for item in table.tables(name))

    make_all((
        lambda: table.only(*keys.TOP),
        lambda: keys.SCHEMA_KEY.kind.read(table, keys.SCHEMA_KEY.name),
        lambda: found.update(keys.read_keys(table, keys.RUN)),
        part("settings", lambda: keys.read_settings(table.table("settings"))),
        part("arrays", all_of("array", read_array)),
        part("checklists", all_of("filesystem", lambda item: read_checklist(item, catalog))),
        part("variants", all_of("variant", lambda item: read_variant(item, catalog))),
        part("workloads", lambda: read_workloads(table.tables("workload"))),
        part("after", lambda: After(**keys.read_table(table.table("after"), keys.AFTER))),
    ))  # fmt: skip
    plan = PlanFile(**found, path=table.path, source=text)
    raise_all(_lacks(table, plan, needs_rows=needs_rows))
    raise_all(table.bad(*broken) for broken in wrong_keep(plan))
    require_one_stripe_cache(table.table("settings"), plan.arrays)
    return plan


def _lacks(table: Table, plan: PlanFile, *, needs_rows: bool) -> Iterator[PlanKeyMissing]:
    if not plan.workloads:
        yield WorkloadMissing(table.path)
    if needs_rows and not plan.checklists and not plan.variants and not plan.raw:
        yield RowsMissing(table.path)
