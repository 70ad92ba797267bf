"""The first comparison, begun from the list of devices: offered in a line at the first start, asked about later."""

from __future__ import annotations

import asyncio

from fsconsole.tui.device_jobs import start_demo
from fsconsole.tui.device_watch import DeviceWatch
from fsconsole.tui.screens.ask import AskScreen
from fsconsole.tui.screens.jobs import JobScreen
from fsconsole.tui.views.device_ticks import NEEDS_ROOT
from fsconsole.tui.views.device_words import DEMO_QUESTION, DEMO_TOLD


class DemoScreen(JobScreen):
    """Subclasses follow the devices, and show a line with the id "offer" where the demo is offered."""

    _watch: DeviceWatch

    def action_demo(self) -> None:
        """Begin the first comparison; where no line says what that does, it is asked about."""
        if not self._may("The demo is started"):
            return
        if self.query_one("#offer").display:
            self._begin_demo(is_agreed=True)
        else:
            question = AskScreen(DEMO_QUESTION, DEMO_TOLD, yes="Start", no="Leave it")
            self.app.push_screen(question, lambda agreed: self._begin_demo(is_agreed=bool(agreed)))

    def _may(self, what: str) -> bool:
        if not self.session.is_root:
            self.say(f"{what} by root only: {NEEDS_ROOT}", style="$warning")
        return self.session.is_root

    def _begin_demo(self, *, is_agreed: bool) -> None:
        if is_agreed:
            end = asyncio.Event()
            self.begin("Making a scratch device of 2 GiB and starting the demo", self._demo(end), end)

    async def _demo(self, end: asyncio.Event) -> None:
        with self.session.starting(self.action_end_job):
            demo = await start_demo(self._watch.children, self.session.runs_dir, end)
            if demo.going_on:
                self.session.unstopped.append(demo.going_on)
        self._watch.want()
        if demo.folder is None:
            self.say("Ended: no run was begun, and the scratch device is removed.")
        elif demo.going_on:
            self.say_at_hand(f"{demo.going_on}  The list of runs (5) shows it.", style="$error")
        elif self.is_active:
            self.session.folder = demo.folder
            self.app.switch_mode("run")
        else:
            # Whoever is at something else by now stays there.
            self.say_at_hand(f"The demo's run {demo.folder.name} has begun: the list of runs (5) shows it.")
