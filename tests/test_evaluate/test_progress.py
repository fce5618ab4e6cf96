from __future__ import annotations

import io
import math
import sys

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate
from driftline.evaluate import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "WAIT", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_a_terminal_is_told_rate_and_remaining_time(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    X, y = np.ones((5000, 1)), np.ones(5000)
    evaluate.prequential(dl.RLS(), ((X[a : a + 500], y[a : a + 500]) for a in range(0, 5000, 500)), rows=5000)
    text = terminal.getvalue()
    assert "50 %  2,500 of 5,000 rows" in text
    assert "rows/s" in text
    assert "left" in text
    assert text.endswith("\r")
    assert not text.rpartition("\r")[0].rpartition("\r")[2].strip()  # the line was wiped


@pytest.mark.usefixtures("impatient")
def test_what_is_not_a_terminal_stays_clean(monkeypatch):
    for stream, show in ((io.StringIO(), True), (Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        evaluate.prequential(dl.RLS(), (np.ones((50, 1)), np.ones(50)), progress=show)
        assert stream.getvalue() == ""


@pytest.mark.usefixtures("impatient")
def test_short_work_shows_nothing(monkeypatch):
    monkeypatch.setattr(progress, "WAIT", math.inf)
    terminal = Terminal()
    evaluate.prequential(dl.RLS(), (np.ones((50, 1)), np.ones(50)), progress=terminal)
    assert terminal.getvalue() == ""


def test_an_unknown_length_has_no_remaining_time():
    bar = evaluate.Progress(None, show=False)
    bar.advance(3000)
    assert bar.line(3.0) == "3,000 rows  1 k rows/s  0:03 so far"


@pytest.mark.usefixtures("impatient")
def test_rows_are_those_of_the_stream_however_many_learners_there_are():
    terminal = Terminal()
    blocks = [(np.ones((50, 1)), np.ones(50))] * 4
    evaluate.prequential([dl.RLS(), dl.Ridge(), dl.LMS()], iter(blocks), rows=200, progress=terminal)
    assert "50 %  100 of 200 rows" in terminal.getvalue()
