"""Listens to udev, or where no udevd runs to the kernel itself, in a thread of its own; no device is opened.

Whoever closes a device that was open for writing makes udev probe it and send a "change", even if nothing was written:
our own looking does so too. So a change counts only where what udev knows of the device has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from fsconsole.system.text import read_text_or

UDEV_CONTROL = "/run/udev/control"
"""Where udevd listens; the name stays when it has ended (man 8 systemd-udevd)."""
_SOCKETS = "/proc/net/unix"
"""All sockets that somebody has open (man 5 proc_net)."""

_POLL_S = 0.5
_OF_THE_EVENT = frozenset({"ACTION", "SEQNUM", "USEC_INITIALIZED", "CURRENT_TAGS", "SYNTH_UUID"})
"""Properties that tell of the event, not of the device."""


class Changes:
    """What udev said last of each device."""

    def __init__(self, known: Mapping[str, Mapping[str, str]]) -> None:
        self._known = {name: _lasting(properties) for name, properties in known.items()}

    def is_news(self, action: str, name: str, properties: Mapping[str, str]) -> bool:
        """Return whether an event tells something that was not known, and remember it."""
        if action == "remove":
            self._known.pop(name, None)
            return True
        before, now = self._known.get(name), _lasting(properties)
        self._known[name] = now
        return before != now


def has_udevd() -> bool:
    """Return whether a udevd listens, itself or by systemd, which starts it when it is needed."""
    return any(line.endswith(f" {UDEV_CONTROL}") for line in read_text_or(_SOCKETS, "").splitlines())


class UdevWatch:
    """Calls back, from its own thread, after each piece of news."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = tell
        self._over = threading.Event()
        self._listens = threading.Event()

    def start(self) -> None:
        """Listen from now on, where there is libudev."""
        threading.Thread(target=self._listen, name="udev", daemon=True).start()

    def wait_until_listening(self) -> None:
        """Wait until nothing that happens is missed any more; for ever where there is no libudev."""
        self._listens.wait()

    def stop(self) -> None:
        """Listen no more; the thread ends within half a second."""
        self._over.set()

    def _listen(self) -> None:
        try:
            import pyudev  # noqa: PLC0415 - the import itself fails where libudev is not installed
        except ImportError:
            return
        context = pyudev.Context()
        by_udevd = has_udevd()
        monitor = pyudev.Monitor.from_netlink(context, source="udev" if by_udevd else "kernel")
        monitor.filter_by("block")
        monitor.start()
        changes = Changes({})
        with suppress(pyudev.DeviceNotFoundError):  # One that vanishes while it is listed.
            listed = context.list_devices(subsystem="block")
            changes = Changes({device.sys_name: dict(device.properties) for device in listed})
        self._listens.set()
        while not self._over.is_set():
            device = monitor.poll(timeout=_POLL_S)
            if device is None:
                continue
            # The kernel alone knows little of a device, and sends a change only where there is one.
            is_news = changes.is_news(device.action or "", device.sys_name, dict(device.properties))
            if is_news or not by_udevd:
                self._tell()


def _lasting(properties: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in properties.items() if name not in _OF_THE_EVENT}
