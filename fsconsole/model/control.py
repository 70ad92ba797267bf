"""What passes through a run's control socket: one request line, one answer line, both JSON objects."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fsconsole.model.observation import Verb

MAX_LINE_BYTES = 4096


class BadMessage(ValueError):
    """A line that is no message of this protocol."""


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """What the engine says to a request: whether it was taken, where the engine stands, and why not."""

    accepted: bool
    step: str
    why: str = ""


def encode_request(verb: Verb) -> bytes:
    """Return the line that asks for verb."""
    return json.dumps({"verb": verb.value}).encode() + b"\n"


def decode_request(line: bytes) -> Verb:
    """Return what a request line asks for. Raises BadMessage."""
    document = _object(line)
    try:
        return Verb(document.get("verb"))
    except ValueError as error:
        raise BadMessage(f"unknown verb {document.get('verb')!r}") from error


def encode_answer(answer: ControlAnswer) -> bytes:
    """Return an answer as a line."""
    return json.dumps({"accepted": answer.accepted, "step": answer.step, "why": answer.why}).encode() + b"\n"


def decode_answer(line: bytes) -> ControlAnswer:
    """Return the answer in a line. Raises BadMessage."""
    document = _object(line)
    accepted, step, why = document.get("accepted"), document.get("step"), document.get("why")
    if not (isinstance(accepted, bool) and isinstance(step, str) and isinstance(why, str)):
        raise BadMessage("an answer has accepted, step and why")
    return ControlAnswer(accepted, step, why)


def _object(line: bytes) -> dict[str, object]:
    if len(line) > MAX_LINE_BYTES:
        raise BadMessage("line too long")
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadMessage("not JSON") from error
    if not isinstance(document, dict):
        raise BadMessage("not an object")
    return document
