"""The lines with which a variant is applied, for every filesystem of the catalog, and for hostile mount points."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.filesystem import Filesystem
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, choose, to_argv
from fsconsole.errors.targets import OptionRefused
from fsconsole.kit.lines import Destination, apply_lines, fstab_text
from fsconsole.model.plan import Variant

UUID = "0f0e0d0c-0b0a-4908-8706-050403020100"
CATALOG = load_catalog()


def variant_of(filesystem: Filesystem, mkfs: str = "", mount: str = "", tune: str = "") -> Variant:
    """Return a variant as a plan makes it, with the catalog's base words."""
    chosen = choose(filesystem, mkfs, mount, tune, Where("a plan", "variant"))
    words = tuple(word.text for word in chosen.mount)
    return Variant("it", filesystem.name, to_argv(chosen.mkfs), words, to_argv(chosen.tune))


@pytest.mark.parametrize("name", CATALOG.names)
def test_what_only_a_measurement_needs_is_left_out_for_every_filesystem(name: str) -> None:
    filesystem = CATALOG.get(name)
    lines = apply_lines(filesystem, variant_of(filesystem), Destination("/dev/disk/by-id/x", UUID, "/srv/data"))
    mkfs = " ".join(lines.make[0])
    assert "lazy" not in mkfs
    assert "nodiscard" not in mkfs
    assert " -K" not in mkfs
    assert any(UUID in " ".join(argv) for argv in lines.make)
    assert all(argv[-1] == "/dev/disk/by-id/x" for argv in lines.make)
    assert lines.fstab.startswith(f"UUID={UUID} /srv/data {name} nofail 0 ")
    assert bool(lines.stripped) is bool(filesystem.base_mkfs)


def test_a_variants_own_words_stay_and_lazy_ones_go_also_where_the_plan_asked_for_them() -> None:
    ext4 = CATALOG.get("ext4")
    variant = variant_of(
        ext4, "-O ^flex_bg -E lazy_itable_init=1,stride=16", "noatime,init_itable=0,data=writeback", "-c 20"
    )
    lines = apply_lines(ext4, variant, Destination("/dev/x", UUID, "/srv/my data"), pinned=("-b 4096",))
    assert shlex.join(lines.make[0]) == f"mkfs.ext4 -F -U {UUID} -E stride=16 -O '^flex_bg' -b 4096 /dev/x"
    assert lines.make[1] == ("tune2fs", "-c", "20", "/dev/x")
    assert lines.fstab == f"UUID={UUID} /srv/my\\040data ext4 noatime,data=writeback,nofail 0 2"
    assert "init_itable=0" in lines.stripped
    assert "-E lazy_itable_init=1" in lines.stripped


def test_words_that_todays_catalog_refuses_make_no_lines() -> None:
    gone = Variant("it", "ext4", mount_words=("a_word_of_old",))
    with pytest.raises(OptionRefused):
        apply_lines(CATALOG.get("ext4"), gone, Destination("/dev/x", UUID, "/srv"))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30))
def test_a_field_of_fstab_is_one_word_and_reads_back_as_it_was(text: str) -> None:
    field = fstab_text(text)
    assert not set(field) & set(" \t\n#")
    octal = {f"\\{ord(one):03o}": one for one in " \t\n\\#"}
    read, rest = "", field
    while rest:
        one = rest[:4] if rest[:4] in octal else rest[0]
        read, rest = read + octal.get(one, one), rest[len(one) :]
    assert read == text
