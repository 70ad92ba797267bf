"""The folder of files that are shipped with fsconsole."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def configs_folder() -> Path:
    """Return the folder of shipped plan files, wherever fsconsole is installed."""
    package = Path(str(files("fsconsole")))
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


RECIPES = "recipes"


def is_recipe(path: Path) -> bool:
    """Return whether a shipped plan is a recipe: a load that people ask about, with a source and a limit."""
    return path.parent.name == RECIPES


def is_shipped(path: str) -> bool:
    """Return whether a file is a shipped plan."""
    return bool(path) and Path(path).parent in (configs_folder(), configs_folder() / RECIPES)
