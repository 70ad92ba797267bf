"""The plan files that fsconsole ships: inside the package when installed, at the top of a checkout otherwise."""

from __future__ import annotations

import stat
from importlib.resources import files
from pathlib import Path

from fsconsole.catalog.nearest import nearest_words
from fsconsole.errors import PlanMissing

_SUFFIX = ".toml"
_NO_FILES = (
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


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
        found = path.stat().st_mode
    except FileNotFoundError:
        return _shipped_or_missing(path, name)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise PlanMissing(name, (said or str(error)).lower()) from error
    if stat.S_ISDIR(found):
        # A directory that is called like a shipped plan hides none.
        return _shipped_or_else(name, "it is a directory")
    kind = next((words for is_kind, words in _NO_FILES if is_kind(found)), "")
    if kind:
        raise PlanMissing(name, f"it is {kind}, not a file")
    return path


def _shipped_or_missing(path: Path, name: str) -> Path:
    if path.is_symlink():
        return _shipped_or_else(name, "it is a link to what is not there")
    return find_config(name)


def _shipped_or_else(name: str, why: str) -> Path:
    try:
        return find_config(name)
    except PlanMissing as error:
        raise PlanMissing(name, why) from error
