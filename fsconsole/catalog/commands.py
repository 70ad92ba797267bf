"""Command templates filled in: the argv that is listed, and executed."""

from __future__ import annotations

from fsconsole.catalog.filesystem import Filesystem
from fsconsole.model.variant import Variant

ALWAYS_MOUNTED_WITH = ("nosuid", "nodev")
"""A filesystem under test may hold set-uid files and device nodes of nobody's choosing."""


def make_commands(
    filesystem: Filesystem, variant: Variant, device: str, uuid: str
) -> tuple[tuple[str, ...], ...]:
    """Return the commands that make the variant on the device, mkfs first, which asks nothing.

    Then the filesystem has this UUID, by mkfs itself or by a command right after it, and its tuning words.
    """
    templates = filesystem.commands
    argvs = [_filled(templates.mkfs, variant.mkfs_words, device=device, uuid=uuid)]
    if templates.identify:
        argvs.append(_filled(templates.identify, (), device=device, uuid=uuid))
    if variant.tune_words:
        argvs.append(_filled(templates.tune, variant.tune_words, device=device))
    return tuple(argvs)


def mount_command(filesystem: Filesystem, variant: Variant, device: str, mount_point: str) -> tuple[str, ...]:
    """Return the command that mounts the device: always nosuid and nodev, then the variant's words."""
    options = ",".join(ALWAYS_MOUNTED_WITH + variant.mount_words)
    return _filled(filesystem.commands.mount, (), device=device, mount_point=mount_point, options=options)


def unmount_command(filesystem: Filesystem, mount_point: str) -> tuple[str, ...]:
    """Return the command that unmounts."""
    return _filled(filesystem.commands.unmount, (), mount_point=mount_point)


def check_command(filesystem: Filesystem, device: str) -> tuple[str, ...]:
    """Return the forced full check of the unmounted device; empty where none exists (Filesystem.check_note)."""
    return _filled(filesystem.commands.check, (), device=device)


def features_command(filesystem: Filesystem, device: str) -> tuple[str, ...]:
    """Return the command that prints what mkfs really made."""
    return _filled(filesystem.commands.features, (), device=device)


def delete_command(filesystem: Filesystem, tree: str) -> tuple[str, ...]:
    """Return the command that removes the workload's tree."""
    return _filled(filesystem.commands.delete, (), tree=tree)


def _filled(template: tuple[str, ...], words: tuple[str, ...], **values: str) -> tuple[str, ...]:
    argv: list[str] = []
    for part in template:
        if part == "{words}":
            argv.extend(words)
        else:
            argv.append(_with_values(part, values))
    return tuple(argv)


def _with_values(part: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        if "{" + name + "}" in part:
            return part.replace("{" + name + "}", value)
    return part
