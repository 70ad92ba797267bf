"""What screens show, as values: pure functions from state to rows, words and gauges."""
