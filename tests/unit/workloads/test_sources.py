"""Which files of a create are whose to work on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.workload import Directories
from fsconsole.workloads.tree import SourceFiles

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(tuple)


def made(counts: tuple[int, ...]) -> list[int]:
    """Return the numbers of the files that threads have made, by the rule of a create."""
    return [thread + n * len(counts) for thread, count in enumerate(counts) for n in range(count)]


def of(counts: tuple[int, ...]) -> SourceFiles:
    return SourceFiles("files", Directories(), counts)


@given(COUNTS, st.integers(1, 20))
def test_every_file_is_exactly_one_threads(counts: tuple[int, ...], threads: int) -> None:
    given_out = [
        number for thread in range(threads) for number in of(counts).numbers(thread, threads, shared=False)
    ]
    assert sorted(given_out) == sorted(made(counts))


@given(COUNTS.filter(all))
def test_as_many_threads_get_back_what_each_made(counts: tuple[int, ...]) -> None:
    for thread, count in enumerate(counts):
        own = [thread + n * len(counts) for n in range(count)]
        assert list(of(counts).numbers(thread, len(counts), shared=True)) == own


@given(COUNTS.filter(any), st.integers(1, 20))
def test_with_sharing_no_thread_is_without_a_file(counts: tuple[int, ...], threads: int) -> None:
    for thread in range(threads):
        assert set(of(counts).numbers(thread, threads, shared=True)) <= set(made(counts))
        assert of(counts).numbers(thread, threads, shared=True)


@given(COUNTS)
def test_the_file_after_a_threads_last_is_the_one_it_would_have_made(counts: tuple[int, ...]) -> None:
    after = [of(counts).number_after(thread) for thread in range(len(counts))]
    assert not set(after) & set(made(counts))
    assert len(set(after)) == len(counts)
