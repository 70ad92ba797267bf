"""Where the lab keeps what it boots: a kernel and the guest's tools, downloaded from the machine's own apt sources.

Nothing of it is installed: the packages are only unpacked here, and the guest sees them as layers over the host's root.
"""

from __future__ import annotations

import lzma
import os
import struct
import subprocess
from pathlib import Path

CACHE = Path("/var/cache/fsconsole-lab")
TOOLS = CACHE / "tools"
KERNEL = CACHE / "kernel"
"""The stable release's own."""
NEWER_KERNEL = CACHE / "newer-kernel"
"""That of the release's backports."""
UML = CACHE / "uml"
"""User-mode Linux: the same kernel, as a program."""
QEMU = "qemu-system-x86_64"
_ELF = b"\x7fELF"


class LabMissing(Exception):
    """The lab can't be had here; the words say why."""


def kernel_release(kernel: Path = KERNEL) -> str:
    """Return the release of the unpacked kernel, "6.1.0-56-amd64". Raises LabMissing."""
    releases = sorted(path.name for path in (kernel / "usr/lib/modules").glob("*"))
    if len(releases) != 1 or not (kernel / "vmlinux").exists():
        raise LabMissing(
            f"no kernel in {kernel}: `sudo FSCONSOLE_SOAK=1 .venv/bin/python -m tests.lab.fetch` brings all"
        )
    return releases[0]


def depmod(root: Path, release: str) -> None:
    """List what the modules below root need, with the depmod that was unpacked. Raises CalledProcessError."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(TOOLS / "usr/lib/x86_64-linux-gnu")}
    words = ["depmod", "-b", str(root), release]
    subprocess.run(words, executable=TOOLS / "usr/bin/kmod", check=True, env=environment)


def module_files(names: tuple[str, ...], kernel: Path = KERNEL) -> tuple[Path, ...]:
    """Return the files of modules and of all that they need, in the order in which they can be loaded.

    Those that the kernel itself holds have none.
    """
    folder = kernel / "usr/lib/modules" / kernel_release(kernel)
    needs: dict[str, tuple[str, ...]] = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        file, _, needed = line.partition(":")
        # The last that a line names has to be loaded first (man 5 modules.dep).
        needs[_module_name(file)] = (*reversed(needed.split()), file)
    inside = {_module_name(file) for file in (folder / "modules.builtin").read_text().splitlines()}
    wanted = dict.fromkeys(file for name in names if name not in inside for file in needs[name])
    return tuple(folder / file for file in wanted)


def _module_name(file: str) -> str:
    return os.path.basename(file).split(".ko")[0].replace("-", "_")


def module_bytes(file: Path) -> bytes:
    """Return a module as insmod takes it."""
    return _unpacked(file.read_bytes())


def elf_kernel(image: bytes) -> bytes:
    """Return the ELF file inside a bzImage, which qemu starts with nothing to be unpacked in the guest.

    Documentation/arch/x86/boot.rst: setup_sects at 0x1f1, payload_offset and payload_length at 0x248.
    """
    setup_bytes = ((image[0x1F1] or 4) + 1) * 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    found = _unpacked(image[setup_bytes + offset :][:length])
    if not found.startswith(_ELF):
        raise LabMissing("the kernel is packed in a way that the lab doesn't know")
    return found


def _unpacked(data: bytes) -> bytes:
    if data.startswith(b"\xfd7zXZ\0"):
        # The kernel's own payload has its size behind the stream.
        return lzma.LZMADecompressor().decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=False).stdout
    return data
