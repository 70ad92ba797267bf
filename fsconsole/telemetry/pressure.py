"""Stalls of tasks that wait for I/O, from /proc/pressure/io (Documentation/accounting/psi.rst)."""

from __future__ import annotations

from fsconsole.model.sample import Pressure
from fsconsole.telemetry.rates import Unreadable

PROC_PRESSURE_IO = "/proc/pressure/io"


def parse_pressure(text: str) -> Pressure:
    """Return the averages over 10 s. Raises Unreadable."""
    averages = {}
    try:
        for line in text.splitlines():
            kind, *words = line.split()
            averages[kind] = float(dict(word.split("=", 1) for word in words)["avg10"])
        return Pressure(io_some_percent=averages["some"], io_full_percent=averages["full"])
    except (KeyError, ValueError) as error:
        raise Unreadable(f"{PROC_PRESSURE_IO} looks otherwise than it should: {error}") from error
