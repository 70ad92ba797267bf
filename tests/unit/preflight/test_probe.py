"""What is tried, what is kept of it, and what a plan makes of it."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.filesystem import Answer, Filesystem, Known, Scope, Verdict
from fsconsole.catalog.loader import declaration_digest, load_catalog
from fsconsole.catalog.words import Where, broken_rules, choose
from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.wire import encode
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import NO_DEVICE
from fsconsole.plan.read import parse_plan
from fsconsole.preflight import findings, machine
from fsconsole.preflight.findings import (
    Findings,
    Versions,
    keep_findings,
    read_findings,
    what_is_known,
)
from fsconsole.preflight.machine import why_absent
from fsconsole.preflight.probe_child import list_trials, tool_words
from fsconsole.system.run import RealExecutor

WHERE = Where("the catalog", "option")
NOW = Versions("6.18.44 #1 SMP", "mke2fs 1.47.0 (5-Feb-2023)", "0123abcd")
REFUSED = Answer("ext4", Scope.MOUNT, "data", "journal", Verdict.REFUSED, "EXT4-fs: no", "")
FOUND = Findings("ext4", NOW, "ext4", "", (REFUSED, Answer("ext4", Scope.MKFS, "flex_bg", "on", Verdict.TAKEN)))
PLAN = """
schema = 1
repeats = 1
[[filesystem]]
type = "ext4"
mount = { data = ["ordered", "journal"] }
[[variant]]
type = "jfs"
[[workload]]
kind = "create"
threads = 1
file_size = "1MiB"
"""


def test_every_value_is_a_trial_of_its_own_with_the_words_it_takes_beside() -> None:
    for filesystem in load_catalog().filesystems:
        require_whole_trials(filesystem)


def require_whole_trials(filesystem: Filesystem) -> None:
    trials = list_trials(filesystem)
    assert len({(t.option.scope, t.option.name, t.value) for t in trials}) == len(trials)
    for trial in trials:
        said = " ".join((*trial.variant.mkfs_words, *trial.variant.mount_words))
        for word in trial.option.text(trial.value).replace(",", " ").split():
            assert word in said or filesystem.mount_aliases.get(word, "?") in said
    for trial in (t for t in trials if not t.option.refusals):
        chosen = choose(
            filesystem, shlex.join(trial.variant.mkfs_words), ",".join(trial.variant.mount_words), "", WHERE
        )
        assert broken_rules(filesystem, chosen) == ()
    cluster = [t for t in trials if t.option.name == "cluster_size"]
    assert all("bigalloc" in " ".join(t.variant.mkfs_words) for t in cluster)


def test_what_a_rule_asks_for_is_said_beside() -> None:
    trials = list_trials(load_catalog().get("xfs"))
    (off,) = [t for t in trials if (t.option.name, t.value) == ("lazy_count", "off")]
    (on,) = [t for t in trials if (t.option.name, t.value) == ("lazy_count", "on")]
    assert "crc=0" in off.variant.mkfs_words
    assert "crc=0" not in on.variant.mkfs_words


def test_what_is_kept_is_found_again_while_nothing_has_changed(tmp_path: Path) -> None:
    directory = str(tmp_path / "cache")
    keep_findings(FOUND, directory)
    assert read_findings("ext4", NOW, directory) == FOUND
    assert read_findings("xfs", NOW, directory) is None
    assert os.listdir(directory) == ["options-ext4.json"]


def test_what_is_damaged_or_of_another_kernel_tool_or_catalog_is_as_good_as_none(tmp_path: Path) -> None:
    keep_findings(FOUND, str(tmp_path))
    for what in ("kernel", "tools", "catalog"):
        assert read_findings("ext4", replace(NOW, **{what: "another"}), str(tmp_path)) is None
    document = encode(FOUND)
    for text in ("", "{", "[]", '{"versions": 1}', "\x00", document.replace("refused", "perhaps")):
        (tmp_path / "options-ext4.json").write_text(text)
        assert read_findings("ext4", NOW, str(tmp_path)) is None


def test_findings_that_can_not_be_kept_leave_the_old_ones_whole(tmp_path: Path, monkeypatch) -> None:
    keep_findings(FOUND, str(tmp_path))

    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(findings.os, "fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        keep_findings(replace(FOUND, driver="another"), str(tmp_path))
    assert read_findings("ext4", NOW, str(tmp_path)) == FOUND
    assert os.listdir(tmp_path) == ["options-ext4.json"]


def test_what_is_known_without_trying_is_what_is_kept_and_which_drivers_and_programs_are_missing(
    tmp_path, monkeypatch
) -> None:
    def none_of_xfs(name: str) -> str:
        if name in {"mkfs.xfs", "xfs_repair"}:
            raise ToolMissing(tool=name, package="xfsprogs")
        return f"/sbin/{name}"

    monkeypatch.setattr(findings, "find_program", none_of_xfs)
    monkeypatch.setattr(findings, "versions_now", lambda _executor, _filesystem: NOW)
    monkeypatch.setattr(machine, "registered_filesystems", lambda: frozenset({"ext4", "xfs"}))
    keep_findings(FOUND, str(tmp_path))
    names = frozenset({"ext4", "xfs", "reiserfs"})
    known = what_is_known(RealExecutor(), load_catalog(), names, str(tmp_path))
    assert known.answers == FOUND.answers
    absent = dict(known.absent)
    assert set(absent) == {"xfs", "reiserfs"}
    assert absent["xfs"] == "not installed: mkfs.xfs, xfs_repair; package xfsprogs"


def test_a_plan_marks_what_is_known_to_be_refused_and_what_has_no_driver() -> None:
    known = Known((REFUSED,), (("jfs", "this kernel has no driver for jfs"),))
    plan = build_plan(
        parse_plan(PLAN, "plan.toml"), (NO_DEVICE,), load_catalog(), run_id="r", kernel="6.18", known=known
    )
    why = {cell.variant.label: cell.unavailable for cell in plan.cells}
    assert why == {
        "ext4 data=ordered": "",
        "ext4 data=journal": "data: this machine refuses it (EXT4-fs: no)",
        "jfs": "this kernel has no driver for jfs",
    }


def test_the_reason_of_a_missing_driver_tells_old_kernels_from_new_ones() -> None:
    catalog = load_catalog()
    assert why_absent(catalog.get("reiserfs"), "6.18.1") == "reiserfs left the kernel after Linux 6.12"
    assert why_absent(catalog.get("f2fs"), "3.2.0") == "f2fs came with Linux 3.8"
    assert "no driver for jfs" in why_absent(catalog.get("jfs"), "6.18.1")
    # Findings hold for a declaration as it is, known by its digest.
    assert len({declaration_digest(name) for name in catalog.names}) == len(catalog.names)


def test_the_reason_is_found_between_a_tools_banner_and_its_help() -> None:
    for said, reason in (
        (
            "mke2fs 1.47.0 (5-Feb-2023)\nExtents MUST be enabled for a 64-bit filesystem.  Pass -O extents to rectify.\n\n",
            "Extents MUST be enabled for a 64-bit filesystem.  Pass -O extents to rectify.",
        ),
        (
            "Minimum inode size for CRCs is 512 bytes\nUsage: mkfs.xfs\n/* blocksize */\t\t[-b size=num]\n",
            "Minimum inode size for CRCs is 512 bytes",
        ),
        (
            "ERROR: --leafsize has been removed in 6.0, use --nodesize\n",
            "ERROR: --leafsize has been removed in 6.0, use --nodesize",
        ),
        (
            "mkfs.nilfs2 (nilfs-utils 2.2.9)\nError: too small device.\n       device size=1 bytes\n",
            "Error: too small device.",
        ),
        (
            "mkfs.ext4: reserved online resize blocks not supported\n",
            "mkfs.ext4: reserved online resize blocks not supported",
        ),
        (
            "\n\tF2FS-tools: mkfs.f2fs Ver: 1.15.0 (2022-05-13)\n\nInfo: Disable heap-based policy\n"
            "\tError: Device size is not sufficient for F2FS volume\n",
            "Error: Device size is not sufficient for F2FS volume",
        ),
        ("", "mkfs.x ended with exit code 1"),
        ("Usage: mkfs.x\n", "mkfs.x ended with exit code 1"),
    ):
        usage = ResourceUsage(0.0, 0.0, 0.0, 0)
        result = CommandResult(("/sbin/mkfs.x", "img"), 1, b"", said.encode(), usage)
        assert tool_words(result) == reason
