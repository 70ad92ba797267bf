"""What each kind of step does; one module per part of a filesystem's life."""

from __future__ import annotations

from fsconsole.engine.steps import (
    arrays,
    checking,
    deleting,
    formatting,
    loading,
    mounting,
    raw,
    settings,
    surveying,
)
from fsconsole.engine.work import Handler
from fsconsole.model.step import StepKind

HANDLERS: dict[StepKind, Handler] = {
    StepKind.GATE: formatting.pass_gate,
    StepKind.SETTINGS: settings.set_all,
    StepKind.EQUALISE: formatting.equalise,
    StepKind.ARRAY: arrays.make,
    StepKind.ARRAY_SYNC: arrays.wait_until_in_step,
    StepKind.MKFS: formatting.make,
    StepKind.FEATURES: formatting.read_features,
    StepKind.MOUNT: mounting.mount_new,
    StepKind.QUIESCE: loading.quiesce,
    StepKind.COLD: mounting.make_cold,
    StepKind.WORKLOAD: loading.load,
    StepKind.DRAIN: loading.drain,
    StepKind.SETTINGS_BACK: settings.set_back,
    StepKind.REMOUNT: mounting.remount,
    StepKind.EXTENTS: surveying.survey,
    StepKind.UNMOUNT: mounting.unmount_timed,
    StepKind.CHECK: checking.check,
    StepKind.COLD_MOUNT: mounting.mount_cold,
    StepKind.DELETE: deleting.delete,
    StepKind.DELETE_UNMOUNT: deleting.unmount_after_delete,
    StepKind.RAW_WRITE: raw.write,
    StepKind.RAW_READ: raw.read,
    StepKind.READTEST: raw.readtest,
    StepKind.ARRAY_STOP: arrays.take_apart,
    StepKind.RELEASE: mounting.release,
}
