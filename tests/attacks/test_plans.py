"""Plan files that try to reach another device, another file or a shell: each is refused in words."""

from __future__ import annotations

from fsconsole.errors import ExitCode
from tests.loop.commands import Bench, assert_plain, command, each, fails, nothing_changes
from tests.loop.runs import TINY_PLAN

_MOUNT = 'mount = { data = ["ordered", "writeback"] }'
_LIMIT = TINY_PLAN.index("[[workload]]")
_WORKLOAD = TINY_PLAN[_LIMIT:]


def variant(filesystem: str = "ext4", **words: str) -> str:
    """Return a plan with one variant in the tools' own words; VICTIM stands for another device."""
    lines = "".join(f"{key} = '''{value}'''\n" for key, value in {"type": filesystem, **words}.items())
    return f"schema = 1\nrepeats = 1\n[[variant]]\n{lines}{_WORKLOAD}"


def workload(**keys: str) -> str:
    """Return a plan whose workload has these keys instead, or beside its own."""
    lines = [line for line in _WORKLOAD.splitlines() if line.partition(" =")[0] not in keys]
    return TINY_PLAN[:_LIMIT] + "\n".join([*lines, *(f"{key} = {value}" for key, value in keys.items())]) + "\n"


REFUSED, KEY, VALUE, TOML = (
    ExitCode.OPTION_REFUSED, ExitCode.PLAN_UNKNOWN_KEY, ExitCode.PLAN_BAD_VALUE, ExitCode.PLAN_NOT_TOML,
)  # fmt: skip
PLANS: dict[str, tuple[str, ExitCode]] = {
    # mkfs and a second device, a file, or another deed.
    "an ext4 journal elsewhere": (variant(mkfs="-J device=VICTIM"), REFUSED),
    "an ext4 journal by label": (variant(mkfs="-J device=LABEL=production"), REFUSED),
    "a device that is a journal": (variant(mkfs="-O journal_dev"), REFUSED),
    "an ext4 filled from a folder": (variant(mkfs="-d /etc"), REFUSED),
    "an ext4 at an offset": (variant(mkfs="-E offset=4096"), REFUSED),
    "an ext4 of a length": (variant(mkfs="-b 4096 1000"), REFUSED),
    "an ext4 with blocks tested": (variant(mkfs="-c"), REFUSED),
    "an ext4 with bad blocks of a file": (variant(mkfs="-l /etc/passwd"), REFUSED),
    "an ext4 with an undo file": (variant(mkfs="-z VICTIM"), REFUSED),
    "an ext4 with another's UUID": (variant(mkfs="-U clear"), REFUSED),
    "an xfs log elsewhere": (variant("xfs", mkfs="-l logdev=VICTIM"), REFUSED),
    "an xfs log elsewhere, after an innocent word": (
        variant("xfs", mkfs="-l size=10m,logdev=VICTIM"),
        REFUSED,
    ),
    "an xfs realtime device": (variant("xfs", mkfs="-r rtdev=VICTIM"), REFUSED),
    "an xfs in another device": (variant("xfs", mkfs="-d name=VICTIM"), REFUSED),
    "an xfs with options of a file": (variant("xfs", mkfs="-c options=/etc/passwd"), REFUSED),
    "an xfs with a prototype": (variant("xfs", mkfs="-p /etc/passwd"), REFUSED),
    "a btrfs of two devices": (variant("btrfs", mkfs="-d single VICTIM"), REFUSED),
    "a btrfs of two devices, after --": (variant("btrfs", mkfs="-- VICTIM"), REFUSED),
    "a btrfs filled from a folder": (variant("btrfs", mkfs="--rootdir /etc"), REFUSED),
    "an f2fs of two devices": (variant("f2fs", mkfs="-c VICTIM"), REFUSED),
    "a device as the only word": (variant(mkfs="VICTIM"), REFUSED),
    "a version instead": (variant(mkfs="-V"), REFUSED),
    "a dry run": (variant(mkfs="-n"), REFUSED),
    # A shell.
    "a second command": (variant(mkfs="; dd if=/dev/zero of=VICTIM"), REFUSED),
    "a command in a word": (variant(mkfs="-m $(dd of=VICTIM)"), REFUSED),
    "a command in backquotes": (variant(mkfs="-m `reboot`"), REFUSED),
    "a new line": (variant(mkfs="-m 0\ndd of=VICTIM"), REFUSED),
    "a quote that never ends": (variant(mkfs="-m '0"), REFUSED),
    # mount.
    "a btrfs mounted with another": (variant("btrfs", mount="device=VICTIM"), REFUSED),
    "an xfs log at the mount": (variant("xfs", mount="logdev=VICTIM"), REFUSED),
    "an ext4 journal at the mount": (variant(mount="journal_path=VICTIM"), REFUSED),
    "an ext4 journal by its number": (variant(mount="journal_dev=0x700"), REFUSED),
    "a loop device at the mount": (variant(mount="loop=VICTIM"), REFUSED),
    "a bind mount": (variant(mount="bind"), REFUSED),
    "a remount": (variant(mount="noatime,remount"), REFUSED),
    "programs that grant": (variant(mount="noatime,suid"), REFUSED),
    "nodes that open": (variant(mount="noatime,dev"), REFUSED),
    "a folder that mount makes": (variant(mount="X-mount.mkdir=/etc/cron.d"), REFUSED),
    "a part of the tree": (variant(mount="X-mount.subdir=/etc"), REFUSED),
    "another mount program": (variant(mount="helper=/bin/sh"), REFUSED),
    "a comma in a word": (variant(mount="noatime\\,suid"), REFUSED),
    # tune2fs.
    "an undo file of tune2fs": (variant(tune="-z VICTIM"), REFUSED),
    "a journal of tune2fs": (variant(tune="-J device=VICTIM"), REFUSED),
    # Places.
    "an option that is a device": (TINY_PLAN.replace(_MOUNT, 'mount = { device = "VICTIM" }'), KEY),
    "devices in the plan": (TINY_PLAN.replace("repeats", 'device = "VICTIM"\nrepeats'), KEY),
    "a setting's file": (TINY_PLAN + '[settings]\n"../../../VICTIM" = 1\n', KEY),
    "a scheduler that is a path": (TINY_PLAN + '[settings]\nscheduler = "../../x\\nnone"\n', VALUE),
    "a program by its path": (variant("/bin/sh"), ExitCode.UNKNOWN_FILESYSTEM),
    "a program with its words": (variant("ext4 -F VICTIM"), ExitCode.UNKNOWN_FILESYSTEM),
    "files of another's": (workload(of='"/etc"'), VALUE),
    "an array of another's": (TINY_PLAN + '[[array]]\nlevel = "raid0"\ndevices = ["VICTIM"]\n', KEY),
    "a NUL": (TINY_PLAN.replace("two tiny", "two\0tiny"), TOML),
}
"""52; VICTIM is a device that nobody gave."""


def test_a_plan_reaches_no_second_device_no_file_and_no_shell(bench: Bench, victim: str) -> None:
    def refused(text: str, code: ExitCode) -> None:
        plan = bench.plan(text.replace("VICTIM", victim))
        fails(code, *bench.words("run", plan), names=(plan,))

    assert len(PLANS) == 52
    with nothing_changes(bench):
        each(PLANS, refused)


NAMES = (
    "-",
    "--",
    "-F",
    "--yes",
    "*",
    "/dev/loop*",
    "~",
    "$HOME",
    "/",
    "/dev",
    "/dev/",
    ".",
    "\n",
    "/dev/loop0 /dev/loop1",
)


def test_no_odd_word_is_taken_for_a_device(bench: Bench) -> None:
    codes = {ExitCode.DEVICE_MISSING, ExitCode.NOT_A_BLOCK_DEVICE, ExitCode.USAGE}

    def refused(name: str) -> None:
        for words in (
            bench.words("run", bench.plan(), name),
            ("run", bench.plan(), f"--device={name}", "--runs", bench.runs),
        ):
            done = command(*words)
            assert done.returncode in codes, done
            assert_plain(done.stdout + done.stderr)

    with nothing_changes(bench):
        each({name: (name,) for name in NAMES}, refused)
