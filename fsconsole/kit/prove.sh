# Is a device free, is it blank? fsconsole answers where it is installed (fsconsole prove). Where it is not, the
# functions below refuse more than it does, never less: a use that they cannot exclude is a refusal.

die() {
    printf 'apply.sh: %s\n' "$*" >&2
    exit 1
}

in_words() { # WORD LIST
    case " $2 " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# The folder in sysfs of the device that a node leads to by its number.
folder_of() {
    node=$(stat -L -c '0x%t 0x%T' "$1") || return 1
    readlink -e "/sys/dev/block/$((${node% *})):$((${node#* }))"
}

# The kernel's name of a device: sdb for /dev/disk/by-id/wwn-0x5000.
kernel_name() {
    basename "$(folder_of "$1")"
}

# The name of the whole disk of a device, given by its kernel name.
disk_name() {
    if [ -e "/sys/class/block/$1/partition" ]; then
        basename "$(readlink -f "/sys/class/block/$1/..")"
    else
        printf '%s' "$1"
    fi
}

value_of() { # FILE DEFAULT
    if [ -r "$1" ]; then cat "$1"; else printf '%s' "$2"; fi
}

# What tells a device from another that takes its place, as `fsconsole prove --json` prints it.
identity_of() {
    folder=$(folder_of "$1") || return 1
    whole=$folder start=0
    if [ -e "$folder/partition" ]; then
        whole=${folder%/*} start=$(cat "$folder/start")
    fi
    printf '"number":"%s","diskseq":%s,"size_bytes":%s,"start_bytes":%s,"loop_offset_bytes":%s,"loop_limit_bytes":%s,' \
        "$(cat "$folder/dev")" "$(value_of "$whole/diskseq" 0)" $(($(cat "$folder/size") * 512)) $((start * 512)) \
        "$(value_of "$folder/loop/offset" 0)" "$(value_of "$folder/loop/sizelimit" 0)"
}

# Prove that a device is free, and blank if that is asked for; ends the script otherwise.
prove() { # free|blank DEVICE
    [ -b "$2" ] || die "$2 is not here, or no block device."
    before=$(identity_of "$2") || die "$2 is refused: its identity cannot be read."
    if command -v fsconsole >/dev/null; then
        prove_by_fsconsole "$1" "$2" "$before"
    else
        prove_by_script "$1" "$2"
    fi
    # What was proved is what the next command gets.
    [ "$(identity_of "$2")" = "$before" ] || die "$2 is refused: another device took its place."
}

# Anything but exit code 0 and an answer on this very device is a refusal: an old version, a crash, a timeout.
prove_by_fsconsole() { # free|blank DEVICE IDENTITY
    level='' expected="\"proof\":{$3\"is_free\":true,"
    if [ "$1" = blank ]; then level=--blank expected="$expected\"is_blank\":true}"; fi
    answer=$(timeout --kill-after=10 300 fsconsole prove --json $level "$2" 9>&-) ||
        die "$2 is refused: fsconsole does not prove that it is $1. If fsconsole is too old, update it."
    case $(printf '%s' "$answer" | tr -d ' \n') in
    *"$expected"*) ;;
    *) die "$2 is refused: the answer of fsconsole is not about this device." ;;
    esac
}

prove_by_script() { # free|blank DEVICE
    for check in node_use mount_use swap_use holder_use loop_use overlap_use group_use system_use other_path_use \
        export_use reservation_use lock_use open_use exclusive_use named_use; do
        # Other loop devices may come and go meanwhile, and udev looks at what was written: only what lasts counts.
        for attempt in 1 2 3; do
            reason='' status=0
            family=$(family_of "$(kernel_name "$2")") || reason='what it lies on cannot be determined' status=1
            [ "$status" != 0 ] || reason=$($check "$2") || status=$?
            [ "$status" != 0 ] || [ -n "$reason" ] || break
            [ "$attempt" = 3 ] || sleep 0.5
        done
        [ "$status" = 0 ] || die "$2 is refused: ${reason:-$check: cannot be determined}."
        [ -z "$reason" ] || die "$2 is refused: $reason."
    done
    [ "$1" = blank ] || return 0
    content=$(content_of "$2") || die "$2 is refused: it cannot be read."
    [ -z "$content" ] || die "$2 is not blank ($content). If all that is on it may go: --overwrite $2"
}

# Kernel names of all devices that share bytes with a device: its partitions, its disk, and what it is made of.
family_of() { # NAME
    pending=$1 members=
    while [ -n "$pending" ]; do
        layer=${pending%% *}
        case $pending in *' '*) pending=${pending#* } ;; *) pending= ;; esac
        if [ -z "$layer" ] || in_words "$layer" "$members"; then continue; fi
        base=$(disk_name "$layer")
        members="$members $layer"
        in_words "$base" "$members" || members="$members $base"
        for part in "/sys/class/block/$layer"/*/partition; do
            [ ! -e "$part" ] || members="$members $(basename "${part%/partition}")"
        done
        for slave in "/sys/class/block/$base/slaves"/*; do
            [ ! -e "$slave" ] || pending="$pending ${slave##*/}"
        done
        file=$(value_of "/sys/class/block/$base/loop/backing_file" '')
        # A node may lie anywhere.
        if [ -b "$file" ]; then pending="$pending $(kernel_name "$file")"; fi
    done
    printf '%s' "${members# }"
}

# Device numbers of the family, "7:3 8:1".
family_numbers() {
    for name in $family; do
        tr '\n' ' ' <"/sys/class/block/$name/dev"
    done
}

# The file below each loop device that the kernel has open, as lines of "loop0 st_dev:st_ino".
loop_files() {
    losetup --list --noheadings --output NAME,BACK-MAJ:MIN,BACK-INO | while read -r loop place inode; do
        major=${place%:*} minor=${place#*:}
        printf '%s %s:%s\n' "${loop##*/}" $((minor & 255 | major << 8 | (minor >> 8) << 20)) "$inode"
    done
}

# The files below loop devices of the family, "st_dev:st_ino ...".
family_files() {
    loop_files | while read -r loop file; do
        if in_words "$loop" "$family"; then printf '%s ' "$file"; fi
    done
}

# Does a path lead to a device or file of the family? Status 2: it leads nowhere.
is_related() { # PATH NUMBERS FILES
    seen=$(stat -L -c '%F|0x%t|0x%T|%d:%i' "$1" 2>/dev/null) || return 2
    case $seen in
    'block special file|'*)
        seen=${seen#*|}
        major=${seen%%|*} seen=${seen#*|}
        in_words "$((major)):$((${seen%%|*}))" "$2"
        ;;
    *) in_words "${seen##*|}" "$3" ;;
    esac
}

# Each check prints why the device is in use, as a clause; it fails where that cannot be determined. Some shells end a
# check at the first command that fails (dash), others go on (bash): the checks hold in both.

node_use() {
    real=$(readlink -f "$1") folder=$(folder_of "$1") || return 1
    case $real in
    "/dev/$(printf '%s' "${folder##*/}" | tr '!' '/')") ;;
    "/dev/mapper/$(value_of "$folder/dm/name" -)") ;;
    *) printf 'its node has the name of another device'; return ;;
    esac
    [ "$(blockdev --getro "$1")" = 0 ] || printf 'it is read-only'
}

# Lines of all mount tables. More processes than fit into the words of one command need xargs.
mount_tables() {
    printf '%s\n' /proc/[0-9]*/mountinfo | xargs cat 2>/dev/null | sort -u
}

# A path as it is, from a table of the kernel that has \040 for a blank.
unescaped() { # PATH
    case $1 in
    *\\*) printf '%b' "$(printf '%s' "$1" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')" ;;
    *) printf '%s' "$1" ;;
    esac
}

# The mounts of all mount namespaces: by number, by what the source and the options name, and by btrfs's own list.
mount_use() {
    numbers=$(family_numbers) files=$(family_files)
    tables=$(mount_tables)
    [ -n "$tables" ] || { printf 'the mounts cannot be read'; return 1; }
    printf '%s\n' "$tables" | while read -r _ _ number _ place rest; do
        set -f
        if in_words "$number" "$numbers"; then
            printf 'it, or a part of it, is mounted on %s' "$place"
            break
        fi
        for word in $(printf '%s' "${rest#*- }" | tr ',:=' '   '); do
            case $word in
            /*)
                if is_related "$(unescaped "$word")" "$numbers" "$files"; then
                    printf 'it, or a part of it, is mounted on %s' "$place"
                    break 2
                fi
                ;;
            esac
        done
    done
    for member in /sys/fs/btrfs/*/devices/*; do
        if in_words "${member##*/}" "$family"; then printf 'it belongs to a mounted btrfs'; fi
    done
}

swap_use() {
    numbers=$(family_numbers) files=$(family_files)
    while read -r path kind _; do
        [ "$path" != Filename ] || continue
        if [ "$kind" = file ] && [ -z "$files" ]; then continue; fi
        path=$(unescaped "$path")
        status=0
        is_related "$path" "$numbers" "$files" || status=$?
        case $status in
        0) printf 'it, or a part of it, is swap'; return ;;
        2) printf 'the swap area %s is not to be found' "$path"; return 1 ;;
        esac
    done </proc/swaps
}

holder_use() {
    for name in $family; do
        for holder in "/sys/class/block/$name/holders"/*; do
            if [ -e "$holder" ] && ! in_words "${holder##*/}" "$family"; then
                printf 'it belongs to %s' "${holder##*/}"
                return
            fi
        done
    done
}

# Other loop devices over it, over a part of it, or over the same file, whatever their offsets and sizes.
loop_use() {
    numbers=$(family_numbers) files=$(family_files)
    for file in /sys/block/loop*/loop/backing_file; do
        [ -e "$file" ] || continue
        loop=${file#/sys/block/} below=$(value_of "$file" '')
        loop=${loop%%/*}
        if in_words "$loop" "$family"; then
            kind=$(stat -f -L -c %T "$below" 2>/dev/null) || { printf 'the file below it is not to be found'; return 1; }
            case $kind in
            overlayfs | fuse* | nfs* | smb* | cifs | v9fs | 9p)
                printf 'the file below it is on %s, where one file has several identities' "$kind"
                return 1
                ;;
            esac
            leads_to "$below" "$loop" || { printf 'the file below it cannot be determined'; return 1; }
            continue
        fi
        same=$(loop_files | sed -n "s/^$loop //p")
        if in_words "${same:--}" "$files" || is_related "$below" "$numbers" "$files"; then
            printf 'the loop device %s stands on it, or on its file' "$loop"
            return
        fi
        # Behind a path that leads nowhere, or elsewhere, may be a node that was deleted, or one of a container.
        if [ -e "$file" ] && ! leads_to "$below" "$loop" && is_as_large "$loop"; then
            printf 'what is below the loop device %s is not to be found, and may be it' "$loop"
            return 1
        fi
    done
}

# Is this path still that of what the kernel has open below a loop device?
leads_to() { # PATH LOOP
    place=$(stat -L -c %d:%i "$1" 2>/dev/null) || return 1
    loop_files | grep -qxF "$2 $place"
}

# Does a loop device end where one of the family does, as it would over that one, or before by its limit?
is_as_large() { # LOOP
    end=$(($(value_of "/sys/block/$1/loop/offset" 0) + $(value_of "/sys/block/$1/size" 0) * 512))
    limit=$(value_of "/sys/block/$1/loop/sizelimit" 0)
    for name in $family; do
        rest=$(($(value_of "/sys/class/block/$name/size" 0) * 512 - end))
        if [ "$rest" -ge 0 ] && { [ "$rest" -lt 512 ] || [ "$limit" != 0 ]; }; then return 0; fi
    done
    return 1
}

# Partitions may overlap.
overlap_use() {
    folder=$(folder_of "$1") || return 1
    [ -e "$folder/partition" ] || return 0
    start=$(cat "$folder/start") end=$(($(cat "$folder/start") + $(cat "$folder/size")))
    for part in "${folder%/*}"/*/partition; do
        part=${part%/partition}
        if [ "$part" != "$folder" ] && [ "$(cat "$part/start")" -lt "$end" ] &&
            [ $(($(cat "$part/start") + $(cat "$part/size"))) -gt "$start" ]; then
            printf 'it overlaps the partition %s' "${part##*/}"
            return
        fi
    done
}

# A volume group may be active on its other disks, a btrfs mounted without this one.
group_use() {
    for part in $(family_of "$(kernel_name "$1")"); do
        kind=$(blkid --probe --output export "/dev/$part" 2>/dev/null) || continue
        case $kind in
        *TYPE=LVM*)
            for layer in /sys/block/dm-*/dm/uuid; do
                case $(value_of "$layer" '') in
                LVM-*) printf 'it belongs to an LVM volume group, which may be active'; return 1 ;;
                esac
            done
            ;;
        *TYPE=btrfs*)
            mounted=$(printf '%s\n' "$kind" | sed -n 's/^UUID=//p')
            if [ -e "/sys/fs/btrfs/$mounted" ]; then printf 'its btrfs is mounted without it'; return; fi
            ;;
        *TYPE=erofs*)
            # The path of such a mount is one of the past, or of another process.
            if mount_tables | grep -q ' 0:[0-9]* .* - erofs '; then
                printf 'an erofs is mounted from a file, which may be the one below it'
                return 1
            fi
            ;;
        esac
    done
}

# Disks below /, /boot and the runs of fsconsole. A loop device over a file is a disk of its own.
system_use() {
    is_disk_of_its_own=no
    [ -z "$(family_files)" ] || is_disk_of_its_own=yes
    for place in / /boot /boot/efi /var/lib/fsconsole; do
        [ -d "$place" ] || continue
        if ! system=$(disks_below "$place"); then
            [ "$is_disk_of_its_own" = yes ] || { printf 'the disks below %s cannot be determined' "$place"; return 1; }
            continue
        fi
        for name in $family; do
            if [ ! -e "/sys/class/block/$name/partition" ] && in_words "$name" "$system"; then
                printf 'it is on a disk that holds %s' "$place"
                return
            fi
        done
    done
}

# Kernel names of all devices below a folder, down to whole disks.
disks_below() {
    number=$(findmnt --noheadings --output MAJ:MIN --target "$1" | tail -n 1 | tr -d ' ')
    [ -n "$number" ] || return 1
    while :; do
        case $number in
        0:*)
            kind=$(findmnt --noheadings --output FSTYPE --target "$1" | tail -n 1)
            case $kind in
            tmpfs | ramfs | rootfs | devtmpfs | nfs | nfs4 | cifs | smb3 | ceph | 9p | hostfs | virtiofs) return 0 ;;
            btrfs)
                for member in /sys/fs/btrfs/*/devices/*; do
                    [ ! -e "$member" ] || family_of "${member##*/}" || return 1
                    printf ' '
                done
                return 0
                ;;
            overlay)
                layers=$(findmnt --noheadings --output OPTIONS --target "$1" | tail -n 1 | tr ',' '\n' |
                    sed -n 's/^\(lower\|upper\|work\)dir+\{0,1\}=//p' | tr ':' ' ')
                [ -n "$layers" ] || return 1
                for layer in $layers; do
                    [ -d "$layer" ] || return 1
                    (disks_below "$layer") || return 1
                done
                return 0
                ;;
            *) return 1 ;;
            esac
            ;;
        esac
        layer=$(basename "$(readlink -e "/sys/dev/block/$number")") || return 1
        lower=$(family_of "$layer") || return 1
        printf '%s ' "$lower"
        number=
        for name in $lower; do
            below=$(value_of "/sys/class/block/$name/loop/backing_file" '')
            case $below in
            '' | /dev/*) ;;
            *)
                number=$(stat -L -c %d "$below" 2>/dev/null) || return 1
                number=$((number >> 8 & 4095)):$((number & 255 | (number >> 20) << 8))
                ;;
            esac
        done
        [ -n "$number" ] || return 0
    done
}

# Another path to the same disk: of one size, with one WWN or serial number.
other_path_use() {
    for name in $family; do
        own=$(disk_labels "$name")
        [ -n "$own" ] || continue
        size=$(cat "/sys/class/block/$name/size")
        for other in /sys/block/*; do
            other=${other##*/}
            if in_words "$other" "$family" || [ "$(cat "/sys/block/$other/size")" != "$size" ]; then continue; fi
            for label in $(disk_labels "$other"); do
                if in_words "$label" "$own"; then printf 'it may be the same disk as %s' "$other"; return; fi
            done
        done
    done
}

# WWN and serial number of a whole disk, each as one word.
disk_labels() {
    for file in wwid device/wwid serial device/serial device/vpd_pg80; do
        if [ -r "/sys/block/$1/$file" ]; then
            tr -cd '[:graph:]' <"/sys/block/$1/$file" 2>/dev/null || :
            printf ' '
        fi
    done
    lsblk --nodeps --noheadings --output SERIAL,WWN "/dev/$(printf '%s' "$1" | tr '!' '/')" 2>/dev/null || :
}

# Devices and files that this kernel serves to other machines.
export_use() {
    numbers=$(family_numbers) files=$(family_files) config=/sys/kernel/config
    for server in nvmet:nvmet target_core_mod:target usb_f_mass_storage:usb_gadget; do
        [ -d "/sys/module/${server%:*}" ] || continue
        root=$config/${server#*:}
        [ -d "$root" ] || { printf '%s is loaded, and configfs is not mounted' "${server%:*}"; return 1; }
        # shellcheck disable=SC2013 # words are wanted: info is a sentence
        for path in $(cat "$root"/subsystems/*/namespaces/*/device_path "$root"/core/*/*/udev_path \
            "$root"/core/*/*/info "$root"/*/functions/mass_storage.*/lun.*/file 2>/dev/null); do
            case $path in
            /*)
                status=0
                is_related "$path" "$numbers" "$files" || status=$?
                case $status in
                0) printf 'it is exported to other machines'; return ;;
                2) printf '%s is exported and not to be found' "$path"; return 1 ;;
                esac
                ;;
            esac
        done
    done
}

# SCSI reservations; disks behind libata and USB have none.
reservation_use() {
    for name in $family; do
        [ -d "/sys/class/block/$name/device/scsi_disk" ] || continue
        case $(readlink -f "/sys/class/block/$name") in */usb[0-9]*) continue ;; esac
        case $(value_of "/sys/class/block/$name/device/vendor" '') in ATA*) continue ;; esac
        command -v sg_persist >/dev/null ||
            { printf 'without sg_persist (sg3-utils) its reservations cannot be read'; return 1; }
        held=$(timeout 60 sg_persist --no-inquiry --in --read-reservation "/dev/$name" 2>&1) || :
        case $held in
        *'NO reservation held'* | *'not supported'* | *'nvalid opcode'* | *'llegal request'*) ;;
        *) printf 'it may be reserved by another machine'; return 1 ;;
        esac
    done
}

lock_use() {
    for name in $family; do
        for file in "/dev/$(printf '%s' "$name" | tr '!' '/')" "/run/fsconsole-disk-$name.lock"; do
            if [ -e "$file" ] && ! flock --timeout 3 "$file" true; then
                printf 'another program has locked it'
                return
            fi
        done
    done
}

# Who has it open or mapped, in any process.
open_use() {
    [ "$(value_of /proc/2/comm '')" = kthreadd ] ||
        { printf 'processes outside of this container are not to be seen'; return 1; }
    openers
}

openers() {
    numbers=$(family_numbers) files=$(family_files) nodes=
    for number in $numbers; do
        nodes="$nodes $(printf '%x:%x' "${number%:*}" "${number#*:}")"
    done
    # Character devices that take commands for a disk past the block layer (man 4 sg; nvme-generic).
    generic=
    for name in $family; do
        for node in /sys/class/block/"$name"/device/scsi_generic/*; do
            [ ! -e "$node" ] || generic="$generic $(stat -L -c %t:%T "/dev/${node##*/}")"
        done
        case $name in
        nvme*) [ ! -c "/dev/ng${name#nvme}" ] || generic="$generic $(stat -L -c %t:%T "/dev/ng${name#nvme}")" ;;
        esac
    done
    log=$(mktemp)
    list=$({
        # shellcheck disable=SC2016 # the inner shell expands it
        printf '%s\n' /proc/[0-9]*/task/[0-9]*/fd /proc/[0-9]*/map_files |
            timeout 120 xargs sh -c '[ $# != 0 ] || exit 255; find -L "$@" -maxdepth 1 \
                \( -type b -exec stat -L -c "block %t:%T %n" {} + \) -o \
                \( -type c -exec stat -L -c "char %t:%T %n" {} + \) -o \
                \( -type f -printf "file %D:%i %p\n" \)' sh || echo "end $?"
        ring_files
    } 2>"$log")
    # One that ends meanwhile is no matter. Init alone may be hidden by a security module: it opens no disks.
    hidden=$(grep -E 'Permission denied|Operation not permitted' "$log" | grep -v '/proc/1/' | head -n 1) || :
    rm -f "$log"
    [ -z "$hidden" ] || { printf 'a process hides what it has open (%s)' "$hidden"; return 1; }
    printf '%s\n' "$list" | while read -r kind number path; do
        case $kind in
        block) in_words "$number" "$nodes" || continue ;;
        char) in_words "$number" "$generic" || continue ;;
        file) in_words "$number" "$files" || continue ;;
        end)
            # 124 is a timeout; find's own 1, by xargs 123, is for files that went away.
            [ "$number" = 123 ] || printf 'the processes cannot be looked at'
            continue
            ;;
        esac
        pid=${path#/proc/} && pid=${pid%%/*}
        printf 'it is open in process %s (%s)' "$pid" "$(value_of "/proc/$pid/comm" gone)"
        break
    done
    # In some shells "false || continue" ends a loop with status 1.
    return 0
}

# Files that are registered with an io_uring, which keeps them open when their descriptors are closed.
ring_files() {
    printf '%s\n' /proc/[0-9]*/fd | xargs sh -c 'find "$@" -maxdepth 1 -lname "*io_uring*"' sh | while read -r ring; do
        process=${ring%/fd/*}
        sed -n '/^UserFiles:/,/^UserBufs:/s/^ *[0-9]*: *//p' "$process/fdinfo/${ring##*/}" | while read -r path; do
            case $path in /*) ;; *) path=/dev/$path ;; esac
            stat -L -c "%F|%t:%T|%d:%i" "$process/root$path" || :
        done | sed -n "s,^block special file|\\([^|]*\\)|.*,block \\1 $process,p; s,^regular.*|[^|]*|\\(.*\\),file \\1 $process,p"
    done
}

# Without --force wipefs opens it exclusively: what the kernel has claimed shows here alone.
exclusive_use() {
    wipefs --all --no-act "$1" >/dev/null 2>&1 || printf 'the kernel says that it is busy'
}

# Files that expect the device later, by any of its names.
named_use() {
    kernel=$(kernel_name "$1") names='' tags='' ids='' numbers='' places=''
    for part in "/sys/class/block/$kernel" "/sys/class/block/$kernel"/*/partition; do
        [ -e "$part" ] || continue
        part=${part%/partition} && part=${part##*/}
        names="$names /dev/$part $(find /dev -type l -exec sh -c 'test "$(readlink -f "$1")" = "/dev/$2"' sh {} "$part" \; -print | tr '\n' ' ')"
        tags="$tags $({
            blkid --probe --output export "/dev/$part" 2>/dev/null | sed -n 's/^[A-Z_]*\(UUID\|LABEL\|NAME\)=//p'
            sed -n 's/^PART\(UUID\|NAME\)=//p' "/sys/class/block/$part/uevent"
        } | sed 's/[^[:alnum:]_-]/.*/g' | tr '\n' ' ')"
        # A partition has the disk's number with its own behind it.
        suffix=
        if [ -e "/sys/class/block/$part/partition" ]; then
            suffix="([^[:alnum:]][^[:space:]]*)?-part$(cat "/sys/class/block/$part/partition")"
        fi
        tags="$tags $(disk_labels "$(disk_name "$part")" | tr ' ' '\n' |
            sed "/^\$/d; s/[^[:alnum:]_-]/.*/g; s/^0x/(0x|3)/; s/\$/$suffix/" | tr '\n' ' ')"
        number=$(cat "/sys/class/block/$part/dev")
        major=${number%:*} minor=${number#*:}
        numbers="$numbers|$number|0*$(printf '%x' $((minor & 255 | major << 8 | (minor >> 8) << 20)))"
        places="$places $number"
    done
    # Of a disk sdb sdb1 is meant, too, also when there is no partition; of sdb1 not sdb10.
    paths=$(for word in $names; do
        case $word in *[0-9]) after='(p[0-9]+)?' ;; *) after='[0-9]*' ;; esac
        printf '|%s%s' "$(printf '%s' "$word" | sed 's,[^[:alnum:]_/-],.,g')" "$after"
    done)
    file=$(value_of "/sys/class/block/$kernel/loop/backing_file" '')
    [ -z "$file" ] || paths="$paths|$(printf '%s' "$file" | sed 's,[^[:alnum:]_/-],.,g')"
    # An odd letter of a label may be written in several ways, and matches anything here; a long number is known anywhere.
    set -f
    labels=
    for word in $tags; do
        labels="$labels|$word"
        id=$(printf '%s' "$word" | tr -d -- -)
        case $id in *[!0-9a-fA-F]*) ;; ????????????????*) ids="$ids|$id" ;; esac
    done
    set +f
    pattern="(${paths#|}|(root|resume)=(${numbers#|})"
    [ -z "$labels" ] || pattern="$pattern|((LABEL|UUID|ID)=[\"']?|/by-[a-z]*/[^[:space:]]*)(${labels#|})"
    pattern="$pattern)([^[:alnum:]]|\$)"
    # shellcheck disable=SC2154 # patterns, which the loop expands
    for file in $named_in; do
        [ -f "$file" ] || continue
        lines=$(spellings "$file") || { printf '%s cannot be read' "$file"; return 1; }
        if printf '%s\n' "$lines" | grep -qiE -e "$pattern" ||
            { [ -n "$ids" ] && printf '%s\n' "$lines" | tr -d ':-' | grep -qiE -e "(${ids#|})"; } ||
            printf '%s\n' "$lines" | leads_here "$places"; then
            printf '%s names it' "$file"
            return
        fi
    done
}

# Does a path below /dev in a text lead to one of these devices, however it is written?
leads_here() { # NUMBERS
    tr " \t\"'<>,;=)" '[\n*]' | sed -n 's,.*\(/dev/.*\),\1,p' | sort -u | {
        while read -r path; do
            if is_related "$path" "$1" ''; then exit 0; fi
        done
        exit 1
    }
}

# The lines of a file without comments: as they are, with escapes undone up to three times, and units as paths.
spellings() { # FILE
    awk '
        function code(digits, base,   i, value) {
            value = 0
            for (i = 1; i <= length(digits); i++)
                value = value * base + index("0123456789abcdef", tolower(substr(digits, i, 1))) - 1
            return sprintf("%c", value)
        }
        function plain(text,   done, word) {
            gsub(/%%/, "%", text)
            while (match(text, /\\x[0-9a-fA-F][0-9a-fA-F]|\\[0-3][0-7][0-7]/)) {
                word = substr(text, RSTART + 1, RLENGTH - 1)
                done = done substr(text, 1, RSTART - 1) (word ~ /^x/ ? code(substr(word, 2), 16) : code(word, 8))
                text = substr(text, RSTART + RLENGTH)
            }
            return done text
        }
        /^[[:space:]]*[#;]/ { next }
        {
            print; once = plain($0); print once; twice = plain(once); print twice; print plain(twice)
            rest = $0
            while (match(rest, /dev-[^[:space:]]*\.(device|swap)/)) {
                unit = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                gsub(/-/, "/", unit)
                gsub(/\.(device|swap)/, " ", unit)
                print "/" plain(unit)
            }
        }' <"$1"
}

is_zero() { # DEVICE OFFSET BYTES
    cmp -s -n "$3" -i "$2":0 "$1" /dev/zero
}

# What is on a device; nothing where no signature is found, both ends are zeros, and so is every sampled block.
content_of() {
    blockdev --flushbufs "$1" || return 1
    found=$(wipefs --no-act --parsable "$1") || return 1
    found=$(printf '%s' "$found" | grep -v '^#' | tr '\n' ' ') || :
    [ -z "$found" ] || { printf 'signatures: %s' "$found"; return; }
    status=0
    found=$(blkid --probe --output export "$1" 2>/dev/null) || status=$?
    # Of a partition it also lists the table's entry, which is on the disk.
    found=$(printf '%s' "$found" | grep -v '^\(DEVNAME\|PART_ENTRY_[A-Z]*\)=') || :
    case $status in 0 | 2) ;; *) found=$status ;; esac
    [ -z "$found" ] || { printf 'a filesystem or an array, by blkid'; return; }
    for part in "/sys/class/block/$(kernel_name "$1")"/*/partition; do
        [ ! -e "$part" ] || { printf 'partitions'; return; }
    done
    samples=$(samples_of "$1")
    [ -n "$samples" ] || { printf 'not known without fsconsole'; return; }
    size=$(blockdev --getsize64 "$1") || return 1
    length=$ends_bytes
    [ "$length" -le "$size" ] || length=$size
    is_zero "$1" 0 "$length" || { printf 'data at its start'; return; }
    is_zero "$1" $((size - length)) "$length" || { printf 'data at its end'; return; }
    for offset in $samples; do
        is_zero "$1" "$offset" "$((size - offset < block_bytes ? size - offset : block_bytes))" ||
            { printf 'data'; return; }
    done
}
