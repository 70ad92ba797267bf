"""What a kit writes: shells read it, no label or path acts in it, and each setting stands where a boot finds it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import Misused
from fsconsole.errors.runs import NothingToApply
from fsconsole.kit.build import Wanted, kit_name, require_plain
from fsconsole.kit.derive import derive
from fsconsole.kit.files import fstab_entry, managed_files, mdadm_line, unit_link, unit_name
from fsconsole.kit.playbook import playbook_text
from fsconsole.kit.readme import readme_text
from fsconsole.kit.values import Kit, KitDevice
from fsconsole.model.plan import ArraySpec, Setting
from fsconsole.model.wire import decode, encode
from fsconsole.system.run import find_program
from fsconsole.text import GIB, TIB
from tests.unit.kit.kits import ARRAY_UUID, RAID5, disks, kit_of, script_of
from tests.unit.kit.test_lines import UUID, variant_of

HOSTILE = st.text(max_size=40) | st.sampled_from(
    [
        "'; rm -rf / #",
        "$(reboot)",
        "`reboot`",
        "{{ lookup('pipe', 'reboot') }}",
        "a\nEND\nreboot",
        "\u2028reboot",
        "%s\\x",
    ]
)


def acting(text: str) -> set[str]:
    """Return the control, format and line characters of a text but for its newlines."""
    return {one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}


@given(HOSTILE)
def test_a_hostile_row_name_stands_in_comments_only(label: str) -> None:
    plain, hostile = kit_of("it"), kit_of(label)
    for text in (script_of, playbook_text):
        lines = [[line for line in text(kit).split("\n") if not line.startswith("#")] for kit in (plain, hostile)]
        assert lines[0] == lines[1]
        assert not acting(text(hostile))
    assert not acting(readme_text(hostile))
    of_run = script_of(replace(plain, run=label)).split("\n")
    assert [line for line in of_run if not line.startswith("#")] == [
        line for line in script_of(plain).split("\n") if not line.startswith("#")
    ]


@pytest.mark.parametrize("value", ['none", RUN+="reboot', 'x"\nEND\nreboot #', "", "$(reboot)"])
@pytest.mark.parametrize("name", ["scheduler", "nr_requests"])
def test_a_setting_that_an_imported_run_made_up_is_refused(name: str, value: str) -> None:
    with pytest.raises(NothingToApply):
        kit_of(setting=Setting(((name, value),)))


@pytest.mark.parametrize(
    ("name", "seen", "is_told"),
    [
        ("ext3", {"block_size": "4096", "inodes": "131072"}, None),
        ("ext4", {"block_size": "4096", "inodes": "131072", "64bit": "on"}, False),
        ("ext4", {"block_size": "1024", "inodes": "524288", "64bit": "on"}, True),
    ],
)
def test_what_ext_can_not_number_on_20_tib_is_refused_or_told(
    name: str, seen: dict[str, str], is_told: bool | None
) -> None:
    filesystem = load_catalog().get(name)
    if is_told is None:
        with pytest.raises(NothingToApply, match=r"16\.0 TiB"):
            derive(filesystem, variant_of(filesystem, ""), seen, 2 * GIB, 20 * TIB)
    else:
        derived = derive(filesystem, variant_of(filesystem, ""), seen, 2 * GIB, 20 * TIB)
        assert any("4,294,967,295 inodes" in one for one in derived.differing) == is_told


@given(HOSTILE.map(lambda text: f"/srv/{text}"), HOSTILE.map(lambda text: f"/dev/disk/by-id/{text}"))
def test_a_path_is_refused_or_means_the_same_to_all_that_read_it(point: str, device: str) -> None:
    devices = (KitDevice(device, 16 * GIB, device),)
    try:
        require_plain(Wanted(devices, point, UUID, ARRAY_UUID))
    except Misused:
        return
    kit = kit_of(devices=devices, at=point)
    assert shlex.quote(device) == device
    assert shlex.quote(point) == point
    entry = fstab_entry(kit)
    assert entry is not None
    assert entry.line.split()[1] == point
    assert not set(device + point) & set("*?[]|\"'\\{}%$ ")
    assert kit_name(point)


@pytest.mark.parametrize(
    "point", ["srv", "/", "/srv/..", "/etc", "/usr/x", "/srv/a b", "/srv/\u00e9", "/srv//x", "/srv/"]
)
def test_a_mount_point_of_the_system_or_of_odd_letters_is_refused(point: str) -> None:
    with pytest.raises(Misused):
        kit_of(at=point)


KITS = [kit_of(), kit_of(is_unit=True), kit_of(array=RAID5, devices=disks(4)), kit_of("a\n$(reboot) 'x'")]


@pytest.mark.parametrize("kit", KITS)
@pytest.mark.parametrize("shell", ["sh", "dash", "bash"])
def test_every_shell_reads_the_script_and_its_help_without_root_changes_nothing(kit: Kit, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    text = script_of(kit)
    assert subprocess.run([shell, "-n"], input=text, text=True, check=False).returncode == 0
    done = subprocess.run([shell, "-s", "--", "--help"], input=text, text=True, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--overwrite DEVICE" in done.stdout


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck")
def test_shellcheck_has_no_word_on_the_scripts(tmp_path: Path) -> None:
    for number, kit in enumerate(KITS):
        (tmp_path / f"{number}.sh").write_text(script_of(kit))
    argv = ["shellcheck", "--norc", *sorted(tmp_path.iterdir())]
    done = subprocess.run(argv, text=True, check=False, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "")


_YAML_AS_JSON = """
import json, sys, yaml
yaml.SafeLoader.add_constructor("!unsafe", yaml.SafeLoader.construct_yaml_str)
json.dump(yaml.safe_load(sys.stdin), sys.stdout)
"""
_SYSTEMS_PYTHON = ("/usr/bin/python3", "-I", "-c")
"""Which has the parser where yamllint is a package of the system; the checkout's own Python has none."""


@pytest.mark.skipif(shutil.which("yamllint") is None, reason="no yamllint")
@pytest.mark.parametrize("kit", KITS)
def test_a_parser_of_yaml_reads_the_playbook_as_it_is_meant(kit: Kit) -> None:
    text = playbook_text(kit)
    rules = "{extends: default, rules: {line-length: disable}}"
    done = subprocess.run(
        ["yamllint", "--strict", "-d", rules, "-"], input=text, text=True, check=False, capture_output=True
    )
    assert (done.returncode, done.stdout) == (0, "")
    if subprocess.run([*_SYSTEMS_PYTHON, "import yaml"], check=False, capture_output=True).returncode:
        pytest.skip("the system's Python has no yaml")
    done = subprocess.run([*_SYSTEMS_PYTHON, _YAML_AS_JSON], input=text, text=True, check=True, capture_output=True)
    (play,) = json.loads(done.stdout)

    def of(module: str) -> list[dict[str, str]]:
        return [task[f"ansible.builtin.{module}"] for task in play["tasks"] if f"ansible.builtin.{module}" in task]

    assert (play["hosts"], play["become"], play["vars"]) == ("all", True, {"overwrite": []})
    assert {one["dest"]: one["content"] for one in of("copy")} == {one.path: one.content for one in managed_files(kit)}
    assert {one["mode"] for one in of("copy")} == {"0644"}
    entry = fstab_entry(kit)
    assert [(one["path"], one["line"]) for one in of("lineinfile")] == ([(entry.path, entry.line)] if entry else [])
    assert [one["cmd"].partition("{{")[0] for one in of("script")] == ["apply.sh --devices-only", "apply.sh"]
    named = {task["notify"] for task in play["tasks"] if "notify" in task}
    assert named <= {handler["name"] for handler in play["handlers"]}


@pytest.mark.parametrize("kit", KITS)
@pytest.mark.parametrize("name", ["/dev/sdx", "", "/dev/disk/by-id/wwn-0 /dev/disk/by-id/wwn-1", "wwn-0", "*"])
def test_a_name_to_overwrite_that_is_not_in_the_script_is_refused_before_all_else(kit: Kit, name: str) -> None:
    argv = ["sh", "-s", "--", "--dry-run", "--overwrite", name]
    done = subprocess.run(argv, input=script_of(kit), text=True, check=False, capture_output=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"apply.sh: --overwrite {name}: ")
    assert done.stderr.endswith(f"{kit.device}\n")


def test_every_device_of_a_script_may_be_overwritten_by_its_name() -> None:
    for kit in KITS:
        for name in (*(device.path for device in kit.devices), kit.device):
            argv = ["sh", "-s", "--", "--overwrite", name, "--help"]
            done = subprocess.run(argv, input=script_of(kit), text=True, check=False, capture_output=True)
            assert (done.returncode, done.stderr) == (0, "")


class BootPart:
    """The part of an array's apply.sh that writes what the next boot needs, in a folder in place of /, with stubs on PATH."""

    def __init__(self, root: Path, tool: str, acts: str = "") -> None:
        self.root, self.tool = root, tool
        self.config, self.log, path = root / "etc/mdadm/mdadm.conf", root / "log", root / "bin"
        for folder in (path, self.config.parent):
            folder.mkdir(parents=True)
        for name in [
            "basename",
            "cat",
            "cmp",
            "cut",
            "dirname",
            "grep",
            "install",
            "mkdir",
            "mktemp",
            "readlink",
            "rm",
            "sed",
            "tail",
        ]:
            (path / name).symlink_to(find_program(name))
        stub = path / tool
        stub.write_text(f'#!/bin/sh\necho "{tool} $* with $(grep -c ^ARRAY {self.config})" >>{self.log}\n{acts}\n')
        stub.chmod(0o755)

    def run(self, *words: str) -> tuple[int, str]:
        text = script_of(kit_of(array=RAID5, devices=disks(3)))
        text = text.replace("/etc/", f"{self.root}/etc/")
        head, files = text.partition('[ "$(id -u)"')[0], text.partition("# What the next boot needs.")[2]
        own = f"unfinished={self.root}/unfinished config={self.config}\n"
        script = f"{head}{own}{files.partition('# Now.')[0]}echo $changes"
        argv = ["/bin/sh", "-s", "--", *words]
        path = {"PATH": str(self.root / "bin")}
        done = subprocess.run(argv, input=script, text=True, check=False, capture_output=True, env=path)
        return done.returncode, done.stdout

    @property
    def called(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.mark.parametrize(("tool", "words"), [("update-initramfs", "-u"), ("dracut", "--force")])
def test_the_initramfs_is_renewed_once_after_mdadms_line_is_in_its_file(tmp_path: Path, tool: str, words: str) -> None:
    part = BootPart(tmp_path, tool)
    code, told = part.run("--dry-run")
    assert (code, part.called, part.config.exists()) == (0, [], False)
    assert f"+ {tool} {words}" in told
    assert part.run()[0] == 0
    # One line was there when it was called.
    assert part.called == [f"{tool} {words} with 1"]
    assert part.run() == (0, "0\n")
    assert len(part.called) == 1


def test_an_initramfs_that_was_interrupted_is_renewed_by_the_next_call(tmp_path: Path) -> None:
    part = BootPart(tmp_path, "dracut", acts=f"[ -e {tmp_path}/killed ] || {{ : >{tmp_path}/killed; kill -9 $PPID; }}")
    assert part.run()[0] == -signal.SIGKILL
    assert part.run()[0] == 0
    assert part.called == ["dracut --force with 1"] * 2
    assert part.run() == (0, "0\n")


def test_the_number_of_changes_is_told_in_words_that_fit_it() -> None:
    finish = re.search(r"^finish\(\) \{.*?^\}", script_of(kit_of()), re.DOTALL | re.MULTILINE)
    assert finish is not None
    for dry, changes, said in (
        ("no", 0, "Nothing was changed: all is as it should be."), ("no", 1, "1 change was made."),
        ("no", 2, "2 changes were made."), ("yes", 1, "1 change would be made."), ("yes", 3, "3 changes would be made."),
    ):  # fmt: skip
        text = f"dry={dry} changes={changes}\n{finish[0]}\nfinish"
        assert subprocess.run(["sh"], input=text, text=True, check=True, capture_output=True).stdout == f"{said}\n"


def test_systemd_takes_the_mount_unit_and_enables_it_where_verify_kit_looks(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    kit = kit_of(is_unit=True)
    (unit,) = (file for file in managed_files(kit) if file.path.endswith(".mount"))
    path = tmp_path / unit.path.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_text(unit.content)
    done = subprocess.run(["systemd-analyze", "verify", str(path)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    subprocess.run(["systemctl", f"--root={tmp_path}", "enable", path.name], check=True, capture_output=True)
    assert (tmp_path / unit_link(kit).lstrip("/")).is_symlink()


def test_a_playbook_makes_a_missing_fstab_as_the_script_does() -> None:
    (task,) = re.findall(r"lineinfile:\n(?:        .*\n)+", playbook_text(kit_of()))
    assert "        create: true\n" in task


def test_what_mkfs_chooses_by_the_size_is_said_to_be_not_kept() -> None:
    told = " ".join(readme_text(kit_of()).split())
    assert "Measured with inodes 131072, journal_size 64M" in told
    assert "not kept, as mkfs chooses by the size here." in told
    assert "as measured; mkfs" not in told


def test_the_readme_says_how_many_inodes_mkfs_makes_on_the_new_size_or_how_to_see_them() -> None:
    told = " ".join(readme_text(kit_of(devices=disks(1, 16 * GIB))).split())
    assert (
        "By its inode ratio it gets about 1,048,576 inodes here, and holds no more files than that: see `df -i`."
        in told
    )
    unread = " ".join(readme_text(kit_of(seen={})).split())
    assert "Its number of inodes is fixed by mkfs and not known here: see `df -i`." in unread


def test_of_a_filesystem_that_makes_inodes_as_it_needs_them_no_number_is_told() -> None:
    xfs, seen = load_catalog().get("xfs"), {"meta-data.agcount": "4", "inodes": "64"}
    derived = derive(xfs, variant_of(xfs), seen, 2 * GIB, 16 * GIB)
    assert "inode" not in " ".join(derived.differing)


def test_the_kits_readme_says_how_to_take_it_back(tmp_path: Path) -> None:
    kit = kit_of()
    told = readme_text(kit)
    assert "It mounts /srv/data now, and at every boot." in told
    assert "--overwrite DEVICE" in told
    (tmp_path / "fstab").write_text(f"UUID=x / ext4\n{kit.fstab}\n")
    (edit,) = (line.strip() for line in told.splitlines() if "/etc/fstab" in line)
    subprocess.run(["sh"], input=edit.replace("/etc", str(tmp_path)), text=True, check=True)
    assert (tmp_path / "fstab").read_text() == "UUID=x / ext4\n"
    for file in managed_files(kit):
        assert f"rm {file.path}" in told or f" {file.path}" in told
    array = readme_text(kit_of(array=RAID5, devices=disks(3), is_unit=True))
    assert "systemctl disable --now srv-data.mount" in array
    assert "mdadm --stop /dev/md/srv-data" in array


def test_a_kit_is_read_again_as_it_was_written() -> None:
    for kit in KITS:
        assert decode(Kit, encode(kit)) == kit


def test_settings_stand_where_a_boot_finds_them_and_the_loads_memory_nowhere() -> None:
    files = {file.path: file.content for file in managed_files(kit_of())}
    rules = files["/etc/udev/rules.d/99-fsconsole-srv-data.rules"]
    assert 'SYMLINK=="disk/by-id/wwn-0", ATTR{queue/read_ahead_kb}="1024"' in rules
    assert 'SYMLINK=="disk/by-id/wwn-0", ATTR{queue/scheduler}="none"' in rules
    assert files["/etc/sysctl.d/90-fsconsole-srv-data.conf"].endswith("vm.dirty_bytes = 268435456\n")
    assert "memory" not in "".join(files.values())
    assert "memory limit of 1GiB" in readme_text(kit_of()).replace("\n  ", " ")


def test_an_array_is_made_by_lasting_names_with_its_uuid_synced_and_named_at_boot() -> None:
    kit = kit_of(array=RAID5, devices=disks(4))
    assert kit.array is not None
    assert kit.array.create == (
        "mdadm", "--create", "/dev/md/srv-data", "--run", "--metadata=1.2", "--uuid=aaaabbbb:cccc4ddd:8eeeffff:00001111",
        "--name=srv-data", "--level=raid5", "--raid-devices=4", "--chunk=64K", "--bitmap=none",
        *(f"/dev/disk/by-id/wwn-{number}" for number in range(4)),
    )  # fmt: skip
    assert mdadm_line(kit) == "ARRAY /dev/md/srv-data metadata=1.2 UUID=aaaabbbb:cccc4ddd:8eeeffff:00001111"
    rules = managed_files(kit)[0].content
    md = 'ENV{MD_UUID}=="aaaabbbb:cccc4ddd:8eeeffff:00001111"'
    assert f'{md}, ATTR{{md/stripe_cache_size}}="4096"' in rules
    assert f'{md}, ATTR{{queue/read_ahead_kb}}="1024"' in rules
    assert rules.count('ATTR{queue/scheduler}="none"') == 4
    told = " ".join(kit.differing)
    assert "assumed clean" in told
    assert "this array has 4" in told
    large = kit_of(array=RAID5, devices=disks(3, 200 * GIB)).array
    assert large is not None
    assert "--bitmap=internal" in large.create


@pytest.mark.parametrize(("array", "count"), [(None, 2), (RAID5, 1), (ArraySpec("raid6"), 3)])
def test_a_row_is_refused_for_a_number_of_devices_that_it_can_not_have(array: ArraySpec | None, count: int) -> None:
    with pytest.raises(Misused):
        kit_of(array=array, devices=disks(count))


@pytest.mark.parametrize(
    ("point", "unit"),
    [("/srv/data", "srv-data.mount"), ("/srv/a-b", "srv-a\\x2db.mount"), ("/srv/.x@+", "srv-.x\\x40\\x2b.mount")],
)
def test_a_mounts_unit_has_the_name_that_systemd_wants(point: str, unit: str) -> None:
    assert unit_name(point) == unit
    if shutil.which("systemd-escape"):
        done = subprocess.run(
            ["systemd-escape", "--path", "--suffix=mount", point], check=False, capture_output=True, text=True
        )
        assert done.stdout == f"{unit}\n"
    (file,) = [file for file in managed_files(kit_of(at="/srv/data", is_unit=True)) if file.path.endswith(".mount")]
    assert f"What=/dev/disk/by-uuid/{UUID}\n" in file.content
    assert "Options=noatime,nofail\n" in file.content
    assert fstab_entry(kit_of(is_unit=True)) is None


def test_ansibles_strings_are_never_templates_but_for_the_two_that_must_be() -> None:
    text = playbook_text(kit_of(array=RAID5, devices=disks(4)))
    templates = [line.strip() for line in text.split("\n") if "{{" in line or "{%" in line]
    assert len(templates) == 4
    assert all("overwrite" in one or "ansible_check_mode" in one for one in templates)
    for line in text.split("\n"):
        if "!unsafe" in line:
            assert json.loads(line.partition("!unsafe ")[2])
