"""The draft of a plan outlives its console, and is taken by one console alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fsconsole.catalog.filesystem import Scope
from fsconsole.errors.targets import DraftUnkept
from fsconsole.model.wire import encode
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import new_draft
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.tui.planfiles import DraftStore, KeptDraft, kept_draft, state_folder

CHANGED = drafts.with_values(drafts.toggled_checklist(new_draft(), 1), 0, Scope.MOUNT, "delalloc", ("on", "off"))
DRAFT = kept_draft(CHANGED, new_draft(), "cafe")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "fsconsole"


def test_a_draft_is_taken_over_by_the_next_console_and_by_no_second_one(folder: Path) -> None:
    first = DraftStore()
    assert first.claim() is None
    first.keep(CHANGED, new_draft(), "cafe")
    # The console is still there: another one begins anew, and keeps its own.
    second = DraftStore()
    assert second.claim() is None
    second.keep(drafts.with_key(new_draft(), "repeats", 7), new_draft(), "")
    first.release()
    third = DraftStore()
    taken = third.claim()
    assert taken is not None
    assert taken.kept_ns > DRAFT.kept_ns
    assert replace(taken, kept_ns=DRAFT.kept_ns) == DRAFT
    third.keep(new_draft(), new_draft(), "")
    third.release()
    assert DraftStore().claim() is None
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_draft_is_read_back_with_what_is_unticked_and_what_it_began_with() -> None:
    assert DRAFT.drafts() == (CHANGED, new_draft())
    for path in list_configs()[:3]:
        opened = drafts.Draft(read_plan(path))
        changed = drafts.with_array(drafts.with_key(opened, "repeats", 7), 0, "chunk", ("64KiB",))
        again, saved = kept_draft(changed, opened, "").drafts()
        assert (again.plan_file, saved, saved.text) == (changed.plan_file, opened, path.read_text())
        assert again.plan.path == str(path)


def test_a_damaged_draft_is_set_aside_and_told_and_the_next_one_is_kept(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    for text in ('{"plan": 7}', encode(KeptDraft("schema = 2", (), (), "", "", ""))):
        (folder / "draft-1.json").write_text(text)
        store = DraftStore()
        with pytest.raises(DraftUnkept, match=r"draft-1\.json\.unreadable"):
            store.claim()
        assert (folder / "draft-1.json.unreadable").read_text() == text
        store.keep(CHANGED, new_draft(), "cafe")
        store.release()
        again = DraftStore()
        taken = again.claim()
        assert taken is not None
        assert taken.drafts() == DRAFT.drafts()
        again.release()


def test_a_folder_that_others_may_write_to_or_that_is_none_is_told(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    store = DraftStore()
    store.keep(CHANGED, new_draft(), "")
    assert "others may write" in store.unkept
    folder.chmod(0o700)
    store.keep(CHANGED, new_draft(), "")
    assert store.unkept == ""
    store.release()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("")
    with pytest.raises(DraftUnkept, match="file exists"):
        DraftStore().claim()


def test_a_relative_state_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", "/home/me")
    assert state_folder() == "/home/me/.local/state/fsconsole"
