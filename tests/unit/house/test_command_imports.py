"""What the commands load that the console calls again and again, and what it loads itself before its first line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.unit.house.source import CHECKOUT

CALLED = """
import sys
from fsconsole.cli.main import main
unwanted, *lines = sys.argv[1:]
for line in lines:
    sys.argv = ["fsconsole", *line.split("|")]
    main()
    print(line, "loads", *(name for name in unwanted.split(",") if name in sys.modules), file=sys.stderr)
"""

STARTED = """
import sys
import fsconsole.cli.console
import fsconsole.cli.main
from fsconsole.cli.main import main
fsconsole.cli.console.show_console = lambda runs, **options: print("console over", runs)
fsconsole.cli.main._prepare_streams = lambda: None
sys.stdin.isatty = sys.stdout.isatty = lambda: True
sys.argv = ["fsconsole", "--runs", "somewhere"]
main()
sys.exit("pydantic" if "pydantic" in sys.modules else 0)
"""


def ended(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", script, *words]
    return subprocess.run(argv, cwd=CHECKOUT, check=False, capture_output=True, text=True)


def test_a_command_that_takes_words_and_flags_loads_no_library_that_checks_types_or_draws(tmp_path: Path):
    lines = (
        "devices|--json",
        "catalog|ext4|--json",
        "plan|configs/demo.toml|--json|--cell|0",
        f"runs|--json|--runs|{tmp_path}",
        "scratch|list|--json",
    )
    # To load pydantic takes 70 ms, as much as all the rest of a short command.
    done = ended(CALLED, "pydantic,rich,textual,psutil", *lines)
    told = [line for line in done.stderr.splitlines() if " loads" in line]
    assert told == [f"{line} loads" for line in lines], done.stderr


def test_an_engine_and_a_generator_load_nothing_that_few_of_them_need():
    for module, unwanted in (
        ("fsconsole.engine.runner", "fsconsole.results"),
        ("fsconsole.workloads.host", "pathlib,fsconsole.plan"),
    ):
        script = f"import sys, {module}; print(*(name for name in {unwanted.split(',')!r} if name in sys.modules))"
        done = subprocess.run(
            [sys.executable, "-I", "-c", script], cwd=CHECKOUT, check=False, capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == ("\n", ""), module


def test_the_console_starts_without_a_library_that_checks_types():
    done = ended(STARTED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "console over somewhere\n", "")
