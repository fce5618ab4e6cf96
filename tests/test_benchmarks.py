"""Stored measurements: a new one replaces the earlier one of the same name, and no other."""

import json

import pytest

from benchmarks import __main__ as command
from benchmarks import machine
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
