"""Failed system calls in words."""

from __future__ import annotations

import os

from fsconsole.errors import SystemRefused


def system_refusal(error: OSError) -> SystemRefused:
    """Return a failed system call in words, with the files that it was about."""
    names = [
        os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes))
    ]
    return SystemRefused(": ".join([*names, error.strerror or str(error) or type(error).__name__]))
