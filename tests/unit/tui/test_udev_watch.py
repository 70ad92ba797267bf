from __future__ import annotations

import threading
from pathlib import Path

import pytest
import pyudev

from fsconsole.tui import watch as tui_watch
from fsconsole.tui.watch import UDEV_CONTROL, Changes, UdevWatch

DISK = {"ID_MODEL": "x", "ID_FS_TYPE": "ext4", "SEQNUM": "1", "ACTION": "add"}


def test_another_filesystem_a_new_device_and_a_gone_one_are_news_and_what_was_known_is_not() -> None:
    changes = Changes()
    assert changes.is_news("add", "sda", DISK)
    for action, name, other, is_news in (
        ("change", "sda", {"ACTION": "change", "SEQNUM": "9"}, False),
        ("change", "sda", {"ID_FS_TYPE": "xfs"}, True),
        ("change", "sda", {"ID_FS_TYPE": "xfs"}, False),
        ("add", "sdb", {}, True),
        ("remove", "sda", {}, True),
        ("add", "sda", {"ID_FS_TYPE": "xfs"}, True),
    ):
        assert changes.is_news(action, name, {**DISK, **other}) is is_news, (action, name, other)


class Event:
    def __init__(self, action: str, sys_name: str, properties: dict[str, str]) -> None:
        self.action, self.sys_name, self.properties = action, sys_name, properties


class Monitor:
    """A monitor with three events: one of no news, one of news, one that comes after the end."""

    def __init__(self) -> None:
        self.events = [Event("change", "sda", DISK), Event("add", "sdb", DISK)]
        self.filtered = ""

    def filter_by(self, subsystem: str) -> None:
        self.filtered = subsystem

    def start(self) -> None:
        assert self.filtered == "block"

    def poll(self, timeout: float) -> Event | None:
        return self.events.pop(0) if self.events else None


class Context:
    def list_devices(self, subsystem: str) -> list[Event]:
        return [Event("", "sda", DISK)]


@pytest.mark.parametrize(("source", "news"), [("udev", 1), ("kernel", 2)])
def test_news_are_told_from_the_thread_and_it_ends_when_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, news: int
) -> None:
    """Without udevd the kernel's own events are listened to, each of which tells of something that happened."""
    asked = []

    class Source:
        @staticmethod
        def from_netlink(context: object, source: str) -> Monitor:
            asked.append(source)
            return Monitor()

    listening = f"0000: 2 0 10000 5 1 99 {UDEV_CONTROL}\n" if source == "udev" else ""
    (tmp_path / "unix").write_text(f"Num RefCount\n0001: 2 0 10000 1 1 98 /run/other\n{listening}")
    monkeypatch.setattr(tui_watch, "_SOCKETS", str(tmp_path / "unix"))
    monkeypatch.setattr(pyudev, "Context", Context)
    monkeypatch.setattr(pyudev, "Monitor", Source)
    told = threading.Semaphore(0)
    watch = UdevWatch(told.release)
    watch.start()
    for _ in range(news):
        assert told.acquire(timeout=30)
    watch.stop()
    (thread,) = (one for one in threading.enumerate() if one.name == "udev")
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert not told.acquire(blocking=False)
    assert asked == [source]
