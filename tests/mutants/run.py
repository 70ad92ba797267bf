"""Puts each listed fault into a copy of the tree and runs the nearest tests there: `python -m tests.mutants.run [ID...]`."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import tomli

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.toml")
COPIED = (
    "bin",
    "fsconsole",
    "tests",
    "configs",
    "docs",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "bootstrap",
    "requirements.lock",
)
LONGEST_S = 300.0
# A busy machine may still be letting go of a loop device when the tests end: that is no test which failed.
LEFT = "tests left loop devices"
CRASHED = 2  # pytest's exit code where a test file can't even be loaded
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class NotFoundOnceError(Exception):
    """The lines of a mutant stand nowhere in the product, or in several places."""


@dataclass(frozen=True)
class Mutant:
    """One fault: the lines of a function as they are, and as they are with the fault; `tests` are the nearest ones."""

    id: str
    kind: str
    file: str
    function: str
    before: str
    after: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where a mutant's lines stand now."""

    path: Path
    first: int
    last: int


def read_list() -> list[Mutant]:
    """All listed mutants."""
    tables = tomli.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**table, "tests": tuple(table["tests"])}) for table in tables]


def place_of(mutant: Mutant, root: Path) -> Place:
    """Find the lines in the file that the list names, else in any module that has such a function or method."""
    listed = root / mutant.file
    others = sorted((root / "fsconsole").rglob("*.py"))
    for paths in ([listed], others):
        found = {place for path in paths if path.exists() for place in _places(mutant, path)}
        if len(found) == 1:
            return found.pop()
        if found:
            break
    raise NotFoundOnceError(f"{mutant.id}: {mutant.function} of {mutant.file}: its lines stand in {len(found)} places")


def _places(mutant: Mutant, path: Path) -> Iterator[Place]:
    pattern = _pattern(mutant.before)
    text = _text(path)
    if not pattern.search(text):
        return
    for first, last in _spans(path, mutant.function):
        for match in pattern.finditer(text, first, last):
            yield Place(path, *match.span(1))


@lru_cache
def _pattern(lines: str) -> re.Pattern[str]:
    """Whole lines, however they are indented or broken."""
    tight = re.sub(r"(?<=[(\[{])\s+|\s+(?=[)\]}])", "", lines)
    spread = re.sub(r"(\\[(\[{])|(\\[)\]}])", r"\1\\s*\2", r"\s+".join(map(re.escape, tight.split())))
    return re.compile(rf"^[ \t]*({spread})[ \t]*$", re.MULTILINE)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _spans(path: Path, name: str) -> Iterator[tuple[int, int]]:
    """The first and last character of each function, method or class of that name, by the last part of the name."""
    text = _text(path)
    if name == "<module>":
        yield 0, len(text)
        return
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, SCOPES) and node.name == name.rsplit(".", maxsplit=1)[-1]:
            yield starts[node.lineno - 1], starts[node.end_lineno or node.lineno]


def with_fault(mutant: Mutant, place: Place) -> str:
    """The text of the file that a mutant's lines stand in, with the fault instead of them."""
    text = _text(place.path)
    indent = text[text.rfind("\n", 0, place.first) + 1 : place.first]
    return text[: place.first] + textwrap.indent(mutant.after, indent).strip() + text[place.last :]


class Copy:
    """A copy of the tree with an interpreter of its own, so that commands which the tests start are the copy's too."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / name, self.root / name)
        venv = self.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        self.python = venv / "bin/python"
        # Only the paths: the .pth file in the other interpreter's folder would lead back to the checkout.
        site = Path(sysconfig.get_path("purelib", vars={"base": str(venv)}))
        (site / "copy.pth").write_text(f"{self.root}\n{sysconfig.get_path('purelib')}\n")
        # A generator sees its own interpreter's folders only.
        shutil.copytree(Path(sysconfig.get_path("platlib"), "msgspec"), site / "msgspec")
        shutil.copy2(ROOT / "bin/fsconsole", venv / "bin/fsconsole")
        self._touched_s = int(time.time())

    def put(self, mutant: Mutant) -> tuple[Path, str]:
        """Put the fault into its file; return the file and its text without it."""
        place = place_of(mutant, self.root)
        text = _text(place.path)
        self.write(place.path, with_fault(mutant, place))
        return place.path, text

    def write(self, path: Path, text: str) -> None:
        """Write a file with a time stamp of its own: compiled files are told apart by whole seconds and by size."""
        path.write_text(text, encoding="utf-8")
        self._touched_s += 2
        os.utime(path, (self._touched_s, self._touched_s))

    def test(self, tests: list[str], limit_s: float) -> tuple[int | None, str]:
        """Run tests; return pytest's exit code, or None past the limit, and its last lines."""
        argv = [self.python, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no", *tests]
        words = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
        with subprocess.Popen(
            argv,
            cwd=self.root,
            env=words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)  # fixtures still detach and unmount
                try:
                    process.communicate(timeout=60)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                return None, ""
        lines = out.splitlines()[-12:]
        if process.returncode == 1 and LEFT in out and not any(line.startswith("FAILED") for line in lines):
            return 0, ""
        return process.returncode, "\n".join(lines)


def try_one(copy: Copy, mutant: Mutant) -> str:
    """Run the nearest tests with one fault; return what came of it in words."""
    path, text = copy.put(mutant)
    try:
        code, last = copy.test(list(mutant.tests), LONGEST_S)
    finally:
        copy.write(path, text)
    if code is None:
        return "killed, without end"
    if code == 0:
        return "SURVIVED"
    if code in (1, CRASHED):
        failed = [line.split(" - ")[0] for line in last.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "killed by " + (failed[0].split(" ", 1)[1].removeprefix("tests/") if failed else "a crash")
    return f"NOT TESTED, pytest ended with {code}: {last}"


def main(words: list[str]) -> int:
    """Try the mutants named, else all; the exit code is 0 where every one is killed."""
    chosen = [one for one in read_list() if not words or one.id in words or one.id.rsplit("-", 1)[0] in words]
    killed = 0
    with tempfile.TemporaryDirectory(prefix="fsconsole-mutants-") as folder:
        copy = Copy(Path(folder))
        nearest = sorted({test for one in chosen for test in one.tests})
        code, last = copy.test(nearest, LONGEST_S * 10)
        if code != 0:
            print(f"The tests fail without any fault (pytest ended with {code}):\n{last}")
            return 1
        for one in chosen:
            start_s = time.monotonic()
            try:
                outcome = try_one(copy, one)
            except NotFoundOnceError as error:
                outcome = f"NOT FOUND ONCE: {error}"
            killed += outcome.startswith("killed")
            print(f"{one.id:16} {time.monotonic() - start_s:5.1f} s  {outcome}", flush=True)
    print(f"{killed} of {len(chosen)} killed")
    return 0 if chosen and killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
