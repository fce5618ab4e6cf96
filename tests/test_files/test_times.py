"""Times in files: time zones, the end of summer time, and the common ways to write dates."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.files import DataError, Options, Rows, open_rows
from driftline.files.delimited import Delimited
from driftline.files.written_times import LAYOUTS, kind_of, layouts_of, parse
from tests.cases import for_each
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import write
from tests.test_files.encoding import encoded

BERLIN = ZoneInfo("Europe/Berlin")
BEFORE = datetime(2025, 10, 25, 20, tzinfo=UTC)  # clocks go back from 3:00 to 2:00 at 1:00 UTC on the 26th
HOURS = [BEFORE + timedelta(hours=hour) for hour in range(12)]
LOCAL = [moment.astimezone(BERLIN) for moment in HOURS]


def zoned():
    kind = pa.timestamp("us", tz="Europe/Berlin")
    return pa.table({"when": pa.array(LOCAL, kind), "load": np.arange(12.0)})


def with_offsets():
    return pa.table({"when": [moment.isoformat() for moment in LOCAL], "load": np.arange(12.0)})


def block_of(path, **options):
    return next(iter(open_rows(path, **{"target": "load"} | options)))


def features(block):
    """The features of a block by name."""
    X, _, names = encoded([block])
    return dict(zip(names, X.T, strict=True))


def test_features_use_local_time_and_the_time_axis_uses_utc(tmp_path):
    block = block_of(write(zoned(), tmp_path / "a.parquet"), time="when")
    assert block.zone == "Europe/Berlin"
    assert block.times.tolist() == [moment.replace(tzinfo=None) for moment in HOURS]
    angle = np.array([2 * np.pi * (moment.hour * 60 + moment.minute) / 1440 for moment in LOCAL])
    np.testing.assert_allclose(features(block)["when: day sin"], np.sin(angle), atol=1e-12)
    assert LOCAL[4].hour == LOCAL[5].hour == 2  # so local time cannot be the axis


@pytest.mark.parametrize(("table", "name"), [(zoned, "a.parquet"), (zoned, "a.arrow"), (with_offsets, "a.csv"),
                                             (with_offsets, "a.jsonl"), (with_offsets, "a.parquet")])  # fmt: skip
@pytest.mark.parametrize("out", ["p.csv", "p.parquet", "p.jsonl"])
def test_the_time_axis_is_monotonic_at_the_end_of_summer_time(tmp_path, capsys, table, name, out):
    path, page = write(table(), tmp_path / name), tmp_path / "report.html"
    found = outcome(
        capsys, "run", path, "-t", "load", "-m", "rls", "--time", "when", "--report", page, "--out", tmp_path / out
    )
    assert found["rows_back_in_time"] == 0
    assert '"axis":"time (UTC)"' in page.read_text() or ">time (UTC)<" in page.read_text()
    times = predictions(tmp_path / out)["time"]
    if out == "p.jsonl":
        assert '"time": "2025-10-26T00:00:00Z"' in (tmp_path / out).read_text()
    else:
        assert [moment.astimezone(UTC) for moment in times.to_pylist()] == HOURS
    if (table, out) == (zoned, "p.parquet"):
        assert times.type.tz == "Europe/Berlin"


def test_local_times_that_go_back_without_a_zone_are_counted(tmp_path, capsys):
    table = pa.table({"when": [moment.replace(tzinfo=None) for moment in LOCAL], "load": np.arange(12.0)})
    path = write(table, tmp_path / "a.parquet")
    assert outcome(capsys, "run", path, "-t", "load", "-m", "rls", "--time", "when")["rows_back_in_time"] == 0
    table = table.set_column(
        0, "when", pa.array([moment.replace(tzinfo=None, minute=30 * (n == 4)) for n, moment in enumerate(LOCAL)])
    )
    path = write(table, tmp_path / "b.parquet")
    assert outcome(capsys, "run", path, "-t", "load", "-m", "rls", "--time", "when")["rows_back_in_time"] == 1


@for_each(
    "written, expected",
    [
        (["31/12/2025", "1/2/2025"], ["2025-12-31", "2025-02-01"]),
        (["12/31/2025", "1/2/2025"], ["2025-12-31", "2025-01-02"]),
        (["3.4.2025 06:00", "4.5.2025 18:30"], ["2025-04-03T06:00", "2025-05-04T18:30"]),
        (["12/31/2025 11:30 PM", "12/31/2025 12:15 AM"], ["2025-12-31T23:30", "2025-12-31T00:15"]),
        (["2025/12/31 10:00:05", "2025/1/2 00:00:00"], ["2025-12-31T10:00:05", "2025-01-02"]),
        (["3 Dec 2025", "31 January 2026"], ["2025-12-03", "2026-01-31"]),
        (["Dec 31, 2025", "Jan 1, 2026"], ["2025-12-31", "2026-01-01"]),
        (["2025-11", "2025-12"], ["2025-11-01", "2025-12-01"]),
        (["29/02/24", "28/02/24"], ["2024-02-29", "2024-02-28"]),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_common_date_formats_are_read(tmp_path, written, expected, name):
    path = write(pa.table({"when": [*written, None], "load": [1.0, 2.0, 3.0]}), tmp_path / name)
    block = block_of(path, time="when")
    assert block.times[:2].tolist() == np.array(expected, dtype="datetime64[us]").tolist()
    assert np.isnat(block.times[2])
    assert "when: year sin" in features(block)
    assert ("when: day sin" in features(block)) == any(":" in text for text in written)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["01/12/2025", "1/2/2025"], "line 2, .*may be 2025-12-01 or 2025-01-12, and .*%d/%m/%Y.*%m/%d/%Y"),
        (["2025-13-40", "2025-13-41"], "line 2, column 'when': '2025-13-40' looks like a date, but not in a known format"),
        (["13/14/2025", "14/15/2025"], "line 2, .*'13/14/2025' looks like a date, but not in a known format"),
        (["30/12/2025", "31/12/2025", "2026-01-01"], "line 4, .*'2026-01-01' is not a time like '30/12/2025'"),
        (["28/02/2025", "31/02/2025", "27/02/2025"], "line 3, .*'31/02/2025' is not a time like '28/02/2025'"),
        (["2025-02-28", "2025-02-31", "2025-02-27"], "line 3, .*'2025-02-31' is not a time"),
        (["2025-02-28T10:00Z", "2025-02-28T11:00Z", "2025-02-28T12:00"], "line 4, .*'2025-02-28T12:00' has no offset"),
        (["Mon 3 Feb 2025", "Tue 4 Feb 2025"], "looks like a date, but not in a known format.*time_format"),
    ],
)  # fmt: skip
def test_unreadable_dates_never_become_categories(tmp_path, written, words):
    path = write(pa.table({"when": written, "load": np.arange(float(len(written)))}), tmp_path / "a.csv")
    with pytest.raises(DataError, match=words):
        block_of(path)
    assert next(iter(features(block_of(path, text=["when"])))) == f"when={written[0]}"
    assert block_of(path, drop=["when"]).names == []


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("usual", "other", "words"),
    [
        ("2025-01-{:02}", "31.01.2025", "'31.01.2025' is not a time like .*: write all times in one notation"),
        ("{:02}/01/2025 10:00", "2025-01-31 10:00", "'2025-01-31 10:00' is not a time like .*: write all times in one"),
        ("2025-01-{:02} 10:00", "2025-01-31 10:00+01:00", "10:00.01:00' has an offset, unlike .*: write all times with an"),
        ("2025-01-{:02}T10:00+01:00", "2025-01-31T10:00", "T10:00' has no offset, unlike .*: write all times with an"),
        ("2025-01-{:02}", "31.13.2025", "'31.13.2025' is not a time.*na='31.13.2025'"),
    ],
)
def test_the_advice_for_a_time_unlike_the_others_works(tmp_path, monkeypatch, usual, other, words, late):
    """In the first rows, which determine the format of the times, and in later ones; with and without it as --time."""
    monkeypatch.setattr("driftline.files.lines.BLOCK", 1024 if late else 10_000)
    monkeypatch.setattr("driftline.files.lines.LEAST", 1)
    days = [usual.format(1 + row % 28) for row in range(200)]
    path, rows = tmp_path / "a.csv", np.arange(float(len(days) + 1))
    write(pa.table({"when": [*days, other], "load": rows}), path)
    for time in ({}, {"time": "when"}):
        with pytest.raises(DataError, match=words) as caught:
            list(open_rows(path, target="load", **time))
        assert {(hint.option, hint.value) for hint in caught.value.hints} - {("na", other)} == {
            ("text", "when"),
            ("drop", "when"),
        }
        dropped = "--drop when instead of --time when to leave it out" if time else "--drop when to leave it out"
        assert caught.value.spelled(as_flags=True).endswith(dropped)
        for hint in caught.value.hints:
            assert hint.instead_of == ("" if hint.option == "na" else "".join(time))
            given = {} if hint.instead_of else time
            blocks = list(open_rows(path, target="load", **given, **{hint.option: hint.value}))
            assert sum(map(len, blocks)) == len(rows)


def test_the_time_column_cannot_be_dropped_if_rows_have_ids(tmp_path):
    table = pa.table({"when": ["2025-01-01", "2025-01-02", "01.02.2025"], "at": list("abc"), "load": np.arange(3.0)})
    path = write(table, tmp_path / "a.csv")
    with pytest.raises(DataError) as caught:
        block_of(path, time="when", id="at")
    assert caught.value.hints == ()
    with pytest.raises(ValueError, match="when is the time: it cannot be among text"):
        open_rows(path, target="load", time="when", text=["when"])


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_parquet_and_json_refuse_unreadable_dates_too(tmp_path, name):
    path = write(pa.table({"when": ["31/02/2025", "28/02/2025", "27/02/2025"], "load": [1.0, 2.0, 3.0]}), tmp_path / name)
    with pytest.raises(DataError, match=r"(row 0|line 1), column 'when': '31/02/2025' is not a time like '28/02/2025'"):
        block_of(path)


def test_an_explicit_time_format_takes_precedence(tmp_path):
    path = write(pa.table({"when": ["01/12/2025", "1/2/2025"], "load": [1.0, 2.0]}), tmp_path / "a.csv")
    for form, first in (("%d/%m/%Y", "2025-12-01"), ("%m/%d/%Y", "2025-01-12")):
        assert str(block_of(path, time="when", time_format=form).times[0])[:10] == first
    with pytest.raises(DataError, match="'01/12/2025' is not a time of the form %H:%M"):
        block_of(path, time="when", time_format="%H:%M")
    path = write(pa.table({"when": [20251231, 20260101], "load": [1.0, 2.0]}), tmp_path / "b.csv")
    assert str(block_of(path, time="when", time_format="%Y%m%d").times[0])[:10] == "2025-12-31"


@pytest.mark.parametrize(
    "written", [["1.2.3", "1.2.10"], ["north", "2025-12-31", "south"], ["555-12-34567", "x"], ["2025-Q1", "2025-Q2"]]
)
def test_text_that_is_not_a_date_stays_a_category(tmp_path, written):
    path = write(pa.table({"when": written, "load": np.arange(float(len(written)))}), tmp_path / "a.csv")
    assert list(features(block_of(path))) == [f"when={text}" for text in written]


def test_a_model_remembers_how_dates_are_written(tmp_path, capsys):
    """A short file alone may not show whether the day comes first."""
    long = write(pa.table({"when": ["31/12/2025", "1/2/2025"] * 20, "load": np.arange(40.0)}), tmp_path / "long.csv")
    short = write(pa.table({"when": ["01/03/2025"]}), tmp_path / "short.csv")
    state, out = tmp_path / "m.drift", tmp_path / "p.csv"
    outcome(capsys, "run", long, "-t", "load", "-m", "rls", "--time", "when", "--state", state)
    assert call(capsys, "predict", state, short, "--out", out)[0] == 0
    assert str(predictions(out)["time"][0]) == "2025-03-01 00:00:00"


@given(
    st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9999, 1, 1)),
    st.sampled_from([each for each in LAYOUTS if "%" in each]),
)
def test_a_formatted_time_is_read_back_unchanged(moment, layout):
    if "%y" in layout:
        moment = moment.replace(year=2000 + moment.year % 60, day=min(moment.day, 28))
    text = moment.strftime(layout.replace("%Y", f"{moment.year:04d}"))
    expected = datetime.strptime(text, layout)
    assert parse(pa.array([text]), layout).to_pylist() == [expected]
    readings = [parse(pa.array([text]), each).to_pylist()[0] for each in layouts_of(pa.array([text]))]
    assert expected in [reading.replace(tzinfo=None) for reading in readings]
    assert kind_of(layout) in ("date", "timestamp")


@pytest.mark.parametrize(("target", "more"), [("price", {}), ("load", {}), ("load", {"features": ["price"]})])
def test_a_number_with_separators_is_not_reported_as_missing(tmp_path, target, more):
    """Nor as a class: the error says to write a plain number. Other advice, given for an input, works."""
    path = write(pa.table({"price": ["1", "2", "3", "1,200"], "load": np.arange(4.0)}), tmp_path / "a.csv")
    with pytest.raises(
        DataError, match=r"line 5, column 'price': .*'1,200'.*: write it without marks for thousands"
    ) as caught:
        block_of(path, target=target, **more)
    options = [hint.option for hint in caught.value.hints]
    assert options == ([] if target == "price" else ["text", "drop"] if not more else ["text"])
    for option in options:
        assert len(block_of(path, target=target, **more, **{option: "price"})) == 4


@for_each(
    "written",
    [
        ["1,128,818", "903,112"],
        ["12.9%", "7 %"],
        ["$1,000.50", "-$3"],
        ["1.234.567,5", "2.345.678,1"],
        ["3,5", "4,25"],
        ["12 €", "x"],
        ["−2", "−0.5"],
        ["3٫5", "x"],
        ["1,128", "903", "unknown", "2"],
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_numbers_with_marks_do_not_become_categories(tmp_path, written, name):
    """The files are separated by commas, and only an input has such marks."""
    path = write(pa.table({"price": [*written, written[0]], "load": np.arange(len(written) + 1.0)}), tmp_path / name)
    with pytest.raises(DataError, match="looks like a number: write it without marks"):
        block_of(path)
    assert list(features(block_of(path, text=["price"]))) == [f"price={text}" for text in written]


@pytest.mark.parametrize(
    "written", [["007", "12"], ["1.5", "2.5"], ["10:30", "11:45"], ["A1,000", "B"], ["192.168.1.1", "10.0.0.1"]]
)
def test_text_of_a_typed_file_stays_a_category(tmp_path, written):
    path = write(pa.table({"code": written, "load": np.arange(2.0)}), tmp_path / "a.parquet")
    assert list(features(block_of(path))) == [f"code={text}" for text in written]


def test_an_unknown_time_zone_is_named(tmp_path):
    table = zoned().set_column(0, "when", zoned()["when"].cast(pa.timestamp("us", tz="Mars/Phobos")))
    with pytest.raises(DataError, match="column 'when': the time zone 'Mars/Phobos' is not known here"):
        block_of(write(table, tmp_path / "a.parquet"))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
@for_each(
    "written, odd",
    [
        (["{}Z", "{}"] * 4, 1),
        (["{}"] * 3 + ["{}Z"] * 5, 3),
        (["{}Z"] * 4 + ["{}"] * 4, 4),
        (["{}+01:00"] * 2 + ["{}"] * 6, 2),
        (["{}"] * 7 + ["{}-03:30"], 7),
    ],
)
def test_the_first_time_unlike_those_before_it_is_named(tmp_path, name, written, odd):
    """However many of the rest are like it."""
    times = [text.format(f"2025-01-{row + 1:02}T10:00:00") for row, text in enumerate(written)]
    path = write(pa.table({"when": times, "load": np.arange(8.0)}), tmp_path / name)
    line = {"a.csv": odd + 2, "a.jsonl": odd + 1, "a.parquet": odd}[name]
    words = "has no offset, unlike" if len(times[odd]) == 19 else "has an offset, unlike"
    with pytest.raises(DataError, match=rf"(line|row) {line}, column 'when': '{re.escape(times[odd])}' {words}"):
        block_of(path)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
@for_each("offset", ["", "Z", "+01:00"])
@for_each("decimals", [[0] * 4 + [9] * 4, [9] * 8, [7, 3, 0, 9, 6, 8, 1, 2]])
def test_decimals_beyond_microseconds_are_cut_off(tmp_path, name, offset, decimals):
    """Also where they come after times without them, in a later block."""
    fractions = ["." * bool(count) + "123456789"[:count] for count in decimals]
    long, short = (
        pa.table({"when": [f"2025-01-{row + 1:02}T10:00:00{text[:cut]}{offset}" for row, text in enumerate(fractions)],
                  "load": np.arange(8.0)})
        for cut in (10, 7)
    )  # fmt: skip
    blocks = [block_of(write(table, tmp_path / f"{cut}{name}"), time="when") for cut, table in ((10, long), (7, short))]
    assert "when: day sin" in features(blocks[0])
    np.testing.assert_equal(features(blocks[0]), features(blocks[1]))
    assert np.array_equal(blocks[0].times, blocks[1].times)


def test_decimals_beyond_microseconds_may_come_in_a_later_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("when,load\n" + "".join(f"2025-01-{day:02}T10:00:00,1\n" for day in range(1, 9)))
    with open_rows(path, target="load") as rows:
        list(rows)
        known = rows.state()
    path.write_text("when,load\n2025-01-09T10:00:00.123456789,1\n")
    with Rows(path, Options(target="load"), known=known) as rows:
        (block,) = rows
    day = 2 * np.pi * (10 * 3600 + 0.123456) / 86400
    assert features(block)["when: day sin"][0] == pytest.approx(np.sin(day), rel=1e-15)


PARTS = {
    "year": ["2024", "2026", "1900", "2000", "0000", "0004", "9999", "26", "20260"],
    "month": [*(f"{month:02}" for month in range(14)), "1"],
    "day": [*(f"{day:02}" for day in range(26, 33)), "00", "01", "9", "19"],
    "clock": ["", "T", "T1", "T00", "T19", "T23", "T24", " 10:0", "T10:59", "T10:60", "T1000", " 10:00:59", "  10:00",
              "T10:00:60", "T10:00:00.", " 10:00:00.1", "T10:00:00.123456", "T10:00.5", "T10:0000", "t10:00"],
    "offset": ["", "Z", "z", " Z", "+01", "-0130", "+01:30", "+23:59", "+23:60", "+24:00", "+1", "+01:3", "+01:", "+010:0"],
}  # fmt: skip


def test_texts_are_recognised_as_iso_8601_as_arrow_reads_them():
    """Arrow refuses all texts of an array for one that is not a time, so they are recognised before."""
    rng = np.random.default_rng(8)
    drawn = [[rng.choice(part) for part in PARTS.values()] for _ in range(6_000)]
    texts = sorted({f"{year}-{month}-{day}{clock}{offset}" for year, month, day, clock, offset in drawn})

    def read(text, zone):
        try:
            return pa.array([text]).cast(pa.timestamp("us", tz=zone))[0].value
        except pa.ArrowInvalid:
            return None

    found = 0
    for layout, zone in (("ISO 8601", None), ("ISO 8601 with offset", "UTC")):
        expected = [read(text, zone) for text in texts]
        found += sum(each is not None for each in expected)
        assert parse(pa.array(texts), layout).cast(pa.int64()).to_pylist() == expected
    assert found > 100


@pytest.mark.parametrize(("text", "words"), [("unknown", "is not a time"), ("2026-01-01T00:00:00Z", "has an offset")])
def test_the_first_of_many_texts_that_are_no_times_is_found_in_a_few_steps(tmp_path, monkeypatch, text, words):
    """Arrow reads whole columns, rather than one text at a time, which took 0.35 ms."""
    monkeypatch.setattr("driftline.files.lines.FIRST", 3_000)
    start = np.datetime64("2026-01-01T00:00:00")
    times = [str(start + np.timedelta64(t, "m")) if t < 777 or t % 2 else text for t in range(5_000)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["when,load,on", *(f"{when},{t},{t % 2 == 0}" for t, when in enumerate(times))]))
    calls, read = [], Delimited._read
    monkeypatch.setattr(Delimited, "_read", lambda *given: calls.append(given) or read(*given))
    with pytest.raises(DataError, match=f"line 780, column 'when': .*{words}"):
        list(open_rows(path, target="load"))
    assert len(calls) < 50
