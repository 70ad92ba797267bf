"""What is written on a device, by a fresh low-level probe."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fsconsole.errors import DeviceSilent, ToolFailed
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Signature, Usage
from fsconsole.plaintext import decode
from fsconsole.units import format_guess

_PROBE = ("wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH")
_TIMEOUT_S = 60.0
_USAGES = {usage.value: usage for usage in Usage}


def probe_signatures(executor: Executor, path: str) -> tuple[Signature, ...]:
    """Return every magic string that libblkid finds on the device, valid or damaged (man 8 wipefs).

    Reads only. Raises DeviceSilent, ToolFailed where the device can't be read or the answer is not understood,
    ToolMissing.
    """
    result = executor.run(Command((*_PROBE, path), timeout_s=_TIMEOUT_S))
    command = " ".join(result.argv)
    if result.timed_out:
        raise DeviceSilent(path, format_guess(_TIMEOUT_S))
    if result.exit_code != 0:
        raise ToolFailed(command, result.exit_code, result.err.strip() or "no word")
    try:
        return parse_wipefs(result.stdout)
    except ValueError as error:
        raise ToolFailed(command, result.exit_code, f"its answer is not understood: {error}") from error


def parse_wipefs(answer: bytes) -> tuple[Signature, ...]:
    r"""Return the signatures in `wipefs --json` output; nothing at all, as of old versions, means none.

    Labels are the disk's own bytes, copied into the JSON as they are: what is not UTF-8 becomes ``\xNN``.
    Raises ValueError.
    """
    if not answer.strip():
        return ()
    document: object = json.loads(answer.decode("utf-8", errors="surrogateescape"), strict=False)
    match document:
        case {"signatures": [*rows]} if all(isinstance(row, dict) for row in rows):
            return tuple(_signature(row) for row in rows)
        case _:
            raise ValueError("no list of signatures")


def _signature(row: Mapping[object, object]) -> Signature:
    kind, offset = _text(row, "type"), _text(row, "offset")
    if not kind or not offset:
        raise ValueError("a signature without type or offset")
    return Signature(
        type=kind,
        usage=_USAGES.get(_text(row, "usage"), Usage.OTHER),
        offset_bytes=int(offset, 0),
        label=_text(row, "label"),
        uuid=_text(row, "uuid"),
    )


def _text(row: Mapping[object, object], key: str) -> str:
    """Return a column as text; null, a missing one and a number (newer versions' offsets) are all served."""
    value = row.get(key)
    return "" if value is None else decode(str(value).encode("utf-8", errors="surrogateescape"))
