"""The folder of files that are shipped with fsconsole."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from fsconsole.system.files import read_text_or


def configs_folder() -> Path:
    """Return the folder of shipped plan files, wherever fsconsole is installed."""
    package = Path(str(files("fsconsole")))
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


RECIPES = "recipes"


def is_recipe(path: Path) -> bool:
    """Return whether a shipped plan is a recipe: a load that people ask about, with a source and a limit."""
    return path.parent.name == RECIPES


_TITLE = re.compile(r'^title = "(.*)"$', re.MULTILINE)


def shipped_title(path: Path) -> str:
    """Return the title of a shipped plan, or "" without one; the rest is not parsed: parsing all plans takes seconds on slow machines."""
    found = _TITLE.search(read_text_or(str(path), ""))
    return found[1] if found else ""


def is_shipped(path: str) -> bool:
    """Return whether a file is a shipped plan."""
    return bool(path) and Path(path).parent in (configs_folder(), configs_folder() / RECIPES)
