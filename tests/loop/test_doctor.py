"""Doctor as root: what it tries out really works here, and is gone afterwards."""

from __future__ import annotations

import os
import tempfile

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.command import Command
from fsconsole.preflight.machine import examine
from fsconsole.system.run import RealExecutor
from tests.conftest import loops_under, wait_until

pytestmark = pytest.mark.root


class WithoutBubblewrap(RealExecutor):
    """As on a machine where bubblewrap confines nothing: the program is run by itself."""

    def run(self, command: Command):
        if "bwrap" not in command.argv:
            return super().run(command)
        bare = command.argv[command.argv.index("touch") :]
        return super().run(Command(bare, timeout_s=command.timeout_s))


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_namespace_confinement_and_loop_devices_work(tmp_path):
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path))
    assert machine.is_root
    assert (machine.namespace.why, machine.confinement.why, machine.loop.why) == ("", "", "")
    assert machine.namespace.works


def test_nothing_is_left(tmp_path):
    examine(RealExecutor(), load_catalog(), str(tmp_path))
    assert os.listdir(tmp_path) == []
    wait_until(lambda: not loops_under(str(tmp_path)), "the loop device is gone")


def test_a_cage_that_does_not_hold_is_told_of(tmp_path):
    machine = examine(WithoutBubblewrap(), load_catalog(), str(tmp_path))
    assert machine.confinement.why == "a confined program could write outside its tree"
