"""A machine held against a kit: every kind of difference is named, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.kit.check import Box, BoxArray, check_kit, free_names, objection, remedies
from fsconsole.kit.files import managed_files
from fsconsole.kit.values import Kit
from fsconsole.model.answers import KitCheckAnswer
from fsconsole.model.plan import Setting
from fsconsole.preflight.box import later_sysctl
from tests.unit.kit.kits import RAID5, disks, kit_of

KIT = kit_of(array=RAID5, devices=disks(3))
assert KIT.array is not None
PATHS = tuple(device.path for device in KIT.devices)


def healthy(kit: Kit) -> Box:
    assert kit.array is not None
    files: dict[str, str | None] = {file.path: file.content for file in managed_files(kit)}
    files["/etc/fstab"] = f"# root\n{kit.fstab}\n".replace(" ", "\t")
    files["/etc/mdadm/mdadm.conf"] = f"ARRAY {kit.array.path} metadata=1.2 UUID={kit.array.uuid}\n"
    return Box(
        sizes={device.path: device.size_bytes for device in kit.devices},
        array=BoxArray(kit.array.uuid, "raid5", 65536, PATHS, (), (), "none"),
        uuid=kit.uuid,
        filesystem="ext4",
        features={**dict(kit.features), "journal_size": "1024M", "needs_recovery": "on"},
        features_why="",
        mounted_from=kit.device,
        mount_features={**dict(kit.mount_features), "stripe": "32"},
        settings={(one.device, one.file): one.value for one in kit.settings},
        files=files,
    )


ODD = [
    replace(KIT, schema=2), replace(KIT, devices=()), replace(KIT, mount_point="/srv/../etc"), replace(KIT, name="../x"),
    replace(KIT, settings=(replace(KIT.settings[0], file="queue/../../../etc/shadow"),)),
    replace(KIT, settings=(replace(KIT.settings[0], device="/dev/other"),)),
    replace(KIT, array=replace(KIT.array, uuid="x")), replace(KIT, array=replace(KIT.array, path="/dev/sda")),
]  # fmt: skip


def test_what_names_other_files_than_a_kit_does_is_none() -> None:
    assert objection(KIT) == objection(kit_of()) == ""
    assert all(objection(kit) for kit in ODD)


def differing(box: Box) -> dict[str, str]:
    checks = check_kit(KIT, box, free_names(KIT, load_catalog().get("ext4")))
    return {check.what: check.found for check in checks if check.verdict != "same"}


def test_a_machine_as_the_kit_made_it_differs_in_nothing() -> None:
    assert differing(healthy(KIT)) == {}


def test_of_sysctls_later_files_the_last_word_counts_and_the_kits_own_value_is_no_difference() -> None:
    own, other = "vm.dirty_bytes=268435456", "vm.dirty_bytes=1"
    for texts, count in (((own,), 0), ((other, own), 0), ((own, other), 1), (("vm.swappiness = 1", "; x = 1"), 0)):
        box = replace(healthy(KIT), sysctl=tuple((f"/etc/sysctl.d/9{n}", text) for n, text in enumerate(texts, 1)))
        assert len(differing(box)) == count, texts


def test_the_files_of_sysctl_after_the_kits_own_are_read_in_the_order_of_a_boot(tmp_path: Path) -> None:
    names = ("etc/sysctl.d/10-early.conf", "etc/sysctl.d/95-b.conf", "run/sysctl.d/95-b.conf", "usr/lib/sysctl.d/91-a.conf",
             "etc/sysctl.d/99-no.txt", "etc/sysctl.conf")  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    later = ["/usr/lib/sysctl.d/91-a.conf", "/etc/sysctl.d/95-b.conf", "/etc/sysctl.conf"]
    assert [path for path, _ in later_sysctl(KIT, str(tmp_path))] == later
    assert later_sysctl(kit_of(setting=Setting(())), str(tmp_path)) == ()


def test_a_mount_unit_that_no_boot_starts_is_named() -> None:
    kit = replace(KIT, is_unit=True)
    box = healthy(kit)
    link = "/etc/systemd/system/local-fs.target.wants/srv-data.mount"
    for text, found in ((None, "not there"), ("[Mount]", "enabled")):
        checks = check_kit(kit, replace(box, files={**box.files, link: text}), frozenset())
        assert [check.found for check in checks if check.what == "srv-data.mount at boot"] == [found]


BOX = healthy(KIT)
assert BOX.array is not None
CASES = [
    (replace(BOX, sizes=dict(list(BOX.sizes.items())[1:])), {f"bytes of {PATHS[0]}": "not there"}),
    (
        replace(BOX, array=replace(BOX.array, members=PATHS[1:], others=("sdz",), troubles=("1 members missing",))),
        {f"{PATHS[0]} in {KIT.device}": "none", f"sdz in {KIT.device}": "a member", f"state of {KIT.device}": "1 members missing"},
    ),
    (replace(BOX, array=replace(BOX.array, chunk_bytes=4096)), {f"chunk of {KIT.device}, bytes": "4096"}),
    (replace(BOX, array=replace(BOX.array, bitmap="internal")), {f"bitmap of {KIT.device}": "internal"}),
    (replace(BOX, uuid=None), {f"UUID of the filesystem on {KIT.device}": "not there"}),
    (replace(BOX, features=dict(BOX.features) | {"flex_bg": "on"}), {"feature flex_bg": "on"}),
    (replace(BOX, features={}, features_why="dump.f2fs says nothing"), {"features of the filesystem": "dump.f2fs says nothing"}),
    (replace(BOX, mount_features=dict(BOX.mount_features) | {"commit": "30"}), {"mount option commit": "30"}),
    (replace(BOX, mounted_from=""), {"mounted on /srv/data": "not there"}),
    (
        replace(BOX, settings=dict(BOX.settings) | {("", "vm.dirty_bytes"): "0"}),
        {"vm.dirty_bytes": "0"},
    ),
    (replace(BOX, files=dict(BOX.files) | {"/etc/fstab": f"#{KIT.fstab}"}), {"line in /etc/fstab": "not there"}),
    *(
        (
            replace(BOX, files=dict(BOX.files) | {"/etc/fstab": f"{KIT.fstab}\n{line}\n"}),
            {"other lines in /etc/fstab for /srv/data or its UUID": " ".join(line.split())},
        )
        for line in (
            "/dev/sdx1  /srv/data/  xfs defaults 0 0", f'UUID="{KIT.uuid.upper()}" /srv/other ext4 ro 0 0', KIT.fstab,
            f"/dev/disk/by-uuid/{KIT.uuid} /mnt ext4 ro 0 0",
        )
    ),
    *(
        (
            replace(BOX, sysctl=(("/usr/lib/sysctl.d/95-x.conf", text), ("/etc/sysctl.conf", "# vm.dirty_bytes = 7"))),
            {"vm.dirty_bytes in sysctl's later files": f"{text.lstrip('-').replace('/', '.')} in /usr/lib/sysctl.d/95-x.conf"},
        )
        for text in ("vm.dirty_bytes = 1", "-vm/dirty_ratio = 20")
    ),
    (
        replace(BOX, files=dict(BOX.files) | {"/etc/sysctl.d/90-fsconsole-srv-data.conf": "vm.dirty_bytes = 1\n"}),
        {"/etc/sysctl.d/90-fsconsole-srv-data.conf": "changed"},
    ),
]  # fmt: skip


def test_the_remedy_of_a_mount_option_is_a_new_mount_and_of_all_else_the_script() -> None:
    option = KitCheckAnswer("mount option commit", "5", "30", "differs")
    other = KitCheckAnswer("read_ahead of /dev/x", "256", "128", "differs")
    for is_unit, command in (
        (False, "umount /srv/data && mount /srv/data"),
        (True, "systemctl restart srv-data.mount"),
    ):
        (said,) = remedies(kit_of(is_unit=is_unit), (option,))
        assert said.startswith(f"`{command}` mounts it anew")
    (said,) = remedies(kit_of(), (other,))
    assert "apply.sh --dry-run" in said


@pytest.mark.parametrize(("box", "found"), CASES)
def test_each_difference_is_named_and_no_other(box: Box, found: dict[str, str]) -> None:
    assert differing(box) == found
