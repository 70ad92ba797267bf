"""apply.sh of a kit: what it does is printed, first looked at with --dry-run, and done once."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fsconsole.kit.files import MDADM_CONFIGS, fstab_entry, managed_files, mdadm_line, unit_link, unit_name
from fsconsole.kit.values import Kit
from fsconsole.text import printable

_FUNCTIONS = r"""
usage() {
    cat <<'END'
usage: apply.sh [--dry-run] [--overwrite DEVICE]... [--devices-only]

  --dry-run           print what would be done, and change nothing
  --overwrite DEVICE  this device may lose what is on it; repeat it for each,
                      by the name that stands in this script
  --devices-only      make array and filesystem, and leave /etc and mounts alone
END
}

# A name that this script never asks for would clear nothing: a slip of the hand.
require_named() {
    for one in $named; do
        [ "$one" != "$1" ] || return 0
    done
    printf 'apply.sh: --overwrite %s: this script does not name it, but: %s\n' "$1" "$named" >&2
    exit 2
}

dry=no devices_only=no overwrite='' changes=0
while [ $# -gt 0 ]; do
    case $1 in
    --dry-run) dry=yes ;;
    --devices-only) devices_only=yes ;;
    --overwrite)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        require_named "$2"
        overwrite="$overwrite $2 "
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done

die() {
    printf 'apply.sh: %s\n' "$*" >&2
    exit 1
}

# Print a command that changes something, and run it, without the lock: a daemon would keep it.
run() {
    changes=$((changes + 1))
    printf '+ %s\n' "$*"
    [ "$dry" = yes ] || "$@" 9>&-
}

# A file that stays where a step is interrupted: its result isn't taken for whole.
begin() { [ "$dry" = yes ] || printf '' >"$unfinished.$1"; }
end() { [ "$dry" = yes ] || rm -f "$unfinished.$1"; }
is_unfinished() { [ -e "$unfinished.$1" ]; }

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "$tool is not installed."
    done
}

# The kernel's name of a device: sdb for /dev/disk/by-id/wwn-0x5000.
kernel_name() {
    basename "$(readlink -f "$1")"
}

# The whole disk of a device, which programs lock while they work on it.
disk_of() {
    name=$(kernel_name "$1")
    [ ! -e "/sys/class/block/$name/partition" ] || name=$(basename "$(readlink -f "/sys/class/block/$name/..")")
    printf '/dev/%s' "$name"
}

udev_runs() {
    [ -e /run/udev/control ] && command -v udevadm >/dev/null
}

settle() {
    if udev_runs; then udevadm settle; fi
}

in_list() {
    case $overwrite in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# Blocks of a device are zeros: a short or failed read isn't.
is_zero() { # DEVICE FIRST COUNT
    cmp -s -n $((4096 * $3)) -i $((4096 * $2)):0 "$1" /dev/zero
}

# Why a device is in use; nothing where it isn't.
use_of() {
    name=$(kernel_name "$1")
    mounted=$(lsblk --noheadings --raw --output MOUNTPOINT "$1" | tr -d '\n')
    case $mounted in
    '') ;;
    *'[SWAP]'*) printf 'it, or a part of it, is swap'; return ;;
    *) printf 'it, or a part of it, is mounted on %s' "$mounted"; return ;;
    esac
    for holder in "/sys/class/block/$name/holders"/* "/sys/class/block/$name"/*/holders/* "/sys/class/block/$name/../holders"/*; do
        [ ! -e "$holder" ] || { printf 'it belongs to %s' "${holder##*/}"; return; }
    done
    flock --timeout 3 "$(disk_of "$1")" true || { printf 'another program has locked it'; return; }
    # Without --force it is opened exclusively: the second device of a mounted btrfs shows nowhere else.
    wipefs --all --no-act "$1" >/dev/null 2>&1 || printf 'the kernel says that it is busy'
}

# What is on a device; nothing where 64 spread blocks and both ends are zeros, and no signature is found.
content_of() {
    blockdev --flushbufs "$1"
    found=$(wipefs --no-act --parsable "$1") || die "$1 can't be read by wipefs."
    found=$(printf '%s' "$found" | grep -v '^#' | tr '\n' ' ') || :
    [ -z "$found" ] || { printf 'signatures: %s' "$found"; return; }
    status=0
    blkid --probe "$1" >/dev/null 2>&1 || status=$?
    [ "$status" = 2 ] || { printf 'a filesystem or an array, by blkid'; return; }
    for part in "/sys/class/block/$(kernel_name "$1")"/*/partition; do
        [ ! -e "$part" ] || { printf 'partitions'; return; }
    done
    blocks=$(($(blockdev --getsize64 "$1") / 4096))
    i=0
    while [ "$i" -lt 64 ]; do
        is_zero "$1" $(((blocks - 1) * i / 63)) 1 || { printf 'data'; return; }
        i=$((i + 1))
    done
    is_zero "$1" 0 256 || { printf 'data at its start'; return; }
    is_zero "$1" $((blocks - 256)) 256 || printf 'data at its end'
}

# Prove a device to be here, of its size, unused and blank; or cleared by --overwrite.
prove() { # DEVICE BYTES
    [ -b "$1" ] || die "$1 is not here, or no block device."
    [ "$(blockdev --getro "$1")" = 0 ] || die "$1 is read-only."
    if [ "$2" != any ]; then
        size=$(blockdev --getsize64 "$1")
        [ "$size" = "$2" ] || die "$1 has $size bytes, not the $2 of the device that this was made for."
    fi
    use=$(use_of "$1")
    [ -z "$use" ] || die "$1 is refused: $use."
    content=$(content_of "$1")
    [ -n "$content" ] || return 0
    in_list "$1" || die "$1 is not blank ($content). If all that is on it may go: --overwrite $1"
    printf '%s is overwritten (%s)\n' "$1" "$content"
}

clear_forced() { # DEVICE
    if in_list "$1"; then run wipefs --all --force "$1"; fi
}

# Write a file from stdin unless it is so already.
put() { # FILE
    new=$(mktemp)
    cat >"$new"
    if ! cmp -s "$new" "$1"; then
        sed "s|^|    |" "$new"
        run install -D -m 0644 "$new" "$1"
        put_one=yes
    fi
    rm -f "$new"
}

has_line() { # FILE LINE
    [ -e "$1" ] && grep -qxF -e "$2" "$1"
}

# Another line with the key of one that is to be added is somebody's decision.
refuse_other() { # FILE KEY LINE
    if has_line "$1" "$3"; then return; fi
    if [ -e "$1" ] && grep -v '^[[:space:]]*#' "$1" | grep -qF -e "$2"; then
        die "$1 has another line with $2: put '$3' there yourself, or remove that one."
    fi
}

# Add a line to a file unless it is there.
add_line() { # FILE LINE
    if has_line "$1" "$2"; then return; fi
    printf '    %s\n' "$2"
    run append "$1" "$2"
    put_one=yes
}

append() { # FILE LINE
    mkdir -p "$(dirname "$1")"
    if [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ]; then printf '\n' >>"$1"; fi
    printf '%s\n' "$2" >>"$1"
}

# Set a kernel's file to a value unless it has it; of a list of schedulers the chosen one counts.
set_value() { # FILE VALUE
    # In a dry run an array is stopped, or not made yet.
    if [ ! -e "$1" ] && [ "$dry" = yes ]; then printf '%s is not there now.\n' "$1"; return; fi
    [ -e "$1" ] || die "$1: this kernel has no such setting."
    now=$(sed 's/.*\[\(.*\)\].*/\1/' "$1")
    [ "$now" = "$2" ] || run write_value "$1" "$2"
}

write_value() { # FILE VALUE
    printf '%s' "$2" >"$1"
}
"""


def script_text(kit: Kit) -> str:
    """Return apply.sh of a kit."""
    lines = [
        "#!/bin/sh",
        f"# {kit.filesystem} for {kit.mount_point}, by fsconsole {kit.version}.",
        f"# Run {_comment(kit.run)}, row '{_comment(kit.row)}'.",
        "#",
        *(f"# - {_comment(sentence)}" for sentence in kit.differing),
        "set -eu",
        "export LC_ALL=C",
        f"named={shlex.quote(' '.join(dict.fromkeys((*(one.path for one in kit.devices), kit.device))))}",
        _FUNCTIONS.rstrip("\n"),
        "",
        '[ "$(id -u)" = 0 ] || die "Run it as root."',
        f"need awk blkid blockdev cmp findmnt flock install lsblk mountpoint wipefs {_programs(kit)}",
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


def _comment(text: str) -> str:
    return printable(text)


def _programs(kit: Kit) -> str:
    names = [argv[0] for argv in kit.make] + (["mdadm"] if kit.array is not None else [])
    return " ".join(map(shlex.quote, dict.fromkeys(names)))


def _in_the_way(kit: Kit) -> Iterator[str]:
    """Yield the lines that refuse what is somebody else's, before anything is changed."""
    yield """
# One at a time: a lock that leaves no file.
exec 9</etc
flock --nonblock 9 || die 'another apply.sh is at work.'

# What is in the way.
if mountpoint -q "$mount_point"; then
    source=$(findmnt --noheadings --output SOURCE --mountpoint "$mount_point" | tail -n 1)
    [ "$(readlink -f "$source")" = "$(readlink -f "$device")" ] || die "$source is mounted on $mount_point."
elif [ -d "$mount_point" ] && [ -n "$(ls -A "$mount_point")" ]; then
    die "$mount_point has files, which a mount would hide."
fi"""
    entry = fstab_entry(kit)
    if entry is not None:
        yield f"""taken=$(awk -v place="$mount_point" '$1 !~ /^#/ && $2 == place && $1 != "{entry.key}" {{ print $1 }}' {entry.path} 2>/dev/null || :)
[ -z "$taken" ] || die "{entry.path} mounts $taken on $mount_point."
refuse_other {entry.path} {shlex.quote(entry.key)} {shlex.quote(entry.line)}"""
    if kit.array is not None:
        first, second = MDADM_CONFIGS
        yield f"""config={second}
if [ -d {first.rpartition("/")[0]} ]; then config={first}; fi
refuse_other "$config" {kit.array.uuid} {shlex.quote(mdadm_line(kit))}
refuse_other "$config" "ARRAY $device " {shlex.quote(mdadm_line(kit))}"""


def _array(kit: Kit) -> Iterator[str]:
    """Yield the lines that make the array, or bring up the one that this kit has made."""
    forced = 'forced=no new=no\nfor one in "$@"; do'
    paths = " ".join(shlex.quote(device.path) for device in kit.devices)
    yield from ("", "# The devices.", f"set -- {paths}", forced, '    if in_list "$one"; then forced=yes; fi', "done")
    array = kit.array
    if array is None:
        return
    yield f"""
# The array: one with this UUID was made by this kit.
array_uuid={array.uuid}
has_array() {{ mdadm --detail --export "$device" 2>/dev/null | grep -qx "MD_UUID=$array_uuid"; }}
is_member() {{ mdadm --examine --export "$1" 2>/dev/null | grep -qx "MD_UUID=$array_uuid"; }}
members=0
for one in "$@"; do
    if is_member "$one"; then members=$((members + 1)); fi
done
if has_array; then
    printf '%s is there.\\n' "$device"
elif [ "$members" -gt 0 ]; then
    printf '%s exists on %s of %s devices.\\n' "$device" "$members" $#
    run mdadm --assemble "$device" --uuid="$array_uuid" "$@"
else
    if [ -e "$device" ]; then die "$device is another array."; fi"""
    yield from (f"    prove {shlex.quote(one.path)} {one.size_bytes}" for one in kit.devices)
    yield f"""    for one in "$@"; do clear_forced "$one"; done
    run {shlex.join(array.create)}
    new=yes
    settle
fi"""


def _filesystem(kit: Kit) -> Iterator[str]:
    """Yield the lines that make the filesystem, unless it is there."""
    size = str(kit.devices[0].size_bytes) if kit.array is None else "any"
    may_be_absent = stopped = ""
    if kit.array is not None:
        stopped = """elif [ "$dry" = yes ] && [ "$members" -gt 0 ] && ! has_array; then
    echo 'What is on it shows when it is up: a dry run leaves it stopped.'
"""
        may_be_absent = """[ "$dry" = yes ] && [ ! -e "$device" ]; then
        : # The array would be new.
    elif """
    yield f"""
# The filesystem: one with this UUID was made by this kit.
has_filesystem() {{ [ "$(blkid --probe --output value --match-tag UUID "$device" 2>/dev/null)" = "$uuid" ]; }}
if has_filesystem && ! is_unfinished mkfs; then
    printf '%s has its filesystem.\\n' "$device"
{stopped}else
    if {may_be_absent}[ "$new" = yes ] && [ "$forced" = yes ]; then
        : # What is left on its members may go.
    else
        prove "$device" {size}
        clear_forced "$device"
    fi
    begin mkfs"""
    yield from (f"    run {shlex.join(argv)}" for argv in kit.make)
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
