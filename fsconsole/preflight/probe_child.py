"""Tries a filesystem's options: `python -m fsconsole.preflight.probe_child`, in a namespace of its own as root.

It reads a TrialOrder, one line of JSON, from stdin and answers in lines of JSON, each a Report. It ends when stdin is closed, however
whoever started it ended; images, mounts and loop devices go with its namespace.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fsconsole.catalog import words
from fsconsole.catalog.filesystem import Answer, Filesystem, Option, Scope, Verdict
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import (
    Chosen,
    Effect,
    Where,
    broken_rules,
    choose,
    effect_of,
    removed_words,
    to_argv,
)
from fsconsole.errors.runs import ToolFailed
from fsconsole.inspect.checks import refusal_words, without_device, words_about
from fsconsole.inspect.features import parse_mkfs_features, read_mount_options
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.model.plan import Variant
from fsconsole.model.wire import Wire, decode
from fsconsole.system.block import attach_held
from fsconsole.system.files import opened
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.mounts import PRIVATE_ROOT, enter_private
from fsconsole.system.run import RealExecutor
from fsconsole.workloads.job import tell


class TrialOrder(Wire, frozen=True):
    """Filesystems to try, and which of them the kernel can mount."""

    as_root: bool
    room_bytes: int
    """The most that the images may take."""
    mountable: tuple[str, ...]
    filesystems: tuple[str, ...]


class Report(Wire, frozen=True):
    """One line of what was found: a folder of images, a filesystem without options, or the answer to one option."""

    images: str = ""
    """A folder to remove if the child is killed."""
    filesystem: str = ""
    driver: str = ""
    trouble: str = ""
    answer: Answer | None = None


_CATALOG = Where("the catalog", "option")


@dataclass(frozen=True, slots=True)
class OptionTrial:
    """One option at one value, with the words that it takes beside: those declared, and those that a rule asks for."""

    option: Option
    value: str
    variant: Variant


def list_trials(filesystem: Filesystem) -> tuple[OptionTrial, ...]:
    """Return all trials of a filesystem, in the catalog's order."""
    trials = []
    for option in filesystem.options:
        for value in option.values_to_try:
            own = {option.scope: option.text(value)}
            mkfs = [own.get(Scope.MKFS, ""), option.trial.mkfs]
            mount = [own.get(Scope.MOUNT, ""), option.trial.mount]
            for rule in broken_rules(filesystem, _chosen(filesystem, mkfs, mount)):
                program, _, words = (rule.needs or ("",))[0].partition(" ")
                (mkfs if program == Scope.MKFS.value else mount).append(words)
            trials.append(OptionTrial(option, value, _variant(filesystem, mkfs, mount)))
    return tuple(trials)


def _chosen(filesystem: Filesystem, mkfs: Sequence[str], mount: Sequence[str]) -> Chosen:
    return choose(filesystem, " ".join(filter(None, mkfs)), ",".join(filter(None, mount)), "", _CATALOG)


def _variant(filesystem: Filesystem, mkfs: Sequence[str] = (), mount: Sequence[str] = ()) -> Variant:
    chosen = _chosen(filesystem, mkfs, mount)
    mount_words = tuple(word.text for word in chosen.mount)
    return Variant("", filesystem.name, mkfs_words=to_argv(chosen.mkfs), mount_words=mount_words)


_COMMAND_S = 30.0
_LEAST_FREE_BYTES = 2**20
_DEPRECATED = re.compile(r"Deprecated parameter '(?P<word>\w+)'")
"""Message of fs/fs_parser.c about a deprecated word."""
_ERROR = re.compile(r"\s*(?:ERROR|Error): ")
_NO_REASON = re.compile(r"^(?:mke2fs |mkfs\.\w+ |mkreiserfs |nilfs|Usage|usage|\s|$)")
"""A tool's banner and its help, which surround the reason."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Place to try options: nothing of it outlives the process, or is visible outside."""

    executor: Executor
    """Gives back what the kernel logged, where that can be read."""
    images: str
    has_loops: bool
    """False without root: then mkfs works on the image itself."""
    mount_point: str
    """Empty where nothing can be mounted: then mkfs alone is tried."""


@dataclass(frozen=True, slots=True)
class ImageResult:
    """Result of one image: a refusal with its words, or the features read back."""

    refusal: str = ""
    features: Mapping[Scope, Mapping[str, str]] = field(default_factory=dict)
    kernel_log: tuple[str, ...] = ()


def answer(bench: Bench, filesystem: Filesystem, trial: OptionTrial) -> Answer:
    """Return what comes of one trial. Raises OSError (ENOSPC) where the images find no room."""
    option = trial.option

    def answered(verdict: Verdict, words: str, shows: str = "") -> Answer:
        return Answer(filesystem.name, option.scope, option.name, trial.value, verdict, words, shows)

    if option.scope is Scope.MOUNT and not bench.mount_point:
        return answered(Verdict.UNTRIED, "nothing can be mounted here")
    seen = _try(bench, filesystem, trial.variant, wants_features=option.scope is Scope.MKFS)
    if seen.refusal:
        return answered(Verdict.REFUSED, seen.refusal)
    found = seen.features.get(option.scope, {})
    effect = effect_of(option, trial.value, found) if found else Effect.UNKNOWN
    # The kernel may say that it took a word and does nothing for it.
    lines = seen.kernel_log
    deprecated = {match["word"]: line for line in lines if (match := _DEPRECATED.search(line))}
    said = (removed_words(lines) | deprecated).get(option.text(trial.value), "")
    if effect is Effect.NOT_IN_EFFECT or (effect is Effect.UNKNOWN and said):
        return answered(Verdict.IGNORED, said or _instead(option.shown_as(trial.value), found))
    shows = option.shown_as(trial.value) if effect is Effect.IN_EFFECT else ""
    return answered(Verdict.TAKEN, "", shows)


def _try(bench: Bench, filesystem: Filesystem, variant: Variant, *, wants_features: bool = True) -> ImageResult:
    """Make an image, mount it, and read back what is in effect."""
    image = os.path.join(bench.images, f"{filesystem.name}.img")
    with opened(image, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600) as descriptor:
        try:
            os.truncate(descriptor, filesystem.trial_bytes)
            seen = _made(bench, filesystem, variant, image, wants_features=wants_features)
            room = os.statvfs(bench.images)
        finally:
            os.unlink(image)
    if room.f_bavail * room.f_frsize < _LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), bench.images)
    return seen


def _made(bench: Bench, filesystem: Filesystem, variant: Variant, image: str, *, wants_features: bool) -> ImageResult:
    identity = str(uuid.uuid4())
    made, *_ = words.make_commands(filesystem, variant, image, identity)
    result = _run(bench, made)
    if result.exit_code != 0:
        return ImageResult(refusal=tool_words(result))
    if not bench.has_loops:
        return ImageResult(features={Scope.MKFS: _features(bench, filesystem, image)})
    with attach_held(image, direct_io=False) as loop:
        for argv in words.make_commands(filesystem, variant, loop.path, identity)[1:]:
            if (result := _run(bench, argv)).exit_code != 0:
                return ImageResult(refusal=tool_words(result))
        features = _features(bench, filesystem, loop.path) if wants_features else {}
        if not bench.mount_point:
            return ImageResult(features={Scope.MKFS: features})
        return _mounted(bench, filesystem, variant, loop.path, features)


def _features(bench: Bench, filesystem: Filesystem, path: str) -> dict[str, str]:
    result = _run(bench, words.filled(filesystem.commands.features, device=path))
    found = parse_mkfs_features(filesystem.name, result.out) if result.exit_code == 0 else ()
    return {feature.name: feature.value for feature in found}


def _mounted(
    bench: Bench, filesystem: Filesystem, variant: Variant, device: str, features: dict[str, str]
) -> ImageResult:
    result = _run(bench, words.mount_command(filesystem, variant, device, bench.mount_point))
    log = words_about(result.kernel_log, os.path.basename(device), ",".join(variant.mount_words))
    if result.exit_code != 0:
        said = without_device(refusal_words(filesystem.name, log))
        return ImageResult(refusal="; ".join(said) or tool_words(result))
    try:
        options = read_mount_options(device, bench.mount_point)
    finally:
        _run(bench, words.filled(filesystem.commands.unmount, mount_point=bench.mount_point))
    in_effect = {feature.name: feature.value for feature in options}
    return ImageResult(features={Scope.MKFS: features, Scope.MOUNT: in_effect}, kernel_log=without_device(log))


def tool_words(result: CommandResult) -> str:
    """Return the reason that a tool gave: a line that says error, or the first that is no banner and no help."""
    lines = (result.err + "\n" + result.out).splitlines()
    errors = [line for line in lines if _ERROR.match(line)]
    reasons = errors + [line for line in lines if not _NO_REASON.match(line)]
    ending = f"{os.path.basename(result.argv[0])} ended with exit code {result.exit_code}"
    return reasons[0].strip() if reasons else ending


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


OK, NO_ROOM, ABANDONED = 0, 3, 4
"""Exit codes: done; the images found no room; whoever asked is gone."""


def main() -> int:
    """Carry out one order; returns the exit code."""
    order = decode(TrialOrder, sys.stdin.buffer.readline())
    images = "" if order.as_root else tempfile.mkdtemp(prefix="fsconsole-probe-")
    threading.Thread(target=_end_with_stdin, args=(images,), daemon=True).start()
    try:
        # Whoever asked may have been killed by now, which ends this with an error.
        tell(Report(images=images))
        executor = RealExecutor(kernel_log=KernelLog())
        if images:
            bench = Bench(executor, images, has_loops=False, mount_point="")
        else:
            bench = _private_bench(executor, order.room_bytes)
        catalog = load_catalog()
        for name in order.filesystems:
            point = bench.mount_point if name in order.mountable else ""
            _try_all(replace(bench, mount_point=point), catalog.get(name))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return NO_ROOM
    finally:
        if images:
            shutil.rmtree(images, ignore_errors=True)
    return OK


def _try_all(bench: Bench, filesystem: Filesystem) -> None:
    """Try the filesystem without a single option, which must work before anything is said of options; then each."""
    plain = _try(bench, filesystem, _variant(filesystem))
    driver = plain.features.get(Scope.MOUNT, {}).get("driver", "")
    tell(Report(filesystem=filesystem.name, driver=driver, trouble=plain.refusal))
    if not plain.refusal:
        for trial in list_trials(filesystem):
            tell(Report(answer=answer(bench, filesystem, trial)))


def _private_bench(executor: Executor, room_bytes: int) -> Bench:
    """Return a bench in memory, in this process's own mount namespace."""
    places = enter_private(executor, PRIVATE_ROOT)
    images = f"{PRIVATE_ROOT}/images"
    os.mkdir(images, mode=0o700)
    options = f"size={room_bytes},mode=0700,nosuid,nodev"
    result = executor.run(Command(("mount", "-t", "tmpfs", "-o", options, "tmpfs", images)))
    if result.exit_code != 0:
        raise ToolFailed(" ".join(result.argv), result.exit_code, result.err.strip())
    return Bench(executor, images, has_loops=True, mount_point=places.mount_point)


def _end_with_stdin(images: str) -> None:
    """Wait for the end of stdin, then end at once; what lies outside of the namespace is removed first."""
    # By the descriptor: the buffered reader would hold a lock that the interpreter's own end waits for.
    while os.read(0, 1):
        pass
    # Again where the current trial has made an image meanwhile.
    attempts = 100
    while images and os.path.isdir(images) and attempts:
        shutil.rmtree(images, ignore_errors=True)
        attempts -= 1
    os._exit(ABANDONED)


if __name__ == "__main__":
    sys.exit(main())
