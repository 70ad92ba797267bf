"""Load generators, and their confinement."""
