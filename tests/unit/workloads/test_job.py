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


def a_source(directory: str, *counts: int) -> dict[str, object]:
    return {"source": {"directory": directory, "directories": to_plain(Directories()), "counts": counts}}


def directories(layout: str, each: int) -> dict[str, object]:
    return {"directories": {"layout": layout, "files_per_directory": each}}


WRONG_JOBS = [
    {"workers": 17}, {"workers": 0}, {"counters": 1}, {"name": "../etc"}, {"name": ".."}, {"name": ""},
    a_source("a/b", 1), a_source("a"), a_source("a", -1), {"workload": None}, {"more": 1}, {"tree_device": -1},
]  # fmt: skip
WRONG_WORKLOADS = [
    {"threads": 0}, {"threads": 10**6}, {"threads": "16"}, {"threads": True}, {"files": -1},
    {"file_size_bytes": -1}, {"block_size_bytes": 0}, {"block_size_bytes": 2**40},
    directories("everywhere", 0), directories("per-count", 0),
    {**directories("per-count", 1), "files": 10**7}, {**directories("per-count", 1), "files": 0},
    {"data": "text"}, {"duration_s": -1.0}, {"duration_s": "long"}, {"kind": "fio"}, {"kind": "mix", "weights": []},
    {"weights": [["fio", 1]]}, {"weights": [["read", 0]]}, {"weights": ["read"]},
]  # fmt: skip


def is_refused(line: str) -> bool:
    try:
        job_from_line(line)
    except Mismatch:
        return True
    return False


def test_a_job_that_lacks_a_key_or_cannot_be_is_refused() -> None:
    whole = json.loads(encode(JOB))
    load = whole["workload"]
    assert not is_refused(json.dumps(whole))
    wrong = [
        *({key: whole[key] for key in whole if key != missing} for missing in Job.__struct_fields__),
        *(
            {**whole, "workload": {key: load[key] for key in load if key != missing}}
            for missing in Workload.__struct_fields__
        ),
        *({**whole, **change} for change in WRONG_JOBS),
        *({**whole, "workload": {**load, **change}} for change in WRONG_WORKLOADS),
    ]
    assert [document for document in wrong if not is_refused(json.dumps(document))] == []
    assert [line for line in ("", "\n", "[]", "{", "null") if not is_refused(line)] == []


TREE = "/run/fsconsole/mnt/tree"
RUN = "/var/lib/fsconsole/runs/1"


def position(argv: tuple[str, ...], *words: str) -> int:
    """Return where words stand one after the other."""
    found = [i for i in range(len(argv)) if argv[i : i + len(words)] == words]
    assert len(found) == 1, f"{words} stands {len(found)} times in {argv}"
    return found[0]


def test_the_generator_comes_last_dies_with_the_engine_and_has_no_capability_to_reach_hardware() -> None:
    argv = confined_argv(("fio", "--cap-add", "ALL"), tree=TREE, hidden=())
    assert argv[-4:] == ("--", "fio", "--cap-add", "ALL")
    own = argv[:-4]
    assert own.index("bwrap") < own.index("--ro-bind")
    given = {own[i + 1] for i, word in enumerate(own) if word == "--cap-add"}
    assert given == {"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"}
    assert position(own, "--cap-drop", "ALL") < own.index("--cap-add")
    assert {"--die-with-parent", "--unshare-pid", "--new-session"} <= set(own)


ROOT, OWN = ("--ro-bind", "/", "/"), ("--bind", TREE, TREE)


ORDERS = (
        (TREE, (), (), ROOT, ("--proc", "/proc")),
        (TREE, (), (), ("--proc", "/proc"), ("--remount-ro", "/proc")),
        # What lies deeper is mounted later.
        (TREE, (RUN,), (f"{RUN}/venv",), ROOT, ("--tmpfs", "/run")),
        (TREE, (RUN,), (f"{RUN}/venv",), ("--tmpfs", "/run"), OWN),
        (TREE, (RUN,), (f"{RUN}/venv",), ("--tmpfs", RUN), ("--ro-bind", f"{RUN}/venv", f"{RUN}/venv")),
        (TREE, (RUN,), (f"{RUN}/venv",), OWN, ("--remount-ro", "/run")),
        # What is hidden below a readable place, or below the tree, stays hidden.
        (TREE, ("/run/venv/runs",), ("/run/venv",), ("--ro-bind", "/run/venv", "/run/venv"), ("--tmpfs", "/run/venv/runs")),
        ("/srv", ("/srv/runs/1",), (), ("--bind", "/srv", "/srv"), ("--tmpfs", "/srv/runs/1")),
)  # fmt: skip
ONCE = (
    # What is readable and hidden is hidden; a hidden tree is the tree; what nothing covers needs no mount.
    (TREE, (RUN,), (RUN,), ("--tmpfs", RUN), ("--ro-bind", RUN)),
    ("/srv", ("/srv",), (), ("--bind", "/srv", "/srv"), ("--tmpfs", "/srv")),
    (TREE, (RUN,), ("/usr",), OWN, ("--ro-bind", "/usr")),
)


def test_mounts_come_once_in_an_order_that_hides_what_is_to_be_hidden() -> None:
    for tree, hidden, readable, earlier, later in ORDERS:
        argv = confined_argv(("fio",), tree=tree, hidden=hidden, readable=readable)
        assert position(argv, *earlier) < position(argv, *later), (earlier, later)
    for tree, hidden, readable, mounted, not_mounted in ONCE:
        argv = confined_argv(("fio",), tree=tree, hidden=hidden, readable=readable)
        assert position(argv, *mounted)
        assert not {not_mounted, ("--remount-ro", tree)} & set(pairwise(argv)), not_mounted


def test_a_path_that_could_mean_another_is_no_tree_and_can_not_be_hidden() -> None:
    for path in ("tree", "", "/srv/../etc", "/srv/", "/"):
        with pytest.raises(ValueError, match=r"path|machine"):
            confined_argv(("fio",), tree=path, hidden=())
    for path in ("runs", "/var/lib/..", "/x//y"):
        with pytest.raises(ValueError, match="path"):
            confined_argv(("fio",), tree=TREE, hidden=(path,))
