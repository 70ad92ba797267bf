"""FFSB profiles as workloads of the built-in generator: a create of the file set, then the thread group.

What FFSB does is taken from its sources (ffsb_fs.c add_files, fileops.c, ffsb_tg.c, main.c). What the generator
cannot do as FFSB does is an error with the profile's line, never left out; docs/ffsb.md lists the differences
that stay.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fsconsole.catalog.tables import Table, nearest_words
from fsconsole.errors.targets import ProfileRefused
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan.ffsb_profile import Profile, Said, Section, SectionKind, parse_profile
from fsconsole.plan.kinds import MAX_DURATION_S, MAX_FILE_SIZE_BYTES, MAX_FILES, MAX_THREADS, MAX_WEIGHT
from fsconsole.plan.shipped import configs_folder
from fsconsole.system.files import read_regular_file
from fsconsole.text import GIB, MIB, error_reason
from fsconsole.units import format_bytes_exact

MAX_PROFILE_BYTES = MIB
_SUFFIX = ".ffsb"
_DEFAULT_CREATE_BLOCK = 4096
"""FFSB_FS_DEFAULT_CREATE_BLOCKSIZE (ffsb_fs.h)."""
_PAGE = 4096
"""Random offsets are multiples of it where alignio or directio is set (get_random_offset, fileops.c)."""
_CUT_AT = 2**32
"""ft_get_read_size() and ft_get_write_size() return 32 bits."""
_OWN_KEYS = ("kind", "name", "profile", "threads", "duration", "cold", "with", "require")

_Key = TypeVar("_Key")
_Plan = dict[str, object]
"""A [[workload]] as a plan file has it."""


def expanded(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables with those of kind ffsb replaced by what their profiles say.

    Raises ProfileRefused, PlanBadValue, PlanUnknownKey.
    """
    return tuple(
        made
        for table in tables
        for made in (_expanded(table) if table.has("kind") and table.raw("kind") == "ffsb" else (table,))
    )


def _expanded(table: Table) -> Iterator[Table]:
    table.only(*_OWN_KEYS)
    path = _find(table)
    profile = parse_profile(_text(table, path), str(path))
    name = table.as_text("name", table.raw("name")) if table.has("name") else path.stem
    given = {key: table.raw(key) for key in table.names() if key not in ("kind", "name", "profile")}
    for made in workload_tables(profile, name, given):
        yield Table(f"{table.path}: {path}", table.place, made)


def list_profiles() -> tuple[Path, ...]:
    """Return the shipped profiles, by name."""
    return tuple(sorted((configs_folder() / "ffsb").glob("*" + _SUFFIX)))


def _find(table: Table) -> Path:
    """Return the profile's file: relative to the plan, or else the shipped one of that name. Raises PlanBadValue."""
    name = table.as_text("profile", table.raw("profile"))
    path = Path(os.path.dirname(table.path)) / name if "\0" not in name else Path()
    if path.is_file():
        return path
    shipped = {one.stem: one for one in list_profiles()}
    found = shipped.get(name.removesuffix(_SUFFIX))
    if found is None:
        raise table.bad("profile", "no such file, and no shipped profile of that name", nearest_words(name, shipped))
    return found


def _text(table: Table, path: Path) -> str:
    try:
        raw = read_regular_file(path, MAX_PROFILE_BYTES + 1)
        if len(raw) > MAX_PROFILE_BYTES:
            raise table.bad("profile", "it has more than 1 MiB", "an FFSB profile")
        return raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise table.bad("profile", f"it can't be read: {error_reason(error)}", "an FFSB profile") from error


def workload_tables(profile: Profile, name: str, given: Mapping[str, object]) -> tuple[_Plan, ...]:
    """Return the [[workload]] tables of a profile; given are keys of the plan for its thread group. Raises ProfileRefused."""
    _refuse_what_nothing_does(profile)
    _refuse_what_is_too_large(profile, given)
    (filesystem,), (group,) = (profile.root.of(kind) for kind in (SectionKind.FILESYSTEM, SectionKind.THREADGROUP))
    made: list[_Plan] = []
    if filesystem.number("num_files"):
        made.append(_file_set(profile, filesystem, f"{name}, file set"))
    if profile.root.number("time"):
        of: _Plan = {"of": made[0]["name"]} if made else {}
        load = _Group(profile, filesystem, group).table(name)
        made.append({**load, **(of if load["kind"] != WorkloadKind.CREATE.value else {}), **given})
    elif given:
        raise ProfileRefused(
            profile.path, 1, "time = 0", f"only the file set is made: {', '.join(given)} of the plan is of no load"
        )
    if not made:
        raise ProfileRefused(profile.path, 1, "time", "with time = 0 and no num_files there is nothing to do")
    return tuple(made)


_NOTHING_DOES = {
    "callout": "a profile may start no program",
    "agefs": "ageing is the plan's own: age = { cycles, fill }",
    "clone": "there is one filesystem in a cell",
    "init_size": "give num_files",
    "init_util": "give num_files; a plan fills a filesystem by age = { cycles, fill }",
    "op_delay": "the generator does not wait between operations",
    "bindfs": "there is one filesystem in a cell",
    "read_skip": "the generator has no strided reads",
    "meta_weight": "the generator has no metadata mix; stat and delete are there",
    "metaop_weight": "the generator has no metadata mix; stat and delete are there",
    "createdir_weight": "the generator makes no directories while it is timed",
    "open_close_weight": "the generator has no operation that only opens; stat is there",
    "writeall_weight": "the generator overwrites at random places only",
    "writeall_fsync_weight": "the generator overwrites at random places only",
    "bufferedio": "the generator does not write through libc",
    "bufferio": "the generator does not write through libc",
}
"""Keys that must not be set, with the reason; 0 is what FFSB takes for nothing said."""
_OF_TEXT = frozenset({"callout", "clone", "bindfs"})


def _refuse_what_nothing_does(profile: Profile) -> None:
    root = profile.root
    for kind in (SectionKind.FILESYSTEM, SectionKind.THREADGROUP):
        for extra in root.of(kind)[1:]:
            what = "one filesystem" if kind is SectionKind.FILESYSTEM else "one thread group: several run at once"
            raise profile.refused(extra, f"a cell has {what}")
    for section in (root, *root.children):
        for key, said in section.keys.items():
            if key in _NOTHING_DOES and (said.number or key in _OF_TEXT):
                raise profile.refused(said, _NOTHING_DOES[key])


_MOST: Mapping[str, int] = {
    "time": int(MAX_DURATION_S), "num_files": MAX_FILES, "num_threads": MAX_THREADS, "create_blocksize": GIB,
    "read_blocksize": GIB, "write_blocksize": GIB, "min_filesize": MAX_FILE_SIZE_BYTES,
    "max_filesize": MAX_FILE_SIZE_BYTES, "size_weight": MAX_FILE_SIZE_BYTES,
}  # fmt: skip
"""Bounds of the plan's keys that they become."""
_REPLACED = {"num_threads": "threads", "time": "duration"}
"""Keys that the plan may replace, with its own name of them."""


def _refuse_what_is_too_large(profile: Profile, given: Mapping[str, object]) -> None:
    for section in (profile.root, *profile.root.children):
        for said in (*section.keys.values(), *section.weights):
            most = MAX_WEIGHT if said.key.endswith("_weight") and not said.weight else _MOST.get(said.key)
            if most is not None and said.number > most and _REPLACED.get(said.key) not in given:
                raise profile.refused(said, f"at most {most}")
            if said.weight > MAX_WEIGHT:
                raise profile.refused(said, f"a weight of at most {MAX_WEIGHT}")


def _file_set(profile: Profile, filesystem: Section, name: str) -> _Plan:
    """Return the create of the file set: one thread, as add_files(); never with O_DIRECT."""
    files, directories = filesystem.number("num_files"), filesystem.number("num_dirs")
    block = filesystem.number("create_blocksize") or _DEFAULT_CREATE_BLOCK
    made: _Plan = {"name": name, "kind": WorkloadKind.CREATE.value, "threads": 1, "files": files}
    made |= _new_files(profile, filesystem, filesystem.keys["num_files"])
    made["block_size"] = _size(min(block, _largest(filesystem)))
    if directories:
        made["directories"] = -(-files // (directories + 1))
    return made


def _largest(filesystem: Section) -> int:
    return max([filesystem.number("max_filesize"), *(said.number for said in filesystem.weights)])


def _new_files(profile: Profile, filesystem: Section, for_what: Said) -> _Plan:
    """Return the sizes of new files: size_weight before min_filesize and max_filesize, as FFSB."""
    if filesystem.weights:
        weights: dict[str, int] = {}
        for said in filesystem.weights:
            weights[_size(said.number)] = weights.get(_size(said.number), 0) + said.weight
        return {"file_sizes": weights}
    least, most = filesystem.number("min_filesize"), filesystem.number("max_filesize")
    if not 0 < least <= most:
        at = filesystem.keys.get("max_filesize") or filesystem.keys.get("min_filesize") or for_what
        raise profile.refused(at, "sizes of files need 0 < min_filesize <= max_filesize, or size_weight")
    return {"file_size": _size(least) if least == most else [_size(least), _size(most)]}


def _size(size_bytes: int) -> str:
    return format_bytes_exact(size_bytes)


_PLAIN = {"append": WorkloadKind.APPEND, "create": WorkloadKind.CREATE, "write": WorkloadKind.RANDOM_WRITE}
"""Operations that write, and have a twin with fsync."""


class _Group:
    """A thread group as a create or a mix."""

    def __init__(self, profile: Profile, filesystem: Section, group: Section) -> None:
        self._profile, self._filesystem, self._group = profile, filesystem, group
        self._syncs: Said | None = None
        self._never_syncs: Said | None = None
        self._sizes: dict[str, Said] = {}
        """Bytes that operations move in a file, as a plan has them, with the line that says so."""
        self._blocks: dict[int, Said] = {}
        self._weights: dict[WorkloadKind, int] = {}

    def table(self, name: str) -> _Plan:
        """Return the [[workload]] table. Raises ProfileRefused."""
        for said in tuple(self._group.keys.values()):
            if said.key.endswith("_weight") and said.number:
                self._add(said)
        if not self._weights:
            raise self._profile.refused(self._group, "no operation has a weight")
        threads = self._group.keys.get("num_threads")
        if threads is None or not threads.number:
            raise self._profile.refused(threads or self._group, "num_threads must be at least 1")
        made: _Plan = {"name": name, "threads": threads.number, **self._operations()}
        made["duration"] = f"{self._profile.root.number('time')}s"
        made["block_size"] = _size(self._only(self._blocks, "blocks of reads and of writes must have one size"))
        if self._profile.root.number("directio"):
            made["direct"] = True
        if self._syncs is not None:
            if self._never_syncs is not None:
                raise self._profile.refused(
                    self._syncs, f"line {self._never_syncs.line} writes without fsync: one or the other"
                )
            made["fsync"] = "each-file"
        return made

    def _operations(self) -> _Plan:
        creates = WorkloadKind.CREATE in self._weights
        sizes = _new_files(self._profile, self._filesystem, self._first(self._blocks)) if creates else {}
        if set(self._weights) == {WorkloadKind.CREATE}:
            return {"kind": WorkloadKind.CREATE.value, **sizes}
        if not self._filesystem.number("num_files"):
            raise self._profile.refused(self._group, "there are no files to work on: num_files is 0")
        weights = {kind.value: weight for kind, weight in self._weights.items()}
        made: _Plan = {"kind": WorkloadKind.MIX.value, "weights": weights, **sizes}
        if self._sizes:
            made["operation_size"] = self._only(self._sizes, "all operations on a file must move as many bytes")
        if not creates and not sizes and WorkloadKind.APPEND in self._weights:
            made["file_size"] = made["operation_size"]
        if WorkloadKind.DELETE not in self._weights:
            made["pick"] = "all"
        return made

    def _first(self, said: Mapping[int, Said]) -> Said:
        return next(iter(said.values()))

    def _only(self, found: Mapping[_Key, Said], why: str) -> _Key:
        """Return the one value that was found. Raises ProfileRefused with the line of another one."""
        values = list(found)
        if len(values) > 1:
            raise self._profile.refused(found[values[1]], why)
        return values[0]

    def _add(self, said: Said) -> None:
        """Take in one operation with its weight."""
        name = said.key.removesuffix("_weight")
        plain = name.removesuffix("_fsync")
        if plain in ("delete", "stat"):
            self._count(WorkloadKind(plain), said)
            return
        is_read = plain in ("read", "readall")
        block = self._block_of(said, "read_blocksize" if is_read else "write_blocksize")
        if is_read:
            self._add_read(said, plain, block)
            return
        if plain == "write" and not self._group.number("write_random"):
            raise self._profile.refused(said, "the generator overwrites at random places only: write_random = 1")
        if plain != "create":
            self._note_size(said, "write_size", block, is_random=plain == "write")
        is_synced = name != plain or (plain == "write" and bool(self._group.number("fsync_file")))
        self._syncs, self._never_syncs = (said, self._never_syncs) if is_synced else (self._syncs, said)
        self._count(_PLAIN[plain], said)

    def _add_read(self, said: Said, name: str, block: Said) -> None:
        if name == "readall":
            self._sizes.setdefault("file", said)
        elif self._group.number("read_random"):
            self._note_size(said, "read_size", block, is_random=True)
            self._count(WorkloadKind.RANDOM_READ, said)
            return
        else:
            size, files = self._group.keys.get("read_size"), self._filesystem
            of_all = {files.number("min_filesize"), files.number("max_filesize")} if not files.weights else set()
            if of_all != {size.number if size else -1} or self._group.number("append_weight"):
                why = "a sequential read of a part starts at a random place, which the generator does not do: readall_weight"
                raise self._profile.refused(size or said, why)
            self._sizes.setdefault("file", said)
        self._count(WorkloadKind.READ, said)

    def _count(self, kind: WorkloadKind, said: Said) -> None:
        self._weights[kind] = self._weights.get(kind, 0) + said.number

    def _block_of(self, said: Said, key: str) -> Said:
        block = self._group.keys.get(key)
        if block is None or not block.number:
            raise self._profile.refused(block or said, f"it needs {key}")
        return self._blocks.setdefault(block.number, block)

    def _note_size(self, said: Said, key: str, block: Said, *, is_random: bool) -> None:
        """Take in the bytes that an operation moves in a file, which random calls do as FFSB only page by page."""
        size = self._group.keys.get(key)
        if size is None or not 0 < size.number < _CUT_AT:
            raise self._profile.refused(size or said, f"it needs {key}, above 0 and below 4 GiB")
        root = self._profile.root
        if is_random and not (root.number("alignio") or root.number("directio")):
            raise self._profile.refused(
                said, "FFSB's offsets are of any byte, the generator's of whole blocks: alignio = 1"
            )
        if is_random and block.number != _PAGE:
            why = f"FFSB's offsets are multiples of {_PAGE}, the generator's of the block: blocks of {_PAGE}"
            raise self._profile.refused(block, why)
        if is_random and size.number < block.number:
            raise self._profile.refused(size, "less than one block: FFSB would move nothing")
        self._sizes.setdefault(_size(size.number), size)
