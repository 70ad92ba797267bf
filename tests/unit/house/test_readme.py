"""README and the chapters in docs: commands exist, plans are read, tables match the declarations, links resolve."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.app import COMMANDS
from fsconsole.cli.declared import declared_commands
from fsconsole.model.events import WarningKind
from fsconsole.plan import read
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.keys import (
    AFTER,
    ARRAY,
    FILESYSTEM,
    RUN,
    SCHEMA_KEY,
    SETTINGS,
    TOP,
    VARIANT,
    WORKLOAD,
    Key,
)
from fsconsole.plan.rows import list_candidates, rows_of
from tests.unit.house.source import CHECKOUT

CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
MENTIONED = re.compile(r"^[ `]*(?:sudo )?(?:fsconsole|\./bootstrap) ([a-z][a-z-]*)", re.MULTILINE)


LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")
DOCS = CHECKOUT / "docs"
ALL = declared_commands()
PAGES = (CHECKOUT / "README.md", *sorted(DOCS.glob("*.md")))


def command_names() -> set[str]:
    return {name for name, _, _ in COMMANDS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_commands_that_a_page_mentions_exist(page: Path) -> None:
    mentioned = {name for code in CODE.findall(page.read_text()) for name in MENTIONED.findall(code)}
    assert mentioned - {"test"} <= command_names()


OPTION = re.compile(r"(?<![\w=-])--?[a-zA-Z][\w-]*")
FSCONSOLE = re.compile(r"(?:^|[ /])fsconsole((?: [^ |;>&()]+)*)")
OF_OTHERS = {
    "apply.sh": {"--dry-run", "--overwrite", "--devices-only"},
    "ansible-playbook": {"--check", "--diff", "--syntax-check"},
    "cp and rm": {"--reflink", "--one-file-system", "--parents"},
    "fio": {"--showcmd", "--output-format"},
}
"""Options of other programs that stand alone in a code span."""


def unknown_options(code: str, declared: dict[str, set[str]]) -> set[str]:
    """Return the options of a line that its command of fsconsole, or where none is named any of them, doesn't have."""
    found = set()
    for words in FSCONSOLE.findall(re.sub("'[^']*'", "WORD", code)):
        said = " ".join(["", *(word for word in words.split() if not word.startswith("-")), ""])
        name = max((name for name in declared if f" {name} " in said), key=len, default="")
        found |= set(OPTION.findall(words)) - declared[name] - declared[""]
    if code.startswith("--"):
        known = set().union(*declared.values(), *OF_OTHERS.values())
        found |= set(OPTION.findall(code)) - known
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_options_that_a_page_mentions_are_those_of_the_command_beside_them(page: Path) -> None:
    declared = {" ".join(one.words): {name for option in one.options for name in option.names} for one in ALL}
    text = page.read_text().replace("\\\n", " ")
    lines = [line.strip() for code in CODE.findall(text) for line in code.strip("`").splitlines()]
    assert {line: unknown for line in lines if (unknown := unknown_options(line, declared))} == {}


def test_an_option_that_a_command_does_not_have_would_be_found() -> None:
    declared = {"": {"--runs"}, "quick": {"-d", "--for"}, "plan": {"--list"}, "runs delete": {"--yes"}}
    for line, unknown in (
        ("sudo fsconsole quick -d /dev/sdX ext4 'xfs@-m reflink=0' --for 10m", set()),
        ("fsconsole --runs D runs delete X --yes | cat --all", set()),
        ("fsconsole plan --for 10m", {"--for"}), ("fsconsole quick -x", {"-x"}), ("--four TIME", {"--four"}), ("--list", set()),
        ("mdadm --create", set()),
    ):  # fmt: skip
        assert unknown_options(line, declared) == unknown, line


def test_every_command_is_in_the_chapter_of_the_command_line() -> None:
    rows = re.findall(r"^\| `fsconsole ([a-z-]+)` \|", (DOCS / "command-line.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(command_names())


def test_the_readme_is_short() -> None:
    assert len((CHECKOUT / "README.md").read_text().split()) <= 1300


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_of_a_page_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text()):
        if not path.startswith("http"):
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), path
            assert not anchor or anchor in anchors(target), anchor


def test_every_chapter_is_in_the_index() -> None:
    linked = {path for path, _ in LINK.findall((DOCS / "README.md").read_text())}
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} == linked - {"../tests/README.md"}


@pytest.mark.parametrize("page", ["README.md", "docs/plan-files.md"])
def test_the_plan_of_a_page_is_read_and_has_the_cells_that_it_says(page: str) -> None:
    text = (CHECKOUT / page).read_text()
    (source,) = re.findall(r"```toml\n(schema = 1\n.*?)```", text, re.DOTALL)
    plan = read.parse_plan(source, page)
    assert len(rows_of(plan, list_candidates(plan, load_catalog())).rows) * plan.repeats == 15
    assert "15 cells" in text


def test_the_readmes_grid_has_rows_of_the_kept_demo() -> None:
    demo = (DOCS / "demo.md").read_text()
    section = (CHECKOUT / "README.md").read_text().partition("## How to read the grid")[2]
    assert [line for line in section.split("```")[1].strip().splitlines() if line not in demo] == []


TABLES = {
    "plan-files.md": [(SCHEMA_KEY, ""), *((key, "") for key in RUN)],
    "plan-files.md#tables": [
        *((key, "[[filesystem]] ") for key in FILESYSTEM),
        *((key, "[[variant]] ") for key in VARIANT),
        *((key, "[after] ") for key in AFTER),
    ],
    "workloads.md": [(key, "") for key in WORKLOAD],
    "settings.md": [(key, "") for key in SETTINGS],
    "arrays.md": [(key, "") for key in ARRAY],
}
"""The chapter of each table, and its keys with what stands before their names."""


def default_of(key: Key) -> str:
    if key.is_required:
        return "required"
    plain = key.kind.toml(key.default) if key.default is not None else ""
    plain = plain[0] if isinstance(plain, list) and plain else plain
    if isinstance(plain, bool):
        return str(plain).lower()
    # Nothing, unless a word stands for it.
    if (not key.default and not isinstance(key.default, bool)) or key.default == (0, 0):
        return ""
    return f'`"{plain}"`' if isinstance(plain, str) else str(plain)


def table_of(keys: list[tuple[Key, str]]) -> str:
    """Return the table that the chapter must have: to be copied from a failed test."""
    has_levels = any(key.lacks for key, _ in keys)
    lines = ["| key | values | default | " + ("levels that have it | " if has_levels else "") + "meaning |"]
    lines.append("| --- " * (5 if has_levels else 4) + "|")
    for key, place in keys:
        levels = [", ".join(key.levels) if key.lacks else ""] if has_levels else []
        name = f"`{place.strip()}` `{key.name}`" if place else f"`{key.name}`"
        lines.append(f"| {' | '.join((name, key.kind.words, default_of(key), *levels, key.help))} |")
    return "\n".join(lines) + "\n"


def test_tables_of_keys_in_the_chapters_are_those_of_the_declarations():
    wrong = [
        f"docs/{chapter} should have:\n{table}"
        for chapter, keys in TABLES.items()
        if (table := table_of(keys)) not in (DOCS / chapter.partition("#")[0]).read_text()
    ]
    assert not wrong, "\n".join(wrong)


def test_every_kind_of_warning_has_its_row_in_the_chapter_in_order():
    text = (DOCS / "warnings.md").read_text()
    rows = re.findall(r"^\| ([A-Za-z/ ]+) \| [^|]+ \| [^|]+ \|$", text, re.MULTILINE)[1:]
    assert rows == [kind.words for kind in WarningKind]


def test_every_table_of_a_plan_and_every_level_is_in_a_chapter():
    text = "".join((DOCS / name).read_text() for name in ("plan-files.md", "workloads.md", "settings.md", "arrays.md"))
    for key in TOP:
        assert re.search(rf"`\[?\[?{key}\]?\]?`", text), key
    assert all(level in text for level in LEVELS)
