from __future__ import annotations

from itertools import pairwise

import pytest

from fsconsole.workloads.builtin import confined_argv

TREE = "/run/fsconsole/mnt/tree"
RUN = "/var/lib/fsconsole/runs/1"


def position(argv: tuple[str, ...], *words: str) -> int:
    """Return where words stand one after the other."""
    found = [i for i in range(len(argv)) if argv[i : i + len(words)] == words]
    assert len(found) == 1, f"{words} stands {len(found)} times in {argv}"
    return found[0]


def test_the_generator_is_the_last_thing_and_nothing_of_it_is_an_option() -> None:
    argv = confined_argv(("fio", "--cap-add", "ALL"), tree=TREE, hidden=())
    assert argv[-4:] == ("--", "fio", "--cap-add", "ALL")
    assert argv.index("bwrap") < argv.index("--ro-bind")


def test_no_capability_to_mount_make_nodes_or_reach_hardware_is_given() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=())
    given = {argv[i + 1] for i, word in enumerate(argv) if word == "--cap-add"}
    assert given == {"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"}
    assert position(argv, "--cap-drop", "ALL") < argv.index("--cap-add")


def test_it_dies_with_the_engine_and_sees_neither_its_processes_nor_its_terminal() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=())
    assert {"--die-with-parent", "--unshare-pid", "--new-session"} <= set(argv)


def test_proc_is_a_new_one_and_made_read_only() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=())
    assert position(argv, "--ro-bind", "/", "/") < position(argv, "--proc", "/proc")
    assert position(argv, "--proc", "/proc") < position(argv, "--remount-ro", "/proc")


def test_what_lies_deeper_is_mounted_later() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=(RUN,), readable=(f"{RUN}/venv",))
    assert position(argv, "--ro-bind", "/", "/") < position(argv, "--tmpfs", "/run")
    assert position(argv, "--tmpfs", "/run") < position(argv, "--bind", TREE, TREE)
    assert position(argv, "--tmpfs", RUN) < position(argv, "--ro-bind", f"{RUN}/venv", f"{RUN}/venv")
    assert position(argv, "--bind", TREE, TREE) < position(argv, "--remount-ro", "/run")


def test_what_is_hidden_below_a_readable_place_stays_hidden() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=("/run/venv/runs",), readable=("/run/venv",))
    assert position(argv, "--ro-bind", "/run/venv", "/run/venv") < position(argv, "--tmpfs", "/run/venv/runs")


def test_what_is_hidden_below_the_tree_stays_hidden() -> None:
    argv = confined_argv(("fio",), tree="/srv", hidden=("/srv/runs/1",))
    assert position(argv, "--bind", "/srv", "/srv") < position(argv, "--tmpfs", "/srv/runs/1")


def test_a_place_that_is_readable_and_hidden_is_hidden() -> None:
    argv = confined_argv(("fio",), tree=TREE, hidden=(RUN,), readable=(RUN,))
    assert position(argv, "--tmpfs", RUN)
    assert ("--ro-bind", RUN) not in set(pairwise(argv))


def test_readable_places_that_nothing_covers_need_no_mount() -> None:
    assert "/usr" not in confined_argv(("fio",), tree=TREE, hidden=(RUN,), readable=("/usr",))


def test_a_tree_that_is_hidden_too_is_the_tree() -> None:
    argv = confined_argv(("fio",), tree="/srv", hidden=("/srv",))
    assert position(argv, "--bind", "/srv", "/srv")
    assert ("--tmpfs", "/srv") not in set(pairwise(argv))


@pytest.mark.parametrize("path", ["tree", "", "/srv/../etc", "/srv/", "/"])
def test_a_path_that_could_mean_another_is_no_tree(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|machine"):
        confined_argv(("fio",), tree=path, hidden=())


@pytest.mark.parametrize("path", ["runs", "/var/lib/..", "/x//y"])
def test_a_path_that_could_mean_another_can_not_be_hidden(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        confined_argv(("fio",), tree=TREE, hidden=(path,))
