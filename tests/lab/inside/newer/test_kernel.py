"""The newer kernel is what runs here, and what it no longer has is told by its own words."""

from __future__ import annotations

import os

from tests.lab.cache import NEWER_KERNEL, kernel_release


def test_the_kernel_is_that_of_the_backports() -> None:
    assert os.uname().release == kernel_release(NEWER_KERNEL)
