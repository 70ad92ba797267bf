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


def test_lines_with_all_words_are_found_below_their_headings_and_counted() -> None:
    for text, keys in {
        "JOURNAL first": ["g journal", "data"],
        "mount seconds": ["g journal", "commit"],
        "block_s": ["g blocks", "size"],
        "uninit_gr": ["g journal", "data"],
        "  ": [line.key for line in LINES],
        "nothing like it": [],
    }.items():
        assert [line.key for line in matching(LINES, text)] == keys, text
    assert matching_words(LINES, "journal", "options") == "2 of 3 options match 'journal'"
    assert matching_words(LINES, " block ", "options") == "1 of 3 options matches 'block'"
    assert matching_words(LINES, "\x1b[/x]", "options") == "0 of 3 options match '\\x1b[/x]'"
