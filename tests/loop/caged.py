"""A generator that means harm: run in the cage with a JSON line of its attempt, it prints what came of it.

With arguments, a JSON list of words each, it makes each attempt in a child and prints a line for each.

Each attempt either raises an OSError, which is what must happen, or does what no generator may do.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import stat
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REMOUNT, MS_BIND = 32, 4096


def call(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source: str, target: str, flags: int = 0) -> None:
    call(LIBC.mount(source.encode(), target.encode(), b"tmpfs", ctypes.c_ulong(flags), None))


def open_for_reading(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY))


def open_for_writing(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY))


def create(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def make_node(path: str, number: int) -> None:
    os.mknod(path, stat.S_IFBLK | 0o600, number)


def mount_over(path: str) -> None:
    mount("tmpfs", path)


def remount_writable(path: str) -> None:
    mount("none", path, MS_REMOUNT | MS_BIND)


def unmount(path: str) -> None:
    call(LIBC.umount2(path.encode(), 2))


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def connect_abstract(name: str) -> None:
    connect("\0" + name)


def make_socket(family: int) -> None:
    socket.socket(family, socket.SOCK_STREAM).close()


def system_call(number: int, *arguments: int) -> None:
    LIBC.syscall.restype = ctypes.c_long
    call(LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)))


def system_call_of_32_bits(number: int, *arguments: int) -> None:
    """Call the kernel as a program of i386 does, by int 0x80."""
    code = b"\x53"  # push rbx
    for register, value in zip((b"\xb8", b"\xbb", b"\xb9", b"\xba"), (number, *arguments), strict=False):
        code += register + value.to_bytes(4, "little")  # mov eax, ebx, ecx, edx
    code += b"\xcd\x80\x5b\x48\x98\xc3"  # int 0x80; pop rbx; cdqe; ret
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(code)
        start = ctypes.c_char.from_buffer(page)
        result = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(start))()
        del start
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def open_by_number(path: str) -> None:
    """Open a file by what its filesystem numbers it with, as whoever may read all of it can with any number (Shocker)."""
    handle, mount_id = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128)), ctypes.c_int()
    call(LIBC.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(mount_id), 0))  # AT_FDCWD
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    call(LIBC.open_by_handle_at(directory, handle, os.O_RDONLY))


def fill(directory: str, size_bytes: int) -> None:
    with open(f"{directory}/filling", "wb") as file:
        for _ in range(size_bytes // 2**20):
            file.write(bytes(2**20))


def send_signal(pid: int) -> None:
    os.kill(pid, 0)


def send_signal_by_directory(pid: int) -> None:
    signal.pidfd_send_signal(os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY), 0)


def through_any_process(attempt: str, path: str) -> None:
    """Try another attempt on a path as each process sees it that /proc shows; the last error where none succeeds."""
    failure: OSError | None = None
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            ATTEMPTS[attempt](f"/proc/{pid}/root{path}")
        except OSError as error:
            failure = error
        else:
            return
    if failure is not None:
        raise failure


def unshared_user(attempt: str, *arguments: str | int) -> None:
    """Try another attempt with every right that a user namespace gives."""
    call(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    ATTEMPTS[attempt](*arguments)


def write_counter(fd: int) -> None:
    os.pwrite(fd, b"written inside", 0)


def change_mode(path: str) -> None:
    os.chmod(path, 0o4755)  # noqa: S103 (an attempt)


def remove(path: str) -> None:
    os.unlink(path)


def become_another(number: int) -> None:
    os.setresuid(number, number, number)


def trace(pid: int) -> None:
    call(LIBC.ptrace(16, pid, None, None))  # PTRACE_ATTACH


def send_to(path: str, kind: int) -> None:
    """Send to a socket by one of a pair, which needs no socket of its own."""
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    with one, other:
        one.sendto(b"x", path)


def own_file(path: str) -> None:
    create(path)
    os.chown(path, 1000, 1000)


def burn_in_a_child(seconds: float) -> None:
    pid = os.fork()
    if pid == 0:
        while sum(os.times()[:2]) < seconds:
            pass
        os._exit(0)
    os.waitpid(pid, 0)


def leave_with(code: int) -> None:
    sys.exit(code)


ATTEMPTS = {
    attempt.__name__: attempt
    for attempt in (
        open_for_reading, open_for_writing, create, make_node, mount_over, remount_writable, unmount, connect,
        connect_abstract, make_socket, system_call, system_call_of_32_bits, open_by_number, fill, send_signal, send_signal_by_directory, through_any_process, unshared_user,
        write_counter, own_file, change_mode, remove, become_another, trace, send_to, burn_in_a_child, leave_with,
    )
}  # fmt: skip


def main() -> None:
    if len(sys.argv) > 1:
        for words in sys.argv[1:]:
            if os.fork() == 0:
                attempt(*json.loads(words))
                os._exit(0)
            os.wait()
        return
    print("inside", flush=True)
    attempt(*json.loads(sys.stdin.readline()))


def attempt(name: str, *arguments: str | int) -> None:
    try:
        ATTEMPTS[name](*arguments)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
    else:
        print("succeeded", flush=True)


if __name__ == "__main__":
    main()
