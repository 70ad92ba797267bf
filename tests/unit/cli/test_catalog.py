"""The catalog as text and as JSON."""

from __future__ import annotations

import json

import pytest

from fsconsole.catalog.filesystem import Answer, Filesystem, Scope, Verdict
from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import UnknownFilesystem
from fsconsole.model.answers import CatalogAnswer
from fsconsole.model.wire import encode
from fsconsole.preflight.catalog_survey import CatalogSurvey, catalog_answer, take
from fsconsole.preflight.findings import Findings, Versions
from fsconsole.preflight.machine import Driver, FilesystemSupport, Tool
from fsconsole.show.catalog import filesystem_lines, overview_lines

KEYS = {"name", "group", "kind", "values", "help", "since", "until", "old_names", "probe"}
WORDS = "ext4: Unknown parameter 'nomballoc'"


def entry(filesystem: Filesystem, *answers: Answer, driver: str = "", path: str = "/sbin/x") -> CatalogAnswer:
    tools = tuple(Tool(name, filesystem.package, path, "1.0") for name in filesystem.tools)
    support = FilesystemSupport(filesystem.name, Driver.LOADED, tools)
    if not answers:
        return catalog_answer(filesystem, support, None)
    findings = Findings(filesystem.name, Versions("k", "t", "c"), driver, "", answers)
    return catalog_answer(filesystem, support, findings)


def answered(option: str, value: str, verdict: Verdict, words: str = "", scope: Scope = Scope.MOUNT) -> Answer:
    return Answer("ext4", scope, option, value, verdict, words)


def ext4(*answers: Answer, **how: str) -> CatalogAnswer:
    return entry(load_catalog().get("ext4"), *answers, **how)


def paragraph(lines: list[str], name: str) -> str:
    """Return the lines of one option as one text."""
    start = next(n for n, line in enumerate(lines) if line.startswith(f"  {name} "))
    end = next(n for n in range(start + 1, len(lines)) if not lines[n].startswith("    "))
    return " ".join(" ".join(lines[start:end]).split())


def test_every_option_and_constraint_is_told_and_no_line_is_wider_than_the_terminal() -> None:
    for filesystem in load_catalog().filesystems:
        option = filesystem.options[0]
        long = Answer(filesystem.name, option.scope, option.name, "x", Verdict.REFUSED, "word " * 90)
        made = entry(filesystem, long)
        for width in (80, 132):
            lines = [*filesystem_lines(made, width), *overview_lines(CatalogSurvey((made,), ()), width)]
            assert max(map(len, lines)) <= width
        lines = list(filesystem_lines(entry(filesystem), 80))
        for option in filesystem.options:
            assert option.group in lines
            assert option.help in paragraph(lines, option.name)
        told = " ".join(" ".join(filesystem_lines(entry(filesystem), 200)).split())
        for rule in filesystem.rules:
            assert rule.when in told
            assert " ".join(rule.why.split()) in told


def test_results_of_trying_are_told_value_by_value() -> None:
    made = ext4(
        answered("mballoc", "on", Verdict.TAKEN),
        answered("mballoc", "off", Verdict.REFUSED, WORDS),
        answered("reservation", "on", Verdict.IGNORED, "EXT4-fs: Ignoring removed reservation option"),
        answered("commit", "60", Verdict.UNTRIED),
    )
    lines = list(filesystem_lines(made, 80))
    assert f'taken: on refused: off: "{WORDS}"' in paragraph(lines, "mballoc")
    assert 'accepted, not in effect: on: "EXT4-fs: Ignoring removed' in paragraph(lines, "reservation")
    assert "taken" not in paragraph(lines, "commit")


def test_without_trying_the_declarations_are_told() -> None:
    lines = list(filesystem_lines(ext4(), 80))
    assert f'off: "{WORDS}"' in paragraph(lines, "mballoc")
    assert "until Linux 2.6.27" in paragraph(lines, "mballoc")
    assert "also called uninit_groups" in paragraph(lines, "uninit_bg")
    assert "without effect" in paragraph(lines, "orlov")


def test_the_driver_in_use_and_missing_tools_with_their_package_are_told() -> None:
    ext3 = load_catalog().get("ext3")
    answer = Answer("ext3", Scope.MOUNT, "commit", "60", Verdict.TAKEN)
    told = " ".join(" ".join(filesystem_lines(entry(ext3, answer, driver="ext4"), 80)).split())
    assert "under the name ext3; in use when tried: ext4" in told
    made = entry(load_catalog().get("f2fs"), path="")
    assert made.unavailable == "not installed: mkfs.f2fs, fsck.f2fs, dump.f2fs (package f2fs-tools)"
    told = " ".join(overview_lines(CatalogSurvey((made,), ()), 80))
    assert "(package f2fs-tools)" in " ".join(told.split())


def test_json_has_every_option_with_stable_keys() -> None:
    made = ext4(answered("mballoc", "off", Verdict.REFUSED, WORDS))
    (document,) = json.loads(encode((made,), indent=2))
    assert document["filesystem"] == "ext4"
    assert len(document["options"]) == len(made.options)
    assert all(set(option) >= KEYS for option in document["options"])
    (mballoc,) = [option for option in document["options"] if option["name"] == "mballoc"]
    assert mballoc["probe"] == [{"value": "off", "verdict": "refused", "words": WORDS}]
    assert (mballoc["kind"], mballoc["until"], mballoc["values"]) == ("mount", "2.6.27", ["on", "off"])


def test_a_filesystem_that_there_is_not_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownFilesystem) as told:
        take(["ext5"], probe=False)
    assert told.value.hint == "Did you mean ext4, ext3, ext2?"
