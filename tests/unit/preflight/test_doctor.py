"""What doctor makes of a machine, and which arrays it makes: by made-up machines, and by this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.doctor import _lines
from fsconsole.preflight import machine as preflight_machine
from fsconsole.preflight.doctor import LEAST_ROOM_BYTES, Finding, Status, diagnose, run_is_possible
from fsconsole.preflight.machine import (
    Driver,
    FilesystemSupport,
    MachineFacts,
    RunsDisk,
    TerminalFacts,
    Tool,
    _runs_disk,
    array_levels,
    array_support,
    examine,
    parse_aliases,
    parse_filesystems,
    parse_version,
    tool_facts,
)
from fsconsole.system.run import RealExecutor
from tests.unit.results import build

DATA = Path(__file__).parents[2] / "data"
FSCONSOLE = Path(sys.executable).with_name("fsconsole")

XFS = FilesystemSupport("xfs", Driver.MODULE, (Tool("mkfs.xfs", "xfsprogs", "/usr/sbin/mkfs.xfs", "6.1.0"),))
BTRFS = FilesystemSupport("btrfs", Driver.LOADED, (Tool("mkfs.btrfs", "btrfs-progs", "/usr/bin/mkfs.btrfs", "6.2"),))
WORKS, FAILS = "", "Operation not permitted"
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
    has_tracefs=True,
    has_memory_cgroups=True,
    udev_runs=True,
    kernel_log_readable=True,
    runs=RunsDisk("/var/lib/fsconsole/runs", "", 2**40, 2**41),
    terminal=TerminalFacts("linux", 80, 25, "utf-8"),
    array_tool=Tool("mdadm", "mdadm", "/usr/sbin/mdadm", "4.2"),
    array_levels=("raid0", "raid5"),
    generators=(Tool("bonnie++", "bonnie++", "/usr/sbin/bonnie++", "2.00"), Tool("fio", "fio", "/usr/bin/fio", "3.33")),
)


def without_tools(support: FilesystemSupport) -> FilesystemSupport:
    return replace(support, tools=tuple(replace(tool, path="", version="") for tool in support.tools))


def finding(machine: MachineFacts, check: str) -> Finding:
    (found,) = [finding for finding in diagnose(machine) if finding.check == check]
    return found


def test_a_good_machine_has_nothing_to_say_about():
    assert {finding.status for finding in diagnose(GOOD)} == {Status.OK}
    assert run_is_possible(diagnose(GOOD))


def test_each_check_stands_apart_from_what_was_found() -> None:
    for found in diagnose(GOOD):
        assert f"{found.check}  " in _lines(found)[0]


LESS = [
    ("root", {"is_root": False}, False),
    ("programs", {"programs": (Tool("bwrap", "bubblewrap"),)}, False),
    ("namespace", {"namespace": FAILS}, False),
    ("confinement", {"confinement": FAILS}, False),
    ("runs", {"runs": RunsDisk("/runs", "/runs can't be written", 0, 0)}, False),
    ("xfs", {"filesystems": (without_tools(XFS),)}, False),
    ("xfs", {"filesystems": (replace(XFS, driver=Driver.ABSENT),)}, False),
    ("loop devices", {"loop": FAILS}, True),
    ("debugfs", {"has_debugfs": False}, True),
    ("tracefs", {"has_tracefs": False}, True),
    ("memory cgroups", {"has_memory_cgroups": False}, True),
    ("udevd", {"udev_runs": False}, True),
    ("kernel log", {"kernel_log_readable": False}, True),
    ("runs", {"runs": RunsDisk("/runs", "", LEAST_ROOM_BYTES - 1, 2**30)}, True),
    ("free memory", {"page_reporting": True}, True),
    ("terminal", {"terminal": TerminalFacts("vt220", 79, 24, "ascii")}, True),
    ("xfs", {"filesystems": (without_tools(XFS), BTRFS)}, True),
]


def test_what_is_missing_is_told_with_a_remedy_and_whether_runs_are_possible_without_it():
    for check, change, is_possible in LESS:
        machine = replace(GOOD, **change)
        found = finding(machine, check)
        assert (found.status is not Status.OK, bool(found.remedy)) == (True, True), (check, change)
        assert is_possible or found.status is Status.MISSING, (check, change)
        assert run_is_possible(diagnose(machine)) is is_possible, (check, change)
    found = finding(replace(GOOD, filesystems=(without_tools(XFS), BTRFS)), "xfs")
    assert "mkfs.xfs" in found.found
    assert "xfsprogs" in found.remedy


def test_what_was_not_tried_is_not_called_working():
    machine = replace(GOOD, is_root=False, namespace=None, loop=None)
    assert finding(machine, "namespace").status is Status.LIMITED
    assert finding(machine, "loop devices").status is Status.LIMITED


def test_filesystems_registered_and_those_that_mount_would_load_are_read():
    fresh = parse_filesystems((DATA / "filesystems/debian-12-fresh.txt").read_text())
    assert {"ext2", "ext3", "ext4", "debugfs"} <= fresh
    assert not {"nodev", "xfs"} & fresh
    built_in = parse_filesystems((DATA / "filesystems/linux-6.18-built-in.txt").read_text())
    assert {"ext2", "ext3", "ext4", "xfs", "btrfs"} <= built_in
    aliases = parse_aliases((DATA / "modules/debian-12-modules.alias.txt").read_text())
    assert aliases == {"fuseblk", "fuse", "xfs", "btrfs", "ext4", "ext3", "ext2"}


def test_versions_are_read_from_what_tools_say():
    for said, version in (
        ("mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n", "1.47.0"),
        ("mkfs.xfs version 6.1.0\n", "6.1.0"),
        ("mkfs.btrfs, part of btrfs-progs v6.2\n", "6.2"),
        ("bubblewrap 0.8.0\n", "0.8.0"),
        ("mount from util-linux 2.38.1 (libmount 2.38.1: selinux)\n", "2.38.1"),
        ("unrecognised option\n", ""),
    ):
        assert parse_version(said) == version


@given(st.text())
def test_any_text_is_read_without_an_error(text):
    parse_filesystems(text)
    parse_aliases(text)
    parse_version(text)


def test_this_machine_has_tools_with_versions_and_without_root_nothing_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path / "runs"))
    ext4 = next(filesystem for filesystem in machine.filesystems if filesystem.name == "ext4")
    assert ext4.tools[0].path.endswith("mkfs.ext4")
    assert ext4.tools[0].version
    assert machine.runs.trouble == ""
    assert not (tmp_path / "runs").exists()
    assert not machine.is_root
    assert machine.namespace is machine.confinement is machine.loop is None


def test_a_runs_directory_behind_a_link_or_a_file_is_told_of(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    assert "symbolic link" in _runs_disk(str(tmp_path / "link" / "runs")).trouble
    assert "is not a directory" in _runs_disk(str(tmp_path / "file" / "deeper")).trouble
    assert "/proc has the kernel's own files" in _runs_disk("/proc/runs").trouble


def test_json_has_every_check_and_its_verdict_is_the_exit_code(tmp_path):
    done = subprocess.run(
        [FSCONSOLE, "doctor", "--json", "--runs", tmp_path], check=False, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["run_possible"] else 1)
    assert {"root", "confinement", "loop devices", "ext4", "runs"} <= {c["check"] for c in answer["checks"]}
    assert all(set(c) == {"check", "status", "found", "remedy", "essential"} for c in answer["checks"])


MDSTAT = "Personalities : [raid6] [raid5] [raid4] \nunused devices: <none>\n"
ALIASES = "alias md-raid1 raid1\nalias md-level-1 raid1\nalias md-personality-3 raid1\nalias fs-xfs xfs\n"


def test_levels_are_those_loaded_and_those_that_a_module_brings():
    assert array_levels(MDSTAT, ALIASES) == ("raid1", "raid4", "raid5", "raid6")
    assert array_levels("", "alias fs-xfs xfs\n") == ()


def test_a_level_that_the_kernel_lost_and_a_missing_mdadm_stand_against_arrays(monkeypatch):
    monkeypatch.setattr(preflight_machine, "levels_here", lambda: ("raid0", "raid5"))
    monkeypatch.setattr(preflight_machine, "find_program", lambda _: "/usr/sbin/mdadm")
    lacking = array_support()
    assert set(lacking) == {"linear", "raid1", "raid4", "raid6", "raid10"}
    assert "no module md-linear" in lacking["linear"]
    monkeypatch.undo()
    monkeypatch.setattr(preflight_machine, "levels_here", lambda: ("raid0", "raid5"))
    monkeypatch.setattr(preflight_machine, "MDADM", "mdadm-that-is-not-there")
    assert array_support()["raid5"].startswith("mdadm is not installed (Debian's package mdadm")


def test_doctor_says_what_arrays_lack_and_that_no_other_run_needs_it():
    found = finding(GOOD, "arrays")
    assert (found.status, found.found) == (Status.OK, "mdadm 4.2; raid0, raid5")
    for lack, words in (
        ({"array_levels": ()}, "no md arrays"),
        ({"array_tool": Tool("mdadm", "mdadm")}, "not installed: mdadm"),
    ):
        found = finding(replace(GOOD, **lack), "arrays")
        assert (found.status, found.prevents_runs) == (Status.LIMITED, False)
        assert words in found.found
        assert "[[array]]" in found.remedy


def test_doctor_names_the_load_generators_and_what_to_install_for_others():
    assert finding(GOOD, "generators").found == "built-in, bonnie++ 2.00, fio 3.33"
    lacking = (Tool("bonnie++", "bonnie++"), *GOOD.generators[1:])
    found = finding(replace(GOOD, generators=lacking), "generators")
    assert (found.status, found.prevents_runs) == (Status.LIMITED, False)
    assert found.found == "built-in, fio 3.33; not installed: bonnie++"
    assert "loads name bonnie++ need it" in found.remedy


def test_the_facts_of_a_run_have_the_version_of_each_mkfs_once() -> None:
    plan = build.request([build.cell(0), build.cell(1)]).plan
    ((name, version),) = tool_facts(RealExecutor(), plan)
    assert name == "tool mkfs.ext4"
    assert version[0].isdigit()
