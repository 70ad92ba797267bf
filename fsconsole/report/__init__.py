"""Grids and runs as text, csv, json and markdown."""
