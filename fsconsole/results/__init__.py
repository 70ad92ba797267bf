"""Results of a run: statistics, grid, exports. Pure."""
