"""A filesystem with one choice of options."""

from __future__ import annotations

from dataclasses import dataclass

RAW = "raw"


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the grid. mkfs_words and mount_words have passed the catalog's allow-list.

    filesystem is a catalog name, or RAW for no filesystem at all.
    """

    label: str
    filesystem: str
    mkfs_words: tuple[str, ...] = ()
    mount_words: tuple[str, ...] = ()
    tune_words: tuple[str, ...] = ()
    as_printed: str = ""
    """The words of whoever published it, where today others mean the same."""
    hidden_words: tuple[str, ...] | None = None
    """Words whose effect nothing that is read back would show: where these differ, or aren't known (None, as in
    older journals), variants are never called equal."""

    @property
    def is_raw(self) -> bool:
        """True for the row without a filesystem."""
        return self.filesystem == RAW
