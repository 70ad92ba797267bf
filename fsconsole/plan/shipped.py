"""The folder of files that are shipped with fsconsole."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def configs_folder() -> Path:
    """Return the folder of shipped plan files, wherever fsconsole is installed."""
    package = Path(str(files("fsconsole")))
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"
