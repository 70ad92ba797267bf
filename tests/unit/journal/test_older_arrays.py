"""A run of before arrays had knobs and cells had members is read, and one of today comes back whole."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.plan import ArraySpec
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import decode, encode

SPECS = st.builds(
    ArraySpec,
    level=st.text(),
    chunk_bytes=st.integers(0, 2**30),
    members=st.integers(0, 256),
    stripe_cache_size=st.integers(0, 32768),
    group_thread_count=st.integers(-1, 8192),
    bitmap=st.text(),
    consistency_policy=st.text(),
    assume_clean=st.booleans(),
)


@given(SPECS)
def test_any_array_comes_back_from_the_journal_as_it_was(spec: ArraySpec) -> None:
    assert decode(ArraySpec, encode(spec)) == spec


def test_an_array_of_level_and_chunk_alone_is_read_with_all_else_as_it_comes() -> None:
    assert decode(ArraySpec, '{"level":"raid5","chunk_bytes":65536}') == ArraySpec("raid5", 65536)


def test_a_plan_of_cells_without_members_is_read(make_request) -> None:
    request = make_request()
    document = json.loads(encode(request))
    for cell in document["plan"]["cells"]:
        del cell["members"]
        if cell["array"] is not None:
            cell["array"] = {name: cell["array"][name] for name in ("level", "chunk_bytes")}
    assert decode(RunRequest, json.dumps(document)) == request
