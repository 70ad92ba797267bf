"""Plan files for tests."""

from __future__ import annotations

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Plan
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import PlanFile, TargetSpec
from fsconsole.plan.read import parse_plan
from fsconsole.text import GIB

WORKLOAD = """
[[workload]]
name = "large files"
kind = "create"
threads = 4
file_size = "1MiB"
"""
VARIANT = '[[variant]]\ntype = "ext4"\n'
SMALLEST = "schema = 1\n" + VARIANT + WORKLOAD

DESIGN = """
schema = 1
title = "ext4 against xfs: many large files"
repeats = "auto"
primary = "fsync p99"
same = 5
control = true
order = "rounds"
seed = 20080520
scale = "fit"
equalise = "discard"
raw = true

[settings]
read_ahead = ["128KiB", "2MiB"]
scheduler = ["mq-deadline"]

[[array]]
level = ["raid5", "raid6"]
chunk = ["64KiB", "512KiB"]

[[filesystem]]
type = "ext4"
mkfs = { inode_size = [256], flex_bg = ["off", "on"], flex_bg_size = [64] }
mount = { data = ["ordered", "writeback"], delalloc = ["on", "off"] }
exclude = [{ flex_bg = "off", flex_bg_size = 64 }]

[[variant]]
type = "xfs"
mkfs = "-d su=64k,sw=4"
mount = "noatime"
label = "xfs, striped"

[[workload]]
name = "large files"
kind = "create"
threads = 128
file_size = "1GiB"
block_size = "64KiB"
directories = "one"

[[workload]]
name = "read back"
kind = "read"
cold = true
with = { read_ahead = "4MiB" }

[after]
check = true
crash = true
delete = "rm"
"""
"""The plan file of the design, with every key that a plan can have."""

DEVICE = TargetSpec("/dev/loop7", 4 * GIB)


def parse(text: str) -> PlanFile:
    return parse_plan(text, "plan.toml")


def build(text: str, *targets: TargetSpec, run_id: str = "run", kernel: str = "6.18.0") -> Plan:
    """Return a plan of one round where the text says nothing of rounds."""
    text = text if "repeats" in text else text.replace("schema = 1", "schema = 1\nrepeats = 1")
    return build_plan(parse(text), targets or (DEVICE,), load_catalog(), run_id=run_id, kernel=kernel)


def labels(plan: Plan) -> list[str]:
    return [cell.variant.label for cell in plan.cells]
