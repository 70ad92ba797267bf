"""Errors of plans, devices, consent and scratch devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from fsconsole.errors import ExitCode, FsconsoleError


class BadQuantity(FsconsoleError, exit_code=ExitCode.PLAN_BAD_VALUE):
    text: str
    wanted: str
    examples: str
    sentence = "'{text}' is not {wanted}."
    advice = "Write it like one of: {examples}."


class PlanMissing(FsconsoleError, exit_code=ExitCode.PLAN_MISSING):
    path: str
    why: str
    nearest: str = ""
    """Empty, or what may have been meant."""
    sentence = "The plan file {path} can't be read: {why}."
    advice = "{nearest}Give a path, or the name of a shipped plan: `fsconsole plan --list`."


class PlanNotSent(PlanMissing):
    path: str = "stdin"
    why: str = "it is empty"
    sentence = "No plan came on standard input."
    advice = (
        "Send one, as in `fsconsole plan - < plan.toml`, or name a file or a shipped plan: `fsconsole plan --list`."
    )


class PlanTooLarge(PlanMissing):
    sentence = "{path} is no plan: {why}."
    advice = "A plan has a few KiB of text: check that this is the right file."


class PublicationMissing(FsconsoleError, exit_code=ExitCode.USAGE):
    name: str
    nearest: str
    sentence = "There is no published table '{name}'."
    advice = "{nearest} `fsconsole compare --list` lists all."


class PlanUnwritable(FsconsoleError):
    path: str
    why: str
    sentence = "The plan file {path} can't be written: {why}."
    advice = "Choose another path, in an existing directory that you may write to."


class DraftUnkept(FsconsoleError):
    path: str
    why: str
    sentence = "The draft of the plan can't be kept in {path}: {why}."
    advice = "Save the plan before you quit (w), or set XDG_STATE_HOME to a folder of your own."


class PlanChanged(FsconsoleError):
    """A plan file that somebody else wrote while it was to be saved."""

    path: str
    sentence = "The plan file {path} was changed by somebody else: it was not overwritten."
    advice = "Save again to choose what to do with it, or save under another name."


class ProfileRefused(FsconsoleError, exit_code=ExitCode.PLAN_BAD_VALUE):
    """A line of an FFSB profile that can't be read, or can't be run as FFSB would; line 0: the whole file."""

    path: str
    line: int
    said: str
    why: str
    sentence = "{path}:{line}: '{said}': {why}."
    advice = "Change this line. docs/ffsb.md lists the keys that are read, and how."


class PlanNotToml(FsconsoleError, exit_code=ExitCode.PLAN_NOT_TOML):
    """A plan file with a syntax error; where is the TOML reader's own words, with line and column."""

    path: str
    where: str
    sentence = "{path} is not TOML: {where}."
    advice = "Fix this line; strings need quotes, lists need brackets."


class PlanUnknownKey(FsconsoleError, exit_code=ExitCode.PLAN_UNKNOWN_KEY):
    path: str
    key: str
    nearest: str
    sentence = "{path}: unknown key {key}."
    advice = "{nearest}"


class PlanBadValue(FsconsoleError, exit_code=ExitCode.PLAN_BAD_VALUE):
    path: str
    key: str
    value: str
    why: str
    wanted: str
    sentence = "{path}: {key} = {value}: {why}."
    advice = "Wanted: {wanted}."


class PlanErrors(FsconsoleError, exit_code=ExitCode.PLAN_BAD_VALUE):
    """Several errors of one plan file, in its order; the exit code is that of the first."""

    path: str
    said: str
    sentence = "{path}: {said}"
    advice = "Fix these lines."
    _found: ClassVar[tuple[FsconsoleError, ...]] = ()

    @classmethod
    def of(cls, found: Sequence[FsconsoleError]) -> PlanErrors:
        """Return several errors as one."""
        error = cls(getattr(found[0], "path", ""), " ".join(map(str, found)))
        error._found, error.exit_code = tuple(found), found[0].exit_code  # type: ignore[misc]
        return error

    @property
    def each(self) -> tuple[FsconsoleError, ...]:
        """The errors themselves."""
        return self._found or (self,)


class FioJobRefused(FsconsoleError, exit_code=ExitCode.PLAN_BAD_VALUE):
    path: str
    line: int
    key: str
    why: str
    wanted: str
    sentence = "{path}:{line}: {key}: {why}."
    advice = "{wanted}"


class PlanKeyMissing(PlanBadValue):
    value: str = "(missing)"
    why: str = "required key is missing"
    wanted: str = "a value"
    sentence = '{path}: required key "{key}" is missing.'
    advice = "Add this key."


class PlanKeyLacking(PlanKeyMissing):
    """A key that is missing for a reason."""

    sentence = "{path}: {key} is missing: {why}."
    advice = "Wanted: {wanted}."


class NoCellRuns(PlanBadValue):
    """A plan of which not a single cell can run here; why has the reasons."""

    key: str = ""
    value: str = ""
    why: str = ""
    wanted: str = ""
    sentence = "{path}: no cell of this plan can be run: {why}."
    advice = (
        "Change what the plan says of that, or name another target; `fsconsole doctor` says what this machine lacks."
    )


class WorkloadMissing(PlanKeyMissing):
    key: str = "workload"
    sentence = "{path}: there is no workload."
    advice = "Add at least one [[workload]]."


class RowsMissing(PlanKeyMissing):
    key: str = "filesystem"
    sentence = "{path}: there is nothing to compare."
    advice = "Add a [[filesystem]], a [[variant]] or raw = true, or name directories with the option --directory."


class UnknownFilesystem(FsconsoleError, exit_code=ExitCode.UNKNOWN_FILESYSTEM):
    path: str
    key: str
    name: str
    nearest: str
    sentence = "{path}: {key}: there is no filesystem '{name}' in the catalog."
    advice = "{nearest}"


class OptionRefused(FsconsoleError, exit_code=ExitCode.OPTION_REFUSED):
    path: str
    key: str
    word: str
    why: str
    nearest: str
    sentence = "{path}: {key}: '{word}' is refused: {why}."
    advice = "Allowed: {nearest}."


class DeviceMissing(FsconsoleError, exit_code=ExitCode.DEVICE_MISSING):
    device: str
    sentence = "There is no {device}."
    advice = "`fsconsole devices` lists all devices."


class DeviceVanished(FsconsoleError, exit_code=ExitCode.DEVICE_MISSING):
    device: str
    sentence = "{device} is gone: it was taken away, or detached, while it was watched."
    advice = "`fsconsole devices` lists all devices; the kernel's log (dmesg) may say why."


class NotABlockDevice(FsconsoleError, exit_code=ExitCode.NOT_A_BLOCK_DEVICE):
    device: str
    what: str
    sentence = "{device} is {what}, not a block device."
    advice = "For a load on a file, make a scratch device: `fsconsole scratch create`."


class DeviceRefused(FsconsoleError, exit_code=ExitCode.DEVICE_REFUSED):
    device: str
    reason: str
    remedy: str
    sentence = "{device} {reason}."
    advice = "{remedy}"


class DeviceOpen(DeviceRefused, exit_code=ExitCode.DEVICE_REFUSED):
    """A device against which nothing speaks but that somebody has it open, or has claimed it, for now."""


class DeviceMounted(DeviceRefused, exit_code=ExitCode.DEVICE_MOUNTED):
    """A device that is mounted."""


class DeviceTooSmall(DeviceRefused, exit_code=ExitCode.DEVICE_TOO_SMALL):
    """A device with less room than the plan needs."""


class DeviceChanged(FsconsoleError, exit_code=ExitCode.DEVICE_CHANGED):
    device: str
    difference: str
    sentence = "{device} is not what was agreed upon: {difference}."
    advice = "`fsconsole devices` shows which disk is which; then plan again: `fsconsole plan FILE --device DEV`."


class DeviceLocked(FsconsoleError, exit_code=ExitCode.DEVICE_LOCKED):
    device: str
    sentence = "{device} is locked by another run or tool."
    advice = "`fsconsole runs` shows active runs; wait, or stop the other one with `fsconsole stop`."


class DeviceHangs(FsconsoleError, exit_code=ExitCode.DEVICE_HANGS):
    """A device that answers no more: who waits for it in the kernel, for how long, and where in the run."""

    device: str
    who: str
    waited: str
    where: str
    run: str
    sentence = (
        "{device} does not answer{where}: {who} has waited in the kernel for {waited} (state D), and can't be ended."
    )
    advice = (
        "`dmesg` may say why; what waits, and a mount with it, goes when {device} answers again or the machine is "
        "restarted: `fsconsole cleanup` tells what is left, then `fsconsole resume {run}` goes on."
    )


class DeviceStandsStill(DeviceHangs):
    """A device of which no I/O ended while its programs slept: so wait those of a few filesystems (nilfs2)."""

    sentence = (
        "{device} does not answer{where}: {who} has slept for {waited}, in which no I/O of the device ended, "
        "and was killed."
    )


class DeviceSilent(FsconsoleError, exit_code=ExitCode.DEVICE_HANGS):
    """A device that gave no answer when it was to be looked at; waited: for how long that was tried."""

    device: str
    waited: str
    sentence = "{device} does not answer: nothing could be read from it within {waited}."
    advice = (
        "`dmesg` may say why, and `dmsetup info` shows a volume that is suspended. What waits for {device} goes when "
        "it answers again, or with a restart of the machine."
    )


class DeviceUnreadable(FsconsoleError, exit_code=ExitCode.DEVICE_UNREADABLE):
    device: str
    place: str
    why: str
    sentence = "Reading {device} failed {place} from its beginning: {why}."
    advice = "`dmesg` and `smartctl --all {device}` say more; don't compare filesystems on a failing disk."


class ArraysLocked(FsconsoleError, exit_code=ExitCode.DEVICE_LOCKED):
    device: str
    sentence = "Another run makes arrays as {device} now, and this one would, too."
    advice = "`fsconsole runs` shows active runs; wait, or stop the other one with `fsconsole stop`."


class ArrayLeft(FsconsoleError, exit_code=ExitCode.DEVICE_CHANGED):
    """An array that was not stopped; why is a clause."""

    device: str
    why: str
    sentence = "The array {device} was not stopped: {why}."
    advice = "`cat /proc/mdstat` and `mdadm --examine MEMBER` show what is there; `fsconsole resume` asks about it."


class ConsentMissing(FsconsoleError, exit_code=ExitCode.CONSENT_MISSING):
    """A run would wipe something and nobody agreed to it; command is the whole one that shows it, where known."""

    device: str
    loss: str
    command: str = "fsconsole plan FILE --device DEV"
    does: str = "shows what would be lost and prints the code for --consent"
    sentence = "{device} would be wiped, and holds {loss}: consent required."
    advice = "`{command}` {does}."


class NotBlank(FsconsoleError, exit_code=ExitCode.CONSENT_MISSING):
    device: str
    loss: str
    sentence = "{device} is not blank: it {loss}."
    advice = (
        "Name a blank device. If all of this may be lost: `apply-kit --force` writes the kit, and its "
        "`apply.sh --overwrite DEVICE` wipes the device."
    )


class NotAlone(NotBlank):
    """A blank device on a disk that holds the system too."""

    sentence = "{device} {loss}: consent required."
    advice = (
        "If it may be formatted: `apply-kit --force` writes the kit, and its `apply.sh --overwrite DEVICE` formats it."
    )


class ConsentStale(FsconsoleError, exit_code=ExitCode.CONSENT_STALE):
    """A consent code that doesn't fit the devices as they are now; command is the whole one that prints the new."""

    device: str
    command: str = "fsconsole plan FILE --device DEV"
    sentence = "The consent code does not fit {device} as it is now: it was given for another device or other contents."
    advice = "Look again and take the new code: `{command}`."


class NotAsShown(FsconsoleError, exit_code=ExitCode.NOT_AS_SHOWN):
    """A start bound to what was shown, where something is other than that; what names it: the plan, devices."""

    what: str
    command: str = "fsconsole plan FILE --device DEV"
    sentence = "Not as it was shown any more: {what}. Nothing was touched."
    advice = "Look again at what would be wiped: `{command}`."


class ConsentOutdated(FsconsoleError, exit_code=ExitCode.CONSENT_MISSING):
    """A run that can't go on by the consent it has: why is a clause that completes "RUN can't go on: DEVICE ..."."""

    run: str
    device: str
    why: str
    sentence = "{device} can't be proved to hold only what run {run} made: {why}."
    advice = "`fsconsole resume {run} --show` shows what is on it now, and prints the code that agrees to it."


class ScratchMissing(FsconsoleError, exit_code=ExitCode.SCRATCH_MISSING):
    name: str
    sentence = "{name} is not a scratch device of fsconsole."
    advice = "`fsconsole scratch list` shows them."


class ScratchInUse(FsconsoleError, exit_code=ExitCode.SCRATCH_IN_USE):
    name: str
    why: str
    sentence = "{name} is in use: {why}."
    advice = "Stop or unmount what uses it, then try again."


class ScratchImpossible(FsconsoleError, exit_code=ExitCode.SCRATCH_IMPOSSIBLE):
    path: str
    why: str
    sentence = "{path} can't hold a scratch device: {why}."
    advice = "Choose a directory on a local disk filesystem with --dir."


class ScratchFolderMissing(ScratchImpossible):
    why: str = ""
    sentence = "There is no directory {path}."
    advice = "Make it first, or choose another with --dir: fsconsole does not make it, since a typo would fill the wrong disk."


class DirectoryRefused(FsconsoleError, exit_code=ExitCode.DEVICE_REFUSED):
    directory: str
    reason: str
    remedy: str
    sentence = "{directory} {reason}."
    advice = "{remedy}"


class DirectoryLeft(FsconsoleError, exit_code=ExitCode.DEVICE_CHANGED):
    directory: str
    why: str
    sentence = "{directory} could not be removed whole: {why}."
    advice = "If that is put right, `fsconsole cleanup` removes the rest, and `fsconsole resume` continues the run."


class DirectoryChanged(FsconsoleError, exit_code=ExitCode.DEVICE_CHANGED):
    directory: str
    difference: str
    sentence = "{directory} is not the directory of this run any more: {difference}."
    advice = "Start a new run there: `fsconsole run FILE --directory DIR`."
