"""Stored measurements: a new one replaces the earlier one of the same name, and no other."""

import json
import math
import sys

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import machine, same_results
from benchmarks.ledger import Ledger
from benchmarks.report import Report, Table, Verdict

FACTS = {"command": "`c`", "commit": "abc", "load": "1.0", "date": "2026-01-01", "versions": "Python 3"}


def report(name, measured):
    return Report([Table(name, ("what", "figure"), [("a", measured)])], [Verdict(name, measured, 1.0, "s")])


def test_a_measurement_replaces_the_earlier_one_of_its_name_and_no_other(tmp_path):
    ledger = Ledger(tmp_path / "results")
    for name, measured in (("one", 0.25), ("two", 0.5), ("one", 0.75)):
        ledger.enter(name, report(name, measured), FACTS)
    kept = json.loads((tmp_path / "results.json").read_text())["reports"]
    assert {name: kept[name]["verdicts"][0]["measured"] for name in kept} == {"one": 0.75, "two": 0.5}
    text = (tmp_path / "results.md").read_text()
    assert "0.25" not in text
    assert text.count("commit abc, load 1.0") == 2


def test_measurements_of_another_machine_are_discarded(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "results")
    ledger.enter("one", report("one", 0.25), FACTS)
    monkeypatch.setattr(machine, "machine", lambda: {"processor": "another"})
    ledger.enter("two", report("two", 0.5), FACTS)
    assert list(json.loads((tmp_path / "results.json").read_text())["reports"]) == ["two"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"machine": {}, "reports": null}', '{"machine": {}}'])
def test_a_file_that_holds_no_measurements_is_replaced(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    Ledger(tmp_path / "results").enter("one", report("one", 0.25), FACTS)
    assert list(json.loads((tmp_path / "results.json").read_text())["reports"]) == ["one"]


@pytest.mark.parametrize("arguments", [["one_row", "--quick", "--docs"], ["nothing"]])
def test_invalid_arguments_are_refused_before_any_measurement(arguments, capsys):
    with pytest.raises(SystemExit) as refused:
        command.main(arguments)
    assert refused.value.code == 2
    assert "python -m benchmarks: error" in capsys.readouterr().err


def test_the_results_of_one_tree_are_the_same_twice_and_a_changed_bit_is_found():
    once, twice = (same_results.outcomes(sys.executable, "^(rls late mappings|command ids csv rls)$") for _ in range(2))
    assert len(once) == 2
    for name, outcome in once.items():
        assert "error" not in outcome, outcome
        assert not same_results.differences(outcome, twice[name], "")
    predictions = once["rls late mappings"]["predictions"]
    predictions[7] = math.nextafter(predictions[7], math.inf)
    (line,) = same_results.differences(once["rls late mappings"], twice["rls late mappings"], "pred")
    assert line.endswith(f"(1 of {len(predictions)})")
    assert not same_results.differences(once["rls late mappings"], twice["rls late mappings"], "lower")


def test_the_size_of_a_difference_is_relative_to_the_largest_value():
    before = np.array([1.0, math.nan, -4.0, math.inf])
    assert same_results.difference(before.copy(), before) is None
    assert same_results.difference(np.array([1.0, math.nan, -4.2, math.inf]), before) == "0.05 (1 of 4)"
    assert same_results.difference(np.array([1.0, 2.0, -4.0, math.inf]), before) == "0 (1 of 4, some finite in one only)"
    assert same_results.difference(before[:3], before) == "shape (4,) -> (3,)"
