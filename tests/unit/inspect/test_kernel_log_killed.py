from __future__ import annotations

import pytest

from fsconsole.inspect.checks import killed_for_memory, naming, worth_a_warning

GLOBAL = (
    "Out of memory: Killed process 412 (xfs_repair) total-vm:912342kB, anon-rss:800100kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:0 pgtables:1700kB oom_score_adj:0"
)
OF_A_CGROUP = (
    "Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB, anon-rss:1kB, UID:0 pgtables:1kB"
)
OLD = "Out of memory: Kill process 5 (py(t)hon) score 9 or sacrifice child"


@pytest.mark.parametrize(
    ("line", "name"), [(GLOBAL, "xfs_repair"), (OF_A_CGROUP, "python3"), (OLD, "py(t)hon")]
)
def test_who_was_killed_for_want_of_memory_is_known_by_name(line: str, name: str) -> None:
    said = (
        "python3 invoked oom-killer: gfp_mask=0x140cca",
        line,
        line,
        "oom_reaper: reaped process 77 (python3)",
    )
    assert killed_for_memory(said) == (name,)


def test_a_machine_without_memory_is_worth_a_warning_and_a_cgroup_of_somebody_else_s_is_not() -> None:
    assert worth_a_warning((GLOBAL, OF_A_CGROUP), "sdb") == (GLOBAL,)


def test_a_device_is_named_by_its_whole_name_only() -> None:
    said = (
        "Buffer I/O error on dev dm-1, logical block 9, lost async page write",
        "Buffer I/O error on dev dm-11, logical block 9, lost async page write",
        "EXT4-fs error (device dm-1): ext4_find_entry:1685: inode #2: comm rm: reading directory lblock 0",
        "XFS (dm-1): log I/O error -5",
        "I/O error, dev vdm-1, sector 0",
        "JBD2: Detected IO errors while flushing file data on dm-1-8",
    )
    assert naming(said, "dm-1") == (said[0], said[2], said[3], said[5])
