from __future__ import annotations

import io
import math
import sys
import types

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
def test_a_terminal_shows_rate_and_remaining_time(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    X, y = np.ones((5000, 1)), np.ones(5000)
    evaluate.prequential(dl.RLS(), ((X[a : a + 500], y[a : a + 500]) for a in range(0, 5000, 500)), rows=5000)
    text = terminal.getvalue()
    assert "50 %  2,500 of 5,000 rows" in text
    assert "rows/s" in text
    assert "left" in text
    assert text.endswith("\r")
    assert not text.rpartition("\r")[0].rpartition("\r")[2].strip()  # the line was cleared


@pytest.mark.usefixtures("impatient")
def test_a_notebook_shows_the_line_although_its_output_is_no_terminal(monkeypatch):
    class OutStream(io.StringIO):
        pass

    kernel = types.ModuleType("ipykernel.iostream")
    kernel.OutStream = OutStream
    monkeypatch.setitem(sys.modules, "ipykernel.iostream", kernel)
    stream = OutStream()
    monkeypatch.setattr(sys, "stderr", stream)
    evaluate.prequential(dl.RLS(), (np.ones((50, 1)), np.ones(50)))
    assert "100 %  50 of 50 rows" in stream.getvalue()
    assert stream.getvalue().endswith("\r")


@pytest.mark.usefixtures("impatient")
def test_nothing_is_written_if_the_output_is_not_a_terminal_or_progress_is_off(monkeypatch):
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


def test_a_share_of_the_work_replaces_an_unknown_total():
    bar = evaluate.Progress(None, start=500, show=False)
    bar.advance(500, share=0.25)
    assert bar.line(2.0, "error 3") == "[######..................]  25 %  1,000 rows  250 rows/s  error 3  0:12 left"


def test_rows_done_before_the_start_do_not_count_in_the_rate():
    bar = evaluate.Progress(3000, start=1000, show=False)
    bar.advance(1000)
    assert bar.line(2.0) == "[################........]  67 %  2,000 of 3,000 rows  500 rows/s  0:02 left"


@pytest.mark.usefixtures("impatient")
def test_a_line_is_no_wider_than_the_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    with evaluate.Progress(10) as bar:
        bar.advance(1, words=lambda: "as long as it may be")
    lines = terminal.getvalue().split("\r")
    assert max(map(len, lines)) == 39


@pytest.mark.usefixtures("impatient")
def test_a_row_counts_once_however_many_learners_there_are():
    terminal = Terminal()
    blocks = [(np.ones((50, 1)), np.ones(50))] * 4
    evaluate.prequential([dl.RLS(), dl.Ridge(), dl.LMS()], iter(blocks), rows=200, progress=terminal)
    assert "50 %  100 of 200 rows" in terminal.getvalue()
