"""Mount tables, swaps, namespaces and transient units (systemctl recorded with systemd 252 as PID 1)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.model.command import CommandResult
from fsconsole.system import mounts
from fsconsole.system.mounts import (
    MountEntry,
    SwapEntry,
    SystemdUnit,
    engine_argv,
    is_gone,
    kill,
    parse_mountinfo,
    parse_swaps,
    read_mounts,
    sees_what_init_sees,
    unescape,
    unit_argv,
)
from tests.fakes import FakeExecutor, load_results

DATA = Path(__file__).parents[2] / "data"


def table(name: str) -> dict[str, MountEntry]:
    text = os.fsdecode((DATA / "mountinfo" / name).read_bytes())
    return {entry.mount_point: entry for entry in parse_mountinfo(text)}


def test_tables_of_several_kernels_are_read() -> None:
    debian = table("debian12-6.1.txt")
    rw = ("rw", "relatime")
    assert debian["/"] == MountEntry(
        31, os.makedev(8, 2), "/", "/", rw, "ext4", "/dev/sda2", ("rw", "errors=remount-ro")
    )
    assert debian["/srv/my files\tand\\more"].source == "/dev/md0"
    assert debian["/mnt/nas"].source == "nas.example:/export/a b"
    # A btrfs subvolume has a root of its own and an anonymous device.
    home = debian["/home"]
    assert (home.root, home.device_number, home.source) == (
        "/@home",
        os.makedev(0, 45),
        "/dev/mapper/vg0-home",
    )
    assert table("el7-3.10.txt")["/data"].device_number == os.makedev(259, 1048575)
    # Any number of optional fields stands before the separator.
    assert table("container-5.15.txt")["/mnt/unnamed"].source == ""
    assert table("container-5.15.txt")["/mnt/gone"].filesystem != ""
    assert table("minimal-6.18.txt")["/"].source == "/dev/vda"
    assert any(entry.mount_point == "/" for entry in read_mounts())


@pytest.mark.parametrize(
    "line",
    [
        "31 1 8:2 / / rw,relatime shared:1 ext4 /dev/sda2 rw",
        "31 1 8:2 / /",
        "x 1 8:2 / / rw - ext4 /dev/sda2 rw",
        "31 1 8 / / rw - ext4 /dev/sda2 rw",
        "31 1 8:2 / / rw - ext4",
    ],
)
def test_a_line_of_another_shape_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_mountinfo(line)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def escaped(text: str) -> str:
    """Write a field as the kernel does (fs/proc_namespace.c, mangle)."""
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\#" else c for c in text)


@settings(max_examples=60)
@given(
    entry=st.builds(
        MountEntry,
        mount_id=st.integers(1, 2**31),
        device_number=st.builds(os.makedev, st.integers(0, 4095), st.integers(0, 2**20 - 1)),
        root=names.map("/".__add__),
        mount_point=names.map("/".__add__),
        options=st.lists(names.map(lambda s: s.replace(",", "")).filter(bool)).map(tuple),
        filesystem=names,
        source=names,
        super_options=st.lists(names.map(lambda s: s.replace(",", "")).filter(bool)).map(tuple),
    ),
    propagation=st.lists(st.integers(1, 999).map("shared:{}".format), max_size=2),
)
def test_whatever_the_kernel_writes_is_read_back(entry: MountEntry, propagation: list[str]) -> None:
    number = f"{os.major(entry.device_number)}:{os.minor(entry.device_number)}"
    words = [str(entry.mount_id), "1", number, escaped(entry.root), escaped(entry.mount_point)]
    words += [",".join(map(escaped, entry.options)), *propagation, "-", escaped(entry.filesystem)]
    words += [escaped(entry.source), ",".join(map(escaped, entry.super_options))]
    assert parse_mountinfo(" ".join(words) + "\n") == (entry,)


@given(st.binary().filter(lambda raw: b"\\" not in raw))
def test_paths_that_are_no_utf8_stay_usable(raw: bytes) -> None:
    assert os.fsencode(unescape(os.fsdecode(raw))) == raw


def test_swaps_are_read_with_their_kind_and_size() -> None:
    text = (DATA / "swaps" / "debian12-6.1.txt").read_text()
    assert parse_swaps(text) == (
        SwapEntry("/dev/sda3", "partition", 2097148 * 1024),
        SwapEntry("/srv/swap file", "file", 524284 * 1024),
        SwapEntry("/dev/dm-1", "partition", 8388604 * 1024),
    )
    old = (DATA / "swaps" / "el7-3.10.txt").read_text()
    assert parse_swaps(old) == (SwapEntry("/dev/dm-1", "partition", 4063228 * 1024),)
    no_break_space = "Filename Type Size Used Priority\n/srv/a\u00a0b\tfile\t\t4\t0\t-2\n"
    assert parse_swaps(no_break_space) == (SwapEntry("/srv/a\u00a0b", "file", 4096),)
    assert parse_swaps((DATA / "swaps" / "none-6.18.txt").read_text()) == ()


UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "slave", "--")


def test_an_engine_dies_with_its_namespace_and_sees_the_hosts_unmounts() -> None:
    assert engine_argv(("--help", "x")) == (*UNSHARE, "--help", "x")


HOSTS_OWN = """
import sys
from fsconsole.errors.runs import NotPrivate
from fsconsole.system.mounts import enter_private, is_private
from tests.fakes import FakeExecutor
assert not is_private()
executor = FakeExecutor({})
try:
    enter_private(executor, sys.argv[1])
except NotPrivate:
    sys.exit(executor.calls != [])
"""


def test_nothing_is_mounted_in_the_hosts_own_namespace(tmp_path: Path) -> None:
    # PID 1 of a namespace of its own is its own host.
    argv = (
        "unshare",
        "--mount-proc",
        "--pid",
        "--fork",
        sys.executable,
        "-c",
        HOSTS_OWN,
        f"{tmp_path}/private",
    )
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not os.listdir(tmp_path)


RECORDED = load_results(str(Path(__file__).parents[2] / "data" / "systemd" / "252.json"))
UNIT = SystemdUnit("fsconsole-1.service", "fsconsole run 1", "/runs/1/engine.log")


def said(name: str) -> list[CommandResult]:
    """Return the answers to `systemctl is-active` about a unit, in their order."""
    return [r for r in RECORDED if r.argv == ("systemctl", "is-active", "--", name)]


def test_a_service_outlives_the_login_appends_to_the_runs_log_and_survives_a_killed_program() -> None:
    argv = unit_argv(("--help", "/a $HOME/${x}"), UNIT, {"PATH": "/opt/bin:/bin", "LANG": "C"})
    assert argv[0] == "systemd-run"
    assert {"--collect", "--unit=fsconsole-1.service"} <= set(argv)
    assert not {"--user", "--scope", "--pty", "--wait"} & set(argv)
    for output in ("StandardOutput", "StandardError"):
        assert f"--property={output}=append:/runs/1/engine.log" in argv
    assert {"--property=TasksMax=infinity", "--property=OOMPolicy=continue"} <= set(argv)
    # Words of the engine are neither options nor variables.
    assert argv[-3:] == ("--", "--help", "/a $$HOME/$${x}")
    assert [w for w in argv if w.startswith("--setenv")] == ["--setenv=LANG=C", "--setenv=PATH=/opt/bin:/bin"]


def test_a_unit_that_has_ended_is_gone_and_a_systemd_that_does_not_answer_says_nothing() -> None:
    answers = [
        (said("fsconsole-lives.service")[0], False),
        (said("fsconsole-lives.service")[1], True),
        (said("fsconsole-dies.service")[0], True),
        (said("fsconsole-never-was.service")[0], True),
        *((result, False) for result in RECORDED if "already loaded" in result.err),
    ]
    argv = ("systemctl", "is-active", "--", UNIT.name)
    told = [is_gone(FakeExecutor({argv: result}), UNIT) for result, _ in answers]
    assert told == [gone for _, gone in answers]
    assert len(told) == 5


def test_all_processes_of_a_unit_are_killed() -> None:
    (result,) = [r for r in RECORDED if r.argv[:2] == ("systemctl", "kill")]
    executor = FakeExecutor({result.argv: result})
    kill(executor, SystemdUnit("fsconsole-lives.service", "", ""))
    assert executor.calls == [("systemctl", "kill", "--signal=KILL", "--", "fsconsole-lives.service")]


INIT = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:20 / /srv rw - tmpfs tmpfs rw\n"


@pytest.mark.parametrize(
    ("own", "same"),
    [
        (INIT, True),
        (INIT.replace("22 1", "122 1"), False),
        ("30 22 0:20 / / rw - tmpfs tmpfs rw\n", False),
        ("30 22 0:20 / /below rw - tmpfs tmpfs rw\n", False),
    ],
    ids=["the same", "a namespace", "a chroot into a mount", "a chroot into a directory"],
)
def test_only_who_has_inits_own_root_sees_what_init_sees(monkeypatch: pytest.MonkeyPatch, own: str, same: bool) -> None:
    tables = {"self": parse_mountinfo(own), "1": parse_mountinfo(INIT)}
    monkeypatch.setattr(mounts, "read_mounts", tables.__getitem__)
    assert sees_what_init_sees() is same
