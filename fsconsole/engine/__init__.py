"""The process that carries out a run."""
