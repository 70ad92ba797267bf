"""Checks of machine, filesystems and devices before anything is written."""
