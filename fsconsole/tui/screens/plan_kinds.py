"""What the sections of the Plan screen differ in beside their lines: what can be done in each, and how that is told."""

from __future__ import annotations

_WHAT = {"options": "options", "variants": "variants", "workloads": "workloads", "arrays": "arrays"}
_DOUBLING = {
    "options": "A second list of the same filesystem: its variants are compared with those of the first.",
    "arrays": "A second list of arrays: they are compared with those of the first.",
}
_OFFERED = {
    "move": ("workloads",),
    "add": ("workloads", "words"),
    "double": ("workloads", "words", "options", "arrays"),
    "drop": ("workloads", "words", "options", "arrays"),
}


def is_offered(action: str, section: str) -> bool:
    """Return whether a key does something in a section; what concerns no section is always offered."""
    return action not in _OFFERED or _kind(section) in _OFFERED[action]


def what_lines_are(section: str) -> str:
    """Return what the lines of a section are called."""
    return _WHAT.get(_kind(section), "lines")


def doubling_told(section: str) -> str:
    """Return what is said when a line was doubled; empty where the new one speaks for itself."""
    return _DOUBLING.get(_kind(section), "")


def _kind(section: str) -> str:
    return section.partition(" ")[0]
