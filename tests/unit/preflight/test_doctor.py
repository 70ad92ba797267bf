"""What doctor makes of a machine: by made-up machines, and by this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.preflight.doctor import LEAST_ROOM_BYTES, Finding, Status, diagnose, run_is_possible
from fsconsole.preflight.machine import (
    Driver,
    FilesystemSupport,
    MachineFacts,
    RunsDisk,
    SelfTest,
    TerminalFacts,
    Tool,
    examine,
    parse_aliases,
    parse_filesystems,
    parse_version,
)
from fsconsole.system.run import RealExecutor

DATA = Path(__file__).parents[2] / "data"
FSCONSOLE = Path(sys.executable).with_name("fsconsole")

XFS = FilesystemSupport("xfs", Driver.MODULE, (Tool("mkfs.xfs", "xfsprogs", "/usr/sbin/mkfs.xfs", "6.1.0"),))
BTRFS = FilesystemSupport(
    "btrfs", Driver.LOADED, (Tool("mkfs.btrfs", "btrfs-progs", "/usr/bin/mkfs.btrfs", "6.2"),)
)
WORKS = SelfTest(tried=True)
FAILS = SelfTest(tried=True, why="Operation not permitted")
GOOD = MachineFacts(
    is_root=True,
    python=(3, 11, 2),
    kernel="6.1.0-18-amd64",
    cpus=4,
    memory_bytes=2**34,
    available_bytes=2**33,
    programs=(Tool("bwrap", "bubblewrap", "/usr/bin/bwrap", "0.8.0"),),
    filesystems=(XFS, BTRFS),
    namespace=WORKS,
    confinement=WORKS,
    loop=WORKS,
    has_debugfs=True,
    udev_runs=True,
    kernel_log_readable=True,
    runs=RunsDisk("/var/lib/fsconsole/runs", "", 2**40, 2**41),
    terminal=TerminalFacts("linux", 80, 25, "utf-8"),
    array_tool=Tool("mdadm", "mdadm", "/usr/sbin/mdadm", "4.2"),
    array_levels=("raid0", "raid5"),
)


def without_tools(support: FilesystemSupport) -> FilesystemSupport:
    return replace(support, tools=tuple(replace(tool, path="", version="") for tool in support.tools))


def finding(machine: MachineFacts, check: str) -> Finding:
    (found,) = [finding for finding in diagnose(machine) if finding.check == check]
    return found


def test_a_good_machine_has_nothing_to_say_about():
    assert {finding.status for finding in diagnose(GOOD)} == {Status.OK}
    assert run_is_possible(diagnose(GOOD))


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("root", {"is_root": False}),
        ("programs", {"programs": (Tool("bwrap", "bubblewrap"),)}),
        ("namespace", {"namespace": FAILS}),
        ("confinement", {"confinement": FAILS}),
        ("runs", {"runs": RunsDisk("/runs", "/runs can't be written", 0, 0)}),
        ("xfs", {"filesystems": (without_tools(XFS),)}),
        ("xfs", {"filesystems": (replace(XFS, driver=Driver.ABSENT),)}),
    ],
)
def test_no_run_without(check, change):
    machine = replace(GOOD, **change)
    assert finding(machine, check).status is Status.MISSING
    assert finding(machine, check).remedy
    assert not run_is_possible(diagnose(machine))


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("loop devices", {"loop": FAILS}),
        ("debugfs", {"has_debugfs": False}),
        ("udevd", {"udev_runs": False}),
        ("kernel log", {"kernel_log_readable": False}),
        ("runs", {"runs": RunsDisk("/runs", "", LEAST_ROOM_BYTES - 1, 2**30)}),
        ("terminal", {"terminal": TerminalFacts("vt220", 79, 24, "ascii")}),
        ("xfs", {"filesystems": (without_tools(XFS), BTRFS)}),
    ],
)
def test_a_run_is_possible_with_less(check, change):
    machine = replace(GOOD, **change)
    assert finding(machine, check).status is not Status.OK
    assert finding(machine, check).remedy
    assert run_is_possible(diagnose(machine))


def test_a_missing_tool_is_named_with_its_package():
    found = finding(replace(GOOD, filesystems=(without_tools(XFS), BTRFS)), "xfs")
    assert "mkfs.xfs" in found.found
    assert "xfsprogs" in found.remedy


def test_what_was_not_tried_is_not_called_working():
    machine = replace(GOOD, is_root=False, namespace=SelfTest(tried=False), loop=SelfTest(tried=False))
    assert finding(machine, "namespace").status is Status.LIMITED
    assert finding(machine, "loop devices").status is Status.LIMITED


def test_filesystems_registered_in_the_kernel_are_read():
    fresh = parse_filesystems((DATA / "filesystems/debian-12-fresh.txt").read_text())
    assert {"ext2", "ext3", "ext4", "debugfs"} <= fresh
    assert not {"nodev", "xfs"} & fresh
    built_in = parse_filesystems((DATA / "filesystems/linux-6.18-built-in.txt").read_text())
    assert {"ext2", "ext3", "ext4", "xfs", "btrfs"} <= built_in


def test_filesystems_that_mount_would_load_are_read():
    aliases = parse_aliases((DATA / "modules/debian-12-modules.alias.txt").read_text())
    assert aliases == {"fuseblk", "fuse", "xfs", "btrfs", "ext4", "ext3", "ext2"}


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n", "1.47.0"),
        ("mkfs.xfs version 6.1.0\n", "6.1.0"),
        ("mkfs.btrfs, part of btrfs-progs v6.2\n", "6.2"),
        ("bubblewrap 0.8.0\n", "0.8.0"),
        ("mount from util-linux 2.38.1 (libmount 2.38.1: selinux)\n", "2.38.1"),
        ("unrecognised option\n", ""),
    ],
)
def test_versions_are_read_from_what_tools_say(said, version):
    assert parse_version(said) == version


@given(st.text())
def test_any_text_is_read_without_an_error(text):
    parse_filesystems(text)
    parse_aliases(text)
    parse_version(text)


def test_this_machine_has_tools_with_versions(tmp_path):
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path / "runs"))
    ext4 = next(filesystem for filesystem in machine.filesystems if filesystem.name == "ext4")
    assert ext4.tools[0].path.endswith("mkfs.ext4")
    assert ext4.tools[0].version
    assert machine.runs.trouble == ""
    assert not (tmp_path / "runs").exists()


def test_a_runs_directory_behind_a_link_is_told_of(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path / "link" / "runs"))
    assert "symbolic link" in machine.runs.trouble


def test_a_file_in_place_of_the_runs_directory_is_told_of(tmp_path):
    (tmp_path / "runs").touch()
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path / "runs" / "deeper"))
    assert "is not a directory" in machine.runs.trouble


def test_json_has_every_check_and_its_verdict_is_the_exit_code(tmp_path):
    done = subprocess.run(
        [FSCONSOLE, "doctor", "--json", "--runs", tmp_path], check=False, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["run_possible"] else 1)
    assert {"root", "confinement", "loop devices", "ext4", "runs"} <= {c["check"] for c in answer["checks"]}
    assert all(set(c) == {"check", "status", "found", "remedy", "essential"} for c in answer["checks"])


def test_without_root_nothing_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path))
    assert not machine.is_root
    assert not any(trial.tried for trial in (machine.namespace, machine.confinement, machine.loop))
