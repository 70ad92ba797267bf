"""What `fsconsole plan --json` says of targets, as far as Confirm looks at it."""

from __future__ import annotations

import json

LOSS = "ext4 '[/x]', UUID 2b9570c7-4191-4350-b671-b53e98ae2219, 64.0 MiB"


def hazard(device: str, reason: str, verdict: str = "asked") -> dict[str, object]:
    return {
        "check": "made", "verdict": verdict, "device": device, "reason": reason, "hint": "Look at it.", "waits": False,
    }  # fmt: skip


def target(
    path: str, *, scratch: bool = False, loss: str = LOSS, hazards: tuple[object, ...] = ()
) -> dict[str, object]:
    return {
        "path": path, "name": path, "kind": "disk", "model": "ST2000DM", "serial": "Z1X", "size_bytes": 2**31,
        "scratch": scratch, "loss": loss, "hazards": list(hazards),
    }  # fmt: skip


def document(
    *targets: object, consent: str = "", unavailable: tuple[str, ...] = ("", "")
) -> dict[str, object]:
    return {
        "title": "two tiny [/x] cells",
        "targets": list(targets),
        "cell_count": len(unavailable),
        "runnable": unavailable.count(""),
        "unavailable": list(filter(None, dict.fromkeys(unavailable))),
        "cells": [],
        "notes": ["left out: a duplicate"],
        "bytes_to_write": 3 * 2**30,
        "estimate_s": 242.0,
        "consent": consent,
    }


def said(*targets: object, consent: str = "") -> str:
    return json.dumps(document(*targets, consent=consent), indent=2)
