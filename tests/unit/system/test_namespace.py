from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.errors.runs import NotPrivate
from fsconsole.system.mounts import engine_argv, enter_private, is_private
from tests.fakes import FakeExecutor

UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "slave", "--")


def test_an_engine_dies_with_its_namespace_and_sees_the_hosts_unmounts() -> None:
    assert engine_argv(("python3", "-m", "x")) == (*UNSHARE, "python3", "-m", "x")


def test_words_of_the_engine_are_never_options_of_what_starts_it() -> None:
    assert engine_argv(("--help",))[-2:] == ("--", "--help")


def test_nothing_is_mounted_in_the_hosts_own_namespace() -> None:
    if Path("/proc/self/mountinfo").read_bytes() != Path("/proc/1/mountinfo").read_bytes():
        pytest.skip("these tests run in a mount namespace of their own")
    assert not is_private()
    executor = FakeExecutor({})
    with pytest.raises(NotPrivate):
        enter_private(executor, "/run/fsconsole-test-not-made")
    assert executor.calls == []
    assert not os.path.exists("/run/fsconsole-test-not-made")
