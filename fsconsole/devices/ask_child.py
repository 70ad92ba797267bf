"""Reads the first and the last block of each given device, and prints the place of every device that answered.

    python -I -S ask_child.py LIMIT_S [PATH SIZE_BYTES]...

Every device has a thread of its own, named "ask MAJOR:MINOR": a thread that waits in the kernel can't be ended, and a
later look finds it by that name. It imports nothing of fsconsole, so that it starts in some milliseconds.
"""

import _thread
import itertools
import mmap
import os
import sys

NAME = "fsconsole-ask"
BLOCK_BYTES = 4096


def task_name(number: int) -> str:
    """Return the name of the thread that asks the device of that number; the kernel keeps 15 characters."""
    return f"ask {os.major(number)}:{os.minor(number)}"


def ask(path: str, size_bytes: int) -> None:
    """Return when the device has given both blocks, or an error: that is an answer too."""
    for block in sorted({0, max(size_bytes // BLOCK_BYTES - 1, 0)}):
        # The page cache would answer in its place: a mounted ext4 keeps its first block there.
        if not gives(path, block, os.O_DIRECT):
            gives(path, block, 0)


def gives(path: str, block: int, flags: int) -> bool:
    """Return whether the block could be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    except OSError:
        return False
    try:
        with mmap.mmap(-1, BLOCK_BYTES) as page:
            os.preadv(fd, [page], block * BLOCK_BYTES)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _call_task(name: str) -> None:
    fd = os.open(f"/proc/self/task/{_thread.get_native_id()}/comm", os.O_WRONLY | os.O_CLOEXEC)
    os.write(fd, name.encode())
    os.close(fd)


def main() -> None:
    """Ask all devices at the same time, and end when all have answered or the limit is over."""
    _call_task(NAME)
    limit_s, words = float(sys.argv[1]), sys.argv[2:]
    devices = list(zip(words[::2], words[1::2], strict=True))
    answers, all_answered = itertools.count(1), _thread.allocate_lock()
    all_answered.acquire()

    def asked(place: int, path: str, size_bytes: int) -> None:
        try:  # noqa: SIM105 - importing contextlib would double the time to start
            _call_task(task_name(os.stat(path).st_rdev))
        except OSError:
            pass
        ask(path, size_bytes)
        os.write(1, b"%d\n" % place)
        if next(answers) == len(devices):
            all_answered.release()

    for place, (path, size) in enumerate(devices):
        # The module threading would wait for each thread to begin.
        _thread.start_new_thread(asked, (place, path, int(size)))
    all_answered.acquire(timeout=limit_s)
    # Without waiting for threads that hang.
    os._exit(0)


if __name__ == "__main__":
    main()
