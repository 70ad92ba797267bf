"""Reads the shipped filesystem declarations: one TOML file each, in the package's own folder."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

import tomli

from fsconsole.catalog.filesystem import (
    Argument,
    ArgumentKind,
    Catalog,
    CommandTemplates,
    Filesystem,
    Flag,
    FlagKind,
    MountWords,
    Option,
    Rule,
    Scope,
)
from fsconsole.catalog.tables import Table

ORDER = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs")
"""How filesystems are listed; a file that is not named here comes after, by name."""

_NO_SIZE_LIMIT = 2**63 - 1
_LARGEST_TRIAL = 2**32
_BARE = Argument(ArgumentKind.BARE)


@cache
def load_catalog() -> Catalog:
    """Return all shipped filesystems; raises PlanBadValue or PlanUnknownKey for a damaged file."""
    folder = files("fsconsole.catalog") / "filesystems"
    entries = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    found = [parse_filesystem(entry.read_text("utf-8"), entry.name) for entry in entries]
    rank = {name: number for number, name in enumerate(ORDER)}
    return Catalog(tuple(sorted(found, key=lambda fs: (rank.get(fs.name, len(rank)), fs.name))))


def declaration_digest(name: str) -> str:
    """Return a digest of a shipped filesystem's declarations, which cached probe results belong to."""
    text = (files("fsconsole.catalog") / "filesystems" / f"{name}.toml").read_bytes()
    return hashlib.sha256(text).hexdigest()


def parse_filesystem(text: str, path: str) -> Filesystem:
    """Return the filesystem that a declaration's text describes; the same errors as load_catalog."""
    table = Table(path, "", tomli.loads(text))
    texts = ("name", "title", "driver", "package", "base_mkfs", "check_note")
    table.only(
        *texts, "tools", "min_bytes", "max_bytes", "metadata_share", "since", "until", "trial_bytes", "commands",
        "mkfs_flag", "tune_flag", "mount_words", "mount_aliases", "option", "rule",
    )  # fmt: skip
    commands = table.table("commands")
    commands.only(*_COMMANDS)
    return Filesystem(
        **{name: table.text(name) for name in texts},
        tools=table.texts("tools"),
        min_bytes=table.size("min_bytes", low=1, high=_NO_SIZE_LIMIT),
        max_bytes=table.size("max_bytes", low=1, high=_NO_SIZE_LIMIT),
        metadata_share=table.number("metadata_share"),
        since=table.text("since", ""),
        until=table.text("until", ""),
        trial_bytes=table.size("trial_bytes", low=1, high=_LARGEST_TRIAL),
        commands=CommandTemplates(**{name: commands.texts(name) for name in _COMMANDS}),
        mkfs_flags=tuple(map(_flag, table.tables("mkfs_flag"))),
        tune_flags=tuple(map(_flag, table.tables("tune_flag"))),
        mount_words=MountWords(_arguments(table.table("mount_words")), _pairs(table.table("mount_aliases"))),
        options=tuple(map(_option, table.tables("option"))),
        rules=tuple(map(_rule, table.tables("rule"))),
    )


_COMMANDS = ("mkfs", "identify", "tune", "mount", "unmount", "check", "features", "delete")


def _flag(table: Table) -> Flag:
    table.only("names", "kind", "argument", "keys", "features", "aliases")
    features = tuple((name, _BARE) for name in table.texts("features"))
    return Flag(
        names=table.texts("names"),
        kind=table.choice("kind", FlagKind, FlagKind.VALUE),
        argument=_argument(table, "argument") if table.has("argument") else _BARE,
        keys=features or _arguments(table.table("keys")),
        aliases=_pairs(table.table("aliases")),
    )


def _arguments(table: Table) -> tuple[tuple[str, Argument], ...]:
    return tuple((name, _argument(table, name)) for name in table.names())


def _argument(table: Table, name: str) -> Argument:
    if isinstance(table.raw(name), list):
        return Argument(ArgumentKind.CHOICES, table.texts(name))
    return Argument(table.choice(name, ArgumentKind))


def _pairs(table: Table) -> tuple[tuple[str, str], ...]:
    return tuple((name, table.text(name)) for name in table.names())


def _option(table: Table) -> Option:
    required, texts = (
        ("name", "group", "help"),
        ("template", "since", "until", "depends", "tools_since", "shown_in"),
    )
    table.only(
        *required, *texts, "scope", "texts", "values", "old_names", "refusal", "ignored", "trial", "shown"
    )
    trial = table.table("trial")
    trial.only("values", "mkfs", "mount")
    counted: tuple[tuple[str, str], ...] = ()
    if table.has("texts"):
        counted = _pairs(table.table("texts"))
    elif isinstance(table.raw("values"), list):
        template = table.text("template")
        counted = tuple((value, template.replace("{value}", value)) for value in table.texts("values"))
    return Option(
        **{name: table.text(name) for name in required},
        **{name: table.text(name, "") for name in texts},
        scope=Scope(table.text("scope")),
        texts=counted,
        argument=None if counted else _argument(table, "values"),
        old_names=table.texts("old_names"),
        refusals=_by_value(table, "refusal"),
        ignored=table.flag("ignored", default=False),
        trial_values=trial.texts("values"),
        trial_mkfs=trial.text("mkfs", ""),
        trial_mount=trial.text("mount", ""),
        shown=_by_value(table, "shown"),
    )


def _by_value(table: Table, name: str) -> tuple[tuple[str, str], ...]:
    """Return (value, text) pairs from a table of them, or from one text for all values."""
    if table.has(name) and isinstance(table.raw(name), str):
        return (("", table.text(name)),)
    return _pairs(table.table(name))


def _rule(table: Table) -> Rule:
    table.only("when", "excludes", "needs", "why")
    return Rule(table.text("when"), table.texts("excludes"), table.texts("needs"), table.text("why"))
