"""The twelve tests of bonnie++."""

from __future__ import annotations

from enum import Enum


class BonnieTest(str, Enum):
    """Tests in the order of bonnie++'s csv, by its names (man 1 bon_csv2html), each with a column head."""

    column: str
    help: str

    def __new__(cls, name: str, column: str = "", explanation: str = "") -> BonnieTest:
        """Make a member; a look-up by name alone makes none."""
        test = str.__new__(cls, name)
        test._value_ = name
        test.column, test.help = column, explanation
        return test

    # fmt: off
    PUTC = "putc", "putc", "writes of one byte"
    PUT_BLOCK = ("put_block", "block output",
        "writes of one block; bonnie++ 1.90 and later sync each file at its close, within this time")
    REWRITE = "rewrite", "rewrite", "reads of one block that is changed and written back, counted once"
    GETC = "getc", "getc", "reads of one byte"
    GET_BLOCK = "get_block", "block input", "reads of one block"
    SEEKS = "seeks", "seeks", "reads of one block at a random place, one in ten written back"
    SEQ_CREATE = "seq_create", "create seq", "files created in the order of their names"
    SEQ_STAT = "seq_stat", "stat seq", "files statted, and read where they hold data, in that order"
    SEQ_DELETE = "seq_del", "delete seq", "files deleted in that order"
    RAN_CREATE = "ran_create", "create rand", "files created under random names"
    RAN_STAT = "ran_stat", "stat rand", "such files statted, and read where they hold data"
    RAN_DELETE = "ran_del", "delete rand", "such files deleted"
    # fmt: on


IN_KIB = frozenset({
    BonnieTest.PUTC, BonnieTest.PUT_BLOCK, BonnieTest.REWRITE, BonnieTest.GETC, BonnieTest.GET_BLOCK,
})  # fmt: skip
"""Tests whose rate counts KiB; the others count seeks or files."""

RATES_OF_ALL = {BonnieTest.PUT_BLOCK: "write", BonnieTest.GET_BLOCK: "read"}
"""Tests whose rate is the metric of that name, which other loads have, too."""
