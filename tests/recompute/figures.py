"""Every figure of a run again, from its trace: what the writers called, what the device was asked, who used the CPUs."""

from __future__ import annotations

import bisect
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from tests.recompute.run import Json, Seen, Watched
from tests.recompute.tracing import Event

DATA = {
    "write": "write", "pwrite64": "random-write", "pwritev": "random-write", "pwritev2": "random-write",
    "read": "read", "readv": "read", "pread64": "random-read", "preadv": "random-read", "preadv2": "random-read",
}  # fmt: skip
READ = ("read", "readv", "pread64", "preadv", "preadv2")
STREAMED = ("pwrite64", "pwritev", "pwritev2", "pread64", "preadv", "preadv2")
SYNCS = ("fsync", "fdatasync")
LOADS = ("workload", "drain")
_SWAPPED = 2
"""MM_SWAPENTS (include/linux/mm_types_task.h): the one kind of page that is not resident."""
_AT_EMPTY_PATH = 0x1000


@dataclass(frozen=True, slots=True)
class Call:
    """A system call from its entry to its exit."""

    name: str
    begin_ns: int
    end_ns: int
    arguments: tuple[int | str, ...]
    result: int


@dataclass(slots=True)
class Timed:
    """Times of one kind of operation: within the calls, and from the call before to the call after."""

    inner_ns: list[int] = field(default_factory=list)
    outer_ns: list[int] = field(default_factory=list)


class Programs:
    """Who started whom, what they executed, when they ended, and what each thread called."""

    def __init__(self, events: list[Event]) -> None:
        self.parent: dict[int, tuple[int, int]] = {}
        self.executed: dict[int, list[tuple[int, str]]] = {}
        self.ended: dict[int, int] = {}
        self.calls: dict[int, list[Call]] = defaultdict(list)
        self.peak_rss: dict[int, int] = defaultdict(int)
        self.children: dict[int, list[int]] = defaultdict(list)
        begun: dict[int, Event] = {}
        resident: dict[int, dict[int, int]] = defaultdict(dict)
        for event in events:
            if event.name == "rss_stat":
                member, size = map(int, event.fields)
                if member != _SWAPPED:
                    resident[event.thread][member] = size
                    self.peak_rss[event.thread] = max(self.peak_rss[event.thread], sum(resident[event.thread].values()))
            elif event.name == "sched_process_fork":
                parent, child = map(int, event.fields)
                self.parent[child] = (parent, event.ns)
                self.children[parent].append(child)
            elif event.name == "sched_process_exec":
                self.executed.setdefault(event.thread, []).append((event.ns, str(event.fields[0])))
                resident[event.thread].clear()
                self.peak_rss[event.thread] = 0
            elif event.name == "sched_process_exit":
                self.ended[event.thread] = event.ns
            elif event.name.startswith("sys_enter_"):
                begun[event.thread] = event
            elif (entry := begun.pop(event.thread, None)) and entry.name[10:] == event.name[9:]:
                name, result = entry.name[10:], int(event.fields[0])
                self.calls[event.thread].append(Call(name, entry.ns, event.ns, entry.fields, result))
        (self.engine,) = {self._owner(pid) for pid, all_of in self.executed.items() if _is(all_of, "bwrap")}
        self.engine_threads = frozenset(self._threads(self.engine))
        self.viewer_threads = frozenset(self._threads(events[0].thread))

    def _owner(self, pid: int) -> int:
        pid = self.parent[pid][0]
        while pid not in self.executed:
            pid = self.parent[pid][0]
        return pid

    def _threads(self, pid: int) -> Iterator[int]:
        yield pid
        for child in self.children[pid]:
            if child not in self.executed:
                yield from self._threads(child)

    def tree(self, pid: int) -> Iterator[int]:
        """Yield a process, its threads and all below it."""
        yield pid
        for child in self.children[pid]:
            yield from self.tree(child)

    def started_by_engine(self, step: Json) -> list[int]:
        """Return what the engine started in a step, in order."""
        begin, end = span_of(step)
        found = [pid for thread in self.engine_threads for pid in self.children[thread] if pid in self.executed]
        return sorted(
            (pid for pid in found if begin <= self.parent[pid][1] <= end), key=lambda pid: self.parent[pid][1]
        )

    def engine_calls(self, names: Iterable[str], begin_ns: int, end_ns: int) -> list[Call]:
        found = (call for thread in self.engine_threads for call in self.calls[thread] if call.name in names)
        return sorted(
            (c for c in found if begin_ns <= c.begin_ns and c.end_ns <= end_ns), key=lambda call: call.begin_ns
        )


def _is(executed: list[tuple[int, str]], *names: str) -> bool:
    return any(os.path.basename(path).startswith(name) for _, path in executed for name in names)


_PASS_NS = 20_000_000


def span_of(step: Json) -> tuple[int, int]:
    """Return when a step began, and when the next one did, or it ended where it is the last."""
    begin = step["started_monotonic_ns"]
    return begin, step.get("until_ns", begin + round(step["elapsed_s"] * 1e9))


class Cpu:
    """CPU time of every thread of the machine, in nanoseconds."""

    def __init__(self, events: list[Event]) -> None:
        self.of: dict[int, tuple[list[int], list[int]]] = {}
        stretches: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for event in events:
            pid, runtime = event.fields
            stretches[int(pid)].append((event.ns, int(runtime)))
        for pid, both in stretches.items():
            self.of[pid] = ([ns for ns, _ in both], [0, *accumulate(runtime for _, runtime in both)])

    def between(self, pid: int, begin_ns: int, end_ns: int) -> float:
        if pid not in self.of:
            return 0.0
        ends, total = self.of[pid]
        first, last = bisect.bisect_right(ends, begin_ns), bisect.bisect_right(ends, end_ns)
        used = total[last] - total[first]
        if first < last:  # the first stretch may have begun before
            used -= max(0, total[first + 1] - total[first] - (ends[first] - begin_ns))
        if last < len(ends):  # one may have ended after
            used += max(0, total[last + 1] - total[last] - (ends[last] - end_ns))
        return used / 1e9

    def sum(self, pids: Iterable[int], begin_ns: int, end_ns: int) -> float:
        return sum(self.between(pid, begin_ns, end_ns) for pid in pids)


@dataclass(slots=True)
class Writer:
    """One thread of a generator, from its release on."""

    start_ns: int
    gone_ns: int
    """When its thread ended."""
    end_ns: int = 0
    written: int = 0
    read: int = 0
    files: int = 0
    timed: dict[str, Timed] = field(default_factory=lambda: defaultdict(Timed))
    _flags: int = 0
    """Of the file that is open."""
    _moved: str = ""
    """The kind of the call before this one, where it moved data."""
    _only_synced: bool = False
    """The file that is open was opened for the sync at the end."""

    def take(self, call: Call, before_ns: int, after_ns: int) -> None:
        """Count a call; before_ns is the end of the one before, after_ns the beginning of the next."""
        moved, self._moved, self.end_ns = self._moved, "", call.end_ns
        if call.name == "openat":
            self._flags, self._only_synced = int(call.arguments[2]), False
        elif call.name == "close":
            self.files += not self._only_synced
        elif call.name in SYNCS:
            if moved:
                # An operation lasts to the end of its sync.
                self.timed[moved].inner_ns[-1] += call.end_ns - before_ns
                self.timed[moved].outer_ns[-1] += after_ns - call.begin_ns
            self._only_synced |= not self._flags & os.O_ACCMODE
        elif call.name in DATA and call.result > 0:
            self._moved = self._kind(call)
            if call.name in READ:
                self.read += call.result
            else:
                self.written += call.result
        kind = self._kind(call)
        if kind:
            self.timed[kind].inner_ns.append(call.end_ns - call.begin_ns)
            self.timed[kind].outer_ns.append(after_ns - before_ns)
            self.files += kind in ("stat", "delete")

    def _kind(self, call: Call) -> str:
        if call.name in DATA:
            kind = DATA[call.name] if call.result > 0 else ""
            return "append" if kind == "write" and self._flags & os.O_APPEND else kind
        if call.name == "openat":
            return "create" if self._flags & os.O_CREAT else ""
        if call.name == "newfstatat" and int(call.arguments[3]) & _AT_EMPTY_PATH:
            return ""
        return {"newfstatat": "stat", "unlinkat": "delete", "fsync": "fsync", "fdatasync": "fsync"}.get(call.name, "")


def writer_of(calls: list[Call], gone_ns: int) -> Writer | None:
    """Return what a thread did after it was released: it tells that it is ready, one byte, and reads until it may go."""
    released = [
        number
        for number, (told, read) in enumerate(pairwise(calls))
        if (told.name, told.arguments[2:3], read.name, read.arguments[2:3]) == ("write", (1,), "read", (1,))
    ]
    if not released:
        return None
    own = calls[released[-1] + 1 :]
    writer = Writer(own[0].end_ns, gone_ns)
    for (before, call), after_ns in zip(pairwise(own), [*(call.begin_ns for call in own[2:]), gone_ns], strict=True):
        writer.take(call, before.end_ns, after_ns)
    return writer


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a step; high is more than value where the trace gives bounds."""

    value: float
    high: float = math.nan

    def rate(self, amount: float) -> Figure:
        """Return how much this is in each of these seconds."""
        return Figure(amount / self.value, amount / self.high)


def rank(values: list[int], percent: float) -> int:
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def times(prefix: str, timed: Timed) -> dict[str, Figure]:
    """Return the number of calls, and mean, percentiles and maximum in ms, each with its upper bound."""
    inner, outer = timed.inner_ns, timed.outer_ns
    found = {f"{prefix}_count": Figure(len(inner))}
    found |= {f"{prefix}_mean": Figure(sum(inner) / len(inner) / 1e6, sum(outer) / len(outer) / 1e6)}
    for percent in (50, 95, 99):
        found[f"{prefix}_p{percent}"] = Figure(rank(inner, percent) / 1e6, rank(outer, percent) / 1e6)
    found[f"{prefix}_max"] = Figure(max(inner) / 1e6, max(outer) / 1e6)
    return found


@dataclass(slots=True)
class Load:
    """A load with its writers, and the instants that its figures lie between."""

    writers: list[Writer]
    tree: list[int]
    """All threads of the generator."""
    workers: list[int]
    """Those of the processes that have writers."""
    begin_ns: int
    """The host had the word to release them."""
    start_ns: int
    last_ns: int
    told_ns: int
    """The host told that all had ended: CPU figures of a load without a drain end there."""

    def done(self, which: Callable[[Iterable[int]], int]) -> Figure:
        """Return when the first or the last writer was done, in seconds: between its last call and its thread's end."""
        ends = (which(one.end_ns for one in self.writers), which(one.gone_ns for one in self.writers))
        return Figure(*((end - self.start_ns) / 1e9 for end in ends))


class Recomputed:
    """All figures of a run, by cell and step."""

    def __init__(self, run: Watched) -> None:
        self.run, self.programs = run, Programs(run.programs)
        self.cpu = Cpu([event for event in run.machine if event.name == "sched_stat_runtime"])
        self.requests = [event for event in run.machine if event.name == "block_rq_complete"]
        self.issued = [event for event in run.machine if event.name == "block_rq_issue"]
        self._reported = 0
        for cell in run.export["cells"]:
            for step, following in pairwise(cell["steps"]):
                step["until_ns"] = following["started_monotonic_ns"]

    def device(self, begin_ns: int, end_ns: int) -> dict[str, int]:
        """Return what the device was asked for and has done between two instants."""
        done = {"reads": 0, "read_bytes": 0, "writes": 0, "write_bytes": 0, "flushes": 0, "discarded": 0}
        for event in self.requests:
            if begin_ns <= event.ns <= end_ns:
                sectors, flags = int(event.fields[1]), str(event.fields[3])
                # WRITE_ZEROES (N) counts as a write, also where the device refuses it and zeros are written instead; so does a
                # flush that was asked for by a write of nothing. Requests with a flush and data end twice, at last with no data.
                kind = {"F": "flushe", "R": "read", "W": "write", "N": "write"}.get(flags[:1], "")
                if kind and (sectors or kind == "flushe" or not int(event.fields[0])):
                    done[f"{kind}s"] += 1
                if sectors and kind:
                    done[f"{kind}_bytes"] += 512 * sectors
        return done

    def command(self, step: Json, number: int = 0) -> tuple[int, int, float]:
        """Return a step's command: its start, its end, and the CPU seconds of all its processes."""
        pid = self._process(step, number)
        begin, end = self.programs.parent[pid][1], self.programs.ended[pid]
        return begin, end, self.cpu.sum(self.programs.tree(pid), begin, end)

    def _process(self, step: Json, number: int = 0) -> int:
        argv = step["commands"][number]["argv"]
        found = [pid for pid in self.programs.started_by_engine(step) if _is(self.programs.executed[pid], argv[0])]
        nth = sum(command["argv"][0] == argv[0] for command in step["commands"][:number])
        return found[nth]

    def load(self, step: Json) -> Load:
        tree = [pid for root in self.programs.started_by_engine(step) for pid in self.programs.tree(root)]
        writers = {
            pid: writer
            for pid in tree
            if (writer := writer_of(self.programs.calls[pid], self.programs.ended.get(pid, 0)))
        }
        start = min(writer.start_ns for writer in writers.values())
        told = (c.end_ns for pid in tree if pid not in writers for c in self.programs.calls[pid] if c.name == "read")
        begin = max(ns for ns in told if ns < start)
        workers = {self.programs.parent[pid][0] for pid in writers} | set(writers)
        last = max(writer.end_ns for writer in writers.values())
        said = (c.end_ns for pid in tree if pid not in workers for c in self.programs.calls[pid] if c.name == "write")
        return Load(list(writers.values()), tree, sorted(workers), begin, start, last, max((last, *said)))

    def workload(self, step: Json, drain: Json | None) -> dict[str, Figure]:
        """Return all figures of a load and of the drain after it."""
        load, end_ns = self.load(step), 0
        written, read = (sum(getattr(one, name) for one in load.writers) for name in ("written", "read"))
        timed: dict[str, Timed] = defaultdict(Timed)
        for writer in load.writers:
            for kind, more in writer.timed.items():
                timed[kind].inner_ns += more.inner_ns
                timed[kind].outer_ns += more.outer_ns
        last, figures = load.done(max), {}
        if drain is not None:
            begin, end = span_of(drain)
            synced = self.programs.engine_calls(["syncfs"], begin, end)[0]
            end_ns = self.programs.engine_calls(SYNCS, synced.end_ns, end)[0].end_ns
            figures["drain"] = Figure((end_ns - synced.begin_ns) / 1e9)
            figures["real_drained"] = Figure((end_ns - load.start_ns) / 1e9)
            if written:
                figures["durable"] = Figure(written / ((end_ns - load.start_ns) / 1e9))
        figures |= {
            "first_done": load.done(min),
            "last_done": last,
            "real": last,
            "write_time": last,
            "read_time": last,
        }
        figures |= {
            "written": Figure(written),
            "write": last.rate(written),
            "read_bytes": Figure(read),
            "read": last.rate(read),
        }
        figures["files_per_s"] = last.rate(sum(one.files for one in load.writers))
        counted = {kind: len(one.inner_ns) for kind, one in timed.items()}
        figures["ops_per_s"] = last.rate(sum(counted.values()) - counted.get("create", 0) - counted.get("fsync", 0))
        for kind, one in timed.items():
            name = kind.replace("-", "_")
            if kind == "fsync" or ": mix " in step["title"]:
                figures |= times(name, one) | {f"{name}_ops_per_s": last.rate(counted[kind])}
            elif kind != "create":
                figures |= times("latency", one)
                over = {f"over_{s}_s": sum(ns > s * 1e9 for ns in one.inner_ns) for s in (2, 10)}
                figures |= {name: Figure(100 * slow / counted[kind]) for name, slow in over.items()}
        end_ns = end_ns or load.told_ns
        return figures | self._cpu(load, end_ns, written + read) | self._device(step, load, end_ns, written)

    def _cpu(self, load: Load, end_ns: int, moved: int) -> dict[str, Figure]:
        """Return who used the CPUs between the release of the writers and the end of the drain."""
        span = (load.begin_ns, end_ns)
        busy_s, interrupts_s, available_s = self.run.gauge.busy(*span)
        by = {
            "cpu_by_generator": self.cpu.sum(load.workers, *span),
            "cpu_by_kernel": self.cpu.sum(self.run.gauge.kernel_threads, *span),
            "observer": self.cpu.sum(self.programs.engine_threads | self.programs.viewer_threads, *span),
        }
        # What starts the workers and waits for them is the engine's, and none of the four.
        around_s = self.cpu.sum(set(load.tree) - set(load.workers), *span)
        others_s = self.cpu.sum(self.cpu.of, *span) - sum(by.values()) - around_s
        by["cpu_by_kernel"] += interrupts_s
        load_s = by["cpu_by_generator"]
        by["cpu"] = busy_s = max(busy_s, sum(by.values()))
        available_s = max(available_s, busy_s)
        figures = {name: Figure(100 * used_s / available_s) for name, used_s in by.items()}
        # The scheduler charges an interrupt to whom it hits.
        others = (others_s - interrupts_s, others_s)
        figures["cpu_by_others"] = Figure(*(100 * used_s / available_s for used_s in others))
        figures["load CPU"] = Figure(load_s)
        since_start_s = (end_ns - load.start_ns) / 1e9
        figures["cpu_generator"] = Figure(100 * self.cpu.sum(load.workers, load.start_ns, end_ns) / since_start_s)
        if moved:
            figures["cpu_per_gib"] = Figure(busy_s / (moved / 2**30))
            figures["generator_per_gib"] = Figure(by["cpu_by_generator"] / (moved / 2**30))
        reported = self.run.gauge.reported(load.last_ns)
        figures["memory_reported"] = Figure(reported - self._reported)
        self._reported = reported
        figures["peak_dirty"] = Figure(*self.run.gauge.dirty(load.begin_ns, load.last_ns))
        return figures

    def _device(self, step: Json, load: Load, end_ns: int, written: int) -> dict[str, Figure]:
        # The engine looks at the counters after a pass over /proc; xfs frees inodes on its own meanwhile.
        figures, later = (self._traffic(load.begin_ns, end) for end in (end_ns, end_ns + _PASS_NS))
        figures = {name: Figure(one.value, later[name].value) for name, one in figures.items()}
        foreign = self.run.gauge.foreign(load.begin_ns, end_ns)
        if ": create " in step["title"] and written >= 2**20 * sum(one.files for one in load.writers):
            foreign += figures["device_read"].value
        figures["foreign_io"] = Figure(foreign)
        if written:
            figures["write_amplification"] = Figure(figures["device_written"].value / written)
        wrote = [load.begin_ns, *(e.ns for e in self.requests if load.begin_ns <= e.ns <= load.last_ns), load.last_ns]
        pauses = [(after - before) / 1e9 for before, after in pairwise(wrote)]
        # Stalls are told in intervals of half a second, the first from the load's start: at most what the device was still for.
        figures["stalls"] = Figure(0.0, pauses[0] + sum(pause for pause in pauses[1:] if pause > 0.5))
        return figures

    def _traffic(self, begin_ns: int, end_ns: int) -> dict[str, Figure]:
        asked = self.device(begin_ns, end_ns)
        figures = {f"device_{name}": Figure(asked[name]) for name in ("reads", "writes", "flushes", "discarded")}
        return figures | {"device_read": Figure(asked["read_bytes"]), "device_written": Figure(asked["write_bytes"])}

    def pilot(self, step: Json) -> dict[str, Figure]:
        """Return the rates of a pilot's streams, whose commands name direction and depth."""
        figures = {}
        # The proof before each write starts programs of its own.
        started = self.programs.started_by_engine(step)
        roots = [root for root in started if any(map(self._streamed, self.programs.tree(root)))]
        for root, command in zip(roots, step["commands"], strict=True):
            words = command["argv"]
            act = "write" if "write" in words else "read"
            figures[f"raw_pilot_{act}_{words[words.index('--depth') + 1]}"] = self.raw(step, [root])["durable"]
        return figures

    def _streamed(self, pid: int) -> list[Call]:
        return [c for c in self.programs.calls.get(pid, ()) if c.name in STREAMED and c.result >= 2**16]

    def raw(self, step: Json, roots: list[int]) -> dict[str, Figure]:
        """Return the figures of streams on the device itself, by the names that the step has them by."""
        tree = [pid for root in roots for pid in self.programs.tree(root)]
        streams = [calls for calls in map(self._streamed, tree) if calls]
        begin, moved = (
            min(calls[0].begin_ns for calls in streams),
            sum(call.result for calls in streams for call in calls),
        )
        ends = [calls[-1].end_ns for calls in streams]
        synced = [
            c.end_ns for pid in tree for c in self.programs.calls[pid] if c.name in SYNCS and c.begin_ns > max(ends)
        ]
        flushed = max((*ends, *synced))
        found = {
            "first_done": (min(ends) - begin) / 1e9, "last_done": (max(ends) - begin) / 1e9, "drain": (flushed - max(ends)) / 1e9,
            "written": moved, "read_bytes": moved, "write": moved / (max(ends) - begin) * 1e9,
        }  # fmt: skip
        found |= dict.fromkeys(("write_time", "read_time"), found["last_done"])
        rate = moved / (flushed - begin) * 1e9
        found |= {one["metric"]: rate for one in step["measurements"] if one["metric"].startswith("raw_")}
        found |= {"durable": rate, "read": rate}
        return {name: Figure(value) for name, value in found.items()}

    def readtest(self, step: Json) -> dict[str, Figure]:
        """Return the rate of the buffered reads of a child, from the first to the last."""
        tree = [pid for root in self.programs.started_by_engine(step) for pid in self.programs.tree(root)]
        reads = [c for pid in tree for c in self.programs.calls[pid] if c.name in READ and c.result >= 2**20]
        return (
            {"readtest": Figure(sum(c.result for c in reads) / (reads[-1].end_ns - reads[0].begin_ns) * 1e9)}
            if reads
            else {}
        )

    def life(
        self, cell: Json, free: dict[str, tuple[int, int]], size_bytes: int
    ) -> Iterator[tuple[Json, dict[str, Figure]]]:
        """Yield the steps of a cell, each with its figures again."""
        seen = self._seen(cell)
        names = {
            "mkfs": "mkfs", "mount": "mount", "check": "check", "check-empty": "check_empty", "cold-mount": "mount_filled",
            "delete": "delete", "remount": "unmount",
        }  # fmt: skip
        deleting = 0
        for number, step in enumerate(cell["steps"]):
            figures: dict[str, Figure] = {}
            kind = step["kind"]
            if kind in names and step["commands"]:
                begin, end, cpu_s = self.command(step)
                figures[names[kind]] = Figure((end - begin) / 1e9)
                figures[f"{names[kind]} CPU"] = Figure(cpu_s)
                if kind in ("check", "check-empty"):
                    figures[f"{names[kind]}_rss"] = Figure(self.programs.peak_rss[self._process(step)])
                deleting = begin if kind == "delete" else deleting
            if kind in ("raw-write", "raw-read"):
                figures = self.raw(step, self.programs.started_by_engine(step))
            elif kind == "raw-pilot":
                figures = self.pilot(step)
            elif kind == "readtest":
                figures = self.readtest(step)
            elif kind == "mount":
                usable, available = free[cell["variant"]]
                figures |= {"usable": Figure(usable), "available": Figure(available)}
                figures["overhead"] = Figure(100 * (1 - usable / size_bytes))
            elif kind == "workload":
                follows = cell["steps"][number + 1]
                figures = self.workload(step, follows if follows["kind"] == "drain" else None)
            elif kind == "extents" and seen:
                name = step["title"].rpartition(" of ")[2]
                figures = {name: Figure(value) for name, value in seen.extents.get(name, {}).items()}
            elif kind == "unmount" and seen:
                figures["used"] = Figure(free[cell["variant"]][0] - seen.free_bytes)
                figures["inodes"] = Figure(seen.used_inodes)
            elif kind == "delete-unmount":
                unmounted = self.command(step)[1]
                flushed = self.programs.engine_calls(SYNCS, unmounted, span_of(step)[1])
                figures["delete_durable"] = Figure((flushed[0].end_ns - deleting) / 1e9)
            if kind not in LOADS:
                # What came right after the step may have come before its end was noted.
                begin, until = span_of(step)
                least, most = (self._traffic(begin, end) for end in (begin + round(step["elapsed_s"] * 1e9), until))
                figures |= {name: Figure(most[name].value, one.value) for name, one in least.items()}
            yield step, figures

    def _seen(self, cell: Json) -> Seen | None:
        spans = [span_of(step) for step in cell["steps"] if step["kind"] == "extents"]
        return next((seen for seen in self.run.seen if spans and spans[0][0] <= seen.ns <= spans[-1][1] + 10**9), None)
