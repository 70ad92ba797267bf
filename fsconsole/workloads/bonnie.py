"""bonnie++: its command line, and its csv from 1.03 to 2.00."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.bonnie import IN_KIB, BonnieTest
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import BONNIE_RATES, Metric
from fsconsole.model.workload import Layout, Workload
from fsconsole.system.files import memory_bytes
from fsconsole.text import KIB
from fsconsole.workloads.protocol import ProgramFigures
from fsconsole.workloads.tree import SourceFiles

MACHINE = "fsconsole"
"""bonnie++ prints it in its csv; the machine's own name is in the journal."""
FILES_UNIT = 1024
"""Files are counted in this many (man 8 bonnie++, -n)."""
_MIB = KIB * KIB
_MOST_SEED = 2**31

_OLD_FIELDS = 27
"""Version 1.03: name, size, six pairs, files, six pairs."""
_NEW_FIELDS = (47, 48, 50)
"""Format 1.96 without the data test lacks one comma; 1.98 added the number of seeks and of processes that seek."""
_NEW_FORMAT = re.compile(r"(1\.9\d|[2-9]\.\d+)[a-z]?")
_HEADER = "format_version,"
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,6})?")
_LATENCY = re.compile(r"(\d{1,12})(us|ms|s)")
_MS_OF = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_TOO_QUICK = re.compile(r"\+{3,5}")


@dataclass(frozen=True, slots=True)
class BonnieResult:
    """Result of one test: rate in bytes, seeks or files a second; None where it was too quick (under 500 ms) to tell."""

    test: BonnieTest
    rate: float | None
    cpu_percent: float | None
    latency_ms: float | None = None
    """Absent before version 1.90."""


@dataclass(frozen=True, slots=True)
class BonnieReport:
    """One line of csv; tests that were not done are absent."""

    machine: str
    size: str
    """As printed, with the block size where it is printed: "8G:32k"; empty without the data test."""
    files: str
    """As printed: "16", "256/256"; empty without the test of files."""
    results: tuple[BonnieResult, ...]


def command_of(  # noqa: PLR0913 (each is an option of its own)
    directory: str,
    *,
    data_bytes: int,
    block_bytes: int,
    files: int,
    file_sizes: tuple[int, int],
    directories: int,
    copies: int,
    memory_bytes: int,
    seed: int,
    is_direct: bool = False,
    syncs_each_write: bool = False,
) -> tuple[str, ...]:
    """Return the command; data_bytes in whole MiB and files in units of 1024 (0: that part is skipped).

    bonnie++ refuses less data than twice the RAM, and more files than half of that would hold: -r 0 turns both checks
    off. As root it runs only if told so; without root it takes no other user than its own. With O_DIRECT it can't write
    single bytes, so that part is left out.
    """
    smallest, largest = file_sizes
    size = f"{data_bytes // _MIB}:{block_bytes}" if data_bytes else "0"
    number = f"{files // FILES_UNIT}:{largest}:{smallest}:{directories}" if files else "0"
    told = ("-r", "0") if data_bytes < 2 * memory_bytes else ()
    return (
        "bonnie++", "-q", "-u", f"{os.geteuid()}:{os.getegid()}", "-m", MACHINE, "-d", directory, "-s", size, "-n", number, "-c", str(copies),
        "-z", str(seed % _MOST_SEED), *told, *(("-D", "-f") if is_direct else ()), *(("-b",) if syncs_each_write else ()),
    )  # fmt: skip


def argvs(workload: Workload, directory: str, _source: SourceFiles | None) -> tuple[tuple[str, ...], ...]:
    """Return the command of a load: bytes of data, and files of file_size in directories of so many each."""
    each = workload.directories.files_per_directory if workload.directories.layout is Layout.PER_COUNT else 0
    command = command_of(
        directory,
        data_bytes=workload.limit_bytes or (0 if workload.files else 2 * memory_bytes()),
        block_bytes=workload.block_size_bytes,
        files=workload.files,
        file_sizes=(workload.file_size_bytes, workload.largest_file_bytes),
        directories=-(-workload.files // each) if each else 1,
        copies=workload.threads,
        memory_bytes=memory_bytes(),
        seed=workload.seed,
        is_direct=workload.direct,
        syncs_each_write=workload.fsync_every == 1,
    )
    return (command,)


def figures(_workload: Workload, out: str, _err: str) -> ProgramFigures:
    """Return what bonnie++ told; it removes its files itself."""
    return ProgramFigures(measurements=measurements(parse(out)))


def parse(output: str) -> BonnieReport:
    """Return the report in bonnie++'s standard output: its last line of csv. Raises GeneratorFailed where there is none."""
    lines = [line.strip() for line in output.splitlines()]
    reports = [line for line in lines if line.count(",") >= _OLD_FIELDS - 1 and not line.startswith(_HEADER)]
    if not reports:
        raise GeneratorFailed("bonnie++ printed no line of csv")
    fields = reports[-1].split(",")
    if _NEW_FORMAT.fullmatch(fields[0]) and len(fields) in _NEW_FIELDS:
        return _new(fields)
    if len(fields) == _OLD_FIELDS:
        return _old(fields)
    raise GeneratorFailed(f"bonnie++ printed csv of {len(fields)} fields, which no known version does")


def measurements(report: BonnieReport) -> tuple[Measurement, ...]:
    """Return the figures of a report; a test that was too quick has its latency alone."""
    figures = []
    for result in report.results:
        name = f"bonnie_{result.test.value}"
        if result.rate is not None:
            figures.append(Measurement(BONNIE_RATES[result.test], result.rate))
        if result.cpu_percent is not None:
            figures.append(Measurement(Metric(f"{name}_cpu"), result.cpu_percent))
        if result.latency_ms is not None:
            figures.append(Measurement(Metric(f"{name}_latency"), result.latency_ms))
    return tuple(figures)


def too_quick(report: BonnieReport) -> tuple[BonnieTest, ...]:
    """Return the tests that bonnie++ printed as +++++."""
    return tuple(result.test for result in report.results if result.rate is None)


def _old(fields: list[str]) -> BonnieReport:
    """Return a line of version 1.03."""
    pairs = [*fields[2:14], *fields[15:27]]
    return BonnieReport(fields[0], fields[1], fields[14], _results(pairs, [""] * len(BonnieTest)))


def _new(fields: list[str]) -> BonnieReport:
    """Return a line of version 1.90 or later, counted from its end: the beginning differs between versions.

    The size's own field may be one of three: 1.96 leaves it out, where there was no data test.
    """
    head, data, about_files, files, latencies = (
        fields[:-41],
        fields[-41:-29],
        fields[-29:-24],
        fields[-24:-12],
        fields[-12:],
    )
    sizes = [word for word in head[5:7] if word]
    what = ":".join(filter(None, about_files[:3]))
    return BonnieReport(head[2], ":".join(sizes), what, _results([*data, *files], latencies))


def _results(pairs: list[str], latencies: list[str]) -> tuple[BonnieResult, ...]:
    """Return the tests that were done."""
    results = []
    for number, (test, latency) in enumerate(zip(BonnieTest, latencies, strict=True)):
        rate, cpu = pairs[2 * number : 2 * number + 2]
        if not rate and not cpu:
            continue
        value = _number(rate, test)
        if value is not None and test in IN_KIB:
            value *= KIB
        results.append(BonnieResult(test, value, _number(cpu, test), _latency(latency, test)))
    return tuple(results)


def _number(text: str, test: BonnieTest) -> float | None:
    if _TOO_QUICK.fullmatch(text):
        return None
    if not _NUMBER.fullmatch(text):
        raise GeneratorFailed(f"bonnie++ printed {text[:20]!r} for {test.column}, which is no number")
    return float(text)


def _latency(text: str, test: BonnieTest) -> float | None:
    if not text:
        return None
    found = _LATENCY.fullmatch(text)
    if found is None:
        raise GeneratorFailed(f"bonnie++ printed {text[:20]!r} as the latency of {test.column}")
    return int(found[1]) * _MS_OF[found[2]]
