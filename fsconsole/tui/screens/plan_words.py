"""Variants in the tools' own words: their section, and the form of one."""

from __future__ import annotations

from collections.abc import Mapping

from fsconsole.catalog.filesystem import Catalog
from fsconsole.plan.planfile import VariantText
from fsconsole.tui.draft import Draft, toggled_variant
from fsconsole.tui.draft_words import with_variant
from fsconsole.tui.screens.form import FormScreen
from fsconsole.tui.screens.plan_section import Asked, Desk, number_in
from fsconsole.tui.views.lines import Line
from fsconsole.tui.views.plan_words import ADD, variant_of, words_complaint, words_fields, words_lines


class WordsScreen(FormScreen[VariantText]):
    """Ends with a variant whose words have passed the allow-list and the rules, as those of a plan file."""

    def __init__(self, variant: VariantText, number: int, catalog: Catalog) -> None:
        """Show a variant; number is its place among those in words."""
        super().__init__("A variant in the tools' own words", words_fields(variant, catalog))
        self._number, self._catalog = number, catalog

    def judged(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Return what the plan reader would say, and of which field."""
        return words_complaint(texts, self._number, self._catalog)

    def result(self, texts: Mapping[str, str]) -> VariantText:
        """Return the variant."""
        return variant_of(texts, self._number, self._catalog)


class Words:
    """The variants in the tools' own words."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each, and one to add another."""
        return words_lines(desk.draft)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Leave one out, or take it in again."""
        return desk.draft if key == ADD else toggled_variant(desk.draft, number_in(key))

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for its words, or for those of another one."""
        return words_form(desk, len(desk.draft.plan.variants) if key == ADD else number_in(key))


def words_form(desk: Desk, number: int) -> Asked:
    """Return the form of one; behind the last it is that of a new one, of the filesystem that is ticked first."""
    variants = desk.draft.plan.variants
    names = [desk.draft.plan.checklists[each].filesystem for each in desk.draft.checklists]
    new = VariantText(names[0] if names else desk.catalog.names[0])
    variant = variants[number] if number < len(variants) else new
    return Asked(
        WordsScreen(variant, number, desk.catalog), lambda taken: with_variant(desk.draft, number, taken)
    )
