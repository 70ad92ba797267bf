"""Options tried for real: mkfs on a sparse image, a mount through a loop device, and what is then in effect."""

from __future__ import annotations

import errno
import os
import re
import signal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from fsconsole.catalog import commands
from fsconsole.catalog.effects import Effect, effect_of, removed_words
from fsconsole.catalog.filesystem import Filesystem, Scope
from fsconsole.catalog.known import Answer, Verdict
from fsconsole.errors import ToolFailed
from fsconsole.inspect.features import parse_mkfs_features, read_mount_options
from fsconsole.inspect.kernel_log import refusal_words, without_device, words_about
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.model.variant import Variant
from fsconsole.preflight.trials import Trial, plain_variant
from fsconsole.system.loop import attach_held

_COMMAND_S = 30.0
_LEAST_FREE_BYTES = 2**20
_DEPRECATED = re.compile(r"Deprecated parameter '(?P<word>\w+)'")
"""What fs/fs_parser.c says of a word that is taken and on its way out."""
_ERROR = re.compile(r"\s*(?:ERROR|Error): ")
_NO_REASON = re.compile(r"^(?:mke2fs |mkfs\.\w+ |mkreiserfs |nilfs|Usage|usage|\s|$)")
"""A tool's banner and its help, which surround the reason."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where options are tried: nothing of it outlives the process, or is seen outside of it."""

    executor: Executor
    """Gives back what the kernel logged, where that can be read."""
    images: str
    has_loops: bool
    """False without root: then mkfs works on the image itself."""
    mount_point: str
    """Empty where nothing can be mounted: then mkfs alone is tried."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one image came to: a refusal with its words, or what was read back."""

    refusal: str = ""
    features: Mapping[Scope, Mapping[str, str]] | None = None
    kernel_log: tuple[str, ...] = ()


def try_plain(bench: Bench, filesystem: Filesystem) -> Seen:
    """Try the filesystem without options. Raises OSError (ENOSPC) where the images find no room."""
    return _try(bench, filesystem, plain_variant(filesystem))


def answer(bench: Bench, filesystem: Filesystem, trial: Trial) -> Answer:
    """Return what comes of one trial. Raises OSError (ENOSPC) where the images find no room."""
    option = trial.option
    if option.scope is Scope.MOUNT and not bench.mount_point:
        return _answer(filesystem, trial, Verdict.UNTRIED, "nothing can be mounted here")
    seen = _try(bench, filesystem, trial.variant, wants_features=option.scope is Scope.MKFS)
    if seen.refusal:
        return _answer(filesystem, trial, Verdict.REFUSED, seen.refusal)
    found = (seen.features or {}).get(option.scope, {})
    effect = effect_of(option, trial.value, found) if found else Effect.UNKNOWN
    said = _said_to_do_nothing(seen.kernel_log, option.text(trial.value))
    if effect is Effect.NOT_IN_EFFECT or (effect is Effect.UNKNOWN and said):
        return _answer(
            filesystem, trial, Verdict.IGNORED, said or _instead(option.shown_as(trial.value), found)
        )
    shows = option.shown_as(trial.value) if effect is Effect.IN_EFFECT else ""
    return _answer(filesystem, trial, Verdict.TAKEN, "", shows)


def _answer(filesystem: Filesystem, trial: Trial, verdict: Verdict, words: str, shows: str = "") -> Answer:
    option = trial.option
    return Answer(filesystem.name, option.scope, option.name, trial.value, verdict, words, shows)


def _try(bench: Bench, filesystem: Filesystem, variant: Variant, *, wants_features: bool = True) -> Seen:
    """Make an image, mount it, and read back what is in effect."""
    image = os.path.join(bench.images, f"{filesystem.name}.img")
    descriptor = os.open(image, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(descriptor, filesystem.trial_bytes)
        seen = _made(bench, filesystem, variant, image, wants_features=wants_features)
        if _free_bytes(bench.images) < _LEAST_FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), bench.images)
        return seen
    finally:
        os.close(descriptor)
        os.unlink(image)


def _made(
    bench: Bench, filesystem: Filesystem, variant: Variant, image: str, *, wants_features: bool
) -> Seen:
    identity = str(uuid.uuid4())
    made, *_ = commands.make_commands(filesystem, variant, image, identity)
    result = _run(bench, made)
    if result.exit_code != 0:
        return Seen(refusal=tool_words(result))
    if not bench.has_loops:
        return Seen(features={Scope.MKFS: _features(bench, filesystem, image)})
    with attach_held(image, direct_io=False) as loop:
        for argv in commands.make_commands(filesystem, variant, loop.path, identity)[1:]:
            if (result := _run(bench, argv)).exit_code != 0:
                return Seen(refusal=tool_words(result))
        features = _features(bench, filesystem, loop.path) if wants_features else {}
        if not bench.mount_point:
            return Seen(features={Scope.MKFS: features})
        return _mounted(bench, filesystem, variant, loop.path, features)


def _features(bench: Bench, filesystem: Filesystem, path: str) -> dict[str, str]:
    result = _run(bench, commands.features_command(filesystem, path))
    found = parse_mkfs_features(filesystem.name, result.out) if result.exit_code == 0 else ()
    return {feature.name: feature.value for feature in found}


def _mounted(
    bench: Bench, filesystem: Filesystem, variant: Variant, device: str, features: dict[str, str]
) -> Seen:
    result = _run(bench, commands.mount_command(filesystem, variant, device, bench.mount_point))
    log = words_about(result.kernel_log, os.path.basename(device), ",".join(variant.mount_words))
    if result.exit_code != 0:
        said = without_device(refusal_words(filesystem.name, log))
        return Seen(refusal="; ".join(said) or tool_words(result))
    try:
        options = read_mount_options(device, bench.mount_point)
    finally:
        _run(bench, commands.unmount_command(filesystem, bench.mount_point))
    in_effect = {feature.name: feature.value for feature in options}
    return Seen(features={Scope.MKFS: features, Scope.MOUNT: in_effect}, kernel_log=without_device(log))


def tool_words(result: CommandResult) -> str:
    """Return the reason that a tool gave: a line that says error, or the first that is no banner and no help."""
    lines = (result.err + "\n" + result.out).splitlines()
    errors = [line for line in lines if _ERROR.match(line)]
    reasons = errors + [line for line in lines if not _NO_REASON.match(line)]
    ending = f"{os.path.basename(result.argv[0])} ended with exit code {result.exit_code}"
    return reasons[0].strip() if reasons else ending


def _said_to_do_nothing(kernel_log: tuple[str, ...], text: str) -> str:
    """Return the line in which the kernel said that it took a word and does nothing for it; empty: it said none."""
    deprecated = {match["word"]: line for line in kernel_log if (match := _DEPRECATED.search(line))}
    return (removed_words(kernel_log) | deprecated).get(text, "")


def _instead(wanted: str, found: Mapping[str, str]) -> str:
    name = wanted.removeprefix("!").partition("=")[0]
    if name not in found:
        return f"{name} is not what is in effect"
    return f"{name if found[name] == 'on' else f'{name}={found[name]}'} is in effect"


def _run(bench: Bench, argv: tuple[str, ...]) -> CommandResult:
    """Run a tool to its end; one that was killed, or that hung, has answered nothing. Raises ToolFailed."""
    result = bench.executor.run(Command(argv, timeout_s=_COMMAND_S))
    if result.timed_out or result.exit_code == -signal.SIGKILL:
        said = f"it did not end within {_COMMAND_S:g} s" if result.timed_out else "it was killed"
        raise ToolFailed(" ".join(argv), result.exit_code, said)
    return result


def _free_bytes(path: str) -> int:
    room = os.statvfs(path)
    return room.f_bavail * room.f_frsize
