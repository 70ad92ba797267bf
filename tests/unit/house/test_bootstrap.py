"""The bootstrap script: what it passes on, what it finds out, and what it leaves alone.

Each test has a checkout of its own in a path with a space, an environment whose python and fsconsole are
small scripts, and a PATH that holds only what the test gives; no package manager of this machine is reached.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.house.source import CHECKOUT

TOOLS = ("wipefs", "losetup", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "bwrap", "tmux")
BASICS = [
    "cat",
    "cp",
    "dirname",
    "env",
    "flock",
    "head",
    "id",
    "mkdir",
    "printf",
    "readlink",
    "rm",
    "sh",
    "sha256sum",
    "touch",
]
SCRIPT = (CHECKOUT / "bootstrap").read_text()
SYSTEM_DIRECTORIES = "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin\n"
SYSTEM_PYTHON = "system_python=/usr/bin/python3\n"
PYTHON = """#!/bin/sh
case "$*" in
    *--version*) echo "Python 3.11.2" ;;
    *"-m venv"*) for venv; do :; done; mkdir -p "$venv/bin"; cp "$0" "$venv/bin/python"; cp "$FAKES/fsconsole" "$venv/bin/" ;;
    *"pip install"*) echo "$*" >>"$FAKES/pip.log" ;;
esac
"""
FSCONSOLE = """#!/bin/sh
pwd
for word; do echo "<$word>"; done
exit 7
"""


class Checkout:
    """A checkout to bootstrap, with its own idea of what is installed."""

    def __init__(self, folder: Path) -> None:
        assert SYSTEM_DIRECTORIES in SCRIPT
        assert SYSTEM_PYTHON in SCRIPT
        self.root = folder / "a checkout"
        self.fakes = folder / "fakes"
        self.programs = folder / "programs"
        self.system_python = folder / "no python of the system"
        for made in (self.root, self.fakes, self.programs):
            made.mkdir()
        for name in ("bootstrap", "requirements.lock", "pyproject.toml"):
            shutil.copy(CHECKOUT / name, self.root / name)
        for name in BASICS:
            found = shutil.which(name)
            assert found, name
            (self.programs / name).symlink_to(found)
        for name in TOOLS:
            self.give(name, "#!/bin/sh\n")
        self.give("python3", PYTHON)
        self.put(self.fakes / "fsconsole", FSCONSOLE)

    def put(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def give(self, name: str, text: str) -> None:
        self.put(self.programs / name, text)

    def take(self, name: str) -> None:
        (self.programs / name).unlink()

    def pretend_user(self, number: int) -> None:
        self.take("id")
        self.give("id", f"#!/bin/sh\necho {number}\n")

    def run(self, *words: str, script: Path | None = None, **how: object) -> subprocess.CompletedProcess[str]:
        # The script looks at the system's own directories and its python, too; here they are not to be seen.
        hidden = SCRIPT.replace(SYSTEM_DIRECTORIES, "").replace(
            SYSTEM_PYTHON, f"system_python='{self.system_python}'\n"
        )
        (self.root / "bootstrap").write_text(hidden)
        environment = {"PATH": str(self.programs), "FAKES": str(self.fakes)}
        return subprocess.run(
            [script or self.root / "bootstrap", *words],
            check=False, capture_output=True, text=True, env=environment, **how,
        )  # fmt: skip

    @property
    def installs(self) -> int:
        log = self.fakes / "pip.log"
        return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    made.pretend_user(0)
    return made


def test_words_and_exit_code_are_fsconsoles_where_the_caller_stands_and_its_own_words_stay_out(checkout, tmp_path):
    done = checkout.run("plan", "two words", "", "*", cwd=tmp_path)
    assert done.stdout.splitlines() == [str(tmp_path), "<plan>", "<two words>", "<>", "<*>"]
    assert "bootstrap: making" in done.stderr
    assert done.returncode == 7
    # A second call installs nothing and says nothing; no words are for the console.
    assert checkout.installs == 2
    done = checkout.run()
    assert (checkout.installs, done.stderr, done.stdout.splitlines()[1:]) == (2, "", [])


def test_it_works_through_a_symbolic_link_and_a_checkout_that_moved_gets_a_new_environment(checkout, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(checkout.root / "bootstrap")
    checkout.run("demo", script=link)
    assert (checkout.root / ".venv").is_dir()
    checkout.root = checkout.root.rename(tmp_path / "moved")
    assert f"making {tmp_path}/moved/.venv" in checkout.run("demo").stderr


def test_a_closed_stdin_is_no_hindrance(checkout):
    (checkout.fakes / "fsconsole").write_text("#!/bin/sh\nreadlink /proc/$$/fd/0\n")
    done = checkout.run("demo", preexec_fn=lambda: os.close(0))
    assert done.stdout == "/dev/null\n", done.stderr


def test_an_environment_without_a_stamp_is_made_again_and_one_with_other_requirements_added_to(checkout):
    checkout.run("demo")
    (checkout.root / ".venv/fsconsole.stamp").unlink()
    (checkout.root / ".venv/left over").touch()
    assert "making" in checkout.run("demo").stderr
    assert not (checkout.root / ".venv/left over").exists()
    assert checkout.installs == 4
    with (checkout.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert "making" not in checkout.run("demo").stderr
    assert checkout.installs == 6


def test_a_failed_installation_is_not_taken_for_a_whole_one(checkout):
    whole = (checkout.programs / "python3").read_text()
    checkout.give("python3", whole.replace('*"pip install"*)', '*"pip install"*) exit 1;; *nothing*)'))
    assert checkout.run("demo").returncode == 1
    checkout.give("python3", whole)
    assert "making" in checkout.run("demo").stderr


def test_missing_packages_are_named_then_installed_with_apt(checkout):
    checkout.take("mkfs.xfs")
    checkout.take("bwrap")
    checkout.give("apt-get", '#!/bin/sh\necho "$*" >>"$FAKES/apt.log"\n')
    done = checkout.run("demo")
    assert "bootstrap: installing with apt: xfsprogs bubblewrap" in done.stderr
    update, install = (checkout.fakes / "apt.log").read_text().splitlines()
    assert update == "update"
    assert install.startswith("install --yes --no-install-recommends")
    assert install.endswith(" xfsprogs bubblewrap")


def test_what_only_the_checks_need_is_installed_for_them_alone(checkout):
    checkout.take("tmux")
    checkout.give("apt-get", '#!/bin/sh\necho "$*" >>"$FAKES/apt.log"\n')
    # Nothing that the demo needs is missing: apt is left alone.
    checkout.run("demo")
    assert not (checkout.fakes / "apt.log").exists()
    assert "bootstrap: installing with apt: tmux\n" in checkout.run("test").stderr
    assert (checkout.fakes / "apt.log").read_text().splitlines()[-1].endswith(" tmux")


def test_what_single_tests_use_is_installed_where_apt_knows_it(checkout):
    checkout.give("apt-get", '#!/bin/sh\necho "$*" >>"$FAKES/apt.log"\nexit 100\n')
    checkout.give("apt-cache", '#!/bin/sh\ntest "$2" = f2fs-tools || test "$2" = fio\n')
    checkout.run("demo")
    assert not (checkout.fakes / "apt.log").exists()
    done = checkout.run("test")
    assert "bootstrap: installing with apt, for single tests: f2fs-tools fio\n" in done.stderr
    assert "apt could not install them; the tests that need them are skipped\n" in done.stderr
    assert "bootstrap: pytest\n" in done.stderr
    (install,) = (checkout.fakes / "apt.log").read_text().splitlines()
    assert install.endswith(" f2fs-tools fio")


def test_the_guests_are_fetched_for_the_checks_alone_and_only_with_apt(checkout):
    fetching = PYTHON + 'case "$*" in *tests.lab.fetch*) echo fetched >>"$FAKES/lab.log"; exit 1 ;; esac\n'
    checkout.run("demo")
    checkout.put(checkout.root / ".venv/bin/python", fetching)
    checkout.run("test")
    assert not (checkout.fakes / "lab.log").exists()
    checkout.give("apt-get", "#!/bin/sh\n")
    assert "the tests that need them are skipped\n" in checkout.run("test").stderr
    assert (checkout.fakes / "lab.log").exists()


def test_scipy_is_installed_for_the_checks_alone_and_they_go_on_without_it(checkout):
    checkout.run("demo")
    assert checkout.installs == 2
    assert "SciPy" not in checkout.run("test").stderr
    assert (checkout.fakes / "pip.log").read_text().splitlines()[2].endswith("-r tests/simulate/requirements.lock")
    checkout.put(
        checkout.root / ".venv/bin/python", PYTHON.replace('*"pip install"*)', '*"pip install"*) exit 1;; *nothing*)')
    )
    done = checkout.run("test")
    assert "pip could not install SciPy; the tests that need it are skipped\n" in done.stderr
    assert "bootstrap: pytest\n" in done.stderr


@pytest.mark.parametrize("manager", ["dnf", "zypper", "pacman", "apk"])
def test_other_package_managers_are_told_of_and_not_run(checkout, manager):
    checkout.take("mkfs.btrfs")
    checkout.give(manager, '#!/bin/sh\ntouch "$FAKES/manager.log"\n')
    done = checkout.run("demo")
    assert done.returncode == 1
    package = "btrfsprogs" if manager == "zypper" else "btrfs-progs"
    assert f"install these packages ({manager}), then run this again: {package}\n" in done.stderr
    assert "installing" not in done.stderr
    assert not (checkout.fakes / "manager.log").exists()
    assert not (checkout.root / ".venv").exists()


def test_without_root_it_goes_on_and_says_what_is_left_out(checkout):
    checkout.pretend_user(1000)
    checkout.take("bwrap")
    checkout.give("apt-get", '#!/bin/sh\ntouch "$FAKES/apt.log"\n')
    done = checkout.run("doctor")
    assert "without root these packages are left out, and what needs them: bubblewrap" in done.stderr
    assert done.returncode == 7
    assert not (checkout.fakes / "apt.log").exists()


def test_without_a_python_it_stops_in_words(checkout):
    checkout.pretend_user(1000)
    checkout.give("python3", "#!/bin/sh\nexit 1\n")
    done = checkout.run("doctor")
    assert done.returncode == 1
    assert "no Python 3.10 or later" in done.stderr


def test_the_systems_own_python_is_taken_before_another_one_of_path_where_it_can_make_environments(checkout):
    checkout.put(checkout.system_python, "#!/bin/sh\nexit 1\n")
    assert f"making {checkout.root}/.venv with {checkout.programs}/python3" in checkout.run("demo").stderr
    (checkout.root / ".venv/fsconsole.stamp").unlink()
    checkout.put(checkout.system_python, PYTHON)
    assert f"making {checkout.root}/.venv with {checkout.system_python}" in checkout.run("demo").stderr


def test_all_checks_run_and_one_failure_is_the_exit_code(checkout):
    checkout.run("demo")
    scripts = checkout.root / ".venv/bin"
    for name, code in (("ruff", 0), ("mypy", 1), ("lint-imports", 0)):
        checkout.put(scripts / name, f'#!/bin/sh\necho "{name} $*"\nexit {code}\n')
    done = checkout.run("test", "-k", "some thing")
    assert done.stdout.splitlines() == ["ruff check", "ruff format --check", "mypy ", "lint-imports "]
    assert "failed before pytest: mypy" in done.stderr
    assert done.returncode == 1
    checkout.put(scripts / "mypy", "#!/bin/sh\n")
    checkout.put(scripts / "python", PYTHON + 'case "$*" in *pytest*) exit 5 ;; esac\n')
    assert checkout.run("test").returncode == 5


@pytest.mark.parametrize(
    ("first", "names", "alone", "code"),
    [
        (1, 1, 0, 0),  # passes alone
        (1, 1, 1, 1),  # fails alone too
        (1, 11, 0, 1),  # too many to be a disturbance
        (2, 1, 0, 2),  # interrupted: no failure of a test
        (0, 1, 1, 0),  # passes at once
    ],
)
def test_up_to_ten_failed_tests_are_run_once_more_alone(checkout, first, names, alone, code):
    checkout.run("demo")
    scripts = checkout.root / ".venv/bin"
    for name in ("ruff", "mypy", "lint-imports"):
        checkout.put(scripts / name, "#!/bin/sh\n")
    cache = checkout.root / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text(json.dumps({f"tests/test_{number}.py::test": True for number in range(names)}))
    passes = (
        f'*--last-failed*) exit {alone} ;; *"-m pytest"*) exit {first} ;; *"-I -c"*) exec "{sys.executable}" "$@" ;;'
    )
    checkout.put(scripts / "python", PYTHON + f'case "$*" in {passes} esac\n')
    done = checkout.run("test", cwd=checkout.root)
    assert done.returncode == code
    assert ("PASSED ONLY ALONE" in done.stderr) == (first == 1 and code == 0)
    assert ("tests/test_0.py::test" in done.stderr) == (first == 1)


def test_ci_runs_the_test_command_and_nothing_else():
    words = (CHECKOUT / ".ci/run").read_text().splitlines()
    assert words == ["#!/bin/sh", 'exec "$(dirname -- "$0")/../bootstrap" test']
    assert os.access(CHECKOUT / ".ci/run", os.X_OK)
    assert os.access(CHECKOUT / "bootstrap", os.X_OK)
