"""apply-kit and verify-kit, by the command line, where they end before any device is read."""

from __future__ import annotations

import os
from pathlib import Path

from fsconsole.errors import ExitCode
from tests.unit.cli.recorded import WHOLE, make_run, run_command, write


def test_rows_are_named_and_near_ones_are_offered(tmp_path: Path) -> None:
    write(make_run(tmp_path), WHOLE)
    words = ("--for", "/dev/nothing", "--runs", str(tmp_path), str(tmp_path / "kit"))
    done = run_command("apply-kit", "latest", "ext4 data=orderd", *words)
    assert done.returncode == ExitCode.USAGE
    assert "'ext4 data=ordered' (1)" in done.stderr
    assert run_command("apply-kit", "latest", "7", *words).returncode == ExitCode.USAGE
    assert run_command("apply-kit", "none", "1", *words).returncode == ExitCode.RUN_MISSING
    assert not (tmp_path / "kit").exists()


def test_without_devices_or_a_directory_it_says_which_words_it_needs(tmp_path: Path) -> None:
    write(make_run(tmp_path), WHOLE)
    for words in ((), ("--for", "/dev/sdx"), (str(tmp_path / "kit"),)):
        done = run_command("apply-kit", "latest", "1", *words, "--runs", str(tmp_path))
        assert done.returncode == ExitCode.USAGE
        assert "apply-kit needs devices (--for) and, last, a directory" in done.stderr


def test_a_directory_that_has_no_kit_or_a_changed_one_is_unreadable(tmp_path: Path) -> None:
    for text in (None, "", "{}", '{"schema": 1, "version": "0", "extra": 1}', "[" * 5000):
        if text is not None:
            (tmp_path / "kit.json").write_text(text)
        done = run_command("verify-kit", str(tmp_path))
        assert done.returncode == ExitCode.KIT_UNREADABLE
        assert done.stderr.startswith(f"fsconsole: {tmp_path}/kit.json is no kit that can be read: ")
        assert done.stderr.count("\n") == 2


def test_verify_kit_refuses_pipe_and_device(tmp_path: Path) -> None:
    path = tmp_path / "kit.json"
    os.mkfifo(path)
    for _ in range(2):
        done = run_command("verify-kit", str(tmp_path))
        assert done.returncode == ExitCode.KIT_UNREADABLE
        assert "it is not a regular file" in done.stderr
        path.unlink(missing_ok=True)
        path.symlink_to("/dev/zero")
