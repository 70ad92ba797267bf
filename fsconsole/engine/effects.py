"""Warnings on options that were accepted and are not in effect, and on drivers of another name."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fsconsole.catalog.effects import not_in_effect
from fsconsole.catalog.filesystem import Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, split_flags, split_mount
from fsconsole.engine.work import CellWork
from fsconsole.inspect.features import Feature
from fsconsole.model.observation import FeatureSeen, WarningKind

_JOURNAL = Where("the journal", "options")
_HINT = (
    "Read this row as one without the option; `fsconsole catalog FS --probe` tells what this machine takes."
)


def note_features(work: CellWork, scope: Scope, features: Sequence[Feature]) -> None:
    """Journal what was read back, and warn of what the variant asked for and is not there."""
    for feature in features:
        work.run.journal.record(
            FeatureSeen(work.cell.index, work.run.attempt, feature.scope, feature.name, feature.value),
            durable=False,
        )
    _warn(work, scope, {feature.name: feature.value for feature in features})


def _warn(work: CellWork, scope: Scope, seen: dict[str, str]) -> None:
    variant = work.cell.variant
    filesystem = load_catalog().get(variant.filesystem)
    mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
    mount = split_mount(",".join(variant.mount_words), filesystem.mount_words, _JOURNAL)
    seen_there = {scope: seen}
    log = work.kernel_log.lines() if scope is Scope.MOUNT else ()
    for reason in not_in_effect(filesystem, mkfs, mount, seen_there, log):
        work.warn(WarningKind.NOT_IN_EFFECT, reason, _HINT)
    driver = seen.get("driver", variant.filesystem)
    if scope is Scope.MOUNT and driver != variant.filesystem:
        work.warn(
            WarningKind.DRIVER,
            f"{variant.filesystem} is served by the {driver} driver",
            "Its figures are that driver's; before Linux 4.3 ext3, and ext2 too, could have one of their own.",
        )
