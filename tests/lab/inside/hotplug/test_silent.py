"""A device that hangs before a run has begun: whoever looks at it is told, and goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import ask
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from tests.lab.guest import fsconsole, listed, run, settle, wait_until
from tests.lab.runs import new_run

PLAN, DEVICE = "tests/lab/hang.toml", "/dev/dm-0"


@pytest.fixture
def folder() -> RunFolder:
    """A run that has not begun, of a time before."""
    return new_run(PLAN, DEVICE)


@pytest.fixture(autouse=True)
def _volume(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for limit in ("ANSWER_LIMIT_S", "GLANCE_LIMIT_S"):
        monkeypatch.setattr(ask, limit, 10.0)
    sectors = run("blockdev", "--getsz", "/dev/vda").strip()
    run("dmsetup", "create", "hanging", "--table", f"0 {sectors} linear /dev/vda 0")
    settle()
    yield
    run("dmsetup", "resume", "hanging")
    wait_until(
        lambda: run("dmsetup", "info", "-c", "--noheadings", "-o", "open", "hanging").strip() == "0",
        "dd ends",
    )
    run("dmsetup", "remove", "--retry", "hanging")


@pytest.fixture(params=["not mounted", "mounted"])
def _mounted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have ext4 mounted where only its holder sees it, as an engine has: then its first block stays in memory."""
    if request.param == "not mounted":
        yield
        return
    run("mkfs.ext4", "-q", "-F", DEVICE)
    holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", f"mount {DEVICE} /mnt && exec sleep 1000"])
    wait_until(lambda: "/mnt " in Path(f"/proc/{holder.pid}/mounts").read_text(), "it is mounted")
    yield
    # Else the kernel would wait for the device before it lets the holder go.
    run("dmsetup", "resume", "hanging")
    holder.kill()
    holder.wait()


@pytest.mark.usefixtures("folder", "_mounted")
def test_whatever_is_asked_of_it_names_it_and_ends(folder: RunFolder) -> None:
    run("dmsetup", "suspend", "--nolockfs", "--noflush", "hanging")
    for words in (
        ("plan", PLAN, "--device", DEVICE),
        ("run", PLAN, "--device", DEVICE, "--consent", "00000-00000-00000"),
        ("resume", folder.name),
        ("readtest", DEVICE),
    ):
        done = fsconsole(*words)
        assert done.code == ExitCode.DEVICE_HANGS, done
        assert f"{DEVICE} does not answer" in done.err
    states = {name: device["state"]["text"] for name, device in listed().items()}
    assert "does not answer" in states["dm-0"]
    assert not any("does not answer" in state for name, state in states.items() if name != "dm-0"), states
    # Each dd that waits for it waits for ever; no look begins one more.
    waiting = run("pgrep", "--full", f"if={DEVICE}").split()
    assert len(waiting) == 1, waiting
