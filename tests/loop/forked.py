"""Commands of fsconsole, forked off a process that has loaded them: to load one takes longer than most of them do.

In all else each is what one that is started anew would be: a process with the caller's variables and directory, pipes
of its own, and a way to end.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import NoReturn

import fsconsole
from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.main import main

_CHECKOUT = Path(__file__).parents[2]
_MESSAGE_BYTES = 1 << 17
_LEFT_OUT = ("fsconsole.tui", "fsconsole.engine")
"""The console, and what is a process of its own: no command that ends by itself loads them."""


class Nursery:
    """The process that commands are forked off, one at a time; it ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [sys.executable, "-m", "tests.loop.forked", str(theirs.fileno())]
        with theirs:
            # Python looks at the kind of its outputs once: a command's are pipes.
            self._process = subprocess.Popen(
                argv, cwd=_CHECKOUT, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        atexit.register(self._close)

    def run(self, words: tuple[str, ...], limit_s: float) -> tuple[int, bytes, bytes]:
        """Carry out a command; return its exit code and what it printed, once nobody has its outputs open any more."""
        with DefaultSelector() as outputs:
            pid, told = self._begin(words, outputs)
            try:
                _read_all(outputs, told, time.monotonic() + limit_s)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
            finally:
                code = int(self._socket.recv(_MESSAGE_BYTES))
        return code, bytes(told[0]), bytes(told[1])

    def _begin(self, words: tuple[str, ...], outputs: DefaultSelector) -> tuple[int, tuple[bytearray, bytearray]]:
        request = json.dumps([words, dict(os.environ), os.getcwd()]).encode()
        pipes = [os.pipe(), os.pipe()]
        try:
            socket.send_fds(self._socket, [request], [writing for _, writing in pipes])
        finally:
            for number, (reading, writing) in enumerate(pipes):
                os.close(writing)
                outputs.register(reading, EVENT_READ, number)
        answer = self._socket.recv(_MESSAGE_BYTES)
        assert answer, f"no command can be started: {self._process.communicate()}"
        return int(answer), (bytearray(), bytearray())

    def _close(self) -> None:
        self._socket.close()
        self._process.communicate()


@cache
def nursery() -> Nursery:
    """Return the one of this process, started when it is first needed."""
    return Nursery()


def _read_all(outputs: DefaultSelector, told: tuple[bytearray, bytearray], deadline: float) -> None:
    """Read until nobody has the outputs open, and close them in any case. Raises TimeoutError after deadline."""
    try:
        while outputs.get_map():
            ready = outputs.select(max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(bytes(told[0]), bytes(told[1]))
            for key, _ in ready:
                part = os.read(key.fd, _MESSAGE_BYTES)
                told[key.data].extend(part)
                if not part:
                    outputs.unregister(key.fd)
                    os.close(key.fd)
    finally:
        for key in list(outputs.get_map().values()):
            os.close(key.fd)


def _load_all() -> None:
    """Load what commands load when they are called, and leave it out of the search for cycles, which would copy it."""
    for module in pkgutil.walk_packages(fsconsole.__path__, "fsconsole."):
        if not module.name.startswith(_LEFT_OUT) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    load_catalog()
    gc.freeze()


def _serve(ours: socket.socket) -> None:
    """Fork a command for each request; return in the command's process, or when nobody can ask any more."""
    while True:
        request, fds, _, _ = socket.recv_fds(ours, _MESSAGE_BYTES, 2)
        if not request:
            sys.exit()
        pid = os.fork()
        if pid == 0:
            ours.close()
            _become(*json.loads(request), fds)
            return
        for fd in fds:
            os.close(fd)
        ours.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        ours.send(str(os.waitstatus_to_exitcode(status)).encode())


def _end(code: int) -> NoReturn:
    """End as Python does, but for taking the modules apart: all that was loaded would be copied for that."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _become(words: list[str], variables: dict[str, str], directory: str, fds: list[int]) -> None:
    for number, fd in enumerate(fds, start=1):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None
    time.tzset()
    sys.argv = ["fsconsole", *words]


if __name__ == "__main__":
    _load_all()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    _end(main())
