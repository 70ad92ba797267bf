"""Filesystems that few kernels can mount: what their tools make and find, up to where a mount would be needed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import check_command, features_command, make_commands
from fsconsole.devices.content import probe_signatures
from fsconsole.inspect.checks import Verdict, verdict_of
from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.model.plan import Variant
from fsconsole.plan.expand import cell_uuid
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import run

pytestmark = pytest.mark.root

UUID = cell_uuid("20261121-081000-k7qf", 3)
MADE_WITH = {
    "f2fs": (("-s", "2", "-O", "extra_attr,compression"), {"compression": "on", "segments_per_section": "2"}),
    "nilfs2": (("-B", "1024"), {"blocks_per_segment": "1024"}),
    "jfs": (("-s", "4"), {"block_size": "4096"}),
    "reiserfs": (("-h", "tea"), {"hash": "tea"}),
}


@pytest.fixture(params=MADE_WITH)
def made(request, loop_device):
    """One of them, made on a loop device as a cell makes it over another filesystem."""
    filesystem = load_catalog().get(request.param)
    missing = [tool for tool in filesystem.tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"NOT INSTALLED HERE: {', '.join(missing)} (package {filesystem.package})")
    device = loop_device(filesystem.trial_bytes)
    run("mkfs.ext4", "-q", device)
    variant = Variant("", filesystem.name, (*filesystem.base_mkfs.split(), *MADE_WITH[filesystem.name][0]))
    for argv in make_commands(filesystem, variant, device, UUID):
        run(*argv)
    return filesystem, device


def test_the_gate_would_know_it_by_the_runs_uuid(made):
    filesystem, device = made
    found = probe_signatures(RealExecutor(), device)
    assert {(signature.type, signature.uuid) for signature in found} == {(filesystem.name, UUID)}


def test_what_mkfs_was_told_is_read_back(made):
    filesystem, device = made
    text = run(*features_command(filesystem, device))
    found = {feature.name: feature.value for feature in parse_mkfs_features(filesystem.name, text)}
    assert MADE_WITH[filesystem.name][1].items() <= found.items()


def test_its_check_finds_it_clean(made):
    filesystem, device = made
    if not filesystem.commands.check:
        assert filesystem.name == "nilfs2"
        return
    done = subprocess.run(check_command(filesystem, device), check=False, capture_output=True, text=True)
    assert verdict_of(filesystem.name, done.returncode, done.stdout + done.stderr) is Verdict.CLEAN


def test_the_smallest_that_is_declared_can_be_made_and_nothing_much_smaller(made, loop_device):
    filesystem, _ = made
    variant = Variant("", filesystem.name, tuple(filesystem.base_mkfs.split()))
    smaller = loop_device(filesystem.min_bytes - 4 * MIB)
    argv = make_commands(filesystem, variant, smaller, UUID)[0]
    assert subprocess.run(argv, check=False, capture_output=True).returncode != 0
