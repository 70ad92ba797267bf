"""Exports of a grid: which there are, and what is asked of the command that makes them. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fsconsole.model.measurement import Metric
from fsconsole.tui.views.results import Choice


@dataclass(frozen=True, slots=True)
class Export:
    """One kind of export: how a file's name ends, what it is, and the words for it."""

    ending: str
    label: str
    words: tuple[str, ...]
    has_columns: bool = False
    has_published: bool = False


EXPORTS = (
    Export(".csv", "CSV: a line per cell, all figures in base units", ("--format", "csv")),
    Export(
        ".summary.csv",
        "CSV: a line per row of the grid: median, n, spread",
        ("--format", "csv", "--summary"),
    ),
    Export(".json", "JSON: all that is known", ("--format", "json"), has_published=True),
    Export(
        ".md",
        "Markdown: the grid as it is shown here",
        ("--format", "md"),
        has_columns=True,
        has_published=True,
    ),
)


def export_words(
    run: str, runs_dir: str, export: Export, choice: Choice, columns: tuple[Metric, ...]
) -> tuple[str, ...]:
    """Return the words of the command that prints an export."""
    words = ["results", run, "--runs", runs_dir, *export.words, "--sort", choice.sort_by.value]
    if export.has_columns:
        words += ["--columns", ",".join(metric.value for metric in columns)]
    if export.has_published and choice.publication is not None:
        words += ["--with", choice.publication.name]
    return tuple(words)


def proposed_path(run: str, export: Export, directory: str) -> str:
    """Return where an export goes unless the operator says otherwise."""
    return os.path.join(directory, run + export.ending)


def path_for(path: str, export: Export) -> str:
    """Return a path with the ending of another kind of export, where it has one of them."""
    for ending in sorted((known.ending for known in EXPORTS), key=len, reverse=True):
        if path.endswith(ending):
            return path.removesuffix(ending) + export.ending
    return path
