"""Variants in mkfs's and mount's own words, typed on the Plan screen and kept in its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.plan.planfile import VariantText
from fsconsole.plan.read import read_plan
from tests.tui.at_plan import LOAD, Hand, at_plan
from tests.tui.harness import SIZES, picture

PLAN = f"""schema = 1
[[variant]]
type = "ext4"
mkfs = "-O ^flex_bg"
mount = "noatime"
tune = "-c 20"
label = "as in 2008"
as_printed = "ext4, no flex_bg"
[[variant]]
type = "xfs"
{LOAD}"""


async def fill(hand: Hand, **texts: str) -> None:
    for key, text in texts.items():
        hand.pilot.app.screen.query_one(f"#field-{key}").focus()
        await hand.pilot.pause()
        await hand.type(text)


def in_one_line(hand: Hand) -> str:
    return " ".join(picture(hand.pilot).split())


@pytest.mark.parametrize("size", SIZES)
def test_a_variant_is_typed_checked_as_it_is_typed_and_compared(size: tuple[int, int]) -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("words")
        await hand.sees("(add one)")
        await hand.keys("enter")
        await hand.sees("A variant in the tools' own words")
        await fill(hand, type="ext5")
        await hand.until(lambda: "there is no filesystem 'ext5'; did you mean ext2" in in_one_line(hand))
        await fill(hand, type="xfs", mkfs="-d su=64k,sx=4")
        await hand.until(lambda: "'sx=4': it is not on the list; allowed: s" in in_one_line(hand))
        await hand.keys("enter")
        await hand.sees("A variant in the tools' own words")
        await fill(hand, mkfs="-d su=64k,sw=4", mount="noatime", label="striped [/x]")
        await hand.keys("enter")
        await hand.sees("striped [/x]", "3 variants, 9 cells")
        typed = VariantText("xfs", "-d su=64k,sw=4", "noatime", label="striped [/x]")
        assert hand.screen.draft.plan_file.variants == (typed,)

    at_plan(work, size=size)


def test_a_second_device_or_a_contradiction_is_refused_in_the_plan_reader_s_words() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("words")
        await hand.keys("a")
        for mkfs, words in (
            ("/dev/sdb", "'/dev/sdb': a word on its own could be a second device or a path"),
            ("-b 4096 -b 1024", "it contradicts -b 4096"),
        ):
            await fill(hand, mkfs=mkfs)
            await hand.until(lambda words=words: words in in_one_line(hand))
        await hand.keys("escape")
        assert hand.screen.draft.plan.variants == ()

    at_plan(work)


def test_variants_of_a_file_are_shown_changed_doubled_removed_and_saved(tmp_path: Path) -> None:
    path = tmp_path / "a rather long name of a plan.toml"
    path.write_text(PLAN)

    async def work(hand: Hand) -> None:
        await hand.keys("o", "tab")
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.sees("2 variants, 2 cells")
        await hand.go_to("words")
        await hand.sees("[x] as in 2008", "[x] xfs", "ext4: mkfs -O ^flex_bg", "tune -c 20")
        before = hand.screen.draft.plan.variants
        await hand.keys("enter")
        await hand.sees("ext4, no flex_bg")
        await fill(hand, mount="noatime,nodelalloc")
        await hand.keys("f10")
        await hand.sees("mount noatime,nodelalloc")
        await hand.keys("down", "d", "x", "space", "s", "enter")
        await hand.until(lambda: not hand.screen.is_changed)
        kept = read_plan(path).variants
        assert [variant.mount for variant in kept] == ["noatime,nodelalloc"]
        assert kept[0].label == before[0].label
        assert kept[0].tune == before[0].tune
        assert kept[0].as_printed == before[0].as_printed

    at_plan(work)


def test_enter_on_a_variant_in_words_opens_it_from_the_list_of_all_variants(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)

    async def work(hand: Hand) -> None:
        await hand.keys("o", "tab")
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.settled()
        await hand.go_to("variants")
        await hand.keys("enter")
        await hand.sees("A variant in the tools' own words", "as in 2008")
        await hand.keys("escape", "space")
        await hand.settled()
        assert hand.screen.draft.variants == (1,)

    at_plan(work)
