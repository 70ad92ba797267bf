"""Reads a plan file; every mistake is an error that names the file, the key and what is valid there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import tomli

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.tables import Table
from fsconsole.errors import PlanMissing, PlanNotToml
from fsconsole.model.plan import After, DeleteWith, Equalise, Order
from fsconsole.plan import limits
from fsconsole.plan.planfile import (
    AUTO_REPEATS,
    DEFAULT_SEED,
    SCHEMA,
    PlanFile,
    Scale,
    ScaleKind,
)
from fsconsole.plan.read_arrays import read_array, require_one_stripe_cache
from fsconsole.plan.read_filesystems import read_checklist, read_variant
from fsconsole.plan.read_workload import read_workloads
from fsconsole.plan.settings import read_setting_axes
from fsconsole.units import MIB

KEYS = (
    "schema", "title", "repeats", "order", "seed", "scale", "equalise", "raw",
    "settings", "array", "filesystem", "variant", "workload", "after",
)  # fmt: skip


def read_plan(path: str | os.PathLike[str]) -> PlanFile:
    """Return what a plan file says, checked against the shipped catalog.

    Raises PlanMissing, PlanNotToml, PlanUnknownKey, PlanBadValue, UnknownFilesystem, OptionRefused.
    """
    return parse_plan(_read_text(Path(path)), str(path))


def parse_plan(text: str, path: str, catalog: Catalog | None = None) -> PlanFile:
    """Return what a plan's text says; path is for the words of errors only. The same errors but PlanMissing."""
    table = Table(path, "", _parse_toml(text, path))
    known = catalog if catalog is not None else load_catalog()
    table.only(*KEYS)
    table.integer("schema", low=SCHEMA, high=SCHEMA)
    plan = PlanFile(
        title=_title(table),
        workloads=read_workloads(table.tables("workload")),
        checklists=tuple(read_checklist(item, known) for item in table.tables("filesystem")),
        variants=tuple(read_variant(item, known) for item in table.tables("variant")),
        repeats=_repeats(table),
        order=table.choice("order", Order, Order.SHUFFLED),
        seed=table.integer("seed", DEFAULT_SEED, low=0, high=limits.MAX_SEED),
        scale=_scale(table),
        equalise=table.choice("equalise", Equalise, Equalise.DISCARD),
        raw=table.flag("raw", default=False),
        settings=read_setting_axes(table.table("settings")),
        arrays=tuple(read_array(item) for item in table.tables("array")),
        after=_after(table.table("after")),
        path=path,
        source=text,
    )
    _require_something_to_do(table, plan)
    require_one_stripe_cache(table.table("settings"), plan.arrays)
    return plan


def _read_text(path: Path) -> str:
    raw = _read_bytes(path)
    if len(raw) > limits.MAX_PLAN_FILE_BYTES:
        raise PlanMissing(str(path), f"it is larger than {limits.MAX_PLAN_FILE_BYTES // MIB} MiB")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise PlanNotToml(str(path), f"it is not UTF-8 text (at line {line})") from error


def _read_bytes(path: Path) -> bytes:
    try:
        # A FIFO would block the open for ever; a plan is a regular file.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise PlanMissing(str(path), _why(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PlanMissing(str(path), "it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limits.MAX_PLAN_FILE_BYTES + 1)
    except OSError as error:
        raise PlanMissing(str(path), _why(error)) from error
    finally:
        os.close(descriptor)


def _why(error: OSError | ValueError) -> str:
    said = error.strerror if isinstance(error, OSError) else str(error)
    return (said or str(error)).lower()


def _parse_toml(text: str, path: str) -> dict[str, object]:
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise PlanNotToml(path, str(error)) from error
    except ValueError as error:
        # Python reads no more than 4,300 digits as a number, which tomli does not turn into an error of its own.
        raise PlanNotToml(path, "a number in it has too many digits") from error
    except RecursionError as error:
        raise PlanNotToml(path, "its brackets are nested too deeply") from error


def _title(table: Table) -> str:
    title = table.text("title", "")
    if len(title) > limits.MAX_NAME_CHARACTERS:
        raise table.bad("title", "it is too long", f"at most {limits.MAX_NAME_CHARACTERS} characters")
    return title


def _repeats(table: Table) -> int:
    if table.has("repeats") and table.raw("repeats") == "auto":
        return AUTO_REPEATS
    return table.integer("repeats", 1, low=1, high=limits.MAX_REPEATS)


def _scale(table: Table) -> Scale:
    wanted = '"none", "fit", or a factor above 0 and at most 1'
    if not table.has("scale"):
        return Scale()
    if isinstance(table.raw("scale"), str):
        kind = table.choice("scale", ScaleKind, ScaleKind.NONE)
        if kind is ScaleKind.FACTOR:
            raise table.bad("scale", "that is none of its values", wanted)
        return Scale(kind)
    factor = table.number("scale")
    if not 0 < factor <= 1:
        raise table.bad("scale", "sizes can only shrink", wanted)
    return Scale(ScaleKind.FACTOR, factor)


def _after(table: Table) -> After:
    table.only("check", "crash", "delete")
    return After(
        check=table.flag("check", default=True),
        crash=table.flag("crash", default=False),
        delete=table.choice("delete", DeleteWith, DeleteWith.RM),
    )


def _require_something_to_do(table: Table, plan: PlanFile) -> None:
    if not plan.workloads:
        raise table.bad("workload", "there is none", "at least one [[workload]]")
    if not plan.checklists and not plan.variants and not plan.raw:
        raise table.bad(
            "filesystem", "there is nothing to compare", "a [[filesystem]], a [[variant]] or raw = true"
        )
