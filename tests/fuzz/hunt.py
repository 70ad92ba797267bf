"""The long hunt: `python -m tests.fuzz.hunt MINUTES [WORD]` tries other examples each time, and counts what it finds.

WORD is a part of a hunt's name: that alone. Each finding is printed with its smallest example. Run it as root, as the
product is; nothing is executed by it, and nothing elsewhere is changed.
"""

from __future__ import annotations

import itertools
import secrets
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.cage import Escaped
from tests.fuzz.damage import damages
from tests.fuzz.plans import any_plan
from tests.fuzz.test_foreign_requests import carry_out_nothing_else, requests
from tests.fuzz.test_foreign_runs import A_FEW, act_upon, read_with_some, warm_up
from tests.fuzz.test_plan_files import reach_nothing_else, tell

ROUND_EXAMPLES = 60
HUNTS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Path, Any], None]]] = {
    "plan files, told": (any_plan(), tell),
    "plan files, commands": (any_plan(), reach_nothing_else),
    "foreign requests": (requests(), carry_out_nothing_else),
    "foreign runs, read": (st.tuples(damages(), A_FEW), read_with_some),
    "foreign runs, acted upon": (damages(), act_upon),
}
_WANTED = settings(
    max_examples=ROUND_EXAMPLES, derandomize=False, database=None, deadline=None, print_blob=True,
    phases=(Phase.generate, Phase.target, Phase.shrink), suppress_health_check=list(HealthCheck),
)  # fmt: skip


def main(words: list[str]) -> int:
    """Hunt for so many minutes, and tell how many examples were tried and what was found."""
    minutes, word = float(words[0]), words[1] if words[1:] else ""
    tried, found = Counter[str](), dict[str, str]()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fsconsole-hunt-") as directory:
        warm_up(Path(directory))
        for name in itertools.cycle([name for name in HUNTS if word in name]):
            if time.monotonic() - begun > minutes * 60:
                break
            number = secrets.randbits(64)
            why = _round(name, Path(directory, str(number)), number, tried)
            if why:
                print(f"--- FOUND in {name}, seed {number}\n{why}")
                found.setdefault(_line(why), name)
            elapsed_s = time.monotonic() - begun
            print(f"{elapsed_s:7.0f} s {sum(tried.values()):8} examples {len(found):3} found", flush=True)
    for name, count in tried.items():
        print(f"{name}: {count} examples")
    for why, name in found.items():
        print(f"found in {name}: {why}")
    return 1 if found else 0


def _round(name: str, directory: Path, number: int, tried: Counter[str]) -> str:
    """Try new examples of one hunt; return what was found, or nothing."""
    examples, try_one = HUNTS[name]
    directory.mkdir()

    @seed(number)
    @_WANTED
    @given(example=examples)
    def hunt(example: Any) -> None:
        tried[name] += 1
        try_one(directory, example)

    try:
        hunt()
    except (Exception, Escaped) as error:  # noqa: BLE001 - whatever came is what is hunted for
        return "".join(traceback.format_exception(error))
    return ""


def _line(why: str) -> str:
    return next((line for line in reversed(why.splitlines()) if line and not line.startswith(" ")), "?")[:300]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
