"""Names of rows, made from only what differs between the rows of one filesystem."""

from __future__ import annotations

from collections.abc import Sequence


def with_labels(given: Sequence[tuple[str, str]], words: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return a label for each row of (filesystem, label of its own or ""), with words[i] those of row i.

    A label of the plan's own is kept. Words that all rows of a filesystem share are not named.
    """
    shared = {filesystem: _shared(given, words, filesystem) for filesystem in {name for name, _ in given}}
    return tuple(
        label or _label(filesystem, words[number], shared[filesystem])
        for number, (filesystem, label) in enumerate(given)
    )


def _shared(
    given: Sequence[tuple[str, str]], words: Sequence[Sequence[str]], filesystem: str
) -> frozenset[str]:
    sets = [set(words[number]) for number, (name, _) in enumerate(given) if name == filesystem]
    return frozenset(set.intersection(*sets))


def _label(filesystem: str, words: Sequence[str], shared: frozenset[str]) -> str:
    return " ".join((filesystem, *(word for word in words if word not in shared)))
