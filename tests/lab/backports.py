"""Where a newer kernel comes from: the backports of the machine's own Debian release, from the mirror that apt has."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import LabMissing

_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
"""Of the package debian-archive-keyring, which every Debian has."""
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Suite:
    """A part of a mirror that apt can be told to use."""

    name: str
    mirror: str


def backports() -> Suite:
    """Return the backports of what apt uses. Raises LabMissing."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)"]
    found = subprocess.run(
        [*words, "Created-By: Packages", "Component: main"],
        capture_output=True, text=True, check=False, timeout=_LIMIT_S,
    )  # fmt: skip
    for line in found.stdout.splitlines():
        origin, release, mirror = line.split(" ", maxsplit=2)
        # Updates and security fixes have suites of their own, "bookworm-security".
        if origin == "Debian" and "-" not in release:
            return Suite(f"{release}-backports", mirror)
    raise LabMissing("apt uses no release of Debian whose backports could be asked for")


def apt_words(folder: Path, suite: Suite) -> tuple[str, ...]:
    """Return what has apt use one suite alone, with lists below folder: the machine's own stay as they are."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb [signed-by={_KEYS}] {suite.mirror} {suite.name} main\n")
    return (
        "-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
        "-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}",
    )  # fmt: skip
