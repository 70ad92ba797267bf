"""The numbers of every shipped plan against what its study or recipe says: written by hand, with where it is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsconsole.model.plan import Keep
from fsconsole.model.workload import (
    AS_CREATE,
    Directories,
    End,
    Generator,
    Layout,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.publications import find_publication
from fsconsole.plan.read import find_config, list_configs, read_plan


def size(count: int) -> str:
    """Return a size in the largest unit that has it whole."""
    units = {"GiB": 2**30, "GB": 10**9, "MiB": 2**20, "MB": 10**6, "KiB": 2**10, "KB": 10**3}
    return next((f"{count // unit}{name}" for name, unit in units.items() if count and not count % unit), f"{count}B")


def sizes(load: Workload) -> str:
    if load.size_weights:
        return "/".join(f"{size(one)}*{weight}" for one, weight in load.size_weights)
    return size(load.file_size_bytes) + (
        f"..{size(load.file_size_max_bytes)}" if load.file_size_max_bytes > load.file_size_bytes else ""
    )


def directories(of: Directories) -> str:
    return f"dir={of.files_per_directory or of.layout.value}"


def in_words(load: Workload) -> str:
    """Return a load's numbers in one line: kind, threads x files of size / calls, then what else it says."""
    counts = load.thread_counts or (load.threads,)
    blocks = load.block_sizes or (load.block_size_bytes,)
    sync = {SyncAt.WRITES: str(load.fsync_every), SyncAt.EACH_FILE: "each-file", SyncAt.END: "end"}[load.sync_at]
    words = {
        f"by={load.generator.value}": load.generator is not Generator.BUILT_IN,
        f"t={'create' if counts == AS_CREATE else ','.join(map(str, counts))}": counts != (1,),
        f"n={load.files}": load.files,
        f"of={sizes(load)}": load.file_size_bytes or load.size_weights,
        f"total={size(load.total_size_bytes)}": load.total_size_bytes,
        f"b={','.join(map(size, blocks))}": load.is_built_in or load.generator is not Generator.BUILT_IN or load.limit_bytes,
        directories(load.directories): load.directories.layout is not Layout.ONE,
        f"from={load.of}": load.of,
        f"bytes={size(load.limit_bytes)}": load.limit_bytes,
        f"each={size(load.operation_bytes) if load.operation_bytes < 2**62 else 'all'}": load.operation_bytes,
        f"{load.duration_s:g}s": load.duration_s,
        "at-once": load.end is End.AT_ONCE,
        " ".join(f"{kind.value}*{weight}" for kind, weight in load.weights): load.weights,
        "all-files": load.picks_all,
        "direct": load.direct,
        "cold": load.cold,
        "ftruncate": load.ftruncate,
        f"sync={sync}": sync != "0",
        load.sync_call.value: load.sync_call is not SyncCall.FSYNC,
        f"data={load.zero_share or load.data.value}": load.data.value != "random",
        " ".join(load.argv[:2]): load.argv,
        load.copy_with: load.copy_with,
        ",".join(load.sources): load.sources,
        f"at-most={size(load.at_most_bytes)}": load.at_most_bytes,
        " ".join(f"{name}={value}" for name, value in load.settings): load.settings,
        "trace": load.trace,
        " ".join(f"{limit.column}{limit.said.replace(' ', '')}" for limit in load.require): load.require,
    }  # fmt: skip
    return " ".join((f"{load.name}: {load.kind.value}", *(word for word, is_said in words.items() if is_said)))


def of_the_plan(plan: PlanFile) -> str:
    """Return what a plan says beside its loads, in one line."""
    after = plan.after
    words = {
        f"x{plan.repeats}": True,
        f"keep={plan.keep.value}": plan.keep is not Keep.THREADS,
        f"ram={size(plan.published_memory_bytes)}": plan.published_memory_bytes,
        f"disk={size(plan.published_device_bytes)}": plan.published_device_bytes,
        f"equalise={plan.equalise.value}": plan.equalise.value != "discard",
        f"age={plan.age.words if plan.age is not None else ''}": plan.age is not None,
        "raw": plan.raw,
        " ".join(f"{name}={','.join(values)}" for name, values in plan.settings): plan.settings,
        "no-check": not after.check,
        "quick-check": after.quick_check,
        "crash": after.crash,
        f"delete={after.delete.value}": after.delete.value != "rm",
    }  # fmt: skip
    return " ".join(word for word, is_said in words.items() if is_said)


def variants(plan: PlanFile) -> str:
    """Return the words of every variant, and the axes of every checklist, in one line."""
    of = [" ".join(filter(None, (one.filesystem, one.mkfs, one.mount, one.tune))) for one in plan.variants]
    for one in plan.checklists:
        axes = (f"{name}={','.join(values)}" for name, values in (*one.mkfs, *one.mount))
        of.append(" ".join((one.filesystem, *axes)))
    return "; ".join(of)


TABLE = """
lowe-2009-shapes
# raidperf11, "simple data creation and deletion": dd bs=131072; 10,000 and 100,000 x 1 MiB, 10,000 x 10 MiB, 10 x 10 GiB
x3 keep=files
ext2; ext3 data=ordered; ext4 barrier=1; ext4 barrier=0; xfs; xfs nobarrier
create 1MiB x 10GB: create by=dd n=10000 of=1MiB b=128KiB dir=1000 data=zero
create 1MiB x 100GB: create by=dd n=100000 of=1MiB b=128KiB dir=1000 data=zero
delete 1MiB x 10GB: delete b=64KiB from=create 1MiB x 10GB cold
create 10MiB x 100GB: create by=dd n=10000 of=10MiB b=128KiB dir=1000 data=zero
delete 1MiB x 100GB: delete b=64KiB from=create 1MiB x 100GB cold
create 10GiB x 100GB: create by=dd n=10 of=10GiB b=128KiB dir=10 data=zero
cp -a 10MiB x 100GB: copy from=create 10MiB x 100GB cold -a --reflink=never
delete 10MiB x 100GB: delete b=64KiB from=create 10MiB x 100GB cold
delete 10GiB x 100GB: delete b=64KiB from=create 10GiB x 100GB cold
conv=fsync 10GiB x 100GB: create by=dd n=10 of=10GiB b=128KiB dir=10 sync=each-file data=zero

lowe-2009-mkfs
# raidperf11, "ext4 mkfs": -i 65536 (4m42s), 131072 (3m38s), ext3; stride 32, stripe width 320; tune2fs -c 0 -i 0 -r 102400; below -i: ours
x5 no-check delete=none
ext4 -E stride=32,stripe-width=320 -i 65536 -c 0 -i 0 -r 102400; ext4 -E stride=32,stripe-width=320 -i 131072 -c 0 -i 0 -r 102400;\
 ext3 -E stride=32,stripe-width=320 -i 65536 -c 0 -i 0 -r 102400; ext4 -I 128 -i 8192; xfs -d su=128k,sw=10;\
 ext4 inode_ratio=8192,16384,32768 stride=0,32 stripe_width=0,320
one file: create n=1 of=1MiB b=64KiB

lowe-2009-check
# raidperf11, "ext4 fsck recovery on a 10 TB file-system": 2 million files, 51 % full (2,550 KB each); -N 10 % above the files: ours
x3 keep=files disk=10000GB quick-check crash delete=none
ext4 -E stride=32,stripe-width=320 -N 2200000; ext3 -E stride=32,stripe-width=320 -N 2200000; xfs -d su=128k,sw=10
fill: create n=2000000 of=2550KB b=128KiB dir=1000

lowe-2009-check-6-million
# the same section: 6 million files, 25 % full (416 KB each)
x3 keep=files disk=10000GB quick-check crash delete=none
ext4 -E stride=32,stripe-width=320 -N 6600000; ext3 -E stride=32,stripe-width=320 -N 6600000; xfs -d su=128k,sw=10
fill: create n=6000000 of=416KB b=128KiB dir=1000

lowe-2009-readahead
# raidperf11, "Read-ahead settings": default 128 kB, best 4096 sectors (2 MiB); 8 GB by blocks of 32 kB; up to 16 MiB, each twice the last: ours
x5 read_ahead=128KiB,256KiB,512KiB,1MiB,2MiB,4MiB,8MiB,16MiB no-check
ext2; ext3 data=ordered; ext4; xfs
write: create n=1 of=8GiB b=32KiB
read: read b=32KiB cold

lowe-2009-bonnie
# raidperf11, "bonnie++": 8 GB at 2 GB of RAM, 256 x 1024 empty files in 256 directories, read-ahead 2 MiB and 128 kB, blocks of 32 kB and others
x3 keep=data-to-ram ram=2GiB read_ahead=2MiB,128KiB memory=2GiB no-check
ext2; ext3 data=ordered,barrier=1; ext3 data=ordered,barrier=0; ext4 barrier=1; ext4 barrier=0; xfs; xfs nobarrier
bonnie++: bonnie n=262144 b=8KiB,32KiB,128KiB dir=1024 bytes=8GiB

lowe-2009-bonnie-files
# the same section: "the default filesize of zero"; 4 KiB: ours
x3 no-check
ext2; ext3 data=ordered; ext4 barrier=1; ext4 barrier=0; xfs; xfs nobarrier
bonnie++: bonnie n=262144 dir=1024
files of 4 KiB: bonnie n=262144 of=4KiB dir=1024

chinner-2012-writeback
# the mail: 48 and 192 threads, 1 GiB; DirtyThresh 764400 kB, BackgroundThresh 382200 kB, ext4-nojournal, ext4, xfs; calls as in Bull's profile
x3 keep=file-size raw dirty_bytes=764400KiB dirty_background_bytes=382200KiB
ext4 -O ^has_journal; ext4; xfs
large file create: create t=48,192 of=1GiB b=64KiB trace
large file read: read t=create b=64KiB cold trace

chinner-2012-memory
# the mail: "4 GB of RAM", the forecast for more of it; 8 GiB dirty and 64 GiB: ours
x3 keep=file-size dirty_bytes=764400KiB,8GiB dirty_background_bytes=382200KiB memory=4GiB,64GiB no-check
ext4; xfs
large file create: create t=48 of=1GiB b=64KiB trace
large file read: read t=create b=64KiB cold trace

chinner-2012-aged
# the mail: "fragmentation ... over the life of the filesystem", 48 threads of the same load; 3 cycles to 70 %: ours
x3 keep=file-size age=3 cycles to 70 % dirty_bytes=764400KiB dirty_background_bytes=382200KiB
ext4; xfs
large file create: create t=48 of=1GiB b=64KiB trace
large file read: read t=create b=64KiB cold trace

cao-2005-tiobench
# OLS 2005, "Tiobench comparison": 1 to 64 threads, 4 GB, 1 GB of RAM; tiobench 0.4.2: 4000 random operations, blocks of 16 KiB
x5 keep=data-to-ram ram=1GiB memory=1GiB
ext3 data=writeback; ext4 -O ^64bit data=writeback,nomballoc; ext4 64bit=off extent=on,off data=writeback delalloc=on,off
sequential write: create t=1,2,4,8,16,32,64 total=4GiB b=16KiB ftruncate sync=end
random write: random-write t=create b=16KiB bytes=64000KiB at-once sync=end
sequential read: read t=create b=16KiB cold
random read: random-read t=create b=16KiB bytes=64000KiB at-once cold

cao-2005-tiobench-as-printed
# the same: "16348" bytes, as printed
x5 keep=data-to-ram ram=1GiB memory=1GiB
ext3 data=writeback; ext4 -O ^64bit data=writeback,nomballoc; ext4 64bit=off extent=on,off data=writeback delalloc=on,off
sequential write: create t=1,2,4,8,16,32,64 total=4GiB b=16348B ftruncate sync=end
random write: random-write t=create b=16348B bytes=65392KB at-once sync=end
sequential read: read t=create b=16348B cold
random read: random-read t=create b=16348B bytes=65392KB at-once cold

peiffer-2005-cp-rm
# Bull, 2005-04-11: phase 1, 100 times cp -r of /usr, "about 2GB of data"; dd if=/dev/zero before each
x100 equalise=zero no-check
ext4 -O ^64bit,^flex_bg,^metadata_csum,^uninit_bg nodelalloc; ext4 -O 64bit,^flex_bg,^metadata_csum,^uninit_bg nodelalloc; ext3
cp: copy -r /usr at-most=2GB

peiffer-2005-eight-directories
# the same, phases 2 and 3: eight directories, about 16 GB, to a disk of its own; 100 times: ours
x100 equalise=none no-check
ext4 -O ^64bit,^flex_bg,^metadata_csum,^uninit_bg nodelalloc; ext4 -O 64bit,^flex_bg,^metadata_csum,^uninit_bg nodelalloc; ext3
cp: copy -r /usr,/home,/boot,/lib,/bin,/etc,/sbin,/var at-most=16GB

bull-2008-large-write
# Bull, 2008-05: FFSB, 128 threads, files of 1 GiB, write_size 64 KiB (configs/ffsb/bull-2008.ffsb), hdparm -t; its rows: below
x5 raw
large files: create t=128 n=128 of=1GiB b=64KiB

ffsb-large-file-create
# configs/ffsb/large-file-create.ffsb: 1 GB, 64 KB, 300 s; 1, 48 and 192 threads as Chinner's and one
x5 keep=file-size
ext4; xfs; btrfs
large-file create: create t=1,48,192 of=1GiB b=64KiB 300s

ffsb-large-file-random-read
# FFSB 5.2.1, examples/profile_largefile_random_read: 100 files of 40 MB, reads of 40 MB in blocks of 4 KB
x5 keep=file-size
ext4; xfs; btrfs
large-file random read, file set: create n=100 of=40MiB b=4KiB
large-file random read: mix t=1,48,192 b=4KiB from=large-file random read, file set each=40MiB 300s random-read*1 all-files cold

ffsb-large-file-random-write
# the same with writes
x5 keep=file-size
ext4; xfs; btrfs
large-file random write, file set: create n=100 of=40MiB b=4KiB
large-file random write: mix t=1,48,192 b=4KiB from=large-file random write, file set each=40MiB 300s random-write*1 all-files

ffsb-large-file-sequential-read
# FFSB 5.2.1, examples/profile_largefile_sequential_read: whole files of 40 MB, blocks of 4 KB
x5 keep=file-size
ext4; xfs; btrfs
large-file sequential read, file set: create n=100 of=40MiB b=4KiB
large-file sequential read: mix t=1,48,192 b=4KiB from=large-file sequential read, file set each=all 300s read*1 all-files cold

ffsb-mail-server
# FFSB 5.2.1, old-profiles/prof_mailsrv_50: 100,000 files of 4 to 64 KB in 100 directories and their parent, 4 KB, 120 s; append, create, delete 2 : 2 : 1
x5 keep=file-size
ext4; xfs; btrfs
mail server, file set: create n=100000 of=4KiB..64KiB b=4KiB dir=991
mail server: mix t=1,48,192 of=4KiB..64KiB b=4KiB from=mail server, file set each=4KiB 120s append*2 create*2 delete*1

backup
# Proxmox Backup Server 2, "Technical Overview": chunks of 4 MiB, each a file; 1 Gbit/s is 118 MB/s; a tenth is read: ours
x5 keep=file-size
ext4; xfs; btrfs
store: create t=8 n=4096 of=4MiB b=4MiB dir=16 sync=each-file durable>=118MB/s
collect: stat t=8 b=64KiB cold
restore: read t=8 n=409 b=4MiB cold
prune: delete t=8 b=64KiB

containers
# Slacker, FAST 2016: 6.4 % of the data is read (768 of 12,000), a start within 25 s; sizes: ours
x5 keep=files
ext4; xfs; btrfs
image: create t=4 n=12000 of=4KiB..64KiB b=4KiB dir=60 data=0.5
layers: command tar -cf
unpack: command n=12200 cold tar -xf real_drained<=25s
start: read t=4 n=768 b=64KiB from=image cold

database
# Percona, 2018-02-08: pages of 16 KiB, O_DIRECT or the page cache, a batch of 1 to about 100 for each fsync; 7 : 3 and 16 threads: ours
x5
ext4; xfs; btrfs
tables: create t=4 of=1GiB b=64KiB sync=each-file
direct: mix t=16 b=16KiB 30s at-once random-read*7 random-write*3 direct cold sync=32 fsync_p99<=100ms
page cache: mix t=16 b=16KiB 30s at-once random-read*7 random-write*3 cold sync=32 fsync_p99<=100ms

file-server
# filebench 3.0, fileserver.f: 10,000 files of 128 KiB, 80 % made, directories of 20, 50 threads
x5 keep=files
ext4; xfs; btrfs
shares: create t=50 n=8000 of=128KiB b=128KiB dir=20 sync=end
users: mix t=50 of=128KiB b=128KiB dir=per-thread 60s create*1 append*1 read*1 delete*1 stat*1 create_p99<=100ms read_p99<=100ms

mail
# filebench 3.0, varmail.f: 1,000 files of 16 KiB, 80 % made, 16 threads; a delete, a create, an append, two reads
x5 keep=files
ext4; xfs; btrfs
spool: create t=16 n=800 of=16KiB b=16KiB sync=end
varmail: mix t=16 of=16KiB b=16KiB 60s delete*1 create*1 append*1 read*2 sync=each-file fsync_p99<=50ms

million-files
# Wheeler, 2010: a million files; 4 KiB, 5,000/s, inodes for a tenth more: ours
x5 keep=files
ext4 -N 1100000; xfs; btrfs
create: create t=4 n=1000000 of=4KiB b=4KiB dir=1000
stat: stat t=4 b=64KiB cold
delete: delete t=4 b=64KiB cold ops_per_s>=5000/s

small-files
# FAST 2007: half of the files 4 KB or less; 20,000 of 1 to 16 KiB, 100 in a directory (200 of those): ours
x5 keep=files
ext4; xfs; btrfs
tree: create t=4 n=20000 of=1KiB..16KiB b=1KiB dir=100 data=0.5
tar: command tar -cf
untar: command n=20200 cold tar -xf real_drained<=30s
git: command n=20600 sh -c
git clone: command n=40800 cold git clone

video
# filebench 3.0, videoserver.f: 10 GB, writes of 1 MiB, 48 readers of 256 KiB; Netflix: 48 x 25 Mb/s
x5 memory=1GiB
ext4; xfs; btrfs
record: create t=4 of=10GB b=1MiB
viewers: read t=48 n=48 b=256KiB 60s at-once cold read>=150MB/s

vm-images
# fio 3.33, examples/ssd-test.fio: 4 KiB, depths 4 and 32, 10 GB, O_DIRECT
x5
ext4; xfs; btrfs
images: create t=4 of=2560MiB b=1MiB sync=each-file
reads, depth 4: random-read t=4 b=4KiB 30s at-once direct latency_p99<=20ms
reads, depth 32: random-read t=32 b=4KiB 30s at-once direct latency_p99<=20ms
writes, depth 4: random-write t=4 b=4KiB 30s at-once direct latency_p99<=20ms
writes, depth 32: random-write t=32 b=4KiB 30s at-once direct latency_p99<=20ms

wal
# IBM, 2019-04-18: fio --fdatasync=1 --size=22m --bs=2300 (10,029 appends); etcd: 99 % below 10 ms
x5
ext4; xfs; btrfs
log: create of=23066700B b=2300B sync=1 fdatasync fsync_p99<=10ms

commands
# the plan's own words: Python's library; 2,000 transactions
x5
ext4; xfs; btrfs
tree: command python3 -c
pack: command tar -cf
untar: command tar -xf
bundle: command sh -ec
git clone: command git clone
compile: command sh -ec
sqlite: command python3 -c

commands-build
# the plan's own words: 1,000 C files in 50 directories
x5 no-check
ext4; xfs; btrfs
code: command python3 -c
make: command sh -c
make again: command cold make -s

demo
# docs/demo.md: five variants, 640 MiB directly, 3,000 small files synced by fours, 256 MiB each file synced
x5
ext4; ext4 nodelalloc; ext3; xfs; btrfs
direct streams: create t=16 of=40MiB b=256KiB direct
small files: create t=4 n=3000 of=8KiB b=8KiB dir=100 sync=4
buffered files: create t=16 n=128 of=2MiB b=64KiB sync=each-file

whatif-arrays
# the plan's own words: 8 GiB, overwrites of 4 KiB
x5
ext4; xfs
large files: create t=16 of=512MiB b=1MiB
small overwrites: random-write t=16 b=4KiB 30s at-once
read back: read t=16 b=64KiB cold
"""
"""Name, where it is said, what the plan says, its variants (but Bull's), its loads; lowe-2009-shapes-built-in below."""
SAID = {
    name: lines
    for block in TABLE.replace("\\\n", "").strip().split("\n\n")
    for name, _, *lines in (block.splitlines(),)
}
SAID["lowe-2009-shapes-built-in"] = [
    line.replace(" by=dd", "") for line in SAID["lowe-2009-shapes"] if "conv=" not in line
]


@pytest.mark.parametrize("path", list_configs(), ids=lambda path: path.stem)
def test_a_shipped_plan_has_the_numbers_that_its_study_or_recipe_says(path: Path) -> None:
    plan = read_plan(path)
    of = () if path.stem == "bull-2008-large-write" else (variants(plan),)
    assert [of_the_plan(plan), *of, *map(in_words, plan.workloads)] == SAID[path.stem]


@pytest.mark.parametrize("name", ["lowe-2009-shapes", "lowe-2009-shapes-built-in"])
def test_what_lowe_deletes_is_deleted_when_something_else_was_written_since_so_that_no_cache_holds_it(
    name: str,
) -> None:
    loads = read_plan(find_config(name)).workloads
    names = [load.name for load in loads]
    deletes = [number for number, load in enumerate(loads) if load.kind is WorkloadKind.DELETE]
    assert len(deletes) == 4
    for number in deletes:
        between = loads[names.index(loads[number].of) + 1 : number]
        assert {load.kind for load in between} & {WorkloadKind.CREATE, WorkloadKind.COPY}, loads[number].name


def test_bulls_plan_has_every_row_that_he_printed_in_its_own_words_and_with_the_features_of_2008() -> None:
    plan = read_plan(find_config("bull-2008-large-write"))
    assert {one.as_printed for one in plan.variants} == {row.as_printed for row in find_publication("bull-2008").rows}
    for one in plan.variants:
        if one.label.startswith("ext4 as in 2008"):
            assert {"^metadata_csum", "^64bit"} <= set(re.split("[ ,]", one.mkfs)), one.label
            assert one.as_printed.endswith(one.mount)
        else:
            assert " ".join(filter(None, (one.filesystem, one.mkfs, one.mount))) == one.as_printed == one.label
