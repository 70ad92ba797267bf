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

    @property
    def is_raw(self) -> bool:
        """True for the row without a filesystem."""
        return self.filesystem == RAW
