"""Help, man page and completion are made of one declaration of every command and option, and all of it is in each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fsconsole.cli.answers import ANSWERS
from fsconsole.cli.app import COMMANDS
from fsconsole.cli.completion import Shell, script
from fsconsole.cli.declared import DeclaredCommand, declared_commands
from fsconsole.cli.manual import manual
from tests.lab.soak import tried
from tests.tui.on_a_pty import read_until
from tests.unit.cli.recorded import run_command
from tests.unit.house.source import CHECKOUT

ALL = declared_commands()
WITHOUT_JSON = {"schema", "completion", "scratch", "tour"}


def name_of(command: DeclaredCommand) -> str:
    return " ".join(("fsconsole", *command.words))


@pytest.mark.parametrize("command", ALL, ids=name_of)
def test_help_shows_each_command_option_and_argument_as_it_is_declared(command: DeclaredCommand) -> None:
    text = " ".join(run_command(*command.words, "--help").stdout.split())
    for one in command.options:
        # Short names first, as the parser shows them.
        named = ", ".join(sorted(one.names, key=lambda name: name.startswith("--")))
        assert f"{named} {one.metavar}".strip() in text, one
        assert " ".join(one.help.split())[:40] in text, one
    for one in command.arguments:
        assert one.usage in text
    assert all(f" {name} " in text for name in command.commands)
    # Neither types of Python nor brackets of the parser's own.
    assert re.findall(r"<[a-z]|\\{[A-Z]|\\]\\.\\.\\.\\]", text) == []


def test_every_command_of_the_list_is_declared_and_prints_json_but_for_those_that_print_scripts() -> None:
    names = {command.words[0] for command in ALL[1:]}
    assert names == {name for name, _, _ in COMMANDS}
    told = {" ".join(c.words) for c in ALL[1:] if any("--json" in one.names for one in c.options)}
    assert told == set(ANSWERS) == {" ".join(c.words) for c in ALL[1:]} - WITHOUT_JSON


def test_the_man_page_is_current_and_has_every_command_and_option() -> None:
    page = manual()
    kept = (CHECKOUT / "docs" / "fsconsole.1").read_text()
    assert kept == page, "python -m fsconsole.cli.manual > docs/fsconsole.1"
    plain = page.replace("\\-", "-")
    for command in ALL[1:]:
        section = plain.partition(f'.SS "{" ".join(command.words)}"\n')[2].partition("\n.SS")[0]
        for one in command.options:
            assert all(f"\\fB{name}\\fR" in section for name in one.names), (command.words, one)


def test_completion_has_every_command_and_option_in_each_shell() -> None:
    for shell in Shell:
        text = script(shell)
        for command in ALL:
            assert all(re.search(rf"(?<![a-z]){word}(?![a-z])", text) for word in command.words)
            for one in command.options:
                for name in one.names:
                    long, short = f"-l {name[2:]} ", f"-s {name[1:]} "
                    shown = name if shell is not Shell.FISH else long if name.startswith("--") else short
                    assert shown.strip() in text, (shell, command.words, name)
        program = shutil.which(shell.value)
        if program:
            flag = "--no-execute" if shell is Shell.FISH else "-n"
            subprocess.run([program, flag], input=text, text=True, check=True)


def completed(*words: str, runs: str = "/nonexistent") -> set[str]:
    """Return what bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in ("fsconsole", *words))
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _fsconsole_words; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    environment = {**os.environ, "FSCONSOLE_RUNS": runs}
    told = subprocess.run(
        ["bash", "-c", script(Shell.BASH) + asked], check=True, capture_output=True, text=True, env=environment
    )
    return set(told.stdout.split())


def test_bash_completes_commands_options_values_and_runs(tmp_path: Path) -> None:
    (tmp_path / "20261121-081000-k7qf").mkdir()
    assert {"plan"} == completed("pl")
    assert {"delete"} == completed("runs", "del")
    assert {"--format"} == completed("results", "--fo")
    assert {"--yes"} == completed("runs", "delete", "--y")
    assert {"bash", "zsh", "fish"} <= completed("completion", "")
    assert "20261121-081000-k7qf" in completed("show", "2026", runs=str(tmp_path))
    assert "20261121-081000-k7qf" in completed("--runs", str(tmp_path), "runs", "delete", "2026")
    assert {str(tmp_path / "20261121-081000-k7qf")} == completed("plan", f"{tmp_path}/2026")


def test_bash_completes_plans_loads_filesystems_and_devices_and_files_only_where_a_path_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").touch()
    (tmp_path / "ext9").touch()
    assert {"mine.toml", "mail", "million-files"} == completed("plan", "mi") | completed("plan", "mai")
    assert {"mail"} == completed("quick", "--load", "mai")
    assert {"ext2", "ext3", "ext4"} == completed("quick", "-d", "/dev/x", "ext") == completed("catalog", "ext")
    assert (
        set()
        == completed("quick", "--threads", "")
        == completed("show", "ext9")
        == completed("run", "demo", "-d", "ext9")
    )
    assert {"mine.toml"} == completed("quick", "--save", "mi") == completed("import", "mi")
    assert {"--yes"} == completed("scratch", "remove", "--y")
    offered = completed("run", "demo", "-d", "/dev/")
    assert offered
    for path in offered:
        size = (Path("/sys/class/block") / Path(path).resolve().name / "size").read_text()
        assert "loop" not in path or int(size) > 0, path


def completed_by_fish(folder: Path, typed: str, runs: str) -> set[str]:
    (folder / "fsconsole.fish").write_text(script(Shell.FISH))
    line = 'source fsconsole.fish; complete --do-complete "$argv"'
    told = subprocess.run(
        ["fish", "--no-config", "--command", line, typed],
        cwd=folder, env={**os.environ, "HOME": str(folder), "FSCONSOLE_RUNS": runs},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert told.stderr == ""
    return {line.partition("\t")[0] for line in told.stdout.splitlines()}


def completed_by_zsh(folder: Path, typed: str, awaited: str, runs: str) -> None:
    """Type into a shell on a terminal that found the script by its name, as after an installation; wait for what it makes of it."""
    (folder / "_fsconsole").write_text(script(Shell.ZSH))
    master, slave = os.openpty()
    environment = {**os.environ, "TERM": "dumb", "HOME": str(folder), "FSCONSOLE_RUNS": runs}
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        os.write(master, b"fpath=($PWD $fpath); autoload -U compinit; compinit -D -u; print now ready\n")
        read_until(master, b"\nnow ready")
        os.write(master, f"{typed}\t".encode())
        read_until(master, awaited.encode())
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_completes_commands_options_values_and_runs_without_a_complaint(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "20261121-081000-k7qf").mkdir(parents=True)
    for typed, offered in (
        ("pl", "plan"), ("runs del", "delete"), ("results --fo", "--format"), ("show 2026", "20261121-081000-k7qf"),
        ("import fsconsole.f", "fsconsole.fish"), ("results --format j", "json"), ("plan wa", "wal"),
        ("quick --load mai", "mail"), ("quick -d /dev/x xf", "xfs"), ("--runs runs show 2026", "20261121-081000-k7qf"),
    ):  # fmt: skip
        assert completed_by_fish(tmp_path, f"fsconsole {typed}", "/nowhere" if "--runs" in typed else str(runs)) == {
            offered
        }
    assert completed_by_fish(tmp_path, "fsconsole show fsconsole.f", str(runs)) == set()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_completes_commands_values_runs_and_files_from_the_first_tab_on(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "20261121-081000-k7qf").mkdir(parents=True)
    (tmp_path / "my-plan.toml").touch()
    every = (
        ("pl", "plan"), ("show 2026", "show 20261121-081000-k7qf"), ("plan my", "plan my-plan.toml"),
        ("results --format j", "results --format json"), ("quick --load mai", "quick --load mail"),
        ("quick -d x xf", "quick -d x xfs"),
    )  # fmt: skip
    for typed, offered in tried(every, every[:3]):
        completed_by_zsh(tmp_path, f"fsconsole {typed}", f"fsconsole {offered}", str(runs))


def test_the_version_names_kernel_and_tools_where_asked_for() -> None:
    lines = run_command("--version", "-v").stdout.splitlines()
    assert lines[0].startswith("fsconsole ")
    assert f"kernel {os.uname().release}" in lines
    assert any(re.fullmatch(r"mkfs\.ext4 1\.\d+.*", line) for line in lines)
    assert "goes with --version only" in run_command("-v").stderr


def test_help_fits_60_columns() -> None:
    for words in ((), ("results",), ("quick",)):
        done = run_command(*words, "--help", columns=60)
        assert done.returncode == 0
        assert [line for line in done.stdout.splitlines() if len(line) > 60] == []
