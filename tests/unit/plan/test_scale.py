"""What workloads add to a filesystem, and how ranges and limits shrink with the rest."""

from __future__ import annotations

from fsconsole.model.workload import Workload
from fsconsole.plan.planfile import written_bytes
from fsconsole.text import KIB, MIB
from tests.unit.plan.examples import SMALLEST, VARIANT, build


def workloads(*lines: str, head: str = "schema = 1\n") -> tuple[Workload, ...]:
    (cell,) = build(head + VARIANT + "\n".join(("[[workload]]", *lines)) + "\n").cells
    return cell.workloads


CREATE = ("kind = 'create'", "threads = 4", "file_size = '1MiB'")


def test_reads_and_overwrites_take_no_room_and_appends_do() -> None:
    made = workloads(*CREATE)
    more = workloads(
        *CREATE, "[[workload]]", "kind = 'read'", "[[workload]]", "kind = 'random-write'",
        "[[workload]]", "kind = 'append'", "file_size = '512KiB'",
    )  # fmt: skip
    assert written_bytes(made) == 4 * MIB
    assert written_bytes(more) == 6 * MIB


def test_a_range_counts_by_its_middle_and_a_limit_by_what_it_lets_through() -> None:
    (ranged,) = workloads("kind = 'create'", "files = 100", "file_size = ['512KiB', '1536KiB']")
    (limited,) = workloads("kind = 'create'", "file_size = '1MiB'", "bytes = '10MiB'")
    (both,) = workloads("kind = 'create'", "files = 3", "file_size = '1MiB'", "bytes = '10MiB'")
    (timed,) = workloads("kind = 'create'", "file_size = '1MiB'", "duration = '1min'")
    assert [w.added_bytes for w in (ranged, limited, both, timed)] == [100 * MIB, 10 * MIB, 3 * MIB, 0]
    assert (limited.files, both.files, timed.files) == (0, 3, 0)


def test_of_a_mix_only_its_share_of_creates_and_appends_takes_room() -> None:
    _, mix = workloads(
        *CREATE, "[[workload]]", "kind = 'mix'", "weights = { read = 2, create = 1, stat = 1 }",
        "file_size = '1MiB'", "files = 80",
    )  # fmt: skip
    assert (mix.added_bytes, mix.total_bytes) == (20 * MIB, 60 * MIB)


def test_ranges_and_limits_shrink_in_whole_blocks_with_the_files() -> None:
    (made,) = workloads(
        "kind = 'create'",
        "file_size = ['128KiB', '1MiB']",
        "bytes = '8MiB'",
        head="schema = 1\nscale = 0.3\n",
    )
    assert (made.file_size_bytes, made.file_size_max_bytes) == (64 * KIB, 256 * KIB)
    assert made.limit_bytes == 38 * 64 * KIB


def test_every_workload_has_a_seed_of_its_own_that_the_plans_seed_decides() -> None:
    text = SMALLEST + "[[workload]]\nkind = 'read'\n"
    seeds = [[w.seed for w in build(text.replace("schema = 1", head)).cells[0].workloads] for head in (
        "schema = 1", "schema = 1\nseed = 2", "schema = 1\nseed = 2",
    )]  # fmt: skip
    assert seeds[1] == seeds[2]
    assert len({*seeds[0], *seeds[1]}) == 4


def test_a_time_limit_is_in_the_estimate() -> None:
    text = SMALLEST + "[[workload]]\nkind = 'stat'\nduration = '10min'\n"
    assert build(text).estimate.elapsed_s - build(SMALLEST).estimate.elapsed_s == 600
