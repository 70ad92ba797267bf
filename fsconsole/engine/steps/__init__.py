"""Handlers of all kinds of steps."""

from __future__ import annotations

from fsconsole.engine.steps import (
    ageing,
    arrays,
    crash,
    directory,
    equalise,
    layout,
    life,
    load,
    pilot,
    raw,
    settings,
    sources,
)
from fsconsole.engine.work import Handler
from fsconsole.model.plan import StepKind

HANDLERS: dict[StepKind, Handler] = {
    StepKind.GATE: life.pass_gate,
    StepKind.SETTINGS: settings.set_all,
    StepKind.EQUALISE: equalise.equalise,
    StepKind.ARRAY: arrays.make,
    StepKind.ARRAY_SYNC: arrays.wait_until_in_step,
    StepKind.MKFS: life.make,
    StepKind.FEATURES: life.read_features,
    StepKind.CHECK_EMPTY: life.check_empty,
    StepKind.MOUNT: life.mount_new,
    StepKind.AGE: ageing.age,
    StepKind.QUIESCE: load.quiesce,
    StepKind.COLD: life.remount_cold,
    StepKind.WARM: sources.warm,
    StepKind.WORKLOAD: load.load,
    StepKind.PILOT: pilot.pilot,
    StepKind.DRAIN: load.drain,
    StepKind.SETTINGS_BACK: settings.set_back,
    StepKind.REMOUNT: life.remount_timed,
    StepKind.EXTENTS: life.survey,
    StepKind.UNMOUNT: life.unmount_filled,
    StepKind.QUICK_CHECK: life.check_quick,
    StepKind.EXTENT_LISTS: layout.read_lists,
    StepKind.CHECK: life.check,
    StepKind.CRASH_LOAD: crash.strike,
    StepKind.RECOVER: crash.recover,
    StepKind.CRASH_VERIFY: crash.verify,
    StepKind.COLD_MOUNT: life.mount_cold,
    StepKind.DELETE: life.delete,
    StepKind.DELETE_UNMOUNT: life.unmount_after_delete,
    StepKind.RAW_PILOT: raw.pilot,
    StepKind.RAW_WRITE: raw.write,
    StepKind.RAW_READ: raw.read,
    StepKind.READTEST: raw.readtest,
    StepKind.ARRAY_STOP: life.release,
    StepKind.RELEASE: life.release,
}

DIRECTORY_HANDLERS: dict[StepKind, Handler] = {
    StepKind.GATE: directory.make,
    StepKind.QUIESCE: load.quiesce,
    StepKind.COLD: directory.cool,
    StepKind.PILOT: pilot.pilot,
    StepKind.WARM: sources.warm,
    StepKind.WORKLOAD: load.load,
    StepKind.DRAIN: load.drain,
    StepKind.EXTENTS: directory.survey,
    StepKind.DELETE: directory.delete,
    StepKind.RELEASE: life.release,
}
"""Of cells in a directory: nothing in here formats, mounts, or opens a device."""
