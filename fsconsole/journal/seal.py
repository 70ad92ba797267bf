"""Seals on what a run may be resumed by: a chain of HMACs with a key that only root of this machine has.

Consent and fingerprints are text in a journal. A run folder that was copied here or edited has no valid seals.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from contextlib import suppress

from msgspec.structs import replace

from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import DeviceLeft, LookTaken, RequestRenewed, RoundRepeated
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import encode
from fsconsole.system.files import new_file, opened, read_text_or

KEY_PATH = "/var/lib/fsconsole/seal.key"
_KEY_BYTES = 32
_FOREIGN = "its journal was not sealed by this machine"
_EDITED = "its journal was changed after it was sealed"
Sealed = DeviceLeft | RequestRenewed | RoundRepeated | LookTaken


class Seals:
    """The chain of one run: each seal covers what it is on and the seal before. An empty one is no seal."""

    def __init__(self, key: bytes, last: str) -> None:
        self._key = key
        self._last = last

    def put_on(self, event: Sealed) -> Sealed:
        """Return the event with its seal; without a key it gets none."""
        self._last = _seal(self._key, self._last, event)
        return replace(event, seal=self._last)


def request_seal(request: RunRequest) -> str:
    """Return the seal of a new run's request; the machine's key is made where there is none."""
    return seal_of(machine_key(make=True), "", encode(request))


def check_seals(folder: RunFolder) -> tuple[Seals, str]:
    """Return a run's chain, to go on with, and why it can't be relied on, as a clause; empty where it can.

    Where consent to all devices was given again on this machine, only what came after that counts. Raises as JournalReader.
    """
    key, reader = machine_key(make=False), JournalReader(folder.journal)
    last = reader.request_seal()
    why = "" if _is_same(last, seal_of(key, "", encode(reader.request()))) else _FOREIGN
    for event in reader.read_since(Cursor(), max_samples=0).observations:
        if not isinstance(event, (DeviceLeft, RequestRenewed, RoundRepeated, LookTaken)):
            continue
        if isinstance(event, RequestRenewed) and _is_same(event.seal, _seal(key, "", event)):
            why = ""
        elif not _is_same(event.seal, _seal(key, last, event)):
            why = why or _EDITED
        last = event.seal
    # What is wrong with a chain stays wrong: the next consent begins a new one.
    return Seals(key, "" if why else last), why


def machine_key(*, make: bool) -> bytes:
    """Return this machine's key, mixed with its id, so that a copied disk has another; empty where there is none."""
    with suppress(OSError):
        try:
            kept = _read_key()
        except FileNotFoundError:
            if not make:
                return b""
            _make_key()
            kept = _read_key()
        machine = read_text_or("/etc/machine-id", "")
        return hmac.digest(kept, machine.encode(), "sha256") if len(kept) == _KEY_BYTES else b""
    return b""


def _make_key() -> None:
    """Make the key, whole or not at all. Raises OSError."""
    os.makedirs(os.path.dirname(KEY_PATH), mode=0o755, exist_ok=True)
    # It exists if it is empty, or if somebody else has just made it.
    with (
        suppress(FileExistsError),
        new_file(KEY_PATH, overwrite=os.path.lexists(KEY_PATH), mode=0o600) as file,
    ):
        file.write(secrets.token_bytes(_KEY_BYTES))


def _read_key() -> bytes:
    """Return the key; nothing if others could know it. Raises OSError: FileNotFoundError also for an empty one."""
    with opened(KEY_PATH, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode) and not found.st_size:
            # Earlier versions left one on a full disk.
            raise FileNotFoundError
        is_roots = found.st_uid == 0 and not found.st_mode & 0o077
        return os.read(fd, _KEY_BYTES + 1) if is_roots else b""


def _seal(key: bytes, last: str, event: Sealed) -> str:
    return seal_of(key, last, encode(replace(event, seal="")))


def seal_of(key: bytes, last: str, text: str) -> str:
    """Return the seal on a text that follows the seal last; empty without a key."""
    return hmac.new(key, f"{last}\n{text}".encode(), "sha256").hexdigest() if key else ""


def _is_same(seal: str, own: str) -> bool:
    return own != "" and hmac.compare_digest(seal.encode(), own.encode())
