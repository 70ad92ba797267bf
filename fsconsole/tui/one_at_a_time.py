"""Children that wait for each other: what looks at devices must not meet what reads them or makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fsconsole.client.children import Children, Done


class OneAtATime:
    """The same children, each begun when the one before it has ended."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._turn = asyncio.Lock()

    async def run(self, *words: str) -> Done:
        """Carry out a command in its turn. Raises ChildFailed."""
        async with self._turn:
            return await self._children.run(*words)

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        """Carry out a command in its turn, and ask it to end where end is set meanwhile. Raises ChildFailed."""
        async with self._turn:
            return await self._children.run_or_end(end, *words)

    async def lines(self, *words: str) -> AsyncIterator[str]:
        """Yield a command's lines in its turn. Raises ChildFailed."""
        async with self._turn:
            async for line in self._children.lines(*words):
                yield line
