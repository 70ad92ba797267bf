"""The variants of a draft that are in the tools' own words: added, changed, doubled and removed."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.plan.planfile import VariantText
from fsconsole.tui.draft import Draft, changed


def with_variant(draft: Draft, number: int, variant: VariantText) -> Draft:
    """Return the draft with a variant in this place, ticked; one behind the last is added."""
    kept = draft.plan.variants
    variants = (*kept[:number], variant, *kept[number + 1 :])
    return replace(
        changed(draft, replace(draft.plan, variants=variants)), off_variants=draft.off_variants - {number}
    )


def doubled_variant(draft: Draft, number: int) -> Draft:
    """Return the draft with the same words at the end once more, to be changed."""
    variants = draft.plan.variants
    return with_variant(draft, len(variants), replace(variants[number], label=""))


def removed_variant(draft: Draft, number: int) -> Draft:
    """Return the draft without a variant; the others stay ticked and unticked as they were."""
    variants = draft.plan.variants
    left = changed(draft, replace(draft.plan, variants=(*variants[:number], *variants[number + 1 :])))
    off = frozenset(each - (each > number) for each in draft.off_variants if each != number)
    return replace(left, off_variants=off)
