"""Files that a user names: written whole or not at all, and never in the place of anything but a regular file."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fsconsole.cli.kit import _write as write_kit
from fsconsole.client.runs import save
from fsconsole.devices import scratch
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import ExportFailed, ExportThere
from fsconsole.errors.targets import PlanUnwritable
from fsconsole.journal.archive import export_run
from fsconsole.journal.store import open_or_make
from fsconsole.system import files
from fsconsole.system.files import new_file
from fsconsole.tui import planfiles
from tests.tui.recorded import recorded
from tests.unit.kit.kits import kit_of

NULL = os.makedev(1, 3)


def directory(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as ear:
        ear.bind(os.path.relpath(path))


def character_device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, NULL)


def block_device(path: Path) -> None:
    # No driver answers to this number: opening it would fail.
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(240, 7))


AS_ROOT = pytest.mark.root
KINDS = [
    directory,
    pipe,
    unix_socket,
    *(pytest.param(make, marks=AS_ROOT) for make in (character_device, block_device)),
]


def write_new(path: str, meanwhile: Callable[[], object] = lambda: None, *, overwrite: bool = True) -> None:
    with new_file(path, overwrite=overwrite) as file:
        file.write(b"new")
        meanwhile()


def exported(path: str) -> None:
    place = Path(path)
    export_run(recorded("failed", place.parents[1] / f"runs-{place.name}"), path, overwrite=True)


WRITERS: dict[str, Callable[[str], Any]] = {
    "new_file": write_new,
    "export": exported,
    "view": lambda path: save(path, "new", overwrite=True),
    "plan": lambda path: planfiles.save(path, "new", "a digest"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A node of another kind, and links that lead to it."""

    node: Path
    before: os.stat_result
    names: dict[str, str]

    def assert_untouched(self) -> None:
        status = os.lstat(self.node)
        assert (status.st_ino, status.st_mode, status.st_rdev) == (
            self.before.st_ino, self.before.st_mode, self.before.st_rdev
        )  # fmt: skip
        assert sorted(os.listdir(self.node.parent)) == sorted(
            [self.node.name, *(os.path.basename(name) for name in self.names.values() if name != str(self.node))]
        )
        for name in self.names.values():
            assert name == str(self.node) or os.path.islink(name)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    inside = tmp_path / "place"
    inside.mkdir()
    monkeypatch.chdir(inside)
    node = inside / "node"
    request.param(node)
    (inside / "link").symlink_to(node)
    (inside / "chain").symlink_to("link")
    names = {"itself": str(node), "a link": str(inside / "link"), "a chain": str(inside / "chain")}
    return Place(node, os.lstat(node), names)


@pytest.mark.parametrize("writer", WRITERS)
def test_only_regular_files_are_replaced(place: Place, writer: str) -> None:
    for name in place.names.values():
        with pytest.raises((OSError, FsconsoleError)) as caught:
            WRITERS[writer](name)
        assert "regular file" in str(caught.value), name
        place.assert_untouched()


CREATORS: dict[str, Callable[[str], Any]] = {
    "new_file": lambda path: write_new(path, overwrite=False),
    "drawing": lambda path: save(path, "new", overwrite=False),
    "new plan": lambda path: planfiles.save(path, "new", ""),
    "kit in it": lambda path: write_kit(kit_of(), path),
    "export": lambda path: export_run(recorded("failed", Path(f"{path}-runs")), path),
    "scratch file in it": lambda path: scratch.create(2**20, path),
    "runs in it": open_or_make,
}


@pytest.mark.parametrize("creator", CREATORS)
def test_new_files_take_no_place_of_others(place: Place, creator: str) -> None:
    if stat.S_ISDIR(place.before.st_mode) and creator.endswith("in it"):
        pytest.skip("a directory is what it asks for")
    for name in place.names.values():
        with pytest.raises((OSError, FsconsoleError)):
            CREATORS[creator](name)
        shutil.rmtree(f"{name}-runs", ignore_errors=True)
        place.assert_untouched()


@pytest.mark.root
def test_export_refuses_link_to_loop_device(tmp_path: Path, loop_device: Callable[[int], str]) -> None:
    device = loop_device(2**20)
    before, link = os.lstat(device), tmp_path / "link"
    link.symlink_to(device)
    with pytest.raises(ExportFailed, match="block device"):
        export_run(recorded("failed", tmp_path / "runs"), str(link), overwrite=True)
    after = os.lstat(device)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    assert Path(device).read_bytes() == bytes(2**20)
    assert link.is_symlink()


def test_link_to_standard_output_is_refused(tmp_path: Path) -> None:
    """As /dev/stdout does, the link leads through /proc to a pipe."""
    end, other = os.pipe()
    link = tmp_path / "stdout"
    link.symlink_to(f"/proc/self/fd/{other}")
    with pytest.raises(ExportFailed, match="pipe"):
        save(str(link), "new", overwrite=True)
    assert link.is_symlink()
    os.close(end)
    os.close(other)


def test_link_to_removed_file_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "gone", "w+b") as file:
        os.unlink(tmp_path / "gone")
        with pytest.raises(ExportFailed, match="no name"):
            save(f"/proc/self/fd/{file.fileno()}", "new", overwrite=True)
    assert os.listdir(tmp_path) == []


def test_replacing_through_link_keeps_link(tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere" / "kept", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in ("new", "newer"):
        # The first time nothing is there yet.
        save(str(link), text, overwrite=True)
        assert target.read_text() == text
        assert link.is_symlink()
        assert os.listdir(target.parent) == ["kept"]


@pytest.mark.root
def test_foreign_link_is_not_resolved(tmp_path: Path) -> None:
    target, link = tmp_path / "kept", tmp_path / "link"
    target.write_text("kept")
    link.symlink_to(target)
    os.lchown(link, 1000, 1000)
    with pytest.raises(ExportFailed, match="another user"):
        save(str(link), "new", overwrite=True)
    assert target.read_text() == "kept"


def test_node_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(OSError, match="regular file"):
        write_new(str(path), lambda: os.mkfifo(path))
    assert stat.S_ISFIFO(os.lstat(path).st_mode)
    assert os.listdir(tmp_path) == ["out"]


def test_link_that_appears_meanwhile_is_not_followed(tmp_path: Path) -> None:
    path, kept = tmp_path / "out", tmp_path / "kept"
    kept.write_text("kept")
    with pytest.raises(OSError, match="regular file"):
        write_new(str(path), lambda: path.symlink_to(kept))
    assert kept.read_text() == "kept"


def test_directory_that_becomes_link_is_not_followed(tmp_path: Path) -> None:
    inside, elsewhere = tmp_path / "inside", tmp_path / "elsewhere"
    inside.mkdir()
    elsewhere.mkdir()
    with new_file(str(inside / "out"), overwrite=True) as file:
        file.write(b"new")
        inside.rename(tmp_path / "moved")
        inside.symlink_to(elsewhere)
    assert os.listdir(elsewhere) == []
    assert (tmp_path / "moved" / "out").read_bytes() == b"new"


@pytest.mark.parametrize("appears_late", [False, True])
def test_new_file_never_replaces_without_overwrite(tmp_path: Path, appears_late: bool) -> None:
    path = tmp_path / "out"
    if not appears_late:
        path.write_text("theirs")
    with pytest.raises(FileExistsError):
        write_new(str(path), lambda: path.write_text("theirs"), overwrite=False)
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["out"]


def test_dangling_link_is_not_followed_without_overwrite(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    with pytest.raises(ExportFailed):
        save(str(link), "new", overwrite=False)
    with pytest.raises(ExportThere):
        export_run(recorded("failed", tmp_path / "runs"), str(link))
    assert not (tmp_path / "target").exists()


def test_failed_writer_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    for name in ("old", "new"):
        with pytest.raises(ZeroDivisionError):
            write_new(str(tmp_path / name), lambda: 1 / 0)
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old"


def test_longest_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    save(str(path), "new", overwrite=False)
    save(str(path), "newer", overwrite=True)
    assert path.read_text() == "newer"


def test_plan_keeps_rights_of_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("old")
    path.chmod(0o604)
    planfiles.save(str(path), "new", planfiles.digest_of(str(path)))
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o604)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlanUnwritable):
        planfiles.save(str(tmp_path / "pipe"), "new", "x")


def test_only_one_function_creates_named_files() -> None:
    """Whatever replaces a file by its name goes through new_file; the others here make files of their own names."""
    package, users = Path(files.__file__).parents[1], set()
    for path in package.rglob("*.py"):
        text = path.read_text()
        if "os.replace(" in text or "mkstemp(" in text or ".write_text(" in text or ".write_bytes(" in text:
            users.add(str(path.relative_to(package)))
    # planfiles: the plan of a run in a temporary file, and a draft that can't be read set aside.
    assert users == {"system/files.py", "tui/planfiles.py"}
