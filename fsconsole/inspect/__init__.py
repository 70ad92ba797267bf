"""Reads filesystems back: extents, effective features, check verdicts."""
