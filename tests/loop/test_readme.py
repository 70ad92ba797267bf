"""Every command in the README works as printed there, in its order, on a loop device in place of /dev/sdX."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from fsconsole.errors import ExitCode
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice
from tests.loop import test_kit
from tests.loop.runs import FSCONSOLE, fsconsole
from tests.unit.house.source import CHECKOUT

README = (CHECKOUT / "README.md").read_text()
COMMANDS = [
    line
    for block, inline in re.findall(r"^```\w*\n(.*?)^```|`([^`\n]+)`", README, re.DOTALL | re.MULTILINE)
    for line in (block or inline).splitlines()
    if line.startswith(("sudo ", "fsconsole "))
]
CONSENT = re.compile(r"--consent ([0-9A-Z-]+)")
TESTED_ELSEWHERE = {
    "fsconsole attach": "tests/unit/cli/test_living.py, tests/loop/test_control.py",
    "fsconsole resume": "tests/loop/test_resume.py",
    "fsconsole cleanup": "tests/loop/test_kill_engine.py",
    "sudo ./bootstrap demo": "tests/loop/test_commands.py, tests/unit/house/test_bootstrap.py",
    "sudo ./bootstrap test": "",
    "sudo ./bootstrap tour": "tests/tui/test_tour.py",
    "sudo ./bootstrap --version": "tests/unit/house/test_bootstrap.py",
    'sudo ln -s "$PWD/.venv/bin/fsconsole" /usr/local/sbin/': "tests/unit/house/test_bootstrap.py",
}
"""The files with its tests; none of the test command itself, and of the link to the program, whose making is tested."""
place = test_kit.place
"""A mount namespace with an /etc of its own."""
SMALLER = {"8GiB": "64MiB", "10m": "1s"}


def test_the_commands_of_the_readme_lead_from_a_device_to_an_applied_row(
    tmp_path: Path, scratch_folder: Path, loop_device: MakeLoopDevice, place: test_kit.Place
) -> None:
    device, other, plan = loop_device(320 * MIB), loop_device(400 * MIB), tmp_path / "plan.toml"
    (source,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    plan.write_text(source.replace("title", "repeats = 3\ntitle", 1).replace('"512MiB"', '"1MiB"'))
    kit = {
        "./kit": str(tmp_path / "kit"),
        "./kit/apply.sh": str(tmp_path / "kit/apply.sh"),
        "/srv/data": str(tmp_path / "mnt"),
    }
    places = {"/dev/sdX": device, "/dev/sdY": other, "PLAN.toml": str(plan)} | kit | SMALLER
    runs = ("--runs", str(tmp_path / "runs"))
    more = {
        "devices": (),
        "plan --list": (),
        "completion": (),
        "scratch": ("--dir", str(scratch_folder)),
        "quick": (*runs, "--size", "4MiB", "--rounds", "1"),
    }
    assert set(TESTED_ELSEWHERE) <= set(COMMANDS)
    assert all((CHECKOUT / file).is_file() for files in TESTED_ELSEWHERE.values() for file in files.split(", ") if file)
    printed = ""
    for command in COMMANDS:
        if command in TESTED_ELSEWHERE:
            continue
        program, *words = [places.get(word, word) for word in shlex.split(command.removeprefix("sudo "))]
        if words[:1] == ["verify-kit"]:
            printed = place.run(*FSCONSOLE, *words).stdout
            assert "as the kit says" in printed
        elif program == "fsconsole":
            words += more.get(" ".join(words), more.get(words[0], runs))
            words = [CONSENT.findall(printed)[-1] if word == "CODE" else word for word in words]
            printed = agreed(*words) if words[0] == "quick" else printed_by(*words)
        else:
            printed = place.apply(Path(program).parent, *words)
        assert printed.strip(), command


def printed_by(*words: str) -> str:
    """Return what a command printed that must not fail; a run waits for other programs' dirty data."""
    done = fsconsole(*words, limit_s=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def agreed(*words: str) -> str:
    """Return what `quick` printed with the code that it asks for, as there is no terminal to type a name."""
    asked = fsconsole(*words)
    assert asked.returncode == ExitCode.CONSENT_MISSING, asked.stderr
    return printed_by(*words, "--consent", CONSENT.findall(asked.stdout)[-1])
