"""Archives of runs made by hand, also as `fsconsole export` would never make one."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fsconsole.journal.folder import RunFolder

Member = tuple[tarfile.TarInfo, bytes]
END = bytes(2 * tarfile.BLOCKSIZE)


def files_of(folder: RunFolder) -> dict[str, bytes]:
    """Return the plain files of a run folder that an archive may hold, by their names in it."""
    names = ["journal.sqlite", *(f"raw/{name}" for name in sorted(os.listdir(folder.raw)))]
    paths = {name: Path(folder.path, name) for name in names if not os.path.islink(folder.raw)}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file() and not path.is_symlink()}


def manifest_of(files: Mapping[str, bytes], **changes: Any) -> dict[str, Any]:
    """Return the manifest of an archive of a run called "another", as plain values."""
    listed = [
        {"name": name, "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    ]
    return {"format": 1, "version": "0.1.0", "run": "another", "exported_wall_ns": 0, "files": listed, **changes}


def member(name: str, data: bytes = b"", **changes: Any) -> Member:
    """Return a member with its bytes, some of its header changed."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in changes.items():
        setattr(info, field, value)
    return info, data


def members_of(files: Mapping[str, bytes], **changes: Any) -> list[Member]:
    """Return the members of an archive with these files, its manifest changed."""
    manifest = json.dumps(manifest_of(files, **changes)).encode()
    return [member("manifest.json", manifest), *(member(name, data) for name, data in files.items())]


def pack(path: Path, members: Iterable[Member], end: bytes = END) -> Path:
    """Write an archive, and return its path."""
    parts = []
    for info, data in members:
        parts += [info.tobuf(tarfile.GNU_FORMAT), data, bytes(-len(data) % tarfile.BLOCKSIZE)]
    path.write_bytes(gzip.compress(b"".join((*parts, end)), 1))
    return path
