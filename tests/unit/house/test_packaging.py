"""What is shipped: a wheel that is whole, and a lock file that pins it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import tomli

import fsconsole
from tests.unit.house.source import CHECKOUT, PACKAGE

DATA = f"fsconsole-{fsconsole.__version__}.data"


@pytest.fixture(scope="module")
def project() -> dict[str, object]:
    with (CHECKOUT / "pyproject.toml").open("rb") as file:
        return tomli.load(file)["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with what is installed, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    # What pip would call: itself it takes longer than the building.
    build = [sys.executable, "-c", f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"]
    done = subprocess.run(build, cwd=CHECKOUT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def shipped(folder: Path, prefix: str) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"{prefix}/{path.relative_to(folder)}" for path in files}


def test_the_wheel_holds_the_package_the_plans_the_man_page_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert "fsconsole/py.typed" in held
    beside = {f"{DATA}/data/share/man/man1/fsconsole.1", f"{DATA}/scripts/fsconsole"}
    assert held == shipped(PACKAGE, "fsconsole") | shipped(CHECKOUT / "configs", "fsconsole/configs") | beside


def test_an_installed_wheel_finds_its_plans_and_its_catalog(wheel, tmp_path):
    target = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    code = (
        f"import sys; sys.path.insert(0, {str(target)!r})\n"
        "import fsconsole.plan.read, fsconsole.catalog.loader\n"
        "print(fsconsole.__file__)\n"
        "print(*fsconsole.plan.read.list_configs())\n"
        "print(*fsconsole.catalog.loader.load_catalog().names)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    where, configs, filesystems = done.stdout.splitlines()
    assert where.startswith(str(target))
    assert f"{target}/fsconsole/configs/demo.toml" in configs.split()
    assert "ext4" in filesystems.split()


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Path:
    """Install the wheel as pip would, into an environment that borrows the requirements of this one."""
    root = tmp_path / "an environment"
    library = root / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    library.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(library)
    (root / "bin").mkdir()
    (root / "bin/python3").symlink_to(sys._base_executable)
    (root / "bin/fsconsole").write_bytes((library / DATA / "scripts/fsconsole").read_bytes())
    (root / "bin/fsconsole").chmod(0o755)
    (root / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}\n")
    (library / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    return root


@pytest.mark.parametrize("name", ["fsconsole", "another name"])
def test_wheel_script_starts_isolated_python(environment, tmp_path, name):
    (tmp_path / "fsconsole.py").write_text("print('foreign')")
    (tmp_path / "sitecustomize.py").write_text("print('foreign')")
    link = tmp_path / "links to" / name
    link.parent.mkdir()
    link.symlink_to(environment / "bin/fsconsole")
    hostile = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path), "PYTHONEXECUTABLE": str(tmp_path), "PATH": "."}
    for program in (environment / "bin/fsconsole", link, Path("links to", name)):
        done = subprocess.run(
            [program, "--version"], check=False, capture_output=True, text=True, cwd=tmp_path, env=hostile
        )
        assert (done.stdout, done.stderr) == (f"fsconsole {fsconsole.__version__}\n", "")


def test_version_is_the_same_everywhere(project):
    assert project["version"] == fsconsole.__version__


def test_the_lock_files_pin_every_requirement_with_a_hash_and_name_no_host(project):
    groups = tomli.loads((CHECKOUT / "pyproject.toml").read_text())["dependency-groups"]
    extras = project["optional-dependencies"]["test"]
    for file, wanted in (
        ("requirements.lock", [*project["dependencies"], *extras, *groups["build"]]),
        ("tests/simulate/requirements.lock", groups["simulate"]),
    ):
        text = (CHECKOUT / file).read_text()
        assert "://" not in text
        entries = text.replace("\\\n", "").splitlines()
        assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
        pinned = {entry.split("==")[0] for entry in entries}
        assert {name.split(">=")[0] for name in wanted} <= pinned
