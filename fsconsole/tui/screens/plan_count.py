"""The count of the Plan screen's draft: variants, cells, bytes and time, worked out in the background; and its lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from textual.content import Content
from textual.widgets import Static

from fsconsole.catalog.filesystem import Catalog
from fsconsole.client.runs import last_spreads
from fsconsole.journal.rates import DeviceKey, measured_rates
from fsconsole.model.plan import Loads
from fsconsole.plan.inodes import MKE2FS_CONF, parse_mke2fs_conf
from fsconsole.plan.outcome import Outcome
from fsconsole.plan.planfile import TargetSpec, with_rate
from fsconsole.show import plan as view
from fsconsole.show.plan_text import busy_line, power_line
from fsconsole.system.files import cpu_count, load_average, read_text_or
from fsconsole.tui import planfiles
from fsconsole.tui.screens import plan_files
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.plan_edited import EditedPlan
from fsconsole.tui.screens.plan_machine import MachineSupport
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.watch import in_background

_SETTLE_S = 0.1
"""A plan is counted when no key has changed it for so long."""


class PlanCount:
    """The outcome of a draft on the ticked devices and this machine; draft and outcome are those counted last."""

    def __init__(
        self,
        screen: ConsoleScreen,
        edited: EditedPlan,
        machine: MachineSupport,
        catalog: Catalog,
        counted: Callable[[], None],
    ) -> None:
        """Take what is counted, and what is called when it was."""
        self._screen, self._edited, self._machine, self._catalog, self._show = screen, edited, machine, catalog, counted
        self.draft, self.outcome = edited.draft, Outcome()
        self.is_done = False
        """True if the draft was counted since another plan was begun."""
        self.disks: tuple[TargetSpec, ...] = ()
        self.missing: tuple[str, ...] = ()
        """Ticked devices that are not there any more."""
        self._counted_for: tuple[object, ...] = ()
        self._is_counting = self._is_stale = False
        self._last_spreads: Mapping[Loads, float] = {}
        """Of the last runs on this machine; empty where there is none, or it isn't read yet."""
        self._rates: Mapping[DeviceKey, float] = {}
        """Of the devices of these runs."""
        self._mke2fs = parse_mke2fs_conf(read_text_or(MKE2FS_CONF, ""))

    @property
    def is_up_to_date(self) -> bool:
        """True if the current draft was counted, for the current devices and machine."""
        return self.is_done and self.draft == self._edited.draft and self._counted_for == self._ground

    @property
    def _ground(self) -> tuple[object, ...]:
        return self.disks, self._machine.here

    def forget(self) -> None:
        """Take the draft of another plan, of which nothing is known yet."""
        self.draft, self.outcome, self.is_done = self._edited.draft, Outcome(), False

    def start(self) -> None:
        """Count the draft, again where that is under way."""
        self._tell_kept()
        session = self._screen.session
        session.makes_arrays = bool(self._edited.draft.plan_file.arrays)
        if session.makes_arrays:
            self._machine.ask_levels()
        self._is_stale = True
        if not self._is_counting:
            self._is_counting = True
            self._screen.run_worker(self._count(), group="count")

    async def settled(self) -> None:
        """Wait until the count is up to date."""
        while not self.is_up_to_date:
            await asyncio.sleep(0.05)

    async def look_back(self) -> None:
        """Count again with the spreads and rates of the last runs, if there are any."""
        runs_dir, before = self._screen.session.runs_dir, (self._last_spreads, self._rates)
        self._last_spreads = await in_background(partial(last_spreads, runs_dir))
        self._rates = await in_background(partial(measured_rates, runs_dir))
        if (self._last_spreads, self._rates) != before:
            self.start()

    async def read_targets(self) -> None:
        """Look at the ticked devices again, and tell of those that were unticked: another device has their name by now."""
        disks, missing, lost = await plan_files.looked_at(self._screen.session)
        if (disks, missing) != (self.disks, self.missing):
            self.disks, self.missing = disks, missing
            self._show()
            self.start()
        if lost:
            self._show()
            self._screen.say_at_hand(" ".join(lost), style="$warning")

    @property
    def _measured_disks(self) -> tuple[TargetSpec, ...]:
        """The devices, each with the rate that the last run on it measured, as `fsconsole plan` counts with it."""
        ticks = self._screen.session.ticks
        keys = (ticks[disk.path].stable_key() if disk.path in ticks else () for disk in self.disks)
        return tuple(with_rate(disk, self._rates.get(key, 0.0)) for disk, key in zip(self.disks, keys, strict=True))

    def _tell_kept(self) -> None:
        """Have whoever leaves told that a changed plan is kept, or asked where it isn't."""
        unkept, is_changed = self._edited.unkept, self._edited.is_changed
        self._screen.session.unsaved = unkept if is_changed else ""
        self._screen.session.kept = planfiles.KEPT if is_changed and not unkept else ""

    async def _count(self) -> None:
        try:
            while self._is_stale:
                while self._is_stale:
                    self._is_stale = False
                    await asyncio.sleep(_SETTLE_S)
                draft, counted_for, here = self._edited.draft, self._ground, self._machine.here
                await self._keep()
                outcome = await plan_files.counted(
                    draft, self._measured_disks, self._catalog, here, self._last_spreads, self._mke2fs
                )
                self.draft, self.outcome, self.is_done = draft, outcome, True
                self._counted_for = counted_for
                plan_files.offer_least(self._screen.session, draft, self._catalog, here, self._mke2fs)
                self._show()
        finally:
            self._is_counting = False

    async def _keep(self) -> None:
        """Keep the draft for the next console, and say where that has become impossible."""
        unkept = self._edited.unkept
        await in_background(self._edited.keeping())
        self._tell_kept()
        if self._edited.unkept and not unkept:
            self._screen.say(self._edited.unkept, style="$warning")


class Totals(Static):
    """Three lines: what the draft comes to, on which devices, and what is wrong, or what it finds on a quiet machine."""

    def tell(self, count: PlanCount, targets: Sequence[str]) -> None:
        """Show the totals of a count; targets are ticked, and some may still be read."""
        looked_at = {*(disk.path for disk in count.disks), *count.missing}
        reading = [path for path in targets if path not in looked_at]
        outcome = count.outcome if count.is_up_to_date and not reading else None
        width = self.app.size.width
        first, second = view.totals(outcome, count.disks, count.missing, width, reading)
        is_wrong = outcome is not None and outcome.plan is None
        self.set_class(is_wrong, "-wrong")
        told = lines(plain(first, "$error" if is_wrong else "bold"), plain(second), _last_total(outcome, width))
        if not (isinstance(self.content, Content) and self.content.is_same(told)):
            # The size of this text stays: the rest of the screen need not be laid out for it.
            self.update(told, layout=False)


def _last_total(outcome: Outcome | None, width: int) -> Content:
    """Return the last line: a warning, also of a busy machine, else which differences the plan finds; empty for none."""
    if outcome is None:
        return plain("")
    power = outcome.power
    busy = busy_line(power, load_average(), cpu_count(), width) if power is not None else ""
    warning = view.warning_line(outcome, width) or busy
    finds = power_line(power, width) if power is not None else ""
    return plain(warning, "$warning") if warning else plain(finds)
