"""Which lines of a list have some words in them, and how that is told."""

from __future__ import annotations

from fsconsole.show.lines import Line, matching, matching_words

LINES = (
    Line("g journal", "journal", is_heading=True),
    Line("data", "data", value="mount", found_by="journal what is written first uninit_groups"),
    Line("commit", "commit", value="mount 5,30", found_by="journal seconds"),
    Line("g blocks", "blocks", is_heading=True),
    Line("size", "block_size", value="mkfs", found_by="blocks bytes per block"),
)


def keys(text: str) -> list[str]:
    return [line.key for line in matching(LINES, text)]


def test_all_words_must_be_there_in_any_case_and_in_any_place() -> None:
    assert keys("JOURNAL first") == ["g journal", "data"]
    assert keys("mount seconds") == ["g journal", "commit"]
    assert keys("block_s") == ["g blocks", "size"]
    assert keys("uninit_gr") == ["g journal", "data"]


def test_no_word_leaves_all_and_a_heading_without_lines_goes() -> None:
    assert keys("  ") == [line.key for line in LINES]
    assert keys("nothing like it") == []


def test_it_is_told_how_many_are_left_of_how_many() -> None:
    assert matching_words(LINES, "journal", "options") == "2 of 3 options match 'journal'"
    assert matching_words(LINES, " block ", "options") == "1 of 3 options matches 'block'"
    assert matching_words(LINES, "\x1b[/x]", "options") == "0 of 3 options match '\\x1b[/x]'"
