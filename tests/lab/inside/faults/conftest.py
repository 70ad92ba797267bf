"""The layers and arrays that the faults happen to."""

from tests.lab.inside.faults.bench import bench  # noqa: F401
