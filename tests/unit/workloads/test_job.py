"""Jobs read from a line, and the confinement of a generator."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.wire import Mismatch, encode, to_plain
from fsconsole.model.workload import OPERATIONS, DataKind, Directories, End, Layout, Workload, WorkloadKind
from fsconsole.workloads.builtin import confined_argv
from fsconsole.workloads.job import Job, job_from_line
from fsconsole.workloads.tree import SourceFiles

WORKLOAD = Workload("large files", WorkloadKind.CREATE, 16, 128, 2**30, 65536)
JOB = Job("/mnt/tree", 1793, "load", 2, 7, WORKLOAD, SourceFiles("files", Directories(), (8, 7)))


@given(
    st.text(),
    st.builds(
        Workload,
        name=st.text(),
        kind=st.sampled_from([*OPERATIONS, WorkloadKind.MIX]),
        threads=st.integers(1, 4096),
        files=st.integers(0, 2**40),
        file_size_bytes=st.integers(0, 2**62),
        block_size_bytes=st.integers(1, 2**30),
        directories=st.sampled_from([Directories(), Directories(Layout.PER_THREAD)]),
        data=st.sampled_from(DataKind),
        cold=st.booleans(),
        file_size_max_bytes=st.integers(0, 2**62),
        zero_share=st.floats(0, 1),
        direct=st.booleans(),
        fsync_every=st.integers(0, 2**40),
        limit_bytes=st.integers(0, 2**62),
        duration_s=st.floats(0, 1e9),
        end=st.sampled_from(End),
        weights=st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(1, 9)), min_size=1).map(tuple),
        seed=st.integers(0, 2**63 - 1),
    ),
)
def test_a_job_survives_its_line(tree: str, workload: Workload) -> None:
    job = replace(JOB, tree=tree, workers=1, workload=workload)
    line = encode(job)
    assert "\n" not in line
    assert job_from_line(line) == job


@pytest.mark.parametrize("key", ["tree", "tree_device", "name", "workers", "counters", "workload"])
def test_a_job_without_one_of_its_keys_is_refused(key: str) -> None:
    document = json.loads(encode(JOB))
    del document[key]
    with pytest.raises(Mismatch):
        job_from_line(json.dumps(document))


@pytest.mark.parametrize("key", ["name", "kind", "threads", "files", "file_size_bytes", "block_size_bytes"])
def test_a_workload_without_one_of_its_keys_is_refused(key: str) -> None:
    document = json.loads(encode(JOB))
    del document["workload"][key]
    with pytest.raises(Mismatch):
        job_from_line(json.dumps(document))


@pytest.mark.parametrize(
    "change",
    [
        {"workers": 17},
        {"workers": 0},
        {"counters": 1},
        {"name": "../etc"},
        {"name": ".."},
        {"name": ""},
        {"source": {"directory": "a/b", "directories": to_plain(Directories()), "counts": [1]}},
        {"source": {"directory": "a", "directories": to_plain(Directories()), "counts": []}},
        {"source": {"directory": "a", "directories": to_plain(Directories()), "counts": [-1]}},
        {"workload": None},
        {"more": 1},
        {"tree_device": -1},
    ],
)
def test_a_job_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Mismatch):
        job_from_line(json.dumps(json.loads(encode(JOB)) | change))


@pytest.mark.parametrize(
    "change",
    [
        {"threads": 0},
        {"threads": 10**6},
        {"threads": "16"},
        {"threads": True},
        {"files": -1},
        {"file_size_bytes": -1},
        {"block_size_bytes": 0},
        {"block_size_bytes": 2**40},
        {"directories": {"layout": "everywhere", "files_per_directory": 0}},
        {"directories": {"layout": "per-count", "files_per_directory": 0}},
        {"directories": {"layout": "per-count", "files_per_directory": 1}, "files": 10**7},
        {"directories": {"layout": "per-count", "files_per_directory": 1}, "files": 0},
        {"data": "text"},
        {"duration_s": -1.0},
        {"duration_s": "long"},
        {"kind": "fio"},
        {"kind": "mix", "weights": []},
        {"weights": [["fio", 1]]},
        {"weights": [["read", 0]]},
        {"weights": ["read"]},
    ],
)
def test_a_workload_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    document = json.loads(encode(JOB))
    document["workload"] |= change
    with pytest.raises(Mismatch):
        job_from_line(json.dumps(document))


@pytest.mark.parametrize("line", ["", "\n", "[]", "{", "null"])
def test_what_is_no_job_is_refused(line: str) -> None:
    with pytest.raises(Mismatch):
        job_from_line(line)


TREE = "/run/fsconsole/mnt/tree"
RUN = "/var/lib/fsconsole/runs/1"


def position(argv: tuple[str, ...], *words: str) -> int:
    """Return where words stand one after the other."""
    found = [i for i in range(len(argv)) if argv[i : i + len(words)] == words]
    assert len(found) == 1, f"{words} stands {len(found)} times in {argv}"
    return found[0]


def test_the_generator_is_the_last_thing_and_nothing_of_it_is_an_option() -> None:
    argv = confined_argv(("fio", "--cap-add", "ALL"), tree=TREE, hidden=())
    assert argv[-4:] == ("--", "fio", "--cap-add", "ALL")
    assert argv.index("bwrap") < argv.index("--ro-bind")


def test_no_capability_to_mount_make_nodes_or_reach_hardware_is_given() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=())
    given = {argv[i + 1] for i, word in enumerate(argv) if word == "--cap-add"}
    assert given == {"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"}
    assert position(argv, "--cap-drop", "ALL") < argv.index("--cap-add")


def test_it_dies_with_the_engine_and_sees_neither_its_processes_nor_its_terminal() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=())
    assert {"--die-with-parent", "--unshare-pid", "--new-session"} <= set(argv)


def test_proc_is_a_new_one_and_made_read_only() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=())
    assert position(argv, "--ro-bind", "/", "/") < position(argv, "--proc", "/proc")
    assert position(argv, "--proc", "/proc") < position(argv, "--remount-ro", "/proc")


def test_what_lies_deeper_is_mounted_later() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=(RUN,), readable=(f"{RUN}/venv",))
    assert position(argv, "--ro-bind", "/", "/") < position(argv, "--tmpfs", "/run")
    assert position(argv, "--tmpfs", "/run") < position(argv, "--bind", TREE, TREE)
    assert position(argv, "--tmpfs", RUN) < position(argv, "--ro-bind", f"{RUN}/venv", f"{RUN}/venv")
    assert position(argv, "--bind", TREE, TREE) < position(argv, "--remount-ro", "/run")


def test_what_is_hidden_below_a_readable_place_stays_hidden() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=("/run/venv/runs",), readable=("/run/venv",))
    assert position(argv, "--ro-bind", "/run/venv", "/run/venv") < position(argv, "--tmpfs", "/run/venv/runs")


def test_what_is_hidden_below_the_tree_stays_hidden() -> None:
    argv = confined_argv(("fio",), tree="/srv", hidden=("/srv/runs/1",))
    assert position(argv, "--bind", "/srv", "/srv") < position(argv, "--tmpfs", "/srv/runs/1")


def test_a_place_that_is_readable_and_hidden_is_hidden() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=(RUN,), readable=(RUN,))
    assert position(argv, "--tmpfs", RUN)
    assert ("--ro-bind", RUN) not in set(pairwise(argv))


def test_readable_places_that_nothing_covers_need_no_mount() -> None:
    assert "/usr" not in confined_argv(("fio",), tree=TREE, hidden=(RUN,), readable=("/usr",))


def test_a_tree_that_is_hidden_too_is_the_tree() -> None:
    argv = confined_argv(("fio",), tree="/srv", hidden=("/srv",))
    assert position(argv, "--bind", "/srv", "/srv")
    assert ("--tmpfs", "/srv") not in set(pairwise(argv))


@pytest.mark.parametrize("path", ["tree", "", "/srv/../etc", "/srv/", "/"])
def test_a_path_that_could_mean_another_is_no_tree(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|machine"):
        confined_argv(("fio",), tree=path, hidden=())


@pytest.mark.parametrize("path", ["runs", "/var/lib/..", "/x//y"])
def test_a_path_that_could_mean_another_can_not_be_hidden(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        confined_argv(("fio",), tree=TREE, hidden=(path,))
