"""Every command in the README works as printed there, in its order, on a loop device in place of /dev/sdX."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from fsconsole.errors import ExitCode
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice
from tests.loop.runs import fsconsole, succeed
from tests.unit.house.source import CHECKOUT

README = (CHECKOUT / "README.md").read_text()
COMMANDS = [
    line
    for block, inline in re.findall(r"^```\n(.*?)^```|`(sudo [^`]+)`", README, re.DOTALL | re.MULTILINE)
    for line in (block or inline).splitlines()
    if line.startswith("sudo ")
]
CONSENT = re.compile(r"--consent ([0-9A-Z-]+)")
TESTED_ELSEWHERE = {
    "sudo ./bootstrap demo": "tests/loop/test_commands.py, tests/unit/house/test_bootstrap.py",
    "sudo ./bootstrap test": "itself",
    'sudo ln -s "$PWD/.venv/bin/fsconsole" /usr/local/sbin/': "tests/unit/house/test_bootstrap.py makes that program",
}
SMALLER = {"8GiB": "64MiB", "10m": "1s"}


def test_the_commands_of_the_readme_lead_from_a_device_to_advice(
    tmp_path: Path, scratch_folder: Path, loop_device: MakeLoopDevice
) -> None:
    device, plan = loop_device(320 * MIB), tmp_path / "plan.toml"
    (source,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    plan.write_text(source.replace("title", "repeats = 3\ntitle", 1).replace('"512MiB"', '"1MiB"'))
    places = {"/dev/sdX": device, "PLAN.toml": str(plan)} | SMALLER
    runs = ("--runs", str(tmp_path / "runs"))
    more = {
        "devices": (),
        "scratch": ("--dir", str(scratch_folder)),
        "quick": (*runs, "--size", "4MiB"),
    }
    assert set(TESTED_ELSEWHERE) <= set(COMMANDS)
    printed = ""
    for command in COMMANDS:
        if command in TESTED_ELSEWHERE:
            continue
        sudo, program, *words = shlex.split(command)
        assert (sudo, program) == ("sudo", "fsconsole"), command
        words = [places.get(word, word) for word in words] + [*more.get(words[0], runs)]
        if "CODE" in words:
            words[words.index("CODE")] = CONSENT.findall(printed)[-1]
        printed = succeed(*words) if words[0] != "quick" else typed(*words)
        assert printed.strip(), command


def typed(*words: str) -> str:
    """Return what `quick` prints to who agrees with the code that it asks for, as there is no terminal to type a name."""
    asked = fsconsole(*words)
    assert asked.returncode == ExitCode.CONSENT_MISSING, asked.stderr
    return succeed(*words, "--consent", CONSENT.findall(asked.stdout)[-1])
