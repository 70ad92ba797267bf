"""Rules for sources, copies and commands in plan files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.errors.runs import CommandMissing, ToolMissing
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan.planfile import PlanFile, written_bytes
from fsconsole.plan.read import parse_plan
from fsconsole.plan.read_workload import workload_of
from fsconsole.plan.sources import source_objection, sources_objection
from fsconsole.plan.steps import workload_title
from fsconsole.preflight.sources import with_sources
from fsconsole.workloads.copy import argvs

HEAD = "schema = 1\nvariant = [{ type = 'ext4' }]\n"
CREATE = "[[workload]]\nname = 'made'\nkind = 'create'\nfiles = 4\nfile_size = '1MiB'\n"
COPY = "[[workload]]\nkind = 'copy'\n"
COMMAND = "[[workload]]\nkind = 'command'\n"


def parsed(text: str) -> PlanFile:
    return parse_plan(HEAD + text, "plan.toml")


@pytest.mark.parametrize(
    "path", ["", "usr", "./usr", "/", "//usr", "/usr/", "/usr/../etc", "/dev", "/dev/sda", "/proc/1", "/sys/block", "/run",
             "/run/fsconsole/mnt/tree", "/var/run/docker.sock", "/var/lib/fsconsole/seal.key", "/a\nb", "/a\0b", "/a\x1b[2J"],
)  # fmt: skip
def test_a_path_that_means_another_or_leads_out_of_the_cage_is_no_source(path: str) -> None:
    assert source_objection(path)


def test_any_other_absolute_path_is_a_source_and_one_lies_in_no_other() -> None:
    for path in ("/usr", "/home/me/src", "/var", "/device", "/srv/a b", "/srv/ü"):
        assert not source_objection(path)
    together = ("/usr", "/etc", "/usr2")
    assert not sources_objection(together, is_copied_by_name=True)
    assert "lies in /usr" in sources_objection((*together, "/usr/share"), is_copied_by_name=False)
    assert "twice" in sources_objection(("/usr", "/usr"), is_copied_by_name=False)
    assert "same name" in sources_objection(("/a/lib", "/b/lib"), is_copied_by_name=True)
    assert not sources_objection(("/a/lib", "/b/lib"), is_copied_by_name=False)
    assert "at most" in sources_objection([f"/a{number}" for number in range(101)], is_copied_by_name=False)


WRONG = {
    "a copy of nothing": (COPY, "kind"),
    "a subset of a create": (CREATE + COPY + "at_most = '1MiB'\n", "at_most"),
    "two things to copy": (CREATE + COPY + "of = 'made'\nsources = ['/usr']\n", "of"),
    "a create of another name": (CREATE + COPY + "of = 'other'\n", "of"),
    "a create that a pilot sizes": ("[[workload]]\nkind = 'create'\nsize = 'auto'\n" + COPY, "kind"),
    "deleted files": (CREATE + "[[workload]]\nkind = 'delete'\n" + COPY, "kind"),
    "another flag": (COPY + "sources = ['/usr']\ncopy_with = '-L'\n", "copy_with"),
    "a relative source": (COPY + "sources = ['usr']\n", "sources"),
    "no source": (COPY + "sources = []\n", "sources"),
    "a device": (COMMAND + "argv = ['dd']\nsources = ['/dev/sda']\n", "sources"),
    "no command": (COMMAND, "argv"),
    "an empty word": (COMMAND + "argv = ['']\n", "argv"),
    "a NUL": (COMMAND + 'argv = ["ls", "a\\u0000b"]\n', "argv"),
    "too many words": (COMMAND + f"argv = {['x'] * 1001}\n", "argv"),
    "threads": (COMMAND + "argv = ['ls']\nthreads = 2\n", "threads"),
    "a copy's argv": (COPY + "sources = ['/usr']\nargv = ['cp']\n", "argv"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_copy_or_a_command_that_says_too_little_or_too_much_is_refused_at_its_key(case: str) -> None:
    text, key = WRONG[case]
    with pytest.raises(PlanBadValue) as error:
        parsed(text)
    assert error.value.key.endswith(f".{key}")


def test_a_copy_counts_its_bytes_where_the_space_of_a_cell_is_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(3000))
    os.link(tmp_path / "file", tmp_path / "hard")
    for flag, size in (("-r", 6000), ("-a", 3000), ("-a --reflink=never", 3000)):
        plan, notes = with_sources(parsed(f"{COPY}copy_with = '{flag}'\nsources = ['{tmp_path}', '/nowhere']\n"))
        (load,) = plan.workloads
        assert (load.sources, load.sources_bytes, load.sources_files) == ((str(tmp_path),), size, 2)
        assert notes == ("'copy': there is no /nowhere on this machine; it is left out",)
        assert written_bytes([workload_of(plan.workloads, 0, (1, 65536), 1)]) == size
    plan = parsed(CREATE + COPY)
    loads = [workload_of(plan.workloads, number, (1, 65536), 1) for number in range(2)]
    assert (loads[1].kind, loads[1].source) == (WorkloadKind.COPY, 0)
    assert written_bytes(loads) == 8 * 2**20


def test_the_flags_of_a_copy_are_words_of_cp() -> None:
    for key, words in (("", ["-r"]), ("copy_with = '-a --reflink=never'\n", ["-a", "--reflink=never"])):
        plan = parsed(f"{COPY}{key}sources = ['/usr']\n")
        load = workload_of(plan.workloads, 0, (1, 65536), 1)
        assert workload_title(load).startswith(f"copy: cp {' '.join(words)} of /usr")
        assert argvs(load, "/tree", None) == (("cp", *words, "--one-file-system", "--", "/usr", "/tree"),)


def test_what_is_not_on_this_machine_is_named_before_a_device_is_looked_at(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/usr")
    missing = {
        f"{COPY}sources = ['/nowhere', '/no']\n": "there is no /nowhere",
        f"{COMMAND}argv = ['ls']\nsources = ['/usr', '/nowhere']\n": "there is no /nowhere",
        f"{COMMAND}argv = ['ls']\nsources = ['{link}']\n": "write /usr",
        f"{COPY}sources = ['{link}/share']\n": "write /usr/share",
        f"{COPY}sources = ['{tmp_path}/runs']\n": "fsconsole's own",
    }
    (tmp_path / "runs").mkdir()
    for text, why in missing.items():
        with pytest.raises(PlanBadValue, match=why):
            with_sources(parsed(text), str(tmp_path / "runs"))
    with pytest.raises(ToolMissing, match="no-such-program"):
        with_sources(parsed(f"{COMMAND}argv = ['no-such-program']\n"))
    # A link at the end is copied as one: /lib of today.
    plan, _ = with_sources(parsed(f"{COPY}sources = ['{link}']\n"))
    assert (plan.workloads[0].sources_files, plan.workloads[0].sources_bytes) == (1, 0)


def test_what_is_not_on_this_machine_is_told_with_its_line_and_no_word_is_taken_for_a_package() -> None:
    with pytest.raises(CommandMissing, match=r"^plan.toml:5: workload\[0\].argv: there is no program -rf") as caught:
        with_sources(parsed(f"{COMMAND}argv = ['-rf', '/usr']\n"))
    assert "package -rf" not in caught.value.hint
    with pytest.raises(PlanBadValue, match=r"^plan.toml:5: workload\[0\].sources"):
        with_sources(parsed(f"{COPY}sources = ['/nowhere']\n"))


def test_a_program_that_the_cage_would_not_have_is_refused_before_a_device_is_wiped(tmp_path: Path) -> None:
    own = tmp_path / "own.sh"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    for word in (own, os.path.relpath(own)):
        with pytest.raises(PlanBadValue, match=r"^plan.toml:5: .*sees only /usr and its sources"):
            with_sources(parsed(f"{COMMAND}argv = ['{word}']\n"))
    for text in (f"argv = ['{own}']\nsources = ['{tmp_path}']\n", "argv = ['/bin/sh']\n", "argv = ['/usr/bin/env']\n"):
        assert with_sources(parsed(COMMAND + text))
