"""Stripes of a hardware RAID, typed in as chunk and data disks: words for each mkfs that takes them."""

from __future__ import annotations

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.plan.read import parse_plan
from fsconsole.plan.rows import list_candidates, rows_of

LOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'


def _words(variants: str, shape: str = '{ chunk = "128KiB", data_disks = 10 }') -> list[str]:
    plan = parse_plan(f"schema = 1\ngeometry = {shape}\n{LOAD}{variants}", "plan.toml")
    rows = rows_of(plan, list_candidates(plan, load_catalog(), "6.18")).rows
    return [" ".join(row.variant.mkfs_words) for row in rows]


def test_chunk_and_data_disks_give_the_words_of_each_mkfs() -> None:
    """As Lowe had them in 2009: 128 KiB are 32 blocks, ten data disks 320; btrfs takes no such words."""
    kinds = ('type = "ext4"\nmkfs = "-i 65536"', 'type = "ext2"', 'type = "xfs"', 'type = "btrfs"')
    ext4, ext2, xfs, btrfs = _words("".join(f"[[variant]]\n{kind}\n" for kind in kinds))
    assert "stride=32,stripe_width=320" in ext4
    assert "-i 65536" in ext4
    assert ext4.count("-E") == 1, "mke2fs takes the last -E alone"
    assert "lazy_itable_init=0" in ext4
    # Below 512 MiB mke2fs would make blocks of 1 KiB, and the stride would mean a quarter of the chunk.
    assert "-b 4096" in ext2
    assert "-d su=128k,sw=10" in xfs
    assert "su" not in btrfs


def test_a_variant_with_stripes_of_its_own_keeps_them_and_checklists_get_the_plans() -> None:
    """A stride counts in blocks of the variant's own size."""
    listed, own, blocks = _words(
        '[[variant]]\ntype = "xfs"\nmkfs = "-d su=64k,sw=4"\n[[variant]]\ntype = "ext4"\nmkfs = "-b 1024"\n'
        '[[filesystem]]\ntype = "ext3"\n'
    )
    assert "stride=32,stripe_width=320" in listed
    assert "su=64k,sw=4" in own
    assert "su=128k" not in own
    assert "stride=128,stripe_width=1280" in blocks


def test_a_stripe_unit_of_the_log_is_no_stripe_of_the_data_and_the_plans_stays() -> None:
    (both,) = _words('[[variant]]\ntype = "xfs"\nmkfs = "-l su=32k"\n')
    assert "-l su=32k" in both
    assert "-d su=128k,sw=10" in both


@pytest.mark.parametrize(
    "shape", ['{ chunk = "100KiB", data_disks = 10 }', '{ chunk = "128KiB" }', "{ data_disks = 3 }"]
)
def test_a_chunk_that_is_no_power_of_two_or_half_a_geometry_is_an_error(shape: str) -> None:
    """It would be a stripe that no controller has."""
    with pytest.raises(PlanBadValue):
        _words('[[variant]]\ntype = "ext4"\n', shape)
