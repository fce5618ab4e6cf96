import gzip

import numpy as np
import pytest

from papers import Context, RequestError
from papers.dfop_data import from_files, made_here, missing, rate_of

from .dfop_files import write


def test_files_are_found_by_their_names_and_have_labels_of_minus_one_and_one(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    write(tmp_path / "usenet1.csv", X, np.where(X[:, 0] > 0, 7.0, 3.0))
    write(tmp_path / "SEA.csv.gz", X, np.where(X[:, 0] > 0, 1.0, 0.0))
    found = {dataset.name: dataset for dataset in from_files(Context(data=tmp_path))}
    assert sorted(found) == ["SEA", "Usenet-1"]
    for dataset in found.values():
        rows, labels = dataset.taken()
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(labels, np.where(X[:, 0] > 0, 1.0, -1.0))
        assert not dataset.fitted
    assert found["SEA"].stated
    assert not found["Usenet-1"].stated
    lacking = missing(Context(data=tmp_path), list(found.values()))[0]
    assert "Weather" in lacking
    assert "SEA" not in lacking


@pytest.mark.parametrize("text", ["a,b\n" + "1,x\n" * 20, "a,b\n" + "1,nan\n" * 20, "a,b\n1,2\n", "a\n" + "1\n" * 20])
def test_files_with_other_content_are_refused(tmp_path, text):
    (tmp_path / "weather.csv").write_text(text)
    with pytest.raises(RequestError, match=r"weather\.csv"):
        from_files(Context(data=tmp_path))


@pytest.mark.parametrize("text", ["", "a,b\n"])
def test_files_without_rows_are_refused_in_one_line(tmp_path, text):
    """Warnings are errors in the tests: NumPy's warning would replace the message."""
    (tmp_path / "weather.csv").write_text(text)
    with pytest.raises(RequestError, match=r"weather\.csv must hold 10 or more rows"):
        from_files(Context(data=tmp_path))


def test_truncated_or_damaged_compressed_files_are_refused(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(1000)))
    for broken in (whole[: len(whole) // 2], whole[:20] + b"\xff" * 40 + whole[60:], b"a,b\n" * 20):
        (tmp_path / "weather.csv.gz").write_bytes(broken)
        with pytest.raises(RequestError, match=r"weather\.csv\.gz must hold comma-separated numbers"):
            from_files(Context(data=tmp_path))


def test_three_classes_are_refused(tmp_path):
    write(tmp_path / "weather.csv", np.zeros((30, 1)), np.arange(30) % 3)
    with pytest.raises(RequestError, match="two classes, got 3"):
        from_files(Context(data=tmp_path))


def test_fitted_data_sets_are_marked():
    fitted = {dataset.name for dataset in made_here(Context()) if dataset.fitted}
    assert fitted == {"hyperplane", "UG-2C-2D", "UG-2C-3D", "UG-2C-5D"}
    assert [rate_of(name) for name in ("1CDT", "SEA", "Weather", "Electricity")] == [0.01, 0.001, 0.01, 0.001]
