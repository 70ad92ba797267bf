"""Variants in the tools' own words: as lines, as a form, and typed text as the plan reader takes it."""

from __future__ import annotations

from collections.abc import Mapping

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.tables import Table
from fsconsole.errors import FsconsoleError, OptionRefused, PlanBadValue, UnknownFilesystem
from fsconsole.plan.planfile import VariantText
from fsconsole.plan.read_filesystems import read_variant
from fsconsole.tui.draft import Draft
from fsconsole.tui.draft_parts import PLACE
from fsconsole.tui.views.lines import Line, Mark
from fsconsole.tui.views.plan_form import FormField
from fsconsole.tui.views.plan_rows import variant_words

ADD = "add"
"""Key of the line that adds one."""
_HINTS = {
    "type": "filesystem: {names}",
    "mkfs": "as mkfs takes them: -b 4096 -O ^flex_bg (no device)",
    "mount": "as mount -o takes them: noatime,nodelalloc",
    "tune": "as tune2fs takes them, between mkfs and mount; ext filesystems only",
    "label": "its name in lists and grids; empty: made from what differs",
    "as_printed": "the words of a publication that these stand for; empty: none",
}


def words_lines(draft: Draft) -> tuple[Line, ...]:
    """Return a line for each, and one to add another."""
    own = (
        Line(
            f"words {number}",
            variant_words(variant),
            Mark.OFF if number in draft.off_variants else Mark.ON,
            about=_about(variant),
            wraps=True,
        )
        for number, variant in enumerate(draft.plan.variants)
    )
    told = "A variant by mkfs's and mount's own words, checked against the catalog as they are typed (enter)."
    return (*own, Line(ADD, "(add one)", about=(told,)))


def words_fields(variant: VariantText, catalog: Catalog) -> tuple[FormField, ...]:
    """Return the form of one."""
    texts = {"type": variant.filesystem, **{key: str(getattr(variant, key)) for key in list(_HINTS)[1:]}}
    names = ", ".join(catalog.names)
    return tuple(
        FormField(key, hint.replace("{names}", names), texts[key], is_wide=True)
        for key, hint in _HINTS.items()
    )


def variant_of(texts: Mapping[str, str], number: int, catalog: Catalog) -> VariantText:
    """Return the variant that typed texts come to. Raises PlanBadValue, UnknownFilesystem, OptionRefused."""
    said = {key: text for key, text in texts.items() if text}
    return read_variant(Table(PLACE, f"variant[{number}]", {**said, "type": texts["type"].strip()}), catalog)


def words_complaint(texts: Mapping[str, str], number: int, catalog: Catalog) -> tuple[str, str]:
    """Return the field with which something is wrong, and what the plan reader says of it; both empty where nothing is."""
    try:
        variant_of(texts, number, catalog)
    except UnknownFilesystem as error:
        return "type", f"there is no filesystem '{error.name}'; nearest first: {error.nearest}"
    except OptionRefused as error:
        return _field(error.key), f"'{error.word}': {error.why}; nearest first: {error.nearest}"
    except PlanBadValue as error:
        return _field(error.key), f"{error.why}: {error.wanted}"
    except FsconsoleError as error:
        return "type", str(error)
    return "", ""


def _field(key: str) -> str:
    name = key.rpartition(".")[2]
    return name if name in _HINTS else "type"


def _about(variant: VariantText) -> tuple[str, ...]:
    rare = (("tune", variant.tune), ("as printed:", variant.as_printed))
    return (
        f"{variant.filesystem}: mkfs {variant.mkfs or '(as it comes)'}",
        f"mount {variant.mount or '(as it comes)'}",
        *(f"{name} {text}" for name, text in rare if text),
    )
