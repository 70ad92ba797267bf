"""playbook.yml of a kit: apply.sh makes what lies on devices, Ansible's own modules the files of /etc but mdadm.conf."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fsconsole.kit.files import fstab_entry, managed_files
from fsconsole.kit.values import Kit
from fsconsole.text import printable

_SCRIPT = """\
    - name: {name}
      ansible.builtin.script:
        cmd: >-
          apply.sh{words}{{{{ ' --dry-run' if ansible_check_mode else '' }}}}
          {{% for one in overwrite %}} --overwrite {{{{ one | quote }}}}{{% endfor %}}
      check_mode: false
      register: {register}
      changed_when: "'Nothing was changed' not in {register}.stdout"
"""


def playbook_text(kit: Kit) -> str:
    """Return playbook.yml of a kit, which needs no collection beside ansible.builtin."""
    return "".join(_parts(kit))


def _parts(kit: Kit) -> Iterator[str]:
    yield f"---\n# {kit.filesystem} for {kit.mount_point}, by fsconsole {kit.version}.\n"
    yield f"# Run {printable(kit.run)}, row '{printable(kit.row)}'. What differs from it stands in apply.sh.\n"
    yield "# A dry run: ansible-playbook --check --diff playbook.yml -i HOST,\n"
    yield f"- name: {_quoted(f'{kit.filesystem} for {kit.mount_point}')}\n"
    yield "  hosts: all\n  become: true\n  vars:\n"
    yield "    # Devices whose content may go, by the names in apply.sh.\n    overwrite: []\n  tasks:\n"
    yield _SCRIPT.format(name="Array and filesystem", words=" --devices-only", register="made")
    yield from _file_tasks(kit)
    yield _SCRIPT.format(
        name="Mount and settings" if kit.array is None else "mdadm.conf, initramfs, mount and settings",
        words="",
        register="applied",
    )
    yield from _handlers()


def _file_tasks(kit: Kit) -> Iterator[str]:
    for file in managed_files(kit):
        folder = file.path.rpartition("/")[0]
        yield f"    - name: {_quoted(folder)}\n      ansible.builtin.file:\n        path: {_quoted(folder)}\n        state: directory\n"
        yield f"    - name: {_quoted(file.path)}\n      ansible.builtin.copy:\n        dest: {_quoted(file.path)}\n"
        yield f'        mode: "0644"\n        content: !unsafe {_quoted(file.content)}\n'
        if file.path.startswith("/etc/udev/"):
            yield "      notify: Reload udev\n"
        elif file.path.startswith("/etc/systemd/"):
            yield "      notify: Reload systemd\n"
    entry = fstab_entry(kit)
    if entry is not None:
        yield f"    - name: {_quoted(entry.path)}\n      ansible.builtin.lineinfile:\n        path: {_quoted(entry.path)}\n"
        yield f"        line: !unsafe {_quoted(entry.line)}\n        create: true\n      notify: Reload systemd\n"
    yield "    - name: Reload what has changed\n      ansible.builtin.meta: flush_handlers\n"


def _handlers() -> Iterator[str]:
    yield "  handlers:\n"
    yield "    - name: Reload udev\n      ansible.builtin.shell: if [ -e /run/udev/control ]; then udevadm control --reload; fi\n"
    yield "    - name: Reload systemd\n      ansible.builtin.shell: if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi\n"


def _quoted(text: str) -> str:
    """Return text as a string of YAML: what is a string in JSON is one there."""
    return json.dumps(text, ensure_ascii=True)
