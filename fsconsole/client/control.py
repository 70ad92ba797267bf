"""Asking a living engine for something."""

from __future__ import annotations

import os
import socket

from fsconsole.errors import RunOver
from fsconsole.journal.store import RunFolder
from fsconsole.model.control import MAX_LINE_BYTES, BadMessage, ControlAnswer, decode_answer, encode_request
from fsconsole.model.observation import Verb

_WAIT_S = 5.0


def ask(folder: RunFolder, verb: Verb) -> ControlAnswer:
    """Send one request and return the engine's answer. Raises RunOver where no engine listens."""
    directory = os.open(folder.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_WAIT_S)
            connection.connect(f"/proc/self/fd/{directory}/{os.path.basename(folder.control)}")
            connection.sendall(encode_request(verb))
            with connection.makefile("rb") as lines:
                return decode_answer(lines.readline(MAX_LINE_BYTES + 1))
    except (OSError, BadMessage) as error:
        raise RunOver(run=folder.name) from error
    finally:
        os.close(directory)
