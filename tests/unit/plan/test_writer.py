"""What is written reads back as what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.filesystem import Filesystem, Option, Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import After, DeleteWith, Equalise, Order
from fsconsole.model.workload import (
    BUILT_IN,
    OPERATIONS,
    DataKind,
    Directories,
    End,
    Layout,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)
from fsconsole.plan import kinds
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.planfile import Checklist, PlanFile, Scale, ScaleKind, VariantText
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.plan.requirements import EXAMPLES, columns_of, parse_requirement
from fsconsole.text import KIB
from tests.unit.plan.examples import DESIGN, SMALLEST, parse
from tests.unit.plan.test_arrays import AXES

NAMES = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
SETTINGS = st.sampled_from([("read_ahead", "128KiB"), ("scheduler", "none"), ("dirty_ratio", "20")])


def distinct(values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(values, min_size=1, max_size=3, unique=True).map(tuple)


def axis(option: Option) -> st.SearchStrategy[tuple[str, tuple[str, ...]]]:
    known = list(option.texts) or [value for value in ("16", "64", "128") if option.accepts(value)]
    return st.tuples(st.just(option.name), distinct(st.sampled_from(known)))


def axes(filesystem: Filesystem, scope: Scope) -> st.SearchStrategy[tuple[tuple[str, tuple[str, ...]], ...]]:
    options = [option for option in filesystem.options if option.scope is scope]
    chosen = st.lists(st.sampled_from(options), max_size=3, unique=True)
    return chosen.flatmap(lambda some: st.tuples(*(axis(option) for option in some)))


def excluded(filesystem: Filesystem) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    return st.sampled_from(filesystem.options).flatmap(axis).map(lambda pair: ((pair[0], pair[1][0]),))


def checklist(filesystem: Filesystem) -> st.SearchStrategy[Checklist]:
    return st.builds(
        Checklist,
        st.just(filesystem.name),
        axes(filesystem, Scope.MKFS),
        axes(filesystem, Scope.MOUNT),
        st.lists(excluded(filesystem), max_size=2).map(tuple),
    )


CHECKLISTS = st.sampled_from(load_catalog().filesystems).flatmap(checklist)
VARIANTS = st.builds(
    VariantText,
    filesystem=st.just("ext4"),
    mkfs=st.sampled_from(["", "-I 256", "-O '^flex_bg'"]),
    mount=st.sampled_from(["", "noatime", "data=writeback,nodelalloc"]),
    tune=st.sampled_from(["", "-c 0 -i 0"]),
    label=st.text(max_size=20),
    as_printed=st.text(max_size=20),
)
DIRECTORIES = st.one_of(
    st.sampled_from([Directories(Layout.ONE), Directories(Layout.PER_THREAD)]),
    st.integers(1, 1000).map(lambda count: Directories(Layout.PER_COUNT, count)),
)
THREADS = st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True).map(tuple)
SECTORS = st.integers(1, 2**11).map(lambda sectors: sectors * 512)
BLOCKS = st.lists(SECTORS, min_size=1, max_size=2, unique=True).map(tuple)
OWN_SETTINGS = st.lists(SETTINGS, max_size=2, unique_by=lambda pair: pair[0]).map(tuple)
AT_ONCE = {"limit_bytes": 4096, "duration_s": 90.5, "end": End.AT_ONCE}
LIMITS = st.sampled_from([{}, {"limit_bytes": 10 * 2**30 + 1}, {"duration_s": 0.1}, AT_ONCE])
SIZES = st.one_of(
    st.integers(2**20, kinds.MAX_FILE_SIZE_BYTES).map(lambda size: (size, 0)),
    st.lists(st.integers(2**20, 2**40), min_size=2, max_size=2, unique=True).map(lambda two: tuple(sorted(two))),
)
CONTENTS = st.one_of(
    st.sampled_from([(DataKind.RANDOM, 0.0), (DataKind.ZERO, 0.0)]),
    st.floats(1e-9, 1, exclude_max=True).map(lambda share: (DataKind.COMPRESSIBLE, share)),
)
MOVING = [WorkloadKind.APPEND, WorkloadKind.READ, WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE]
WEIGHTS = st.dictionaries(st.sampled_from(OPERATIONS), st.integers(1, 100), min_size=1, max_size=4).map(
    lambda weights: tuple(weights.items())
)


SYNCS = st.sampled_from(
    [
        {},
        {"fsync_every": 1},
        {"fsync_every": 1000, "sync_call": SyncCall.FDATASYNC},
        {"sync_at": SyncAt.EACH_FILE, "sync_call": SyncCall.FDATASYNC},
        {"sync_at": SyncAt.END},
    ]
)


@st.composite
def programs(draw: st.DrawFn, kind: WorkloadKind) -> Workload:
    """A load that a program makes."""
    more = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9), max_size=2)
    words = ["tar", *draw(more)] if kind is WorkloadKind.COMMAND else []
    return Workload(
        name=draw(NAMES),
        kind=kind,
        threads=1,
        thread_counts=(1,),
        files=0,
        file_size_bytes=0,
        block_size_bytes=64 * KIB,
        block_sizes=(64 * KIB,),
        argv=tuple(words),
        sources=draw(st.sampled_from([(), ("/srv/a b", "/srv/c")])) if words else (),
        job="[random]\nrw=randread\n" if kind is WorkloadKind.FIO else "",
        cold=draw(st.booleans()),
        settings=draw(OWN_SETTINGS),
    )


@st.composite
def one_workload(draw: st.DrawFn, kinds: Sequence[WorkloadKind]) -> Workload:
    """A create, or what may follow one."""
    kind = draw(st.sampled_from(kinds))
    if kind not in BUILT_IN:
        return draw(programs(kind))
    is_create, is_mix = kind is WorkloadKind.CREATE, kind is WorkloadKind.MIX
    (smallest, largest), counts, blocks = draw(SIZES), draw(THREADS), draw(BLOCKS)
    ends = draw(LIMITS) if is_create or kind in MOVING else {}
    files = 100 if is_mix else draw(st.sampled_from([0, 64, 1000]))
    is_placed = is_create and bool(files or not ends)
    data, share = draw(CONTENTS) if is_create else (DataKind.RANDOM, 0.0)
    weights = draw(WEIGHTS) if is_mix else ()
    load = Workload(
        name=draw(NAMES),
        kind=kind,
        threads=counts[0],
        thread_counts=counts,
        file_size_bytes=smallest - smallest % 512,
        file_size_max_bytes=largest - largest % 512 + 512 if is_create and largest else 0,
        block_size_bytes=blocks[0],
        block_sizes=blocks,
        files=files,
        directories=draw(DIRECTORIES) if is_placed else Directories(Layout.PER_THREAD),
        data=data,
        zero_share=share,
        direct=is_create and draw(st.booleans()),
        ftruncate=is_create and draw(st.booleans()),
        operation_bytes=draw(st.sampled_from([0, 4096, 3 * 2**30])) if is_mix else 0,
        picks_all=bool(is_mix and WorkloadKind.DELETE not in dict(weights) and draw(st.booleans())),
        **(draw(SYNCS) if is_create else {}),
        weights=weights,
        cold=draw(st.booleans()),
        settings=draw(OWN_SETTINGS),
        **ends,
    )
    limited = draw(st.sets(st.sampled_from(sorted(columns_of(load))), max_size=2))
    said = draw(st.sampled_from(["<=", ">="]))
    return replace(
        load, require=tuple(parse_requirement(one, f"{said} {EXAMPLES[one.unit]}") for one in sorted(limited))
    )


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Workload, ...]:
    """A create, or two, with one workload that names the one whose files it works on."""
    first, second = (draw(one_workload([WorkloadKind.CREATE])) for _ in range(2))
    follower = draw(
        one_workload([kind for kind in WorkloadKind if kind not in (WorkloadKind.CREATE, WorkloadKind.FFSB)])
    )
    built_in = follower.kind in BUILT_IN
    named = replace(follower, of=draw(st.sampled_from(["", first.name, second.name])) if built_in else "")
    return draw(st.sampled_from([(first,), (first, second), (first, second, named)]))


SCALES = st.one_of(
    st.sampled_from([Scale(), Scale(ScaleKind.FIT)]),
    st.floats(min_value=1e-9, max_value=1).map(lambda factor: Scale(ScaleKind.FACTOR, factor)),
)
PLANS = st.builds(
    PlanFile,
    title=st.text(max_size=40),
    workloads=workloads(),
    checklists=st.lists(CHECKLISTS, max_size=2).map(tuple),
    variants=st.lists(VARIANTS, min_size=1, max_size=2).map(tuple),
    repeats=st.integers(1, kinds.MAX_REPEATS),
    primary=st.sampled_from([None, *Metric]),
    same=st.integers(1, 1000).map(lambda tenths: tenths / 10 / 100),
    control=st.booleans(),
    order=st.sampled_from(Order),
    seed=st.integers(0, kinds.MAX_SEED),
    scale=SCALES,
    equalise=st.sampled_from(Equalise),
    raw=st.booleans(),
    settings=st.lists(SETTINGS.map(lambda pair: (pair[0], (pair[1],))), max_size=2, unique_by=lambda pair: pair[0]).map(
        tuple
    ),
    arrays=st.lists(AXES, max_size=1).map(tuple),
    after=st.builds(After, st.booleans(), st.booleans(), st.sampled_from(DeleteWith), st.booleans()),
)


@given(PLANS)
def test_any_plan_reads_back_as_it_was_written(plan: PlanFile) -> None:
    assert parse(plan_to_toml(plan)) == plan


def test_plans_as_people_write_them_read_back_too() -> None:
    for plan in (parse(SMALLEST), parse(DESIGN), *map(read_plan, list_configs())):
        assert parse(plan_to_toml(plan)) == plan
