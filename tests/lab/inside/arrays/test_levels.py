"""Every level of md, each made of partitions of two disks, a SCSI disk and a loop device: what the listing says of it.

Outside of a soak three of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.lab.guest import create_array, fsconsole, listed, loop_device, run, scsi_disk, settle, stop_arrays
from tests.lab.soak import tried

DISKS = ("ubda", "ubdb", "sda", "loop0")
LEVELS = tried(("linear", "raid0", "raid1", "raid5", "raid6", "raid10"), ("linear", "raid5", "raid10"))
CHUNKS_KIB = {"linear": 64, "raid0": 128, "raid5": 64, "raid6": 256, "raid10": 32}
DATA_MEMBERS = {"linear": 4, "raid0": 4, "raid1": 1, "raid5": 3, "raid6": 2, "raid10": 2}
PARTITION_MIB = 15
WORDS_AT_REST = {"linear": "", "raid0": ""}
Listing = dict[str, dict[str, object]]


@dataclass(frozen=True, slots=True)
class Member:
    disk: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.disk}p{self.number}" if self.disk[-1].isdigit() else f"{self.disk}{self.number}"


def members_of(level: str) -> list[str]:
    return [Member(disk, LEVELS.index(level) + 1).name for disk in DISKS]


@pytest.fixture(scope="module", autouse=True)
def _disks() -> Iterator[None]:
    with scsi_disk(96) as name, loop_device("loop0", 96):
        assert name == "sda"
        yield


@pytest.fixture(scope="module")
def listing(_disks: None) -> Iterator[Listing]:
    table = "label: gpt\n" + "".join(f"size={PARTITION_MIB}MiB\n" for _ in LEVELS)
    for disk in DISKS:
        run("sfdisk", "--quiet", f"/dev/{disk}", text=table)
    settle()
    for number, level in enumerate(LEVELS):
        chunk = (f"--chunk={CHUNKS_KIB[level]}",) if level in CHUNKS_KIB else ()
        words = ("--assume-clean",) if level not in WORDS_AT_REST else ()
        paths = [f"/dev/{name}" for name in members_of(level)]
        create_array(f"md{number}", level, *paths, words=(*words, *chunk))
    settle()
    yield listed()
    stop_arrays(*(f"/dev/{name}" for level in LEVELS for name in members_of(level)))
    for disk in DISKS:
        run("wipefs", "--all", "--quiet", f"/dev/{disk}")
    settle()


@pytest.mark.parametrize("level", LEVELS)
def test_an_array_is_listed_with_its_level_chunk_members_and_state(listing: Listing, level: str) -> None:
    array = listing[f"md{LEVELS.index(level)}"]
    md = array["md"]
    assert isinstance(md, dict)
    assert (array["kind"], md["level"], md["active"]) == ("md", level, True)
    assert md["chunk_bytes"] == CHUNKS_KIB.get(level, 0) * 1024
    assert sorted(member["name"] for member in md["members"]) == sorted(members_of(level))
    assert [member["flags"] for member in md["members"]] == [""] * 4
    assert sorted(array["lower"]) == sorted(members_of(level))
    assert md["slots"] == ("" if level in WORDS_AT_REST else "UUUU")
    assert (md["degraded"], md["action"], md["progress_percent"]) == (0, "", None)
    # Each member gives a MiB or two to md's own figures.
    room_mib = DATA_MEMBERS[level] * PARTITION_MIB
    assert room_mib - 12 <= array["size_bytes"] / 2**20 < room_mib
    assert array["state"]["claim"] == "free", array["state"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_member_is_in_use_by_its_array(listing: Listing, level: str) -> None:
    for name in members_of(level):
        state = listing[name]["state"]
        assert state["claim"] == "in use", state
        assert f"md{LEVELS.index(level)}" in state["text"]
    for disk in DISKS:
        assert listing[disk]["state"]["claim"] == "in use"


@pytest.mark.parametrize("device", [Member("loop0", LEVELS.index("raid5") + 1).name, "sda"])
def test_neither_a_member_nor_its_disk_is_ever_a_target(listing: Listing, device: str) -> None:
    done = fsconsole("plan", "tests/lab/tiny.toml", "--device", f"/dev/{device}", "--json")
    assert done.code == 23, done
    assert "a member of the array /dev/md" in done.err or "is held by /dev/md" in done.err
    assert '"consent": ""' in done.out
