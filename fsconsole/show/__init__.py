"""Presentation for console and command line: pure functions from state to rows, sentences and gauges."""
