"""Values of the domain, without I/O; and default folders, here since help loads no more of the model."""

DEFAULT_RUNS_DIR = "/var/lib/fsconsole/runs"
RUNS_VARIABLE = "FSCONSOLE_RUNS"
"""Variable that names the directory of runs where --runs does not."""
DEFAULT_SCRATCH_DIR = "/var/lib/fsconsole/scratch"
