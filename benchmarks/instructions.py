"""Instructions a row of a few kernels, counted by callgrind: the same on a busy machine as on an idle one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from benchmarks.native import BUILD, FOLDER, compile_native, compiler
from benchmarks.report import Report, Table

KERNELS = {
    "RLS, replay, float64": ("rls64", (5, 20, 100)),
    "RLS, replay, float32": ("rls32", (5, 20, 100)),
    "Ridge, one row at a time, float64": ("one-row", (5, 20, 100)),
    "Kalman, replay, float64": ("kalman64", (5, 20, 100)),
    "LMS, replay, float64": ("lms64", (5, 20, 100)),
}
ROWS = 200  # as in instructions.cpp
KERNEL_FLAGS = ("-mavx2", "-mfma", "-ffp-contract=fast", "-fno-math-errno", "-fno-signed-zeros", "-fno-trapping-math")


def measure(quick: bool) -> Report:
    del quick  # it takes seconds
    missing = [what for what, found in (("valgrind", shutil.which("valgrind")), ("a C++ compiler", compiler())) if not found]
    if missing:
        return Report(
            [Table("Instructions a row", ("kernel",), [], f"Not counted: there is no {' and no '.join(missing)} here.")]
        )
    program = compile_native(
        "instructions.cpp", *KERNEL_FLAGS, "-DDRIFTLINE_ISA=avx2", f"-I{FOLDER.parent / 'cpp' / 'include'}"
    )
    dimensions = next(iter(KERNELS.values()))[1]
    rows = [(label, *(_per_row(program, kind, d) for d in ds)) for label, (kind, ds) in KERNELS.items()]
    note = (
        f"AVX2 kernels without Python: the count for learning {ROWS} rows three times minus that for once, over {2 * ROWS}. "
        f"{_version(['valgrind', '--version'])}, {_version([compiler() or 'c++', '--version'])}."
    )
    return Report([Table("Instructions a row", ("kernel", *(f"d = {d}" for d in dimensions)), rows, note)])


def _per_row(program: Path, kind: str, d: int) -> int:
    """The count for three passes minus that for one, because both include starting up and creating the rows."""
    return round((_count(program, kind, d, 3) - _count(program, kind, d, 1)) / (2 * ROWS))


def _count(program: Path, kind: str, d: int, times: int) -> int:
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={BUILD / 'callgrind.out'}", str(program), kind]
    done = subprocess.run([*command, str(d), str(times)], check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(f"callgrind printed no count: {done.stderr}")
    return int(found[1])


def _version(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]
