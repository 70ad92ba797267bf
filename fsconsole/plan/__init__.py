"""Expands a plan file into cells with exact commands; no I/O."""
