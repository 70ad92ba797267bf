"""Files of recorded kernels, and a made /sys with block devices whose files a test changes at will."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

RECORDED = Path(__file__).parents[2] / "data" / "proc"
KERNELS = sorted(path.name for path in RECORDED.iterdir() if path.is_dir())


def recorded(kernel: str, name: str) -> str:
    return (RECORDED / kernel / name).read_text(encoding="ascii")


def kernels_with(name: str) -> list[str]:
    return [kernel for kernel in KERNELS if (RECORDED / kernel / name).exists()]


def refuses(act: Callable[..., object], *words: object, error: type[Exception]) -> bool:
    try:
        act(*words)
    except error:
        return True
    return False


ELEVEN_ZEROS = "0 " * 11


class MadeSys:
    """Devices by name: /sys/class/block/NAME with what a gauge reads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "class/block").mkdir(parents=True)
        (root / "dev/block").mkdir(parents=True)

    def add(self, name: str, *, members: tuple[str, ...] = (), diskseq: int = 7, number: str = "") -> Path:
        folder = self.root / "devices" / name
        (folder / "slaves").mkdir(parents=True)
        link = self.root / "class/block" / name
        link.symlink_to(folder)
        for member in members:
            (folder / "slaves" / member).symlink_to(self.root / "class/block" / member)
            holders = self.root / "devices" / member / "holders"
            holders.mkdir(parents=True, exist_ok=True)
            (holders / name).touch()
        (folder / "stat").write_text(ELEVEN_ZEROS)
        (folder / "size").write_text("4096\n")
        if diskseq:
            (folder / "diskseq").write_text(f"{diskseq}\n")
        if number:
            (self.root / "dev/block" / number).symlink_to(folder)
        return folder

    def add_partition(self, disk: str, name: str, *, number: str = "") -> Path:
        folder = self.root / "devices" / disk / name
        folder.mkdir()
        (self.root / "class/block" / name).symlink_to(folder)
        (folder / "partition").write_text("1\n")
        (folder / "stat").write_text(ELEVEN_ZEROS)
        (folder / "size").write_text("2048\n")
        if number:
            (self.root / "dev/block" / number).symlink_to(folder)
        return folder

    def remove(self, name: str) -> None:
        folder = self.root / "devices" / name
        (self.root / "class/block" / name).unlink()
        shutil.rmtree(folder)

    def set_writes(self, name: str, writes: int, sectors: int) -> None:
        """Change the counters in the file that is open, as the kernel does."""
        text = f"0 0 0 0 {writes} 0 {sectors} 0 0 0 0\n"
        path = self.root / "class/block" / name / "stat"
        with open(path, "r+", encoding="ascii") as file:
            file.truncate(0)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    @property
    def blocks(self) -> str:
        return str(self.root / "class/block")
