"""The text of /proc/mdstat as values.

The format is written by md_seq_show, status_resync and each level's status function (drivers/md/md.c,
drivers/md/raid*.c) and described in Documentation/admin-guide/md.rst. It has grown since 2.6, never shrunk:
details that are not known are passed over, a headline that is not understood is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.errors import KernelUnreadable
from fsconsole.model.device import MdArray, MdMember
from fsconsole.units import KIB

MDSTAT_PATH = "/proc/mdstat"

_NOT_ARRAYS = ("Personalities", "unused devices")
_HEADLINE = re.compile(r"(?P<name>\S+) : (?P<state>active|inactive|broken)(?P<rest>( .*)?)")
_READ_ONLY = ("(read-only)", "(auto-read-only)")
_MEMBER = re.compile(r"(?P<name>[^\s\[]+)\[(?P<slot>-?[0-9]{1,9})\](?P<flags>(\([A-Z]\))*)")
_BLOCKS = re.compile(r"([0-9]{1,19}) blocks\b")
_SUPER = " super "
_METADATA = re.compile(_SUPER + r"(\S+)")
_CHUNK = re.compile(r"([0-9]{1,12})k (?:chunks?|rounding)\b", re.IGNORECASE)
_NEAR = re.compile(r"\b([0-9]{1,9}) near-copies\b")
_HEALTH = re.compile(r"\[([0-9]{1,9})/([0-9]{1,9})\] \[([U_]+)\]")
_WAITING = re.compile(r"\b(?:resync|recovery|recover|reshape|check)=(DELAYED|PENDING|REMOTE)\b")
_PROGRESS = re.compile(r"\b(resync|recovery|reshape|check) = *([0-9]{1,9}\.[0-9])%")
_FINISH = re.compile(r"\bfinish=([0-9]{1,12}\.[0-9])min")
_SPEED = re.compile(r"\bspeed=([0-9]{1,12})K/sec")
_BITMAP = re.compile(r"^\s*bitmap: (.*)$", re.MULTILINE)


def parse_mdstat(text: str) -> tuple[MdArray, ...]:
    """Return the arrays in the order of the text. Raises KernelUnreadable at a headline it can't read."""
    return tuple(_array(block) for block in _blocks(text))


@dataclass(frozen=True, slots=True)
class _Headline:
    name: str
    active: bool
    read_only: bool
    level: str
    members: tuple[MdMember, ...]


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield each array's headline with the indented lines below it."""
    block: list[str] = []
    for line in text.split("\n"):
        if line[:1].isspace() or not line:
            if block:
                block.append(line)
            continue
        if block:
            yield block
        block = [line] if " : " in line and not line.startswith(_NOT_ARRAYS) else []
    if block:
        yield block


def _array(block: list[str]) -> MdArray:
    # An array without any member has its metadata on the same line: an mdadm that was killed leaves one.
    first, super_, metadata_words = block[0].partition(_SUPER)
    headline = _headline(first)
    details = "\n".join((super_ + metadata_words, *block[1:]))
    blocks, chunk, health, near = (pattern.search(details) for pattern in (_BLOCKS, _CHUNK, _HEALTH, _NEAR))
    metadata, bitmap = _METADATA.search(details), _BITMAP.search(details)
    action, progress_percent = _action(details[: bitmap.start()] if bitmap else details)
    finish, speed = _FINISH.search(details), _SPEED.search(details)
    return MdArray(
        name=headline.name,
        active=headline.active,
        read_only=headline.read_only,
        level=headline.level,
        members=headline.members,
        size_bytes=int(blocks[1]) * KIB if blocks else 0,
        chunk_bytes=int(chunk[1]) * KIB if chunk else 0,
        slots=health[3] if health else "",
        degraded=max(0, int(health[1]) - int(health[2])) if health else 0,
        action=action,
        progress_percent=progress_percent,
        finish_min=float(finish[1]) if finish else None,
        speed_bytes_s=float(speed[1]) * KIB if speed else None,
        bitmap=bitmap[1] if bitmap else "",
        metadata=metadata[1] if metadata else "",
        near_copies=int(near[1]) if near else 0,
    )


def _headline(line: str) -> _Headline:
    match = _HEADLINE.fullmatch(line)
    if match is None:
        raise KernelUnreadable(path=MDSTAT_PATH, line=line)
    words = match["rest"].split()
    read_only = bool(words) and words[0] in _READ_ONLY
    words = words[1:] if read_only else words
    has_level = match["state"] != "inactive" and bool(words) and not _MEMBER.fullmatch(words[0])
    return _Headline(
        name=match["name"],
        active=match["state"] != "inactive",
        read_only=read_only,
        level=words[0] if has_level else "",
        members=tuple(_member(word, line) for word in words[1 if has_level else 0 :]),
    )


def _member(word: str, line: str) -> MdMember:
    match = _MEMBER.fullmatch(word)
    if match is None:
        raise KernelUnreadable(path=MDSTAT_PATH, line=line)
    return MdMember(match["name"], int(match["slot"]), re.sub(r"[()]", "", match["flags"]))


def _action(details: str) -> tuple[str, float | None]:
    progress = _PROGRESS.search(details)
    if progress is not None:
        return progress[1], float(progress[2])
    waiting = _WAITING.search(details)
    return (waiting[1] if waiting else "", None)
