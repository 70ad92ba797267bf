"""The confinement of a generator: what it is given, in which order, and what its system calls may ask for."""

from __future__ import annotations

import errno
import struct
from itertools import pairwise

import pytest

from fsconsole.errors.runs import KernelLacks
from fsconsole.workloads.cage import caged, seccomp_filter

TREE = "/run/fsconsole/mnt/tree"
RUN = "/var/lib/fsconsole/runs/1"


def position(argv: tuple[str, ...], *words: str) -> int:
    """Return where words stand one after the other."""
    found = [i for i in range(len(argv)) if argv[i : i + len(words)] == words]
    assert len(found) == 1, f"{words} stands {len(found)} times in {argv}"
    return found[0]


def argv_of(*argv: str, tree: str = TREE, **places: tuple[str, ...]) -> tuple[str, ...]:
    with caged(argv or ("fio",), tree=tree, **places) as command:
        return command.argv


def test_the_generator_comes_last_dies_with_the_engine_and_has_no_capability_to_reach_hardware() -> None:
    argv = argv_of("fio", "--cap-add", "ALL")
    assert argv[-4:] == ("--", "fio", "--cap-add", "ALL")
    own = argv[:-4]
    assert own.index("bwrap") < own.index("--ro-bind")
    given = {own[i + 1] for i, word in enumerate(own) if word == "--cap-add"}
    assert given == {"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"}
    assert position(own, "--cap-drop", "ALL") < own.index("--cap-add")
    assert {"--die-with-parent", "--unshare-pid", "--unshare-net", "--new-session", "--seccomp"} <= set(own)


def test_only_programs_what_is_named_and_the_tree_are_bound() -> None:
    argv = argv_of(readable=("/opt/python",))
    bound = {argv[i + 1] for i, word in enumerate(argv) if word in ("--ro-bind", "--bind")}
    assert {"/usr", "/etc", "/opt/python", TREE} <= bound
    assert not bound & {"/", "/run", "/sys", "/tmp", "/var", "/home", "/root", "/dev", "/proc"}


ORDERS = (
    ("/tmp/tree", (), (), ("--tmpfs", "/tmp"), ("--bind", "/tmp/tree", "/tmp/tree")),
    (TREE, (), (), ("--proc", "/proc"), ("--remount-ro", "/proc")),
    # What is hidden below a readable place, or below the tree, stays hidden.
    (TREE, ("/run/venv/runs",), ("/run/venv",), ("--ro-bind", "/run/venv", "/run/venv"), ("--tmpfs", "/run/venv/runs")),
    ("/srv", ("/srv/runs/1",), (), ("--bind", "/srv", "/srv"), ("--tmpfs", "/srv/runs/1")),
)  # fmt: skip
ONCE = (
    # What is readable and hidden is hidden; a hidden tree is the tree; what isn't shown needs no hiding.
    (TREE, (RUN,), (RUN,), ("--tmpfs", RUN), ("--ro-bind", RUN)),
    ("/srv", ("/srv",), (), ("--bind", "/srv", "/srv"), ("--tmpfs", "/srv")),
    (TREE, (RUN,), (), ("--bind", TREE, TREE), ("--tmpfs", RUN)),
)


def test_mounts_come_once_in_an_order_that_hides_what_is_to_be_hidden() -> None:
    for tree, hidden, readable, earlier, later in ORDERS:
        argv = argv_of(tree=tree, hidden=hidden, readable=readable)
        assert position(argv, *earlier) < position(argv, *later), (earlier, later)
    for tree, hidden, readable, mounted, not_mounted in ONCE:
        argv = argv_of(tree=tree, hidden=hidden, readable=readable)
        assert position(argv, *mounted)
        assert not {not_mounted, ("--remount-ro", tree)} & set(pairwise(argv)), not_mounted


def test_a_path_that_could_mean_another_is_no_tree_and_can_not_be_hidden() -> None:
    for path in ("tree", "", "/srv/../etc", "/srv/", "/"):
        with pytest.raises(ValueError, match=r"path|machine"):
            argv_of(tree=path)
    for path in ("runs", "/var/lib/..", "/x//y"):
        with pytest.raises(ValueError, match="path"):
            argv_of(hidden=(path,))


def test_a_machine_whose_system_calls_are_not_known_runs_no_generator() -> None:
    with pytest.raises(KernelLacks, match="m68k"):
        seccomp_filter("m68k", allow_io_uring=False)


CALLS = {  # socket, socketpair, socketcall where there is one: asm/unistd.h of each
    "x86_64": (0xC000003E, 41, 53, None), "aarch64": (0xC00000B7, 198, 199, None), "riscv64": (0xC00000F3, 198, 199, None),
    "ppc64le": (0xC0000015, 326, 333, 102), "s390x": (0x80000016, 359, 360, 102),
}  # fmt: skip


@pytest.mark.parametrize("machine", CALLS)
def test_the_filter_answers_each_system_call_as_it_should_on_every_architecture(machine: str) -> None:
    architecture, socket, socketpair, socketcall = CALLS[machine]
    program = seccomp_filter(machine, allow_io_uring=False)

    def answer(number: int, domain: int = 0, arch: int = architecture) -> str:
        low_half, high_half = (domain, 0xDEAD), (0xDEAD, domain)
        words = (number, arch, 0, 0, *(high_half if machine == "s390x" else low_half))
        said = interpreted(program, words)
        return "allowed" if said == 0x7FFF0000 else errno.errorcode[said & 0xFFFF]

    assert [answer(socket, 1), answer(socketpair, 1), answer(0), answer(999)] == ["allowed"] * 4
    assert {answer(call, domain) for call in (socket, socketpair) for domain in (2, 10, 16, 40)} == {"EAFNOSUPPORT"}
    assert [answer(425), answer(0, arch=0x40000003)] == ["ENOSYS", "EPERM"]
    assert socketcall is None or answer(socketcall) == "ENOSYS"
    assert interpreted(seccomp_filter(machine, allow_io_uring=True), (425, architecture, 0, 0, 0, 0)) == 0x7FFF0000


@pytest.mark.parametrize("machine", CALLS)
def test_a_program_that_sees_sources_gets_no_sockets_but_pairs_of_streams(machine: str) -> None:
    architecture, socket, socketpair, _ = CALLS[machine]
    program = seccomp_filter(machine, allow_io_uring=False, allow_sockets=False)

    def is_allowed(number: int, domain: int = 1, kind: int = 1) -> bool:
        words = [number, architecture, 0, 0]
        for argument in (domain, kind):
            words += (0xDEAD, argument) if machine == "s390x" else (argument, 0xDEAD)
        return interpreted(program, tuple(words)) == 0x7FFF0000

    assert is_allowed(0)
    assert not any(is_allowed(socket, domain, kind) for domain in (1, 2, 16) for kind in (1, 2, 5))
    # SOCK_STREAM with and without its flags; SOCK_DGRAM, SOCK_SEQPACKET.
    assert [is_allowed(socketpair, 1, kind) for kind in (1, 0x80801, 2, 0x80802, 5)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not is_allowed(socketpair, 2)


def interpreted(program: bytes, data: tuple[int, ...]) -> int:
    """Run a filter on the 32-bit words of a struct seccomp_data, as the kernel does."""
    instructions, at, value = list(struct.iter_unpack("=HBBI", program)), 0, 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            value = data[operand // 4]
        elif code == 0x54:
            value &= operand
        else:
            at += if_true if (value == operand if code == 0x15 else value >= operand) else if_false
