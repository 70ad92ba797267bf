"""What `fsconsole plan --json` says of targets, as far as Confirm looks at it."""

from __future__ import annotations

import json
from typing import cast

from fsconsole.model.device import Identity
from fsconsole.model.wire import from_plain
from fsconsole.show.identities import within_boot

LOSS = "ext4 '[/x]', UUID 2b9570c7-4191-4350-b671-b53e98ae2219, 64.0 MiB"


def hazard(device: str, reason: str, verdict: str = "asked") -> dict[str, object]:
    return {
        "check": "made", "verdict": verdict, "device": device, "reason": reason, "hint": "Look at it.", "waits": False,
    }  # fmt: skip


SOURCE = "5" * 64
"""The digest of the plan's text in every answer here."""


def identity(**other: object) -> dict[str, object]:
    """Return who a target is, as asdict() of its Identity tells it."""
    return {
        "name": "sdb", "boot_id": "b", "device_number": 0x810, "size_bytes": 2**31, "diskseq": 7, "wwn": "", "serial": "Z1X",
        "partition_start_bytes": 0, "partition_uuid": "", "dm_uuid": "", "dm_table": "", "backing_device": 0,
        "backing_inode": 0, "scratch_id": "", **other,
    }  # fmt: skip


def ticks_of(*targets: dict[str, object]) -> dict[str, Identity]:
    """Return these targets as they were ticked."""
    return {str(one["path"]): within_boot(from_plain(Identity, one["identity"])) for one in targets}


def target(
    path: str,
    *,
    scratch: bool = False,
    loss: str = LOSS,
    hazards: tuple[object, ...] = (),
    stands_on: str = "",
    lookalike: str = "",
    mark: str = "",
    **other: object,
) -> dict[str, object]:
    return {
        "path": path, "name": path, "kind": "disk", "model": "ST2000DM", "serial": "Z1X", "size_bytes": 2**31,
        "scratch": scratch, "loss": loss, "hazards": list(hazards), "stands_on": stands_on,
        "identity": identity(**other), "seen": "SEEN0", "lookalike": lookalike, "mark": mark,
    }  # fmt: skip


def _path(one: object) -> str:
    return str(cast("dict[str, object]", one)["path"])


def document(
    *targets: object,
    consent: str = "",
    unavailable: tuple[str, ...] = ("", ""),
    arrays: tuple[str, ...] = (),
    rows: tuple[str, ...] = ("ext4 delalloc", "ext4 nodelalloc"),
) -> dict[str, object]:
    return {
        "title": "two tiny [/x] cells",
        "order": "shuffled",
        "seed": 1,
        "repeats": 1,
        "assumed_bytes_per_s": 1e8,
        "arrays": [{"words": words, "members": [_path(one) for one in targets]} for words in arrays],
        "targets": list(targets),
        "cell_count": len(unavailable),
        "runnable": unavailable.count(""),
        "unavailable": list(filter(None, dict.fromkeys(unavailable))),
        "cells": [],
        "notes": ["left out: a duplicate"],
        "bytes_to_write": 3 * 2**30,
        "estimate_s": 242.0,
        "consent": consent,
        "seen": ".".join(("PLAN0", *("SEEN0" for _ in targets))),
        "source_sha256": SOURCE,
        "rows": list(rows),
    }


def said(*targets: object, consent: str = "") -> str:
    return json.dumps(document(*targets, consent=consent), indent=2)


def resumed(sentence: str, *targets: object) -> str:
    """Return what `fsconsole resume --show --json` says of a run: a sentence on it, and targets that need consent."""
    return json.dumps({**document(*targets, consent="CODE" if targets else ""), "resumes": [sentence]})
