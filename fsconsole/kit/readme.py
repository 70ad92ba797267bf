"""README.txt of a kit: what is in its folder, and what is not as it was measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fsconsole.kit.files import FSTAB, MDADM_CONFIGS, managed_files, unit_name
from fsconsole.kit.values import Kit
from fsconsole.text import printable, wrap

_WIDTH = 80


def readme_text(kit: Kit) -> str:
    """Return README.txt of a kit."""
    return "".join(f"{line}\n" for line in _lines(kit))


def removal(kit: Kit) -> Iterator[str]:
    """Yield the commands that take back what apply.sh put into /etc, and unmount; the filesystem stays."""
    if kit.is_unit:
        yield shlex.join(["systemctl", "disable", "--now", unit_name(kit.mount_point)])
    else:
        yield f"umount {kit.mount_point}"
        yield f"sed -i '/^UUID={kit.uuid} /d' {FSTAB}"
    if files := [file.path for file in managed_files(kit)]:
        yield shlex.join(["rm", *files])
    if kit.array is not None:
        yield f"mdadm --stop {kit.array.path}"
        yield f"sed -i '/ UUID={kit.array.uuid}$/d' {'  # or '.join(MDADM_CONFIGS)}"
        yield "update-initramfs -u, or dracut --force"
    if kit.settings:
        yield "reboot: until then read-ahead and the like stay as they are set"


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
    yield "                         Of a device whose content may go: --overwrite DEVICE."
    yield f"                         It mounts {kit.mount_point} now, and at every boot."
    yield "4. Months later: fsconsole verify-kit DIR, with this directory."
    yield ""
    yield "With Ansible: ansible-playbook --check --diff -i HOST, playbook.yml"
    yield ""
    yield "To take it back, as root; the filesystem and its files stay on the device:"
    yield from (f"    {line}" for line in removal(kit))
    yield ""
    yield "What is not as it was measured:"
    for sentence in kit.differing:
        first, *others = wrap(f"- {sentence}", _WIDTH - 2)
        yield first
        yield from (f"  {line}" for line in others)
