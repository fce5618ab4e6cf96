import os
import subprocess
import sys

from driftline.base import registry
from tests.test_cli.tables import mixed, write

PROGRAM = """
import os, sys
from driftline import cli
import driftline.cli.app

for typed in sys.argv[1:]:
    words = ["driftline", *typed.split(" ")]
    if os.fork() == 0:
        os.environ |= {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        cli.main([])
    os.wait()
    print("--", flush=True)
"""
OFFERED = {
    "comp": {"compare"},
    "run a.csv --target w": {"when", "wind", "where"},
    "run a.csv --drop wind,o": {"wind,on", "wind,one"},
    "run a.csv --model rl": {"rls"},
    "run a.csv --model rls --set fo": {"forgetting="},
    "run none.csv --target w": set(),
    "run a.csv --task c": {"classify"},
    "tune a.csv --model rls --grid ri": {"ridge="},
    "models ka": {"kalman"},
    "run a.csv --model ": registry.of_numbers().keys(),
}


def test_the_shell_is_offered_matching_words(tmp_path):
    """As bash's completion script asks for them; one process imports driftline for all questions."""
    write(mixed(20), tmp_path / "a.csv")
    asked = os.environ | {"_DRIFTLINE_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", PROGRAM, *OFFERED]
    done = subprocess.run(command, env=asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = [set(answer.split()) for answer in done.stdout.split("--\n")[:-1]]
    assert dict(zip(OFFERED, found, strict=True)) == OFFERED
