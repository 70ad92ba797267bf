"""What is in effect, by what was read back; and which words nothing read back would show."""

from __future__ import annotations

from fsconsole.catalog import words
from fsconsole.catalog.filesystem import Option, Scope
from fsconsole.catalog.loader import load_catalog

WHERE = words.Where("plan.toml", "variant[0]")
REMOVED = "EXT4-fs: Ignoring removed nobh option"


def option(filesystem: str, scope: Scope, name: str) -> Option:
    found = load_catalog().get(filesystem).option(name, scope)
    assert found is not None
    return found


def told(name: str, mkfs: str, mount: str, seen: dict[Scope, dict[str, str]], *log: str) -> tuple[str, ...]:
    filesystem = load_catalog().get(name)
    chosen = words.choose(filesystem, mkfs, mount, "", WHERE)
    return words.not_in_effect(filesystem, chosen.own_mkfs, chosen.mount, seen, log)


def hidden(name: str, mkfs: str = "", mount: str = "") -> set[str]:
    filesystem = load_catalog().get(name)
    chosen = words.choose(filesystem, mkfs, mount, "", WHERE)
    return set(words.hidden_words(filesystem, chosen.own_mkfs, chosen.mount))


def test_an_option_is_in_effect_when_it_shows_as_declared() -> None:
    for filesystem, scope, name, value, seen, effect in [
        ("ext4", Scope.MKFS, "flex_bg", "on", {"flex_bg": "on"}, words.Effect.IN_EFFECT),
        ("ext4", Scope.MKFS, "flex_bg", "on", {"extent": "on"}, words.Effect.NOT_IN_EFFECT),
        ("ext4", Scope.MKFS, "flex_bg", "off", {"extent": "on"}, words.Effect.IN_EFFECT),
        ("ext4", Scope.MKFS, "flex_bg", "off", {"flex_bg": "on"}, words.Effect.NOT_IN_EFFECT),
        ("ext4", Scope.MKFS, "inode_size", "256", {"inode_size": "256"}, words.Effect.IN_EFFECT),
        ("ext4", Scope.MKFS, "inode_size", "256", {"inode_size": "128"}, words.Effect.NOT_IN_EFFECT),
        ("ext4", Scope.MKFS, "lazy_init", "on", {"extent": "on"}, words.Effect.UNKNOWN),
        ("ext4", Scope.MOUNT, "barrier", "off", {"nobarrier": "on"}, words.Effect.IN_EFFECT),
        ("ext4", Scope.MOUNT, "commit", "60", {"commit": "5"}, words.Effect.NOT_IN_EFFECT),
        ("xfs", Scope.MOUNT, "allocsize", "64m", {"allocsize": "65536k"}, words.Effect.IN_EFFECT),
        ("xfs", Scope.MOUNT, "dax", "on", {"dax": "never"}, words.Effect.NOT_IN_EFFECT),
        ("btrfs", Scope.MOUNT, "datacow", "off", {"compress": "zstd:3"}, words.Effect.NOT_IN_EFFECT),
        ("btrfs", Scope.MOUNT, "compress", "zstd", {"compress": "zstd:3"}, words.Effect.IN_EFFECT),
    ]:
        assert words.effect_of(option(filesystem, scope, name), value, seen) is effect


def test_a_word_that_the_kernel_says_it_ignores_is_told_with_its_line() -> None:
    seen = {Scope.MOUNT: {"data": "ordered"}}
    assert told("ext4", "", "nobh", seen, REMOVED) == (f"nobh is not in effect: the kernel says '{REMOVED}'",)
    assert told("ext4", "", "bh", seen, REMOVED) == ()
    assert words.removed_words(["EXT4-fs (loop0): barriers disabled"]) == {}
    # What shows is in effect whatever the kernel said of the word.
    line = "EXT4-fs: Ignoring removed delalloc option"
    seen = {Scope.MOUNT: {"delalloc": "on"}}
    assert told("ext4", "", "delalloc", seen, line) == ()


def test_what_is_there_instead_is_told() -> None:
    seen = {Scope.MOUNT: {"commit": "5"}, Scope.MKFS: {"inode_size": "128"}}
    assert told("ext4", "-I 256", "commit=60,nodelalloc", seen) == (
        "-I 256 is not in effect: mkfs made it with inode_size=128",
        "commit=60 is not in effect: the kernel mounted it with commit=5",
        "nodelalloc is not in effect: the kernel mounted it without nodelalloc",
    )
    # A scope that was not read back is not judged.
    assert told("ext4", "-I 256", "commit=60", {Scope.MKFS: {}, Scope.MOUNT: {}}) == ()


def test_words_are_hidden_where_nothing_read_back_would_show_them() -> None:
    assert hidden("ext4", "-I 256 -O ^flex_bg -i 65536", "noatime,data=writeback") == set()
    assert hidden("ext4", "-E lazy_itable_init=1,stride=32", "journal_ioprio=7") == {
        "-E lazy_itable_init=1",
        "journal_ioprio=7",
    }
    assert hidden("ext4", "-D") == {"-D"}


def test_options_are_found_in_words_at_their_values_an_alias_too() -> None:
    filesystem = load_catalog().get("ext4")
    chosen = words.choose(filesystem, "-O uninit_groups -G 64 -m 0", "nobarrier,commit=60", "", WHERE)
    found = words.given_options(filesystem, chosen.own_mkfs, chosen.mount)
    assert {(given.option.name, given.value) for given in found} == {
        ("uninit_bg", "on"),
        ("flex_bg_size", "64"),
        ("reserved_percent", "0"),
        ("barrier", "off"),
        ("commit", "60"),
    }
    # A word keeps the name that it was given under.
    old = "-O uninit_groups,^extents -E stripe-width=32"
    chosen = words.choose(filesystem, old, "nobarrier", "", WHERE)
    assert [(word.given, word.text) for word in chosen.own] == [
        ("uninit_groups", "uninit_bg"),
        ("^extents", "^extent"),
        ("stripe-width=32", "stripe_width=32"),
        ("nobarrier", "barrier=0"),
    ]
