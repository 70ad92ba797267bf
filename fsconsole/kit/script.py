"""apply.sh of a kit: proves its devices free and blank, prints each command, and changes nothing the second time."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files

from fsconsole.kit.files import (
    FSTAB,
    MDADM_CONFIGS,
    fstab_entry,
    managed_files,
    mdadm_line,
    mount_point_pattern,
    unit_link,
    unit_name,
)
from fsconsole.kit.values import Kit
from fsconsole.text import printable


@dataclass(frozen=True, slots=True)
class GateFacts:
    """Where the wipe gate looks, for boxes on which apply.sh has to look by itself."""

    sample_offsets: Callable[[int], tuple[int, ...]]
    """Returns the byte offsets of the sampled blocks of a device of that size."""
    block_bytes: int
    ends_bytes: int
    """Length of each end that is read in full."""
    named_in: tuple[str, ...]
    """Shell patterns of files that name devices for later use."""


def script_text(kit: Kit, gate: GateFacts) -> str:
    """Return apply.sh of a kit."""
    lines = [
        "#!/bin/sh",
        f"# {kit.filesystem} for {kit.mount_point}, by fsconsole {kit.version}.",
        f"# Run {_comment(kit.run)}, row '{_comment(kit.row)}'.",
        "#",
        *(f"# - {_comment(sentence)}" for sentence in kit.differing),
        "set -eu",
        "# What is closed would be a tool's device: mkfs would write its messages there.",
        "[ -e /proc/self/fd/0 ] || exec </dev/null",
        "[ -e /proc/self/fd/1 ] || exec >/dev/null",
        "[ -e /proc/self/fd/2 ] || exec 2>/dev/null",
        'export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"',
        f"named={shlex.quote(' '.join(dict.fromkeys((*(one.path for one in kit.devices), kit.device))))}",
        *_gate_facts(kit, gate),
        "",
        *((files("fsconsole.kit") / name).read_text("utf-8") for name in ("prove.sh", "apply.sh")),
        '[ "$(id -u)" = 0 ] || die "Run it as root."',
        f"need awk blkid blockdev cmp find findmnt flock install losetup lsblk mountpoint stat timeout wipefs xargs {_programs(kit)}",
        "",
        f"uuid={kit.uuid}",
        f"device={shlex.quote(kit.device)}",
        f"mount_point={shlex.quote(kit.mount_point)}",
        "unfinished=/var/lib/fsconsole-kit-$uuid",
        *_in_the_way(kit),
        *_array(kit),
        *_filesystem(kit),
        *_finish(),
        *_files(kit),
        *_in_effect(kit),
        "finish",
    ]
    return "\n".join(lines) + "\n"


def _gate_facts(kit: Kit, gate: GateFacts) -> Iterator[str]:
    yield f"named_in={shlex.quote(' '.join(gate.named_in))}"
    yield f"block_bytes={gate.block_bytes} ends_bytes={gate.ends_bytes}"
    yield "# Offsets of the blocks that are read of each device; an array's size is not known beforehand."
    yield "samples_of() {\n    case $1 in"
    for device in kit.devices:
        offsets = " ".join(map(str, gate.sample_offsets(device.size_bytes)))
        yield f"    {shlex.quote(device.path)}) echo {shlex.quote(offsets)} ;;"
    yield "    esac\n}"


def _comment(text: str) -> str:
    return printable(text)


def _programs(kit: Kit) -> str:
    names = [argv[0] for argv in kit.make] + (["mdadm"] if kit.array is not None else [])
    return " ".join(map(shlex.quote, dict.fromkeys(names)))


def _in_the_way(kit: Kit) -> Iterator[str]:
    """Yield the lines that refuse what is somebody else's, before anything is changed."""
    yield """
# One at a time. Nobody but root can open the lock's folder, and so hold the lock.
lock=/run/fsconsole-kit
mkdir -m 0700 $lock 2>/dev/null || :
[ "$(stat -c '%F %u %a' $lock)" = 'directory 0 700' ] || die "$lock is not a directory of root with mode 0700."
mask=$(umask)
umask 077
exec 9>>$lock/lock
umask "$mask"
flock --nonblock 9 || die 'another apply.sh is running.'

# What is in the way.
if mountpoint -q "$mount_point"; then
    source=$(findmnt --noheadings --output SOURCE --mountpoint "$mount_point" | tail -n 1)
    [ "$(readlink -f "$source")" = "$(readlink -f "$device")" ] || die "$source is mounted on $mount_point."
elif [ -d "$mount_point" ] && [ -n "$(ls -A "$mount_point")" ]; then
    die "$mount_point has files, which a mount would hide."
fi"""
    entry = fstab_entry(kit)
    place, own = mount_point_pattern(kit.mount_point), entry.key if entry is not None else ""
    yield f"""taken=$(awk -v place='^{place}$' '$1 !~ /^#/ && $2 ~ place && $1 != "{own}" {{ print $1 }}' {FSTAB} 2>/dev/null || :)
[ -z "$taken" ] || die "{FSTAB} mounts $taken on $mount_point.\""""
    if entry is not None:
        yield f"refuse_other {entry.path} {shlex.quote(entry.key)} {shlex.quote(entry.line)}"
    if kit.array is not None:
        first, second = MDADM_CONFIGS
        yield f"""config={second}
if [ -d {first.rpartition("/")[0]} ]; then config={first}; fi
refuse_other "$config" {kit.array.uuid} {shlex.quote(mdadm_line(kit))}
refuse_other "$config" "ARRAY $device " {shlex.quote(mdadm_line(kit))}"""


def _array(kit: Kit) -> Iterator[str]:
    """Yield the lines that make the array, or bring up the one that this kit has made."""
    paths = " ".join(shlex.quote(device.path) for device in kit.devices)
    yield from ("", "# The devices.", f"set -- {paths}")
    array = kit.array
    if array is None:
        return
    yield f"""
# The array: one with this UUID was made by this kit.
array_uuid={array.uuid}
has_array() {{ mdadm --detail --export "$device" 2>/dev/null | grep -qx "MD_UUID=$array_uuid"; }}
is_member() {{ mdadm --examine --export "$1" 2>/dev/null | grep -qx "MD_UUID=$array_uuid"; }}
members=0
for member in "$@"; do
    if is_member "$member"; then members=$((members + 1)); fi
done
if has_array; then
    printf '%s is there.\\n' "$device"
elif [ "$members" -gt 0 ]; then
    printf '%s exists on %s of %s devices.\\n' "$device" "$members" $#
    run mdadm --assemble "$device" --uuid="$array_uuid" "$@"
else
    if [ -e "$device" ]; then die "$device is another array."; fi"""
    yield from (f"    prove_first {shlex.quote(device.path)} {device.size_bytes}" for device in kit.devices)
    # All of its members were blank, or may lose what was on them: what the array shows may go, too.
    yield f"""    for member in "$@"; do clear_overwritten "$member"; done
    wipe "$@" -- {shlex.join(array.create)}
    made="$made $device"
    settle
fi"""


def _filesystem(kit: Kit) -> Iterator[str]:
    """Yield the lines that make the filesystem, unless it is there."""
    size = str(kit.devices[0].size_bytes) if kit.array is None else "any"
    stopped = ""
    if kit.array is not None:
        stopped = """elif [ "$dry" = yes ] && [ "$members" -gt 0 ] && ! has_array; then
    echo 'What is on it shows when it is up: a dry run leaves it stopped.'
"""
    mkfs, *tuning = kit.make
    yield f"""
# The filesystem: one with this UUID was made by this kit.
has_filesystem() {{ [ "$(blkid --probe --output value --match-tag UUID "$device" 2>/dev/null)" = "$uuid" ]; }}
if has_filesystem && ! is_unfinished mkfs; then
    printf '%s has its filesystem.\\n' "$device"
{stopped}else
    if ! in_words "$device" "$made"; then
        prove_first "$device" {size}
        clear_overwritten "$device"
    fi
    step=mkfs
    wipe "$device" -- {shlex.join(mkfs)}
    made="$made $device\""""
    yield from (f'    wipe "$device" -- {shlex.join(argv)}' for argv in tuning)
    yield """    if [ "$dry" = no ] && ! has_filesystem; then die "$device has no filesystem with UUID $uuid after mkfs."; fi
    end mkfs
    settle
fi"""


def _finish() -> Iterator[str]:
    yield """
was_mounted=no
finish() {
    if [ "$changes" = 0 ]; then
        echo 'Nothing was changed: all is as it should be.'
        if [ "$was_mounted" = yes ]; then
            echo 'Options of a living mount are not looked at here: fsconsole verify-kit compares them.'
        fi
    elif [ "$dry" = yes ]; then
        if [ "$changes" = 1 ]; then echo '1 change would be made.'; else echo "$changes changes would be made."; fi
    elif [ "$changes" = 1 ]; then
        echo '1 change was made.'
    else
        echo "$changes changes were made."
    fi
}
if [ "$devices_only" = yes ]; then
    finish
    exit 0
fi"""


def _files(kit: Kit) -> Iterator[str]:
    """Yield the lines that write what the next boot needs."""
    yield "\n# What the next boot needs."
    for file in managed_files(kit):
        yield f"put_one=no\nput {shlex.quote(file.path)} <<'END'\n{file.content}END"
        after = _after(file.path)
        yield f'if [ "$put_one" = yes ]; then {after}; fi'
    entry = fstab_entry(kit)
    if entry is not None:
        yield f"""put_one=no
add_line {entry.path} {shlex.quote(entry.line)}
if [ "$put_one" = yes ] && [ -d /run/systemd/system ]; then run systemctl daemon-reload; fi"""
    if line := mdadm_line(kit):
        yield f"""has_line "$config" {shlex.quote(line)} || begin initramfs
put_one=no
add_line "$config" {shlex.quote(line)}
if [ "$put_one" = yes ] || is_unfinished initramfs; then
    # The initramfs has a copy of it, by which arrays are named at boot.
    if command -v update-initramfs >/dev/null; then
        run update-initramfs -u
    elif command -v dracut >/dev/null; then
        run dracut --force
    else
        echo 'No update-initramfs and no dracut: renew the initramfs yourself, if there is one.'
    fi
    end initramfs
fi"""


def _after(path: str) -> str:
    if path.startswith("/etc/udev/"):
        return "if udev_runs; then run udevadm control --reload; fi"
    if path.startswith("/etc/systemd/"):
        return "if [ -d /run/systemd/system ]; then run systemctl daemon-reload; fi"
    return ":"


def _in_effect(kit: Kit) -> Iterator[str]:
    """Yield the lines that put it into effect now."""
    mount, enable = 'run mount "$mount_point"', ""
    if kit.is_unit:
        unit = shlex.quote(unit_name(kit.mount_point))
        mount, enable = (
            f"run systemctl start {unit}",
            f"[ -e {shlex.quote(unit_link(kit))} ] || run systemctl enable {unit}",
        )
    yield f"""
# Now.
{enable}
if ! mountpoint -q "$mount_point"; then
    [ -d "$mount_point" ] || run mkdir -p "$mount_point"
    {mount}
else
    was_mounted=yes
fi"""
    for one in kit.settings:
        if one.device:
            name = f'"/sys/class/block/$(kernel_name {shlex.quote(one.device)})/{one.file}"'
            # In a dry run an array isn't there yet.
            yield f"if [ -e {shlex.quote(one.device)} ]; then set_value {name} {shlex.quote(one.value)}; fi"
        else:
            yield f"set_value /proc/sys/{one.file.replace('.', '/')} {shlex.quote(one.value)}"
