"""README.txt of a kit: what is in its folder, and what is not as it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.kit.values import Kit
from fsconsole.text import printable, wrap

_WIDTH = 80


def readme_text(kit: Kit) -> str:
    """Return README.txt of a kit."""
    return "".join(f"{line}\n" for line in _lines(kit))


def _lines(kit: Kit) -> Iterator[str]:
    yield from wrap(f"{kit.filesystem} for {kit.mount_point}, as row '{printable(kit.row)}' of run {kit.run}.", _WIDTH)
    yield ""
    for device in kit.devices:
        yield from wrap(f"device      {device.path} ({device.size_bytes} bytes)", _WIDTH)
    if kit.array is not None:
        yield f"array       {kit.array.path}, {kit.array.level}, UUID {kit.array.uuid}"
    yield f"filesystem  {kit.filesystem}, UUID {kit.uuid}"
    yield ""
    yield "1. Read apply.sh.        It prints each command that changes something."
    yield "2. ./apply.sh --dry-run  It changes nothing."
    yield "3. ./apply.sh            It refuses what isn't blank; again, it changes nothing."
    yield "4. Months later: fsconsole verify-kit DIR, with this directory."
    yield ""
    yield "With Ansible: ansible-playbook --check --diff -i HOST, playbook.yml"
    yield ""
    yield "What is not as it was measured:"
    for sentence in kit.differing:
        first, *others = wrap(f"- {sentence}", _WIDTH - 2)
        yield first
        yield from (f"  {line}" for line in others)
