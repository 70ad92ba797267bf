"""Every declared option of ext4 and xfs, in the soak of every filesystem, tried for real and held against what is declared.

And a probe that is cut off.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fsconsole.catalog.filesystem import Answer, Filesystem, Option, Verdict, is_after, is_before
from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.runs import NoRoomToTry
from fsconsole.preflight.findings import Findings
from fsconsole.preflight.probe import probe
from fsconsole.system.files import kernel_release
from fsconsole.system.mounts import PRIVATE_ROOT
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import wait_until
from tests.lab.soak import tried
from tests.loop.runs import FSCONSOLE

CATALOG = load_catalog()
KEPT = Path("/var/cache/fsconsole")
TRIED = tried([fs.name for fs in CATALOG.filesystems], ["ext4", "xfs"])
HERE = [fs for fs in map(CATALOG.get, TRIED) if all(shutil.which(tool) for tool in fs.tools)]
"""The filesystems whose tools are installed; of those without a driver mkfs alone is tried."""

_READING = "+dac_read_search,+dac_override"
AS_NOBODY = ("setpriv", "--euid=65534", "--inh-caps", _READING, "--ambient-caps", _READING)
"""Starts a command without root's rights, who may read wherever Python happens to be installed."""


def silent(_name: str, _tried: int, _total: int) -> None:
    return


@pytest.fixture(scope="module")
def found() -> dict[str, Findings]:
    """What one probe of everything found out."""
    return {findings.filesystem: findings for findings in probe(RealExecutor(), HERE, silent)}


def answers(found: dict[str, Findings]) -> list[tuple[Filesystem, Option, Answer]]:
    return [
        (CATALOG.get(answer.filesystem), option, answer)
        for findings in found.values()
        for answer in findings.answers
        if (option := CATALOG.get(answer.filesystem).option(answer.option, answer.scope)) is not None
    ]


def may_be_lacking(option: Option, findings: Findings) -> bool:
    """Tell whether a declaration itself says that an older kernel or tool lacks the option, or another build."""
    tools = re.search(r"\d+(?:\.\d+)+", findings.versions.tools)
    return bool(
        option.depends
        or (option.since and is_before(kernel_release(), option.since))
        or (option.tools_since and tools and is_before(tools[0], option.tools_since))
    )


@pytest.mark.parametrize("name", [name for name in TRIED if CATALOG.get(name) not in HERE] or ["(none)"])
def test_what_can_not_be_tried_here_is_told(name):
    if name != "(none)":
        pytest.skip(f"NOT TRIED: {name}: install {CATALOG.get(name).package}")


def does_nothing(option: Option) -> bool:
    return option.ignored and (not option.until or is_after(kernel_release(), option.until))


def test_every_value_of_every_option_was_tried(found):
    for name, findings in found.items():
        wanted = sum(len(option.values_to_try) for option in CATALOG.get(name).options)
        assert len(findings.answers) == wanted
        assert {answer.verdict for answer in findings.answers} > {Verdict.UNTRIED} or not findings.trouble


Judged = Callable[[Option, Answer, Findings], object]
WRONG: dict[str, Judged] = {
    "declared available, and refused": lambda option, answer, findings: (
        answer.verdict is Verdict.REFUSED
        and not option.refusals.of(answer.value)
        and not may_be_lacking(option, findings)
    ),
    "declared refused, and not in these very words": lambda option, answer, _: (
        (words := option.refusals.of(answer.value))
        and answer.verdict is not Verdict.UNTRIED
        and not option.depends
        and (not option.until or is_after(kernel_release(), option.until))
        and words not in answer.words
    ),
    "without effect, or not, against its declaration": lambda option, answer, _: (
        answer.verdict in (Verdict.TAKEN, Verdict.IGNORED)
        and does_nothing(option) != (answer.verdict is Verdict.IGNORED)
        and not option.depends
    ),
    "declared to show, and doesn't": lambda option, answer, _: (
        answer.verdict is Verdict.TAKEN and option.shown_as(answer.value) and not answer.shows
    ),
}


def test_every_option_does_as_it_is_declared(found):
    otherwise = [
        (what, answer.filesystem, answer.option, answer.value, answer.verdict, answer.words)
        for _, option, answer in answers(found)
        for what, is_wrong in WRONG.items()
        if is_wrong(option, answer, found[answer.filesystem])
    ]
    assert otherwise == []


def test_refusals_are_in_the_kernels_words_not_in_those_of_mount(found):
    refused = [answer for _, _, answer in answers(found) if answer.verdict is Verdict.REFUSED]
    assert refused
    for answer in refused:
        assert answer.words
        assert "wrong fs type" not in answer.words
        assert "/dev/loop" not in answer.words
        assert PRIVATE_ROOT not in answer.words


def test_the_driver_that_serves_it_is_found_out(found):
    drivers = {"ext3": ("ext3", "ext4"), "ext4": ("ext4",), "xfs": ("xfs",)}
    for name in set(drivers) & set(found):
        assert found[name].driver in drivers[name]


def test_a_probe_leaves_nothing(found):
    assert_nothing_left()


def test_a_probe_without_room_says_so_and_leaves_nothing():
    with pytest.raises(NoRoomToTry):
        probe(RealExecutor(), [CATALOG.get("xfs")], silent, room_bytes=8 * MIB)
    assert_nothing_left()


@pytest.fixture
def nothing_known():
    """A machine that has tried nothing yet: what is kept lies aside meanwhile, or there would be nothing to be killed."""
    aside = [(path, path.with_name(f".aside-{path.name}")) for path in KEPT.glob("options-*.json")]
    for path, hidden in aside:
        path.rename(hidden)
    yield
    for path, hidden in aside:
        hidden.rename(path)


@pytest.fixture
def running(tmp_path, nothing_known):
    """A command that is in the middle of a probe: the process, and the pid of the one that tries."""
    kept = {path.name: path.read_bytes() for path in KEPT.glob("*")}
    command = subprocess.Popen(
        [*FSCONSOLE, "catalog", "ext4", "--probe", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    wait_until(lambda: bool(loops_of_probes()), "the probe has a loop device")
    yield command
    command.kill()
    command.communicate()
    assert {path.name: path.read_bytes() for path in KEPT.glob("*")} == kept


def test_killed_itself_it_leaves_nothing(running):
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert_nothing_left()


@pytest.mark.parametrize("victim", ["starter", "child"])
def test_with_its_child_killed_it_fails_in_words_and_leaves_nothing(running, victim):
    (starter,) = children(running.pid)
    (child,) = children(starter)
    os.kill({"starter": starter, "child": child}[victim], signal.SIGKILL)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 32
    assert said.startswith(b"fsconsole: ")
    assert b"Traceback" not in said
    assert_nothing_left()


def test_without_root_mkfs_alone_is_tried_and_nothing_is_kept():
    done = subprocess.run(
        [*AS_NOBODY, *FSCONSOLE, "catalog", "ext2", "--probe", "--json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    (ext2,) = json.loads(done.stdout)["filesystems"]
    verdicts = {(option["kind"], answer["verdict"]) for option in ext2["options"] for answer in option["probe"]}
    assert verdicts == {("mkfs", "taken"), ("mount", "not tried")}
    assert "not root" in done.stderr
    assert_nothing_left()


def test_without_root_and_killed_it_leaves_nothing(nothing_known):
    others = set(images())
    command = subprocess.Popen(
        [*AS_NOBODY, *FSCONSOLE, "catalog", "ext4", "--probe"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: bool(set(images()) - others), "the probe has an image")
    command.kill()
    command.wait()
    wait_until(lambda: not set(images()) - others, "the images are removed")
    assert_nothing_left()


def images() -> list[Path]:
    """Return the directories in which a probe without root keeps its images."""
    return list(Path("/tmp").glob("fsconsole-probe-*"))


def assert_nothing_left() -> None:
    """Prove that no probe's process, loop device, mount or file is left."""
    wait_until(lambda: not probing(), "the probe's processes end")
    wait_until(lambda: not loops_of_probes(), "the probe's loop devices are detached")
    assert PRIVATE_ROOT not in Path("/proc/self/mounts").read_text()
    wait_until(lambda: images() == [], "the probe's images are removed")


def loops_of_probes() -> list[str]:
    backing = []
    for path in attributes():
        # Detached while it was looked at.
        with suppress(OSError):
            backing.append(path.read_text())
    return [file for file in backing if file.startswith((f"{PRIVATE_ROOT}/images", "/images"))]


def attributes() -> list[Path]:
    return [path for path in Path("/sys/block").glob("loop*/loop/backing_file") if path.exists()]


def probing() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if is_called(int(path.name), "probe_child")]


def is_called(pid: int, name: str) -> bool:
    try:
        return name in Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return False


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
