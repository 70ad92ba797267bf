"""The allow-list: what passes, what never does, and how words are put together again."""

from __future__ import annotations

import re
import shlex
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, choose, to_argv
from fsconsole.errors.targets import OptionRefused

WHERE = Where("plan.toml", "variant[2]")
NAMES = load_catalog().names


def mkfs_argv(name: str, text: str) -> tuple[str, ...]:
    return to_argv(choose(load_catalog().get(name), text, "", "", WHERE).mkfs)


def mount_words(name: str, text: str) -> tuple[str, ...]:
    return tuple(word.text for word in choose(load_catalog().get(name), "", text, "", WHERE).mount)


ANOTHER_DEED = {
    "btrfs": (
        "/dev/sdb", "-d single /dev/sdb", "-d raid1", "-K sdb", "--rootdir /etc", "-r /etc", "-- /dev/sdb",
    ),
    "xfs": (
        "-l logdev=/dev/sdb", "-l internal,logdev=/dev/sdb", "-r rtdev=/dev/sdb", "-d file,name=/etc/passwd,size=1g",
        "-d name=/dev/sdb", "-m uuid=11111111-1111-1111-1111-111111111111", "-c options=/etc/passwd",
        "-p /etc/passwd", "-N", "-f", "-L name",
    ),
    "ext4": (
        "-J device=/dev/sdb", "-J size=4,device=/dev/sdb", "-O journal_dev", "-O has_journal,journal_dev", "-d /etc",
        "-n", "-F", "-DF", "-S", "-U clear", "-L \x1b[31m", "-t ext2", "-b 4096 1000", "-b -4096", "-E offset=4096",
        "-E stride=1/2", "-e panic", "-I256,512", "-I", "-O 'flex_bg /dev/sdb'", "-m $(reboot)", "-I 256;reboot",
        "-I '256", "-", "--", "''",
    ),
}  # fmt: skip
ELSEWHERE_OR_GRANTING = (
    "suid", "dev", "noatime,suid", "remount", "ro", "rw", "loop", "bind", "device=/dev/sdb", "logdev=/dev/sdb",
    "rtdev=/dev/sdb", "journal_path=/dev/sdb", "journal_dev=0x811", "context=x", "x-mount.mkdir", "helper=x",
    "uid=0", "noatime /mnt", "-o noatime", "noatime,", ",", "noatime=1", "noatime,,relatime", "commit=-1",
    "errors=panic", "/dev/sdb", "noatime\nsuid", "noatime\\,suid", "NOATIME", "noatime,dev", "commit=1e3",
)  # fmt: skip


def test_words_that_name_another_device_or_change_the_deed_are_refused() -> None:
    for name, texts in ANOTHER_DEED.items():
        for text in texts:
            with pytest.raises(OptionRefused) as caught:
                mkfs_argv(name, text)
            assert caught.value.key == "variant[2].mkfs"
            assert caught.value.nearest


def test_mount_words_that_reach_elsewhere_or_grant_are_refused() -> None:
    for name, text in product(NAMES, ELSEWHERE_OR_GRANTING):
        with pytest.raises(OptionRefused) as caught:
            mount_words(name, text)
        assert caught.value.key == "variant[2].mount"


def test_the_error_names_the_word_and_the_nearest_valid_one() -> None:
    with pytest.raises(OptionRefused, match="could be a second device or a path"):
        mkfs_argv("btrfs", "-d single /dev/sdb")
    with pytest.raises(OptionRefused) as caught:
        mkfs_argv("ext4", "-O flexbg")
    assert caught.value.word == "flexbg"
    assert caught.value.nearest.startswith("flex_bg")
    assert str(caught.value).startswith("plan.toml: variant[2].mkfs: 'flexbg' is refused")


def test_one_flag_is_given_once_with_all_its_words() -> None:
    argv = mkfs_argv("ext4", "-E stride=16 -O ^flex_bg -I 256 -E stripe-width=64 -O uninit_groups,extents")
    assert argv.count("-E") == argv.count("-O") == 1
    assert argv[argv.index("-O") + 1] == "^flex_bg,uninit_bg,extent"
    assert set(argv[argv.index("-E") + 1].split(",")) == {
        "lazy_itable_init=0", "lazy_journal_init=0", "nodiscard", "stride=16", "stripe_width=64",
    }  # fmt: skip
    # Words of the variant take the place of the base words.
    argv = mkfs_argv("ext4", "-E lazy_itable_init=1,discard")
    words = set(argv[argv.index("-E") + 1].split(","))
    assert words == {"lazy_itable_init=1", "lazy_journal_init=0", "discard"}


def test_words_attached_to_their_flag_and_long_flags_are_understood() -> None:
    assert mkfs_argv("ext4", "-Ouninit_groups,flex_bg -G64 -m0")[2:] == (
        "-O", "uninit_bg,flex_bg", "-G", "64", "-m", "0",
    )  # fmt: skip
    assert mkfs_argv("btrfs", "--csum=xxhash --nodesize 16k") == ("-K", "--csum", "xxhash", "-n", "16k")


def test_what_is_said_twice_is_kept_once_and_contradictions_are_refused() -> None:
    assert mkfs_argv("btrfs", "-K -d single -d single") == ("-K", "-d", "single")
    assert mount_words("ext4", "nobarrier,barrier=0") == ("barrier=0",)
    for text in ("-I 128 -I 256", "-O flex_bg,^flex_bg", "-E discard,nodiscard"):
        with pytest.raises(OptionRefused, match="contradicts"):
            mkfs_argv("ext4", text)
    for text in ("delalloc,nodelalloc", "data=ordered,data=journal", "barrier=1,nobarrier"):
        with pytest.raises(OptionRefused, match="contradicts"):
            mount_words("ext4", text)


def test_tuning_words_have_their_own_list() -> None:
    ext4 = load_catalog().get("ext4")
    assert to_argv(choose(ext4, "", "", "-c 0 -i 0 -r 102400", WHERE).tune) == (
        "-c", "0", "-i", "0", "-r", "102400",
    )  # fmt: skip
    for text in ("-f -O ^has_journal", "-J device=/dev/sdb", "-U clear", "-L x", "-E mount_opts=suid"):
        with pytest.raises(OptionRefused):
            choose(ext4, "", "", text, WHERE)
    with pytest.raises(OptionRefused):
        choose(load_catalog().get("btrfs"), "", "", "-n", WHERE)


FRAGMENTS = st.sampled_from(
    [
        "-O", "-E", "-J", "-I", "-b", "-d", "-l", "-m", "-K", "-n", "-F", "-f", "--csum", "=", ",", "^", " ", "'", '"',
        "\\", "/dev/sdb", "256", "64k", "flex_bg", "stride", "su", "sw", "single", "size", "device", "logdev", "\t",
        "uuid", "has_journal", "nodiscard", "--", "$(x)", ";", "../x", "compress", "zstd", "noatime", "suid", "data",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.lists(FRAGMENTS, max_size=8).map("".join), st.text(max_size=30))


@given(name=st.sampled_from(NAMES), text=TEXTS)
def test_accepted_mkfs_words_never_hold_a_path_or_a_word_of_their_own(name: str, text: str) -> None:
    try:
        argv = mkfs_argv(name, text)
    except OptionRefused:
        return
    flags = {flag for entry in load_catalog().get(name).mkfs_flags for flag in entry.names}
    expects_value = False
    for item in argv:
        assert re.fullmatch(r"[A-Za-z0-9^_=.,-]+", item)
        assert expects_value or item in flags, "a word on its own"
        expects_value = not expects_value and item != "-K" and item not in {"-D", "-M"}
    assert not expects_value
    assert mkfs_argv(name, shlex.join(argv)) == argv or set(mkfs_argv(name, shlex.join(argv))) == set(argv)


@given(name=st.sampled_from(NAMES), text=TEXTS)
def test_accepted_mount_words_are_all_on_the_list_and_no_paths(name: str, text: str) -> None:
    try:
        words = mount_words(name, text)
    except OptionRefused:
        return
    known = load_catalog().get(name).mount_words
    for word in words:
        assert re.fullmatch(r"[A-Za-z0-9_=:.-]+", word)
        assert word.partition("=")[0] in known


def test_texts_that_are_too_long_or_hold_blanks_that_are_no_spaces_are_refused() -> None:
    longest = "noatime," * 249 + "noatime "
    assert len(longest) == 2000
    assert mount_words("ext4", longest) == ("noatime",)
    with pytest.raises(OptionRefused, match="longer than 2000 characters"):
        mount_words("ext4", f"{longest} ")
    for text, words in product(["\n", "\t", "\u2003"], (mount_words, mkfs_argv)):
        with pytest.raises(OptionRefused, match="only printable ASCII"):
            words("ext4", text)
