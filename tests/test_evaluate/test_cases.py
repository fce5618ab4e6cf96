from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.evaluate.cases import Case, as_cases, redraw, seeds, subsets


def test_ten_subsets_start_at_fiftieths_and_hold_four_fifths():
    rows = 90_000
    found = subsets(rows)
    assert [start for start, _ in found] == [rows * i // 50 for i in range(1, 11)]
    assert {stop - start for start, stop in found} == {4 * rows // 5}
    assert found[-1][1] == rows


@pytest.mark.parametrize("rows", [7, 533, 1999])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_subsets_stay_within_the_rows(rows, count):
    found = subsets(rows, count)
    assert len(found) == count
    assert all(0 <= start < stop <= rows for start, stop in found)


def test_more_repetitions_keep_the_seeds_of_fewer():
    tuning, few = seeds(7, 3)
    again, many = seeds(7, 20)
    assert tuning == again
    assert many[:3] == few
    assert len({tuning, *many}) == 21


def make(data, **options):
    defaults = {"rows": None, "repeats": 10, "protocol": None, "seed": 0, "tune": 0.1, "tuned": True}
    return as_cases({"it": data}, **defaults | options)["it"]


def test_every_sequence_of_a_stream_has_its_own_seed():
    stream = dl.streams.Rotating(seed=3)
    case = make(stream, rows=50, seed=5)
    tuning, others = seeds(5, 10)
    np.testing.assert_array_equal(case.tuning_sequence()[0], stream.reseeded(tuning).take(50)[0])
    for repetition, seed in enumerate(others):
        np.testing.assert_array_equal(case.sequence(repetition)[1], stream.reseeded(seed).take(50)[1])


def test_fixed_rows_are_divided_into_rows_for_tuning_and_subsets():
    X = np.arange(1000.0)[:, None]
    case = make((X, X[:, 0]))
    assert case.protocol == "subsets"
    assert case.tuning_sequence()[1].tolist() == list(range(100))
    for repetition in range(10):
        y = case.sequence(repetition)[1]
        assert y[0] == 100 + 18 * (repetition + 1)
        assert len(y) == 720
    assert make((X, X[:, 0]), tuned=False).sequence(9)[1].tolist() == list(range(200, 1000))


def test_subsets_can_be_cut_from_a_stream():
    stream = dl.streams.Rotating(seed=3)
    case = make(stream, rows=500, protocol="subsets")
    y = stream.take(500)[1]
    np.testing.assert_array_equal(case.sequence(0)[1], y[10:410])
    assert not np.isin(case.tuning_sequence()[1], y).any()


def test_functions_make_streams_or_rows_from_a_seed():
    for maker in (lambda seed: dl.streams.Rotating(seed=seed), lambda seed: dl.streams.Rotating(seed=seed).take(30)):
        case = make(maker, rows=20)
        expected = dl.streams.Rotating(seed=seeds(0, 10)[1][4]).take(20)[1]
        np.testing.assert_array_equal(case.sequence(4)[1], expected)


def test_rows_for_tuning_can_be_given():
    X, other = np.zeros((100, 1)), np.ones((40, 1))
    case = make((X, X[:, 0]), tune={"it": (other, other[:, 0])})
    assert len(case.tuning_sequence()[1]) == 40
    assert len(case.sequence(0)[1]) == 80


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ((np.ones((5, 1)), np.ones(5)), {"protocol": "repeats"}, "cannot be drawn again"),
        ((np.ones((5, 1)), np.ones(5)), {"tune": {}}, "give tune: "),
        ((np.ones((5, 1)), np.ones(5)), {"tune": 1.5}, "share"),
        ((np.ones((5, 1)), np.ones(5)), {"tune": 2.0, "tuned": False}, "share"),
        (dl.streams.Rotating(), {"protocol": "folds"}, "protocol must be one of"),
    ],
)
def test_invalid_options_are_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        make(data, **options)


def test_an_endless_stream_needs_a_number_of_rows():
    with pytest.raises(ValueError, match="give rows"):
        make(dl.streams.Rotating()).sequence(0)


def test_a_dataclass_with_a_seed_can_be_drawn_again():
    import dataclasses

    @dataclasses.dataclass
    class Noise:
        seed: int = 0

        def take(self, T):
            rng = np.random.default_rng(self.seed)
            return rng.normal(size=(T, 2)), rng.normal(size=T)

    assert redraw(Noise(), 4) == Noise(4)
    assert isinstance(make(Noise(), rows=5), Case)


def test_a_tuple_of_streams_is_not_taken_for_rows():
    names = ["Rotating", "Switching"]
    assert list(as_cases((dl.streams.Rotating(), dl.streams.Switching()), 10, 2, None, 0, 0.1, False)) == names
    rows = (np.ones((5, 1)), np.ones(5))
    assert list(as_cases(rows, None, 2, None, 0, 0.1, False)) == ["rows"]
    assert list(as_cases((rows, rows, rows), None, 2, None, 0, 0.1, False)) == ["rows", "rows 2", "rows 3"]
    frames = (pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0, 2.0]))
    assert list(as_cases(frames, None, 2, None, 0, 0.1, False)) == ["rows"]
