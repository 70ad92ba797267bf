"""What is asked of an engine, and what its answer means, in words."""

from __future__ import annotations

from fsconsole.model.control import ControlAnswer
from fsconsole.model.observation import Verb

_TAKEN = {
    Verb.PAUSE: "It will wait before the next cell; p goes on.",
    Verb.CONTINUE: "It goes on.",
    Verb.SKIP: "This cell ends now, and the next one begins.",
    Verb.STOP_AFTER: "It will stop after this cell; `fsconsole resume` finishes it later.",
    Verb.STOP_NOW: "It stops now; what this cell measured is lost, `fsconsole resume` does it again.",
}


def answer_words(verb: Verb, answer: ControlAnswer) -> str:
    """Return what an engine that took a request will do, and where it is."""
    return f"{_TAKEN[verb]} It is in {answer.step or 'its beginning'}."


def cleaned_words(printed: str) -> str:
    """Return what a cleanup did, of what it printed."""
    return " ".join(printed.split("\n")).strip() or "Nothing was left behind."


def farewell(run: str, runs_dir: str, default_runs_dir: str) -> str:
    """Return what is said on leaving a run that goes on."""
    kept = "" if runs_dir == default_runs_dir else f" --runs {runs_dir}"
    return f"Run {run} goes on; `fsconsole` or `fsconsole attach {run}{kept}` shows it again."
