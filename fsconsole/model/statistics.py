"""Statistics of rounds: Student's t, intervals, power, and the looks of `repeats = "auto"`."""

from __future__ import annotations

ALPHA = 0.05
"""Chance that any interval of a block misses its true value."""
POWER = 0.80
"""Chance with which a difference shall be found."""
LOOKS = (5, 8, 12)
"""Rounds after which `repeats = "auto"` decides whether to go on; no other moment, or the error grows."""
