"""Transient units: what systemd-run is told, and what systemctl says (recorded with systemd 252 as PID 1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.model.command import CommandResult
from fsconsole.system import mounts
from fsconsole.system.mounts import (
    SystemdUnit,
    is_gone,
    kill,
    parse_mountinfo,
    sees_what_init_sees,
    unit_argv,
)
from tests.fakes import FakeExecutor, load_results

RECORDED = load_results(str(Path(__file__).parents[2] / "data" / "systemd" / "252.json"))
UNIT = SystemdUnit("fsconsole-1.service", "fsconsole run 1", "/runs/1/engine.log")


def said(name: str) -> list[CommandResult]:
    """Return the answers to `systemctl is-active` about a unit, in their order."""
    return [r for r in RECORDED if r.argv == ("systemctl", "is-active", "--", name)]


def test_it_is_a_service_that_outlives_the_login_and_leaves_no_failed_unit() -> None:
    argv = unit_argv(("x",), UNIT, {})
    assert argv[0] == "systemd-run"
    assert {"--collect", "--unit=fsconsole-1.service"} <= set(argv)
    assert not {"--user", "--scope", "--pty", "--wait"} & set(argv)


def test_what_it_prints_is_appended_to_the_runs_own_log() -> None:
    argv = unit_argv(("x",), UNIT, {})
    for output in ("StandardOutput", "StandardError"):
        assert f"--property={output}=append:/runs/1/engine.log" in argv


def test_neither_many_writers_nor_a_killed_program_end_the_run() -> None:
    assert {"--property=TasksMax=infinity", "--property=OOMPolicy=continue"} <= set(
        unit_argv(("x",), UNIT, {})
    )


def test_words_of_the_engine_are_neither_options_nor_variables() -> None:
    assert unit_argv(("--help", "/a $HOME/${x}"), UNIT, {})[-3:] == ("--", "--help", "/a $$HOME/$${x}")


def test_it_has_the_given_variables_and_no_others() -> None:
    argv = unit_argv(("x",), UNIT, {"PATH": "/opt/bin:/bin", "LANG": "C"})
    assert [w for w in argv if w.startswith("--setenv")] == ["--setenv=LANG=C", "--setenv=PATH=/opt/bin:/bin"]


@pytest.mark.parametrize(
    ("name", "answer", "gone"),
    [
        ("fsconsole-lives.service", 0, False),
        ("fsconsole-lives.service", 1, True),
        ("fsconsole-dies.service", 0, True),
        ("fsconsole-never-was.service", 0, True),
    ],
)
def test_a_unit_that_has_ended_however_it_ended_is_gone(name: str, answer: int, gone: bool) -> None:
    result = said(name)[answer]
    assert is_gone(FakeExecutor({result.argv: result}), SystemdUnit(name, "", "")) is gone


def test_a_systemd_that_says_nothing_does_not_say_that_it_is_gone() -> None:
    (result,) = [r for r in RECORDED if "already loaded" in r.err]
    argv = ("systemctl", "is-active", "--", UNIT.name)
    assert not is_gone(FakeExecutor({argv: result}), UNIT)


def test_all_processes_of_a_unit_are_killed() -> None:
    (result,) = [r for r in RECORDED if r.argv[:2] == ("systemctl", "kill")]
    executor = FakeExecutor({result.argv: result})
    kill(executor, SystemdUnit("fsconsole-lives.service", "", ""))
    assert executor.calls == [("systemctl", "kill", "--signal=KILL", "--", "fsconsole-lives.service")]


INIT = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:20 / /srv rw - tmpfs tmpfs rw\n"


@pytest.mark.parametrize(
    ("own", "same"),
    [
        (INIT, True),
        (INIT.replace("22 1", "122 1"), False),
        ("30 22 0:20 / / rw - tmpfs tmpfs rw\n", False),
        ("30 22 0:20 / /below rw - tmpfs tmpfs rw\n", False),
    ],
    ids=["the same", "a namespace", "a chroot into a mount", "a chroot into a directory"],
)
def test_only_who_has_inits_own_root_sees_what_init_sees(
    monkeypatch: pytest.MonkeyPatch, own: str, same: bool
) -> None:
    tables = {"self": parse_mountinfo(own), "1": parse_mountinfo(INIT)}
    monkeypatch.setattr(mounts, "read_mounts", tables.__getitem__)
    assert sees_what_init_sees() is same
