"""Every form in which a configuration file names a device, held against the values of a device; nothing of udev's is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import named
from fsconsole.devices.evidence import Evidence, Relation
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.named import find_names, named_in, read_mentions
from fsconsole.model.command import CommandResult, ResourceUsage
from tests.fakes import FakeExecutor
from tests.unit.gate.made import GIB, LOOP0, OTHER_UUID, UUID, device, evidence, found, relative, signature

PARTUUID, OTHER_PARTUUID = "0f00d0aa-cf13-4cfe-90e2-8b54c80b19f0", "f108ef10-527c-44f0-ae10-9e535c4857a4"
SDB = device("sdb", minor=16, wwn="0x5000c500b0000002", serial="WD-W 123", diskseq=7)
SDB1 = replace(SDB, name="sdb1", path="/dev/sdb1", minor=17, parent="sdb", size_bytes=GIB, partition_start_bytes=GIB)
SDB2 = replace(SDB1, name="sdb2", path="/dev/sdb2", minor=18, partition_start_bytes=2 * GIB, partition_uuid=PARTUUID)
GRAPH = DeviceGraph((SDB, SDB1, SDB2))
SRV = "3b8f8425-20e0-4f3b-907f-1a25a76f98e8"
ARGV = ("partx", "--pairs", "--output", "NR,START,SECTORS,FLAGS,TYPE,UUID,NAME", "/dev/sdb")
TABLE = (
    f'NR="1" START="2097152" SECTORS="2097152" FLAGS="0x0" TYPE="0" UUID="{OTHER_PARTUUID}" NAME="one"\n'
    f'NR="2" START="4194304" SECTORS="2097152" FLAGS="0x0" TYPE="{SRV}" UUID="{PARTUUID}" NAME="my data/\\xc3\\xa9"\n'
)
TARGET = evidence(SDB2, relative(SDB, Relation.DISK), signatures=(found(SDB2, signature(label="/my photos, 2")),))


def is_named(text: str, of: Evidence, tmp_path: Path, *, table: str = TABLE, graph: DeviceGraph = GRAPH) -> bool:
    file = tmp_path / "file"
    file.write_text(f"one two\n{text}\n", encoding="utf-8")
    result = CommandResult(ARGV, 0 if table else 1, table.encode(), b"", ResourceUsage(0, 0, 0, 0))
    return named_in(of, read_mentions([str(file)]), graph, FakeExecutor({ARGV: result})) == (str(file),)


def each_is(expected: bool, texts: tuple[str, ...], of: Evidence, tmp_path: Path, graph: DeviceGraph = GRAPH) -> None:
    assert [text for text in texts if is_named(text, of, tmp_path, graph=graph) is not expected] == []


def test_filesystem_is_named_by_uuid_in_every_file(tmp_path: Path) -> None:
    link = f"/dev/disk/by-uuid/{UUID}"
    texts = (
        f"UUID={UUID} /srv ext4 noauto 0 0",
        f'UUID="{UUID.upper()}" /srv ext4',
        f"{link} none swap sw",
        f"/dev/disk//by-uuid/{UUID} /srv ext4",
        f"vault UUID={UUID} none luks",
        f"vault /dev/x /key:UUID={UUID} luks",
        f"RESUME=UUID={UUID}",
        f"quiet resume={link} splash",
        f"root=/dev/x rd.luks.uuid=luks-{UUID} quiet",
        f"rd.luks.name={UUID}=root",
        f"cryptdevice=UUID={UUID}:root:allow-discards",
        f"rd.md.uuid={UUID[:8]}:{UUID[9:13]}{UUID[14:18]}:{UUID[19:23]}{UUID[24:28]}:{UUID[28:]}",
        f"[Mount]\nWhat={link}\nWhere=/srv",
        f"What=UUID={UUID}",
        "What=" + link.replace("-", "\\x2d"),
        f"<source dev='{link}'/>",
        f"scsi0: {link},size=8G",
        f"  disk {link};",
        f"/dev/vg/x /srv ext4 journal_path={link},noatime",
        "BindsTo=dev-disk-by\\x2duuid-" + UUID.replace("-", "\\x2d") + ".device",
    )
    each_is(True, texts, TARGET, tmp_path)
    each_is(
        False, (f"# UUID={UUID}", f"; What={link}", f"UUID={OTHER_UUID}", f"PARTUUID={UUID}", UUID), TARGET, tmp_path
    )


def test_filesystem_is_named_by_label_however_it_is_escaped(tmp_path: Path) -> None:
    texts = (
        "LABEL=/my\\040photos,\\0402 /srv ext4",
        'LABEL="/my photos, 2" /srv ext4',
        "LABEL='/my photos, 2' /srv ext4",
        '"LABEL=/my photos, 2" /srv ext4',
        "/dev/disk/by-label/\\x2fmy\\x20photos\\x2c\\x202 /srv ext4",
        "/dev/disk/by-label/\\134x2fmy\\134x20photos,\\134x202 /srv ext4",
        "What=/dev/disk/by-label/\\x2fmy\\x20photos,\\x202",
        "What=LABEL=/my photos, 2",
        "root=LABEL=/my\\x20photos,\\x202 quiet",
        'root="LABEL=/my photos, 2" quiet',
        "backup -fstype=ext4 :/dev/disk/by-label/\\x2fmy\\x20photos,\\x202",
        "After=dev-disk-by\\x2dlabel-\\x5cx2fmy\\x5cx20photos,\\x5cx202.device",
    )
    each_is(True, texts, TARGET, tmp_path)
    each_is(False, ("LABEL=/my", "LABEL=photos", "PARTLABEL='/my photos, 2'", "label /my photos, 2"), TARGET, tmp_path)


def test_partition_is_named_by_what_its_table_says(tmp_path: Path) -> None:
    texts = (
        f"PARTUUID={PARTUUID} /srv ext4",
        f"root=PARTUUID={PARTUUID.upper()} rw",
        f"/dev/disk/by-partuuid/{PARTUUID} /srv ext4",
        f"root=PARTUUID={OTHER_PARTUUID}/PARTNROFF=1 rw",
        f"root=PARTUUID={PARTUUID}/PARTNROFF=0 rw",
        "PARTLABEL=my\\040data/é /srv ext4",
        'PARTLABEL="my data/é" /srv ext4',
        "root=PARTLABEL=my\\x20data\\x2f\\xc3\\xa9 rw",
        "vault PARTLABEL=my\\040data\\057é none luks",
        "/dev/disk/by-partlabel/my\\x20data\\x2fé /srv ext4",
        "What=PARTLABEL=my data/é",
        "BindsTo=dev-disk-by\\x2dpartlabel-my\\x5cx20data\\x5cx2f\\xc3\\xa9.device",
        "/dev/disk/by-diskseq/7-part2 /srv ext4",
        "/dev/disk/by-designator/srv /srv ext4",
    )
    each_is(True, texts, TARGET, tmp_path)
    others = (
        f"PARTUUID={OTHER_PARTUUID} /srv ext4",
        f"root=PARTUUID={PARTUUID}/PARTNROFF=1 rw",
        "PARTLABEL=one /srv ext4",
        "PARTLABEL=my /srv ext4",
        "/dev/disk/by-diskseq/7 /srv ext4",
        "/dev/disk/by-diskseq/7-part1 /srv ext4",
        "/dev/disk/by-designator/home /home ext4",
    )
    each_is(False, others, TARGET, tmp_path)
    # Whoever wipes the disk loses the partition.
    each_is(True, (*texts, others[0], *others[2:3], *others[4:6]), evidence(SDB, partitions=(SDB1, SDB2)), tmp_path)


def test_dos_partition_is_named_by_disk_id_and_number(tmp_path: Path) -> None:
    table = 'NR="2" START="4194304" SECTORS="2097152" FLAGS="0x0" TYPE="0x83" UUID="abcdef12-02" NAME=""\n'
    target = evidence(replace(SDB2, partition_uuid=""))
    assert is_named("root=PARTUUID=ABCDEF12-02 rw", target, tmp_path, table=table)
    assert not is_named("root=PARTUUID=abcdef12-01 rw", target, tmp_path, table=table)


def test_partition_without_table_is_named_by_what_the_kernel_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named, "read_ends", lambda *_: None)
    for text, expected in ((f"PARTUUID={PARTUUID} /srv ext4", True), ("PARTLABEL=one /srv ext4", False)):
        assert is_named(text, TARGET, tmp_path, table="") is expected


def test_kernel_tells_the_label_of_a_partition(tmp_path: Path) -> None:
    directory = tmp_path / "dev/block/8:18"
    directory.mkdir(parents=True)
    (directory / "uevent").write_text("DEVNAME=sdb2\nPARTN=2\nPARTNAME=my data\n")
    (entry,) = named._kernel_entries((SDB2,), str(tmp_path))
    assert (entry.number, entry.uuid, entry.label) == (2, PARTUUID, "my data")


def test_disk_is_named_by_serial_number_or_wwn(tmp_path: Path) -> None:
    links = ("ata-MODEL_X_WD-W_123", "wwn-0x5000c500b0000002", "scsi-35000c500b0000002", "usb-Vendor_WD-W_123-0:0")
    others = ("ata-MODEL_X_WD-W_1234", "wwn-0x5000c500b0000003", "scsi-35000c500b00000021")
    each_is(True, tuple(f"/dev/disk/by-id/{link} /srv ext4" for link in links), evidence(SDB), tmp_path)
    each_is(True, tuple(f"ID={link}-part2 /srv ext4" for link in links), TARGET, tmp_path)
    each_is(True, tuple(f"ID={link}-part2 /srv ext4" for link in links), evidence(SDB, partitions=(SDB2,)), tmp_path)
    each_is(False, tuple(f"/dev/disk/by-id/{link} /srv ext4" for link in others), evidence(SDB), tmp_path)
    each_is(False, tuple(f"ID={link}{part} /srv" for link in links for part in ("", "-part1")), TARGET, tmp_path)


ATA = "devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sdb"


def test_disk_is_named_by_its_place_where_udev_made_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ATA).mkdir(parents=True)
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / "dev/block/8:16").symlink_to(tmp_path / ATA)
    port = tmp_path / "devices/pci0000:00/0000:00:1f.2/ata3/ata_port/ata3/port_no"
    port.parent.mkdir(parents=True)
    port.write_text("2\n")
    for link, expected in (
        ("pci-0000:00:1f.2-ata-2", True),
        ("pci-0000:00:1f.2-ata-2.0", True),
        ("pci-0000:00:1f.2-scsi-0:0:0:0", True),
        ("pci-0000:00:1f.2-ata-3", False),
        ("pci-0000:00:1f.2-scsi-0:0:1:0", False),
        ("pci-0000:00:1f.5-ata-2", False),
    ):
        assert named._may_be_plugged_in_at(link, SDB, str(tmp_path)) is expected, link


def test_volume_number_and_file_are_names_too(tmp_path: Path) -> None:
    volume = evidence(device("dm-1", 253, 1, dm_name="my--vg-srv", dm_uuid="LVM-x"))
    each_is(True, ("/dev/my-vg/srv /srv xfs", "/dev/mapper/my--vg-srv /srv xfs"), volume, tmp_path)
    each_is(False, ("/dev/my/vg-srv /srv xfs",), volume, tmp_path)
    each_is(True, ("root=8:18 rw", "resume=0812", "root=/dev/sdb2 ro"), TARGET, tmp_path)
    each_is(False, ("root=8:17 rw", "resume=0811", "x=8:18"), TARGET, tmp_path)


def test_file_below_loop_device_is_named_by_path(tmp_path: Path) -> None:
    target = evidence(LOOP0)
    each_is(True, ("/srv/disk /mnt ext4 loop,noauto", "vault /srv/disk none luks"), target, tmp_path)
    each_is(False, ("/srv/disk2 /mnt ext4 loop", "/other /srv/diskette ext4"), target, tmp_path)


def test_file_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "auto.master.d").mkdir()
    assert read_mentions([str(tmp_path / "*")]) == {}
    (tmp_path / "fstab").symlink_to("/proc/self/mem")
    with pytest.raises(OSError, match="Input/output error"):
        read_mentions([str(tmp_path / "*")])


def test_long_line_is_read_in_little_time() -> None:
    """One line of 100 KB with thousands of names and possible ends must not be read in quadratic time."""
    assert len(find_names('{"dev": "/dev/disk/by-id/x"}, ' * 4000)) < 4000
