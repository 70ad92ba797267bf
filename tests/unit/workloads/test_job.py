from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.wire import Mismatch, encode, to_plain
from fsconsole.model.workload import OPERATIONS, DataKind, Directories, End, Layout, Workload, WorkloadKind
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
