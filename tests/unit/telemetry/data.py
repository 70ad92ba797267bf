from __future__ import annotations

from pathlib import Path

RECORDED = Path(__file__).parents[2] / "data" / "proc"
KERNELS = sorted(path.name for path in RECORDED.iterdir() if path.is_dir())


def recorded(kernel: str, name: str) -> str:
    return (RECORDED / kernel / name).read_text(encoding="ascii")


def kernels_with(name: str) -> list[str]:
    return [kernel for kernel in KERNELS if (RECORDED / kernel / name).exists()]
