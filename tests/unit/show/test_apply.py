"""The lines of a row for use: what they leave out, and rows that have none."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.plan import DIRECTORY, RAW, Setting, Variant
from fsconsole.results.figures import RowKey
from fsconsole.show.apply import use_lines, use_words
from fsconsole.text import cells_of

UUID = "6c1c9a2e-1111-4222-8333-444455556666"
KEY = RowKey(
    "/dev/loop7",
    None,
    Setting(),
    Variant("ext4 w", "ext4", ("-O", "^flex_bg", "-E", "lazy_itable_init=0"), ("noatime",)),
    (),
    None,
)


def test_the_lines_name_no_device_that_exists_and_leave_out_words_for_measuring() -> None:
    use = use_lines(KEY, UUID)
    assert use.lines[0].startswith("mkfs.ext4 ")
    assert use.lines[0].endswith("/dev/DEVICE")
    assert "^flex_bg" in use.lines[0]
    assert "lazy_itable_init" not in " ".join(use.lines)
    assert any("lazy_itable_init=0" in said for said in use.about)
    assert use.lines[-1].startswith(f"UUID={UUID} /mnt/data ext4 noatime")
    for width in (50, 80):
        lines = use_words("ext4 w", use, "Copy them from here.", width)
        assert all(cells_of(line.text) <= width for line in lines)
        assert any(UUID in line.text for line in lines)
        # A line to copy that is broken goes on indented: what begins at the margin is one of its own.
        begin = next(number for number, line in enumerate(lines) if line.text.startswith("mkfs.ext4"))
        more = [
            line.text for line in lines[begin + 1 : begin + 1 + [line.text for line in lines[begin + 1 :]].index("")]
        ]
        assert bool(more) is (width == 50)
        assert all(text.startswith("  ") for text in more)


def test_unsafe_words_and_settings_of_the_row_are_told_with_its_lines() -> None:
    unsafe = replace(
        KEY, variant=Variant("ext4", "ext4", ("-O", "^has_journal")), setting=Setting((("read_ahead", "4MiB"),))
    )
    about = " ".join(use_lines(unsafe, UUID).about)
    assert "UNSAFE: " in about
    assert "Measured with read_ahead=4MiB" in about


def test_rows_without_a_filesystem_of_the_run_say_that_they_have_no_lines() -> None:
    for filesystem, words in ((RAW, "Raw: "), (DIRECTORY, "A directory: "), ("zfs", "No lines: ")):
        use = use_lines(replace(KEY, variant=Variant(filesystem, filesystem)), UUID)
        assert not use.lines
        assert use.about[0].startswith(words)
