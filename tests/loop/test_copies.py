"""Copies and their sources, in whole runs on ext4: what is copied, counted, hashed, and told of changes."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Iterator

import pytest

from fsconsole.devices import scratch
from fsconsole.engine.steps.sources import manifest_words
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus
from fsconsole.plan.read import find_config
from fsconsole.text import MIB
from fsconsole.workloads.manifest import read_manifest
from tests.loop.runs import carry_out

HEAD = """
schema = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4" }]
after = { check = false, extents = false }
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


@pytest.fixture
def sources(tmp_path: pathlib.Path) -> pathlib.Path:
    """Seven names and 70,000 bytes; with hard links once 60,000."""
    tree = tmp_path / "sources"
    for number in range(3):
        (tree / f"d{number}").mkdir(parents=True)
        (tree / f"d{number}" / "file").write_bytes(os.urandom(10_000 * (number + 1)))
    os.link(tree / "d0" / "file", tree / "d0" / "hard")
    (tree / "link").symlink_to("d0/file")
    (tree / "empty").touch()
    os.mkfifo(tree / "pipe")
    return tree


def done(plan: str, device: str, directory: pathlib.Path) -> tuple[CellState, ...]:
    said, folder = carry_out(plan, device, directory)
    assert said.returncode == 0, said.stdout + said.stderr
    return read_state(folder).cells


def figure(cell: CellState, metric: Metric, number: int = 0) -> float:
    """Return a figure of a cell's load of that number."""
    found = [one.value for step in cell.steps for one in step.measurements if one.metric is metric]
    return found[number]


def manifests(cell: CellState) -> list[str]:
    return [step.verdict for step in cell.steps if step.kind is StepKind.WARM]


SMALLER = {
    "os.path.dirname(os.__file__)": "os.path.join(os.path.dirname(os.__file__), 'json')",
    "range(2000)": "range(20)",
    "directories, files = 50, 20": "directories, files = 2, 2",
}
NEEDED = ("git", "tar", "python3", "make", "cc")


def commands() -> str:
    """Return the loads of both plans of commands, made small."""
    plans = (find_config(name).read_text() for name in ("commands", "commands-build"))
    loads = "".join("[[workload]]" + plan.partition("[[workload]]\nname")[2].join(("\nname", "")) for plan in plans)
    for whole, smaller in SMALLER.items():
        loads = loads.replace(whole, smaller)
    return loads.partition("[after]")[0]


def copies_of(sources: pathlib.Path) -> str:
    """Return the loads that copy a tree: whole, as an archive, in part, and one that the run made itself."""
    return f"""repeats = 1
    [[workload]]
    kind = "copy"
    sources = ["{sources}", "/var/lib/no-such"]
    [[workload]]
    name = "archive"
    kind = "copy"
    copy_with = "-a"
    sources = ["{sources}"]
    [[workload]]
    name = "part"
    kind = "copy"
    sources = ["{sources}"]
    at_most = 35000
    [[workload]]
    name = "made"
    kind = "create"
    files = 3
    file_size = "64KiB"
    [[workload]]
    name = "shape"
    kind = "copy"
    of = "made"
    copy_with = "-a --reflink=never"
    """


def test_copies_are_counted_and_rated_by_their_manifest_and_the_plans_of_commands_come_to_their_end(
    device: str, sources: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    archive = tmp_path / "archive"
    archive.write_bytes(os.urandom(123_456))
    given = f"""
    [[workload]]
    name = "of sources"
    kind = "command"
    argv = ["cp", "{archive}", "copied"]
    sources = ["{archive}"]
    """
    if missing := [program for program in NEEDED if shutil.which(program) is None]:
        pytest.skip(f"no {missing[0]} on this machine")
    (cell,) = done(HEAD + copies_of(sources) + commands() + given, device, tmp_path)
    # -a links the hard link again; a part has the files of the top, then those of d0.
    sizes = [70_000, 60_000, 20_000, 3 * 65536, 3 * 65536]
    assert [figure(cell, Metric.WRITTEN, number) for number in range(5)] == sizes
    assert [figure(cell, Metric.FILES_MADE, number) for number in range(4)] == [7, 7, 5, 3]
    assert [figure(cell, Metric.SOURCE_BYTES, number) for number in range(3)] == sizes[:3]
    tree, pack, untar, bundle, clone, compiled, sqlite, code, *makes = (
        figure(cell, Metric.FILES_MADE, number) for number in range(4, 14)
    )
    copied = [figure(cell, metric, 14) for metric in (Metric.FILES_MADE, Metric.MADE)]
    assert copied == [1, archive.stat().st_size]
    assert (untar, compiled, pack, sqlite) == (tree, 2 * tree, 1, 1)
    assert min(bundle, clone) > tree
    # 100 headers, 4 sources and a Makefile; what make makes lies there too.
    assert (code, *makes) == (105, 0, 0)
    whole, again, part, of_command = manifests(cell)
    assert whole == again != part
    assert of_command == manifest_words(read_manifest((str(archive),)).digest)
    for number in range(3):
        assert 0 <= figure(cell, Metric.SYSTEM, number) < figure(cell, Metric.REAL, number)
    drains = [step for step in cell.steps if step.kind is StepKind.DRAIN][:5]
    for drain in drains:
        told = {one.metric: one.value for one in drain.measurements}
        assert {Metric.DURABLE, Metric.REAL_DRAINED} <= told.keys()
    assert figure(cell, Metric.DELETE) > 0
    assert figure(cell, Metric.DELETE_SYSTEM) >= 0
    assert not {StepKind.EXTENTS, StepKind.CHECK, StepKind.REMOUNT} & {step.kind for step in cell.steps}


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("peiffer-2005-cp-rm", '"/usr"'),
        ("peiffer-2005-eight-directories", '"/usr", "/home", "/boot", "/lib", "/bin", "/etc", "/sbin", "/var"'),
    ],
)
@pytest.mark.soak
def test_a_plan_of_peiffer_comes_to_its_end(
    device: str, sources: pathlib.Path, tmp_path: pathlib.Path, name: str, published: str
) -> None:
    plan = find_config(name).read_text().replace("repeats = 100", "repeats = 1")
    assert f"sources = [{published}]" in plan
    # The second, which is not there, is left out.
    plan = plan.replace(f"sources = [{published}]", f'sources = ["{sources}", "{sources}-missing"]')
    cells = done(plan, device, tmp_path)
    assert [cell.status for cell in cells] == [CellStatus.DONE] * 3
    assert len({manifests(cell)[0] for cell in cells}) == 1
    for metric in (Metric.USER, Metric.SYSTEM, Metric.REAL, Metric.DELETE_USER, Metric.DELETE_SYSTEM, Metric.DELETE):
        assert all(figure(cell, metric) >= 0 for cell in cells)
    assert not [one for cell in cells for one in cell.warnings if one.kind is WarningKind.SOURCES]
