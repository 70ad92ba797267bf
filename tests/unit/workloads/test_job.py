from __future__ import annotations

import json
from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.workload import DataKind, Layout
from fsconsole.workloads.job import BadJob, Job, job_from_line, job_to_line

JOB = Job("/mnt/tree", 1793, "load", 16, 2, 128, 2**30, 65536, Layout.ONE, 0, DataKind.RANDOM, 7)


@given(
    st.text(),
    st.integers(1, 4096),
    st.integers(1, 2**40),
    st.sampled_from([Layout.ONE, Layout.PER_THREAD]),
    st.sampled_from(DataKind),
)
def test_a_job_survives_its_line(tree: str, threads: int, files: int, layout: Layout, data: DataKind) -> None:
    job = replace(JOB, tree=tree, threads=threads, workers=1, files=files, layout=layout, data=data)
    line = job_to_line(job)
    assert "\n" not in line
    assert job_from_line(line) == job


@pytest.mark.parametrize("key", [field.name for field in fields(Job)])
def test_a_job_without_one_of_its_keys_is_refused(key: str) -> None:
    document = asdict(JOB)
    del document[key]
    with pytest.raises(BadJob):
        job_from_line(json.dumps(document))


@pytest.mark.parametrize(
    "change",
    [
        {"threads": 0},
        {"threads": 10**6},
        {"workers": 17},
        {"workers": 0},
        {"files": 0},
        {"file_size_bytes": -1},
        {"block_size_bytes": 0},
        {"block_size_bytes": 2**40},
        {"counters": 1},
        {"layout": "everywhere"},
        {"layout": "per-count", "files_per_directory": 0},
        {"data": "text"},
        {"name": "../etc"},
        {"name": ".."},
        {"name": ""},
        {"threads": "16"},
    ],
)
def test_a_job_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadJob):
        job_from_line(json.dumps(asdict(JOB) | change))


@pytest.mark.parametrize("line", ["", "\n", "[]", "{", "null"])
def test_what_is_no_job_is_refused(line: str) -> None:
    with pytest.raises(BadJob):
        job_from_line(line)
