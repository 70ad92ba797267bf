"""Memory cgroups of versions 1 and 2 in a made tree: found, made, joined, removed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fsconsole.devices.memory_group import killed_in, limit_file
from fsconsole.devices.settings import Kernel, give_back, is_setting
from fsconsole.model.events import SettingTaken
from fsconsole.model.state import HeldSetting
from fsconsole.system import cgroups
from fsconsole.system.cgroups import join

V1 = "/sys/fs/cgroup/memory/fsconsole-sdx/memory.limit_in_bytes"
V2 = "/sys/fs/cgroup/fsconsole-sdx/memory.max"


def put(root: Path, path: str, text: str = "") -> Path:
    place = Path(f"{root}{path}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def test_the_limit_is_in_the_hierarchy_that_has_the_memory_controller_for_new_groups(tmp_path: Path) -> None:
    assert not limit_file("sdx", str(tmp_path))
    # An empty version 2 hierarchy beside version 1, as systemd's hybrid mode has it.
    put(tmp_path, "/sys/fs/cgroup/unified/cgroup.subtree_control")
    put(tmp_path, "/sys/fs/cgroup/memory/cgroup.procs")
    assert limit_file("sdx", str(tmp_path)) == V1
    put(tmp_path, "/sys/fs/cgroup/cgroup.subtree_control", "cpu io memory pids\n")
    assert limit_file("sdx", str(tmp_path)) == V2
    put(tmp_path, "/sys/fs/cgroup/cgroup.subtree_control", "cpu io\n")
    os.remove(f"{tmp_path}/sys/fs/cgroup/memory/cgroup.procs")
    assert not limit_file("sdx", str(tmp_path))


@pytest.mark.parametrize("path", [V1, V2])
def test_a_group_is_made_with_its_limit_and_removed_when_the_setting_is_given_back(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, group = Kernel(str(tmp_path)), Path(f"{tmp_path}{path}").parent
    group.parent.mkdir(parents=True)
    made, removed, name = os.mkdir, os.rmdir, os.path.basename(path)

    def mkdir(place: str) -> None:
        made(place)
        (Path(place) / name).write_text("max")

    def rmdir(place: str) -> None:
        # The files of a kernel's group don't keep it.
        (Path(place) / name).unlink()
        removed(place)

    monkeypatch.setattr(cgroups.os, "mkdir", mkdir)
    monkeypatch.setattr(cgroups.os, "rmdir", rmdir)
    assert kernel.in_force(path).value == "none"
    kernel.write(path, "67108864")
    assert kernel.value(path) == "67108864"
    held = HeldSetting(SettingTaken(0, 1, 1, "memory", path, "67108864", path, "none"), "67108864")
    assert give_back(held, kernel) == ""
    assert not group.exists()
    assert give_back(held, kernel) == ""


def test_a_group_with_processes_is_waited_for_and_then_said_to_be_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, V1, "67108864")
    tries = []

    def busy(name: str) -> None:
        tries.append(name)
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(cgroups.os, "rmdir", busy)
    monkeypatch.setattr(cgroups, "_EMPTY_WAIT_S", 0.05)
    held = HeldSetting(SettingTaken(0, 1, 1, "memory", V1, "67108864", V1, "none"), "67108864")
    assert "busy" in give_back(held, Kernel(str(tmp_path)))
    assert len(tries) > 1


def test_a_journal_from_elsewhere_can_name_no_group_but_fsconsoles_own() -> None:
    assert is_setting(V1, "none")
    assert is_setting(V2, "4096")
    for path, value in (
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096"),
        ("/sys/fs/cgroup/system.slice/memory.max", "4096"),
        ("/sys/fs/cgroup/memory/fsconsole-a/../x/memory.limit_in_bytes", "4096"),
        ("/sys/fs/cgroup/memory/fsconsole-/../memory.limit_in_bytes", "none"),
        ("/sys/fs/cgroup/fsconsole-sdx/cgroup.procs", "1"),
        (V1, "max"),
        (V1, "-1"),
        (V2, "deadline"),
    ):
        assert not is_setting(path, value), path


def test_a_process_joins_with_all_below_it_and_nobody_else(tmp_path: Path) -> None:
    parents = {10: 1, 11: 10, 12: 11, 13: 11, 20: 1}
    for pid, parent in parents.items():
        fields = f"{pid} (a b) c) S {parent} " + "0 " * 20
        put(tmp_path, f"/proc/{pid}/stat", fields)
    procs = put(tmp_path, f"{os.path.dirname(V1)}/cgroup.procs")
    assert join(os.path.dirname(f"{tmp_path}{V1}"), 10, f"{tmp_path}/proc") == 4
    # Each write of a kernel's file moves one; a plain file keeps them over each other.
    assert procs.read_text() in {"12", "13"}
    with pytest.raises(OSError, match="No such file"):
        join(os.path.dirname(f"{tmp_path}{V2}"), 10, f"{tmp_path}/proc")


def test_kills_for_the_limit_are_counted_in_both_versions(tmp_path: Path) -> None:
    put(tmp_path, f"{os.path.dirname(V1)}/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    put(tmp_path, f"{os.path.dirname(V2)}/memory.events", "low 0\nhigh 0\nmax 5\noom 2\noom_kill 2\noom_group_kill 0\n")
    assert killed_in(f"{tmp_path}{V1}") == 3
    assert killed_in(f"{tmp_path}{V2}") == 2
    assert killed_in(f"{tmp_path}/nowhere/memory.max") == 0
