"""Values that nobody would write in good faith."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = (
    "", " ", "\x00", "\x1b]0;title\x07", "\x1b[2J", "\u202egpj", "[/x]", "a\nb", "a\rb", "\x9b31m", "\ud800", "\U000e0001",
    "$(touch /tmp/x)", "`id`", "; rm -rf /", "| sh", "&& reboot", "'", '"', "\\", "-", "--", "--help", "-F", "-f -L x",
    "/dev/sdb", "/dev/vda", "/dev/../etc/passwd", "/etc/passwd", "../../x", "..", ".", "~", "file:x?mode=rwc", "/", "//",
    "device=/dev/sdb", "logdev=/dev/sdb", "-J device=/dev/sdb", "-l logdev=/dev/sdb", "suid,dev,exec", "loop", "bind",
    "/proc/sys/kernel/panic", "/sys/block/vda/queue/scheduler", "%s%n", "{path}", "{0.__class__}", "DEVICE", "latest",
    "on", "off", "auto", "fit", "none", "raw", "ext4", "xfs", "btrfs", "create", "read", "delete", "mix", "stat",
    "1e999", "nan", "-1", "0", "0x10", "1MiB", "64KiB", "1TiB", "99999999999999999999TiB", "60s", "1ns", "9" * 5000, "x" * 5000,
)  # fmt: skip
ACTING = (
    "\x1b]0;title\x07",
    "\x1b[2J",
    "\u202egpj",
    "[/x]",
    "a\nb",
    "a\rb",
    "\x9b31m",
    "\U000e0001",
    "\u2028",
    "|",
    "`",
    "=1+1",
    '"',
)
"""What would act on a terminal, in a table or in markup, where it were printed as it is."""
NUMBERS = (
    0, 1, -1, 2, 3, 7, 128, 255, 4096, 65536, 10**6, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 10**400,
    0.0, -0.0, 0.25, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip

texts = st.one_of(
    st.sampled_from(TEXTS),
    st.text(max_size=20),
    st.lists(st.sampled_from(TEXTS), min_size=2, max_size=3).map(" ".join),
)
numbers = st.one_of(st.sampled_from(NUMBERS), st.integers(), st.floats())
scalars: st.SearchStrategy[Any] = st.one_of(texts, numbers, st.booleans())
