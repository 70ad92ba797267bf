"""The plan that the Plan screen edits: its draft, the file it came from, and its copy for the next console."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.planfile import PlanFile
from fsconsole.tui import planfiles
from fsconsole.units import instant


class EditedPlan:
    """A draft beside the plan as it was opened or saved last; a changed one is kept on the disk for the next console."""

    def __init__(self) -> None:
        self.draft = self.saved = new_draft()
        """saved: as it was opened or saved last."""
        self.digest = ""
        """Of the file at plan.path, as it was opened or saved; empty where there is none."""
        self._store = planfiles.DraftStore()
        self._taken_over: Draft | None = None
        """The draft that another console left."""
        self._kept_words = ""
        self._started_text = ""

    def take_over(self, runs_dir: str) -> bool:
        """Go on with the draft that another console left; returns whether there was one. Raises DraftUnkept."""
        self._store = planfiles.DraftStore(runs_dir)
        kept = self._store.claim()
        if kept is None:
            return False
        self.draft, self.saved = kept.drafts()
        self.digest = kept.digest
        self._taken_over, self._kept_words = self.draft, kept_words(kept, runs_dir)
        return True

    def begin(self, draft: Draft, digest: str) -> None:
        """Take another plan in the place of this one."""
        self.draft = self.saved = draft
        self.digest = digest

    def saved_as(self, plan: PlanFile) -> None:
        """Take the plan as it is in its file now."""
        self.begin(Draft(plan), planfiles.digest_of_text(plan.source))

    def started(self) -> None:
        """Note that the draft was started: its run keeps it."""
        self._started_text = self.draft.text

    @property
    def is_changed(self) -> bool:
        return self.draft.plan_file != self.saved.plan_file

    @property
    def may_be_left(self) -> bool:
        """True if nothing is lost where another plan takes its place."""
        return not self.is_changed or self.draft.text == self._started_text

    @property
    def unsaved_words(self) -> str:
        """Words for the title: that it isn't saved, and when it was kept; empty where it is saved."""
        if not self.is_changed:
            return ""
        return f"not saved{self._kept_words if self.is_taken_over else ''}"

    @property
    def is_taken_over(self) -> bool:
        """True if the draft is that of another console, as it left it."""
        return self.draft is self._taken_over

    @property
    def unkept(self) -> str:
        """Why a changed draft would be lost with this console; empty where it is kept."""
        return self._store.unkept

    def keeping(self) -> Callable[[], None]:
        """Return what keeps the draft, as it is now, on the disk: in a thread it must not see half of a change."""
        return partial(self._store.keep, self.draft, self.saved, self.digest)

    def close(self) -> None:
        """Keep the draft, and leave it to the next console."""
        self.keeping()()
        self.release()

    def release(self) -> None:
        """Leave the draft to the next console."""
        self._store.release()


def kept_words(kept: planfiles.KeptDraft, runs_dir: str) -> str:
    """Return when a draft was kept, and by a console with which runs where these are others, as a clause."""
    when = f" {instant(kept.kept_ns)}" if kept.kept_ns else " by an earlier console"
    other = f" with runs in {kept.runs_dir}" if kept.runs_dir not in ("", runs_dir) else ""
    return f", kept{when}{other}"
