from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from driftline.evaluate import Table
from driftline.evaluate.tables import Cell, shown

TABLE = Table(
    ["name", "value", "note"],
    [["a_1", 1 / 3, Cell(2.5, "2.50 ± 0.10 •", bold=True)], ["b|c, d", float("inf"), None], ['"e"', float("nan"), "50 %"]],
    "Two & more",
)


def test_csv_parses_back_with_every_digit():
    header, *rows = csv.reader(io.StringIO(TABLE.to_csv()))
    assert header == ["name", "value", "note"]
    assert [row[0] for row in rows] == ["a_1", "b|c, d", '"e"']
    assert [float(row[1]) for row in rows[:2]] == [1 / 3, float("inf")]
    assert rows[0][2] == "2.5"


def test_json_parses_back_strictly():
    def refuse(word):
        raise ValueError(word)

    content = json.loads(TABLE.to_json(), parse_constant=refuse)
    assert content["caption"] == "Two & more"
    assert content["rows"][0] == {"name": "a_1", "value": 1 / 3, "note": 2.5}
    assert content["rows"][1]["value"] is None


def test_markdown_parses_back():
    caption, _, header, marks, *rows = TABLE.to_markdown().splitlines()
    assert caption == "Two & more"
    assert header == "| name | value | note |"
    assert marks == "| :-- | --: | --: |"
    assert rows[0] == "| a_1 | 0.3333 | **2.50 ± 0.10 •** |"
    assert rows[1].startswith(r"| b\|c, d | inf |")


def test_a_notebook_shows_the_same_cells_escaped():
    found = ElementTree.fromstring(TABLE._repr_html_())
    assert found.find("caption").text == "Two & more"
    cells = [["".join(cell.itertext()) for cell in row] for row in found.iter("tr")]
    assert cells == [list(TABLE.columns), *([shown(value) for value in row] for row in TABLE.rows)]
    assert [bold.text for bold in found.iter("b")] == ["2.50 ± 0.10 •"]


def test_latex_escapes_its_own_characters():
    text = TABLE.to_latex()
    assert r"a\_1 & 0.3333 & \textbf{2.50 $\pm$ 0.10 $\bullet$} \\" in text
    assert r"50 \%" in text
    assert r"\caption{Two \& more}" in text
    assert text.count(r"\begin") == text.count(r"\end") == 2
    assert all(line.count("&") - line.count(r"\&") == 2 for line in text.splitlines() if line.endswith(r"\\"))


def test_files_hold_what_is_returned(tmp_path):
    for method in (TABLE.to_csv, TABLE.to_json, TABLE.to_markdown, TABLE.to_latex):
        path = tmp_path / method.__name__
        assert method(path) == path.read_text(encoding="utf-8")


def test_print_aligns_the_columns():
    lines = str(Table(["learner", "mse"], [["RLS", 0.5], ["Kalman filter", 12.25]])).splitlines()
    assert lines == ["learner          mse", "RLS              0.5", "Kalman filter  12.25"]


def test_rows_of_the_wrong_width_are_refused():
    with pytest.raises(ValueError, match="zip"):
        Table(["a", "b"], [[1]]).records()
