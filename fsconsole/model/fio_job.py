"""Job files of fio: their syntax, and the allow-list of what a job may ask for.

fio never reads the operator's file. What was read and allowed here is given to it as command line words, so a key that
this reader overlooks can't reach fio. The syntax is that of fio's own reader (init.c, __parse_jobs_ini; parse.c;
options.c, fio_options_parse); how numbers are written is left to fio.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fsconsole.errors.targets import FioJobRefused
from fsconsole.model import fio_keys as keys
from fsconsole.text import did_you_mean

MAX_JOB_CHARACTERS = 64 * 1024
_MAX_LINE_BYTES = 4000
"""fio reads lines in pieces of OPT_LEN_MAX (4096): what comes after would be a line of its own."""


@dataclass(frozen=True, slots=True)
class FioOption:
    """One key of a section, by its name in fio's table; value is None where the key stands alone."""

    line: int
    name: str
    value: str | None

    @property
    def word(self) -> str:
        """The option on a command line."""
        return f"--{self.name}" if self.value is None else f"--{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class FioSection:
    """A job, or defaults for the jobs after it."""

    line: int
    name: str
    options: tuple[FioOption, ...] = ()

    @property
    def is_global(self) -> bool:
        """True if it holds defaults; fio goes by the first letters."""
        return self.name.startswith("global")

    def value(self, name: str) -> str | None:
        """Return the value that counts, the last; None where the key is not there; "1" where it stands alone."""
        values = [option.value for option in self.options if option.name == name]
        return (values[-1] or "1") if values else None


_Refusal = tuple[str, str]
"""Why, and what to do instead."""


@lru_cache(maxsize=64)
def read_fio_job(text: str, path: str) -> tuple[FioSection, ...]:
    """Return the sections of a job file that asks for nothing but load below its own directory.

    path is for errors. Raises FioJobRefused with the line for anything else.
    """
    if len(text) > MAX_JOB_CHARACTERS:
        raise FioJobRefused(path, 1, "job", "the file is too long", f"At most {MAX_JOB_CHARACTERS} characters.")
    sections: list[FioSection] = []
    for number, line in _lines(text, path):
        if line.startswith("["):
            sections.append(FioSection(number, _section_name(path, number, line)))
        elif not sections:
            raise FioJobRefused(
                path, number, line[:40], "it stands before the first [section]", "Put [global] above it."
            )
        else:
            section = sections[-1]
            sections[-1] = replace(section, options=(*section.options, _option(path, number, line)))
    if all(section.is_global for section in sections):
        raise FioJobRefused(path, 1, "job", "there is no job in it", "At least one [section] beside [global].")
    sections = [*_named(sections, path)]
    _require_sizes(sections, path)
    _require_job_count(sections, path)
    return tuple(sections)


def _named(sections: Sequence[FioSection], path: str) -> Iterator[FioSection]:
    """Yield the sections by the names that `name` gives, in place of those in their headings, as in fio."""
    jobs = sum(not section.is_global for section in sections)
    default: FioOption | None = None
    for section in sections:
        given = [option for option in section.options if option.name == "name"]
        others = tuple(option for option in section.options if option.name != "name")
        if section.is_global:
            default = given[-1] if given else default
            if given and jobs > 1:
                why = f"all {jobs} jobs would have the same name"
                raise _misnamed(path, given[-1], why, "Name each job by its own [section].")
        elif named := given[-1] if given else default:
            value = named.value or ""
            if not _JOB_NAME.fullmatch(value) or value.startswith("global"):
                why = "it is not a name for a job, whose files have it too" if value else "it has no value"
                raise _misnamed(path, named, why, "A name such as random-read.")
            section = replace(section, name=value)  # noqa: PLW2901
        yield replace(section, options=others)


def _misnamed(path: str, option: FioOption, why: str, hint: str) -> FioJobRefused:
    return FioJobRefused(path, option.line, f"name={(option.value or '')[:60]}", why, hint)


def _effective(sections: Sequence[FioSection]) -> Iterator[dict[str, FioOption]]:
    """Yield the options of each job by name: its own, and those of the [global] sections above it."""
    defaults: dict[str, FioOption] = {}
    for section in sections:
        own = {**defaults, **{option.name: option for option in section.options}}
        if section.is_global:
            defaults = own
        else:
            yield own


def _require_sizes(sections: Sequence[FioSection], path: str) -> None:
    """Raise FioJobRefused for a size that is a share of files that nothing has made yet."""
    sized: set[str] = set()
    for job in _effective(sections):
        names = set(_names(job["filename"].value or "")) if "filename" in job else set()
        size = job.get("size")
        if "filesize" in job or (size is not None and not (size.value or "").endswith("%")):
            sized |= names
        elif size is not None and not (names and names <= sized):
            why = "it is a share of files that are not there yet"
            raise FioJobRefused(path, size.line, f"size={size.value}", why, "Write the size itself, such as size=256m.")


_MOST_JOBS = 4096
"""fio's own limit, of all jobs and their clones together (fio.h, REAL_MAX_JOBS)."""


def _require_job_count(sections: Sequence[FioSection], path: str) -> None:
    """Raise FioJobRefused for the job, or its numjobs, with which there are more than fio takes."""
    jobs = [section for section in sections if not section.is_global]
    count = 0
    for section, options in zip(jobs, _effective(sections), strict=True):
        clones = options.get("numjobs")
        count += 1 if clones is None else _number({"numjobs": clones.value or "1"}, "numjobs", 1)
        if count > _MOST_JOBS:
            line, word = (section.line, f"[{section.name}]") if clones is None else (clones.line, clones.word[2:])
            why = f"with it there are {count} jobs, and fio takes at most {_MOST_JOBS} in one file"
            raise FioJobRefused(path, line, word[:80], why, "Fewer jobs, or a smaller numjobs.")


_WRITES = frozenset({"write", "randwrite", "rw", "readwrite", "randrw"})
_READS = frozenset({"read", "randread", "rw", "readwrite", "randrw"})
_WITHOUT_DATA = frozenset({
    "falloc", "ftruncate", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "cpuio", "null",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class FioLoad:
    """Load that a job file describes, as far as it can be told beforehand."""

    reads: bool
    writes: bool
    syncs: bool
    """True if it calls fsync or fdatasync after a number of writes, which fio times."""
    jobs: int
    space_bytes: int
    """Of all files."""
    files: int


def load_of(sections: tuple[FioSection, ...]) -> FioLoad:
    """Return the load of all jobs together."""
    jobs = [{name: option.value or "1" for name, option in job.items()} for job in _effective(sections)]
    shared: dict[str, int] = {}
    space_bytes = files = 0
    for job in jobs:
        if job.get("ioengine") in ("cpuio", "null"):
            continue
        clones, (first, step) = _number(job, "numjobs", 1), _ends_of(job)
        if "filename" in job:
            before, end = shared.get(job["filename"], 0), first + step * (clones - 1)
            shared[job["filename"]] = before + end if _number(job, "file_append", 0) else max(before, end)
        else:
            files += clones * _number(job, "nrfiles", 1)
            space_bytes += clones * first + step * clones * (clones - 1) // 2
    moving = [job for job in jobs if job.get("ioengine") not in _WITHOUT_DATA]
    acts = {job.get("rw", "read").partition(":")[0] for job in moving}
    return FioLoad(
        reads=bool(acts & _READS),
        writes=bool(acts & _WRITES),
        syncs=any(_number(job, key, 0) for job in moving for key in ("fsync", "fdatasync")),
        jobs=sum(_number(job, "numjobs", 1) for job in jobs),
        space_bytes=space_bytes + sum(shared.values()),
        files=files + len({name for names in shared for name in _names(names)}),
    )


def _ends_of(job: dict[str, str]) -> tuple[int, int]:
    """Return the sum of where a job's files end, in bytes, and how much further those of each clone do."""
    files = len(_names(job["filename"])) if "filename" in job else _number(job, "nrfiles", 1)
    if "filesize" in job:
        return max(_number(job, "size", 0), _number(job, "filesize", 0) * files), 0
    offset, step = _number(job, "offset", 0), _number(job, "offset_increment", 0)
    return _number(job, "size", 0) + offset * files, step * files


def _names(filename: str) -> list[str]:
    return _COLON.split(filename)


_COLON = re.compile(r"(?<!\\):")
_NUMBER = re.compile(r"(\d{1,18}|0x[0-9a-f]{1,15})(?:([kmgtp])i?b?|b)?", re.IGNORECASE)
_PRODUCT = re.compile(rf"\( *{_NUMBER.pattern}(?: *\* *{_NUMBER.pattern})* *\)", re.IGNORECASE)
_RANGE = re.compile(r"[-:]")
_SHARE = re.compile(r"\d{1,3}%")
_COUNTED = {
    "size": "256m",
    "filesize": "4m",
    "nrfiles": "100",
    "numjobs": "4",
    "offset": "64m",
    "offset_increment": "64m",
}
"""Keys that decide how much space a job needs, with a value that can be counted."""


def _number(job: dict[str, str], name: str, default: int) -> int:
    """Return the number at a key, the last of a range, the product of several; 0 for a percentage.

    All suffixes count as powers of 1024, the largest that one can mean: with kb_base=1024 fio takes KiB for 1000 bytes.
    """
    if name not in job:
        return default
    last = _RANGE.split(job[name])[-1] if name == "filesize" else job[name]
    return math.prod(_factor(text.strip()) for text in last.strip("() ").split("*"))


def _factor(text: str) -> int:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return 0
    base = 16 if found[1][:2].lower() == "0x" else 10
    return int(found[1], base) << 10 * " kmgtp".index((found[2] or " ").lower())


def _is_counted(name: str, value: str) -> bool:
    """Return whether a plan can count with a value of one of these keys."""
    parts = _RANGE.split(value) if name == "filesize" else [value]
    is_share = name not in ("filesize", "nrfiles", "numjobs") and _SHARE.fullmatch(value)
    return bool(is_share) or all(_NUMBER.fullmatch(part) or _PRODUCT.fullmatch(part) for part in parts)


FIO = ("fio", "--output-format=json+", "--eta=never", "--name=global", "--disk_util=0")
"""The start of every command line. json+ is json with every latency's bucket, so that the percentiles of several jobs can
be those of all their calls; the device's own figures are in the gauges, and /sys isn't there for fio."""


def job_argv(text: str) -> tuple[str, ...]:
    """Return the command line that carries out a job file. Raises FioJobRefused."""
    return (*FIO, *job_words(read_fio_job(text, "job")))


def job_words(sections: tuple[FioSection, ...]) -> tuple[str, ...]:
    """Return the sections as words of fio's command line, in the order in which fio takes the keys of a file."""
    return tuple(word for section in sections for word in _words(section))


def _words(section: FioSection) -> Iterator[str]:
    yield f"--name={'global' if section.is_global else section.name}"
    yield from (option.word for option in sorted(section.options, key=_rank))


def _rank(option: FioOption) -> int:
    if option.name in keys.OF_ENGINES:
        return 3
    return 0 if option.name in keys.FIRST else 2 if option.name in keys.LATE else 1


def _lines(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield what counts of each line: from a semicolon or a hash on it is a comment, wherever that stands."""
    for number, raw in enumerate(text.split("\n"), start=1):
        if len(raw.encode(errors="replace")) > _MAX_LINE_BYTES:
            raise FioJobRefused(path, number, raw[:40], "the line is too long", f"At most {_MAX_LINE_BYTES} bytes.")
        line = re.split("[;#]", raw, maxsplit=1)[0].strip(" \t\r\v\f")
        if not line.isprintable():
            raise FioJobRefused(path, number, line[:40], "it has a control character", "Plain text.")
        if line:
            yield number, line


_JOB_NAME = re.compile(r"[^\s./\\'\"`$:\[\]-][^/\\'\"`$:\[\]]{0,99}")


def _section_name(path: str, number: int, line: str) -> str:
    name = line[1:-1]
    if not line.endswith("]") or not _JOB_NAME.fullmatch(name):
        why = "a job's files have its name: it can't have slashes, colons, quotes or brackets, or begin with a dot or dash"
        raise FioJobRefused(path, number, line[:60], why, "A name such as [random-read].")
    return name


def _option(path: str, number: int, line: str) -> FioOption:
    key, equals, value = (part.strip() for part in line.partition("="))
    if line.startswith("include"):
        raise FioJobRefused(path, number, "include", "another file would be read when fio starts", keys.INCLUDE)
    name = keys.ALIASES.get(key, key)
    option = FioOption(number, name, value if equals else None)
    if name in keys.REFUSED:
        raise FioJobRefused(path, number, key, *keys.REFUSED[name])
    if name not in keys.ALLOWED:
        wanted = did_you_mean(key, sorted(keys.ALLOWED | keys.ALIASES.keys())) or "Remove it."
        raise FioJobRefused(path, number, key[:60], "not a key that a job may have here", wanted)
    for why, wanted in _wrong(option):
        raise FioJobRefused(path, number, line[:80], why, wanted)
    return option


_NOT_IN_NAMES = re.compile(r"\$(?!jobname|jobnum|filenum)")


def _nearest(word: str, known: Sequence[str]) -> str:
    return ", ".join(difflib.get_close_matches(word[:60], known, n=6, cutoff=0.5) or known[:12])


def _wrong(option: FioOption) -> Iterator[_Refusal]:
    """Yield what is wrong with the value of an allowed key."""
    name, value = option.name, option.value
    if value is None:
        if name not in keys.ALONE:
            yield "it has no value", f"{name}=VALUE"
        return
    if not value:
        yield "it has no value", f"{name}=VALUE"
    if "${" in value:
        yield "the plan would not say what runs", "Write the value of the variable itself."
    elif "$" in value and name != "filename_format":
        yield "its value depends on the machine", "Write the number itself."
    elif _NOT_IN_NAMES.search(value):
        # $clientuid is empty where no client of fio's server asks: `.$clientuid.` is the directory above.
        yield "a name can't be told from it beforehand", "$jobname, $jobnum and $filenum."
    if name != "description" and any(sign in value for sign in "'`"):
        yield "a quoted value can name a file to be read", "A value without these quotes."
    if value and name in _COUNTED and not _is_counted(name, value):
        yield "a plan can't count with this value", f"A number, such as {name}={_COUNTED[name]}."
    yield from _wrong_path(name, value)
    yield from _wrong_choice(name, value.partition(":")[0], value)


def _wrong_path(name: str, value: str) -> Iterator[_Refusal]:
    if name not in ("filename", "directory", "filename_format"):
        return
    inside = "A name below the load's own directory, such as data/file1."
    if name == "directory":
        inside = "Leave it out: fio starts in the load's own directory."
    for path in _names(value):
        if path.startswith("/"):
            yield "it lies outside the load's own directory", inside
        if ".." in path.split("/"):
            yield "it leads out of the load's own directory", inside
        if path in ("", "-", "."):
            yield "it names no file", inside


def _wrong_choice(name: str, word: str, value: str) -> Iterator[_Refusal]:
    """Yield why a value is refused of the few keys whose values matter; word ends at a colon."""
    if name == "ioengine" and value not in keys.ENGINES:
        if value.startswith("io_uring"):
            yield keys.NO_URING, "ioengine=libaio"
        elif word == "external":
            yield "it loads a library into fio", f"one of {', '.join(keys.ENGINES)}"
        else:
            yield (
                "this engine is not allowed: it reaches beyond files",
                f"one of {_nearest(value, keys.ENGINES)}",
            )
    if name == "rw" and word not in keys.DIRECTIONS:
        why = keys.DEVICE if "trim" in word else "not a kind of I/O"
        yield why, f"one of {', '.join(keys.DIRECTIONS)}"
    if name == "mem" and value not in keys.MEMORY:
        yield "its memory would be a file or a device", f"one of {', '.join(keys.MEMORY)}"
    if name == "zonemode" and value not in keys.ZONES:
        yield "it is for zoned devices, and a job works on files", f"one of {', '.join(keys.ZONES)}"
