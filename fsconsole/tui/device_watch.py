"""Looks at all devices through the command, when there is a reason to; between looks, at the kernel's tables."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from fsconsole.client.children import Children, failure
from fsconsole.errors import ChildFailed
from fsconsole.tui.block_changes import read_changes
from fsconsole.tui.block_tables import BlockTables, read_arrays, read_tables
from fsconsole.tui.views.devices import (
    WORDS,
    Entry,
    Key,
    Listing,
    parse_listing,
    with_changes,
    with_progress,
    with_proofs,
)


@dataclass(slots=True)
class DeviceWatch:
    """What was seen last, and when."""

    children: Children
    runs_dir: str
    listing: Listing = field(default_factory=Listing)
    seen_s: float | None = None
    """By the monotonic clock; None before the first look."""
    is_looking: bool = False
    has_failed: bool = False
    """Whether the last look did."""
    _is_wanted: bool = True
    _tables: BlockTables | None = None
    _proofs: dict[Key, Entry] = field(default_factory=dict)

    @property
    def age_s(self) -> float | None:
        """How old the listing is; None before the first look."""
        return None if self.seen_s is None else time.monotonic() - self.seen_s

    @property
    def is_wanted(self) -> bool:
        """Whether something happened that was not looked at."""
        return self._is_wanted

    def want(self) -> None:
        """Ask for another look."""
        self._is_wanted = True

    async def look(self) -> None:
        """Look at all devices. Raises ChildFailed."""
        self._is_wanted = False
        self.has_failed = True
        self._tables = await asyncio.to_thread(read_tables)
        found = await self._listed()
        self.has_failed = False
        self.seen_s = time.monotonic()
        # A look takes a while: what came and went meanwhile must not come and go again.
        self.listing = await self._up_to_now(with_proofs(found, self._proofs))

    async def prove(self, entry: Entry) -> None:
        """Look closely at one device that the listing leaves open. Raises ChildFailed."""
        path = entry.device.path
        found = await self._listed(path)
        seen = found.at(path)
        if seen is None or not seen.is_proved:
            raise ChildFailed(
                words="devices", said="; ".join(found.notes) or f"{path} could not be looked at."
            )
        self._proofs[entry.key] = seen
        self.listing = with_proofs(self.listing, self._proofs)

    async def glimpse(self) -> bool:
        """Take what came and went into the listing, until the next look tells more; return whether anything did."""
        if self.seen_s is None:
            return False
        before = self.listing
        self.listing = await self._up_to_now(before)
        return self.listing is not before

    async def has_changed(self) -> bool:
        """Return whether the kernel's tables say something else than at the last look."""
        return self._tables is not None and await asyncio.to_thread(read_tables) != self._tables

    async def follow_progress(self) -> bool:
        """Take how far arrays have synced into the listing; return whether that has moved."""
        if not self.listing.syncs:
            return False
        before = self.listing
        self.listing = with_progress(before, await asyncio.to_thread(read_arrays))
        return self.listing is not before

    async def _up_to_now(self, listing: Listing) -> Listing:
        devices = tuple(entry.device for entry in listing.entries)
        changes = await asyncio.to_thread(read_changes, devices)
        return with_changes(listing, changes.gone, changes.new)

    async def _listed(self, *paths: str) -> Listing:
        done = await self.children.run(*WORDS, "--runs", self.runs_dir, *paths)
        if done.exit_code:
            raise failure(done)
        return parse_listing(done.out, done.err)
