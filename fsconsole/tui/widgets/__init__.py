"""Widgets that know nothing of filesystems: values, thresholds, units, rows."""
