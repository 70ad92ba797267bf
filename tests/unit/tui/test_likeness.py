"""Replaced characters: of the set, and as wide as what they stand for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import textual
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.color import Color

from fsconsole.show.terminal import ASCII, SAFE, WIDE, Glyphs
from fsconsole.tui.terminal import BriefFilter, ColourFilter, GlyphFilter, allowed, shown

SETS = pytest.mark.parametrize("glyphs", [ASCII, SAFE, WIDE], ids=["ascii", "safe", "wide"])
NARROW = pytest.mark.parametrize("glyphs", [ASCII, SAFE], ids=["ascii", "safe"])
BLACK = Color(0, 0, 0)

ODD = st.sampled_from(
    "e\u0301\u200d\ufe0f\u2764\U0001f468\U0001f469\U0001f467\U0001f3fd\u4e2d\u0e33\x1b\x07\n\t\x00\x9b\u202e\U0001f1e9\U0001f1ea█▊▔┏😀"
)
TEXTS = st.one_of(st.text(max_size=30), st.text(ODD, max_size=12))


@SETS
@given(text=TEXTS)
def test_the_width_stays_and_nothing_is_left_that_steers_the_terminal_or_that_the_font_lacks(
    glyphs: Glyphs, text: str
) -> None:
    drawn = shown(text, glyphs)
    assert cell_len(drawn) == cell_len(text)
    assert drawn.isprintable()
    if glyphs != WIDE:
        assert all(character in allowed(glyphs) or character.isascii() for character in drawn)


@SETS
def test_every_single_character_keeps_its_width(glyphs: Glyphs) -> None:
    codes = [*range(0x3100), *range(0xF000, 0x10000, 3), *range(0x1F000, 0x1FB00)]
    wrong = [code for code in codes if cell_len(shown(chr(code), glyphs)) != cell_len(chr(code))]
    assert wrong == []


def test_texts_with_an_accent_stay_readable_and_a_wide_character_takes_two_columns() -> None:
    for text, drawn in (("Größe é e\u0301 Łódź", "Grose e e Lodz"), ("中", "??"), ("\uff21", "A ")):
        assert shown(text, SAFE) == drawn


@NARROW
def test_all_that_textual_draws_with_has_a_likeness(glyphs: Glyphs) -> None:
    root = Path(textual.__file__).parent
    files = [
        root / "_border.py",
        root / "scrollbar.py",
        root / "keys.py",
        *(root / "renderables").glob("*.py"),
    ]
    drawn = {
        character
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for character in node.value
        if not character.isascii()
    } - set("╫╪┷£€")  # Of Digits alone, which isn't used here.
    assert len(drawn) > 40
    assert [character for character in sorted(drawn) if "?" in shown(character, glyphs)] == []


@SETS
def test_control_segments_pass_untouched(glyphs: Glyphs) -> None:
    control = Segment("\x1b[2J", None, [(ControlType.CLEAR,)])
    assert GlyphFilter(glyphs).apply([control], BLACK) == [control]
    assert ColourFilter().apply([control], BLACK) == [control]


@SETS
@given(texts=st.lists(TEXTS, max_size=5))
def test_the_filter_keeps_the_width_of_every_segment_and_its_style(glyphs: Glyphs, texts: list[str]) -> None:
    style = Style(bold=True, meta={"row": 3})
    before = [Segment(text, style) for text in texts]
    after = GlyphFilter(glyphs).apply(before, BLACK)
    assert [segment.cell_length for segment in after] == [segment.cell_length for segment in before]
    assert all(segment.style == style for segment in after)


def test_without_colours_reverse_and_what_the_mouse_needs_stay_and_what_had_a_background_is_reversed() -> None:
    style = Style(color="red", bgcolor="blue", reverse=True, bold=True, meta={"row": 3})
    before = [
        Segment("x", style),
        Segment("a", Style(bgcolor="blue")),
        Segment("b", Style(bgcolor="default")),
    ]
    found = ColourFilter().apply([*before, Segment("x")], BLACK)
    first = found[0].style
    assert first is not None
    assert (first.color, first.bgcolor) == (None, None)
    assert (first.reverse, first.bold, first.meta) == (True, True, {"row": 3})
    assert [segment.style and segment.style.reverse for segment in found] == [True, True, None, None]
    assert found[3] == Segment("x")


def test_the_terminals_own_colours_go_without_saying_and_nothing_is_dim_which_is_dark_grey_on_black() -> None:
    own, red = Style(color="default", bgcolor="default"), Style(color="red", bgcolor="default")
    before = [Segment("a", own), Segment("b", own), Segment("c", red)]
    assert BriefFilter().apply(before, BLACK) == [Segment("ab", Style()), Segment("c", Style(color="red"))]
    (found,) = BriefFilter().apply([Segment("a", Style(dim=True, bold=True))], BLACK)
    assert found.style is not None
    assert (found.style.dim, found.style.bold) == (False, True)


@given(texts=st.lists(TEXTS, max_size=5))
def test_the_brief_filter_keeps_text_and_meta(texts: list[str]) -> None:
    before = [Segment(text, Style(color="default", bold=True, meta={"row": len(text)})) for text in texts]
    after = BriefFilter().apply(before, BLACK)
    assert "".join(segment.text for segment in after) == "".join(texts)
    assert all(segment.style is not None and segment.style.bold for segment in after)
    assert [(character, segment.style.meta) for segment in after for character in segment.text if segment.style] == [
        (character, {"row": len(text)}) for text in texts for character in text
    ]
