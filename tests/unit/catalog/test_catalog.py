"""The shipped filesystem declarations hold together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import msgspec
import pytest

from fsconsole.catalog.filesystem import (
    NOTHING_KNOWN,
    Answer,
    Argument,
    ArgumentKind,
    Filesystem,
    Flag,
    FlagKind,
    Known,
    Scope,
    Verdict,
    is_after,
    is_before,
    release_numbers,
)
from fsconsole.catalog.loader import load_catalog, parse_filesystem
from fsconsole.catalog.words import Where, broken_rules, choose, make_commands, refusals, unsafe_words
from fsconsole.model.plan import Variant

WHERE = Where("plan.toml", "variant[0]")
FILESYSTEMS = load_catalog().filesystems
OPTIONS = [(filesystem, option) for filesystem in FILESYSTEMS for option in filesystem.options]


UNTOLD = {"btrfs": {"nossd_spread"}}
"""Mount words that no option comes to: opposites that nobody varies."""
HARMLESS_HERE = {"f2fs": {"-t", "-o"}, "reiserfs": {"-t"}}
"""Flags that mean something else elsewhere: mkfs.f2fs's discard and overprovision, mkreiserfs's transaction size."""
ELSEWHERE = {
    "f2fs": {"-l", "-m", "-g", "-e", "-E", "-C", "-R", "-T", "-w"},
    "jfs": {"-j", "-J", "--journal_device"},
    "reiserfs": {"-j", "-o", "-B", "-l", "--journal-device", "--journal-offset", "--badblocks", "--label"},
}
"""What names devices, files or identities by other letters."""


def test_the_filesystems_of_the_studies_are_there() -> None:
    assert load_catalog().names == (
        "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs",
    )  # fmt: skip


def test_every_option_passes_the_allow_list_at_all_its_values_and_is_told_in_one_line() -> None:
    for filesystem, option in OPTIONS:
        assert option.help
        assert "\n" not in option.help
        assert option.group
        assert option.values_to_try
        assert choose(filesystem, option.trial.mkfs, option.trial.mount, "", WHERE)
        for value in option.values_to_try:
            assert option.accepts(value)
            text = option.text(value)
            mkfs, mount = (text, "") if option.scope is Scope.MKFS else ("", text)
            assert choose(filesystem, mkfs, mount, "", WHERE).own
        declared = {*option.refusals, *option.shown}
        assert declared <= {"", *option.texts}, option.name
        assert option.depends in ("", "device", "build")
        assert not (option.ignored and option.refusals)


def test_every_mount_word_belongs_to_an_option_and_no_two_options_share_a_name() -> None:
    for filesystem in FILESYSTEMS:
        names = [name for option in filesystem.options for name in (option.name, *option.old_names)]
        assert len(names) == len(set(names))
        options = [option for option in filesystem.options if option.scope is Scope.MOUNT]
        texts = [text for option in options for text in option.texts.values() or (option.template,)]
        aliases = filesystem.mount_aliases
        told = {aliases.get(word, word).partition("=")[0] for text in texts for word in text.split(",")}
        told |= {value for o in filesystem.options if o.template == "{value}" for value in o.texts}
        words = set(filesystem.mount_words)
        assert words - told <= UNTOLD.get(filesystem.name, set())


def test_every_filesystem_gets_the_runs_uuid_and_says_where_it_has_no_check() -> None:
    for filesystem in FILESYSTEMS:
        assert bool(filesystem.commands.check) == (not filesystem.check_note.startswith("none"))
        variant = Variant("", filesystem.name)
        argvs = make_commands(filesystem, variant, "DEVICE", "THE-UUID")
        assert sum("THE-UUID" in word for argv in argvs for word in argv) == 1
        assert all("DEVICE" in argv for argv in argvs)


def test_no_argument_kind_or_choice_could_name_a_path_or_a_second_word() -> None:
    for filesystem in FILESYSTEMS:
        flags = chain(filesystem.mkfs_flags, filesystem.tune_flags)
        arguments = [argument for flag in flags for argument in (flag.argument, *flag.keys.values())]
        arguments += filesystem.mount_words.values()
        for choice in chain.from_iterable(argument.choices for argument in arguments):
            assert not set(choice) & set("/ ,\\'\"$`\t\n")
            assert not choice.startswith("-")


def test_no_kind_of_argument_accepts_what_it_is_not() -> None:
    for kind in [kind for kind in ArgumentKind if kind is not ArgumentKind.CHOICES]:
        for value in ["", "/dev/sda", "-1", "1,2", "1 2", "٣", "1\n", "=", "1/2", "x"]:
            assert not Argument(kind).accepts(value)


def test_mount_words_that_reach_elsewhere_or_grant_are_not_listed() -> None:
    for filesystem in FILESYSTEMS:
        forbidden = {
            "suid", "dev", "exec", "ro", "rw", "remount", "bind", "rbind", "move", "loop", "offset", "device", "logdev",
            "rtdev", "journal_dev", "journal_path", "context", "fscontext", "defcontext", "helper", "uid", "gid", "user",
            "users", "owner", "group", "subvol", "subvolid", "sb", "resuid", "usrjquota", "grpjquota", "abort", "noload",
            "norecovery", "rescue", "degraded", "fatal_errors", "x-mount.mkdir", "_netdev", "defaults", "nouuid",
        }  # fmt: skip
        assert not forbidden & set(filesystem.mount_words)
        values = chain.from_iterable(argument.choices for argument in filesystem.mount_words.values())
        words = (*filesystem.mount_words, *filesystem.mount_aliases, *values)
        assert not [word for word in words if "panic" in word]


def test_flags_that_name_devices_files_identities_or_force_are_not_listed() -> None:
    for filesystem in FILESYSTEMS:
        names = {name for flag in filesystem.mkfs_flags for name in flag.names}
        keys = {key for flag in filesystem.mkfs_flags for key in flag.keys}
        usual = {"-F", "-f", "-U", "-L", "-S", "-t", "-o", "-p", "-c", "-q", "-r", "-u", "--uuid", "--force"}
        assert names & usual == HARMLESS_HERE.get(filesystem.name, set())
        assert not names & ELSEWHERE.get(filesystem.name, set())
        assert not {"device", "logdev", "rtdev", "file", "name", "uuid", "journal_dev", "location", "offset"} & keys


def flag_words(flags: tuple[Flag, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every word that these flags take, but for numbers and sizes."""
    for flag in flags:
        name = flag.names[0]
        for key, argument in (flag.keys or {"": flag.argument}).items():
            for text in [key, *(f"{key}={choice}".lstrip("=") for choice in argument.choices)]:
                yield (name, text)
                if flag.kind is FlagKind.FEATURES:
                    yield (name, f"^{text}")


def words_alone(filesystem: Filesystem) -> Iterator[tuple[str, Variant]]:
    """Yield every word of the lists with the variant that has it alone."""
    for key, argument in filesystem.mount_words.items():
        for text in [key, *(f"{key}={choice}" for choice in argument.choices)]:
            yield f"mount {text}", Variant("", filesystem.name, mount_words=(text,))
    for alias in filesystem.mount_aliases:
        yield f"mount {alias}", Variant("", filesystem.name, mount_words=(alias,))
    for words in flag_words(filesystem.mkfs_flags):
        yield f"mkfs {' '.join(words)}", Variant("", filesystem.name, mkfs_words=words)
    for words in flag_words(filesystem.tune_flags):
        yield f"tune {' '.join(words)}", Variant("", filesystem.name, tune_words=words)


_KEPT = r"(barriers?|log|journal|integrity|checkpoint)"
TURNS_OFF = re.compile(rf"[ =](no|\^|\^has_|no_|disable_){_KEPT}$|[ _]{_KEPT}=(0|no|none|off|disable)$")


def test_every_word_that_turns_off_barriers_or_the_journal_is_unsafe_by_that_word() -> None:
    found: dict[str, list[str]] = {}
    for filesystem in FILESYSTEMS:
        plain = set(unsafe_words(filesystem, Variant("", filesystem.name)))
        for word, variant in words_alone(filesystem):
            if TURNS_OFF.search(word):
                assert set(unsafe_words(filesystem, variant)) > plain, (filesystem.name, word)
                found.setdefault(filesystem.name, []).append(word)
    ext = ["mount barrier=0", "mount nobarrier"]
    assert found == {
        "ext2": [*ext, "tune -o nobarrier"],
        "ext3": [*ext, "tune -o nobarrier"],
        "ext4": [*ext, "mkfs -O ^has_journal", "tune -o nobarrier"],
        "xfs": ["mount nobarrier"],
        "btrfs": ["mount nobarrier"],
        "f2fs": ["mount fsync_mode=nobarrier", "mount nobarrier"],
        "nilfs2": ["mount nobarrier"],
        "jfs": ["mount nointegrity"],
        "reiserfs": ["mount barrier=none", "mount nolog"],
    }


def test_rules_speak_of_words_that_exist() -> None:
    for filesystem in FILESYSTEMS:
        words = filesystem.mount_words
        flags = {name: flag for flag in filesystem.mkfs_flags for name in flag.names}
        for rule in filesystem.rules:
            for fact in (rule.when, *rule.excludes, *rule.needs):
                program, first, *rest = fact.split(" ")
                if program == "mount":
                    assert first.partition("=")[0] in words, fact
                elif rest and flags[first].keys:
                    assert rest[0].partition("=")[0].removeprefix("^") in flags[first].keys, fact
                else:
                    assert first in flags, fact


def test_combinations_that_the_tools_refused_break_a_rule_and_those_that_they_took_none() -> None:
    for name, mkfs, mount in [
        ("ext4", "", "journal_async_commit"),
        ("ext4", "", "journal_async_commit,data=ordered"),
        ("ext4", "", "data=journal,delalloc"),
        ("ext4", "-O ^has_journal", "data=ordered"),
        ("ext4", "-O ^has_journal", "commit=60"),
        ("ext4", "-O ^has_journal", "journal_checksum"),
        ("ext4", "-O ^has_journal -J size=64", ""),
        ("ext4", "-O ^flex_bg -G 64", ""),
        ("ext4", "-O ^extents", ""),
        ("ext4", "-C 65536", ""),
        ("xfs", "-d su=64k", ""),
        ("xfs", "-i size=256", ""),
        ("xfs", "", "sunit=256,swidth=2560"),
        ("btrfs", "", "nodatacow,compress=zstd"),
        ("btrfs", "", "space_cache=v1"),
    ]:
        filesystem = load_catalog().get(name)
        assert broken_rules(filesystem, choose(filesystem, mkfs, mount, "", WHERE))
    for name, mkfs, mount in [
        ("ext4", "", "journal_async_commit,data=writeback"),
        ("ext4", "", "data=journal,nodelalloc"),
        ("ext4", "-O ^has_journal", "barrier=0"),
        ("ext4", "-O ^extent,^64bit,^flex_bg,^uninit_bg", ""),
        ("ext4", "-O bigalloc -C 65536", ""),
        ("xfs", "-d su=128k,sw=10", "swalloc"),
        ("btrfs", "-R ^free-space-tree", "space_cache=v1"),
    ]:
        filesystem = load_catalog().get(name)
        assert not broken_rules(filesystem, choose(filesystem, mkfs, mount, "", WHERE))


def refused(name: str, mkfs: str, mount: str, kernel: str, known: Known = NOTHING_KNOWN) -> tuple[str, ...]:
    filesystem = load_catalog().get(name)
    return refusals(filesystem, choose(filesystem, mkfs, mount, "", WHERE), kernel, known)


def test_what_a_kernel_refuses_is_said_with_its_words_or_from_when_it_is_there() -> None:
    (reason,) = refused("ext4", "", "nomballoc", "6.18.1")
    assert "Unknown parameter 'nomballoc'" in reason
    assert refused("ext4", "", "nomballoc", "") == (reason,)
    assert refused("ext4", "", "nomballoc", "2.6.26-rc2") == ()
    assert refused("ext4", "-O fast_commit", "", "5.4.0-42-generic") == ("fast_commit: needs Linux 5.10",)
    assert refused("ext4", "-O fast_commit", "", "5.10.0") == ()
    # Only the refused value of an option is refused.
    assert refused("xfs", "-m crc=0", "", "6.18")
    assert not refused("xfs", "-m crc=1", "", "6.18")


def test_what_was_tried_counts_more_than_what_is_declared() -> None:
    words = ("xfs", "-m crc=0", "logbsize=256k", "6.18")
    taken = Known((Answer("xfs", Scope.MKFS, "crc", "off", Verdict.TAKEN),))
    assert refused(*words, taken) == ()
    tried = Known((Answer("xfs", Scope.MOUNT, "logbsize", "256k", Verdict.REFUSED, "the kernel's words"),))
    assert "logbsize: this machine refuses it (the kernel's words)" in refused(*words, tried)
    untried = Known((Answer("xfs", Scope.MKFS, "crc", "off", Verdict.UNTRIED),))
    assert refused(*words, untried) == refused(*words)
    # What hangs on the device is not refused by what a loop device said.
    dax = Known((Answer("ext4", Scope.MOUNT, "dax", "on", Verdict.REFUSED, "DAX unsupported"),))
    assert refused("ext4", "", "dax", "6.18", dax) == ()


def test_a_filesystem_is_unavailable_without_its_driver_before_it_came_and_after_it_left() -> None:
    gone = ("reiserfs left the kernel after Linux 6.12",)
    for name, kernel, why in [
        ("reiserfs", "6.18.44", gone),
        ("reiserfs", "", gone),
        ("reiserfs", "6.12.9-amd64", ()),
        ("reiserfs", "2.6.26", ()),
        ("f2fs", "3.2.0", ("f2fs came with Linux 3.8",)),
    ]:
        assert refused(name, "", "", kernel) == why
    known = Known(absent=(("jfs", "this kernel has no driver for jfs"),))
    assert refused("jfs", "-s 4", "noatime,nointegrity", "6.18", known) == known.absent[0][1:]


def test_releases_are_compared_by_number_not_by_letter() -> None:
    assert release_numbers("6.1.0-18-amd64") == (6, 1, 0)
    assert release_numbers("unknown") == ()
    assert is_before("5.4.0", "5.10")
    assert not is_before("5.10.3", "5.10")
    assert is_after("2.6.28", "2.6.27")
    assert not is_after("2.6.27.5-117.fc10.i686", "2.6.27")


def test_a_declaration_with_an_unknown_key_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        parse_filesystem('name = "x"\nmkfs_flags = []\n')
