"""From folded runs to grids; pure."""
