import os
import subprocess
import sys

import pytest

from driftline.base import registry
from tests.test_cli.tables import mixed, write

PROGRAM = "from driftline.cli import main; main()"


def offered(typed, folder):
    """The completions that bash gets for the words typed so far, as its completion script asks for them."""
    words = ["driftline", *typed.split(" ")]
    asked = {"_DRIFTLINE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | asked, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("comp", {"compare"}),
        ("run a.csv --target w", {"when", "wind", "where"}),
        ("run a.csv --drop wind,o", {"wind,on", "wind,one"}),
        ("run a.csv --model rl", {"rls"}),
        ("run a.csv --model rls --set fo", {"forgetting="}),
        ("run none.csv --target w", set()),
        ("run a.csv --task c", {"classify"}),
        ("tune a.csv --model rls --grid ri", {"ridge="}),
        ("models ka", {"kalman"}),
    ],
)
def test_the_shell_is_offered_matching_words(tmp_path, typed, expected):
    write(mixed(20), tmp_path / "a.csv")
    assert set(offered(typed, tmp_path)) == expected


def test_every_learner_is_offered(tmp_path):
    assert set(offered("run a.csv --model ", tmp_path)) == registry.regressors().keys()
