"""A screen that has commands carried out one at a time, each of which escape ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from textual.worker import Worker

from fsconsole.errors import FsconsoleError
from fsconsole.tui.screens.base import ConsoleScreen


class JobScreen(ConsoleScreen):
    """Subclasses bind a key to end_job."""

    def __init__(self) -> None:
        super().__init__()
        self._job: Worker[None] | None = None
        self._job_words = ""
        self._job_end: asyncio.Event | None = None
        self._is_ending = False

    def begin(self, words: str, job: Coroutine[None, None, None], end: asyncio.Event | None = None) -> None:
        """Carry out a job, unless there is one; words say what goes on.

        A job that says itself what became of it when it is ended has an event for that; any other is cancelled.
        """
        if self._job is not None:
            job.close()
            self.say(f"{self._job_words} still goes on: escape ends it.", style="$warning")
            return
        self._job_words, self._job_end, self._is_ending = words, end, False
        self.say(f"{words}; escape ends it.")
        self._job = self.run_worker(self._carried_out(job), group="job")

    def action_end_job(self) -> None:
        """End the job at hand."""
        if self._job is None or self._is_ending:
            return
        self._is_ending = True
        self.say(f"Ending: {self._job_words} ...")
        if self._job_end is not None:
            self._job_end.set()
        else:
            self._job.cancel()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Offer the end of a job only while there is one."""
        return action != "end_job" or self._job is not None

    async def went_well(self, job: Coroutine[None, None, None]) -> bool:
        """Wait for a job and return whether it met no error; one that it met is shown."""
        try:
            await job
        except FsconsoleError as error:
            self.complain(error)
        else:
            return True
        return False

    async def _carried_out(self, job: Coroutine[None, None, None]) -> None:
        try:
            await self.went_well(job)
        finally:
            # One that was ended before it began would warn that nobody waited for it.
            job.close()
            self._job = None
            if self._is_ending and self._job_end is None and self.is_attached:
                self.say(f"Ended: {self._job_words}.")
