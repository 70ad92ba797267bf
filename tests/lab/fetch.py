"""Brings the lab's kernels and tools: `python -m tests.lab.fetch`, as root, on Debian. Installs nothing."""

from __future__ import annotations

import contextlib
import fcntl
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import CACHE, KERNEL, NEWER_KERNEL, TOOLS, UML, LabMissing, depmod, elf_kernel
from tests.lab.soak import SOAK

GUEST_PACKAGES = (
    "busybox-static",
    "kmod",
    "udev",
    "mdadm",
    "lvm2",
    "dmsetup",
    "cryptsetup-bin",
    "bcache-tools",
    "fdisk",
    "sg3-utils",
)
"""Those that the host has are the host's in the guest too."""
_KERNEL_PACKAGE = "linux-image-amd64"
"""The full flavour: that for clouds has no 9p and no rare filesystem."""
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
"""Of the package debian-archive-keyring, which every Debian has."""
_UML_PACKAGE = "user-mode-linux"
_FETCH_LIMIT_S, _UNPACK_LIMIT_S, _TURN_LIMIT_S = 300.0, 120.0, 600.0
"""A network that swallows packets must not hold up the tests for ever, nor another checkout that fetches."""
_MERGED = ("bin", "sbin", "lib", "lib64")


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
        capture_output=True, text=True, check=False, timeout=_UNPACK_LIMIT_S,
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


def main() -> int:
    """Fetch what is missing or old; where that fails, say so: without any the lab's tests are skipped."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        # Two checkouts that are tested at once take turns.
        if not _locked(lock.fileno()):
            print("the lab is being fetched by another checkout, which does not end", file=sys.stderr)
            return 1
        return _fetch()


def _locked(descriptor: int) -> bool:
    deadline = time.monotonic() + _TURN_LIMIT_S
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(1)
        else:
            return True
    return False


def _fetch() -> int:
    code = 0
    places = (
        (TOOLS, _tools),
        (UML, _uml),
        (KERNEL, _kernel),
        *([(NEWER_KERNEL, _newer_kernel)] if SOAK else []),
    )
    for place, make in places:
        try:
            _bring(place, make)
        except (LabMissing, OSError, subprocess.SubprocessError) as error:
            kept = "; the one that is there is used" if place.exists() else ""
            print(f"the lab's {place.name} can't be fetched: {error}{kept}", file=sys.stderr)
            # Each kernel has tests of its own, that are skipped without it; the others go on.
            code = code if kept else 1
    return code


def _bring(place: Path, make: Callable[[Path, str], None]) -> None:
    """Have a folder made whole, or left as it was."""
    wanted = _wanted(place)
    stamp = CACHE / f"{place.name}.stamp"
    if place.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"fetching {wanted} into {place}, for the lab; nothing is installed", file=sys.stderr)
    work = CACHE / f"{place.name}.new"
    shutil.rmtree(work, ignore_errors=True)
    (work / "debs/partial").mkdir(parents=True)
    make(work, wanted)
    shutil.rmtree(work / "debs")
    shutil.rmtree(place, ignore_errors=True)
    work.rename(place)
    stamp.write_text(wanted)


def _wanted(place: Path) -> str:
    if place == TOOLS:
        return " ".join(GUEST_PACKAGES)
    if place == UML:
        return _UML_PACKAGE
    # What the machine knows of backports may be nothing at all: a kernel of theirs is kept as long as their suite is.
    return f"{_KERNEL_PACKAGE} of {backports().name}" if place == NEWER_KERNEL else _newest_kernel()


def _newest_kernel(*words: str) -> str:
    found = subprocess.run(
        ["apt-cache", *words, "depends", _KERNEL_PACKAGE],
        capture_output=True, text=True, check=False, timeout=_UNPACK_LIMIT_S,
    )  # fmt: skip
    match = re.search(r"Depends: (linux-image-\S+)", found.stdout)
    if match is None:
        raise LabMissing(f"apt knows no {_KERNEL_PACKAGE}")
    return match[1]


def _tools(work: Path, names: str) -> None:
    _apt(
        work, "install", "--download-only", "--no-install-recommends", "-o",
        f"Dir::Cache::archives={work}/debs", *names.split(),
    )  # fmt: skip
    _unpack_all(work)


def _kernel(work: Path, name: str, *words: str) -> None:
    _apt(work, *words, "download", name)
    _unpack_all(work)
    image = next((work / "boot").glob("vmlinuz-*"))
    release = image.name.partition("-")[2]
    (work / "vmlinux").write_bytes(elf_kernel(image.read_bytes()))
    shutil.rmtree(work / "boot")
    depmod(work, release)


def _uml(work: Path, name: str) -> None:
    _apt(work, "download", name)
    _unpack_all(work)
    (work / "usr/bin/linux.uml").rename(work / "vmlinux")
    modules = work / "usr/lib/uml/modules"
    modules.rename(work / "usr/lib/modules")
    depmod(work, next((work / "usr/lib/modules").iterdir()).name)


def _newer_kernel(work: Path, _: str) -> None:
    words = apt_words(work / "debs", backports())
    _apt(work, *words, "update")
    _kernel(work, _newest_kernel(*words), *words)


def _apt(work: Path, *words: str) -> None:
    subprocess.run(
        [
            "apt-get", "--yes", "-qq", "-o", "APT::Sandbox::User=root", "-o", "DPkg::Lock::Timeout=300",
            "-o", "Acquire::Retries=1", *words,
        ],
        cwd=work / "debs", check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_FETCH_LIMIT_S,
    )  # fmt: skip


def _unpack_all(work: Path) -> None:
    # A package may still carry /lib; over the host's root that must stay what it is there, a link to usr/lib.
    for name in _MERGED:
        (work / "usr" / name).mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (work / name).symlink_to(f"usr/{name}")
    for package in sorted((work / "debs").glob("*.deb")):
        unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
        tar = ["tar", "-x", "--keep-directory-symlink", "-C", str(work)]
        subprocess.run(tar, stdin=unpack.stdout, check=True, timeout=_UNPACK_LIMIT_S)
        if unpack.wait() != 0:
            raise LabMissing(f"{package.name} can't be unpacked")
    if not any((work / "debs").glob("*.deb")):
        raise LabMissing("apt downloaded nothing")


if __name__ == "__main__":
    sys.exit(main())
