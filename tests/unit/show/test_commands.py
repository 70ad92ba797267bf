"""Commands as the screens show them: what is broken over lines can be copied into a shell."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from fsconsole.model.events import CommandFinished
from fsconsole.show.apply import UseLines, use_words
from fsconsole.show.cell import Output, output_lines
from fsconsole.show.lines import TextLine, command_lines
from fsconsole.show.plan import told_lines
from fsconsole.show.run import log_rows
from fsconsole.text import cells_of
from tests.unit.results import build

WORDS = (
    *("mkfs.ext4", "-q", "-F", "-E", "stride=16,stripe_width=64,lazy_itable_init=0", "-O", "^flex_bg,^metadata_csum"),
    *("-L", "it's mine", "-U", "6c1c9a2e-1111-4222-8333-444455556666", "/dev/DEVICE"),
)


def of_log(width: int) -> Sequence[TextLine]:
    done = CommandFinished(0, 1, 0, WORDS, 0, 0.1, 0.0, 0.1, 2**20, "")
    cell = build.done(0)
    return log_rows(replace(cell, steps=(replace(cell.steps[0], commands=(done,)),)), lambda _: (b"", 0), width)


@pytest.mark.parametrize("width", [64, 76, 300])
@pytest.mark.parametrize(
    "shown",
    [
        lambda width: told_lines(("make ext4", WORDS, "  write 1 to /sys/x"), width),
        of_log,
        lambda width: output_lines(Output(WORDS, ("exit 0",), "000-mkfs"), "", 0, width),
        lambda width: use_words("ext4", UseLines((WORDS,), "UUID=1 /mnt/data ext4 noatime 0 2", ("mkfs wipes.",)), "", width),
    ],
    ids=["commands of a plan", "log", "output", "mkfs line"],
)  # fmt: skip
def test_a_broken_command_can_be_copied_and_no_option_is_parted_from_its_value(
    shown: Callable[[int], Sequence[TextLine]], width: int
) -> None:
    lines = [line.text for line in shown(width)]
    assert max(map(cells_of, lines)) <= width
    begin = next(number for number, line in enumerate(lines) if "mkfs.ext4" in line)
    end = next(number for number, line in enumerate(lines) if number >= begin and not line.endswith(" \\"))
    assert (end > begin) is (width < 300)
    assert not any(re.search(r" -[EOLU] \\$", line) for line in lines)
    copied = "\n".join(lines[begin : end + 1]).replace("$ ", "", 1)
    done = subprocess.run(["sh", "-c", f"printf '%s\\n' {copied}"], check=True, capture_output=True, text=True)
    assert tuple(done.stdout.splitlines()) == WORDS


def test_a_word_that_is_wider_than_a_line_is_shown_whole_and_an_endless_one_takes_few_lines() -> None:
    options = ",".join(f"^feature{number}" for number in range(20))
    lines = [line.text for line in command_lines(("mkfs.ext4", "-O", options, "/dev/DEVICE"), 60)]
    assert max(map(cells_of, lines)) <= 60
    assert options in "".join(line.strip() for line in lines)
    assert len(command_lines(("sh", "-c", "x" * 10**6), 80)) < 200
