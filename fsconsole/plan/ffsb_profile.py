"""Parses FFSB profiles: the syntax of FFSB 5.x, with numbered sections and counts, and that of 6.0, with units.

Sources: FFSB's parser.c of 5.2.1 (parse_globals, parse_fs, parse_tg) and of 6.0 (GLOBAL_OPTIONS and what follows).
Unlike FFSB, which goes on after some lines that it does not know, every line must be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from fsconsole.catalog.tables import nearest_words
from fsconsole.errors.targets import ProfileRefused
from fsconsole.text import GIB, KIB, MIB, printable


class Syntax(str, Enum):
    """Versions of the format."""

    NUMBERED = "5.x"
    """num_filesystems=1, [filesystem0] ... [end0]; sizes in bytes."""
    UNITS = "6.0"
    """[filesystem] ... [end]; sizes as 4k, 1GB."""


class SectionKind(str, Enum):
    """Sections; ROOT is the file itself."""

    ROOT = ""
    FILESYSTEM = "filesystem"
    THREADGROUP = "threadgroup"
    STATS = "stats"


class _Value(Enum):
    NUMBER = "a whole number"
    SIZE = "a size"
    FLAG = "0 or 1"
    SHARE = "a number"
    TEXT = "text"
    RANGE = "two numbers"
    WEIGHTED = "a size and a weight"


_N, _S, _F, _D, _T = _Value.NUMBER, _Value.SIZE, _Value.FLAG, _Value.SHARE, _Value.TEXT
_WEIGHTS = ("read", "readall", "write", "create", "append", "delete")
_SHARED: Mapping[SectionKind, Mapping[str, _Value]] = {
    SectionKind.ROOT: {"time": _N, "directio": _F, "alignio": _F, "verbose": _F, "callout": _T},
    SectionKind.FILESYSTEM: {
        "location": _T, "num_files": _N, "num_dirs": _N, "reuse": _F, "min_filesize": _S, "max_filesize": _S,
        "create_blocksize": _S, "age_blocksize": _S, "desired_util": _D, "agefs": _F,
    },
    SectionKind.THREADGROUP: {
        "num_threads": _N, **{f"{name}_weight": _N for name in _WEIGHTS}, "read_random": _F, "read_skip": _N,
        "read_size": _S, "read_blocksize": _S, "read_skipsize": _S, "write_random": _F, "write_size": _S,
        "write_blocksize": _S, "op_delay": _N,
    },
}  # fmt: skip
_OWN: Mapping[Syntax, Mapping[SectionKind, Mapping[str, _Value]]] = {
    Syntax.NUMBERED: {
        SectionKind.ROOT: {"num_filesystems": _N, "num_threadgroups": _N, "bufferedio": _F},
        SectionKind.FILESYSTEM: {},
        SectionKind.THREADGROUP: {"bindfs": _N, "fsync_file": _F, "meta_weight": _N},
        SectionKind.STATS: {},
    },
    Syntax.UNITS: {
        SectionKind.ROOT: {"bufferio": _F},
        SectionKind.FILESYSTEM: {"init_util": _D, "init_size": _S, "clone": _T, "size_weight": _Value.WEIGHTED},
        SectionKind.THREADGROUP: {
            "bindfs": _T, **{f"{name}_weight": _N for name in (
                "write_fsync", "create_fsync", "append_fsync", "metaop", "createdir", "stat", "writeall",
                "writeall_fsync", "open_close")},
        },
        SectionKind.STATS: {"enable_stats": _F, "enable_range": _F, "ignore": _T, "msec_range": _Value.RANGE},
    },
}  # fmt: skip
_REPEATED = frozenset({"size_weight", "ignore", "msec_range"})
_CONTAINS = {
    SectionKind.ROOT: (SectionKind.FILESYSTEM, SectionKind.THREADGROUP),
    SectionKind.FILESYSTEM: (SectionKind.THREADGROUP,),
    SectionKind.THREADGROUP: (SectionKind.STATS,),
    SectionKind.STATS: (),
}
_LARGEST = 2**62
_DIGITS = 19
_HEADER = re.compile(r"\[\s*(?P<name>[a-z]+)(?P<number>[0-9]{0,9})\s*\]")
_SIZE = re.compile(r"(?P<number>[0-9]{1,19})(?P<unit>|[kmg]b?)", re.IGNORECASE)
_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}
_SHARE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class Said:
    """The value of a key, as a number where it is one; text is the whole line."""

    key: str
    line: int
    text: str
    number: int = 0
    weight: int = 0
    """Of a size_weight, whose size is number."""


@dataclass(slots=True)
class Section:
    """A section with its keys, and what it contains."""

    kind: SectionKind
    line: int
    keys: dict[str, Said] = field(default_factory=dict)
    weights: list[Said] = field(default_factory=list)
    """size_weight, in the file's order."""
    children: list[Section] = field(default_factory=list)

    def number(self, key: str) -> int:
        """Return a number, size or flag; 0 where nothing is said, as FFSB has it."""
        return self.keys[key].number if key in self.keys else 0

    def of(self, kind: SectionKind) -> list[Section]:
        """Return its sections of a kind."""
        return [section for section in self.children if section.kind is kind]


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as it was read; path is for the words of errors."""

    path: str
    syntax: Syntax
    root: Section

    def refused(self, said: Said | Section, why: str) -> ProfileRefused:
        """Return the error for a line."""
        text = f"[{said.kind.value}]" if isinstance(said, Section) else said.text
        return ProfileRefused(self.path, said.line, text, why)


def parse_profile(text: str, path: str) -> Profile:
    """Return a profile. Raises ProfileRefused for the first line that FFSB of the same syntax has no meaning for."""
    lines = list(_lines(text))
    is_counted = any(re.match(r"num_(filesystems|threadgroups)\s*=", line) for _, line in lines)
    profile = Profile(path, Syntax.NUMBERED if is_counted else Syntax.UNITS, Section(SectionKind.ROOT, 0))
    open_sections, numbers = [profile.root], [""]
    for number, line in lines:
        within = open_sections[-1]
        header = _HEADER.fullmatch(line)
        if header is None:
            _take(profile, within, number, line)
        elif header["name"] == "end":
            if within.kind is SectionKind.ROOT or header["number"] != numbers[-1]:
                raise _refused(path, number, line, f"it ends no section; expected [end{numbers[-1]}]")
            open_sections.pop()
            numbers.pop()
        else:
            opened = _opened(profile, within, number, line, header)
            within.children.append(opened)
            open_sections.append(opened)
            numbers.append(header["number"])
    if len(open_sections) > 1:
        raise profile.refused(open_sections[-1], f"its [end{numbers[-1]}] is missing")
    _check_counts(profile)
    return profile


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines without comments and outer blanks, where something is left."""
    for number, line in enumerate(text.split("\n"), start=1):
        if bare := line.partition("#")[0].strip():
            yield number, bare


def _refused(path: str, number: int, line: str, why: str) -> ProfileRefused:
    return ProfileRefused(path, number, printable(line)[:100], why)


def _opened(profile: Profile, within: Section, number: int, line: str, header: re.Match[str]) -> Section:
    known = {kind.value: kind for kind in _CONTAINS[within.kind]}
    if profile.syntax is Syntax.NUMBERED:
        known.pop(SectionKind.STATS.value, None)
    if header["name"] not in known:
        where = f"in [{within.kind.value}]" if within.kind.value else "here"
        names = ", ".join(f"[{name}]" for name in known) or "no section"
        raise _refused(profile.path, number, line, f"FFSB {profile.syntax.value} knows {names} {where}")
    kind = known[header["name"]]
    if profile.syntax is Syntax.NUMBERED and header["number"] != str(len(within.of(kind))):
        raise _refused(profile.path, number, line, f"expected [{kind.value}{len(within.of(kind))}]")
    return Section(kind, number)


def _take(profile: Profile, section: Section, number: int, line: str) -> None:
    """Put one key into its section. Raises ProfileRefused."""
    named = re.match(r"([a-z_0-9]+)\s*(=?)\s*(.*)", line)
    keys = {**_SHARED.get(section.kind, {}), **_OWN[profile.syntax][section.kind]}
    key, equals, value = named.groups() if named else (line, "", "")
    if key not in keys:
        of_other = {**_OWN[_other(profile.syntax)][section.kind]}
        other = f"only FFSB {_other(profile.syntax).value} knows it" if key in of_other else ""
        near = nearest_words(key, tuple(keys))
        raise _refused(profile.path, number, line, other or f"unknown key; nearest: {near}")
    kind = keys[key]
    if kind in (_Value.RANGE, _Value.WEIGHTED):
        said = _pair(profile, number, line, key, value if not equals else "")
    else:
        # parser.c of 5.x stops at the end of a number: what follows is the author's remark.
        remarked = profile.syntax is Syntax.NUMBERED and kind is not _T
        found = _number_of(kind, (value.split() or [""])[0] if remarked else value, profile.syntax)
        if not equals or found is None:
            unit = ", in bytes" if kind is _S and profile.syntax is Syntax.NUMBERED else ""
            raise _refused(profile.path, number, line, f"expected {key} = {kind.value}{unit}")
        said = Said(key, number, printable(line)[:100], found)
    if key == "size_weight":
        section.weights.append(said)
    elif key in section.keys and key not in _REPEATED:
        raise _refused(profile.path, number, line, f"line {section.keys[key].line} says it already")
    section.keys[key] = said


def _other(syntax: Syntax) -> Syntax:
    return Syntax.UNITS if syntax is Syntax.NUMBERED else Syntax.NUMBERED


def _number_of(kind: _Value, value: str, syntax: Syntax) -> int | None:
    """Return the value of a key as a number, 0 for text and 1 for any share above 0; None for what is no such value."""
    if kind is _T:
        return 0 if value else None
    if kind is _D:
        return int(float(value) > 0) if _SHARE.fullmatch(value) else None
    if kind is _S and syntax is Syntax.UNITS:
        return _size(value)
    is_number = value.isascii() and value.isdecimal() and len(value) <= _DIGITS
    number = int(value) if is_number else _LARGEST + 1
    return number if number <= (1 if kind is _F else _LARGEST) else None


def _pair(profile: Profile, number: int, line: str, key: str, value: str) -> Said:
    """Return a size with its weight, or the ends of a range of the statistics, which change no load."""
    words = value.split()
    if key == "size_weight" and len(words) == 2:
        size, weight = _size(words[0]), words[1]
        if size and weight.isascii() and weight.isdecimal() and 0 < int(weight[:_DIGITS]) < 2**31:
            return Said(key, number, printable(line)[:100], size, int(weight[:_DIGITS]))
    elif key != "size_weight" and len(words) == 2 and all(map(_SHARE.fullmatch, words)):
        return Said(key, number, printable(line)[:100])
    wanted = "a size and a weight: size_weight 4k 33" if key == "size_weight" else "two numbers: msec_range 0.00 0.01"
    raise _refused(profile.path, number, line, f"expected {wanted}")


def _size(word: str) -> int | None:
    found = _SIZE.fullmatch(word)
    size = int(found["number"]) * _UNITS[found["unit"][:1].lower()] if found else None
    return size if size is not None and size <= _LARGEST else None


def _check_counts(profile: Profile) -> None:
    """Raise ProfileRefused where the counts of a 5.x profile are not those of its sections, or a section is missing."""
    for kind in (SectionKind.FILESYSTEM, SectionKind.THREADGROUP):
        found, said = len(profile.root.of(kind)), profile.root.keys.get(f"num_{kind.value}s")
        if said is not None and said.number != found:
            raise profile.refused(said, f"there are {found} [{kind.value}] sections")
        if said is None and profile.syntax is Syntax.NUMBERED:
            raise ProfileRefused(profile.path, 1, f"num_{kind.value}s", "required in this syntax, and missing")
        if not found:
            raise ProfileRefused(profile.path, 1, f"[{kind.value}]", "required, and missing")
