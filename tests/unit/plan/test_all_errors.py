"""A plan's errors are told all at once, each with its file and line; what is near is suggested, nothing else."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.targets import PlanBadValue
from fsconsole.plan.lines import line_of
from fsconsole.plan.read import MAX_PLAN_FILE_BYTES, parse_plan
from fsconsole.preflight.prepare import expand_only
from tests.fuzz.cage import Said, say

HEAD = "schema = 1\n"
LOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'
EXT4 = '[[filesystem]]\ntype = "ext4"\n'

BAD = {
    "no schema": (f"{EXT4}{LOAD}", (1,)),
    "another schema": (f"schema = 2\n{EXT4}{LOAD}", (1,)),
    "unknown keys": (f"{HEAD}titel = 1\nrepeets = 2\n{EXT4}{LOAD}", (2, 3)),
    "a number for text": (f"{HEAD}title = 5\n{EXT4}{LOAD}", (2,)),
    "text for a number": (f'{HEAD}seed = "x"\n{EXT4}{LOAD}', (2,)),
    "out of bounds": (f"{HEAD}repeats = 0\n{EXT4}{LOAD}", (2,)),
    "no choice": (f'{HEAD}order = "random"\n{EXT4}{LOAD}', (2,)),
    "no column": (f'{HEAD}primary = "speed"\n{EXT4}{LOAD}', (2,)),
    "nothing to compare": (f"{HEAD}{LOAD}", (1,)),
    "no workload": (f"{HEAD}{EXT4}", (1,)),
    "no filesystem of that name": (f'{HEAD}[[filesystem]]\ntype = "ext5"\n{LOAD}', (3,)),
    "no type": (f"{HEAD}[[filesystem]]\n{LOAD}", (2,)),
    "no option": (f"{HEAD}{EXT4}mkfs = {{ nosuch = 1 }}\n{LOAD}", (4,)),
    "two values of options": (f'{HEAD}{EXT4}[filesystem.mount]\ndata = "x"\nbarrier = "y"\n{LOAD}', (5, 6)),
    "words of a variant": (f'{HEAD}[[variant]]\ntype = "xfs"\nmkfs = "/dev/sda"\n{LOAD}', (4,)),
    "a second variant": (f'{HEAD}{EXT4}[[variant]]\ntype = "xfs"\n[[variant]]\ntype = "xfs"\nlabl = 1\n{LOAD}', (8,)),
    "a mount word": (f'{HEAD}[[variant]]\ntype = "ext4"\nmount = "suid"\n{LOAD}', (4,)),
    "a setting": (f'{HEAD}{EXT4}{LOAD}[settings]\nread_ahead = "x"\n', (8,)),
    "an unknown setting": (f"{HEAD}{EXT4}{LOAD}[settings]\nspeed = 1\n", (8,)),
    "an array": (f'{HEAD}{EXT4}{LOAD}[[array]]\nlevel = "raid7"\nchunk = "3KiB"\n', (8, 9)),
    "after": (f"{HEAD}{EXT4}{LOAD}[after]\ncheck = 1\ndelte = 2\n", (8, 9)),
    "kinds of load": (f'{HEAD}{EXT4}[[workload]]\nkind = "write"\n', (5,)),
    "zero threads": (f"{HEAD}{EXT4}{LOAD}threads = 0\n", (7,)),
    "an idle key": (f"{HEAD}{EXT4}{LOAD}weights = {{ read = 1 }}\n", (7,)),
    "two loads": (f"{HEAD}{EXT4}{LOAD}treads = 1\n{LOAD}{LOAD}block_size = 0\n", (7, 14)),
    "a table in line": (f'{HEAD}workload = [{{ kind = "create", size = 3 }}]\n{EXT4}', (2,)),
    "a key that its kind needs": (f'{HEAD}{EXT4}[[workload]]\nkind = "fio"\n', (4,)),
    "nothing but its head": (HEAD, (1, 1)),
    "all of it": (
        f'{HEAD}titel = 1\n[[filesystem]]\ntype = "ext5"\n[[workload]]\nkind = "x"\n[after]\ncheck = 1\n',
        (2, 4, 6, 8),
    ),
}


def errors_of(text: str) -> tuple[FsconsoleError, ...]:
    with pytest.raises(FsconsoleError) as caught:
        parse_plan(text, "plan.toml")
    return caught.value.each


@pytest.mark.parametrize("name", BAD)
def test_each_error_of_a_plan_is_told_with_its_file_and_line(name: str) -> None:
    text, lines = BAD[name]
    told = [str(error) for error in errors_of(text)]
    assert [int(re.match(r"plan\.toml:(\d+): ", one)[1]) for one in told] == [*lines], told  # type: ignore[index]
    assert [one for one in told if not one.isprintable() or "(missing)" in one] == []


def test_a_plan_without_a_workload_or_rows_is_told_to_add_one_like_a_missing_key() -> None:
    workload, rows = errors_of(HEAD)
    assert (str(workload), workload.hint) == ("plan.toml:1: there is no workload.", "Add at least one [[workload]].")
    assert str(rows) == "plan.toml:1: there is nothing to compare."
    assert rows.hint.startswith("Add a [[filesystem]], ")


def test_only_what_is_near_is_suggested() -> None:
    hints = [error.hint for error in errors_of(f"{HEAD}titel = 1\nxyzzy = 2\n{EXT4}{LOAD}")]
    assert hints[0] == "Did you mean title?"
    assert hints[1].startswith("Choose one of: ")


def test_an_error_that_only_comes_when_a_plan_is_expanded_has_its_line_too(tmp_path: Path) -> None:
    twice = '[[variant]]\ntype = "xfs"\nlabel = "one"\n'
    path = tmp_path / "plan.toml"
    path.write_text(f'{HEAD}repeats = "auto"\norder = "as-listed"\n{EXT4}{LOAD}')
    with pytest.raises(PlanBadValue, match=r"plan\.toml:3: order"):
        expand_only(str(path), run_id="run")
    path.write_text(f'{HEAD}{twice}{twice}mkfs = "-m reflink=0"\n{LOAD}')
    with pytest.raises(PlanBadValue, match=r"plan\.toml:4: variant\.label"):
        expand_only(str(path), run_id="run")


def test_lines_are_found_in_sub_tables_dotted_keys_and_quotes() -> None:
    text = 'schema = 1\nafter.check = true\n# mount = 1\n[[filesystem]]\n"type" = "x"\n[filesystem.mount]\ndata = 1\n[[filesystem]]\n'
    for key, line in {
        "schema": 1, "after.check": 2, "filesystem[0].type": 5, "filesystem[0].mount.data": 7, "filesystem[1].mount": 8, "": 1,
    }.items():  # fmt: skip
        assert line_of(text, key) == line, key


def test_a_plan_comes_from_standard_input_and_its_errors_each_have_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def planned(text: str) -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return say("plan", "-")

    # With a byte order mark, as editors of Windows write it.
    assert planned(f"\ufeff{HEAD}{EXT4}{LOAD}").out.startswith("(no title)\n5 cells")
    for text, sentence, hint in (
        (" \n", "No plan came on standard input.", "Send one"),
        ("#" * (MAX_PLAN_FILE_BYTES + 1), "stdin is no plan: it is larger than 1 MiB.", "A plan has a few KiB"),
    ):
        done = planned(text)
        assert (done.code, done.out) == (ExitCode.PLAN_MISSING, "")
        assert done.err.startswith(f"fsconsole: {sentence}\nhint: {hint}")
    argv, text = [sys.executable, "-m", "fsconsole", "plan", "-"], f"{HEAD}{EXT4}{LOAD}"
    told = subprocess.run(argv, check=True, capture_output=True, text=True, input=text)
    assert told.stdout.startswith("(no title)\n5 cells")
    done = planned(f"{HEAD}titel = 1\n{EXT4}{LOAD}threads = 0\n")
    assert (done.code, done.out) == (ExitCode.PLAN_UNKNOWN_KEY, "")
    assert re.fullmatch(r"(fsconsole: stdin:[28]: [^\n]+\nhint: [^\n]+\n){2}", done.err), done.err
