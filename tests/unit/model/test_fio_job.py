"""The reader of fio's job files: what passes, what is refused and with which line, and that fio reads the same."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.targets import FioJobRefused
from fsconsole.model import fio_keys
from fsconsole.model.fio_job import job_words, load_of, read_fio_job
from fsconsole.text import GIB, KIB, MIB

JOB = """\
; a comment before all
# another
[global]
bs = 4k      ; sizes as fio writes them
blocksize_unaligned
	rw=randwrite:8
size=(4*256k)

[two words]
filename=data/a:b\\:c
kb_base=1000
ioengine=libaio
iodepth=4
userspace_reap
wait_for_previous
[again]
numjobs=2
bs=8k
bs=16k # the last one counts
"""


def test_sections_comments_aliases_and_order_are_read_as_fio_reads_them() -> None:
    assert job_words(read_fio_job(JOB, "job.fio")) == (
        "--name=global", "--bs=4k", "--bs_unaligned", "--rw=randwrite:8", "--size=(4*256k)",
        "--name=two words", "--kb_base=1000", "--ioengine=libaio", "--iodepth=4", "--stonewall", "--filename=data/a:b\\:c",
        "--userspace_reap",
        "--name=again", "--numjobs=2", "--bs=8k", "--bs=16k",
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_itself_makes_the_same_command_line_of_a_job_file(tmp_path: Path) -> None:
    # fio keeps blanks around values, may be built without arithmetic, and splits the command line at blanks of names.
    job = JOB
    for text, instead in (("bs = 4k", "bs=4k"), ("(4*256k)", "1m"), ("two words", "two"), ("userspace_reap", "")):
        job = job.replace(text, instead)
    (tmp_path / "job.fio").write_text(job)
    said = subprocess.run(["fio", "--showcmd", "job.fio"], cwd=tmp_path, check=False, capture_output=True, text=True)
    ours = [word for word in job_words(read_fio_job(job, "job.fio")) if word != "--name=global"]
    assert shlex.split(said.stdout, posix=False)[1:] == ours


REFUSED = {
    "include other.fio": "another file",
    "include_me=1": "another file",
    "filename=/dev/sda": "outside",
    "filename=here:/etc/passwd": "outside",
    "filename=a/../../b": "leads out",
    "filename=-": "no file",
    "filename=:/etc/passwd": "no file",
    "directory=/tmp": "outside",
    "directory=..": "leads out",
    "filename_format=/tmp/$jobname": "outside",
    "filename_format=.$clientuid./x": "told from it",
    "filename_format=$clientuid/tmp/$jobname": "told from it",
    "opendir=.": "whatever files",
    "ioengine=external:/tmp/engine.so": "loads a library",
    "ioengine=./engine.so": "not allowed",
    "ioengine=exec": "not allowed",
    "ioengine=rados": "not allowed",
    "ioengine=io_uring": "forbids io_uring",
    "ioengine=io_uring_cmd": "forbids io_uring",
    "exec_prerun=reboot": "runs a command",
    "exec_postrun=reboot": "runs a command",
    "write_bw_log=/etc/x": "log file",
    "write_lat_log": "log file",
    "write_iolog=x": "log file",
    "read_iolog=x": "replays",
    "mem=mmaphuge:/dev/sda": "file or a device",
    "iomem=mmapshared:/etc/x": "file or a device",
    "buffer_pattern='/etc/shadow'": "name a file",
    "size=$mb_memory": "depends on the machine",
    "filename=${HOME}/x": "would not say",
    "cgroup=x": "cgroups",
    "uid=0": "right",
    "rw=randtrim": "for devices",
    "rw=wirte": "not a kind of I/O",
    "zonemode=zbd": "zoned",
    "ioscheduler=none": "setting of the device",
    "profile=tiobench": "job file of its own",
    "iodeph=4": "not a key",
    "size": "no value",
    "size=": "no value",
    "name\x00=x": "control",
    "name=": "no value",
    "name=global": "not a name",
    "name=../x": "not a name",
    "fill_device=1": "until the filesystem is full",
    "fill_fs=1": "until the filesystem is full",
    "size=50%": "share of files that are not there",
    "size=(1g+1m)": "can't count",
    "size=1.5g": "can't count",
    "filesize=50%": "can't count",
    "filesize=4k-many": "can't count",
    "nrfiles=10%": "can't count",
    "numjobs=1+1": "can't count",
    "[/dev/sda]": "slashes",
    "[..]": "dot",
    "[-]": "dash",
    "[open": "name",
    "x" * 5000: "too long",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_reaches_beyond_the_load_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(FioJobRefused, match=REFUSED[line]) as caught:
        read_fio_job(f"[job]\nrw=write\n{line}\n", "dir/job.fio")
    assert str(caught.value).startswith("dir/job.fio:3: ")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("jobs", "line", "word", "count"),
    [
        ("[a]\nrw=write\nnumjobs=4097\n", 3, "numjobs=4097", 4097),
        ("[global]\nnumjobs=4k\n[a]\n[b]\n", 2, "numjobs=4k", 8192),
        ("[a]\nnumjobs=4000\n[b]\nnumjobs=97\n", 4, "numjobs=97", 4097),
        ("[a]\nnumjobs=4096\n[b]\nrw=read\n", 3, r"\[b\]", 4097),
    ],
)
def test_more_jobs_than_fio_takes_are_refused_with_the_line_that_is_too_many(
    jobs: str, line: int, word: str, count: int
) -> None:
    with pytest.raises(FioJobRefused, match=rf"job\.fio:{line}: {word}: with it there are {count} jobs") as caught:
        read_fio_job(jobs, "job.fio")
    assert "4096" in str(caught.value)
    assert caught.value.hint


def test_as_many_jobs_as_fio_takes_are_allowed() -> None:
    for job in ("[a]\nnumjobs=4096\n", "[a]\nnumjobs=4k\n", "[a]\nnumjobs=5000\nnumjobs=4095\n[b]\nrw=read\n"):
        assert load_of(read_fio_job(job, "job.fio")).jobs == 4096


def test_a_misspelt_key_is_answered_with_the_nearest_ones() -> None:
    with pytest.raises(FioJobRefused) as caught:
        read_fio_job("[job]\niodeph=4\n", "job.fio")
    assert caught.value.hint.startswith("Did you mean iodepth")


def test_a_key_that_resembles_none_is_answered_without_a_guess() -> None:
    with pytest.raises(FioJobRefused) as caught:
        read_fio_job("[job]\nxyzzy=4\n", "job.fio")
    assert caught.value.hint == "Remove it."


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "[global]\nrw=read\n", "[globally]\nrw=read\n", "rw=read\n[job]\n"]
)
def test_a_file_without_a_job_is_refused(text: str) -> None:
    with pytest.raises(FioJobRefused):
        read_fio_job(text, "job.fio")


def test_no_key_is_both_allowed_and_refused() -> None:
    assert not fio_keys.ALLOWED & fio_keys.REFUSED.keys()
    assert set(fio_keys.ALIASES.values()) <= fio_keys.ALLOWED
    assert not fio_keys.ALIASES.keys() & fio_keys.ALLOWED


_LINES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["[job]", "[global]", "rw=read", "include x", "exec_prerun=x", "filename="]),
    st.builds("{}={}".format, st.sampled_from([*fio_keys.ALLOWED, *fio_keys.REFUSED]), st.text(max_size=20)),
    st.builds("filename={}".format, st.text(":/.\\ab ", max_size=12)),
)


@given(st.lists(_LINES, max_size=12).map("\n".join))
def test_whatever_the_text_nothing_but_allowed_keys_with_paths_below_the_load_comes_out(text: str) -> None:
    try:
        words = job_words(read_fio_job("[job]\n" + text, "job.fio"))
    except FioJobRefused:
        return
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        assert word.startswith("--")
        assert name in fio_keys.ALLOWED
        assert "\n" not in word
        assert "\0" not in word
        if name in ("filename", "directory"):
            assert not any(
                path.startswith("/") or ".." in path.split("/") for path in value.replace("\\:", "_").split(":")
            )


def test_what_a_job_will_do_is_told_beforehand() -> None:
    job = """
    [global]
    rw=randwrite
    size=1m
    [a]
    numjobs=4
    [b]
    rw=read:3
    filesize=4k-8k
    size=0
    nrfiles=10
    [c]
    filename=sub/one:two
    size=1m
    [d]
    filename=sub/one
    size=25%
    fdatasync=1
    """
    load = load_of(read_fio_job(job, "job.fio"))
    assert (load.reads, load.writes, load.syncs, load.jobs) == (True, True, True, 7)
    assert load.space_bytes == 5 * MIB + 80 * KIB
    assert load.files == 4 + 10 + 2


def test_a_file_of_several_jobs_takes_its_space_once() -> None:
    job = "[global]\nsize=1g\nfilename=one\n[a]\nrw=write\nnumjobs=8\n[b]\nstonewall\nrw=randread\n"
    assert load_of(read_fio_job(job, "job.fio")).space_bytes == GIB
    assert not load_of(read_fio_job("[a]\nioengine=cpuio\ncpuload=50\nsize=1g\n", "job.fio")).space_bytes
    assert load_of(read_fio_job(job + "file_append=1\n", "job.fio")).space_bytes == 2 * GIB
    names = "[a]\nrw=write\nfilesize=1m\nfilename=one:two\n"
    assert load_of(read_fio_job(names, "job.fio")).space_bytes == 2 * MIB


def test_clones_at_growing_offsets_take_what_lies_before_them_too() -> None:
    clones = "[a]\nrw=write\nsize=1m\nnumjobs=3\noffset=2m\noffset_increment=1m\n"
    assert load_of(read_fio_job(clones, "job.fio")).space_bytes == (3 + 4 + 5) * MIB
    assert load_of(read_fio_job(clones + "filename=one\n", "job.fio")).space_bytes == 5 * MIB


def test_a_job_is_named_as_fio_names_it() -> None:
    job = "[heading]\nrw=write\nname=own name\nsize=1m\n"
    assert job_words(read_fio_job(job, "job.fio")) == ("--name=own name", "--rw=write", "--size=1m")
    # One job takes it from [global], unless it has its own; several would share it, and with it their files.
    shared = "[global]\nname=x\nsize=1m\n[a]\nrw=read\n"
    assert job_words(read_fio_job(shared, "job.fio")) == ("--name=global", "--size=1m", "--name=x", "--rw=read")
    assert job_words(read_fio_job(f"{shared}name=y\n", "job.fio"))[-2] == "--name=y"
    with pytest.raises(FioJobRefused, match=r"job\.fio:2: name=x: all 2 jobs"):
        read_fio_job(f"{shared}[b]\nrw=read\n", "job.fio")
    with pytest.raises(FioJobRefused, match=r"job\.fio:2: name=\.\./x: it is not a name"):
        read_fio_job("[global]\nname=../x\n[a]\nrw=read\n", "job.fio")


@pytest.mark.parametrize(
    ("size", "at_least"),
    [
        ("1GiB", GIB),
        ("1gi", GIB),
        ("2gb", 2 * GIB),
        ("0x100000", MIB),
        ("0X10m", 16 * MIB),
        ("8192b", 8 * KIB),
        ("(4*256k)", MIB),
        ("(2 * 0x10 * 1m)", 32 * MIB),
    ],
)
def test_a_size_in_any_form_that_fio_reads_counts_as_space(size: str, at_least: int) -> None:
    """What counted as nothing could fill a directory's filesystem."""
    assert load_of(read_fio_job(f"[a]\nrw=write\nsize={size}\n", "job.fio")).space_bytes == at_least
    both = f"[a]\nrw=write\nsize=4k\nfilesize={size}\n"
    assert load_of(read_fio_job(both, "job.fio")).space_bytes == at_least, "a file is laid out whole"
