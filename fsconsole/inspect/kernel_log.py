"""Which lines of the kernel's log tell of an error that a reader of figures must know of. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ERRORS = re.compile(
    r"EXT[234]-fs error"
    r"|EXT[234]-fs .*: (?:Remounting filesystem read-only|previous I/O error|failed to convert)"
    r"|JBD2?: (?:Detected IO errors|Error|I/O error)|Aborting journal"
    r"|XFS .*(?:Corruption|[Cc]orrupt|metadata I/O error|log I/O error|[Ss]hutting down|xfs_force_shutdown|Internal error)"
    r"|BTRFS(?: error| critical|: error)|BTRFS warning .*(?:csum failed|checksum verify failed)"
    r"|\bI/O error\b|critical (?:medium|target|space allocation|nexus) error"
    r"|blk_update_request: .* error"
    r"|task \S+ blocked for more than \d+ seconds"
    r"|(?:md|raid)\S*: .*(?:Disk failure|read error)"
    r"|lost (?:async|sync) page write|Buffer I/O error"
    r"|Out of memory[^:]*: Kill(?:ed)? process"
    r"|(?:ata|sd|nvme)\S* .*(?:failed command|Medium Error|controller is down|timeout, aborting)"
)
"""Words of fs/ext4/super.c, fs/jbd2, fs/xfs/xfs_message.c, fs/btrfs/messages.c, block/blk-core.c, kernel/hung_task.c, mm/oom_kill.c,
drivers/md, drivers/ata/libata-eh.c and drivers/nvme/host/pci.c."""

_REFUSAL_ABOUT = (r"{driver}\d?(?:-fs)?\b", r"\b{driver}: ", r"(?:VFS|blockdev|loop\d+|/dev/\S+): ")
_NO_REFUSAL = re.compile(
    r"mounted filesystem|[Mm]ounting V\d|[Ee]nding clean mount|[Uu]nmounting|recovery complete|capacity change"
    r"|scanned by|mounting ext[23] file system using"
    r"|BTRFS info .*: (?:using|enabling|turning|use |disk space|has skinny|first mount|checking UUID|last unmount)"
)
"""What the drivers also say when all is well."""

_DRIVERS = {"ext2": "ext4|ext2", "ext3": "ext4|ext3"}


_FILESYSTEM_ON = re.compile(
    r"(?:EXT[234]-fs|XFS|BTRFS:?)[^(:]*\((?:device )?(?P<mounted>[\w!-]+)"
    r"|(?:journal on device|file data on) (?P<journal>[\w!-]+)-\d+\b"
    r"|dev (?P<loop>loop\d+),"
)
"""How drivers name the filesystem's device; the block layer's errors on other disks may well be about this one
(a member, a shared cable), but not those on other loop devices."""


def worth_a_warning(lines: Sequence[str], device: str) -> tuple[str, ...]:
    """Return the lines that tell of damage, lost writes, I/O errors or tasks that hung, in their order.

    device is the target's kernel name: what is said about a filesystem on another one is not about the cell.
    """
    return tuple(line for line in lines if _ERRORS.search(line) and not _is_about_another(line, device))


def _is_about_another(line: str, device: str) -> bool:
    named = _FILESYSTEM_ON.search(line)
    return named is not None and device not in named.groups()


def refusal_words(filesystem: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Return what the kernel itself said about a mount that it refused, oldest line first.

    mount(8) says the same words for nearly every refusal; these are the reason.
    """
    driver = f"(?:{_DRIVERS.get(filesystem, re.escape(filesystem))})"
    about = re.compile("|".join(part.format(driver=driver) for part in _REFUSAL_ABOUT), re.IGNORECASE)
    return tuple(line for line in lines if about.search(line) and not _NO_REFUSAL.search(line))


_KILLED = re.compile(r"[Oo]ut of memory[^:]*: Kill(?:ed)? process \d+ \((?P<name>.*?)\)[ ,]")
"""mm/oom_kill.c; of a memory cgroup it begins with "Memory cgroup out of memory", before 5.3 it says "Kill"."""


def naming(lines: Sequence[str], device: str) -> tuple[str, ...]:
    """Return the lines that have a device's kernel name in them as a word of its own."""
    named = re.compile(rf"(?<![\w-]){re.escape(device)}(?!\w)")
    return tuple(line for line in lines if named.search(line))


def killed_for_memory(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the programs that the kernel killed since there was no memory left, each once."""
    found = (_KILLED.search(line) for line in lines)
    return tuple(dict.fromkeys(match["name"] for match in found if match is not None))


_SAID_OF_DEVICE = re.compile(r" \((?:device )?[\w!-]+(?: state \w+)?\)")
_SAID_OF_WORD = re.compile(r"(?:parameter '|[Vv]alue for '|removed )(?P<word>\w+)")
_AFTERMATH = re.compile(r"open_ctree failed|superblock contains fatal errors|SB validate failed")


def words_about(lines: Sequence[str], device: str, words: str) -> tuple[str, ...]:
    """Return the lines that are about a device, or about one of the option words that it was mounted with.

    The log is everybody's: what is said about another device, or another word, belongs to another's mount.
    """
    return tuple(line for line in lines if not _is_about_another(line, device) and _is_about(line, words))


def without_device(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines without the device's name in them, and without those that only follow from another."""
    bare = tuple(dict.fromkeys(_SAID_OF_DEVICE.sub("", line, count=1) for line in lines))
    return tuple(line for line in bare if not _AFTERMATH.search(line)) or bare


def _is_about(line: str, words: str) -> bool:
    named = _SAID_OF_WORD.search(line)
    return named is None or named["word"] in words
