"""Inodes that mke2fs will make, and those that a cell's loads need: counted before anything is formatted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fsconsole.model.fio_job import load_of, read_fio_job
from fsconsole.model.plan import Cell, Variant
from fsconsole.model.workload import Layout, SizedBy, Workload, WorkloadKind
from fsconsole.text import GIB, MIB, TIB
from fsconsole.units import format_bytes

MKE2FS_CONF = "/etc/mke2fs.conf"
_OF_MKE2FS = frozenset({"ext2", "ext3", "ext4"})
_RESERVED = 12
"""The first ten, lost+found (ext2fs, EXT2_GOOD_OLD_FIRST_INO), and the orphan file where there is one."""
_DEFAULTS = {"blocksize": 4096, "inode_size": 256, "inode_ratio": 16384}
_SMALL_BLOCK = 1024
_MOST_INODES = 2**32 - 1
_LEAST_RATIO = 1024
"""Least of mke2fs -i (EXT2_MIN_BLOCK_SIZE)."""
_LEAST_BLOCKS_IN_GROUP = 256
_BITMAPS = 2
_LEFT_OVER_BLOCKS = 50
"""A last group with fewer than these beside its own metadata is left out (lib/ext2fs/initialize.c)."""
_SLACK = 1.02
"""Factor on the number that is proposed for -N."""


@dataclass(frozen=True, slots=True)
class Mke2fsConf:
    """Settings of mke2fs.conf that decide the number of inodes; those of a type hold before the defaults."""

    defaults: Mapping[str, int] = field(default_factory=lambda: dict(_DEFAULTS))
    types: Mapping[str, Mapping[str, int]] = field(
        default_factory=lambda: {
            "small": {"blocksize": _SMALL_BLOCK, "inode_ratio": 4096},
            "floppy": {"blocksize": _SMALL_BLOCK, "inode_ratio": 8192},
            "big": {"inode_ratio": 32768},
            "huge": {"inode_ratio": 65536},
            "news": {"inode_ratio": 4096},
            "largefile": {"inode_ratio": MIB},
            "largefile4": {"inode_ratio": 4 * MIB},
        }
    )

    def value(self, name: str, types: Sequence[str]) -> int:
        """Return a setting as mke2fs finds it: of the last of the types that has it, else the default."""
        found = [self.types[one][name] for one in types if name in self.types.get(one, {})]
        value = found[-1] if found else self.defaults.get(name, _DEFAULTS[name])
        # A block size of -1 leaves the choice to mke2fs (man 5 mke2fs.conf).
        return value if value > 0 else _DEFAULTS[name]


SHIPPED = Mke2fsConf()
"""As e2fsprogs 1.47 installs it."""
_SECTION = re.compile(r"\[(\w+)\]")
_TYPE = re.compile(r"(\w+)\s*=\s*\{")
_SETTING = re.compile(r"(\w+)\s*=\s*(-?\d{1,12})\s*$")


def parse_mke2fs_conf(text: str) -> Mke2fsConf:
    """Return the settings of mke2fs.conf (man 5 mke2fs.conf); lines that it has for other purposes are left out."""
    defaults: dict[str, int] = {}
    types: dict[str, dict[str, int]] = {}
    section, current = "", ""
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].split(";", 1)[0].strip()
        if found := _SECTION.fullmatch(line):
            section, current = found[1], ""
        elif section == "fs_types" and (found := _TYPE.fullmatch(line)):
            current = found[1]
        elif line == "}":
            current = ""
        elif (found := _SETTING.match(line)) and found[1] in _DEFAULTS:
            if section == "defaults":
                defaults[found[1]] = int(found[2])
            elif current:
                types.setdefault(current, {})[found[1]] = int(found[2])
    return Mke2fsConf(defaults, types) if defaults or types else SHIPPED


def _size_type(size_bytes: int) -> str:
    """Return the type by size, as mke2fs has it (misc/mke2fs.c, parse_fs_type)."""
    bounds = ((3 * MIB, "floppy"), (GIB // 2, "small"), (4 * TIB, "default"), (16 * TIB, "big"))
    return next((name for bound, name in bounds if size_bytes < bound), "huge")


def inodes_made(variant: Variant, size_bytes: int, conf: Mke2fsConf = SHIPPED) -> int:
    """Return the inodes that mkfs makes; 0 for filesystems that make them as files come, and for an unknown size.

    As ext2fs_initialize() does: an equal number in each group, whole blocks of them, a multiple of 8.
    """
    if variant.filesystem not in _OF_MKE2FS or not size_bytes:
        return 0
    words = dict(zip(variant.mkfs_words, variant.mkfs_words[1:], strict=False))
    usage = words.get("-T", "")
    types = (variant.filesystem, *(usage.split(",") if usage else (_size_type(size_bytes),)))
    block = _whole(words.get("-b")) or conf.value("blocksize", types)
    inode_size = _whole(words.get("-I")) or conf.value("inode_size", types)
    ratio = _whole(words.get("-i")) or conf.value("inode_ratio", types)
    blocks = size_bytes // block
    wanted = _whole(words.get("-N")) or blocks * block // ratio
    return _initialized(blocks, block, inode_size, min(wanted, _MOST_INODES), _whole(words.get("-g")) or 8 * block)


def _initialized(blocks: int, block: int, inode_size: int, wanted: int, blocks_in_group: int) -> int:
    """Return the inodes of so many blocks; groups shrink until a block's bitmap can tell their inodes."""
    whole = blocks = blocks - (1 if block == _SMALL_BLOCK else 0)
    while True:
        groups = max(1, -(-blocks // blocks_in_group))
        in_group = -(-wanted // groups)
        table_blocks = -(-in_group * inode_size // block)
        rest = blocks % blocks_in_group
        if in_group > 8 * block and blocks_in_group >= _LEAST_BLOCKS_IN_GROUP:
            blocks_in_group, blocks = blocks_in_group - 8, whole
        elif groups > 1 and 0 < rest < table_blocks + _BITMAPS + _LEFT_OVER_BLOCKS:
            blocks -= rest
        else:
            in_group = max(8, table_blocks * block // inode_size // 8 * 8)
            return min(in_group * groups, _MOST_INODES)


def _whole(word: str | None) -> int:
    return int(word) if word and word.isdecimal() else 0


def inodes_needed(loads: Sequence[Workload]) -> int:
    """Return the most files and directories that a cell's loads have at once; what a pilot has yet to choose isn't counted."""
    now = most = 1
    for load in loads:
        if load.sizing is None or load.sizing.is_settled or load.sizing.chooses is not SizedBy.FILES:
            now += _made_by(load)
        most = max(most, now)
        if load.kind is WorkloadKind.DELETE and load.source is not None:
            now -= min(loads[load.source].files, load.files or loads[load.source].files)
        elif load.kind is WorkloadKind.BONNIE:
            now -= load.files
    return most


def _made_by(load: Workload) -> int:
    if load.kind is WorkloadKind.COPY:
        return load.sources_files + 1
    if load.kind is WorkloadKind.COMMAND:
        return load.files + 1
    if load.kind is WorkloadKind.FIO:
        return load_of(read_fio_job(load.job, "job")).files + 1
    if not load.creates and load.kind is not WorkloadKind.BONNIE:
        return 0
    layout, files = load.directories.layout, load.files
    if layout is Layout.PER_COUNT and load.directories.files_per_directory:
        return files + -(-files // load.directories.files_per_directory) + 1
    return files + (load.threads if layout is Layout.PER_THREAD else 0) + 1


def inode_reasons(cell: Cell, size_bytes: int, conf: Mke2fsConf = SHIPPED) -> Iterator[str]:
    """Yield why mkfs makes too few inodes for a cell's loads on a device of that size, with the option that makes more."""
    made, needed = inodes_made(cell.variant, size_bytes, conf), inodes_needed(cell.workloads)
    if not made or needed <= made - _RESERVED:
        return
    more = int(needed * _SLACK) + _RESERVED
    ratio = 1 << (size_bytes // more).bit_length() - 1 if size_bytes > more else 0
    or_ratio = f" or -i {ratio}" if ratio >= _LEAST_RATIO else ""
    yield (
        f"the loads need {needed:,} inodes, and mkfs.{cell.variant.filesystem} makes {made:,} on {format_bytes(size_bytes)}:"
        f" add -N {more}{or_ratio} to its mkfs words"
    )
