usage() {
    cat <<'END'
usage: apply.sh [--dry-run] [--overwrite DEVICE]... [--devices-only]

  --dry-run           print what would be done, and change nothing
  --overwrite DEVICE  what is on this device may be lost; repeat it for each,
                      by its name in this script; a device in use stays refused
  --devices-only      make array and filesystem, and leave /etc and mounts alone
END
}

# A mistyped name would clear nothing.
require_named() {
    # shellcheck disable=SC2154 # set above
    for name in $named; do
        [ "$name" != "$1" ] || return 0
    done
    printf 'apply.sh: --overwrite %s: this script does not name it, but: %s\n' "$1" "$named" >&2
    exit 2
}

dry=no devices_only=no overwrite='' made='' step='' changes=0
while [ $# -gt 0 ]; do
    case $1 in
    --dry-run) dry=yes ;;
    --devices-only) devices_only=yes ;;
    --overwrite)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        require_named "$2"
        overwrite="$overwrite $2"
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done

# Print a command that changes something, and run it, without the lock: a daemon would keep it.
run() {
    changes=$((changes + 1))
    printf '+ %s\n' "$*"
    [ "$dry" = yes ] || "$@" 9>&-
}

# Prove each device once more, then run the command that wipes them. What this script made itself need not be blank.
wipe() { # DEVICE... -- COMMAND...
    targets=
    while [ "$1" != -- ]; do
        targets="$targets $1"
        shift
    done
    shift
    for target in $targets; do
        # In a dry run an array is not made yet.
        if [ "$dry" = yes ] && [ ! -e "$target" ]; then continue; fi
        if in_words "$target" "$overwrite $made"; then prove free "$target"; else prove blank "$target"; fi
    done
    [ -z "$step" ] || begin "$step"
    run "$@"
}

# A file that stays where a step is interrupted: its result isn't taken for whole.
# shellcheck disable=SC2154 # set below
begin() { [ "$dry" = yes ] || printf '' >"$unfinished.$1"; }
end() { [ "$dry" = yes ] || rm -f "$unfinished.$1"; }
is_unfinished() { [ -e "$unfinished.$1" ]; }

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "$tool is not installed."
    done
}

udev_runs() {
    [ -e /run/udev/control ] && command -v udevadm >/dev/null
}

settle() {
    if udev_runs; then udevadm settle; fi
}

# Look at a device before the first change; --overwrite is needed for what is on it.
prove_first() { # DEVICE BYTES
    [ -b "$1" ] || die "$1 is not here, or no block device."
    if [ "$2" != any ]; then
        size=$(blockdev --getsize64 "$1")
        [ "$size" = "$2" ] || die "$1 has $size bytes, not the $2 of the device that this was made for."
    fi
    if in_words "$1" "$overwrite"; then
        prove free "$1"
        printf '%s is overwritten (%s)\n' "$1" "$(content_of "$1")"
    else
        prove blank "$1"
    fi
}

clear_overwritten() { # DEVICE
    if in_words "$1" "$overwrite"; then wipe "$1" -- wipefs --all --force "$1"; fi
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
