"""The plan files that fsconsole ships: inside the package when installed, at the top of a checkout otherwise."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fsconsole.catalog.nearest import nearest_words
from fsconsole.errors import PlanMissing

_SUFFIX = ".toml"


def configs_folder() -> Path:
    """Return the folder of shipped plan files, wherever fsconsole is installed."""
    package = Path(str(files("fsconsole")))
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def list_configs() -> tuple[Path, ...]:
    """Return the shipped plan files, by name; what lies in folders below is not a plan by itself."""
    return tuple(sorted(configs_folder().glob("*" + _SUFFIX)))


def find_config(name: str) -> Path:
    """Return the shipped plan of that name ("demo" or "demo.toml"); raises PlanMissing."""
    shipped = {path.stem: path for path in list_configs()}
    found = shipped.get(name.removesuffix(_SUFFIX))
    if found is None:
        known = nearest_words(name, shipped)
        raise PlanMissing(name, f"there is no such file, and no shipped plan of that name ({known})")
    return found


def resolve_plan(name: str) -> Path:
    """Return the file of that path, or else the shipped plan of that name; raises PlanMissing."""
    path = Path(name)
    try:
        return path if path.exists() and not path.is_dir() else find_config(name)
    except (OSError, ValueError) as error:
        raise PlanMissing(name, str(error)) from error
