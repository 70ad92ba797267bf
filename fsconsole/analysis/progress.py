"""How far the step at hand is, in words."""

from __future__ import annotations

from fsconsole.model.sample import Sample
from fsconsole.model.state import StepState
from fsconsole.units import format_guess


def is_of(step: StepState, sample: Sample) -> bool:
    """Return whether a sample was taken within a step: one of an earlier step tells nothing of it."""
    return sample.step == step.kind.value and sample.monotonic_ns >= step.started_monotonic_ns


def progress_words(step: StepState, sample: Sample | None) -> str:
    """Return how far a step is by its latest sample: "42 %, about 3 min 05 s left"; empty where nothing tells it."""
    if sample is None or sample.progress is None or not is_of(step, sample):
        return ""
    done, left_s = f"{sample.progress.done_percent:.0f} %", sample.progress.left_s
    return done if left_s is None else f"{done}, about {format_guess(left_s)} left"
